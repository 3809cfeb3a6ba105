"""`spotdiff data warm`: what it puts into the store, what it says, and its exit code."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scenes import scene_row
from videos import numbers_in, write_video

from spotdiff.benchmarks.m3verse.schema import VIDEO_COLUMNS, features
from spotdiff.cli import main
from spotdiff.data.write import write_data_set
from spotdiff.media import clips
from spotdiff.media.clips import frames_of
from spotdiff.media.sampling import Sampling

pytestmark = pytest.mark.slow

FOUR = ["--frames", "4", "--size", "56x32", "--jobs", "1"]
SAMPLING = Sampling(count=4, size=(56, 32))

Scenes = Callable[[int], list[Path]]


@pytest.fixture
def scenes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenes:
    """Write so many scenes of two questions each; the videos in order, each of another length."""
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(clips, "_clips", clips._Clips())

    def write(count: int) -> list[Path]:
        rows = [scene_row(f"scene{number // 2}", number) for number in range(2 * count)]
        for number, row in enumerate(rows):
            row.update({column: f"videos/{number // 2}_{column}.mp4" for column in VIDEO_COLUMNS})
        write_data_set(tmp_path / "data" / "m3verse", {"sim": rows}, features())
        files = [tmp_path / "data" / "m3verse" / row[column] for row in rows[::2] for column in VIDEO_COLUMNS]
        for number, file in enumerate(files):
            file.parent.mkdir(exist_ok=True)
            write_video(file, 10 + number)
        return files

    return write


def warmed(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, list[str]]:
    capsys.readouterr()
    code = main(["data", "warm", "m3verse_sim", *(options or FOUR)])
    return code, capsys.readouterr().out.splitlines()


def refuse_to_decode(path: Path, sampling: Sampling) -> Any:
    raise AssertionError(f"{path} was decoded")


def test_frames_of_a_run_come_from_the_store_afterwards_and_are_made_once(
    scenes: Scenes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = scenes(2)
    assert warmed(capsys) == (0, ["m3verse_sim: 0 clips were there, 4 made, 0 faulty"])
    assert warmed(capsys) == (0, ["m3verse_sim: 4 clips were there, 0 made, 0 faulty"])
    monkeypatch.setattr(clips, "_decoded", refuse_to_decode)
    for number, file in enumerate(files):
        expected = [round(place * (9 + number) / 3) for place in range(4)]
        assert numbers_in(frames_of(file, SAMPLING)) == expected


def test_faulty_files_are_named_each_once_and_the_others_made(
    scenes: Scenes, capsys: pytest.CaptureFixture[str]
) -> None:
    files = scenes(2)
    files[1].write_bytes(files[1].read_bytes()[:-300])
    files[2].unlink()
    code, said = warmed(capsys)
    assert code == 1
    assert said[-1] == "m3verse_sim: 0 clips were there, 2 made, 2 faulty"
    assert sorted(line.split(": ")[0] for line in said[:-1]) == sorted(map(str, files[1:3]))


def test_a_store_that_cannot_be_filled_is_a_fault(
    scenes: Scenes, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    scenes(1)
    (tmp_path / "cache").write_text("a file where the folder should be")
    code, said = warmed(capsys)
    assert code == 1
    assert sum("could not be stored" in line for line in said) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [("m4bench_mini", "no videos"), ("m3verse_mini_blind", "shows no video"), ("m3verse_sim_", "There is no task")],
)
def test_what_has_no_videos_is_an_error(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "warm", name]) == 2
    assert message in capsys.readouterr().err


def test_without_a_store_there_is_nothing_to_fill(
    scenes: Scenes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes(1)
    monkeypatch.setenv("SPOTDIFF_FRAME_DISK", "0")
    assert main(["data", "warm", "m3verse_sim"]) == 2
    assert "SPOTDIFF_FRAME_DISK" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options", [["--frames", "0"], ["--jobs", "x"], ["--size", "0"], ["--size", "x4"], ["--fps", "nan"]]
)
def test_values_that_cannot_be_used_are_refused(options: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["data", "warm", "m3verse_sim", *options])


def command(*options: str) -> subprocess.Popen[str]:
    program = "import sys; from spotdiff.cli import main; sys.exit(main())"
    words = [sys.executable, "-c", program, "data", "warm", "m3verse_sim", *options]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def entries(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.frames")}


def wait_for_an_entry(folder: Path) -> None:
    deadline = time.monotonic() + 120
    while not entries(folder):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_ended_is_taken_up_again(
    scenes: Scenes, capsys: pytest.CaptureFixture[str], tmp_path: Path, ended_by: signal.Signals
) -> None:
    scenes(12)
    process = command("--frames", "10", "--size", "1200x1200", "--jobs", "1")
    wait_for_an_entry(tmp_path)
    os.killpg(process.pid, ended_by)
    said, errors = process.communicate(timeout=120)
    if ended_by == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted, run it again to go on" in said
        assert "Traceback" not in errors
    before = entries(tmp_path)
    assert 0 < len(before) < 24
    code, lines = warmed(capsys, "--frames", "10", "--size", "1200x1200", "--jobs", "2")
    assert code == 0
    assert lines[-1] == f"m3verse_sim: {len(before)} clips were there, {24 - len(before)} made, 0 faulty"


def test_two_runs_at_once_make_each_entry_once(scenes: Scenes, tmp_path: Path) -> None:
    scenes(6)
    both = [command(*FOUR), command(*FOUR)]
    said = [process.communicate(timeout=300)[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    there, made = (sum(int(words[place]) for words in said) for place in (1, 5))
    assert (there, made) == (12, 12)
    assert len(entries(tmp_path)) == 12
