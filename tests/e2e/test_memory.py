"""Memory of a long run: it holds decoded frames up to the limit that is set, and no more with every question."""

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

SCENES = 20
QUESTIONS = 25
"""Of each scene, one after the other."""

FRAMES = 200
IN_FILE = 210
SIDE = 256
"""Width and height of the frames: those of one question take 79 MB."""

PIXELS = 2 * FRAMES * SIDE * SIDE * 3

FRAME_MEMORY = 250
"""Megabytes: two scenes, at four bytes a pixel in memory."""


def entries_of_a_run(folder: Path) -> list[dict[str, Any]]:
    """What a model noted that reads every pixel of every question, in the order of the questions."""
    settings = write_scenes(folder / "data", SCENES, QUESTIONS, IN_FILE)
    notes = folder / "notes.json"
    script = str(Path(__file__).with_name("pixel_model.py"))
    done = subprocess.run(
        [sys.executable, script, str(notes), "--model", "pixel_sum", "--tasks", "m3verse_sim"],
        env={
            **os.environ,
            **settings,
            "HF_HUB_OFFLINE": "1",
            "SPOTDIFF_FRAME_SIZE": f"{SIDE}x{SIDE}",
            "SPOTDIFF_FRAME_MEMORY": str(FRAME_MEMORY),
            "SPOTDIFF_MEDIA_CACHE": str(folder / "cache"),
        },
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    assert notes.exists(), done.stdout[-5000:]
    entries: list[dict[str, Any]] = json.loads(notes.read_text())
    return entries


def test_memory_is_bounded_by_the_setting_and_does_not_grow_with_the_number_of_questions(tmp_path: Path) -> None:
    entries = entries_of_a_run(tmp_path)
    assert len(entries) == SCENES * QUESTIONS
    assert {entry["pixels"] for entry in entries} == {PIXELS}
    assert len({entry["sum"] for entry in entries}) == 1
    early, late = ([entry["peak_mb"] for entry in part] for part in (entries[:50], entries[50:]))
    left = [entry["after_mb"] for entry in entries]
    before = entries[0]["before_mb"]
    print(f"before question 1: {before:.1f} MB; frame_memory: {FRAME_MEMORY} MB")
    print(f"peak over questions 1-50: {max(early):.1f} MB, over 51-500: {max(late):.1f} MB; of one: {PIXELS / 1e6} MB")
    print(f"left after question 1, 50, 500: {left[0]:.1f}, {left[49]:.1f}, {left[-1]:.1f} MB")
    assert max(late) <= max(early) + PIXELS / 1e6
    assert max(early + late) <= before + FRAME_MEMORY + 300
