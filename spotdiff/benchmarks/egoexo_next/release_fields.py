"""A mapping: a file in which a user says how a release calls its fields, and what its values mean."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from spotdiff.benchmarks.egoexo_next.release_columns import NAMES, NEEDED, NEEDED_IMAGES, root
from spotdiff.benchmarks.egoexo_next.release_words import CHOICES, meaning
from spotdiff.errors import SettingError

_BY_FILE = ("subtask", "direction", "scene", "source")
"""Fields that a mapping may fix for a file."""


@dataclass(frozen=True)
class Fields:
    """What a mapping says.

    columns: field -> names of columns; none for a field that the release does not have. values: field -> value in the
    release -> ours. files: pattern of names of tables -> what holds for all their records. answer_base: whether
    answers that are numbers count from 0 or from 1. image_folder: where paths of images start. path: of the mapping.
    """

    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    answer_base: int | None = None
    image_folder: str = "."
    path: Path | None = None

    def fixed(self, table: str) -> dict[str, Any]:
        """What holds for all records of a table. Raises SettingError where two patterns disagree."""
        found: dict[str, Any] = {}
        for pattern, values in self.files.items():
            if fnmatchcase(table, pattern):
                for name, value in values.items():
                    if found.setdefault(name, value) != value:
                        raise SettingError(f"{self.path}: patterns of [files] disagree on {name} of {table}")
        return found

    def given(self, columns: Collection[str]) -> set[str]:
        """Those of a table's columns that the mapping gives to a field; no other field is guessed to be in them."""
        found = (root(column, columns) for chosen in self.columns.values() for column in chosen)
        return {column for column in found if column is not None}

    def meaning(self, name: str, value: object) -> str | None:
        return meaning(name, value, self.values.get(name, {}))


# --- reading a mapping --------------------------------------------------------------------------------------------


def load_fields(path: Path) -> Fields:
    """The mapping in a TOML or JSON file. Raises SettingError naming the entry that cannot be used."""
    content = _content(path)
    try:
        _known(content, (*NAMES, "values", "files", "answer_base", "image_folder"))
        values = {name: _values(name, table) for name, table in _table(content, "values").items()}
        return Fields(
            columns={name: _columns(name, content[name]) for name in NAMES if name in content},
            values=values,
            files={pattern: _fixed(pattern, entry, values) for pattern, entry in _table(content, "files").items()},
            answer_base=_base(content["answer_base"]) if "answer_base" in content else None,
            image_folder=_folder(content.get("image_folder", ".")),
            path=path,
        )
    except ValueError as error:
        raise SettingError(f"{path}: {error}") from error


def _content(path: Path) -> Mapping[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    readers = {".toml": tomllib.loads, ".json": json.loads}
    if path.suffix.lower() not in readers:
        raise SettingError(f"{path} is no mapping of fields: write one as .toml or .json")
    try:
        content = readers[path.suffix.lower()](path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise SettingError(f"{path} cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise SettingError(f"{path} is no mapping of fields: it is not an object")
    return content


def _known(names: Iterable[str], known: Collection[str], where: str = "") -> None:
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known)}"
            raise ValueError(f"{where}there is no field {name!r}. {hint}")


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Mapping[str, Any]]:
    table = content.get(name, {})
    if not isinstance(table, dict) or not all(isinstance(entry, dict) for entry in table.values()):
        raise ValueError(f"{name} holds tables, [{name}.NAME]")
    return table


def _columns(name: str, value: Any) -> tuple[str, ...]:
    if value is False:
        if name in (*NEEDED, *NEEDED_IMAGES):
            raise ValueError(f"{name} cannot be left out")
        return ()
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(entry, str) and entry.strip() for entry in names):
        raise ValueError(f"{name} must be the name of a column or a list of names, or false, not {value!r}")
    if len(names) > 1 and name not in (*NEEDED_IMAGES, "option_kinds", "id", "clip", "group"):
        raise ValueError(f"{name} has one column, not {value!r}")
    return tuple(names)


def _values(name: str, table: Mapping[str, Any]) -> dict[str, str]:
    _known([name], (*CHOICES, "source"), "values: ")
    for theirs, ours in table.items():
        if not isinstance(ours, str) or ours not in CHOICES.get(name, (ours,)) or not ours.strip():
            raise ValueError(f"values.{name}: {theirs!r} must be {_choices(name)}, not {ours!r}")
    return dict(table)


def _choices(name: str) -> str:
    return f"one of {', '.join(CHOICES[name])}" if name in CHOICES else "a text"


def _fixed(pattern: str, entry: Mapping[str, Any], values: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    where = f'files."{pattern}": '
    _known(entry, (*_BY_FILE, "matched", "skip", "answer_base"), where)
    found: dict[str, Any] = {}
    for name, value in entry.items():
        if name == "answer_base":
            found[name] = _base(value)
        elif name in ("matched", "skip"):
            if not isinstance(value, bool):
                raise ValueError(f"{where}{name} must be true or false, not {value!r}")
            found[name] = value
        else:
            found[name] = value if name == "source" else meaning(name, value, values.get(name, {}))
            if not isinstance(found[name], str) or not found[name].strip():
                raise ValueError(f"{where}{name} must be {_choices(name)}, not {value!r}")
    return found


def _base(value: Any) -> int:
    if value not in (0, 1) or isinstance(value, (bool, float)):
        raise ValueError(f"answer_base must be 0 or 1, not {value!r}")
    return int(value)


def _folder(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or value.startswith("/") or ".." in value.split("/"):
        raise ValueError(f"image_folder must be a folder within the release, not {value!r}")
    return value
