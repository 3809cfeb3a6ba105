"""What the words of MVVBench's files mean: names of data sets, categories, times, paths."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from spotdiff.benchmarks.mvvbench.schema import SOURCES

UNKNOWN_TIME = -1.0

_OTHER_NAMES = {"panoptic": "CMU Panoptic"}
_CLOCK = re.compile(r"(?:(\d{1,4}):(?=\d\d:))?(\d{1,4}):([0-5]\d(?:\.\d{1,9})?)", re.ASCII)
"""`mm:ss`, with a fraction or not, and `hh:mm:ss`; minutes beside hours have two digits."""


def fold(text: str) -> str:
    """Lower case, without blanks, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", text.lower())


def known_as(text: str, known: Iterable[str]) -> str:
    """The one of these that differs in nothing but case, blanks, hyphens and underscores; else the text itself."""
    return {fold(name): name for name in known}.get(fold(text), text)


def source_of(text: str) -> str | None:
    """The data set of this name, one of SOURCES, or None."""
    found = _OTHER_NAMES.get(fold(text)) or known_as(text, SOURCES)
    return found if found in SOURCES else None


def seconds(value: object) -> float | None:
    """Seconds from a number or a text such as `1:05.5` or `0:01:05`; None where it is neither, or below 0."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,6}(?:\.\d+)?", value.strip()):
        return float(value)
    if isinstance(value, str):
        clock = _CLOCK.fullmatch(value.strip())
        if clock is None or (clock[1] and int(clock[2]) > 59):
            return None
        return 3600 * int(clock[1] or 0) + 60 * int(clock[2]) + float(clock[3])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    number = float(value) if abs(value) < 1e9 else math.nan
    return number if number >= 0 else None


def path_fault(path: str) -> str | None:
    """Why this does not name something below a folder, whatever the folder, or None where it does."""
    parts = path.split("/")
    if not path.strip(" .") and ".." not in parts:
        return "is empty"
    if not path.isprintable():
        return "holds signs that are no part of a name"
    if "\\" in path:
        return "holds a backslash"
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return "is absolute"
    if ".." in parts:
        return "leads upwards"
    if "" in parts:
        return "has an empty part between two slashes or at its end"
    return None


def name_fault(name: str) -> str | None:
    """Why this is no name of a file or folder, or None where it is one."""
    return "is no plain name" if "/" in name else path_fault(name)
