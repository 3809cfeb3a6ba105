"""Frames of a video as a prompt uses them: decoded once for the questions that follow one another on the same video."""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from spotdiff.errors import SettingError
from spotdiff.media.sampling import Sampling

if TYPE_CHECKING:
    from PIL import Image as PILImage

KEPT = 2
"""Clips held in memory: the two videos of a scene, about 240 MB at 2 x 200 frames of 448x448."""


def frames_of(path: Path, sampling: Sampling) -> list[PILImage.Image]:
    """The frames that the sampling names, RGB, upright, in order. Raises DataError, see `spotdiff.media.video`."""
    state = path.stat() if path.exists() else None
    version = (state.st_size, state.st_mtime_ns) if state is not None else (0, 0)
    return list(_decoded(path, sampling, version))


@lru_cache(maxsize=KEPT)
def _decoded(path: Path, sampling: Sampling, version: tuple[int, int]) -> tuple[PILImage.Image, ...]:
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
