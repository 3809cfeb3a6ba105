"""The folder of image files within its bounds: what a run does not need goes where it needs the room."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spotdiff.errors import SettingError
from spotdiff.media.clips import clip_bytes, clip_name
from spotdiff.media.sampling import Sampling

LISTS = "clips"
"""Folder, below that of the files, of one list for each clip: the names and sizes of its files."""

_USERS = ".users"
"""File in the folder of the files; each process that works there shares a lock of it."""

_GATE = ".room"
"""Its like, locked by a process while it begins to work there or makes room."""


@dataclass(frozen=True)
class _Claim:
    """A folder that this process works in.

    users, gate: handles of these files. since: when it began, by the clock of the folder's disk, in ns. needed: names
    of the clips that it was told to need.
    """

    users: int
    gate: int
    since: int
    needed: set[str] = field(default_factory=set)


_claims: dict[Path, _Claim] = {}


def _claim(folder: Path) -> _Claim | None:
    """Keep other processes from removing files of the folder for as long as this process lives.

    None where the folder cannot be written, or where files cannot be locked: nothing is removed there.
    """
    if folder in _claims or sys.platform == "win32":
        return _claims.get(folder)
    import fcntl

    with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
        folder.mkdir(parents=True, exist_ok=True)
        users, gate = (_lock_file(folder / name) for name in (_USERS, _GATE))
        opened.callback(os.close, users)
        opened.callback(os.close, gate)
        with _locked(gate):
            fcntl.flock(users, fcntl.LOCK_SH)
            with contextlib.suppress(OSError):
                os.utime(folder / _GATE)
            _claims[folder] = _Claim(users, gate, os.fstat(gate).st_mtime_ns)
        opened.pop_all()
    return _claims.get(folder)


def _lock_file(path: Path) -> int:
    """A handle that can be written, where that is allowed: network file systems may want one to lock it."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        return os.open(path, os.O_RDONLY)


def _begin_anew() -> None:
    """A process that is forked off shares the handles, so that what it did to a lock its parent's lock would suffer."""
    for each in _claims.values():
        os.close(each.users)
        os.close(each.gate)
    _claims.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def make_room(wanted: Collection[tuple[Path, Sampling]], folder: Path, most_bytes: int) -> None:
    """See that the files of these clips can be written, before any is.

    Where all files of the folder would take more than `most_bytes`, those that this process has neither used nor named
    as wanted go, least recently used first, unless another process works in the folder. A run's own files all stay, as
    a framework may take every path before it reads the first: should they take more by themselves, that is said.
    Raises SettingError when the disk cannot hold the missing ones; DataError, see `spotdiff.media.clips`.
    """
    needed = {clip_name(*clip): clip_bytes(*clip) * 3 // 4 for clip in wanted}  # in memory a pixel takes four bytes
    ours = _claim(folder)
    if ours is not None:
        ours.needed.update(needed)
    with _alone(ours) as alone:
        held = _Held.of(folder)
        missing = {name: size for name, size in needed.items() if not held.is_whole(name)}
        beyond = held.bytes + sum(missing.values()) - most_bytes
        if ours is not None and alone and beyond > 0:
            held.remove(beyond, ours)
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
def _alone(ours: _Claim | None) -> Iterator[bool]:
    """Whether no other process works in the folder; none begins to meanwhile."""
    if ours is None:
        yield False
        return
    import fcntl

    with _locked(ours.gate):
        try:
            fcntl.flock(ours.users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except OSError:
            alone = False
        # Either way the shared lock is gone, and behind the gate nobody takes advantage of that.
        fcntl.flock(ours.users, fcntl.LOCK_SH)
        yield alone


@contextlib.contextmanager
def _locked(handle: int) -> Iterator[None]:
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)


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
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".png"):
                    # Gone since, or a link that leads nowhere.
                    with contextlib.suppress(OSError):
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

    def remove(self, wanted: int, ours: _Claim) -> None:
        """Remove so many bytes, if there are as many that this process has no use for."""
        users = Counter(name for names, _ in self.lists.values() for name in names)
        clips = [(used, names, name) for name, (names, used) in self.lists.items() if name not in ours.needed]
        others = [(used, frozenset([name]), None) for name, (_, used) in self.files.items() if not users[name]]
        for used, names, listed in sorted([*clips, *others], key=lambda unit: unit[0]):
            if wanted <= 0 or used > ours.since:
                return
            if listed is not None:
                _remove(self.folder / LISTS / f"{listed}.json")
                users.subtract(names)
            for name in names & self.files.keys():
                size, file_used = self.files[name]
                if users[name] <= 0 and file_used <= ours.since and _remove(self.folder / name):
                    wanted -= size


def _remove(file: Path) -> bool:
    """Whether it is gone; another user's file may have to stay."""
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)
        return True
    return False
