"""The folder of image files within its bounds: what a run does not need goes where it needs the room."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from spotdiff.errors import SettingError
from spotdiff.media.clips import clip_bytes, clip_name
from spotdiff.media.sampling import Sampling

LISTS = "clips"
"""Folder, below that of the files, of one list for each clip: the names and sizes of its files."""

_claims: dict[Path, int] = {}
"""Handles of the folders that this process works in."""


def claim(folder: Path) -> int | None:
    """Keep other processes from removing files of the folder for as long as this process lives; the lock's handle.

    None where the folder cannot be made, or where the system knows no locks of folders: nothing is removed there.
    """
    if folder in _claims or sys.platform == "win32":
        return _claims.get(folder)
    import fcntl

    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
        except OSError:
            os.close(handle)
            raise
        _claims[folder] = handle
    return _claims.get(folder)


def make_room(wanted: Collection[tuple[Path, Sampling]], folder: Path, most_bytes: int) -> None:
    """See that the files of these clips can be written, before any is.

    Where all files of the folder would take more than `most_bytes`, those that none of these clips needs go, least
    recently used first, unless another process works in the folder. A run's own files all stay, as a framework may
    take every path before it reads the first: should they take more by themselves, that is said.
    Raises SettingError when the disk cannot hold the missing ones; DataError, see `spotdiff.media.clips`.
    """
    needed = {clip_name(*clip): clip_bytes(*clip) * 3 // 4 for clip in wanted}  # in memory a pixel takes four bytes
    with _alone(folder) as alone:
        held = _Held.of(folder)
        missing = {name: size for name, size in needed.items() if not held.is_whole(name)}
        beyond = held.bytes + sum(missing.values()) - most_bytes
        if alone and beyond > 0:
            held.remove(beyond, needed.keys())
    _check_disk(missing, folder)
    own = sum(needed.values())
    if own > most_bytes > 0:
        print(
            f"spotdiff: warning: the frames of {len(needed)} videos take up to {own / 1e9:.1f} GB as files, more than "
            f"SPOTDIFF_FRAME_DISK ({most_bytes / 1e9:g} GB): they stay in {folder} until another run needs the room",
            file=sys.stderr,
        )


def _check_disk(missing: dict[str, int], folder: Path) -> None:
    place = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(place).free
    if sum(missing.values()) > free:
        raise SettingError(
            f"The frames of {len(missing)} videos take {sum(missing.values()) / 1e9:.1f} GB as files, and {place} has "
            f"{free / 1e9:.1f} GB free. Set SPOTDIFF_MEDIA_CACHE to a folder on a larger disk, or take fewer frames "
            "(SPOTDIFF_FRAMES)"
        )


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Whether no other process works in the folder; none begins to meanwhile."""
    handle = claim(folder)
    if handle is None:
        yield False
        return
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
    except OSError:
        alone = False
    try:
        yield alone
    finally:
        fcntl.flock(handle, fcntl.LOCK_SH)


@dataclass(frozen=True)
class _Held:
    """What a folder holds. files: size and time of last use of each file. lists: names of the files of each clip, and
    time of last use. Times in ns."""

    folder: Path
    files: dict[str, tuple[int, int]]
    lists: dict[str, tuple[frozenset[str], int]]

    @classmethod
    def of(cls, folder: Path) -> _Held:
        files = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".png"):
                    state = entry.stat()
                    files[entry.name] = (state.st_size, state.st_mtime_ns)
        lists = {}
        for path in (folder / LISTS).glob("*.json"):
            with contextlib.suppress(OSError, ValueError, TypeError):
                names = frozenset(str(name) for name, _ in json.loads(path.read_bytes()))
                lists[path.stem] = (names, path.stat().st_mtime_ns)
        return cls(folder, files, lists)

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in self.files.values())

    def is_whole(self, name: str) -> bool:
        names, _ = self.lists.get(name, (frozenset(), 0))
        return bool(names) and names <= self.files.keys()

    def remove(self, wanted: int, kept: Collection[str]) -> None:
        """Remove so many bytes, if there are as many that belong to none of the clips that are kept."""
        users = Counter(name for names, _ in self.lists.values() for name in names)
        clips = [(used, names, name) for name, (names, used) in self.lists.items() if name not in kept]
        others = [(used, frozenset([name]), None) for name, (_, used) in self.files.items() if not users[name]]
        for _, names, listed in sorted([*clips, *others], key=lambda unit: unit[0]):
            if wanted <= 0:
                return
            if listed is not None:
                (self.folder / LISTS / f"{listed}.json").unlink(missing_ok=True)
                users.subtract(names)
            for name in names & self.files.keys():
                if users[name] <= 0:
                    (self.folder / name).unlink(missing_ok=True)
                    wanted -= self.files[name][0]
