"""What the rows of several benchmarks are checked for in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from spotdiff.errors import Problem

Fault = tuple[str, str, str]
"""Field, what is wrong with it, and how to mend it."""

Row = Mapping[str, Any]


def row_problems(
    row: Row, file: str, place: str, columns: Mapping[str, type], faults: Callable[[Row], Iterable[Fault]]
) -> list[Problem]:
    """The faults of a row: columns that are missing or of another type, else those that `faults` finds."""
    missing = [name for name, kind in columns.items() if not isinstance(row.get(name), kind)]
    found = ((name, "is missing", "Prepare the data again") for name in missing) if missing else faults(row)
    return [Problem(file, place, *fault) for fault in found]


def empty_texts(row: Row, *names: str) -> Iterator[Fault]:
    """Texts that hold blanks alone."""
    return ((name, "is empty", "Give it a value") for name in names if not row[name].strip())


def paths_outside(column: str, names: Iterable[str]) -> Iterator[Fault]:
    """Files that do not lie in the data set's own folder."""
    for path in map(PurePosixPath, names):
        if path.is_absolute() or ".." in path.parts or not path.name:
            yield column, f"{path} leads out of the data set", "Name files relative to the data set's folder"
