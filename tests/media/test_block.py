"""Memory that threads take in parts: none is given twice, and nobody's is given back while it is used."""

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import pytest
from PIL import Image
from videos import numbered, write_video

from spotdiff.media._block import _PIECE, Pieces
from spotdiff.media._decoded import _PENDING, InThreads
from spotdiff.media.clips import frames_of
from spotdiff.media.sampling import Sampling
from spotdiff.media.store import packed_frame


def test_parts_that_many_threads_take_do_not_overlap() -> None:
    pieces = Pieces()
    draw = numpy.random.default_rng(0)
    # Three pieces and more.
    contents = [draw.bytes(size) for size in draw.integers(0, _PIECE // 8, 64)]
    assert sum(map(len, contents)) > 3 * _PIECE
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(pieces.copy, contents))
    assert all(part == content for part, content in zip(taken, contents, strict=True))


def test_a_part_larger_than_a_piece_is_whole() -> None:
    content = bytes(_PIECE + 1)
    assert Pieces().copy(content) == content


@pytest.mark.parametrize("size", [(1, 1), (56, 32), (3, 700)])
def test_a_copied_picture_is_equal_and_its_own(size: tuple[int, int]) -> None:
    draw = numpy.random.default_rng(0)
    width, height = size
    pieces = Pieces()
    pixels = [draw.integers(0, 256, (height, width, 3), numpy.uint8) for _ in range(3)]
    images = [pieces.copy_image(Image.fromarray(each)) for each in pixels]
    del pieces
    gc.collect()
    images[1].copy().paste((1, 2, 3), (0, 0, *size))
    images[0].paste((1, 2, 3), (0, 0, 1, 1))
    pixels[0] = pixels[0].copy()
    pixels[0][0, 0] = (1, 2, 3)
    for image, expected in zip(images, pixels, strict=True):
        assert (image.mode, image.size) == ("RGB", size)
        assert numpy.array_equal(numpy.asarray(image), expected)


def test_a_frame_is_packed_the_same_wherever_it_is_put() -> None:
    frame = Image.fromarray(numbered(7, 56, 32))
    assert packed_frame(frame, Pieces()).content == packed_frame(frame).content


def test_frames_are_converted_in_threads_and_kept_in_order() -> None:
    with InThreads(lambda number: -number) as converted:
        for number in range(1000):
            converted.add(number)
            assert len(converted._pending) <= _PENDING
        assert converted.kept() == tuple(-number for number in range(1000))


def test_a_fault_in_a_thread_is_raised_and_nothing_is_left_at_work() -> None:
    def convert(number: int) -> int:
        return 1 // (number - 5)

    converted = InThreads(convert)

    def add_all() -> None:
        with converted:
            for number in range(1000):
                converted.add(number)

    with pytest.raises(ZeroDivisionError):
        add_all()
    assert not any(thread.is_alive() for thread in converted._pool._threads)


def test_no_decoded_frame_waits_for_the_garbage_collector(tmp_path: Path) -> None:
    import av

    path = write_video(tmp_path / "a.mp4", 30)
    gc.collect()
    gc.disable()
    try:
        frames_of(path, Sampling(count=30, size=(56, 32)))
        assert not [found for found in gc.get_objects() if isinstance(found, av.VideoFrame)]
    finally:
        gc.enable()
