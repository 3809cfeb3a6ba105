"""Frames of a video as image files, for a framework that hands images over by their paths."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from spotdiff.errors import SettingError
from spotdiff.media.clips import alone, clip_name, frames_for_files
from spotdiff.media.frame_room import LISTS
from spotdiff.media.images import is_sound_png, save_by_digest
from spotdiff.media.sampling import Sampling

if TYPE_CHECKING:
    from PIL import Image as PILImage

_THREADS = 4

_known: set[Path] = set()
"""Lists whose files this process has found sound."""


def frame_files(path: Path, sampling: Sampling, folder: Path) -> list[Path]:
    """The frames that the sampling names, in order, as PNG files that are named after their pixels.

    Every model that takes the paths decodes the files again for each question, so they are not compressed.
    A list of them is kept, so that the frames are decoded and written once: later only the files are looked at.
    Files that are gone, or of another size, are made anew, and so are those whose checksum differs when this process
    looks at them first. Raises DataError, see `spotdiff.media.video`, and SettingError when the folder cannot be
    written.
    """
    listed = folder / LISTS / f"{clip_name(path, sampling)}.json"
    with alone(path, sampling):
        found = _listed(listed, folder)
        if found is not None:
            return found
        frames, name = frames_for_files(path, sampling)
        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as pool:
            files = list(pool.map(partial(_saved, folder=folder), frames))
        if name == listed.stem:
            _write_list(listed, files)
            _known.add(listed)
    return files


def _saved(frame: PILImage.Image, folder: Path) -> Path:
    """A file that another video has left with these pixels may be damaged."""
    file = save_by_digest(frame, folder, compressed=False)
    if not _is_sound(file):
        file.unlink(missing_ok=True)
        file = save_by_digest(frame, folder, compressed=False)
    return file


def _listed(listed: Path, folder: Path) -> list[Path] | None:
    """The files, if all are as they were written."""
    known = listed in _known
    try:
        entries = json.loads(listed.read_bytes())
        files = [(folder / name, size) for name, size in entries]
        # Frames that do not change share a file.
        damaged = [file for file, size in set(files) if file.stat().st_size != size or not (known or _is_sound(file))]
    except (OSError, ValueError, TypeError):
        return None
    for file in damaged:
        file.unlink(missing_ok=True)
    if damaged or not files:
        return None
    if not known:
        _known.add(listed)
        with contextlib.suppress(OSError):
            os.utime(listed)
    return [file for file, _ in files]


def _is_sound(file: Path) -> bool:
    return is_sound_png(file.read_bytes())


def _write_list(listed: Path, files: list[Path]) -> None:
    """Whole or not at all."""
    try:
        listed.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=listed.parent, suffix=".unfinished")
        with os.fdopen(handle, "w") as file:
            json.dump([(each.name, each.stat().st_size) for each in files], file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, listed)
    except OSError as error:
        raise SettingError(f"No image can be stored in {listed.parent} ({error}). Set SPOTDIFF_MEDIA_CACHE") from error
