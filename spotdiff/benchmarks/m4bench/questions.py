"""Reads a table of M4Bench questions, one JSON object a line, into canonical rows.

Fields of a line, named as in the release: `task` (one of the eight settings), `id`, `question`, `options` (letter ->
text), `answer`, `images` (two paths, relative to the table's folder) and, where the text holds boxes,
`question_template`, `question_boxes`, `option_templates`, `option_boxes` and `image_sizes`. The settings without and
with a visual prompt ask the same rows; they are joined here into one, and must agree.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS
from spotdiff.benchmarks.m4bench.tables import SETTINGS
from spotdiff.errors import DataError

NAMES = ("questions.jsonl", "questions.jsonl.gz")

_REQUIRED = ("task", "id", "question", "options", "answer", "images")


def read_questions(folder: Path, *, images: bool = True) -> dict[str, list[dict[str, Any]]]:
    """Config -> rows of the canonical schema.

    images: embed the images; without, the image columns are None, which is enough to score stored replies.
    Raises DataError naming file, line and field.
    """
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if path is None:
        raise DataError(f"{folder} holds no {' or '.join(NAMES)}")
    by_setting = {setting.released_as: setting for setting in SETTINGS}
    rows: dict[str, dict[str, dict[str, Any]]] = {setting.config: {} for setting in SETTINGS}
    for place, line in _lines(path):
        if line["task"] not in by_setting:
            raise DataError(f"{place}, field task: unknown setting {line['task']!r}. Known: {', '.join(by_setting)}")
        setting = by_setting[line["task"]]
        row = _row(place, line, prompted=bool(setting.options.get("visual_prompt")))
        known = rows[setting.config].get(row["id"])
        rows[setting.config][row["id"]] = row if known is None else _joined(place, known, row)
    found = {config: list(entries.values()) for config, entries in rows.items()}
    for entry in (row for entries in found.values() for row in entries):
        _finish(entry, folder if images else None)
    return found


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as stream:
        for number, text in enumerate(stream, start=1):
            place = f"{path}, line {number}"
            try:
                line = json.loads(text)
            except json.JSONDecodeError as error:
                raise DataError(f"{place} is not JSON: {error}") from error
            missing = [field for field in _REQUIRED if field not in line]
            if missing:
                raise DataError(f"{place}: field {', '.join(missing)} is missing")
            yield place, line


def _row(place: str, line: Mapping[str, Any], *, prompted: bool) -> dict[str, Any]:
    letters = sorted(line["options"])
    if len(line["images"]) != len(IMAGE_COLUMNS):
        raise DataError(f"{place}, field images: {len(line['images'])} images instead of two")
    boxes = line.get("option_boxes", {})
    templates = line.get("option_templates", line["options"])
    question = line.get("question_template", line["question"])
    visual, question = _split_prompt(place, question) if prompted else ("", question)
    return {
        "id": line["id"],
        "question": question,
        "visual_prompt": visual,
        "visual_prompt_boxes": line.get("question_boxes", []) if prompted else [],
        "options": [templates[letter] for letter in letters],
        "option_boxes": [boxes.get(letter, []) for letter in letters],
        "answer": line["answer"],
        "category": line.get("category", ""),
        "pair": hashlib.sha256("\n".join(line["images"]).encode()).hexdigest()[:16],
        "image_sizes": line.get("image_sizes", []),
        "_images": list(line["images"]),
    }


def _split_prompt(place: str, question: str) -> tuple[str, str]:
    """The sentence that names the boxes, with the blank behind it, and the question proper."""
    start = question.rfind("Which ")
    if start < 1:
        raise DataError(
            f"{place}, field question_template: no sentence before the question that names the object's boxes"
        )
    return question[:start], question[start:]


def _joined(place: str, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    plain, prompted = (first, second) if not first["visual_prompt"] else (second, first)
    if plain["visual_prompt"] or not prompted["visual_prompt"]:
        raise DataError(f"{place}, field id: {second['id']!r} appears twice in its setting")
    own = ("visual_prompt", "visual_prompt_boxes", "category")
    differing = [field for field in plain if field not in own and plain[field] != prompted[field]]
    if differing:
        raise DataError(
            f"{place}: with and without the visual prompt, {second['id']!r} differs in {', '.join(differing)}"
        )
    return prompted


def _finish(row: dict[str, Any], folder: Path | None) -> None:
    """Replace the image paths, which tell the answer of many questions, by the encoded images."""
    for column, name in zip(IMAGE_COLUMNS, row.pop("_images"), strict=True):
        row[column] = None
        if folder is None:
            continue
        path = folder / name
        if not path.is_file():
            raise DataError(
                f"question {row['id']}, field {column}: there is no file {path}. Fetch the images of the release"
            )
        row[column] = {"bytes": path.read_bytes(), "path": None}
