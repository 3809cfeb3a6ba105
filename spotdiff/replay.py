"""Stored replies, so that a run can be scored again without its model.

Read are: JSON lines of `id` and `reply`; the rows of the M4Bench release's `outputs/` (`task`, `id`, `prediction`, and
`model` where one file holds several); and the sample logs of lmms-eval. A file may be compressed (.gz), a folder is
read whole.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from spotdiff.errors import ReplyFileError
from spotdiff.question import Question
from spotdiff.tasks import benchmarks

_SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
_REPLY_FIELDS = ("reply", "prediction", "resps", "filtered_resps")
"""The last two are lmms-eval's, which leaves `resps` out where both are equal."""


@dataclass(frozen=True)
class Replies:
    """Replies by question id (`<setting>/<id of the row>`), and the path they came from.

    gold: by question id, the right letters at the time, where the file tells.
    """

    path: Path
    by_id: Mapping[str, str]
    gold: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def check(self, questions: Iterable[Question]) -> None:
        """Make sure that these replies answer these questions. Raises ReplyFileError, see `require`, also where the
        right letters were others: then the options stood in another order."""
        asked = list(questions)
        self.require(question.id for question in asked)
        moved = [question.id for question in asked if self.gold.get(question.id, question.gold) != question.gold]
        if moved:
            raise ReplyFileError(
                f"{self.path}: {len(moved)} replies were given to options in another order, such as {moved[0]}. "
                "Set SPOTDIFF_SHUFFLE_SEED as it was set then"
            )

    def require(self, ids: Iterable[str]) -> None:
        """Raise ReplyFileError naming every id that has no reply."""
        missing = [name for name in ids if name not in self.by_id]
        if missing:
            raise ReplyFileError(
                f"{self.path} holds no reply to {len(missing)} question{'s' if len(missing) > 1 else ''}: "
                f"{', '.join(missing)}. "
                f"It holds {len(self.by_id)} replies; add the missing ones, or run fewer tasks"
            )


def load_replies(path: str | Path, model: str | None = None) -> Replies:
    """All replies below a path.

    model: which model's replies to take, where the rows name several.
    Raises ReplyFileError when the path is not there, a line is broken, an id comes twice, or the model is not told.
    """
    if not str(path).strip():
        raise ReplyFileError("No file or folder of stored replies was named: path=...")
    path = Path(path).expanduser()
    rows = [(place, row) for file in _files(path) for place, row in _rows(file)]
    models = sorted({str(row["model"]) for _, row in rows if "model" in row})
    if model is not None and models and model not in models:
        raise ReplyFileError(f"{path} holds no reply of model {model!r}. It has: {', '.join(models)}")
    if model is None and len(models) > 1:
        raise ReplyFileError(f"{path} holds replies of several models: {', '.join(models)}. Name one: model=...")
    found: dict[str, str] = {}
    gold: dict[str, tuple[str, ...]] = {}
    for place, row in rows:
        if model is not None and "model" in row and row["model"] != model:
            continue
        name, reply = _id_of(place, row), _reply_of(place, row)
        if found.setdefault(name, reply) != reply:
            raise ReplyFileError(f"{place}: question {name} has two different replies. Keep one")
        if isinstance(row.get("acc"), Mapping) and isinstance(row["acc"].get("gold"), list):
            gold[name] = tuple(map(str, row["acc"]["gold"]))
    if not found:
        raise ReplyFileError(f"{path} holds no replies")
    return Replies(path, found, gold)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ReplyFileError(f"There is no file or folder {path} with stored replies")
    found = sorted(
        file
        for file in path.rglob("*")
        if file.name.endswith(_SUFFIXES) and not file.name.endswith("_results.json") and file.is_file()
    )
    if not found:
        raise ReplyFileError(f"{path} holds no file of replies ({', '.join(_SUFFIXES)})")
    return found


def _rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with gzip.open(file, "rb") if file.name.endswith(".gz") else file.open("rb") as stream:
            text = stream.read().decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise ReplyFileError(f"{file} cannot be read: {error}") from error
    if file.name.removesuffix(".gz").endswith(".json"):
        yield from _json_rows(file, text)
        return
    # Not splitlines: a reply may hold U+2028 and its like.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"{file}, line {number}", _checked(f"{file}, line {number}", line)


def _json_rows(file: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise ReplyFileError(f"{file} is not JSON: {error}") from error
    if not isinstance(rows, list):
        raise ReplyFileError(f"{file} must hold a list of rows")
    for number, row in enumerate(rows, start=1):
        place = f"{file}, row {number}"
        if not isinstance(row, dict):
            raise ReplyFileError(f"{place} is not an object")
        # The release keeps one file a setting, named after it.
        yield place, {"task": file.name.split(".")[0], **row}


def _checked(place: str, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ReplyFileError(f"{place} is not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ReplyFileError(f"{place} is not an object")
    return row


def _id_of(place: str, row: Mapping[str, Any]) -> str:
    if isinstance(row.get("acc"), Mapping) and "id" in row["acc"]:
        return str(row["acc"]["id"])
    if "id" not in row:
        raise ReplyFileError(f"{place} has no field id")
    name = str(row["id"])
    setting = _settings().get(str(row.get("setting") or row.get("task")))
    return name if setting is None or name.startswith(f"{setting}/") else f"{setting}/{name}"


@cache
def _settings() -> Mapping[str, str]:
    """Name of a setting, here, in the release or as a task of its own -> its name here."""
    return {
        name: setting.name
        for benchmark in benchmarks().values()
        for task in benchmark.tasks
        for setting in task.settings
        for name in (setting.name, setting.released_as, *([task.name] if len(task.settings) == 1 else []))
        if name
    }


def _reply_of(place: str, row: Mapping[str, Any]) -> str:
    value: Any = next((row[field] for field in _REPLY_FIELDS if field in row), None)
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str):
        raise ReplyFileError(
            f"{place} has no reply: expected a text in {' or '.join(_REPLY_FIELDS)}, or resps of a sample log"
        )
    return value
