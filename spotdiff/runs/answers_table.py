"""`answers.parquet`: every scored answer of every run, one row each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spotdiff.runs.report import Answered

COLUMNS: dict[str, tuple[str, str, Callable[[Answered], Any]]] = {
    "run": ("string", "name of the run in the report", lambda row: row.run),
    "model": ("string", "what was run, with its arguments, secrets masked", lambda row: row.model),
    "framework": ("string", "lmms-eval or VLMEvalKit", lambda row: row.framework),
    "benchmark": ("string", "such as m4bench", lambda row: row.benchmark),
    "data": ("string", "data set: that of the benchmark, or a shipped one (m4bench_mini)", lambda row: row.data),
    "task": ("string", "as the framework spells it", lambda row: row.task),
    "version": ("int64", "of the benchmark's protocol; null where the log does not tell", lambda row: row.version),
    "variant": ("string", "way of asking: full, or such as blind", lambda row: row.variant),
    "setting": ("string", "column of the benchmark's table", lambda row: row.setting),
    "id": ("string", "of the question, <setting>/<id of the row>", lambda row: row.scored.id),
    "score": ("double", "main score, 0 to 1", lambda row: float(row.scored.score)),
    "letters": ("list", "letters that were read", lambda row: list(row.scored.letters)),
    "gold": ("list", "right letters", lambda row: list(row.scored.gold)),
    "outcome": ("string", "what became of the reply", lambda row: row.scored.outcome),
    "failure": ("string", "class of failure, empty for an answer", lambda row: row.scored.failure),
    "failed": ("bool", "whether there is no reply of the model", lambda row: row.scored.failed),
    "rule": ("string", "rule that read the letters", lambda row: row.rule),
    "conflict": ("bool", "whether the reply named other letters too", lambda row: row.conflict),
    "options": ("int64", "number of options", lambda row: row.scored.options),
    "chance": ("double", "expected score of a uniform guess", lambda row: float(row.scored.chance)),
    "cluster": ("string", "what questions with dependent errors share", lambda row: row.scored.cluster),
    "reply": ("string", "what was read; null where the log has none", lambda row: _storable(row.reply)),
    "prompt_digest": (
        "string",
        "first 16 hex digits of the SHA-256 of the prompt's text; null where the log has none",
        lambda row: None if row.prompt is None else _digest(row.prompt),
    ),
    "log": ("string", "file and line", lambda row: _storable(row.place)),
}
"""Name -> type, meaning, value. Behind them come `group.<name>` (lists of texts, what tables break down by) and
`extra.<metric>` (doubles, null where a row has no such metric)."""


def write_answers(answers: Sequence[Answered], file: Path) -> None:
    """Write the table; the meaning of each column stands in its field's metadata (`description`)."""
    import pyarrow
    import pyarrow.parquet

    types = {
        "string": pyarrow.string(),
        "int64": pyarrow.int64(),
        "double": pyarrow.float64(),
        "bool": pyarrow.bool_(),
        "list": pyarrow.list_(pyarrow.string()),
    }
    fields, columns = [], []

    def add(name: str, kind: str, meaning: str, values: list[Any]) -> None:
        fields.append(pyarrow.field(name, types[kind], metadata={"description": meaning}))
        columns.append(pyarrow.array(values, types[kind]))

    for name, (kind, meaning, value) in COLUMNS.items():
        add(name, kind, meaning, [value(row) for row in answers])
    for group in _names(row.scored.groups for row in answers):
        if group != "setting":
            add(f"group.{group}", "list", "what tables break down by", [_group(row, group) for row in answers])
    for metric in _names(row.scored.extra for row in answers):
        add(f"extra.{metric}", "double", "second metric, 0 to 1", [row.scored.extra.get(metric) for row in answers])
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, schema=pyarrow.schema(fields)), file)


def _names(found: Any) -> list[str]:
    return list(dict.fromkeys(name for one in found for name in one))


def _group(row: Answered, name: str) -> list[str] | None:
    value = row.scored.groups.get(name)
    return None if value is None else [value] if isinstance(value, str) else list(value)


def _storable(text: str | None) -> str | None:
    """Half of a surrogate pair, which UTF-8 has no form for, as an escape: a reply or a file name may hold one."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
