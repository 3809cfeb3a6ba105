"""Frames of a video as a prompt uses them: in memory while they are asked about, in a store for later runs."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from spotdiff.errors import SettingError
from spotdiff.media.sampling import Sampling
from spotdiff.media.store import FrameKey, FrameStore
from spotdiff.settings import Settings, load_settings

if TYPE_CHECKING:
    from PIL import Image as PILImage

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
    """Put the frames into the store for later; whether they had to be decoded for it. Raises DataError."""
    return _stored(path, sampling, load_settings())[1]


class _Clips:
    """The clips that were used last, as far as they fit into memory. Threads share it: a clip is decoded once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, tuple[PILImage.Image, ...]] = OrderedDict()
        self._being_read: dict[_Key, threading.Lock] = {}

    def get(self, key: _Key) -> tuple[PILImage.Image, ...]:
        with self._lock:
            own = self._being_read.setdefault(key, threading.Lock())
        try:
            with own:
                if (found := self._found(key)) is None:
                    path, sampling, _ = key
                    settings = load_settings()
                    found, _ = _stored(path, sampling, settings)
                    self._keep(key, found, settings.frame_memory * 10**6)
        finally:
            with self._lock:
                self._being_read.pop(key, None)
        return found

    def _found(self, key: _Key) -> tuple[PILImage.Image, ...] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: _Key, frames: tuple[PILImage.Image, ...], most: int) -> None:
        with self._lock:
            self._kept[key] = frames
            while self._kept and sum(map(_bytes, self._kept.values())) > most:
                self._kept.popitem(last=False)


_Version = tuple[int, ...]
_Key = tuple[Path, Sampling, _Version]
_clips = _Clips()


def _version(path: Path) -> _Version:
    """Differs between two files that had the same name one after the other; zeros where there is none."""
    state = path.stat() if path.exists() else None
    return (0,) * 4 if state is None else (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


def _bytes(frames: tuple[PILImage.Image, ...]) -> int:
    """Pillow holds a pixel of RGB in four bytes."""
    return sum(4 * frame.width * frame.height for frame in frames)


def _stored(path: Path, sampling: Sampling, settings: Settings) -> tuple[tuple[PILImage.Image, ...], bool]:
    """The frames, read from the store or put into it, and whether they were decoded."""
    if not settings.frame_disk or not path.is_file():
        return _decoded(path, sampling).frames, True
    store = _store(settings.media_cache / FRAMES_FOLDER, settings.frame_disk * 10**9)
    key = FrameKey(_content_digest(path, _version(path)), sampling.told(), _decoder())
    found = store.get(key)
    if found is not None:
        return found, False
    clip = _decoded(path, sampling)
    if clip.decoder == DECODER:
        store.put(key, clip.frames)
    return clip.frames, True


_store = lru_cache(maxsize=8)(FrameStore)
"""One object for each folder, so that what is wrong with it is said once."""


@lru_cache(maxsize=1)
def _decoder() -> str:
    from spotdiff.media.video import decoder_version

    return decoder_version(DECODER)


def _decoded(path: Path, sampling: Sampling) -> Clip:
    from spotdiff.media.video import read_clip

    return read_clip(path, sampling, DECODER)


def content_digest(path: Path) -> str:
    """SHA-256 of a file's content, 64 hex digits; read once while the file stays as it is. Raises OSError."""
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
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
