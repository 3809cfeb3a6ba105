"""The published M4Bench replies through both frameworks: the same letters, and the release's own scores."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pyarrow.parquet
import pytest
from lmms_runs import run

from spotdiff.benchmarks.m4bench.tables import SETTINGS
from spotdiff.runs.build import build
from spotdiff.runs.read import read_runs
from spotdiff.runs.report import Report
from spotdiff.runs.write import write_report
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


Runs = Callable[[str], Mapping[str, Path]]


@pytest.fixture(scope="module")
def runs(replay_data: Path, replay_data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Model -> name of a framework -> folder of a run that scored the model's replies; each run is made once."""
    replies = replay_data / "replay.jsonl.gz"

    @cache
    def of(model: str) -> Mapping[str, Path]:
        folder = tmp_path_factory.mktemp("published")
        settings = {"SPOTDIFF_DATA": str(replay_data_folder), "SPOTDIFF_BOX_FAMILY": FAMILIES[model]}
        names = STATES if model == "MiniCPM-V-2_6" else ()
        found = {"lmms-eval": folder / "lmms_eval", "VLMEvalKit": folder / "vlmevalkit"}
        _through_lmms_eval(model, replies, names, found["lmms-eval"], settings)
        _through_vlmevalkit(model, replies, names, found["VLMEvalKit"], settings)
        return found

    return of


def _scored(folder: Path) -> dict[str, Scored]:
    return {row.id: row for one in read_runs(folder) for rows in one.scored.values() for row in rows}


@pytest.mark.parametrize("model", FAMILIES)
def test_both_frameworks_read_the_same_letters_and_reach_the_releases_scores(model: str, runs: Runs) -> None:
    first, second = map(_scored, runs(model).values())
    assert first == second
    scores = by_group(first.values(), "setting", "acc_release")
    found = tuple(round(100 * (scores[s.name].mean or 0), 1) for s in SETTINGS if s.name in scores)
    assert found == RELEASE[model]


def _report(runs: Runs, framework: str, folder: Path) -> Report:
    """The written report of all models, and what it was written from."""
    found = {runs(model)[framework]: model for model in FAMILIES}
    report = build(list(found), found)
    write_report(report, folder)
    return report


def test_a_report_holds_the_releases_table_beside_the_papers_rows(runs: Runs, tmp_path: Path) -> None:
    report = _report(runs, "lmms-eval", tmp_path / "report")
    (table,) = report.figures
    for model, scores in RELEASE.items():
        (line,) = (line for line in table.lines if (line.run, line.metric) == (model, "acc_release"))
        shown = {name: round(100 * (cell.value or 0), 1) for name, cell in line.cells.items() if name != "mean"}
        assert shown == dict(zip((setting.title for setting in SETTINGS), scores, strict=False))
        assert ("mean" in line.cells) == (len(scores) == len(SETTINGS))
        for cell in line.cells.values():
            assert cell.low is not None
            assert cell.high is not None
    published = [line for line in table.lines if line.kind == "published"]
    assert [line.name for line in published] == list(FAMILIES)
    assert {line.note for line in published} == {"published, judge-assisted (gpt-3.5-turbo)"}
    compared = [one for one in report.comparisons if one.kind == "runs" and one.part == "overall"]
    assert len([one for one in compared if one.metric == "acc"]) == 6
    for one in compared:
        assert one.difference.low is not None
        assert one.adjusted is not None
    # MiniCPM was asked two of the eight settings.
    assert {len(one.only_first) for one in compared if one.second == "MiniCPM-V-2_6"} == {1811 - 427}
    assert any("MiniCPM-V-2_6" in note and "1,384" in note for sheet in report.sheets for note in sheet.notes)
    text = (tmp_path / "report" / "report.md").read_text()
    assert "| GPT-4o (published, judge-assisted (gpt-3.5-turbo)) " in text


def test_the_same_replies_give_the_same_report_in_both_frameworks(runs: Runs, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for framework, folder in (("lmms-eval", first), ("VLMEvalKit", second)):
        _report(runs, framework, folder)
    names = sorted(path.name for path in (first / "tables").iterdir())
    assert names == sorted(path.name for path in (second / "tables").iterdir())
    assert {"m4bench_settings.csv", "comparisons.csv", "letters.csv", "outcomes.csv"} <= set(names)
    for name in names:
        assert (first / "tables" / name).read_text() == (second / "tables" / name).read_text()
    own = {"model", "framework", "task", "prompt_digest", "log"}
    tables = []
    for folder in (first, second):
        rows = pyarrow.parquet.read_table(folder / "answers.parquet").to_pylist()
        # lmms-eval takes the white space off the ends of every reply.
        kept = [
            {name: value for name, value in {**row, "reply": row["reply"].strip()}.items() if name not in own}
            for row in rows
        ]
        tables.append(sorted(kept, key=lambda row: (row["run"], row["id"])))
    assert tables[0] == tables[1]


def _through_lmms_eval(
    model: str, replies: Path, names: tuple[str, ...], folder: Path, settings: Mapping[str, str]
) -> None:
    folder.mkdir()
    tasks = ",".join(f"m4bench_{name}" for name in names) or "m4bench"
    done = run(
        *("--model", "spotdiff_replay", "--model_args", f"path={replies},model={model}", "--tasks", tasks),
        folder=folder,
        settings=settings,
    )
    assert done.scored(), done.output[-3000:]


def _through_vlmevalkit(
    model: str, replies: Path, names: tuple[str, ...], folder: Path, settings: Mapping[str, str]
) -> None:
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
