"""The published M4Bench replies through both frameworks: the same letters, and the release's own scores."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from lmms_runs import run

from spotdiff.benchmarks.m4bench.tables import SETTINGS
from spotdiff.runs.read import read_runs
from spotdiff.scoring import Scored, by_group

pytestmark = pytest.mark.e2e

FAMILIES = {
    "GPT-4o": "pixels",
    "Qwen2-VL-7B-Instruct": "qwen2_vl",
    "InternVL2_5-8B": "internvl",
    "MiniCPM-V-2_6": "pixels",
}
STATES = ("state_invariance", "state_comparison")
"""All that MiniCPM was asked."""

RELEASE = {
    "GPT-4o": (88.6, 66.8, 32.1, 18.3, 10.9, 26.5, 13.9, 10.4),
    "Qwen2-VL-7B-Instruct": (72.1, 68.8, 60.3, 15.7, 33.9, 33.5, 43.5, 38.3),
    "InternVL2_5-8B": (73.1, 65.4, 4.7, 18.7, 26.5, 33.9, 31.7, 36.5),
    "MiniCPM-V-2_6": (76.7, 59.6),
}
"""By the release's rules without its judge, in %. MiniCPM needed no judge: its figures are the published ones."""


@pytest.mark.parametrize("model", FAMILIES)
def test_both_frameworks_read_the_same_letters_and_reach_the_releases_scores(
    model: str, replay_data: Path, replay_data_folder: Path, tmp_path: Path
) -> None:
    settings = {"SPOTDIFF_DATA": str(replay_data_folder), "SPOTDIFF_BOX_FAMILY": FAMILIES[model]}
    replies = replay_data / "replay.jsonl.gz"
    names = STATES if model == "MiniCPM-V-2_6" else ()
    first = _through_lmms_eval(model, replies, names, tmp_path / "lmms_eval", settings)
    second = _through_vlmevalkit(model, replies, names, tmp_path / "vlmevalkit", settings)
    assert first == second
    scores = by_group(first.values(), "setting", "acc_release")
    found = tuple(round(100 * (scores[s.name].mean or 0), 1) for s in SETTINGS if s.name in scores)
    assert found == RELEASE[model]


def _through_lmms_eval(
    model: str, replies: Path, names: tuple[str, ...], folder: Path, settings: Mapping[str, str]
) -> dict[str, Scored]:
    folder.mkdir()
    tasks = ",".join(f"m4bench_{name}" for name in names) or "m4bench"
    done = run(
        *("--model", "spotdiff_replay", "--model_args", f"path={replies},model={model}", "--tasks", tasks),
        folder=folder,
        settings=settings,
    )
    return done.scored()


def _through_vlmevalkit(
    model: str, replies: Path, names: tuple[str, ...], folder: Path, settings: Mapping[str, str]
) -> dict[str, Scored]:
    folder.mkdir()
    command = Path(sys.executable).with_name("vlmeval")
    for data in [f"M4Bench_{name.title()}" for name in names] or ["M4Bench"]:
        arguments = ["replay", "--data", data, "--path", str(replies), "--model", model, "--work-dir", str(folder)]
        done = subprocess.run(
            [str(command), *arguments],
            env={**os.environ, **settings, "HF_HUB_OFFLINE": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {row.id: row for one in read_runs(folder) for rows in one.scored.values() for row in rows}


def test_the_published_scores_that_we_ship_are_those_of_the_release(replay_data: Path) -> None:
    import json

    import spotdiff.benchmarks.m4bench as package

    shipped = Path(package.__file__).with_name("published.csv")
    stated = json.loads((replay_data / "published_scores.json").read_text())
    with shipped.open(newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(stated)
    for model, scores in stated.items():
        for setting in SETTINGS:
            score = scores.get(setting.released_as)
            assert rows[model][setting.name] == ("" if score is None else f"{100 * score['score']:.1f}")
