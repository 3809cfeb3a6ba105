"""Reads the release form of M3-Verse: a JSONL table for each part, and a folder of two videos for each scene.

A folder of the release holds `sim/` and `real/`, or is one of the two itself. Each part holds one table, `*.jsonl` or
`*.jsonl.gz`, and beside it `<scene_id>/state_0.mp4` (before) and `<scene_id>/state_1.mp4` (after). Fields of a line:
`scene_id`, `question_id`, `state_type` (`intra-state` or `inter-states`), `category`, `subcategory`, `question`,
`options`, `answer`, `question_type` (`single_choice` or `multiple_choice`), `hallucination`, `capabilities`; others,
such as `generator_name`, are not read. Options come with or without their letter, `A. `. An answer is a list of
letters, or a text such as `A,C`, `AC` or `A`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spotdiff.benchmarks.m3verse.protocol import problems
from spotdiff.benchmarks.m3verse.schema import CAPABILITIES, INTER, INTRA
from spotdiff.data.checks import raise_problems
from spotdiff.data.lines import lines_of
from spotdiff.errors import DataError, Problem
from spotdiff.question import without_letters

PARTS = ("sim", "real")

Row = dict[str, Any]

_STATES = {"intra-state": INTRA, "inter-states": INTER}
_VIDEOS = {"video_before": "state_0.mp4", "video_after": "state_1.mp4"}

_FIELDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("scene_id", "question_id", "state_type", "category", "subcategory", "question"), (str,)),
    "options": (list,),
    "answer": (list, str),
    "question_type": (str,),
    "hallucination": (bool,),
    "capabilities": (list,),
}
_KINDS = {str: "text", list: "list", bool: "true or false"}

_RELEASED = {"id": "question_id", "scene": "scene_id"}
"""Our columns that the release calls otherwise."""


def read_release(folder: Path, *, videos: bool = True) -> tuple[dict[str, list[Row]], dict[str, Path]]:
    """Part -> rows of the canonical schema, and the videos by their place in the data set.

    videos: without, none is looked for, which is enough for models that see none and for stored replies.
    Raises DataError with every fault of all tables, naming file, line and field.
    """
    rows: dict[str, list[Row]] = {}
    files: dict[str, Path] = {}
    found: list[Problem] = []
    for part, table in _tables(folder).items():
        entries = _Table(part, table)
        rows[part] = entries.rows
        found += entries.problems
        if videos:
            found += entries.missing_videos()
            files |= entries.videos()
    raise_problems(found, str(folder), "nothing was prepared")
    return rows, files


class _Table:
    """One part: its rows, and what is wrong with its lines."""

    def __init__(self, part: str, path: Path) -> None:
        self.rows: list[Row] = []
        self.problems: list[Problem] = []
        self._part, self._folder = part, path.parent
        self._first: dict[str, Problem] = {}
        """Scene -> the place of its first question."""
        asked: dict[str, str] = {}
        for place, content in lines_of(path):
            line = _parsed(content)
            faults = [Problem(place, "?", *line)] if isinstance(line, tuple) else _shape_problems(line, place)
            self.problems += faults
            if not isinstance(line, tuple) and not faults:
                self._take(line, place, asked)
        if not self.rows and not self.problems:
            raise DataError(f"{path} holds no questions")

    def _take(self, line: Row, place: str, asked: dict[str, str]) -> None:
        row = _row(line, self._part)
        name = f"{row['id']} (scene {row['scene']})"
        self.problems += _value_problems(line, row, place, name)
        if row["id"] in asked:
            message = f"{row['id']!r} stands in {asked[row['id']]} already"
            self.problems.append(Problem(place, name, "question_id", message, "Give every question an id of its own"))
        asked.setdefault(row["id"], place.rpartition(", ")[2])
        self._first.setdefault(row["scene"], Problem(place, name, "scene_id", "", _FETCH))
        self.rows.append(row)

    def videos(self) -> dict[str, Path]:
        """Place in the data set -> file, two for each scene."""
        return {
            row[column]: self._folder / row["scene"] / name for row in self.rows for column, name in _VIDEOS.items()
        }

    def missing_videos(self) -> Iterator[Problem]:
        for scene, place in self._first.items():
            folder = self._folder / scene
            if not _is_name(scene):
                continue
            if not folder.is_dir():
                yield replace(place, message=f"there is no folder {folder}")
                continue
            for name in _VIDEOS.values():
                if not (folder / name).is_file():
                    yield replace(place, message=f"there is no video {folder / name}")


_FETCH = "Fetch the videos of the release, or leave all of them out with --no-images"


def _tables(folder: Path) -> dict[str, Path]:
    """Part -> its table. Raises DataError where it is not clear which parts there are."""
    subfolders = sorted(entry for entry in folder.iterdir() if entry.is_dir() and _parts_named(entry.name))
    tables = [table for place in (folder, *subfolders) for table in _tables_in(place)]
    if not tables:
        raise DataError(f"{folder} holds no table, *.jsonl or *.jsonl.gz, nor does a folder sim or real in it")
    by_part: dict[str, Path] = {}
    for table in tables:
        part = _part(table)
        if part in by_part:
            raise DataError(f"{by_part[part]} and {table} both name themselves {part}. Leave one table for each part")
        by_part[part] = table
    if len({table.parent for table in tables}) < len(tables):
        raise DataError(f"{folder} holds tables of both parts. Give each a folder with its own scenes, sim and real")
    return {part: by_part[part] for part in PARTS if part in by_part}


def _tables_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith((".jsonl", ".jsonl.gz")))


def _part(table: Path) -> str:
    """The part that the name of a table or of its folder tells; the one that both tell where one of them tells two."""
    by_file, by_folder = _parts_named(table.name), _parts_named(table.resolve().parent.name)
    told = by_file & by_folder or by_file | by_folder
    if len(told) != 1:
        raise DataError(
            f"{table} does not say which part of M3-Verse it holds. Name the file or its folder sim or real, "
            "such as sim/questions.jsonl"
        )
    return told.pop()


def _parts_named(name: str) -> set[str]:
    """Parts that a name holds as words of their own: `M3-Verse-Sim`, `real_552`, not `similar`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    return {part for part in PARTS if re.search(rf"(?<![a-z]){part}(?![a-z])", words)}


def _parsed(content: str) -> Row | tuple[str, str, str]:
    """The object in a line, or what is wrong with all of it."""
    try:
        line = json.loads(content)
    except (ValueError, RecursionError) as error:
        return "all", f"this is not JSON ({error})", "Fetch the table again"
    return line if isinstance(line, dict) else ("all", "this is not an object", "Fetch the table again")


def _shape_problems(line: Mapping[str, Any], place: str) -> list[Problem]:
    """Fields that are missing or of another type."""
    name = str(line.get("question_id", "?"))
    found = []
    for key, kinds in _FIELDS.items():
        wanted = " or ".join(_KINDS[kind] for kind in kinds)
        if key not in line:
            found.append(Problem(place, name, key, "is missing", f"It holds {wanted}"))
        elif not isinstance(line[key], kinds):
            found.append(Problem(place, name, key, f"{line[key]!r} is of another type", f"It holds {wanted}"))
        elif isinstance(line[key], list) and not all(isinstance(entry, str) for entry in line[key]):
            found.append(Problem(place, name, key, f"{line[key]!r} does not hold texts alone", "It is a list of texts"))
    return found


def _row(line: Mapping[str, Any], part: str) -> Row:
    scene = line["scene_id"]
    return {
        "id": line["question_id"],
        "scene": scene,
        "state": _STATES.get(line["state_type"], INTRA),
        "category": line["category"],
        "subcategory": line["subcategory"],
        "question": line["question"],
        "options": without_letters(line["options"]),
        "answer": _letters(line["answer"]),
        "hallucination": line["hallucination"],
        "capabilities": list(dict.fromkeys(map(_capability, line["capabilities"]))),
        **{column: f"videos/{part}/{scene}/{name}" for column, name in _VIDEOS.items()},
    }


def _letters(answer: Sequence[str] | str) -> list[str]:
    """The letters, in order. What is no list of letters is kept as it is, for the check to name it."""
    if isinstance(answer, str):
        text = answer.strip()
        listed = re.fullmatch(r"[A-Z]*|[A-Z](?:\s*,\s*[A-Z])+", text)
        answer = re.findall("[A-Z]", text) if listed else [answer]
    return sorted(answer)


def _capability(name: str) -> str:
    """The name as we write it, if nothing but case, blanks, hyphens or underscores differ."""
    plain = " ".join(re.split(r"[\s_-]+", name.strip().lower()))
    return plain if plain in CAPABILITIES else name


def _is_name(scene: str) -> bool:
    """Whether this names an entry of a folder, not a way out of it."""
    return bool(scene.strip()) and scene not in (".", "..") and not set(scene) & set("/\\\0")


def _value_problems(line: Mapping[str, Any], row: Row, place: str, name: str) -> list[Problem]:
    """What is wrong with the values of a line whose fields are all there."""
    found = [replace(problem, field=_RELEASED.get(problem.field, problem.field)) for problem in problems(row, place)]
    found = [problem for problem in found if problem.field not in _VIDEOS]
    if row["scene"].strip() and not _is_name(row["scene"]):
        message = f"{row['scene']!r} cannot be the name of a folder"
        found.append(Problem(place, name, "scene_id", message, "Name scenes without slashes"))
    if line["state_type"] not in _STATES:
        message = f"{line['state_type']!r} is unknown"
        found.append(Problem(place, name, "state_type", message, f"Use {' or '.join(_STATES)}"))
    wanted = {"single_choice": len(row["answer"]) == 1, "multiple_choice": len(row["answer"]) > 1}
    if line["question_type"] not in wanted:
        message = f"{line['question_type']!r} is unknown"
        found.append(Problem(place, name, "question_type", message, f"Use {' or '.join(wanted)}"))
    elif row["answer"] and not wanted[line["question_type"]]:
        message = f"{line['question_type']} disagrees with the right letters, {', '.join(row['answer'])}"
        found.append(Problem(place, name, "question_type", message, "Correct the type or the answer"))
    return found
