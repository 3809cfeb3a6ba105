"""Reads the TSVs of the official release record by record: a record holds two images in base64, often megabytes."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from spotdiff.benchmarks.m4bench.official_images import Embedded
from spotdiff.errors import Problem

IMAGES = ("image1", "image2")
NAMES = ("image1_path", "image2_path")
COLUMNS = ("index", *IMAGES, *NAMES, "query", "response")

_ANY_LENGTH = 2**31 - 1
_LONGEST = 500_000_000
"""Bytes of one record. A quote that is never closed would take the rest of the file for one."""

_AGAIN = "Fetch the file again"


@dataclass(frozen=True)
class Record:
    """A line of a TSV. names: paths of the images. images: None where the field is empty."""

    file: Path
    index: str
    names: tuple[str, str]
    images: tuple[Embedded | None, Embedded | None]
    query: str
    response: str


def read_tsv(path: Path) -> tuple[list[Record], list[Problem]]:
    """All records, with the places of their images instead of the images, and every fault of the file."""
    reader = _Reader(path)
    records = list(reader.records())
    if not records and not reader.problems:
        reader.problems.append(Problem(str(path), "all", "all", "there are no questions", _AGAIN))
    for index, count in Counter(record.index for record in records).items():
        if count > 1:
            message = f"appears {count} times"
            reader.problems.append(Problem(str(path), index, "index", message, "Indices must be unique"))
    return records, reader.problems


class _Lines:
    """The lines of a binary stream as text; those of the record that is being read, and where it starts."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lines: list[bytes] = []
        self._number = self._position = 0
        self.start = 0
        self.first = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(_LONGEST)
        if not line:
            raise StopIteration
        if not self._lines:
            self.start, self.first = self._position, self._number + 1
        self._lines.append(line)
        self._number += 1
        self._position += len(line)
        if self._position - self.start >= _LONGEST:
            raise csv.Error(f"a record is longer than {_LONGEST:,} bytes: a quote is not closed")
        return line.decode("utf-8-sig" if self._number == 1 else "utf-8")

    def taken(self) -> bytes:
        """The bytes of the record, whose lines are forgotten."""
        lines, self._lines = self._lines, []
        return b"".join(lines)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.problems: list[Problem] = []
        self._path = path

    def records(self) -> Iterator[Record]:
        with self._path.open("rb") as stream:
            lines = _Lines(stream)
            try:
                yield from self._records(lines)
            except (csv.Error, UnicodeDecodeError) as error:
                self._say(f"line {lines.first}", "all", f"the file is damaged or cut there ({error})")

    def _records(self, lines: _Lines) -> Iterator[Record]:
        reader = csv.reader(lines, delimiter="\t", strict=True)
        head = _next(reader)
        lines.taken()
        missing = [column for column in COLUMNS if column not in (head or ())]
        for column in missing:
            self._say("header", column, "there is no such column")
        while not missing and head and (values := _next(reader)) is not None:
            raw, place = lines.taken(), f"line {lines.first}"
            if values and len(values) != len(head):
                self._say(place, "all", f"{len(values)} of {len(head)} fields: it is cut, or a tab is not quoted")
            elif values:
                yield from self._record(dict(zip(head, values, strict=True)), place, raw, lines.start)

    def _record(self, fields: dict[str, str], place: str, raw: bytes, start: int) -> Iterator[Record]:
        row, before = fields["index"] or place, len(self.problems)
        for column in COLUMNS:
            if column not in IMAGES and not fields[column].strip():
                self._say(row, column, "is empty")
        first, second = (self._image(fields[column], row, column, raw, start) for column in IMAGES)
        if len(self.problems) == before:
            names = fields[NAMES[0]], fields[NAMES[1]]
            yield Record(self._path, row, names, (first, second), fields["query"], fields["response"])

    def _image(self, text: str, row: str, column: str, raw: bytes, start: int) -> Embedded | None:
        """Where the image stands in the file, None where the field is empty or broken."""
        encoded = text.encode()
        try:
            return Embedded.of(self._path, start + raw.find(encoded), encoded) if text.strip() else None
        except ValueError as error:
            self._say(row, column, str(error))
            return None

    def _say(self, row: str, column: str, message: str) -> None:
        self.problems.append(Problem(str(self._path), row, column, message, _AGAIN))


def _next(reader: Iterator[list[str]]) -> list[str] | None:
    """The next record, however long its fields are. The limit of their length is one of the whole process."""
    limit = csv.field_size_limit(_ANY_LENGTH)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(limit)
