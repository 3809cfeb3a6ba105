"""What every decoder gives, and the faults it may find."""

from __future__ import annotations

import os
import stat
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from spotdiff.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL import Image as PILImage

_THREADS = 4
"""That convert frames of one video, on as many cores."""

_PENDING = 2 * _THREADS
"""Frames that wait to be converted, or for one before them, and are held for that long."""

FETCH = "Fetch the file again"
REENCODE = "Fetch the file again; if its source has the same fault, encode it anew: ffmpeg -i OLD -c:v libx264 NEW.mp4"

_MUST_BE_WHOLE = {b"mdat", b"moov", b"moof"}
_BOXES = {*_MUST_BE_WHOLE, b"ftyp", b"styp", b"free", b"skip", b"wide", b"uuid", b"sidx", b"mfra", b"meta", b"udta"}


@dataclass(frozen=True)
class VideoInfo:
    """One video, as it is decoded.

    codec: FFmpeg's name of it. width, height: pixels of the upright picture (rotation applied).
    times: when each frame is shown, in seconds after the first one, never falling; one entry for every frame that
    decoding yields, whatever the container states.
    """

    codec: str
    width: int
    height: int
    times: tuple[float, ...]

    @property
    def frames(self) -> int:
        return len(self.times)


Kept = TypeVar("Kept")
Keep: TypeAlias = "Callable[[PILImage.Image], Kept]"
"""What is held of a frame, upright RGB: called as soon as the frame is decoded, in any thread."""


def keep_nothing(_: PILImage.Image) -> None:
    """Where no frame is wanted."""


@dataclass(frozen=True)
class Decoded(Generic[Kept]):
    """A video that was decoded to its end, and what was kept of the wanted frames, in order."""

    info: VideoInfo
    kept: tuple[Kept, ...]


class InThreads(Generic[Kept]):
    """What threads convert while the caller goes on, such as frames: resizing one takes longer than decoding it.

    Used as a context: outside of it no thread is left. convert: makes of each what is kept.
    """

    def __init__(self, convert: Callable[[Any], Kept]) -> None:
        self._convert = convert
        self._kept: list[Kept] = []
        self._pending: deque[Future[Kept]] = deque()
        self._pool = ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1))

    def __enter__(self) -> InThreads[Kept]:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def add(self, frame: Any) -> None:
        """Raises what converting an earlier frame raised."""
        if len(self._pending) >= _PENDING:
            self._kept.append(self._pending.popleft().result())
        self._pending.append(self._pool.submit(self._convert, frame))

    def kept(self) -> tuple[Kept, ...]:
        """Of all frames, in the order in which they were added. Raises what converting raised."""
        while self._pending:
            self._kept.append(self._pending.popleft().result())
        return tuple(self._kept)


class CannotOpen(Exception):
    """This decoder cannot begin with the file; another one may."""


def fault(path: Path, what: str, remedy: str = FETCH) -> DataError:
    return DataError(f"{path}: {what}. {remedy}")


def reason(error: BaseException) -> str:
    """The first line of an error, short, without the paths and stops that would break our own sentence."""
    text = str(getattr(error, "strerror", None) or error).strip() or type(error).__name__
    return text.splitlines()[0][:200].rstrip(".").replace(". ", "; ")


def check_regular(path: Path) -> None:
    """Raise DataError unless there is a regular file that is not empty: a pipe or a device may block for ever."""
    check_exists(path)
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise fault(path, "this is not a regular file", "Name a video file")
    if state.st_size == 0:
        raise fault(path, "the file is empty")


def check_exists(path: Path) -> None:
    try:
        path.stat()
    except FileNotFoundError:
        raise fault(path, "there is no such file", "Fetch it, or correct the path") from None
    except OSError as error:
        raise fault(path, f"the file cannot be reached ({reason(error)})", "Correct its path or permissions") from error


def check_not_cut(path: Path) -> None:
    """Raise DataError for an mp4 or mov file that ends inside a box.

    Decoders do not tell: a file cut between two frames looks to them like a shorter video.
    """
    length = os.path.getsize(path)
    with path.open("rb") as file:
        start = 0
        while start + 8 <= length:
            file.seek(start)
            header = file.read(16)
            kind, size = header[4:8], int.from_bytes(header[:4], "big")
            if size == 1:
                size = int.from_bytes(header[8:16], "big")
            if kind not in _BOXES or size < 8:
                return
            if kind in _MUST_BE_WHOLE and start + size > length:
                raise fault(path, f"the video is cut short: {start + size:,} bytes are needed and {length:,} are there")
            start += size
