"""`spotdiff data prepare`, killed, interrupted, doubled or out of room: old data stay, or the new ones are whole."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

COMMON = """
import hashlib, json, os, random, resource, signal, subprocess, sys, time
from pathlib import Path

import datasets, pyarrow.parquet
import spotdiff.benchmarks.m4bench, spotdiff.data.check, spotdiff.data.prepare, spotdiff.evaluation
from spotdiff.cli import main

place = Path(sys.argv[1])
data = Path(os.environ["SPOTDIFF_DATA"])

def started(release):
    "A process that prepares; what it says comes into the file `said`."
    ours, theirs = os.pipe()
    process = os.fork()
    if process:
        os.close(theirs)
        assert os.read(ours, 1)
        os.close(ours)
        return process
    said = os.open(place / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1), os.dup2(said, 2)
    os.write(theirs, b"!")
    os._exit(main(["data", "prepare", "m4bench", "--from", str(place / release)]))

def ended(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

def state():
    "Digests of the data set's files, None where there is no data set."
    files = sorted(path for path in (data / "m4bench").rglob("*") if path.is_file())
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files] or None

def beside():
    return sorted(entry.name for entry in data.iterdir() if entry.name != "m4bench")
"""


@pytest.fixture
def place(tmp_path: Path, make_image: Callable[..., Image.Image], encode: Callable[..., bytes]) -> Path:
    """A folder with two releases: `first` of 1 MB, `second` of 12 MB."""
    for release, rows, size in (("first", 5, 100_000), ("second", 30, 200_000)):
        folder = tmp_path / release
        folder.mkdir()
        lines = []
        for row in range(rows):
            names = [f"{row}_{number}.png" for number in range(2)]
            for number, name in enumerate(names):
                # What stands behind the end of an image is no fault, and is kept.
                behind = random.Random(f"{release} {name}").randbytes(size)
                (folder / name).write_bytes(encode(make_image((40, 30), number)) + behind)
            asked = {"task": "State_Invariance", "id": f"{release} {row}", "question": "Same? ", "images": names}
            lines.append(json.dumps({**asked, "options": {"A": "Yes", "B": "No"}, "answer": "AB"[row % 2]}))
        (folder / "questions.jsonl").write_text("\n".join(lines))
    return tmp_path


def told(code: str, place: Path, *before: str, data: Path | None = None) -> Any:
    """What a program prints as JSON in its last line; it runs in a process of its own, behind the words `before`."""
    own = {"SPOTDIFF_DATA": str(data or place / "data"), "SPOTDIFF_MEDIA_CACHE": str(place / "media")}
    done = subprocess.run(
        [*before, sys.executable, "-c", COMMON + code, str(place)],
        env={**os.environ, **own, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


AT_ANY_MOMENT = """
random.seed(6)
whole, took = {}, 0.0
for release in ("first", "second"):
    start = time.monotonic()
    assert ended(started(release)) == 0, (place / "said").read_text()
    whole[release], took = state(), time.monotonic() - start
codes, states, left, spoken = [], [], 0, []
for round in range(ROUNDS):
    process = started(("first", "second")[round % 2])
    time.sleep(0.02 + random.uniform(0, took))
    os.kill(process, signal.SIGNAL)
    codes.append(ended(process))
    states.append(state())
    left += bool(beside())
    spoken.append((place / "said").read_text())
assert ended(started("first")) == 0
known = [*whole.values(), None]
print(json.dumps({
    "codes": sorted(set(codes)), "known": all(found in known for found in states), "left": left,
    "tracebacks": [text for text in spoken if "Traceback" in text],
    "interrupted": sum(text.endswith("spotdiff: interrupted. Run the command again\\n") for text in spoken),
    "whole at last": state() == whole["first"], "beside at last": beside(),
}))
"""


def at_any_moment(signal: str, rounds: int, place: Path) -> dict[str, Any]:
    found: dict[str, Any] = told(AT_ANY_MOMENT.replace("SIGNAL", signal).replace("ROUNDS", str(rounds)), place)
    return found


def test_killed_at_any_moment_it_leaves_whole_data_and_the_next_run_clears_up(place: Path) -> None:
    found = at_any_moment("SIGKILL", 25, place)
    assert found["known"]
    assert found["whole at last"]
    assert found["beside at last"] == []
    # Else no kill came while it wrote.
    assert found["left"] > 0


def test_interrupted_at_any_moment_it_leaves_whole_data_and_says_so_in_a_line(place: Path) -> None:
    found = at_any_moment("SIGINT", 15, place)
    assert found["known"]
    assert found["whole at last"]
    assert found["beside at last"] == []
    assert found["tracebacks"] == []
    assert set(found["codes"]) <= {0, 130}
    assert found["interrupted"] > 0


AT_ONCE = """
whole = {}
for release in ("first", "second"):
    assert ended(started(release)) == 0
    whole[release] = state()
codes, known = [], []
for _ in range(6):
    codes += map(ended, [started(release) for release in ("first", "second", "second")])
    known.append(state() in whole.values() and not beside())
print(json.dumps({"codes": codes, "known": known}))
"""


def test_several_at_once_all_end_well_and_leave_one_whole_data_set(place: Path) -> None:
    found = told(AT_ONCE, place)
    assert set(found["codes"]) == {0}
    assert all(found["known"])


NO_ROOM = """
if os.environ.get("ROOM"):
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(data)], check=True)
assert ended(started("first")) == 0
old = state()
if not os.environ.get("ROOM"):
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, 5_000_000))
code = ended(started("second"))
said = (place / "said").read_text()
print(json.dumps({"code": code, "said": said, "old": state() == old and old is not None, "beside": beside()}))
"""

OWN_MOUNTS = ("unshare", "--user", "--map-root-user", "--mount")


def _can_mount(place: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*OWN_MOUNTS, "mount", "-t", "tmpfs", "none", str(place)], capture_output=True)
    return tried.returncode == 0


@pytest.mark.parametrize("kind", ["a full disk", "a limit of file sizes"])
def test_without_room_the_old_data_stay_and_it_is_said_what_to_do(
    place: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    full = kind == "a full disk"
    if full and not _can_mount(place):
        pytest.skip("no small disk can be mounted here: neither root nor user namespaces")
    monkeypatch.setenv("ROOM", "1" if full else "")
    found = told(NO_ROOM, place, *(OWN_MOUNTS if full else ()))
    assert found["code"] == 2
    assert ("No space left on device" if full else "File too large") in found["said"]
    assert "Set SPOTDIFF_DATA to a folder with enough room" in found["said"]
    assert "Traceback" not in found["said"]
    assert found["old"]
    assert found["beside"] == []
