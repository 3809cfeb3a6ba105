"""The replies themselves, from the predictions that VLMEvalKit keeps beside our log of a run."""

from __future__ import annotations

import csv
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SUFFIXES = (".tsv", ".xlsx", ".json")

LONGEST_CELL = 32767
"""Characters in a cell of xlsx; VLMEvalKit's writer cuts what is longer."""


_UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError),
    *(csv.Error, zipfile.BadZipFile),
)
"""A generator turns its own StopIteration, as of a sheet without a line, into a RuntimeError."""


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply, and the text of its prompt where the file has it."""

    reply: str
    prompt: str | None


def replies_beside(log: Path) -> tuple[dict[str, StoredReply], list[str]]:
    """Question id -> reply, from the predictions beside `<stem>_scored.jsonl`, and what was wrong with them.

    Nothing here is scored again: replies are for reading, so a file that is not there or cannot be read costs none.
    """
    stem = log.name.removesuffix(".jsonl").removesuffix("_scored")
    file = next((path for suffix in _SUFFIXES if (path := log.with_name(stem + suffix)).is_file()), None)
    if file is None:
        return {}, [f"{log}: no predictions beside it (.tsv, .xlsx or .json): the report has no replies of this run"]
    try:
        rows = list(_rows(file))
    except ImportError:
        return {}, [f"{file} needs openpyxl to be read (pip install openpyxl): the report has no replies of this run"]
    except _UNREADABLE as error:
        return {}, [f"{file} cannot be read as predictions ({error!r}): the report has no replies of this run"]
    cut = [index for index, found in rows if file.suffix == ".xlsx" and len(found.reply) >= LONGEST_CELL]
    # An index is the question's id with a digest of what was asked behind it.
    found = {index.rpartition("@")[0] or index: reply for index, reply in rows}
    said = f"{file}: {len(cut)} replies were cut, {cut[0]} among them: a cell of xlsx ends there" if cut else ""
    return found, [said] if said else []


def _rows(file: Path) -> Iterator[tuple[str, StoredReply]]:
    readers = {".tsv": _tsv, ".xlsx": _xlsx, ".json": _json}
    for row in readers[file.suffix](file):
        prompt = row.get("question")
        yield (
            text_of_cell(row["index"]),
            StoredReply(text_of_cell(row["prediction"]), None if prompt is None else text_of_cell(prompt)),
        )


def _tsv(file: Path) -> Iterator[Mapping[str, Any]]:
    # The default of 131,072 characters is less than a long chain of thought in another script takes.
    csv.field_size_limit(sys.maxsize)
    with file.open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream, delimiter="\t")


def _xlsx(file: Path) -> Iterator[Mapping[str, Any]]:
    from openpyxl import load_workbook

    lines = load_workbook(file, read_only=True).active.iter_rows(values_only=True)
    head = next(lines)
    for line in lines:
        yield dict(zip(head, line, strict=False))


def _json(file: Path) -> Iterator[Mapping[str, Any]]:
    yield from json.loads(file.read_text(encoding="utf-8"))


def text_of_cell(cell: Any) -> str:
    """A missing cell (None, NaN) is an empty reply; `NA`, `None` and `nan` as text are replies."""
    # NaN alone differs from itself.
    return "" if cell is None or cell != cell else str(cell)
