"""A new folder takes the place of an old one: whole or not at all, whoever else writes it, whenever its writer dies."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OLD = "old"


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new, empty folder that has the name of `folder`, and takes its place when the block ends without an error.

    It is alone in a hidden folder beside `folder`, which is gone afterwards; what writers that died have left there is
    cleared away first. Of two writers at once both end well, and the folder of the later one stays.
    folder: there or not, and no link. Raises OSError.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent):
        _clear(folder)
        place = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        lock = _lock(place)
    try:
        new = place / folder.name
        new.mkdir()
        yield new
        for path in new.rglob("*"):
            _flush(path)
        with _locked(folder.parent):
            _exchange(new, folder, place / _OLD)
        _flush(folder.parent)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _exchange(new: Path, folder: Path, old: Path) -> None:
    """Put `new` in the place of `folder`, and that at `old`."""
    if not folder.exists():
        os.replace(new, folder)
        return
    os.replace(folder, old)
    try:
        os.replace(new, folder)
    except BaseException:
        if not folder.exists():
            os.replace(old, folder)
        raise


def _clear(folder: Path) -> None:
    """Remove what dead writers left beside `folder`; put it back where one died within the exchange."""
    pattern = re.compile(rf"\.{re.escape(folder.name)}-[a-z0-9_]{{8}}")
    for place in [entry for entry in folder.parent.iterdir() if pattern.fullmatch(entry.name)]:
        lock = _lock(place, wait=False)
        if lock is None:
            continue
        if (place / _OLD).exists() and not folder.exists():
            os.replace(place / _OLD, folder)
        shutil.rmtree(place, ignore_errors=True)
        os.close(lock)


# --- locks and disks ----------------------------------------------------------------------------------------------


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Within the block no other process is within such a block of the same folder."""
    lock = _lock(folder)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _lock(folder: Path, *, wait: bool = True) -> int | None:
    """Lock a folder until the handle is closed or the process ends.

    None where another process has the lock and `wait` is false, or where the system knows no locks of folders: there
    writers do not wait for each other, and nothing of dead ones is cleared away.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _flush(path: Path) -> None:
    """Have what was written to a file or folder on the disk, not only on its way there."""
    # Some systems open no folders.
    with suppress(PermissionError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
