"""A run decodes each video once, ahead of its questions, scene after scene; a second run decodes none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lmms_runs import LIMIT
from video_scenes import write_scenes

pytestmark = pytest.mark.e2e

SCENES, QUESTIONS = 4, 5


def run(folder: Path, number: int, settings: dict[str, str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the model noted, and the lines of the sample log."""
    notes, logs = folder / f"notes-{number}.json", folder / f"logs-{number}"
    script = str(Path(__file__).with_name("sorting_model.py"))
    words = [script, str(notes), "--model", "sorting", "--tasks", "m3verse_sim", "--log_samples", "--output_path"]
    done = subprocess.run(
        [sys.executable, *words, str(logs)],
        env={
            **os.environ,
            **settings,
            "HF_HUB_OFFLINE": "1",
            "SPOTDIFF_FRAMES": "6",
            "SPOTDIFF_VIDEO_FORM": "frames",
            "SPOTDIFF_MEDIA_CACHE": str(folder / "cache"),
        },
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    assert notes.exists(), done.stdout[-5000:]
    (log,) = logs.rglob("*_samples_*.jsonl")
    return json.loads(notes.read_text()), [json.loads(line) for line in log.read_text().splitlines()]


def test_scenes_come_one_after_the_other_and_their_videos_are_decoded_once_for_both_runs(tmp_path: Path) -> None:
    settings = write_scenes(tmp_path / "data", SCENES, QUESTIONS, 10)
    # Each scene asks the same: sorted by wording alone, the scenes would take turns.
    cold, samples = run(tmp_path, 1, settings)
    warm, _ = run(tmp_path, 2, settings)
    asked = [number for number, _ in cold["asked"]]
    assert [number // QUESTIONS for number in asked] == sorted(number // QUESTIONS for number in range(len(asked)))
    assert sorted(asked) == list(range(SCENES * QUESTIONS))
    assert warm["asked"] == cold["asked"]
    # All scenes show the same, in one file each that is a copy of the others.
    assert len({total for _, total in cold["asked"]}) == 1
    assert len(cold["decoded"]) == 2
    assert warm["decoded"] == []
    for sample in samples:
        question = sample["doc_id"] % QUESTIONS
        assert sample["input"].startswith("Your task is to answer questions based on the provided videos and options.")
        assert f"(question {question})" in sample["input"]
