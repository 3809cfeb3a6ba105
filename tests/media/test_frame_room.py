"""The folder of image files: what a run needs is there or an error; what no run needs goes first."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image
from videos import numbered, write_video

from spotdiff.errors import SettingError
from spotdiff.media import clips, frame_files, frame_room
from spotdiff.media.frame_files import frame_files as files_of
from spotdiff.media.frame_room import _claim, make_room
from spotdiff.media.images import save_by_digest
from spotdiff.media.sampling import Sampling

THREE = Sampling(count=3, size=(56, 32))
FIRST = Sampling(count=1, size=(56, 32))
"""A frame that is also one of THREE."""

ROOM = 10**9


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clips, "_clips", clips._Clips())
    monkeypatch.setattr(frame_room, "_claims", {})
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "files"


def video(folder: Path, number: int) -> Path:
    """No two share a frame."""
    folder.mkdir(exist_ok=True)
    return write_video(folder / f"{number}.mp4", [numbered(100 * number + frame, 56, 32) for frame in range(9)])


def used_at(folder: Path, path: Path, sampling: Sampling, seconds: int) -> None:
    (listed,) = (folder / "clips").glob(f"{clips.clip_name(path, sampling)}.json")
    os.utime(listed, (seconds, seconds))


def there(folder: Path) -> set[Path]:
    return set(folder.glob("*.png"))


def taken(folder: Path) -> int:
    return sum(file.stat().st_size for file in there(folder))


def test_too_little_room_is_found_before_a_frame_is_decoded(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    large = Sampling(count=9, size=(100_000, 100_000))
    monkeypatch.setattr(clips, "_decoded", None)
    with pytest.raises(SettingError, match=r"1 videos take 270\.0 GB as files.*SPOTDIFF_MEDIA_CACHE"):
        make_room([(path, large)], folder, ROOM)
    make_room([(path, THREE)], folder, ROOM)


def test_files_that_are_there_need_no_room_and_those_that_are_gone_do(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    files = files_of(path, THREE, folder)
    monkeypatch.setattr(frame_room.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    make_room([(path, THREE)], folder, ROOM)
    with pytest.raises(SettingError, match="GB"):
        make_room([(path, Sampling(count=2, size=(56, 32)))], folder, ROOM)
    files[1].unlink()
    with pytest.raises(SettingError, match="GB"):
        make_room([(path, THREE)], folder, ROOM)


def test_clips_that_no_question_needs_go_first_the_longest_unused_before_others(tmp_path: Path, folder: Path) -> None:
    paths = [video(tmp_path / "videos", number) for number in range(4)]
    files = [set(files_of(path, THREE, folder)) for path in paths]
    for path, seconds in zip(paths, (1000, 4000, 2000, 3000), strict=True):
        used_at(folder, path, THREE, seconds)
    # The first one is needed now, though it was not used for longest; of the others, there is room for one.
    make_room([(paths[0], THREE)], folder, taken(folder) // 2)
    assert there(folder) == files[0] | files[1]
    assert taken(folder) == sum(file.stat().st_size for file in files[0] | files[1])
    assert {path.stem for path in (folder / "clips").glob("*.json")} == {
        clips.clip_name(path, THREE) for path in paths[:2]
    }


def test_room_is_made_for_what_is_still_missing(tmp_path: Path, folder: Path) -> None:
    old, new = video(tmp_path / "videos", 0), video(tmp_path / "videos", 1)
    files_of(old, THREE, folder)
    make_room([(new, THREE)], folder, 2 * taken(folder))
    assert len(there(folder)) == 3
    make_room([(new, THREE)], folder, taken(folder))
    assert there(folder) == set()
    assert len(files_of(new, THREE, folder)) == 3


def test_a_file_that_a_needed_clip_shares_stays(tmp_path: Path, folder: Path) -> None:
    path = video(tmp_path / "videos", 0)
    (shared,) = files_of(path, FIRST, folder)
    assert shared in files_of(path, THREE, folder)
    used_at(folder, path, THREE, 1000)
    make_room([(path, FIRST)], folder, 1)
    assert there(folder) == {shared}


def test_images_that_belong_to_no_clip_go_by_their_age_and_other_files_stay(tmp_path: Path, folder: Path) -> None:
    path = video(tmp_path / "videos", 0)
    clip = set(files_of(path, THREE, folder))
    used_at(folder, path, THREE, 2000)
    image = save_by_digest(clips.frames_of(video(tmp_path / "videos", 1), FIRST)[0], folder)
    os.utime(image, (1000, 1000))
    note = folder / "note.txt"
    note.write_text("kept")
    make_room([], folder, taken(folder) - 1)
    assert there(folder) == clip
    make_room([], folder, 0)
    assert there(folder) == set()
    assert note.exists()


def test_within_the_limit_nothing_goes(tmp_path: Path, folder: Path) -> None:
    files = set(files_of(video(tmp_path / "videos", 0), THREE, folder))
    make_room([], folder, taken(folder))
    assert there(folder) == files


needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there, and nothing is removed")


CODE = "import sys; from pathlib import Path; from spotdiff.media.frame_room import _claim, make_room\n"


def process(folder: Path, code: str) -> subprocess.Popen[str]:
    """One of its own, where `folder` is known."""
    command = [sys.executable, "-c", f"{CODE}folder = Path(sys.argv[1])\n{code}", str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextlib.contextmanager
def another_process(folder: Path) -> Iterator[None]:
    """That works in the folder."""
    with process(folder, "assert _claim(folder); print('claimed', flush=True); sys.stdin.read()") as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "claimed\n"
        yield
        other.communicate("", timeout=60)


def room_made_by_another(folder: Path) -> None:
    """It wants none of the files, and no file at all to be there."""
    with process(folder, "make_room([], folder, 0)") as other:
        assert other.wait(60) == 0


@needs_locks
def test_nothing_goes_while_another_process_works_in_the_folder(tmp_path: Path, folder: Path) -> None:
    files = set(files_of(video(tmp_path / "videos", 0), THREE, folder))
    with another_process(folder):
        make_room([], folder, 0)
        assert there(folder) == files
    make_room([], folder, 0)
    assert there(folder) == set()


@needs_locks
def test_who_found_another_one_at_work_is_at_work_itself(tmp_path: Path, folder: Path) -> None:
    files = set(files_of(video(tmp_path / "videos", 0), THREE, folder))
    with another_process(folder):
        make_room([], folder, 0)
    room_made_by_another(folder)
    assert there(folder) == files


@needs_locks
def test_no_process_is_alone_in_the_moment_in_which_another_finds_that_it_is_not(folder: Path) -> None:
    import fcntl

    with another_process(folder), frame_room._alone(_claim(folder)) as alone:
        assert not alone
        other = process(folder, "make_room([], folder, 0)")
        # It waits at the gate.
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(2)
        with (folder / ".users").open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    other.communicate(timeout=60)
    assert other.returncode == 0


@needs_locks
def test_a_process_that_is_forked_off_leaves_the_lock_to_its_parent(tmp_path: Path, folder: Path) -> None:
    files = set(files_of(video(tmp_path / "videos", 0), THREE, folder))
    assert _claim(folder)
    if (child := os.fork()) == 0:
        claims = -1
        try:
            make_room([], folder, 0)
            claims = len(frame_room._claims)
        finally:
            os._exit(claims)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    room_made_by_another(folder)
    assert there(folder) == files


def test_two_data_sets_of_a_run_leave_each_other_their_files(tmp_path: Path, folder: Path) -> None:
    """VLMEvalKit builds all data sets of a command before it asks the first question."""
    first, second, old = (video(tmp_path / "videos", number) for number in range(3))
    files = {path: set(files_of(path, THREE, folder)) for path in (first, old)}
    make_room([(first, THREE)], folder, taken(folder))
    files[second] = set(files_of(second, THREE, folder))
    image = save_by_digest(Image.new("RGB", (8, 8)), folder)
    make_room([(second, THREE)], folder, 0)
    assert there(folder) == files[first] | files[second] | {image}


def test_an_image_that_is_used_again_is_not_the_oldest_one(tmp_path: Path, folder: Path) -> None:
    red, blue = (Image.new("RGB", (8, 8), colour) for colour in ("red", "blue"))
    for seconds, image in ((1000, red), (2000, blue)):
        os.utime(save_by_digest(image, folder), (seconds, seconds))
    used = save_by_digest(red, folder)
    make_room([], folder, used.stat().st_size)
    assert there(folder) == {used}


@needs_locks
def test_what_cannot_be_looked_at_or_removed_stays_and_other_files_go(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_of(video(tmp_path / "videos", 0), THREE, folder)
    (folder / f"{64 * '0'}.png").symlink_to(tmp_path / "gone")
    removed = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path == files[1]:
            raise PermissionError(13, "Permission denied")
        removed(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    make_room([], folder, 0)
    assert there(folder) == {files[1], folder / f"{64 * '0'}.png"}


def test_a_run_that_needs_more_than_is_allowed_keeps_its_files_and_says_so(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = video(tmp_path / "videos", 0)
    files = set(files_of(path, THREE, folder))
    make_room([(path, THREE)], folder, taken(folder) // 2)
    assert there(folder) == files
    assert "SPOTDIFF_FRAME_DISK" in capsys.readouterr().err
    make_room([(path, THREE)], folder, ROOM)
    assert capsys.readouterr().err == ""


def test_a_list_that_cannot_be_read_holds_nothing(tmp_path: Path, folder: Path) -> None:
    path = video(tmp_path / "videos", 0)
    files_of(path, THREE, folder)
    (listed,) = (folder / "clips").glob("*.json")
    listed.write_text("{")
    frame_files._known.clear()
    make_room([], folder, 0)
    assert there(folder) == set()
    assert len(files_of(path, THREE, folder)) == 3
