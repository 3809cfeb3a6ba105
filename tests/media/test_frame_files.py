"""Frames as image files: the same pixels, made once, and made anew when a file is not as it was written."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image
from videos import numbered, numbers_in, write_video

from spotdiff.errors import DataError, SettingError
from spotdiff.media import clips, frame_files
from spotdiff.media.clips import frames_for_files, frames_of
from spotdiff.media.images import pixel_digest
from spotdiff.media.sampling import Sampling

THREE = Sampling(count=3, size=(56, 32))


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clips, "_clips", clips._Clips())
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def files(tmp_path: Path) -> Callable[[Path], list[Path]]:
    return lambda path: frame_files.frame_files(path, THREE, tmp_path / "files")


Files = Callable[[Path], list[Path]]


def opened(paths: list[Path]) -> list[Image.Image]:
    return [Image.open(path) for path in paths]


def refuse(path: Path, sampling: Sampling) -> None:
    raise AssertionError(f"{path} was read")


def test_files_hold_the_frames_and_are_named_after_their_pixels(tmp_path: Path, files: Files) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    found = files(path)
    assert numbers_in(opened(found)) == [0, 4, 8]
    assert [image.tobytes() for image in opened(found)] == [image.tobytes() for image in frames_of(path, THREE)]
    assert [file.stem for file in found] == [pixel_digest(image) for image in opened(found)]


def test_nothing_is_decoded_a_second_time(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    first = files(path)
    monkeypatch.setattr(frame_files, "frames_for_files", refuse)
    assert files(path) == first
    with pytest.raises(AssertionError):
        frame_files.frame_files(path, Sampling(count=2, size=(56, 32)), tmp_path / "files")


def test_threads_that_want_the_same_files_make_them_once(
    tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    made = []

    def counted(path: Path, sampling: Sampling) -> Sequence[Image.Image]:
        made.append(path)
        return frames_for_files(path, sampling)

    monkeypatch.setattr(frame_files, "frames_for_files", counted)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(files, [path] * 12))
    assert made == [path]
    assert all(numbers_in(opened(each)) == [0, 4, 8] for each in found)


def test_frames_that_are_the_same_share_a_file_and_are_all_given(tmp_path: Path, files: Files) -> None:
    still = write_video(tmp_path / "still.mp4", [numbered(5, 56, 32)] * 4)
    for _ in range(2):
        found = files(still)
        assert numbers_in(opened(found)) == [5, 5, 5]


@pytest.mark.parametrize("damage", ["gone", "cut", "list gone", "list cut", "list of another kind"])
def test_what_is_not_as_it_was_written_is_made_anew(tmp_path: Path, files: Files, damage: str) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    first = files(path)
    (listed,) = (tmp_path / "files").rglob("*.json")
    if damage == "gone":
        first[1].unlink()
    elif damage == "cut":
        first[1].write_bytes(first[1].read_bytes()[:-20])
    elif damage == "list gone":
        listed.unlink()
    else:
        listed.write_bytes(listed.read_bytes()[:-20] if damage == "list cut" else b"[1, 2]")
    assert files(path) == first
    assert numbers_in(opened(first)) == [0, 4, 8]


def test_another_video_of_the_same_name_gives_its_own_frames(tmp_path: Path, files: Files) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    assert numbers_in(opened(files(path))) == [0, 4, 8]
    write_video(path, 5)
    assert numbers_in(opened(files(path))) == [0, 2, 4]


def test_faults_of_the_video_and_of_the_folder_are_told(tmp_path: Path, files: Files) -> None:
    with pytest.raises(DataError, match="no such file"):
        files(tmp_path / "missing.mp4")
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video")
    with pytest.raises(DataError, match="no video that can be opened"):
        files(broken)
    (tmp_path / "files").write_text("a file where the folder should be")
    with pytest.raises(SettingError, match="SPOTDIFF_MEDIA_CACHE"):
        files(write_video(tmp_path / "a.mp4", 9))
