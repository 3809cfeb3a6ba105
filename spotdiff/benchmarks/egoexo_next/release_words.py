"""What the words of a release mean: the values of its columns, and the names of its tables and their folders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from spotdiff.benchmarks.egoexo_next.schema import (
    DIRECTIONS,
    EGO,
    EGO2EXO,
    EXO,
    KINDS,
    LATER,
    MATCH,
    PAST,
    SCENES,
    SOURCES,
    SUBTASKS,
    TARGET,
    TO_EGO,
    TO_EXO,
)
from spotdiff.question import LETTERS

CHOICES: Mapping[str, tuple[str, ...]] = {
    "subtask": SUBTASKS,
    "direction": DIRECTIONS,
    "scene": SCENES,
    "option_kinds": KINDS,
    "answer": tuple(LETTERS[:4]),
}
"""Field -> the values it may have."""

_MEANINGS: Mapping[str, Mapping[str, str]] = {
    "subtask": {
        **dict.fromkeys(("ego", "egonext", "egonextstate"), EGO),
        **dict.fromkeys(("match", "matching", "egoexomatch", "egoexomatching"), MATCH),
        **dict.fromkeys(("exo", "exonext", "exonextstate"), EXO),
        **{f"ego{to}exo{end}": EGO2EXO for to in ("2", "to") for end in ("", "next", "nextstate")},
    },
    "direction": {
        **dict.fromkeys(("ego2exo", "egotoexo", "e2x"), TO_EXO),
        **dict.fromkeys(("exo2ego", "exotoego", "x2e"), TO_EGO),
    },
    "scene": {name + end: name for name in SCENES for end in ("", "s")},
    "option_kinds": {
        **{kind: kind for kind in KINDS},
        **dict.fromkeys(("gold", "correct", "answer"), TARGET),
        **dict.fromkeys(("laterfuture", "laterfuturedistractor", "laterstate"), LATER),
        **dict.fromkeys(("earlier", "earlierstate", "pastdistractor"), PAST),
    },
    "answer": {f"{word}{letter.lower()}": letter for word in ("", "option", "candidate") for letter in LETTERS[:4]},
}
"""Field -> folded value -> ours."""

_SHOWN = 80

_NUMBERED = re.compile(r"(?:subtask|task|s)?([1-4])([a-z].*)?")


def fold(value: object) -> str:
    """Letters and digits alone, in lower case; an arrow from left to right reads as `2`."""
    text = re.sub(r"→|(?<![<=-])(?:-+|=+)>", "2", written(value).lower())
    return re.sub(r"[^a-z0-9]+", "", text)


def written(value: object) -> str:
    """A value as a mapping names it: `true` for True, `3` for 3.0."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def shown(value: object) -> str:
    """A value in a message: an image as text is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def meaning(field: str, value: object, own: Mapping[str, str]) -> str | None:
    """Our word for a value of a field, None where it is not known.

    own: what a mapping says about this field. It goes before what is known here.
    """
    if written(value) in own:
        return own[written(value)]
    folded = fold(value)
    told = {ours for theirs, ours in own.items() if folded and fold(theirs) == folded}
    if told:
        return told.pop() if len(told) == 1 else None
    known = _MEANINGS[field]
    if field == "subtask" and (numbered := _NUMBERED.fullmatch(folded)):
        subtask = SUBTASKS[int(numbered[1]) - 1]
        return subtask if known.get(numbered[2] or subtask) == subtask else None
    return known.get(folded)


_SOURCES: Mapping[str, str] = {
    **{fold(name): name for name in SOURCES},
    **dict.fromkeys(("epickitchens", "ek100", "epic"), "EPIC-KITCHENS-100"),
}


def source_named(name: str) -> str:
    """The name of a source as the paper writes it, if nothing but case and punctuation differ; else as it is."""
    return _SOURCES.get(fold(name), name)


def told_by_path(table: PurePosixPath) -> dict[str, Any]:
    """What the names of a table and of its folders tell: `subtask`, `direction`, `scene`, and `matched`, True or not.

    A field of which they tell two things, or nothing, is left out.
    """
    parts = [_words(part.split(".")[0] if part == table.name else part) for part in table.parts]
    found = {
        "subtask": _subtask(parts),
        "direction": _only(match[0] for part in parts for match in re.finditer(r"\b(?:ego2exo|exo2ego)\b", part)),
        "scene": _only(match[1] for part in parts for match in re.finditer(r"\b(indoor|outdoor)s?\b", part)),
    }
    matched = any(re.search(r"\bmatched\b|\bdiagnos", part) for part in parts)
    return {**{field: value for field, value in found.items() if value}, "matched": matched}


def _words(name: str) -> str:
    """Words in lower case between blanks; `ego2exo` for all its spellings; without the name of the benchmark."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    text = re.sub(r"[^a-z0-9]+", " ", apart.lower())
    text = re.sub(r"\b(ego|exo) ?(?:2|to) ?(ego|exo)\b", r"\g<1>2\g<2>", text)
    return re.sub(r"\bego ?exo ?next(?: ?state)?\b", " ", text).strip()


_NUMBER = r"(?<![a-z])(?:sub ?)?task ?([1-4])(?![0-9])|\bs([1-4])\b"
_NAMED = {
    MATCH: r"\bmatch(?:ing)?\b",
    EGO2EXO: r"\bego2exo next\b",
    EGO: r"\bego next\b",
    EXO: r"\bexo next\b",
}
_BESIDE = r"\b(?:(?:in|out)doors?|matched|diagnos\w*|test|data|of|\d+)\b"
"""Words that may stand beside a bare `ego`, `exo` or `ego2exo`, where these name a subtask."""


def _subtask(parts: list[str]) -> str | None:
    """By number, else by name, else by a name that is the whole of a part."""
    numbers = [match[1] or match[2] for part in parts for match in re.finditer(_NUMBER, part)]
    named = [subtask for part in parts for subtask, pattern in _NAMED.items() if re.search(pattern, part)]
    bare = [word for part in parts if (word := re.sub(_BESIDE, "", part).strip()) in (EGO, EXO, EGO2EXO)]
    return _only([SUBTASKS[int(number) - 1] for number in numbers] or named or bare)


def _only(found: Iterable[str]) -> str | None:
    different = set(found)
    return different.pop() if len(different) == 1 else None
