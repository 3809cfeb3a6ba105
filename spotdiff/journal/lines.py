"""The lines of a journal's files: one JSON object each, which begins with the checksum of what follows it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

_START = b'{"sha":"'
_AFTER = b'",'
_SHA = slice(len(_START), len(_START) + 64)
_REST = _SHA.stop + len(_AFTER)


class Reply(NamedTuple):
    """One reply of a model. A tuple, as a journal may hold 100,000 of them, and all are read at the start.

    key: what was asked, see `message_digest`. text: None where there was none. failure: its class, None for an answer.
    tokens: counts that the model reported. task, document: whose question it was, for people to read.
    """

    key: str
    text: str | None
    failure: str | None = None
    tokens: Mapping[str, int] | None = None
    task: str = ""
    document: int | str = ""

    def line(self) -> bytes:
        fields = {
            "key": self.key,
            "task": self.task,
            "document": self.document,
            "reply": self.text,
            "failure": self.failure,
            "tokens": dict(self.tokens) if self.tokens else None,
        }
        return checked_line({name: value for name, value in fields.items() if value is not None})


@dataclass
class Contents:
    """What a file holds. damaged: lines that cannot be read. first_damaged: position of the first of them in bytes."""

    replies: list[Reply] = field(default_factory=list)
    damaged: int = 0
    first_damaged: int = 0


def checked_line(fields: Mapping[str, Any]) -> bytes:
    """The line of an object, in ASCII, so that a reply may hold anything, lone surrogates too."""
    rest = json.dumps(fields, separators=(",", ":"))[1:].encode("ascii")
    return _START + hashlib.sha256(rest).hexdigest().encode() + _AFTER + rest + b"\n"


def read_line(line: bytes) -> dict[str, Any] | None:
    """The object of a line without its line break, None where any byte is not as it was written."""
    rest = line[_REST:]
    written = line.startswith(_START) and line[_SHA.stop : _REST] == _AFTER
    if not written or hashlib.sha256(rest).hexdigest().encode() != line[_SHA]:
        return None
    try:
        fields: dict[str, Any] = json.loads("{" + rest.decode("ascii"))
    except ValueError:
        return None
    return fields


def read_file(path: Path) -> Contents:
    """All replies of a file that are whole, wherever damage is among them. Raises OSError."""
    contents = Contents()
    position = 0
    with path.open("rb") as file:
        for line in file:
            fields = read_line(line.removesuffix(b"\n"))
            if fields is None:
                contents.first_damaged = contents.first_damaged if contents.damaged else position
                contents.damaged += 1
            elif "key" in fields:
                contents.replies.append(_reply(fields))
            position += len(line)
    return contents


def _reply(fields: Mapping[str, Any]) -> Reply:
    get = fields.get
    return Reply(get("key", ""), get("reply"), get("failure"), get("tokens"), get("task", ""), get("document", ""))
