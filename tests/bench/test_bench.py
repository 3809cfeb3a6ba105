"""The measurements themselves, on next to nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.framework]

BENCH = Path(__file__).parent


def test_the_bench_measures_both_sides_and_writes_what_it_prints(tmp_path: Path) -> None:
    chosen = [word for name in ("similarity", "tables", "report", "journal") for word in ("--only", name)]
    options = ["--questions", "6", "--runs", "2", "--tiny", "--output", "out/bench.json"]
    done = subprocess.run(
        [sys.executable, str(BENCH), *chosen, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    entries = json.loads((tmp_path / "out/bench.json").read_text())
    names = ["similarity, speed", "similarity, peak memory", "questions, read", "release, peak memory"]
    names += ["report, time", "report, peak memory"]
    names += ["journal, asking", "journal, opening"]
    assert [entry["name"] for entry in entries] == names
    for entry in entries:
        assert f"| {entry['name']}" in done.stdout
        assert entry["ours"] > 0
        assert entry["ratio"] == pytest.approx(entry["ours"] / entry["other"])
        assert entry["runs"] == (1 if entry["name"] == "release, peak memory" else 2)
        assert entry["machine"] in done.stdout
        assert entry["versions"]["torch"]
    # A clip of four questions and two of another: 11 and 8 distinct images among 30; the sample is the first clip.
    expected = "6 questions with 48 images, 30 of them compared, 18 of those distinct"
    assert expected in done.stdout
    assert "the other way answered 4 of the questions, 4 of them as ours did" in done.stdout


def test_frames_are_measured_in_every_order_and_state_beside_both_frameworks(tmp_path: Path) -> None:
    chosen = ["--only", "frames", "--only", "media", "--only", "overheads"]
    done = subprocess.run(
        [sys.executable, str(BENCH), *chosen, "--questions", "6", "--runs", "1", "--tiny", "--output", "bench.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = {entry["name"]: entry for entry in json.loads((tmp_path / "bench.json").read_text())}
    for order in ("scene", "arbitrary"):
        for state in ("cold", "warm"):
            assert found[f"m3verse, {order} order, {state}"]["ours"] > 0
            assert found[f"m3verse, {order} order, {state}, memory"]["other"] == 1000
    rest = ["m3verse, wait for media, cold", "m3verse, VLMEvalKit, warm", "first touch, mpeg4, CPU s"]
    rest += ["egoexo_next, media", "mvvbench, media, warm", "interpreter, start", "lmms-eval, start"]
    assert set(rest) <= set(found)
    assert "22 questions of 2 scenes, all asked of ours" in found["m3verse, scene order, cold"]["note"]
    assert "as measured on 2, times all" in found["m3verse, scene order, cold"]["note"]
    for entry in found.values():
        assert f"| {entry['name']} " in done.stdout


def test_a_side_that_fails_ends_the_bench(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(BENCH)!r})\n"
        "import math\nfrom process import in_process\n"
        "if __name__ == '__main__':\n    in_process(math.sqrt, -1)\n"
    )
    (tmp_path / "failing.py").write_text(program)
    done = subprocess.run([sys.executable, str(tmp_path / "failing.py")], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "sqrt failed" in done.stderr
