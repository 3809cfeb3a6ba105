"""From a record of a release to a canonical row: what each field says, and what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spotdiff.benchmarks.egoexo_next.release_columns import (
    NUMBERED,
    cells,
    example,
    is_empty,
    looked_for,
    pick,
    root,
    text_of,
)
from spotdiff.benchmarks.egoexo_next.release_fields import Fields
from spotdiff.benchmarks.egoexo_next.release_files import Record, Table
from spotdiff.benchmarks.egoexo_next.release_images import Images, is_image
from spotdiff.benchmarks.egoexo_next.release_words import CHOICES, shown, source_named, written
from spotdiff.benchmarks.egoexo_next.schema import (
    EGO2EXO,
    IMAGE_COLUMNS,
    MATCH,
    OBSERVATION_COLUMNS,
    OPTION_COLUMNS,
    ORACLE_COLUMNS,
    TO_EGO,
    observations,
)
from spotdiff.errors import Problem
from spotdiff.question import LETTERS

Row = dict[str, Any]

UNKNOWN_SOURCE = "unknown"

_OPTIONS = len(OPTION_COLUMNS)
_FETCH = (
    "Fetch and unpack the images of the release, name the folder where their paths start, image_folder, "
    "or leave all images out with --no-images"
)


@dataclass(frozen=True)
class Sheet:
    """A table with what holds for all its records.

    columns: field -> its columns, for the fields that the table holds. fixed: what the mapping says of the table, told:
    what its name says. with_images: whether images are looked for.
    """

    table: Table
    columns: Mapping[str, tuple[str, ...]]
    fields: Fields
    fixed: Mapping[str, Any]
    told: Mapping[str, Any]
    images: Images
    with_images: bool

    @property
    def matched(self) -> bool:
        """Whether its questions stand in the matched subset alone."""
        return bool(self.fixed.get("matched", self.told["matched"]))

    def roots(self, name: str) -> set[str]:
        """The columns of the table that must be read for a field."""
        found = (root(column, self.table.columns) for column in self.columns.get(name, ()))
        return {column for column in found if column is not None}

    def label(self, name: str) -> str:
        """How the release calls a field."""
        return ", ".join(self.columns.get(name, (name,)))


@dataclass
class Entry:
    """A question of the release.

    row: canonical, without images; its subtask or direction is empty where it is not known. answer: a letter, or a
    number as the release counts; None where there is no single one. lacking: oracle images that it should have.
    """

    sheet: Sheet
    number: int
    place: str
    row: Row
    answer: str | int | None
    lacking: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether it can be told which questions it belongs to."""
        return bool(self.row["subtask"]) and (self.row["subtask"] != MATCH or bool(self.row["direction"]))

    @property
    def matched(self) -> bool:
        """Whether it is a member of the matched subset, which asks subtask 2 from ego to exo alone."""
        return bool(self.row["group"]) and self.row["direction"] != TO_EGO

    def problem(self, name: str, message: str, remedy: str) -> Problem:
        return Problem(self.place, self.row["id"] or "?", self.sheet.label(name), message, remedy)

    def images(self, record: Record, *, oracles: bool) -> Row:
        """The image columns of its row, encoded. oracles: those of the matched subset too. Raises DataError."""
        found: Row = dict.fromkeys(IMAGE_COLUMNS)
        lists = {"observations": OBSERVATION_COLUMNS, "options": OPTION_COLUMNS}
        for name, columns in (*lists.items(), *((name, (name,)) for name in ORACLE_COLUMNS if oracles)):
            values = [cell for _, cell in image_cells(record, self.sheet, name)]
            for column, cell in zip(columns, values, strict=False):
                found[column] = {"bytes": self.sheet.images.encoded(cell), "path": None}
        return found


def image_cells(record: Record, sheet: Sheet, name: str) -> list[tuple[str, Any]]:
    """Name and content of the cells that hold the images of a field.

    Empty ones are left out among observations: subtask 2 has one, where a table may have room for four.
    Raises ValueError where options are named by other letters.
    """
    found = cells(record, sheet.columns.get(name, ()))
    return found if name == "options" else [(label, cell) for label, cell in found if not _is_blank(cell)]


def _is_blank(cell: Any) -> bool:
    return is_empty(cell) or (is_image(cell) and not (cell.get("bytes") or cell.get("path")))


class Reader:
    """Reads the records of one table; `problems` has what is wrong with them."""

    def __init__(self, sheet: Sheet) -> None:
        self.problems: list[Problem] = list(sheet.table.problems)
        self._sheet = sheet
        self._said: set[tuple[str, str]] = set()
        self._place = self._name = ""
        self._record: Record = {}

    def entries(self) -> list[Entry]:
        columns = {column for name in self._sheet.columns for column in self._sheet.roots(name)}
        table = self._sheet.table
        numbers = range(len(table))
        records = table.records(columns, numbers)
        return [self._entry(number, record) for number, record in zip(numbers, records, strict=True)]

    def _entry(self, number: int, record: Record) -> Entry:
        self._place, self._record, self._name = self._sheet.table.place(number), record, "?"
        identity = self._id(number)
        self._name = identity or "?"
        subtask = self._choice("subtask")
        group = self._text("group") or ""
        most = len(observations(subtask))
        self._images("observations", range(most if subtask else 1, most + 1))
        options = self._images("options", range(_OPTIONS, _OPTIONS + 1))
        oracles = ORACLE_COLUMNS if self._sheet.with_images and subtask == EGO2EXO and group else ()
        lacking = tuple(name for name in oracles if not self._images(name, range(2)))
        row = {
            "id": identity,
            "clip": self._text("clip") or identity,
            "subtask": subtask,
            "direction": self._choice("direction") if subtask == MATCH else "",
            "scene": self._choice("scene"),
            "source": self._source_name(),
            "group": group,
            "answer": "",
            "future_candidates": self._futures(subtask),
            "option_kinds": self._kinds(),
            **dict.fromkeys(IMAGE_COLUMNS),
        }
        entry = Entry(self._sheet, number, self._place, row, self._answer(options), lacking)
        self._check_membership(entry)
        return entry

    def _fault(self, name: str, message: str, remedy: str, label: str | None = None) -> None:
        label = self._sheet.label(name) if label is None else label
        self.problems.append(Problem(self._place, self._name, label, message, remedy))

    # --- texts

    def _id(self, number: int) -> str:
        if self._sheet.columns["id"] == (NUMBERED,):
            return f"{re.sub(r'([.](parquet|jsonl?|gz))+$', '', self._sheet.table.name)}-{number + 1}"
        found = self._text("id")
        if found == "":
            self._fault("id", "is empty", f"Give every question an id, or write {example('id', '')}")
        return found or ""

    def _text(self, name: str) -> str | None:
        """What stands in the columns of a field, "" where nothing does; None after a fault."""
        try:
            return text_of(self._record, self._sheet.columns.get(name, ()))
        except ValueError as error:
            self._fault(name, str(error), "Name another column, or correct the table")
            return None

    def _source_name(self) -> str:
        name = self._sheet.fixed.get("source") or self._text("source") or ""
        return self._sheet.fields.values.get("source", {}).get(name) or source_named(name) or UNKNOWN_SOURCE

    def _choice(self, name: str) -> str:
        """Our word for what the record says; "" after a fault. A column goes before the name of the table."""
        if name in self._sheet.fixed:
            return str(self._sheet.fixed[name])
        value = pick(self._record, self._sheet.columns[name][0]) if name in self._sheet.columns else None
        if is_empty(value):
            if name not in self._sheet.told:
                self._say_missing(name)
            return str(self._sheet.told.get(name, ""))
        return self._meaning(name, value) or ""

    def _meaning(self, name: str, value: Any) -> str | None:
        found = self._sheet.fields.meaning(name, value)
        if found is None and (name, str(value)) not in self._said:
            self._said.add((name, str(value)))
            message = f"{shown(value)} is unknown (said once a table)"
            known = " or ".join(CHOICES[name])
            self._fault(
                name, message, f'Use {known}, or below [values.{name}] "{str(value)[:60]}" = "{CHOICES[name][0]}"'
            )
        return found

    def _say_missing(self, name: str) -> None:
        if name in self._sheet.columns:
            self._fault(name, "is empty", "Give it a value")
        elif (name, "") not in self._said:
            self._said.add((name, ""))
            table = self._sheet.table
            self.problems.append(missing(self._place, self._name, name, table, self._sheet.fields))

    # --- numbers and kinds

    def _futures(self, subtask: str) -> int:
        """How many options lie in the future, as the release says; 0 where it says nothing, and in subtask 2."""
        names = self._sheet.columns.get("future_candidates", ())
        value = pick(self._record, names[0]) if names else None
        if subtask == MATCH or is_empty(value):
            return 0
        try:
            number = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else -1.0
        except ValueError:
            number = -1.0
        if number not in range(_OPTIONS + 1):
            message = f"{shown(value)} of four options"
            self._fault("future_candidates", message, "Give 1 to 4, or nothing where it is not known")
            return 0
        return int(number)

    def _kinds(self) -> list[str]:
        """Kinds of the four options; none where the release does not say, or after a fault."""
        try:
            found = cells(self._record, self._sheet.columns.get("option_kinds", ()))
        except ValueError as error:
            self._fault("option_kinds", str(error), "Give four, by the letter of their option")
            return []
        if all(is_empty(value) for _, value in found):
            return []
        if len(found) != _OPTIONS:
            self._fault("option_kinds", f"{len(found)} of four options", "Give four, or nothing where it is not known")
            return []
        kinds = [self._meaning("option_kinds", value) for _, value in found]
        return [kind for kind in kinds if kind] if all(kinds) else []

    # --- images and answer

    def _images(self, name: str, allowed: range) -> list[Any]:
        """The cells of a field that holds images. allowed: how many there may be."""
        if name not in self._sheet.columns:
            return []
        try:
            found = image_cells(self._record, self._sheet, name)
        except ValueError as error:
            self._fault(name, str(error), "Name the four options A to D")
            return []
        if len(found) not in allowed:
            self._fault(name, f"it holds {len(found)} images, not {allowed[-1]}", "Give as many, in their order")
        for label, cell in found if self._sheet.with_images else ():
            message = self._sheet.images.fault(cell)
            if message:
                self._fault(name, message, _FETCH, label)
        return [cell for _, cell in found]

    def _answer(self, options: Sequence[Any]) -> str | int | None:
        try:
            value = pick(self._record, self._sheet.columns["answer"][0])
            found = list(dict.fromkeys(_right(value, options, self._sheet.fields)))
        except ValueError as error:
            self._fault("answer", str(error), "Give one of A, B, C and D")
            return None
        if len(found) != 1:
            golds = f"{'two' if len(found) == 2 else len(found)} golds: {', '.join(map(str, found))}"
            self._fault("answer", golds if found else "there is no right option", "Mark one option as right")
        return found[0] if len(found) == 1 else None

    def _check_membership(self, entry: Entry) -> None:
        if not self._sheet.matched or not entry.known:
            return
        if not entry.row["group"]:
            remedy = "Name the group, or say that the table is none of the matched subset, matched = false"
            self._fault("group", "a question of the matched subset has no group", remedy)
        elif not entry.matched:
            message = "the matched subset asks subtask 2 from ego to exo alone"
            self._fault("direction", message, "Put it among the other questions, matched = false")


def missing(place: str, row: str, name: str, table: Table, fields: Fields) -> Problem:
    """A field that no column of a table holds."""
    names = ", ".join(fields.columns.get(name, ())) or looked_for(name)
    given = fields.given(table.columns)
    free = ", ".join(column for column in table.columns if column not in given) or "none"
    message = f"no column holds it. Looked for {names}; there are {free}"
    if given:
        message += f", and {', '.join(sorted(given))}, which the mapping gives to other fields"
    return Problem(place, row, name, message, f"Write into a file for --fields: {example(name, table.name)}")


def _right(value: Any, options: Sequence[Any], fields: Fields) -> list[str | int]:
    """The options that an answer names: by letter, by number, by a mark for each option, or by what an option holds.

    Raises ValueError where it names none.
    """
    if is_empty(value):
        return []
    if isinstance(value, list):
        if len(value) == _OPTIONS and all(isinstance(mark, int) and mark in (0, 1) for mark in value):
            return [letter for letter, mark in zip(LETTERS, value, strict=False) if mark]
        return [entry for part in value for entry in _right(part, options, fields)]
    letter = fields.meaning("answer", value)
    if letter is not None:
        return [letter]
    if re.fullmatch(r"-?[0-9]+", written(value).strip()):
        return [int(written(value))]
    held = [letter for letter, option in zip(LETTERS, options, strict=False) if option == value]
    if held or (isinstance(value, str) and re.fullmatch(r"[A-D](?:\s*[,;/&]?\s*[A-D])+", value.strip())):
        return list(held or re.findall("[A-D]", value))
    raise ValueError(f"{shown(value)} is none of the options A, B, C and D")
