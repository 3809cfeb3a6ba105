"""Decoded frames on disk: a video is decoded once, whichever process asks next.

An entry is one file: a line of JSON, then the frames, one after the other. Every frame is stored without loss: each row
of pixels as its difference from the row above, which halves the size, then compressed. An entry gets its name when all
of it is written, and is checked in all of its bytes when it is read: one that is not as it was written, as a power
failure may leave it, is removed, and the video is decoded anew.
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
from typing import TYPE_CHECKING, Any, BinaryIO

from spotdiff.media._block import Pieces, empty_frames, fill, image_at
from spotdiff.media._decoded import InThreads

if TYPE_CHECKING:
    from PIL import Image as PILImage

    from spotdiff.media._block import Pixels

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

_BLOCK = 1 << 20
"""Bytes of an entry that are read together for its checksum."""

_LENGTH = 4
"""Bytes in front of a packed frame that state its length."""

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


@dataclass(frozen=True)
class PackedFrame:
    """A frame as an entry holds it, in about half of the bytes of its pixels. size: width and height."""

    size: tuple[int, int]
    content: bytes | memoryview


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
            with path.open("rb") as file:
                frames = _unpacked(_checked(file, key), file)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._say("read", f"frames in {self.folder} cannot be read ({error}); videos are decoded each time")
            return None
        except (ValueError, KeyError, TypeError) as error:
            self._say(str(path), f"{path} is damaged ({_first_line(error)}); the video is decoded again")
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return frames

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

    def put(self, key: FrameKey, frames: Sequence[PILImage.Image | PackedFrame]) -> None:
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
                # Not forced to the disk: an entry that a power failure leaves in part is found by its checksum.
                written = sum(map(file.write, _packed(key, frames)))
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


def _packed(key: FrameKey, frames: Sequence[PILImage.Image | PackedFrame]) -> Iterator[bytes | memoryview]:
    """The bytes of an entry, in pieces; one frame is held at a time beside those given."""
    width, height = frames[0].size
    header = {"key": vars(key), "frames": len(frames), "width": width, "height": height}
    digest = hashlib.sha256()
    packed = (frame if isinstance(frame, PackedFrame) else packed_frame(frame) for frame in frames)
    pieces = ((len(frame.content).to_bytes(_LENGTH, "little"), frame.content) for frame in packed)
    for piece in itertools.chain([json.dumps(header).encode() + b"\n"], itertools.chain.from_iterable(pieces)):
        digest.update(piece)
        yield piece
    yield digest.digest()


def packed_frame(frame: PILImage.Image, memory: Pieces | None = None) -> PackedFrame:
    """memory: where the content is put; by default it is an object of its own."""
    import numpy
    import pyarrow

    codec = pyarrow.Codec(_CODEC, compression_level=_CODEC_LEVEL)
    pixels = numpy.asarray(frame)
    rows = numpy.empty_like(pixels)
    rows[0] = pixels[0]
    numpy.subtract(pixels[1:], pixels[:-1], out=rows[1:])
    content = codec.compress(pyarrow.py_buffer(rows), asbytes=True)
    return PackedFrame(frame.size, memory.copy(content) if memory else content)


def _checked(file: BinaryIO, key: FrameKey) -> dict[str, Any]:
    """The head of an entry; the file then stands at its frames.

    Raises ValueError or KeyError unless the entry is whole and of this key.
    """
    digest = hashlib.sha256()
    left = os.fstat(file.fileno()).st_size - digest.digest_size
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        digest.update(block)
        left -= len(block)
    if file.read() != digest.digest():
        raise ValueError("its checksum differs")
    file.seek(0)
    header: dict[str, Any] = json.loads(file.readline())
    if header["key"] != vars(key):
        raise ValueError("it holds other frames")
    return header


def _unpacked(header: dict[str, Any], file: BinaryIO) -> tuple[PILImage.Image, ...]:
    count, width, height = header["frames"], header["width"], header["height"]
    pixels = empty_frames(count, (width, height))
    with InThreads(_unpack) as unpacking:
        for first in range(0, count, _AT_ONCE):
            part = pixels[first : first + _AT_ONCE]
            contents = [file.read(int.from_bytes(file.read(_LENGTH), "little")) for _ in part]
            unpacking.add((contents, part))
        unpacking.kept()
    return tuple(image_at(frame) for frame in pixels)


def _unpack(job: tuple[Sequence[bytes], Pixels]) -> None:
    """Some frames, to where they are wanted."""
    import numpy
    import pyarrow

    contents, target = job
    codec = pyarrow.Codec(_CODEC)
    count, height, width, _ = target.shape
    rows = numpy.empty((count, height, width * 3), numpy.uint8)
    for frame, content in zip(rows, contents, strict=True):
        frame.reshape(-1)[:] = numpy.frombuffer(codec.decompress(content, frame.size), numpy.uint8)
    # Twice as fast as numpy's own running sum, which goes down the columns.
    for row in range(1, height):
        numpy.add(rows[:, row - 1], rows[:, row], out=rows[:, row])
    fill(target, rows.reshape(count, height, width, 3))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0] or type(error).__name__
