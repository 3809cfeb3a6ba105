"""Decoded frames on disk: a video is decoded once, whichever process asks next.

An entry is one file: a line of JSON, then the frames, one after the other. Every frame is stored without loss: each row
of pixels as its difference from the row above, which halves the size, then compressed. An entry appears whole or not at
all, is checked in all of its bytes when it is read, and is decoded anew when anything in it is not as it was written.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image as PILImage

_SUFFIX = ".frames"
_UNFINISHED = ".unfinished"
_LOCK = ".filling"
_LOOK_AGAIN = 0.05
"""Seconds after which one who waits for another process looks again."""

_LEFT_BEHIND = 3600.0
"""Seconds after which an unfinished entry was left behind by a process that was ended."""

_KEPT_FREE = 0.05
"""Share of the disk that is left to others, whatever the store may use."""

_SCANNED_EVERY = 64
"""A process counts what the store holds each time that it has written this part of what it may hold."""

_AT_ONCE = 8
"""Frames that are unpacked together: rows are summed up for all of them at once."""

_FORMAT = 1
_CODEC = "zstd"
_CODEC_LEVEL = 1
"""Measured on footage at 448x448: 0.55 of the size at 400 MB/s; more effort saves 0.02 at half the speed."""


@dataclass(frozen=True)
class FrameKey:
    """What decides the pixels of stored frames.

    video: digest of the file's content. sampling: which frames, and their size. decoder: its version and that of what
    resizes.
    """

    video: str
    sampling: str
    decoder: str

    def name(self) -> str:
        """40 hex digits, the same in every process and on every machine."""
        told = json.dumps([_FORMAT, self.video, self.sampling, self.decoder])
        return hashlib.sha256(told.encode()).hexdigest()[:40]


class FrameStore:
    """Frames under a folder, of at most so many bytes; those that were not used for longest go first.

    Any number of processes may share the folder; each may write 1/64 of the limit before it sees what the others wrote.
    A store that cannot be written is said once and is no error: frames are decoded as without it.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self._told: set[str] = set()
        self._room = 0
        """What may be written before the store is counted again."""

    def get(self, key: FrameKey) -> tuple[PILImage.Image, ...] | None:
        """The frames, RGB; None when they are not here, or damaged: the entry is then removed."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._say("read", f"frames in {self.folder} cannot be read ({error}); videos are decoded each time")
            return None
        try:
            header, body = _checked(content, key)
        except (ValueError, KeyError, TypeError) as error:
            self._say(str(path), f"{path} is damaged ({_first_line(error)}); the video is decoded again")
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return _unpacked(header, body)

    def has(self, key: FrameKey) -> bool:
        return self._path(key).exists()

    @contextlib.contextmanager
    def filling(self, key: FrameKey, patience: float) -> Iterator[None]:
        """While one process fills an entry, others that want to wait for it, for at most so many seconds.

        Where files cannot be locked nobody waits: entries are whole in any case.
        """
        path = self._path(key).with_suffix(_LOCK)
        with contextlib.ExitStack() as stack:
            try:
                import fcntl

                path.parent.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context(path.open("ab"))
                stack.callback(path.unlink, missing_ok=True)
                end = time.monotonic() + patience
                while not _locked(file.fileno(), fcntl) and time.monotonic() < end:
                    time.sleep(_LOOK_AGAIN)
            except (ImportError, OSError):
                stack.pop_all().close()
            yield

    def put(self, key: FrameKey, frames: Sequence[PILImage.Image]) -> None:
        """Store frames; an entry that is too large for the store, or for the disk, is left out.

        So are frames of several sizes, which a file may have where none was asked for.
        """
        if len({frame.size for frame in frames}) != 1:
            return
        path = self._path(key)
        temporary = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=_UNFINISHED)
            with os.fdopen(handle, "wb") as file:
                written = sum(map(file.write, _packed(key, frames)))
                file.flush()
                os.fsync(file.fileno())
            if self._make_room(written):
                # mkstemp keeps others out; a store may be shared.
                os.chmod(temporary, 0o644)
                os.replace(temporary, path)
        except OSError as error:
            self._say("write", f"no frames can be stored in {self.folder} ({error}); videos are decoded each time")
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    def _path(self, key: FrameKey) -> Path:
        name = key.name()
        return self.folder / name[:2] / f"{name}{_SUFFIX}"

    def _make_room(self, wanted: int) -> bool:
        """Remove what was not used for longest until a file of so many bytes, which is written already, may stay."""
        if wanted <= self._room and self._spare_bytes() >= 0:
            self._room -= wanted
            return True
        used = 0
        entries = []
        for path, state in self._files():
            if path.suffix == _SUFFIX:
                entries.append((state.st_mtime_ns, state.st_size, path))
                used += state.st_size
            elif time.time() - state.st_mtime > _LEFT_BEHIND:
                with contextlib.suppress(OSError):
                    path.unlink()
        most = min(self.most_bytes, used + wanted + self._spare_bytes())
        share = self.most_bytes // _SCANNED_EVERY
        full = used + wanted > most
        for _, size, path in sorted(entries):
            if used + wanted <= most - share * full:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                used -= size
        if used + wanted <= most:
            self._room = min(share, most - used - wanted)
            return True
        self._say(
            "room",
            f"{self.folder} has no room for {wanted / 1e6:.0f} MB of frames; videos are decoded each time. "
            "Raise SPOTDIFF_FRAME_DISK, free space, or set SPOTDIFF_MEDIA_CACHE to a larger disk",
        )
        return False

    def _spare_bytes(self) -> int:
        """What the disk still holds above the share that is left to others; below zero where less is free."""
        disk = os.statvfs(self.folder)
        return int(disk.f_bavail * disk.f_frsize - _KEPT_FREE * disk.f_blocks * disk.f_frsize)

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self.folder.glob("??/*"):
            with contextlib.suppress(OSError):
                yield path, path.stat()

    def _say(self, kind: str, what: str) -> None:
        """Once for each kind of trouble: a run has thousands of videos."""
        if kind not in self._told:
            self._told.add(kind)
            print(f"spotdiff: warning: {what}", file=sys.stderr)


def _locked(file: int, fcntl: Any) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _packed(key: FrameKey, frames: Sequence[PILImage.Image]) -> Iterator[bytes]:
    """The bytes of an entry, in pieces; one frame is held at a time beside those given."""
    import pyarrow

    codec = pyarrow.Codec(_CODEC, compression_level=_CODEC_LEVEL)
    width, height = frames[0].size
    header = {"key": vars(key), "frames": len(frames), "width": width, "height": height}
    digest = hashlib.sha256()
    pieces = itertools.chain([json.dumps(header).encode() + b"\n"], (_piece(frame, codec) for frame in frames))
    for piece in pieces:
        digest.update(piece)
        yield piece
    yield digest.digest()


def _piece(frame: PILImage.Image, codec: Any) -> bytes:
    """One frame, its length in front."""
    import numpy

    pixels = numpy.asarray(frame)
    lines = pixels.copy()
    lines[1:] -= pixels[:-1]
    packed: bytes = codec.compress(lines.tobytes(), asbytes=True)
    return len(packed).to_bytes(4, "little") + packed


def _checked(content: bytes, key: FrameKey) -> tuple[dict[str, Any], memoryview]:
    """The head of an entry, and its packed frames. Raises ValueError or KeyError unless it is whole and of this key."""
    body, stated = memoryview(content)[:-32], content[-32:]
    if hashlib.sha256(body).digest() != stated:
        raise ValueError("its checksum differs")
    end = content.index(b"\n") + 1
    header: dict[str, Any] = json.loads(content[:end])
    if header["key"] != vars(key):
        raise ValueError("it holds other frames")
    return header, body[end:]


def _unpacked(header: dict[str, Any], body: memoryview) -> tuple[PILImage.Image, ...]:
    pieces = list(_pieces(body, header["frames"]))
    groups = [pieces[first : first + _AT_ONCE] for first in range(0, len(pieces), _AT_ONCE)]
    size = header["width"], header["height"]
    return tuple(frame for group in groups for frame in _frames(group, size))


def _pieces(body: memoryview, count: int) -> Iterator[memoryview]:
    """The packed frames, without the lengths in front of them."""
    start = 0
    for _ in range(count):
        length = int.from_bytes(body[start : start + 4], "little")
        yield body[start + 4 : start + 4 + length]
        start += 4 + length


def _frames(pieces: Sequence[memoryview], size: tuple[int, int]) -> list[PILImage.Image]:
    """The frames of these pieces."""
    import numpy
    import pyarrow
    from PIL import Image

    codec = pyarrow.Codec(_CODEC)
    width, height = size
    rows = numpy.empty((len(pieces), height, width * 3), numpy.uint8)
    for frame, piece in zip(rows, pieces, strict=True):
        frame.reshape(-1)[:] = numpy.frombuffer(codec.decompress(piece, frame.size), numpy.uint8)
    # Twice as fast as numpy's own running sum, which goes down the columns.
    for row in range(1, height):
        numpy.add(rows[:, row - 1], rows[:, row], out=rows[:, row])
    return [Image.frombytes("RGB", size, frame.data.cast("B")) for frame in rows]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0] or type(error).__name__
