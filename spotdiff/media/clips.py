"""Frames of a video as a prompt uses them: decoded once for the questions that follow one another on the same video."""

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

if TYPE_CHECKING:
    from PIL import Image as PILImage

MOST_BYTES = 48_000_000
"""Pixels of clips held in memory: ten views of MVVBench (8 frames of 448x448)."""

FEWEST = 2
"""Clips that are held however large they are: the two videos of a scene of M3-Verse, 240 MB at 2 x 200 frames."""


def frames_of(path: Path, sampling: Sampling) -> list[PILImage.Image]:
    """The frames that the sampling names, RGB, upright, in order. Raises DataError, see `spotdiff.media.video`."""
    state = path.stat() if path.exists() else None
    version = (state.st_size, state.st_mtime_ns) if state is not None else (0, 0)
    return list(_clips.get((path, sampling, version)))


class _Clips:
    """The clips that were used last, as far as they fit into MOST_BYTES. Threads share it: a clip is decoded once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, tuple[PILImage.Image, ...]] = OrderedDict()
        self._being_decoded: dict[_Key, threading.Lock] = {}

    def get(self, key: _Key) -> tuple[PILImage.Image, ...]:
        with self._lock:
            own = self._being_decoded.setdefault(key, threading.Lock())
        try:
            with own:
                if (found := self._found(key)) is None:
                    path, sampling, _ = key
                    found = _decoded(path, sampling)
                    self._keep(key, found)
        finally:
            with self._lock:
                self._being_decoded.pop(key, None)
        return found

    def _found(self, key: _Key) -> tuple[PILImage.Image, ...] | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: _Key, frames: tuple[PILImage.Image, ...]) -> None:
        with self._lock:
            self._kept[key] = frames
            while len(self._kept) > FEWEST and sum(map(_bytes, self._kept.values())) > MOST_BYTES:
                self._kept.popitem(last=False)


_Key = tuple[Path, Sampling, tuple[int, int]]
_clips = _Clips()


def _bytes(frames: tuple[PILImage.Image, ...]) -> int:
    return sum(3 * frame.width * frame.height for frame in frames)


def _decoded(path: Path, sampling: Sampling) -> tuple[PILImage.Image, ...]:
    from spotdiff.media.video import read_clip

    return read_clip(path, sampling).frames


def link_by_digest(path: Path, folder: Path) -> Path:
    """A link to the video under the digest of its content, for models that read files: no name of the data is in it.

    Raises SettingError when the folder cannot be written.
    """
    state = path.stat()
    target = folder / f"{_content_digest(path, state.st_size, state.st_mtime_ns)}{path.suffix}"
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
def _content_digest(path: Path, size: int, time: int) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
