"""Writes a report into a folder: `report.html`, `report.md`, `tables/*.csv`, `answers.parquet`, `provenance.json`."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from spotdiff.errors import SpotdiffError
from spotdiff.runs.answers_table import write_answers
from spotdiff.runs.markdown import markdown
from spotdiff.runs.page import NAME as PAGE
from spotdiff.runs.page import missing_libraries, write_page
from spotdiff.runs.report import Figures, Report, Value

TABLES = "tables"
MARK = "provenance.json"
"""A folder with this file holds a report, which a new one may replace."""

_NEW = ".new-"
"""How the folder begins in which a report is written before it is put in its place."""


def _write_markdown(report: Report, folder: Path) -> None:
    _write_text(folder / "report.md", markdown(report))


def _write_tables(report: Report, folder: Path) -> None:
    (folder / TABLES).mkdir()
    for table in report.figures:
        _write_text(folder / TABLES / f"{table.name}.csv", _csv(_FIGURES, _tidy(table)))
    for sheet in report.sheets:
        _write_text(folder / TABLES / f"{sheet.name}.csv", _csv(sheet.columns, sheet.rows))


def _write_answers(report: Report, folder: Path) -> None:
    write_answers(report.answers, folder / "answers.parquet")


def _write_provenance(report: Report, folder: Path) -> None:
    _write_text(folder / MARK, json.dumps(report.provenance, indent=2, ensure_ascii=False, default=str) + "\n")


WRITERS: tuple[Callable[[Report, Path], None], ...] = (
    _write_answers,
    _write_tables,
    _write_markdown,
    _write_provenance,
)
"""Each writes its part of a report into an empty folder."""


def write_report(report: Report, folder: Path, thumbnails: float = 0) -> None:
    """Write all of a report; an earlier one in the folder is replaced when the new one is whole, other files stay.

    thumbnails: megabytes of small pictures in the page, see `spotdiff.runs.page.write_page`. Without the libraries that
    draw a page there is none, and standard error says so.
    Raises SpotdiffError when the folder holds something else, or cannot be written.
    """
    if folder.exists() and not (folder.is_dir() and (_is_free(folder) or (folder / MARK).is_file())):
        raise SpotdiffError(f"{folder} is there and holds no report. Name a new folder: --out DIR")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_NEW, dir=folder) as place:
            new = Path(place)
            for write in WRITERS:
                write(report, new)
            _write_page(report, new, thumbnails)
            _sync(new)
            _exchange(new, folder)
    except OSError as error:
        raise SpotdiffError(f"The report cannot be written to {folder}: {error}") from error


def _is_free(folder: Path) -> bool:
    """Empty, but for what a killed writer left."""
    return all(entry.name.startswith(_NEW) for entry in folder.iterdir())


def _write_page(report: Report, folder: Path, thumbnails: float) -> None:
    missing = missing_libraries()
    if missing:
        print(f"spotdiff: no {PAGE}: {missing}", file=sys.stderr)
    else:
        write_page(report, folder, thumbnails)


def _sync(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb") as stream:
                os.fsync(stream.fileno())


def _exchange(new: Path, folder: Path) -> None:
    """Put each part in its place; whole folders first give way, so that no table of an earlier report stays. The mark
    goes first: what is cut short in here is a report, which the next one replaces."""
    if not (new / PAGE).exists():
        (folder / PAGE).unlink(missing_ok=True)
    for part in sorted(new.iterdir(), key=lambda part: (part.name != MARK, part.name)):
        target = folder / part.name
        if target.is_symlink():
            target.unlink()
        elif part.is_dir() and target.is_dir():
            shutil.rmtree(target)
        os.replace(part, target)


def _write_text(file: Path, text: str) -> None:
    # A reply may hold half of a surrogate pair, which UTF-8 has no form for.
    file.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")


_FIGURES = (
    *("name", "kind", "run", "variant", "metric", "column"),
    *("value", "low", "high", "stderr", "questions", "clusters", "note"),
)


def _tidy(table: Figures) -> Iterable[tuple[Value, ...]]:
    """One row a figure."""
    for line in table.lines:
        for column in table.columns:
            cell = line.cells.get(column)
            if cell is not None:
                names = (line.name, line.kind, line.run, line.variant, line.metric, column)
                numbers = (cell.value, cell.low, cell.high, cell.stderr, cell.questions, cell.clusters)
                yield (*names, *numbers, line.note)


def _no_formula(value: Value) -> Value:
    """Spreadsheets calculate a text that begins so, be it the name of a model; behind a quote it is text for them."""
    return f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA and len(value) > 1 else value


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _csv(head: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_no_formula(value) for value in row] for row in rows)
    return text.getvalue()
