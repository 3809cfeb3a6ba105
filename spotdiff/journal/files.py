"""A folder of journal files: one for each process that ever wrote to it, all of them read at the start.

A process appends to its own file alone, so that no lock is needed, on shared folders of several machines either.
"""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from spotdiff import __version__
from spotdiff.errors import SpotdiffError
from spotdiff.journal.lines import Reply, checked_line, read_file

SUFFIX = ".journal.jsonl"

_FORMAT = 1
_BYTES_A_REPLY = 500
"""Room that must be there for each reply that may come: that of a short one."""


class JournalError(SpotdiffError):
    """A journal that cannot be read or written, or a run that ended with replies kept in it."""


class Journal:
    """The replies kept in a folder, and the file of this process.

    Opening it reads all files and begins the own one, so that a folder that cannot be written is found before a model
    is loaded. Several processes may use a folder at once; what the others write after that is seen by the next run.
    """

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        """run: what is asked, for people to read: model, arguments, ...; without secrets. Raises JournalError."""
        self.folder = folder.absolute()
        self._taken: Counter[str] = Counter()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._answers, self.failures = _read(self.folder)
            self._path = self._begin(run)
        except OSError as error:
            raise JournalError(
                f"journal={folder}: no reply can be kept there ({_reason(error)}). Name a folder that can be written"
            ) from error
        self.kept = sum(map(len, self._answers.values()))

    def take(self, key: str) -> Reply | None:
        """The next kept answer to what is asked with this key, None where a model has to be asked.

        Whoever asks the same several times in a run gets a reply of its own each time.
        """
        answers = self._answers.get(key, ())
        number = self._taken[key]
        self._taken[key] += 1
        return answers[number] if number < len(answers) else None

    def append(self, replies: Sequence[Reply]) -> None:
        """Put replies on disk; they are there when this returns. Raises JournalError."""
        try:
            append_synced(self._path, b"".join(reply.line() for reply in replies))
        except OSError as error:
            raise JournalError(
                f"{self._path} cannot be written ({_reason(error)}). The {self.kept} replies before stay in "
                f"{self.folder}: make room, and the same command goes on from there"
            ) from error
        self.kept += sum(reply.failure is None for reply in replies)

    def check_room(self, replies: int) -> None:
        """Raises JournalError where so many replies will hardly fit on the disk."""
        free = shutil.disk_usage(self.folder).free
        if free < replies * _BYTES_A_REPLY:
            raise JournalError(
                f"{self.folder}: {free / 1e6:.1f} MB are free, and {replies} replies may take "
                f"{replies * _BYTES_A_REPLY / 1e6:.1f} MB. Make room; no question was asked"
            )

    def _begin(self, run: Mapping[str, Any]) -> Path:
        now = datetime.now(timezone.utc)
        host = platform.node() or "unnamed"
        who = f"{host.split('.')[0]}-{os.getpid()}-{secrets.token_hex(4)}"
        path = self.folder / f"{now:%Y%m%dT%H%M%SZ}-{who}{SUFFIX}"
        beside = {"format": _FORMAT, "date": now.isoformat(timespec="seconds"), "host": host, "process": os.getpid()}
        versions = {"spotdiff": __version__, "python": platform.python_version(), **run.get("versions", {})}
        append_synced(path, checked_line({"run": {**run, **beside, "versions": versions}}), os.O_CREAT | os.O_EXCL)
        sync_folder(self.folder)
        return path


def _read(folder: Path) -> tuple[dict[str, list[Reply]], int]:
    """The answers by key, in the order of the files' names, and the number of keys that have failures alone."""
    answers: dict[str, list[Reply]] = {}
    failed: set[str] = set()
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        contents = read_file(path)
        if contents.damaged:
            print(
                f"spotdiff: {path}: {contents.damaged} line(s) cannot be read, the first at byte "
                f"{contents.first_damaged} (cut off, damaged, or being written right now); {len(contents.replies)} "
                "replies of the file can be, and are used",
                file=sys.stderr,
            )
        for reply in contents.replies:
            if reply.failure is None:
                answers.setdefault(reply.key, []).append(reply)
            else:
                failed.add(reply.key)
    return answers, len(failed - answers.keys())


def append_synced(path: Path, content: bytes, flags: int = 0) -> None:
    """Put bytes behind what a file holds; they are on disk when this returns. flags: of `os.open`. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | flags, 0o644)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    finally:
        # A full disk behind a network is told here at the latest.
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Make the name of a new file last; not every system can, and none needs it to be read again at once."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
