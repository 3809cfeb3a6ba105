"""Captions of images: each distinct image of a data set once, by its pixels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from spotdiff.errors import DataError
from spotdiff.media.images import open_image, pixel_digest
from spotdiff.probes.gather import gather
from spotdiff.probes.stages import Item, Stage, Wanted
from spotdiff.probes.store import TextKey
from spotdiff.question import Image, Text
from spotdiff.tasks import Task

if TYPE_CHECKING:
    from datasets import Dataset

    from spotdiff.evaluation import Evaluation


@dataclass(frozen=True)
class _Cell:
    """An image of a row. number: of the row. digest: of its pixels. about: row and column, for people."""

    number: int
    column: str
    digest: str
    about: str


def caption_stage(
    name: str, task: Task, kind: str, template: str, max_new_tokens: int, columns: Sequence[str]
) -> Stage:
    """A stage that has the images in these columns of a task's rows described, as its template says, one at a time."""
    return Stage(name, task, kind, template, max_new_tokens, "images", partial(_captions, tuple(columns)))


def _captions(columns: Sequence[str], stage: Stage, evaluation: Evaluation, label: str) -> list[Item]:
    rows = evaluation.rows()
    distinct = {cell.digest: cell for cell in reversed(list(_cells(rows, columns)))}

    def item(cell: _Cell) -> Item:
        image = Image(lambda: open_image(rows[cell.number][cell.column], cell.about))
        return Item(_wanted(stage, cell), (image, Text(f"\n{stage.template}")))

    return [item(cell) for cell in reversed(distinct.values())]


def captions_of(
    stage: Stage, evaluation: Evaluation, rows: Dataset, columns: Sequence[str]
) -> list[tuple[list[str], int]]:
    """The captions of the images in these columns of each row, an empty text for one that is missing; their number.

    Raises SpotdiffError where one is missing that must not be.
    """
    cells = list(_cells(rows, columns))
    wanted = [_wanted(stage, cell) for cell in cells]
    found = gather(stage, lambda _: wanted, evaluation.settings, "probe_captions").texts
    texts = [found.get(one.key) for one in wanted]
    by_row: list[tuple[list[str], int]] = []
    for start in range(0, len(texts), len(columns)):
        own = texts[start : start + len(columns)]
        by_row.append(([text.text if text is not None else "" for text in own], own.count(None)))
    return by_row


def _wanted(stage: Stage, cell: _Cell) -> Wanted:
    return Wanted(TextKey(stage.kind, stage.prompt_version, cell.digest), cell.about)


def _cells(rows: Dataset, columns: Sequence[str]) -> Iterator[_Cell]:
    """The images row by row, in the order of the columns. Raises DataError where one is missing or broken."""
    needed = rows.select_columns(["id", "setting", *columns] if "setting" in rows.column_names else ["id", *columns])
    known: dict[bytes, str] = {}
    for number, row in enumerate(needed):
        for column in columns:
            about = "/".join([*([row["setting"]] if "setting" in row else []), f"{row['id']} {column}"])
            yield _Cell(number, column, _digest(row[column], about, known), about)


def _digest(value: Mapping[str, Any] | None, about: str, known: dict[bytes, str]) -> str:
    """Of the pixels. known: digests of encoded images that were decoded before: many rows share an image."""
    stored = (value or {}).get("bytes")
    if not stored:
        raise DataError(f"{about}: the image is missing, and its caption is found by it. Prepare the data with images")
    short = hashlib.sha256(stored).digest()
    if short not in known:
        known[short] = pixel_digest(open_image(value, about))
    return known[short]
