"""Frames as prompts use them, and files for models that read them themselves."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from videos import numbers_in, write_video

from spotdiff.errors import DataError, SettingError
from spotdiff.media import clips
from spotdiff.media.clips import clip_bytes, frames_of, link_by_digest
from spotdiff.media.sampling import Sampling, even_indices
from spotdiff.media.video import Clip
from spotdiff.question import Panel, Video

THREE = Sampling(count=3, size=(56, 32))


_decoded: list[Path] = []


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    _decoded.clear()
    decode = clips._decoded

    def counted(path: Path, *rest: Any) -> Clip[Any]:
        _decoded.append(path)
        return decode(path, *rest)

    monkeypatch.setattr(clips, "_decoded", counted)
    monkeypatch.setattr(clips, "_clips", clips._Clips())
    monkeypatch.setenv("SPOTDIFF_FRAME_DISK", "0")


def decodings() -> int:
    return len(_decoded)


# --- frames -------------------------------------------------------------------------------------------------------


def test_the_next_question_on_a_video_gets_the_same_frames_without_a_second_decoding(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    first, second = frames_of(path, THREE), frames_of(path, THREE)
    assert numbers_in(first) == [0, 4, 8]
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert decodings() == 1


def test_a_list_that_was_changed_changes_no_other(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    frames_of(path, THREE).clear()
    assert numbers_in(frames_of(path, THREE)) == [0, 4, 8]


def test_another_sampling_is_decoded_for_itself(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    assert numbers_in(frames_of(path, THREE)) == [0, 4, 8]
    assert numbers_in(frames_of(path, Sampling(count=2, size=(56, 32)))) == [0, 8]
    assert frames_of(path, Sampling(count=3, size=(28, 28)))[0].size == (28, 28)


def test_a_changed_file_is_decoded_again(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    assert numbers_in(frames_of(path, THREE)) == [0, 4, 8]
    write_video(path, 5)
    assert numbers_in(frames_of(path, THREE)) == [0, 2, 4]


def test_a_file_that_goes_missing_is_an_error_though_its_frames_were_read(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    frames_of(path, THREE)
    path.unlink()
    with pytest.raises(DataError, match="no such file"):
        frames_of(path, THREE)


def test_a_fault_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    for _ in range(2):
        with pytest.raises(DataError, match="no such file"):
            frames_of(path, THREE)
    write_video(path, 5)
    assert numbers_in(frames_of(path, THREE)) == [0, 2, 4]


def test_clips_are_held_as_far_as_they_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = Sampling(count=3, size=(500, 400))
    paths = [write_video(tmp_path / f"{number}.mp4", 3) for number in range(5)]
    taken = 4 * 500 * 400 * 3  # bytes of one, at four a pixel: 2.4 MB
    for room, held in ((12, 5), (11, 4), (3, 1), (2, 0)):
        assert held == min(room * 10**6 // taken, 5)
        monkeypatch.setenv("SPOTDIFF_FRAME_MEMORY", str(room))
        monkeypatch.setattr(clips, "_clips", clips._Clips())
        for path in paths:
            frames_of(path, large)
        before = decodings()
        for path in reversed(paths[5 - held :]):
            frames_of(path, large)
        assert decodings() == before
        frames_of(paths[0], large)
        assert decodings() == before + (held < 5)


def test_frames_that_a_caller_still_uses_are_let_go_of_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = Sampling(count=3, size=(500, 400))  # 2.4 MB
    used, unused, new = (write_video(tmp_path / f"{number}.mp4", 3) for number in range(3))
    monkeypatch.setenv("SPOTDIFF_FRAME_MEMORY", "5")
    held = frames_of(used, large)[0]
    frames_of(unused, large)
    frames_of(new, large)
    before = decodings()
    assert frames_of(used, large)[0] is held
    assert decodings() == before
    frames_of(unused, large)
    assert decodings() == before + 1
    # Without a caller, the one that was not used for longest goes.
    del held
    frames_of(new, large)
    frames_of(used, large)
    assert decodings() == before + 3


def test_threads_that_ask_for_a_clip_at_once_decode_it_once(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: frames_of(path, THREE), range(16)))
    assert decodings() == 1
    assert {tuple(numbers_in(frames)) for frames in found} == {(0, 4, 8)}


# --- the store ----------------------------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Frames are kept in this folder, and in no memory."""
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SPOTDIFF_FRAME_DISK", "1")
    monkeypatch.setenv("SPOTDIFF_FRAME_MEMORY", "0")
    return tmp_path / "cache" / "frames"


def test_a_video_is_decoded_once_for_all_runs(tmp_path: Path, stored: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    first, second = frames_of(path, THREE), frames_of(path, THREE)
    assert decodings() == 1
    assert [image.tobytes() for image in first] == [image.tobytes() for image in second]
    assert numbers_in(second) == [0, 4, 8]
    assert len(list(stored.rglob("*.frames"))) == 1


def test_a_copy_of_a_video_under_another_name_is_not_decoded_again(tmp_path: Path, stored: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    frames_of(path, THREE)
    shutil.copy(path, tmp_path / "b.mp4")
    assert numbers_in(frames_of(tmp_path / "b.mp4", THREE)) == [0, 4, 8]
    assert decodings() == 1


def test_another_video_of_the_same_name_size_and_time_gives_its_own_frames(tmp_path: Path, stored: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    assert numbers_in(frames_of(path, THREE)) == [0, 4, 8]
    other = write_video(tmp_path / "b.mp4", 5)
    time = path.stat().st_mtime_ns
    length = max(path.stat().st_size, other.stat().st_size)
    for file in (path, other):
        with file.open("ab") as end:  # a free box, which readers skip
            free = length + 8 - file.stat().st_size
            end.write(free.to_bytes(4, "big") + b"free" + bytes(free - 8))
        os.utime(file, ns=(time, time))
    assert numbers_in(frames_of(path, THREE)) == [0, 4, 8]
    before = path.stat()
    os.replace(other, path)
    assert (before.st_size, before.st_mtime_ns) == (path.stat().st_size, path.stat().st_mtime_ns)
    assert numbers_in(frames_of(path, THREE)) == [0, 2, 4]


def test_each_sampling_is_stored_for_itself(tmp_path: Path, stored: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    samplings = (
        THREE,
        Sampling(count=2, size=(56, 32)),
        Sampling(count=3, size=(32, 56)),
        Sampling(fps=1.0, size=(56, 32)),
        Sampling(instants=(0.0, 1.0), size=(56, 32)),
        Sampling(count=3, size=None),
    )
    fresh = [frames_of(path, sampling) for sampling in samplings]
    assert decodings() == len(samplings)
    for sampling, frames in zip(samplings, fresh, strict=True):
        again = frames_of(path, sampling)
        assert [(i.size, i.tobytes()) for i in again] == [(i.size, i.tobytes()) for i in frames]
    assert decodings() == len(samplings)


def test_a_store_that_cannot_be_written_is_said_once_and_costs_no_frame(
    tmp_path: Path, stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored.parent.mkdir()
    stored.write_text("a file where the folder should be")
    path = write_video(tmp_path / "a.mp4", 9)
    for _ in range(2):
        assert numbers_in(frames_of(path, THREE)) == [0, 4, 8]
    assert capsys.readouterr().err.count("no frames can be stored") == 1


_READ_ONLY = """
import os, sys
from pathlib import Path
from typing import Any
from spotdiff.media import clips
from spotdiff.media.clips import frames_of
from spotdiff.media.sampling import Sampling
path = Path(sys.argv[1])
decode = clips._decoded
decode(path, Sampling(count=1, size=(56, 32)))
frames_of(path, Sampling(count=3, size=(56, 32)))
# Root may write anywhere, and others may not read all that is imported.
os.geteuid() or os.setuid(65534)
decoded = []
clips._decoded = lambda path, *rest: (decoded.append(path), decode(path, *rest))[1]
for count in (3, 4, 3, 5):
    assert len(frames_of(path, Sampling(count=count, size=(56, 32)))) == count
print(len(decoded))
"""


def test_a_store_that_may_only_be_read_gives_what_it_has_and_the_rest_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = write_video(Path(place, "a.mp4"), 9)
        for name, value in (("MEDIA_CACHE", f"{place}/cache"), ("FRAME_DISK", "1"), ("FRAME_MEMORY", "0")):
            monkeypatch.setenv(f"SPOTDIFF_{name}", value)
        frames_of(path, THREE)
        for folder in (place, *(each for each, _, _ in os.walk(f"{place}/cache"))):
            os.chmod(folder, 0o555)
        done = subprocess.run(
            [sys.executable, "-c", _READ_ONLY, str(path)], capture_output=True, text=True, timeout=120
        )
        for folder in (place, *(each for each, _, _ in os.walk(f"{place}/cache"))):
            os.chmod(folder, 0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2\n"
    assert done.stderr.count("no frames can be stored") == 1


def test_a_broken_video_is_an_error_with_and_without_stored_frames(tmp_path: Path, stored: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    frames_of(path, THREE)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="cut short"):
        frames_of(path, THREE)
    path.unlink()
    with pytest.raises(DataError, match="no such file"):
        frames_of(path, THREE)


def test_frames_of_a_video_that_was_replaced_while_it_was_decoded_are_not_kept_for_the_old_one(
    tmp_path: Path, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    original = path.read_bytes()
    decode = clips._decoded

    def replaced(path: Path, *rest: Any) -> Clip[Any]:
        write_video(path, 5)
        return decode(path, *rest)

    monkeypatch.setattr(clips, "_decoded", replaced)
    assert numbers_in(frames_of(path, THREE)) == [0, 2, 4]
    monkeypatch.setattr(clips, "_decoded", decode)
    assert numbers_in(frames_of(path, THREE)) == [0, 2, 4]
    path.write_bytes(original)
    assert numbers_in(frames_of(path, THREE)) == [0, 4, 8]


def test_a_video_that_cannot_be_read_is_named(tmp_path: Path, stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "a.mp4", 9)

    usual = Path.open

    def refused(self: Path, *given: Any, **named: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return usual(self, *given, **named)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(DataError, match=r"a\.mp4: the file cannot be read \(Permission denied\)"):
        frames_of(path, THREE)


def test_a_damaged_entry_is_decoded_again_and_stored_again(tmp_path: Path, stored: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    for damage in (lambda content: content[:-1], lambda content: b"", lambda content: content[:100] + content[101:]):
        frames_of(path, THREE)
        (entry,) = stored.rglob("*.frames")
        entry.write_bytes(damage(entry.read_bytes()))
        before = decodings()
        assert numbers_in(frames_of(path, THREE)) == [0, 4, 8]
        assert numbers_in(frames_of(path, THREE)) == [0, 4, 8]
        assert decodings() == before + 1


_ASKING = """
import sys
from pathlib import Path
from typing import Any
from spotdiff.media import clips
from spotdiff.media.clips import frames_of
from spotdiff.media.sampling import Sampling
decode = clips._decoded
decoded = []
clips._decoded = lambda path, *rest: (decoded.append(path), decode(path, *rest))[1]
import hashlib
sys.stdin.readline()
frames = frames_of(Path(sys.argv[1]), Sampling(count=60, size=(800, 600)))
print(len(decoded), hashlib.sha256(b"".join(frame.tobytes() for frame in frames)).hexdigest())
"""


def test_processes_that_want_one_video_at_once_decode_it_once_and_get_the_same_pixels(
    tmp_path: Path, stored: Path
) -> None:
    path = write_video(tmp_path / "a.mp4", 120)
    words = [sys.executable, "-c", _ASKING, str(path)]
    processes = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [process.communicate(timeout=120)[0].split() for process in processes]
    assert sorted(count for count, _ in found) == ["0", "0", "1"]
    assert len({digest for _, digest in found}) == 1


def test_a_process_that_is_killed_while_it_fills_leaves_the_next_one_all_frames(tmp_path: Path, stored: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 120)
    words = [sys.executable, "-c", _ASKING, str(path)]
    for wait in (0.05, 0.2, 0.4):
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
            time.sleep(wait)
            process.kill()
    sampling = Sampling(count=60, size=(800, 600))
    assert numbers_in(frames_of(path, sampling)) == even_indices(120, 60)


def test_the_views_of_a_panel_come_from_the_store(tmp_path: Path, stored: Path) -> None:
    instants = (0.0, 1.0, 2.0)
    views = [write_video(tmp_path / f"{rate}.mp4", 5 * rate, rate=Fraction(rate)) for rate in (3, 6)]
    videos = tuple(Video(path, Sampling(instants=instants, size=(56, 32))) for path in views)
    panels = [Panel(videos).image() for _ in range(2)]
    assert decodings() == 2
    cells = [
        panels[1].crop((56 * column, 32 * row, 56 * (column + 1), 32 * (row + 1)))
        for row in range(2)
        for column in range(3)
    ]
    assert numbers_in(cells) == [0, 3, 6, 0, 6, 12]
    assert panels[0].tobytes() == panels[1].tobytes()


@pytest.mark.parametrize("told", [Sampling(count=3), Sampling(instants=(0.0, 1.0, 2.0)), Sampling(fps=1.0)])
@pytest.mark.parametrize("size", [(56, 32), None])
def test_what_a_clip_takes_in_memory_is_known_beforehand(
    tmp_path: Path, told: Sampling, size: tuple[int, int] | None
) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    sampling = replace(told, size=size)
    assert clip_bytes(path, sampling) == sum(4 * image.width * image.height for image in frames_of(path, sampling))


def test_threads_that_hold_no_clip_leave_no_lock_behind(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    frames_of(path, THREE)
    with pytest.raises(DataError):
        frames_of(tmp_path / "missing.mp4", THREE)
    assert clips._clips._being_read == {}


# --- files --------------------------------------------------------------------------------------------------------


def test_a_link_is_named_after_the_content_and_leads_to_it(tmp_path: Path) -> None:
    path = tmp_path / "the answer is B.mp4"
    path.write_bytes(b"content")
    link = link_by_digest(path, tmp_path / "links")
    assert link == tmp_path / "links" / f"{hashlib.sha256(b'content').hexdigest()}.mp4"
    assert link.read_bytes() == b"content"
    assert link_by_digest(path, tmp_path / "links") == link
    assert [entry.name for entry in (tmp_path / "links").iterdir()] == [link.name]


def test_equal_videos_share_a_link_and_others_do_not(tmp_path: Path) -> None:
    for name, content in (("a.mp4", b"one"), ("b.mp4", b"one"), ("c.mp4", b"two")):
        (tmp_path / name).write_bytes(content)
    a, b, c = (link_by_digest(tmp_path / name, tmp_path / "links") for name in ("a.mp4", "b.mp4", "c.mp4"))
    assert a == b != c
    assert (a.read_bytes(), c.read_bytes()) == (b"one", b"two")


def test_a_changed_video_gets_another_link(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"old content")
    old = link_by_digest(path, tmp_path / "links")
    path.write_bytes(b"new")
    assert link_by_digest(path, tmp_path / "links") != old


@pytest.mark.parametrize("how", ["gone", "replaced by another video"])
def test_a_link_that_no_longer_leads_to_its_content_is_renewed(tmp_path: Path, how: str) -> None:
    old, new = tmp_path / "old.mp4", tmp_path / "new.mp4"
    old.write_bytes(b"content")
    link = link_by_digest(old, tmp_path / "links")
    old.rename(new)
    if how != "gone":
        old.write_bytes(b"something else")
    assert link_by_digest(new, tmp_path / "links") == link
    assert link.read_bytes() == b"content"


def test_many_may_make_the_same_link_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"content")
    with ThreadPoolExecutor(8) as pool:
        links = set(pool.map(lambda _: link_by_digest(path, tmp_path / "links"), range(40)))
    (link,) = links
    assert os.listdir(tmp_path / "links") == [link.name]


def test_a_folder_that_cannot_be_written_is_an_error_that_says_what_to_set(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"content")
    with pytest.raises(SettingError, match="SPOTDIFF_MEDIA_CACHE"):
        link_by_digest(path, path / "links")
