"""The tables of a release, record by record.

A table is read more than once rather than kept: its images may be larger than memory. Only a JSON table that is one
list is held whole.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from spotdiff.errors import DataError, Problem

Record = Mapping[str, Any]

_Stream = io.BufferedReader | gzip.GzipFile

_BATCH = 8
"""Records of a parquet file in memory at a time; one holds up to ten images."""

_AGAIN = "Fetch it again"


class Table(Protocol):
    """name: its path within the release. columns: of all its records. problems: what is no record."""

    name: str
    columns: tuple[str, ...]
    problems: tuple[Problem, ...]

    def __len__(self) -> int:
        """Number of records."""

    def place(self, number: int) -> str:
        """File and place of a record, for messages."""

    def records(self, columns: Collection[str], numbers: Sequence[int]) -> Iterator[Record]:
        """The records of these numbers, which ascend from 0 up, with these columns at least."""


def table_files(folder: Path) -> list[Path]:
    """Every table in the folder and below it, in order of its name. What is hidden is not looked at.

    Raises DataError where there is none, saying what there is.
    """
    files = _files(folder)
    found = [path for path in files if _opener(path) and path.name not in _DESCRIPTIONS]
    if not found:
        others = ", ".join(sorted({path.suffix or path.name for path in files})[:10]) or "no file"
        raise DataError(
            f"{folder} holds no table of questions, {', '.join(_OPENED)}, nor does a folder in it; it holds {others}. "
            "Unpack archives first"
        )
    return found


def open_table(path: Path, name: str) -> Table | Problem:
    """A table, or what is wrong with the whole of it. name: its path within the release."""
    opener = _opener(path)
    try:
        if opener is None:
            raise _Unreadable("it is no table")
        return opener(path, name)
    except _Unreadable as error:
        remedy = f'{error.remedy}. If it holds no questions: [files."{name}"] skip = true'
        return Problem(str(path), "all", "all", str(error), remedy)


_DESCRIPTIONS = ("dataset_info.json", "dataset_infos.json")


def _opener(path: Path) -> Callable[[Path, str], Table] | None:
    return next((opener for end, opener in _OPENED.items() if path.name.lower().endswith(end)), None)


def _files(folder: Path) -> list[Path]:
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in names if not name.startswith(".")]
    return sorted(found)


class _Unreadable(Exception):
    """What is wrong with a whole table, and what to do."""

    def __init__(self, message: str, remedy: str = _AGAIN) -> None:
        super().__init__(message)
        self.remedy = remedy


# --- JSON ---------------------------------------------------------------------------------------------------------


def _opened(path: Path) -> _Stream:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")


def _json(path: Path, name: str) -> Table:
    try:
        with _opened(path) as stream:
            content = json.loads(stream.read().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        # Several values one after the other: lines, whatever the name says.
        if error.msg == "Extra data":
            return _Lines(path, name)
        raise _Unreadable(f"this is not JSON ({error})") from error
    except _CANNOT_READ as error:
        raise _Unreadable(f"it cannot be read ({error})") from error
    return _List(path, name, _list_in(content))


_CANNOT_READ = (OSError, EOFError, UnicodeDecodeError, zlib.error, RecursionError)


def _list_in(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    lists = {key: value for key, value in content.items() if isinstance(value, list)} if _is_object(content) else {}
    if len(lists) != 1:
        found = f"lists {', '.join(lists)}" if lists else "no list"
        raise _Unreadable(f"it holds {found} where one list of questions is read", "Leave one list in it")
    return next(iter(lists.values()))


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


class _List:
    """A JSON table that is one list of objects."""

    def __init__(self, path: Path, name: str, entries: list[Any]) -> None:
        self.name, self._path = name, path
        self._records = [(number, entry) for number, entry in enumerate(entries, start=1) if _is_object(entry)]
        self.columns = tuple(dict.fromkeys(key for _, record in self._records for key in record))
        self.problems = tuple(
            Problem(f"{path}, entry {number}", "?", "all", "this is not an object", _AGAIN)
            for number, entry in enumerate(entries, start=1)
            if not _is_object(entry)
        )

    def __len__(self) -> int:
        return len(self._records)

    def place(self, number: int) -> str:
        return f"{self._path}, entry {self._records[number][0]}"

    def records(self, columns: Collection[str], numbers: Sequence[int]) -> Iterator[Record]:
        return (self._records[number][1] for number in numbers)


class _Lines:
    """A table of one JSON object a line. Where each line begins is kept, not the line."""

    def __init__(self, path: Path, name: str) -> None:
        self.name, self._path = name, path
        self._lines: list[tuple[int, int]] = []
        """Of each record: the number of its line, and where that begins, in bytes of text."""
        columns: dict[str, None] = {}
        problems: list[Problem] = []
        try:
            with _opened(path) as stream:
                for number, (start, line) in enumerate(_from(stream), start=1):
                    if not line.strip():
                        continue
                    try:
                        columns |= dict.fromkeys(_object(line))
                        self._lines.append((number, start))
                    except ValueError as error:
                        problems.append(Problem(f"{path}, line {number}", "?", "all", str(error), _AGAIN))
        except _CANNOT_READ as error:
            raise _Unreadable(f"it cannot be read ({error})") from error
        self.columns, self.problems = tuple(columns), tuple(problems)

    def __len__(self) -> int:
        return len(self._lines)

    def place(self, number: int) -> str:
        return f"{self._path}, line {self._lines[number][0]}"

    def records(self, columns: Collection[str], numbers: Sequence[int]) -> Iterator[Record]:
        try:
            with _opened(self._path) as stream:
                for number in numbers:
                    stream.seek(self._lines[number][1])
                    yield _object(_text(stream.readline()))
        except (*_CANNOT_READ, ValueError) as error:
            raise DataError(f"{self._path} cannot be read any more: {error}. {_AGAIN}") from error


def _from(stream: _Stream) -> Iterator[tuple[int, str]]:
    start = 0
    for line in stream:
        yield start, _text(line)
        start += len(line)


def _text(line: bytes) -> str:
    return line.removeprefix(codecs.BOM_UTF8).decode()


def _object(line: str) -> Record:
    """Raises ValueError saying what the line is instead."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError("this is not an object")
    return value


# --- parquet ------------------------------------------------------------------------------------------------------


class _Parquet:
    """A parquet file. Of its row groups, those without a record that is asked for are passed over."""

    def __init__(self, path: Path, name: str) -> None:
        import pyarrow

        self.name, self._path = name, path
        self.problems: tuple[Problem, ...] = ()
        try:
            with self._open() as file:
                self.columns = tuple(map(str, file.schema_arrow.names))
                self._sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        except (OSError, pyarrow.ArrowException) as error:
            raise _Unreadable(f"it cannot be read ({error})") from error

    def _open(self) -> Any:
        import pyarrow.parquet

        # With neither of the two, a whole column of a row group, hundreds of images, would be read at once.
        return pyarrow.parquet.ParquetFile(self._path, buffer_size=1 << 20, pre_buffer=False)

    def __len__(self) -> int:
        return sum(self._sizes)

    def place(self, number: int) -> str:
        return f"{self._path}, row {number + 1}"

    def records(self, columns: Collection[str], numbers: Sequence[int]) -> Iterator[Record]:
        import pyarrow

        wanted, start = set(numbers), 0
        try:
            with self._open() as file:
                for group, size in enumerate(self._sizes):
                    if not wanted.isdisjoint(range(start, start + size)):
                        yield from _wanted(
                            file, group, [name for name in self.columns if name in columns], start, wanted
                        )
                    start += size
        except (OSError, pyarrow.ArrowException) as error:
            raise DataError(f"{self._path} cannot be read: {error}. {_AGAIN}") from error


def _wanted(file: Any, group: int, columns: list[str], start: int, wanted: set[int]) -> Iterator[Record]:
    for batch in file.iter_batches(_BATCH, row_groups=[group], columns=columns):
        for row in range(batch.num_rows):
            if start + row in wanted:
                yield batch.slice(row, 1).to_pylist()[0]
        start += batch.num_rows


_OPENED: Mapping[str, Callable[[Path, str], Table]] = {
    ".parquet": _Parquet,
    ".json": _json,
    ".json.gz": _json,
    ".jsonl": _Lines,
    ".jsonl.gz": _Lines,
}
