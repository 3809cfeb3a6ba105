"""A written report of real runs of both frameworks, one of them in two variants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lmms_runs import run

from spotdiff.cli import main

pytestmark = pytest.mark.e2e

BASELINE = ("--model", "spotdiff_baseline", "--model_args", "policy=random")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Framework -> folder of a run that drew its answers, the same in both, full and without videos."""
    found = {name: tmp_path_factory.mktemp(name) for name in ("lmms", "vlm")}
    done = run(*BASELINE, "--tasks", "m4bench_mini,m3verse_mini,m3verse_mini_blind", folder=found["lmms"])
    assert done.code == 0, done.output[-3000:]
    command = [str(Path(sys.executable).with_name("vlmeval")), "run", "--model", "spotdiff_baseline_random"]
    finished = subprocess.run(
        [*command, "--data", "M4Bench_Mini", "M3Verse_Mini", "M3Verse_Mini_Blind", "--work-dir", str(found["vlm"])],
        env={**os.environ, "SPOTDIFF_MEDIA_CACHE": str(found["vlm"] / "media")},
        cwd=found["vlm"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr[-3000:]
    return found


def test_both_frameworks_give_the_same_report(runs: dict[str, Path], tmp_path: Path) -> None:
    for name, folder in runs.items():
        assert main(["report", str(folder), "--out", str(tmp_path / name), "--name", f"{folder}=model"]) == 0
    files = sorted(path.name for path in (tmp_path / "lmms" / "tables").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "vlm" / "tables").iterdir())
    assert {"m4bench_mini_settings.csv", "m3verse_mini_mini.csv", "variants.csv", "letters.csv"} <= set(files)
    for file in files:
        assert (tmp_path / "lmms" / "tables" / file).read_text() == (tmp_path / "vlm" / "tables" / file).read_text()
    assert "model, blind" in (tmp_path / "lmms" / "tables" / "variants.csv").read_text()


def test_a_report_tells_how_its_runs_were_made(runs: dict[str, Path], tmp_path: Path) -> None:
    import pyarrow.parquet

    assert main(["report", *map(str, runs.values()), "--out", str(tmp_path / "out")]) == 0
    told = json.loads((tmp_path / "out" / "provenance.json").read_text())
    first, second = (entry["runs"] for entry in told["runs"])
    assert "--model_args policy=random --tasks m4bench_mini,m3verse_mini,m3verse_mini_blind" in first[0]["command"]
    assert all("--model spotdiff_baseline_random" in entry["command"] for entry in second)
    for entry in (*first, *second):
        assert entry["framework version"]
        for task in entry["tasks"].values():
            assert task["version"] == 1
            assert task["data digest"]
            assert task["spotdiff"]
    rows = pyarrow.parquet.read_table(tmp_path / "out" / "answers.parquet").to_pylist()
    assert len(rows) == 2 * (56 + 27 + 27)
    by_run: dict[str, dict[tuple[str, str], tuple[str, str]]] = {}
    for row in rows:
        by_run.setdefault(row["run"], {})[row["variant"], row["id"]] = (row["reply"], row["prompt_digest"])
    ours, theirs = by_run.values()
    assert ours == theirs
    assert all(reply and digest for reply, digest in ours.values())
