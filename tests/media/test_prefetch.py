"""What is prepared while the model answers: the next clips, within the memory that is set; no error of it is seen."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from videos import numbers_in, write_video

from spotdiff.errors import DataError
from spotdiff.media import clips, prefetch
from spotdiff.media.clips import frames_of
from spotdiff.media.prefetch import Ahead, clips_of
from spotdiff.media.sampling import Sampling
from spotdiff.question import Panel, Question, Text, Video

LARGE = Sampling(count=3, size=(500, 400))
"""2.4 MB in memory."""


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(clips, "_clips", clips._Clips())
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SPOTDIFF_FRAME_DISK", "1")
    monkeypatch.setenv("SPOTDIFF_FRAME_MEMORY", "100")
    yield
    settle()


class Noted:
    """Which clips were prepared, and how."""

    def __init__(self) -> None:
        self.held: list[Path] = []
        self.stored: list[Path] = []

    def hold(self, path: Path, sampling: Sampling) -> None:
        self.held.append(path)

    def store(self, path: Path, sampling: Sampling) -> None:
        self.stored.append(path)

    def ahead(self, questions: list[list[str]]) -> Ahead:
        """Questions by number, each with the names of its clips."""
        ahead = Ahead(self.hold, self.store)
        for number, names in enumerate(questions):
            ahead.expect(number, [(Path(name), LARGE) for name in names])
        return ahead


def settle() -> None:
    """Wait until the background has nothing left to do."""
    deadline = time.monotonic() + 60
    while prefetch._worker._plan is not None:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def paths(*names: str) -> list[Path]:
    return [Path(name) for name in names]


# --- which clips --------------------------------------------------------------------------------------------------


def test_what_follows_is_prepared_in_order_each_clip_once() -> None:
    noted = Noted()
    noted.ahead([["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"], ["e"]]).asked(0)
    settle()
    assert noted.held == paths("c", "d", "e")
    assert noted.stored == []


@pytest.mark.parametrize(
    ("megabytes", "held", "stored"),
    [(100, "cdefghi", ""), (12, "cde", "fg"), (10, "cd", "efg"), (5, "", "cd"), (0, "", "cd")],
)
def test_as_much_is_held_as_fits_beside_the_question_and_of_the_rest_one_question_is_stored(
    megabytes: int, held: str, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_FRAME_MEMORY", str(megabytes))
    noted = Noted()
    noted.ahead([["a", "b"], ["c", "d"], ["e", "f", "g"], ["h", "i"]]).asked(0)
    settle()
    assert (noted.held, noted.stored) == (paths(*held), paths(*stored))


def test_an_order_that_was_not_foreseen_is_not_followed() -> None:
    noted = Noted()
    ahead = noted.ahead([[str(number // 3)] for number in range(300)])
    ahead.asked(0)
    settle()
    held = len(noted.held)
    assert held
    for far in (100, 90, 299, 1, 7):
        ahead.asked(far)
        settle()
    assert len(noted.held) == held
    ahead.asked(8)
    settle()
    assert len(noted.held) > held
    held = len(noted.held)
    ahead.asked("no question of this run")
    settle()
    assert len(noted.held) == held


def test_the_questions_of_a_scene_may_come_in_any_order() -> None:
    noted = Noted()
    ahead = noted.ahead([[name] for name in "aaabbbccc"])
    for place, following in ((2, "bc"), (0, "bc"), (1, "bc"), (5, "c"), (3, "c"), (4, "c"), (7, "")):
        noted.held.clear()
        ahead.asked(place)
        settle()
        assert noted.held == paths(*following)


def test_the_clips_of_a_question_are_those_whose_frames_it_shows() -> None:
    videos = [Video(Path(name), LARGE, as_images=name == "c") for name in "abc"]
    parts = (Text("x"), Panel((videos[0],)), videos[1], videos[2])
    question = Question("q", "s", parts, (), (), "k")
    assert clips_of(question, whole=True) == [(Path(name), LARGE) for name in "abc"]
    assert clips_of(question, whole=False) == [(Path("a"), LARGE), (Path("c"), LARGE)]


# --- real clips ---------------------------------------------------------------------------------------------------


def test_the_next_question_finds_its_frames_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (write_video(tmp_path / f"{frames}.mp4", frames) for frames in (5, 7))
    ahead = Ahead()
    for number, path in enumerate((first, second)):
        ahead.expect(number, [(path, LARGE)])
    frames_of(first, LARGE)
    ahead.asked(0)
    settle()
    monkeypatch.setattr(clips, "_decoded", None)
    assert numbers_in(frames_of(second, LARGE)) == [0, 3, 6]


def test_with_little_memory_the_next_clip_is_stored_and_none_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_FRAME_MEMORY", "3")
    ahead = Ahead()
    made = [write_video(tmp_path / f"{frames}.mp4", frames) for frames in (5, 7)]
    for number, path in enumerate(made):
        ahead.expect(number, [(path, LARGE)])
    current = frames_of(made[0], LARGE)
    ahead.asked(0)
    settle()
    assert all(one is other for one, other in zip(frames_of(made[0], LARGE), current, strict=True))
    assert len(clips._clips._kept) == 1
    monkeypatch.setattr(clips, "_decoded", None)
    assert numbers_in(frames_of(made[1], LARGE)) == [0, 3, 6]


def test_a_fault_is_told_when_the_question_is_asked_and_not_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ahead = Ahead()
    good = write_video(tmp_path / "good.mp4", 5)
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"no video")
    for number, path in enumerate((good, bad, tmp_path / "missing.mp4", write_video(tmp_path / "last.mp4", 7))):
        ahead.expect(number, [(path, Sampling(fps=1.0, size=(56, 32)) if path == bad else LARGE)])
    ahead.asked(0)
    settle()
    assert capsys.readouterr().err == ""
    assert [key[0].name for key in clips._clips._kept] == ["last.mp4"]
    with pytest.raises(DataError, match="no video that can be opened"):
        frames_of(bad, LARGE)


def test_a_question_that_comes_while_its_clip_is_prepared_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_video(tmp_path / "a.mp4", 5)
    begun, go_on, decodings = threading.Event(), threading.Event(), []
    decode = clips._decoded

    def slow(path: Path, *rest: Any) -> object:
        decodings.append(path)
        begun.set()
        assert go_on.wait(60)
        return decode(path, *rest)

    monkeypatch.setattr(clips, "_decoded", slow)
    ahead = Ahead()
    ahead.expect(0, [])
    ahead.expect(1, [(path, LARGE)])
    ahead.asked(0)
    assert begun.wait(60)
    threading.Timer(0.2, go_on.set).start()
    assert numbers_in(frames_of(path, LARGE)) == [0, 2, 4]
    assert decodings == [path]


# --- the process --------------------------------------------------------------------------------------------------


def test_a_newer_question_takes_the_place_of_what_was_planned() -> None:
    started, go_on = threading.Event(), threading.Event()
    done: list[Path] = []

    def hold(path: Path, sampling: Sampling) -> None:
        started.set()
        assert go_on.wait(60)
        done.append(path)

    ahead = Ahead(hold)
    for number in range(8):
        ahead.expect(number, [(Path(str(number)), Sampling(count=3, size=(2500, 1000)))])
    ahead.asked(0)
    assert started.wait(60)
    ahead.asked(1)
    go_on.set()
    settle()
    # From either question on there was room for two.
    assert set(done) == set(paths("1", "2", "3"))


_PROGRAM = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
from spotdiff.media.prefetch import Ahead
from spotdiff.media.sampling import Sampling
from spotdiff.media.clips import frames_of
ahead = Ahead({hold})
sampling = Sampling(count=3, size=(56, 32))
for number in range(3):
    ahead.expect(number, [(Path({path!r}), Sampling(count=number + 1, size=(56, 32)))])
ahead.asked(0)
"""


def run(folder: Path, then: str, hold: str = "") -> subprocess.CompletedProcess[str]:
    path = write_video(folder / "a.mp4", 9)
    program = _PROGRAM.format(here=str(Path(__file__).parent), path=str(path), hold=hold) + then
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


def test_a_process_ends_at_once_whatever_is_planned(tmp_path: Path) -> None:
    done = run(tmp_path, "print('end')", "lambda *_: time.sleep(0.5), lambda *_: None")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_an_error_that_ends_a_process_still_ends_it(tmp_path: Path) -> None:
    done = run(tmp_path, "raise SystemExit(3)")
    assert (done.returncode, done.stderr) == (3, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_is_forked_off_meanwhile_decodes_for_itself(tmp_path: Path) -> None:
    then = """
from spotdiff.media import clips
for number in range(20):
    # Each finds the background at something else.
    time.sleep(number / 100)
    child = os.fork()
    if not child:
        ahead.asked(1)
        os._exit(0 if len(frames_of(Path({path!r}), sampling)) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
with clips._clips._lock:
    child = os.fork()
    if not child:
        os._exit(0 if len(frames_of(Path({path!r}), sampling)) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
""".format(path=str(tmp_path / "a.mp4"))
    done = run(tmp_path, then)
    assert done.returncode == 0, done.stderr
