"""Reads a table of M4Bench questions, one JSON object a line, into canonical rows.

Fields of a line, named as in the release: `task` (one of the eight settings), `id`, `question`, `options` (letter ->
text), `answer`, `images` (two paths, relative to the table's folder) and, where the text holds boxes,
`question_template`, `question_boxes`, `option_templates`, `option_boxes` and `image_sizes`. `image_size_exact` says for
each image whether its size is known or inferred from boxes. The settings without and with a visual prompt ask the same
rows; they are joined here into one, and must agree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spotdiff.benchmarks.m4bench.official_entries import Images, Rows
from spotdiff.benchmarks.m4bench.official_images import Source, Stored
from spotdiff.benchmarks.m4bench.protocol import problems
from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS, pair_of
from spotdiff.benchmarks.m4bench.tables import SETTINGS
from spotdiff.data.checks import raise_problems
from spotdiff.data.lines import lines_of
from spotdiff.errors import DataError, Problem
from spotdiff.question import LETTERS
from spotdiff.tasks import Setting

NAMES = ("questions.jsonl", "questions.jsonl.gz")

_OFF_BY = 3
"""Pixels by which an inferred size may miss the true one."""

_REQUIRED = {"task": str, "id": str, "question": str, "options": dict, "answer": str, "images": list}
_OPTIONAL = {
    "question_template": str,
    "question_boxes": list,
    "option_templates": dict,
    "option_boxes": dict,
    "image_sizes": list,
    "image_size_exact": list,
    "category": str,
}


def read_questions(folder: Path, *, images: bool = True) -> dict[str, Rows]:
    """Config -> rows of the canonical schema, for each config that has any.

    images: embed the images; without, the image columns are None, which is enough to score stored replies. They are
    read when the rows are taken; only their sizes are looked at here.
    Raises DataError naming file, line and field; faults that leave the table readable come all in one.
    """
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if path is None:
        raise DataError(f"{folder} holds no {' or '.join(NAMES)}")
    rows: dict[str, dict[str, dict[str, Any]]] = {setting.config: {} for setting in SETTINGS}
    found: list[Problem] = []
    for place, line in _lines(path):
        setting = _setting(place, line)
        row = _row(place, line, setting)
        known = rows[setting.config].get(row["id"])
        rows[setting.config][row["id"]] = row if known is None else _joined(place, known, row)
        found += problems(row, place)
    by_config = {}
    for config, entries in ((config, list(entries.values())) for config, entries in rows.items() if entries):
        found += _unpaired(entries, str(path))
        sources = [_finish(row, folder if images else None, str(path), found) for row in entries]
        by_config[config] = Rows(entries, sources)
    if not by_config:
        raise DataError(f"{path} holds no questions")
    raise_problems(found, f"{path}", "nothing was prepared")
    return by_config


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, content in lines_of(path):
        yield place, _checked(place, content)


def _checked(place: str, content: str) -> dict[str, Any]:
    try:
        line = json.loads(content)
    except json.JSONDecodeError as error:
        raise DataError(f"{place} is not JSON: {error}") from error
    if not isinstance(line, dict):
        raise DataError(f"{place} is not an object")
    missing = [field for field in _REQUIRED if field not in line]
    if missing:
        raise DataError(f"{place}: field {', '.join(missing)} is missing")
    for field, kind in {**_REQUIRED, **_OPTIONAL}.items():
        if field in line and not isinstance(line[field], kind):
            raise DataError(f"{place}, field {field}: {line[field]!r} is no {_KINDS[kind]}")
    return line


_KINDS = {str: "text", dict: "object", list: "list"}


def _setting(place: str, line: Mapping[str, Any]) -> Setting:
    by_name = {setting.released_as: setting for setting in SETTINGS}
    if line["task"] not in by_name:
        raise DataError(f"{place}, field task: unknown setting {line['task']!r}. Known: {', '.join(by_name)}")
    return by_name[line["task"]]


def _row(place: str, line: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
    letters = _letters(place, line)
    names = line["images"]
    if len(names) != len(IMAGE_COLUMNS) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{place}, field images: {names!r} is not two paths")
    exact = line.get("image_size_exact", [True, True])
    if len(exact) != len(IMAGE_COLUMNS):
        raise DataError(f"{place}, field image_size_exact: {exact!r} does not tell of two images")
    boxes = line.get("option_boxes", {})
    templates = line.get("option_templates", line["options"])
    question = line.get("question_template", line["question"])
    prompted = bool(setting.options.get("visual_prompt"))
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
        "pair": pair_of(names),
        "image_sizes": line.get("image_sizes", []),
        "_images": list(names),
        "_exact": exact,
        "_settings": [setting.name],
    }


def _letters(place: str, line: Mapping[str, Any]) -> list[str]:
    """The options' letters, in order; a gap would move every later option to another letter."""
    letters = sorted(line["options"])
    if letters != list(LETTERS[: len(letters)]):
        raise DataError(f"{place}, field options: letters {', '.join(letters)} are not A, B, C and so on")
    if "option_templates" in line and set(line["option_templates"]) != set(letters):
        raise DataError(f"{place}, field option_templates: its letters are not those of options")
    if not set(line.get("option_boxes", {})) <= set(letters):
        raise DataError(f"{place}, field option_boxes: it has letters that options have not")
    return letters


def _split_prompt(place: str, question: str) -> tuple[str, str]:
    """The sentence that names the boxes, with the blank behind it, and the question proper."""
    start = question.rfind("Which ")
    if start < 1:
        raise DataError(
            f"{place}, field question_template: no sentence before the question that names the object's boxes"
        )
    return question[:start], question[start:]


def _joined(place: str, first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Both forms of a question in one row."""
    if set(first["_settings"]) & set(second["_settings"]):
        raise DataError(f"{place}, field id: {second['id']!r} appears twice in its setting")
    own = ("visual_prompt", "visual_prompt_boxes", "category", "_settings")
    differing = [field for field in first if field not in own and first[field] != second[field]]
    if differing:
        fields = ", ".join(field.lstrip("_") for field in differing)
        raise DataError(f"{place}: with and without the visual prompt, {second['id']!r} differs in {fields}")
    prompted = first if first["visual_prompt"] else second
    return {**prompted, "_settings": first["_settings"] + second["_settings"]}


def _unpaired(rows: list[dict[str, Any]], file: str) -> list[Problem]:
    """Rows that only one of a config's settings asks, where the table holds both."""
    asked = {setting for row in rows for setting in row["_settings"]}
    return [
        Problem(file, row["id"], "task", f"asked in {', '.join(row['_settings'])} only", "Give the other form too")
        for row in rows
        if set(row["_settings"]) != asked
    ]


def _finish(row: dict[str, Any], folder: Path | None, file: str, found: list[Problem]) -> Images | None:
    """Take the image paths, which tell the answer of many questions, out of the row; return the images themselves.

    folder: that of the table, None where no image is wanted. found: gets what is wrong with the images.
    """
    exact, names, _ = row.pop("_exact"), row.pop("_images"), row.pop("_settings")
    if folder is None:
        return None
    images: list[Source] = []
    for number, (column, name) in enumerate(zip(IMAGE_COLUMNS, names, strict=True)):
        try:
            image = Stored.of(folder / name)
        except ValueError as error:
            message = f"{folder / name}: {error}"
            found.append(Problem(file, row["id"], column, message, "Fetch the images of the release"))
            continue
        images.append(image)
        if row["image_sizes"] and not exact[number]:
            row["image_sizes"] = _corrected(row["image_sizes"], number, image.size)
    return (images[0], images[1]) if len(images) == len(IMAGE_COLUMNS) else None


def _corrected(sizes: list[list[int]], number: int, size: tuple[int, int]) -> list[list[int]]:
    """An inferred size is a pixel or two off at times: the image itself, of that size, knows better.

    An image of quite another size is the wrong one; the check of the images says so.
    """
    if any(abs(true - inferred) > _OFF_BY for true, inferred in zip(size, sizes[number], strict=True)):
        return sizes
    return [list(size) if place == number else known for place, known in enumerate(sizes)]
