"""Frames as prompts use them, and files for models that read them themselves."""

import hashlib
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from videos import numbers_in, write_video

from spotdiff.errors import DataError, SettingError
from spotdiff.media import clips
from spotdiff.media.clips import frames_of, link_by_digest
from spotdiff.media.sampling import Sampling
from spotdiff.media.video import Clip

THREE = Sampling(count=3, size=(56, 32))


_decoded: list[Path] = []


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    _decoded.clear()
    decode = clips._decoded

    def counted(path: Path, sampling: Sampling) -> Clip:
        _decoded.append(path)
        return decode(path, sampling)

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


def test_a_broken_video_is_an_error_with_and_without_stored_frames(tmp_path: Path, stored: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    frames_of(path, THREE)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="cut short"):
        frames_of(path, THREE)
    path.unlink()
    with pytest.raises(DataError, match="no such file"):
        frames_of(path, THREE)


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
