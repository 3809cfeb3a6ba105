"""Texts as a table for people to correct, and back: CSV, or JSON lines, by the ending of the file's name."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from spotdiff.data.lines import lines_of, text_of
from spotdiff.errors import DataError, SettingError
from spotdiff.probes.stages import stages_of
from spotdiff.probes.store import EMPTY, MADE, StoredText, TextKey, Writer, read_texts
from spotdiff.settings import load_settings

_KEY = ("kind", "prompt", "media", "part", "source")
COLUMNS = ("about", "text", "outcome", "edited", "model", *_KEY)


def export(stage: str, target: Path, model: str | None = None) -> int:
    """Write the texts that a stage makes of the data in force, and return their number.

    stage: its name, or a group of stages. model: label of the one whose texts these are, needed where there are
    several. Raises SpotdiffError.
    """
    form = _form(target)
    rows = [row for one in stages_of(stage) for row in _rows(one.name, model)]
    stream = io.StringIO()
    if form == ".csv":
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    # With its mark a spreadsheet takes it for UTF-8.
    _write(target, stream.getvalue().encode("utf-8-sig" if form == ".csv" else "utf-8"))
    return len(rows)


def _rows(name: str, model: str | None) -> Iterator[dict[str, Any]]:
    (stage,) = stages_of(name)
    evaluation = stage.evaluation()
    by_model = read_texts(evaluation.settings.probes, stage.kind).by_model
    label = model or evaluation.settings.probe_captions
    labels = [one for one in by_model if label is None or one == label]
    if not by_model:
        raise SettingError(f"{name}: {evaluation.settings.probes} holds no texts of it. `spotdiff probe` makes them")
    if len(labels) != 1:
        known = ", ".join(sorted(by_model))
        raise SettingError(f"{name}: say whose texts with --model LABEL. There are texts by: {known}")
    for item in stage.items(stage, evaluation, labels[0]):
        text = by_model[labels[0]].get(item.wanted.key)
        if text is not None:
            yield {
                "about": text.about,
                "text": text.text,
                "outcome": text.outcome,
                "edited": "yes" if text.edited else "",
                "model": text.model,
                **asdict(text.key),
            }


def take_in(source: Path) -> int:
    """Store the texts of a file that was exported, as far as they were changed, as edited ones; return their number.

    Raises DataError, before anything is stored, for a row that is of no stored text.
    """
    folder = load_settings().probes
    stored: dict[str, Any] = {}
    changed: list[StoredText] = []
    for place, row in _read(source):
        absent = [column for column in ("text", "model", *_KEY) if not isinstance(row.get(column), str)]
        if absent:
            raise DataError(f"{place}: the column {absent[0]} is missing. Keep all columns of the exported file")
        kind = row["kind"]
        texts = stored.setdefault(kind, read_texts(folder, kind))
        known = texts.by_model.get(row["model"], {}).get(TextKey(**{name: row[name] for name in _KEY}))
        if known is None:
            raise DataError(
                f"{place} ({row.get('about') or row['media'][:12]}): {folder} holds no such text of {row['model']}. "
                "The file belongs to other media, another prompt or another store: export it anew, nothing was taken in"
            )
        text = row["text"].replace("\r\n", "\n").strip()
        if text != known.text.replace("\r\n", "\n").strip():
            changed.append(replace(_edited(known), text=text, outcome=MADE if text else EMPTY))
    writers: dict[tuple[str, str], Writer] = {}
    for one in changed:
        told = {"edited": "by a person", "from": source.name}
        pair = one.key.kind, one.model
        writers.setdefault(pair, Writer(folder, *pair, told)).add(one)
    return len(changed)


def _edited(known: StoredText) -> StoredText:
    """With a date of its own."""
    fresh = StoredText(known.key, known.model, "")
    return replace(known, edited=True, failure="", date=fresh.date)


def _read(source: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Place and values of each row. Raises DataError."""
    if _form(source) == ".csv":
        content = text_of(source)
        csv.field_size_limit(2**31 - 1)
        for number, row in enumerate(csv.DictReader(io.StringIO(content, newline="")), start=1):
            yield f"{source}, row {number}", row
        return
    for place, line in lines_of(source):
        try:
            values = json.loads(line)
        except ValueError as error:
            raise DataError(f"{place} is not JSON: {error}. Correct it") from error
        if not isinstance(values, dict):
            raise DataError(f"{place} is no JSON object. Correct it")
        yield place, values


def _form(file: Path) -> str:
    if file.suffix not in (".csv", ".jsonl"):
        raise SettingError(f"{file}: the name of the file must end with .csv or .jsonl")
    return file.suffix


def _write(target: Path, content: bytes) -> None:
    new = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with new.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise SettingError(f"{target} cannot be written ({error.strerror or error}). Name another file") from error


def listing() -> Sequence[tuple[str, ...]]:
    """Kind, model and counts of all texts in the store: a table with its head."""
    from spotdiff.probes.store import OUTCOMES, counted, kinds

    folder = load_settings().probes
    rows: list[tuple[str, ...]] = [("texts", "model", *OUTCOMES, "edited")]
    for kind in kinds(folder):
        for label, texts in sorted(read_texts(folder, kind).by_model.items()):
            counts = counted(texts.values())
            edited = sum(text.edited for text in texts.values())
            rows.append((kind, label, *(str(counts[name]) for name in OUTCOMES), str(edited)))
    return rows
