"""Reads a release of EgoExo-Next: tables of questions, with their images in them or beside them.

Tables are parquet, JSON (one list of objects) or JSONL files (JSON also as .gz), in the folder or below it. Their
columns are found by a mapping or by name (`release_fields`), their values are read by a mapping or by meaning, and what
no column says the names of tables and folders may say, as in `subtask2/ego2exo/indoor.json` (`release_words`).
Questions of a table that calls itself `matched` or a diagnosis, or that a mapping calls so, stand in the matched
subset alone; others stand in it too where they carry a group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby, islice
from pathlib import Path, PurePosixPath

from spotdiff.benchmarks.egoexo_next.release_checks import check_kinds, group_problems, repeated, set_answers
from spotdiff.benchmarks.egoexo_next.release_columns import (
    NAMES,
    NEEDED,
    NEEDED_IMAGES,
    NUMBERED,
    Unclear,
    example,
    guessed,
    named,
    root,
)
from spotdiff.benchmarks.egoexo_next.release_fields import Fields
from spotdiff.benchmarks.egoexo_next.release_files import open_table, table_files
from spotdiff.benchmarks.egoexo_next.release_images import Images
from spotdiff.benchmarks.egoexo_next.release_rows import Entry, Reader, Row, Sheet, missing
from spotdiff.benchmarks.egoexo_next.release_words import told_by_path
from spotdiff.benchmarks.egoexo_next.schema import EGO2EXO, MATCH, ORACLE_COLUMNS, SUBTASKS, TO_EGO, TO_EXO
from spotdiff.data.checks import raise_problems
from spotdiff.errors import DataError, Problem

CONFIGS: Mapping[str, tuple[str, str]] = {
    subtask if subtask != MATCH else f"{MATCH}_{direction}": (subtask, direction)
    for subtask in SUBTASKS
    for direction in ((TO_EXO, TO_EGO) if subtask == MATCH else ("",))
}
"""Config -> subtask and direction of its questions."""

MATCHED_CONFIGS: Mapping[str, tuple[str, str]] = {
    f"matched_{subtask}": (subtask, TO_EXO if subtask == MATCH else "") for subtask in SUBTASKS
}
"""The same for the matched subset."""


_NONE = Fields()
_OUTCOME = "nothing was prepared"


class Questions:
    """The rows of one config, in the order of the release.

    texts: without their images. Iterating gives them whole, each image being read when its row comes, and not kept.
    """

    def __init__(self, entries: Sequence[Entry], *, matched: bool) -> None:
        self._entries, self._matched = entries, matched
        # Outside the matched subset no row has oracle images, so none may claim to be a member.
        self.texts: list[Row] = [entry.row if matched else {**entry.row, "group": ""} for entry in entries]

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Row]:
        """Raises DataError when an image cannot be read any more."""
        texts = iter(self.texts)
        for _, block in groupby(self._entries, key=lambda entry: id(entry.sheet)):
            entries = list(block)
            for text, images in zip(islice(texts, len(entries)), self._images(entries), strict=True):
                yield {**text, **images}

    def _images(self, entries: Sequence[Entry]) -> Iterator[Row]:
        """The image columns of questions of one table."""
        sheet = entries[0].sheet
        if not sheet.with_images:
            return iter([{}] * len(entries))
        names = (*NEEDED_IMAGES, *(ORACLE_COLUMNS if self._matched else ()))
        columns = {column for name in names for column in sheet.roots(name)}
        records = sheet.table.records(columns, [entry.number for entry in entries])
        return (
            entry.images(record, oracles=self._matched and entry.row["subtask"] == EGO2EXO)
            for entry, record in zip(entries, records, strict=True)
        )


def read_release(folder: Path, fields: Fields = _NONE, *, images: bool = True) -> dict[str, Questions]:
    """Config -> its questions, for each config that has any.

    fields: what a mapping says of the release. images: without, none is looked for and all image columns are None,
    which is enough to score stored replies. Images are kept as they are encoded, and without the names of their files.
    Raises DataError with every fault of all tables, naming file, record and field: first those for which no record can
    be read. Raises SettingError where the mapping contradicts itself.
    """
    sheets = _sheets(folder, fields, images)
    entries: list[Entry] = []
    found: list[Problem] = []
    for sheet in sheets:
        reader = Reader(sheet)
        entries += reader.entries()
        found += reader.problems
    found += set_answers(entries, fields)
    for entry in entries:
        found += check_kinds(entry)
    by_config = _by_config(entries)
    found += repeated(by_config)
    found += group_problems(entries)
    raise_problems(found, str(folder), _OUTCOME)
    return {config: Questions(rows, matched=config in MATCHED_CONFIGS) for config, rows in by_config.items()}


# --- tables -------------------------------------------------------------------------------------------------------


def _sheets(folder: Path, fields: Fields, images: bool) -> list[Sheet]:
    """The tables that hold questions. Raises DataError where one cannot be read or its columns cannot be told."""
    found: list[Problem] = []
    sheets: list[Sheet] = []
    names: list[str] = []
    for path in table_files(folder):
        name = path.relative_to(folder).as_posix()
        if fields.path is not None and path.samefile(fields.path):
            continue
        names.append(name)
        if not fields.fixed(name).get("skip"):
            sheet, problems = _sheet(folder, path, name, fields, images)
            sheets += [sheet] if sheet else []
            found += problems
    found += _unused(names, sheets, fields, {problem.field for problem in found})
    raise_problems(found, str(folder), _OUTCOME)
    if not sheets:
        raise DataError(f"{folder} holds no questions: the mapping leaves out all its tables, {', '.join(names)}")
    return sheets


def _sheet(folder: Path, path: Path, name: str, fields: Fields, images: bool) -> tuple[Sheet | None, Sequence[Problem]]:
    table = open_table(path, name)
    if isinstance(table, Problem):
        return None, [table]
    if not len(table):
        remedy = f'If it should: [files."{name}"] skip = true'
        return None, table.problems or [Problem(str(path), "all", "all", "it holds no questions", remedy)]
    fixed, told = fields.fixed(name), told_by_path(PurePosixPath(name))
    given = fields.given(table.columns)
    free = [column for column in table.columns if column not in given]
    columns: dict[str, tuple[str, ...]] = {}
    found: list[Problem] = []
    for field in (entry for entry in NAMES if entry not in fixed):
        try:
            chosen = fields.columns.get(field)
            columns[field] = guessed(free, field) if chosen is None else named(table.columns, field, chosen)
        except Unclear as error:
            found.append(
                Problem(str(path), "all", field, f"several columns fit: {error}", f"Choose: {example(field, name)}")
            )
            continue
        if not columns[field] and field in (*NEEDED, *(NEEDED_IMAGES if images else ())) and field not in told:
            found.append(missing(str(path), "all", field, table, fields))
    beside = PurePosixPath(name).parent
    bases = (beside, PurePosixPath(), PurePosixPath(fields.image_folder), beside / fields.image_folder)
    kept = {field: entry for field, entry in columns.items() if entry}
    return Sheet(table, kept, fields, fixed, told, Images(folder, bases), images), found


def _unused(
    names: Collection[str], sheets: Sequence[Sheet], fields: Fields, faulty: Collection[str]
) -> Iterator[Problem]:
    """What the mapping says of tables and columns that are not there. faulty: fields whose fault is known."""
    mapping = str(fields.path)
    for pattern in fields.files:
        if not any(fnmatchcase(name, pattern) for name in names):
            message = f"no table is called {pattern!r}"
            yield Problem(mapping, "all", "files", message, f"There are {', '.join(names)}")
    there = {column: None for sheet in sheets for column in sheet.table.columns}
    for field, columns in fields.columns.items():
        for column in columns:
            if field not in faulty and column != NUMBERED and root(column, there) is None:
                message = f"no table has a column {column!r}"
                yield Problem(mapping, "all", field, message, f"There are {', '.join(there)}")


# --- configs ------------------------------------------------------------------------------------------------------


def _by_config(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Config -> its questions, in the order of the configs. One whose subtask is not known stands in none."""
    found: dict[str, list[Entry]] = {config: [] for config in (*CONFIGS, *MATCHED_CONFIGS)}
    for entry in (entry for entry in entries if entry.known):
        asked = entry.row["subtask"], entry.row["direction"]
        for configs, member in ((CONFIGS, not entry.sheet.matched), (MATCHED_CONFIGS, entry.matched)):
            if member:
                found[next(config for config, questions in configs.items() if questions == asked)].append(entry)
    return {config: rows for config, rows in found.items() if rows}
