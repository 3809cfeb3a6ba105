"""Frames as image files: the same pixels, made once, and made anew when a file is not as it was written."""

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from videos import numbered, numbers_in, write_video

from spotdiff.errors import DataError, SettingError
from spotdiff.media import clips, frame_files
from spotdiff.media.clips import frames_for_files, frames_of
from spotdiff.media.images import pixel_digest, save_by_digest
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

    def counted(path: Path, sampling: Sampling) -> tuple[Sequence[Image.Image], str | None]:
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


@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "list gone", "list cut", "list of another kind"])
def test_what_is_not_as_it_was_written_is_made_anew(
    tmp_path: Path, files: Files, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    first = files(path)
    (listed,) = (tmp_path / "files").rglob("*.json")
    if damage == "gone":
        first[1].unlink()
    elif damage == "cut":
        first[1].write_bytes(first[1].read_bytes()[:-20])
    elif damage == "changed":
        content = bytearray(first[1].read_bytes())
        content[len(content) // 2] ^= 0x40
        first[1].write_bytes(content)
        monkeypatch.setattr(frame_files, "_known", set())  # as another process finds it
    elif damage == "list gone":
        listed.unlink()
    else:
        listed.write_bytes(listed.read_bytes()[:-20] if damage == "list cut" else b"[1, 2]")
    assert files(path) == first
    assert numbers_in(opened(first)) == [0, 4, 8]


def test_a_damaged_file_that_another_video_has_left_is_not_taken(tmp_path: Path, files: Files) -> None:
    still = write_video(tmp_path / "still.mp4", [numbered(5, 56, 32)] * 4)
    (file,) = set(files(still))
    content = bytearray(file.read_bytes())
    content[-30] ^= 1
    file.write_bytes(content)
    assert numbers_in(opened(files(write_video(tmp_path / "longer.mp4", [numbered(5, 56, 32)] * 7)))) == [5, 5, 5]


@pytest.mark.parametrize(("module", "name"), [(clips, "_decoded"), (frame_files, "frames_for_files")])
def test_files_of_a_video_that_was_replaced_meanwhile_are_not_kept_for_the_old_one(
    tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> None:
    path = write_video(tmp_path / "a.mp4", 9)
    original = path.read_bytes()
    usual = getattr(module, name)

    def replaced(path: Path, sampling: Sampling) -> Any:
        write_video(path, 5)
        return usual(path, sampling)

    monkeypatch.setattr(module, name, replaced)
    assert numbers_in(opened(files(path))) == [0, 2, 4]
    monkeypatch.setattr(module, name, usual)
    path.write_bytes(original)
    assert numbers_in(opened(files(path))) == [0, 4, 8]


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


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_a_plain_png_holds_the_pixels_as_every_reader_finds_them(width: int, height: int, seed: int) -> None:
    pixels = numpy.random.default_rng(seed).integers(0, 256, (height, width, 3), numpy.uint8)
    with tempfile.TemporaryDirectory() as folder:
        file = save_by_digest(Image.fromarray(pixels), Path(folder), compressed=False)
        image = Image.open(file)
        image.load()
        assert image.format == "PNG"
        assert image.mode == "RGB"
        assert numpy.array_equal(numpy.asarray(image), pixels)
        with av.open(str(file)) as other:
            assert numpy.array_equal(next(other.decode(video=0)).to_ndarray(format="rgb24"), pixels)
