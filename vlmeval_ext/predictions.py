"""Reading VLMEvalKit's files of predictions without losing a reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from spotdiff.errors import ReplyFileError
from spotdiff.runs.replies import LONGEST_CELL, text_of_cell

_SHOWN = 20

Row = tuple[str, str]
"""Index and prediction."""


def read_predictions(path: Path, asked: Sequence[str]) -> dict[str, str]:
    """Index -> reply, for every question that was asked, in that order. A missing cell is an empty reply.

    VLMEvalKit's own reader takes replies such as `NA` and `None` for missing, and `=B` for a formula.
    Raises ReplyFileError when the file cannot be read, was cut, or does not hold one reply to each question.
    """
    rows = read_rows(path)
    found = dict(rows)
    faults = [
        *_fault("more than one reply to", _repeated(rows)),
        *_fault("no reply to", [index for index in asked if index not in found]),
        *_fault("replies to questions that are not asked with these settings:", set(found) - set(asked)),
    ]
    if path.suffix == ".xlsx":
        cut = [index for index, reply in rows if len(reply) >= LONGEST_CELL]
        faults += _fault(
            "replies that were cut, as a cell of xlsx ends there (set PRED_FORMAT=tsv and ask again):", cut
        )
    if faults:
        raise ReplyFileError(f"{path} cannot be scored. It holds {'; '.join(faults)}")
    return {index: found[index] for index in asked}


def read_rows(path: Path) -> list[Row]:
    """All rows of a file of predictions. Raises ReplyFileError when it cannot be read."""
    # VLMEvalKit falls back to this format, without a word in the file's name, when a table cannot be written.
    if not path.exists() and path.with_suffix(".pkl").exists():
        path = path.with_suffix(".pkl")
    readers: Mapping[str, Callable[[Path], list[Row]]] = {".xlsx": _xlsx, ".tsv": _tsv, ".json": _json, ".pkl": _pickle}
    if path.suffix not in readers:
        raise ReplyFileError(f"{path} is no file of predictions; known are {', '.join(readers)}")
    try:
        return readers[path.suffix](path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReplyFileError(f"{path} cannot be read as predictions: {error!r}") from error


def _xlsx(path: Path) -> list[Row]:
    from openpyxl import load_workbook

    lines = load_workbook(path).active.iter_rows(values_only=True)
    head = list(next(lines))
    index, prediction = head.index("index"), head.index("prediction")
    return [(text_of_cell(line[index]), text_of_cell(line[prediction])) for line in lines]


def _tsv(path: Path) -> list[Row]:
    import pandas

    table = pandas.read_csv(path, sep="\t", dtype=str, keep_default_na=False, na_filter=False, encoding="utf-8")
    return list(zip(table["index"], table["prediction"], strict=True))


def _json(path: Path) -> list[Row]:
    return [
        (text_of_cell(row["index"]), text_of_cell(row["prediction"]))
        for row in json.loads(path.read_text(encoding="utf-8"))
    ]


def _pickle(path: Path) -> list[Row]:
    import pandas

    table = pandas.read_pickle(path)
    return [
        (text_of_cell(index), text_of_cell(reply))
        for index, reply in zip(table["index"], table["prediction"], strict=True)
    ]


def _repeated(rows: Sequence[Row]) -> list[str]:
    seen: set[str] = set()
    return [index for index, _ in rows if index in seen or seen.add(index)]  # type: ignore[func-returns-value]


def _fault(what: str, indices: Iterable[str]) -> list[str]:
    names = sorted(set(indices))
    if not names:
        return []
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return [f"{what} {', '.join(names[:_SHOWN])}{more}"]
