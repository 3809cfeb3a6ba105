"""The data of the question browser: all questions and answers as columns, compressed, each text once.

A page holds them as base64 of gzip of JSON, which the reader's browser unpacks.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from spotdiff.runs.page.sources import Asked, Key, Sources
from spotdiff.runs.report import Answered, Report
from spotdiff.tasks import benchmarks

ROOM = 24_000_000
"""Bytes of text in UTF-8 over all replies and prompts: in base64 of gzip, about 12 MB of English."""

LEAST = 400
"""Bytes that are left of a long text, whatever the room."""

MOST_VALUES = 80
"""Values of a group that can be filtered by; one with more names single questions."""

CUT = " […] "


def browser_data(report: Report, found: Sources) -> dict[str, Any]:
    """All that the page's script reads; see the classes below for the columns."""
    limit = longest_text(_texts(report, found), ROOM)
    texts = _Texts(limit)
    families = list(dict.fromkeys(answer.family for answer in report.answers))
    items = _Items(texts, families, _filterable(report.answers))
    answers = _Answers(texts, [run.label for run in report.runs])
    for answer in sorted(report.answers, key=lambda answer: families.index(answer.family)):
        number = items.number(answer, found.asked.get((answer.family, answer.scored.id)))
        answers.add(number, answer, found.asked.get((answer.family, answer.scored.id)))
    return {
        "runs": answers.runs,
        "families": [_family(name, report) for name in families],
        "groups": list(items.groups),
        "items": items.columns,
        "answers": answers.columns,
        "outcomes": list(answers.outcomes),
        "rules": list(answers.rules),
        "files": list(answers.files),
        "texts": list(texts.numbers),
        "limit": limit if texts.cut else None,
        "remarks": found.remarks,
    }


def packed(data: Mapping[str, Any]) -> str:
    """As the page holds it, the same for the same data."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _family(name: str, report: Report) -> dict[str, str]:
    answer = next(answer for answer in report.answers if answer.family == name)
    return {"name": name, "title": benchmarks()[answer.benchmark].title}


def _texts(report: Report, found: Sources) -> set[str]:
    told = {text for answer in report.answers for text in (answer.reply, answer.prompt) if text}
    return told | {asked.prompt for asked in found.asked.values()}


def longest_text(texts: Iterable[str], room: int) -> int:
    """The length, in bytes, to which texts are cut so that all of them fit; that of the longest where they do."""
    sizes = sorted(len(text.encode("utf-8", "replace")) for text in texts)
    left = room
    for place, size in enumerate(sizes):
        share = left // (len(sizes) - place)
        if size > share:
            return max(share, LEAST)
        left -= size
    return sizes[-1] if sizes else LEAST


def shortened(text: str, limit: int) -> str:
    """A text of at most about `limit` bytes: a third from its beginning, the rest from its end."""
    size = len(text.encode("utf-8", "replace"))
    if size <= limit:
        return text
    signs = int(len(text) * limit / size)
    return f"{text[: signs // 3]}{CUT}{text[len(text) - (signs - signs // 3) :]}"


class _Texts:
    """Numbers of texts, each kept once. Number 0 stands for none."""

    def __init__(self, limit: int) -> None:
        self.numbers: dict[str, int] = {"": 0}
        self.limit = limit
        self.cut = False

    def number(self, text: str | None) -> int:
        short = shortened(text or "", self.limit)
        self.cut = self.cut or short != (text or "")
        return self.numbers.setdefault(short, len(self.numbers))


def _filterable(answers: Iterable[Answered]) -> set[tuple[str, str]]:
    """(family, key) of those groups that have few values."""
    values: dict[tuple[str, str], set[str]] = {}
    for answer in answers:
        for key, value in answer.scored.groups.items():
            values.setdefault((answer.family, key), set()).update((value,) if isinstance(value, str) else value)
    return {name for name, found in values.items() if 1 <= len(found) <= MOST_VALUES}


@dataclass
class _Items:
    """Questions. id, gold, cluster; family, groups: numbers; options: how many; texts: of the options, None for an
    image, [] where not known; pictures: number and text of the caption."""

    texts: _Texts
    families: list[str]
    filterable: set[tuple[str, str]]
    numbers: dict[Key, int] = field(default_factory=dict)
    groups: dict[tuple[str, str], int] = field(default_factory=dict)
    columns: dict[str, list[Any]] = field(
        default_factory=lambda: {
            name: [] for name in ("id", "family", "gold", "cluster", "options", "groups", "texts", "pictures")
        }
    )

    def number(self, answer: Answered, asked: Asked | None) -> int:
        key = (answer.family, answer.scored.id)
        if key not in self.numbers:
            self.numbers[key] = len(self.numbers)
            self._add(answer, asked)
        return self.numbers[key]

    def _add(self, answer: Answered, asked: Asked | None) -> None:
        scored = answer.scored
        row = {
            "id": scored.id,
            "family": self.families.index(answer.family),
            "gold": "".join(scored.gold),
            "cluster": self.texts.number(scored.cluster),
            "options": scored.options,
            "groups": [self.groups.setdefault(group, len(self.groups)) for group in self._groups_of(answer)],
            "texts": [None if text is None else self.texts.number(text) for _, text in asked.options] if asked else [],
            "pictures": [[number, self.texts.number(words)] for number, words in asked.pictures] if asked else [],
        }
        for name, value in row.items():
            self.columns[name].append(value)

    def _groups_of(self, answer: Answered) -> Iterable[tuple[str, str]]:
        for key, value in answer.scored.groups.items():
            if (answer.family, key) in self.filterable:
                for name in dict.fromkeys((value,) if isinstance(value, str) else value):
                    yield key, name


@dataclass
class _Answers:
    """Answers. item, run, outcome, rule, file: numbers; letters; score; conflict: 0 or 1; reply, prompt: texts, reply
    None where the log has none; line: of the file, 0 where not known; failure: class of failure, or empty."""

    texts: _Texts
    runs: list[str]
    outcomes: dict[str, int] = field(default_factory=dict)
    rules: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    columns: dict[str, list[Any]] = field(
        default_factory=lambda: {
            name: []
            for name in (
                *("item", "run", "outcome", "rule", "letters", "score", "conflict"),
                *("reply", "prompt", "file", "line", "failure"),
            )
        }
    )

    def add(self, item: int, answer: Answered, asked: Asked | None) -> None:
        scored = answer.scored
        file, _, line = answer.place.rpartition(", line ")
        prompt = answer.prompt if answer.prompt is not None else (asked.prompt if asked else None)
        row = {
            "item": item,
            "run": self.runs.index(answer.run),
            "outcome": self.outcomes.setdefault(scored.outcome, len(self.outcomes)),
            "rule": self.rules.setdefault(answer.rule, len(self.rules)),
            "letters": "".join(scored.letters),
            "score": round(scored.score, 4),
            "conflict": int(answer.conflict),
            "reply": None if answer.reply is None else self.texts.number(answer.reply),
            "prompt": self.texts.number(prompt),
            "file": self.files.setdefault(file or answer.place, len(self.files)),
            "line": int(line) if file and line.isdecimal() else 0,
            "failure": scored.failure,
        }
        for name, value in row.items():
            self.columns[name].append(value)
