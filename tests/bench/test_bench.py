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
    done = subprocess.run(
        [sys.executable, str(BENCH), "--questions", "6", "--runs", "2", "--tiny", "--output", "out/bench.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    entries = json.loads((tmp_path / "out/bench.json").read_text())
    names = ["similarity, speed", "similarity, peak memory", "questions, read", "release, peak memory"]
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
