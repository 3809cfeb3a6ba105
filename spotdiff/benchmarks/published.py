"""Reading a benchmark's `published.csv`: the paper's figures, in percent."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

from spotdiff.tasks import Published


def read_published(
    file: Path,
    columns: Mapping[str, str],
    *,
    wanted: Callable[[Mapping[str, str]], bool] = lambda row: True,
    note: Callable[[Mapping[str, str]], str] = lambda row: "",
) -> tuple[Published, ...]:
    """The rows of a paper's table that are wanted, without empty cells.

    columns: of the file -> of our table.
    """
    with file.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if wanted(row)]
    return tuple(
        Published(
            row["model"],
            {ours: float(row[theirs]) / 100 for theirs, ours in columns.items() if row[theirs]},
            note(row),
        )
        for row in rows
    )
