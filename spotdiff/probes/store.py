"""The store of texts that models made of media, or of such texts: JSON lines in `<stage>/<model>/`, one file a process.

Each line has a checksum, as in a journal of replies, and is on disk before the next one is written. Nothing is ever
changed or removed: of two texts for the same, the later one counts.
"""

from __future__ import annotations

import os
import platform
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from spotdiff import __version__
from spotdiff.answers import is_refusal
from spotdiff.errors import SettingError
from spotdiff.failures import WITHOUT_CONTENT, failure_of
from spotdiff.journal.files import append_synced, sync_folder
from spotdiff.journal.lines import checked_line, read_line

SUFFIX = ".texts.jsonl"

MADE, EMPTY, REFUSED, FAILED = OUTCOMES = ("made", "empty", "refused", "failed")
"""What became of a text that was asked for. A failed one is none: it is missing, and asked for again."""


@dataclass(frozen=True)
class TextKey:
    """What a text is of, and what was asked.

    kind: of texts, such as `m3verse_captions`. prompt: digest of the prompt's template. media: digest of the content of
    a video, or of the pixels of an image. part: which part of a video and how it is shown, in words that never change.
    source: digest of the texts that it was made from, empty where there are none.
    """

    kind: str
    prompt: str
    media: str
    part: str = ""
    source: str = ""


@dataclass(frozen=True)
class StoredText:
    """A text with its origin.

    outcome: one of OUTCOMES. failure: class of a failed one. missing: texts that were not there when this one was made
    from others. about: file or row that it is of, for people. data: digest of the data set. edited: by a person, in
    place of what the model wrote. date: when it was stored, which says what is later.
    """

    key: TextKey
    model: str
    text: str
    outcome: str = MADE
    failure: str = ""
    missing: int = 0
    about: str = ""
    data: str = ""
    edited: bool = False
    date: str = field(default_factory=lambda: datetime.now(timezone.utc).isoformat())

    @property
    def rank(self) -> tuple[bool, bool, str]:
        """Of several texts for the same, the one of the highest rank counts."""
        return self.edited, self.outcome != FAILED, self.date


def outcome_of(reply: str | None) -> tuple[str, str]:
    """The outcome of a reply that is to be a text, and the class of its failure. Nothing in it is a text too: empty."""
    failure = failure_of(reply)
    if failure in WITHOUT_CONTENT:
        return EMPTY, ""
    if failure is not None:
        return FAILED, failure
    return (REFUSED if is_refusal(reply or "") else MADE), ""


class Writer:
    """Puts the texts of one model into a file of this process, which is made with the first one. Threads share it."""

    def __init__(self, folder: Path, kind: str, model: str, told: Mapping[str, Any]) -> None:
        """folder: of the store. told: what the head of the file says of the run, without secrets."""
        self._folder = folder / kind / model
        self._told = told
        self._lock = threading.Lock()
        self._path: Path | None = None

    def add(self, text: StoredText) -> None:
        """It is on disk when this returns. Raises SettingError when the folder cannot be written."""
        try:
            with self._lock:
                if self._path is None:
                    self._path = self._begun()
                append_synced(self._path, checked_line({**asdict(text.key), **_without_key(text)}))
        except OSError as error:
            raise SettingError(
                f"{self._folder} cannot be written ({error.strerror or error}). Set SPOTDIFF_PROBES to a folder with "
                "enough room and run the stage again"
            ) from error

    def _begun(self) -> Path:
        now = datetime.now(timezone.utc)
        path = self._folder / f"{now:%Y%m%dT%H%M%SZ}-{os.getpid()}-{secrets.token_hex(4)}{SUFFIX}"
        self._folder.mkdir(parents=True, exist_ok=True)
        versions = {"spotdiff": __version__, "python": platform.python_version()}
        head = {**self._told, "date": now.isoformat(timespec="seconds"), "versions": versions}
        append_synced(path, checked_line({"run": head}), os.O_CREAT | os.O_EXCL)
        sync_folder(self._folder)
        return path


def _without_key(text: StoredText) -> dict[str, Any]:
    return {name: value for name, value in asdict(text).items() if name not in ("key", "model")}


@dataclass(frozen=True)
class Texts:
    """All texts of one kind: model -> key -> the one that counts. damaged: lines that cannot be read, by file."""

    by_model: Mapping[str, Mapping[TextKey, StoredText]]
    damaged: Mapping[Path, int]

    def all(self) -> Iterator[StoredText]:
        for texts in self.by_model.values():
            yield from texts.values()


def read_texts(folder: Path, kind: str) -> Texts:
    """The texts of this kind in a store; none where there is no such folder. Raises SettingError."""
    found: dict[str, dict[TextKey, StoredText]] = {}
    damaged: dict[Path, int] = {}
    for path in sorted((folder / kind).glob(f"*/*{SUFFIX}")):
        texts, unread = _read(path)
        if unread:
            damaged[path] = unread
        own = found.setdefault(path.parent.name, {})
        for text in texts:
            known = own.get(text.key)
            if known is None or text.rank >= known.rank:
                own[text.key] = text
    return Texts(found, damaged)


def kinds(folder: Path) -> list[str]:
    """The kinds of texts that a store holds."""
    return sorted({path.parent.parent.name for path in folder.glob(f"*/*/*{SUFFIX}")})


_KEY = [one.name for one in fields(TextKey)]


def _read(path: Path) -> tuple[list[StoredText], int]:
    texts = []
    unread = 0
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror or error}") from error
    for line in filter(None, lines):
        values = read_line(line)
        if values is None:
            unread += 1
        elif "run" not in values:
            key = TextKey(**{name: values.pop(name) for name in _KEY})
            texts.append(StoredText(key, path.parent.name, **values))
    return texts, unread


def counted(texts: Iterable[StoredText]) -> dict[str, int]:
    """How many of each outcome there are, in the order of OUTCOMES."""
    found = [text.outcome for text in texts]
    return {outcome: found.count(outcome) for outcome in OUTCOMES}
