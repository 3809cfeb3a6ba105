"""Frames of a video as a prompt uses them: in memory while they are asked about, in a store for later runs."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from spotdiff.errors import DataError, SettingError
from spotdiff.media._block import Pieces
from spotdiff.media._memory import give_back_freed
from spotdiff.media.sampling import Sampling
from spotdiff.media.store import FrameKey, FrameStore, packed_frame
from spotdiff.settings import Settings, load_settings

if TYPE_CHECKING:
    from PIL import Image as PILImage

    from spotdiff.media._decoded import Keep, Kept
    from spotdiff.media.video import Clip, Decoder

DECODER: Decoder = "pyav"
"""The one whose frames are stored; a file that only the other one can open is decoded each time."""

FRAMES_FOLDER = "frames"
"""Folder of the store, below the setting `media_cache`."""


def frames_of(path: Path, sampling: Sampling) -> list[PILImage.Image]:
    """The frames that the sampling names, RGB, upright, in order: from memory, from the store, or decoded.

    The settings `frame_memory`, `frame_disk` and `media_cache` bound and place both. Raises DataError, see
    `spotdiff.media.video`.
    """
    return list(_clips.get((path, sampling, _version(path))))


def store_frames(path: Path, sampling: Sampling) -> bool:
    """Put the frames into the store for later, and hold none; whether they had to be decoded for it.

    Without a store there is nothing to do. Raises DataError.
    """
    return _clips.store((path, sampling, _version(path)))


def is_stored(path: Path, sampling: Sampling) -> bool:
    """Whether the store has the frames. Raises DataError where the file cannot be read."""
    return _opened_store(load_settings()).has(_frame_key(path, sampling))


def frames_for_files(path: Path, sampling: Sampling) -> tuple[tuple[PILImage.Image, ...], str | None]:
    """The frames, read from the store if they are there, else decoded; neither held nor stored. Raises DataError.

    With them the `clip_name` under which they may be kept, None where they must not be.
    """
    if not path.is_file():
        return _decoded(path, sampling).frames, None
    settings = load_settings()
    version = _version(path)
    key = _frame_key(path, sampling)
    found = _opened_store(settings).get(key) if settings.frame_disk else None
    if found is not None:
        return found, key.name() if _version(path) == version else None
    clip = _decoded(path, sampling)
    return clip.frames, key.name() if _may_be_kept(clip, path, version) else None


def alone(path: Path, sampling: Sampling) -> AbstractContextManager[None]:
    """While one thread reads a clip, others that want to wait for it."""
    return _clips.alone((path, sampling, _version(path)))


def clip_name(path: Path, sampling: Sampling) -> str:
    """The same for the same frames, 40 hex digits. Raises DataError where there is no file."""
    from spotdiff.media._decoded import check_regular

    check_regular(path)
    return _frame_key(path, sampling).name()


def clip_bytes(path: Path, sampling: Sampling) -> int:
    """What the frames take in memory, at most. Raises DataError where the file has to tell, and cannot."""
    known = _bytes_known(sampling)
    if known is not None:
        return known
    from spotdiff.media.video import probe

    info = probe(path)
    width, height = sampling.size or (info.width, info.height)
    return _PIXEL * width * height * len(sampling.indices(info.times))


def _bytes_known(sampling: Sampling) -> int | None:
    count = sampling.count if sampling.instants is None else len(sampling.instants)
    if count is None or sampling.size is None:
        return None
    return _PIXEL * sampling.size[0] * sampling.size[1] * count


class _Clips:
    """The clips that were used last, as far as they fit into memory. Threads share it: a clip is decoded once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, tuple[PILImage.Image, ...]] = OrderedDict()
        self._coming: dict[_Key, int] = {}
        """Bytes of the clips that are being read, to be held."""
        self._being_read: dict[_Key, _Reading] = {}

    def get(self, key: _Key) -> tuple[PILImage.Image, ...]:
        """The frames of a clip, which are then held."""
        with self.alone(key):
            if (found := self._found(key)) is None:
                path, sampling, _ = key
                settings = load_settings()
                most = settings.frame_memory * 10**6
                # Beforehand, so that the old and the new ones together stay within the limit.
                with self._room_for(key, most):
                    found, _ = _stored(path, sampling, settings)
                self._keep(key, found, most)
                give_back_freed()
        return found

    def store(self, key: _Key) -> bool:
        """Put a clip into the store and hold it no longer than that; whether it had to be decoded."""
        with self.alone(key):
            path, sampling, _ = key
            settings = load_settings()
            if not settings.frame_disk:
                return False
            decoded = _fill(path, sampling, settings)
            give_back_freed()
            return decoded

    @contextmanager
    def alone(self, key: _Key) -> Iterator[None]:
        """One thread at a time reads a clip."""
        with self._lock:
            reading = self._being_read.setdefault(key, _Reading())
            reading.threads += 1
        try:
            with reading.lock:
                yield
        finally:
            with self._lock:
                reading.threads -= 1
                if not reading.threads:
                    del self._being_read[key]

    def _found(self, key: _Key) -> tuple[PILImage.Image, ...] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    @contextmanager
    def _room_for(self, key: _Key, most: int) -> Iterator[None]:
        with self._lock:
            self._coming[key] = _bytes_known(key[1]) or 0
            self._shrink(most)
        try:
            yield
        finally:
            with self._lock:
                del self._coming[key]

    def _keep(self, key: _Key, frames: tuple[PILImage.Image, ...], most: int) -> None:
        with self._lock:
            self._kept[key] = frames
            self._shrink(most)

    def _shrink(self, most: int) -> None:
        """Under the lock: drop what was not used for longest, until the rest fits beside what is coming.

        What a caller still uses goes last, as dropping it would free nothing.
        """
        room = most - sum(self._coming.values())
        held = sum(map(_bytes, self._kept.values()))
        for key in sorted(self._kept, key=lambda key: _is_used(self._kept[key])):
            if held <= room:
                return
            held -= _bytes(self._kept.pop(key))


@dataclass
class _Reading:
    """A clip that is being read, and how many threads read it or wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    threads: int = 0


_Version = tuple[int, ...]
_Key = tuple[Path, Sampling, _Version]
_clips = _Clips()


def _begin_anew() -> None:
    """A process that is forked off has none of the threads that may have held a lock."""
    global _clips
    _clips = _Clips()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _version(path: Path) -> _Version:
    """Differs between two files that had the same name one after the other; zeros where there is none."""
    state = path.stat() if path.exists() else None
    return (0,) * 4 if state is None else (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


_PIXEL = 4
"""Bytes in which Pillow holds a pixel of RGB."""


def _is_used(frames: tuple[PILImage.Image, ...]) -> bool:
    """Whether anything but this tuple has its frames, one of which it may have several times."""
    return bool(frames) and sys.getrefcount(frames[0]) > _CALL + sum(frame is frames[0] for frame in frames)


_CALL = 1
"""References that a call which counts them has."""


def _bytes(frames: tuple[PILImage.Image, ...]) -> int:
    return sum(_PIXEL * frame.width * frame.height for frame in frames)


def _stored(path: Path, sampling: Sampling, settings: Settings) -> tuple[tuple[PILImage.Image, ...], bool]:
    """The frames, read from the store or put into it, and whether they were decoded."""
    frames, packed = Pieces(), Pieces()
    if not settings.frame_disk or not path.is_file():
        return _decoded(path, sampling, frames.copy_image).frames, True
    store = _opened_store(settings)
    version = _version(path)
    key = _frame_key(path, sampling)
    found = store.get(key)
    if found is not None:
        return found, False
    with store.filling(key, settings.video_timeout):
        found = store.get(key)
        if found is not None:
            return found, False
        clip = _decoded(path, sampling, lambda frame: (frames.copy_image(frame), packed_frame(frame, packed)))
        if _may_be_kept(clip, path, version):
            store.put(key, [each for _, each in clip.frames])
    return tuple(frame for frame, _ in clip.frames), True


def _fill(path: Path, sampling: Sampling, settings: Settings) -> bool:
    """Put the frames into the store, each as soon as it is decoded; whether they had to be. Raises DataError."""
    from spotdiff.media._decoded import check_regular

    check_regular(path)
    store = _opened_store(settings)
    version = _version(path)
    key = _frame_key(path, sampling)
    if store.has(key):
        return False
    with store.filling(key, settings.video_timeout):
        if store.has(key):
            return False
        clip = _decoded(path, sampling, partial(packed_frame, memory=Pieces()))
        if _may_be_kept(clip, path, version):
            store.put(key, clip.frames)
    return True


def _may_be_kept(clip: Clip[Any], path: Path, version: _Version) -> bool:
    """A file that was replaced meanwhile may have given the frames of another one."""
    return clip.decoder == DECODER and _version(path) == version


def _frame_key(path: Path, sampling: Sampling) -> FrameKey:
    return FrameKey(_content_digest(path, _version(path)), sampling.told(), _decoder())


def _opened_store(settings: Settings) -> FrameStore:
    return _store(settings.media_cache / FRAMES_FOLDER, settings.frame_disk * 10**9)


_store = lru_cache(maxsize=8)(FrameStore)
"""One object for each folder, so that what is wrong with it is said once."""


@lru_cache(maxsize=1)
def _decoder() -> str:
    from spotdiff.media.video import decoder_version

    return decoder_version(DECODER)


@overload
def _decoded(path: Path, sampling: Sampling) -> Clip[PILImage.Image]: ...
@overload
def _decoded(path: Path, sampling: Sampling, keep: Keep[Kept]) -> Clip[Kept]: ...
def _decoded(path: Path, sampling: Sampling, keep: Keep[Any] | None = None) -> Clip[Any]:
    from spotdiff.media.video import read_clip, read_clip_as

    return read_clip_as(path, sampling, keep, DECODER) if keep else read_clip(path, sampling, DECODER)


def content_digest(path: Path) -> str:
    """SHA-256 of a file's content, 64 hex digits; read once while the file stays as it is. Raises DataError."""
    return _content_digest(path, _version(path))


def link_by_digest(path: Path, folder: Path) -> Path:
    """A link to the video under the digest of its content, for models that read files: no name of the data is in it.

    Raises SettingError when the folder cannot be written.
    """
    target = folder / f"{_content_digest(path, _version(path))}{path.suffix}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not target.is_symlink() or Path(os.readlink(target)) != path.resolve():
            _link(path.resolve(), target)
    except OSError as error:
        raise SettingError(
            f"{folder} cannot be written ({error}). Set SPOTDIFF_MEDIA_CACHE to another folder"
        ) from error
    return target


def _link(path: Path, target: Path) -> None:
    """Whole at any moment, whoever else makes the same link; one that led elsewhere is replaced."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        new = Path(folder, target.name)
        os.symlink(path, new)
        os.replace(new, target)


@lru_cache(maxsize=10_000)
def _content_digest(path: Path, version: _Version) -> str:
    try:
        with path.open("rb") as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise DataError(
            f"{path}: the file cannot be read ({error.strerror or error}). Correct its permissions, or fetch it again"
        ) from error
    return digest.hexdigest()
