"""Decoding by decord, for what PyAV cannot open and for comparison.

decord counts packets, not frames, repeats the last good frame where one is missing, and never says that a picture was
patched up. Here it is told to fail instead of repeating, so that what it gives is index-exact or an error. It turns
pictures by itself, but takes a mirrored one for a turned one.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.media._decoded import REENCODE, CannotOpen, Decoded, Keep, Kept, VideoInfo, fault, reason

if TYPE_CHECKING:
    from PIL import Image as PILImage

_NO_REPEATS = 1e-9
"""Share of repeated frames above which decord raises an error. 0 would mean that it never does."""


def version() -> str:
    import decord

    return f"decord {decord.__version__}"


def scan(path: Path) -> VideoInfo | None:
    """Nothing: decord's count of frames and their times are true only of a file that it decodes to the end."""
    return None


def decode(path: Path, wanted: Collection[int], size: tuple[int, int] | None, keep: Keep[Kept]) -> Decoded[Kept]:
    """Decode the whole file once, in order, and keep the wanted frames.

    Raises CannotOpen; DataError when any frame is missing or cannot be decoded, or time stamps cannot be used.
    """
    kept: list[Kept] = []
    height = width = 0
    reader, failures = _opened(path)
    try:
        for index in range(len(reader)):
            pixels = _array(reader.next())
            height, width = pixels.shape[:2]
            if index in wanted:
                kept.append(keep(_picture(pixels, size)))
        times = [float(start) for start, _ in reader.get_frame_timestamp(list(range(len(reader))))]
    except failures as error:
        raise fault(path, "the video is damaged, or decord cannot count its frames", REENCODE) from error
    if times[0] < 0 or any(later <= earlier for earlier, later in pairwise(times)):
        raise fault(path, "decord finds no usable time stamps", REENCODE)
    return Decoded(VideoInfo("unknown", width, height, tuple(time - times[0] for time in times)), tuple(kept))


def _opened(path: Path) -> tuple[Any, tuple[type[Exception], ...]]:
    """The reader, and what it raises where a frame cannot be had."""
    try:
        import decord
    except ImportError as error:
        raise CannotOpen("decord is not installed") from error
    try:
        reader = decord.VideoReader(str(path.absolute()), ctx=decord.cpu(0), fault_tol=_NO_REPEATS)
    except (decord.DECORDError, RuntimeError, AssertionError) as error:
        raise CannotOpen(f"decord: {reason(error)}") from error
    return reader, (decord.DECORDError, decord.DECORDLimitReachedError, StopIteration)


def _array(frame: Any) -> Any:
    # decord.bridge, which the host program may have set, decides the type.
    return frame.asnumpy() if hasattr(frame, "asnumpy") else frame.numpy()


def _picture(pixels: Any, size: tuple[int, int] | None) -> PILImage.Image:
    from PIL import Image

    image = Image.fromarray(pixels)
    return image if size in (None, image.size) else image.resize(size, Image.Resampling.BICUBIC)
