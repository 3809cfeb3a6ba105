"""Reads the files `instruction*.json` of the official release, as the release's own code reads them.

An entry has the fields `id`, `question`, `options` (a list), `answer` (a letter) and `image` or `images` (two paths).
Where there are boxes, texts hold marks and further fields the boxes, as {x1, y1, x2, y2} in pixels:

- `<A_bbox>` in an option, twice, for the one box `A_bbox`, the same in both images (detailed differences);
- `<A_bbox:1>` and `<A_bbox:2>` in an option for `A_bbox`, an object `<bbox:1>`, `<bbox:2>` -> box of image 1 and 2; the
  letter is that of the field, not of the option, as options were shuffled;
- `<bbox:1>` and `<bbox:2>` in `question` for `question_bbox`, an object of the same kind; `question_without_prompt` is
  the same question without the sentence that holds them;
- `left_image_size` and `right_image_size`, each {width, height}. Without them, the images' own sizes are taken.

Also understood: an object, id -> entry; options as an object, letter -> text; a box or a size as a list of its numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from spotdiff.benchmarks.m4bench.official_entries import STATES, Boxes, Entry, Fault, config_of
from spotdiff.benchmarks.m4bench.official_text import letter_of, split_prompt
from spotdiff.benchmarks.m4bench.schema import BOX_MARK
from spotdiff.errors import Problem
from spotdiff.question import LETTERS

_T = TypeVar("_T")

_OPTION_MARK = re.compile(r"<([A-Z]_bbox)(?::(\d+))?>")
_QUESTION_MARK = re.compile(r"<bbox(?::(\d+))?>")
_SIZES = ("left_image_size", "right_image_size")
_REMEDY = "Give the release's own file"


def read_json(path: Path, part: str) -> tuple[list[Entry], list[Problem]]:
    """The questions of a file that belongs to a part of the release, without images, and every fault of the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        return [], [Problem(str(path), "all", "all", f"cannot be read ({error})", "Fetch the file again")]
    entries: list[Entry] = []
    problems: list[Problem] = []
    for place, content_of_entry in _numbered(content):
        faults = _Faults()
        entry = _entry(path, part, content_of_entry, faults)
        entries += [entry] if entry else []
        problems += [fault.problem(str(path), place) for fault in faults.found]
    if not entries and not problems:
        problems.append(Problem(str(path), "all", "all", "there are no questions", _REMEDY))
    return entries, problems


class _Faults:
    """The faults of an entry, so that one does not hide the others."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def take(self, instead: _T, read: Callable[..., _T], *args: object) -> _T:
        """What `read` returns, or `instead` where it finds a fault."""
        try:
            return read(*args)
        except Fault as fault:
            self.found.append(fault)
            return instead


def _numbered(content: Any) -> Iterator[tuple[str, Any]]:
    """The entries, each with what names it in errors."""
    if isinstance(content, dict):
        content = [{"id": name, **entry} if isinstance(entry, dict) else entry for name, entry in content.items()]
    elif not isinstance(content, list):
        content = [content]
    for number, entry in enumerate(content, start=1):
        name = entry.get("id") if isinstance(entry, dict) else None
        yield f"entry {number}" if name is None else f"entry {number} ({name})", entry


def _entry(path: Path, part: str, entry: Any, faults: _Faults) -> Entry | None:
    if not isinstance(entry, dict):
        faults.found.append(Fault("all", f"{str(entry)[:50]!r} is not an object", _REMEDY))
        return None
    name = faults.take("", _id, entry)
    question = faults.take("", _text, entry, "question")
    answer = faults.take("", _text, entry, "answer")
    options: Sequence[str] = faults.take((), _options, entry)
    names = faults.take(("", ""), _names, entry)
    sizes: Sequence[tuple[int, int]] = faults.take((), _sizes, entry)
    if faults.found:
        return None
    config = faults.take(part, config_of, part, question, *names, path.name)
    letter = faults.take("", letter_of, answer, options, "answer")
    boxes: list[Boxes] = [
        faults.take((), _option_boxes, entry, text, f"options[{i}]") for i, text in enumerate(options)
    ]
    texts = [_OPTION_MARK.sub(BOX_MARK, text) for text in options]
    asked = f"{question} " if config in STATES else question
    plain = Entry(str(path), name, config, asked, texts, boxes, letter, names, sizes=sizes)
    whole = faults.take(plain, _prompted, plain, entry)
    return None if faults.found else whole


def _prompted(plain: Entry, entry: Mapping[str, Any]) -> Entry:
    """The question with its visual prompt apart, if it has one."""
    marks = _QUESTION_MARK.findall(plain.question)
    if not marks:
        return plain
    prompted = _QUESTION_MARK.sub(BOX_MARK, plain.question)
    if "question_without_prompt" in entry:
        question = _text(entry, "question_without_prompt")
        visual = prompted.removesuffix(question)
        if visual == prompted:
            raise Fault("question_without_prompt", "question does not end with it", _REMEDY)
    else:
        visual, question = split_prompt(prompted, "question")
    boxes = [_box_in(entry, "question_bbox", number, place, "question") for place, number in enumerate(marks, 1)]
    return replace(plain, question=question, visual_prompt=visual, visual_prompt_boxes=boxes)


def _option_boxes(entry: Mapping[str, Any], text: str, where: str) -> Boxes:
    marks = enumerate(_OPTION_MARK.findall(text), start=1)
    return [_box_in(entry, name, number, place, where) for place, (name, number) in marks]


def _box_in(entry: Mapping[str, Any], name: str, number: str, place: int, where: str) -> list[int]:
    """The box of a field for the place-th mark of a text, which lies in that image. number: as the mark has it."""
    if number and int(number) != place:
        raise Fault(where, f"its mark {place} is for image {number}", "Name the first image first, then the second")
    value = entry.get(name)
    if value is None:
        raise Fault(name, f"is missing, and {where} names it", _REMEDY)
    if isinstance(value, dict) and "x1" not in value:
        value = value.get(f"<bbox:{place}>")
    if isinstance(value, dict):
        value = [value.get(edge) for edge in ("x1", "y1", "x2", "y2")]
    return _whole(value, 4, name, f"a box x1, y1, x2, y2 for image {place}")


def _sizes(entry: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Both sizes, or none where the entry says none."""
    sizes = []
    for name in _SIZES:
        value = entry.get(name)
        if value is None:
            continue
        if isinstance(value, dict):
            value = [value.get("width"), value.get("height")]
        width, height = _whole(value, 2, name, "width and height")
        sizes.append((width, height))
    if len(sizes) == 1:
        raise Fault(next(name for name in _SIZES if entry.get(name) is None), "is missing", _REMEDY)
    return sizes


def _whole(value: Any, count: int, name: str, wanted: str) -> list[int]:
    numbers = value if isinstance(value, list) else []
    whole = [int(x) for x in numbers if type(x) is int or (isinstance(x, float) and x.is_integer())]
    if len(whole) != count or len(numbers) != count:
        raise Fault(name, f"{value!r} is not {wanted}, in whole pixels", _REMEDY)
    return whole


def _id(entry: Mapping[str, Any]) -> str:
    name = entry.get("id")
    if isinstance(name, bool) or not isinstance(name, (str, int)) or not str(name).strip():
        raise Fault("id", f"{name!r} is no id", _REMEDY)
    return str(name)


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Fault(name, "is missing" if value is None else f"{value!r} is no text", _REMEDY)
    return value


def _options(entry: Mapping[str, Any]) -> Sequence[str]:
    options = entry.get("options")
    if isinstance(options, dict):
        letters = sorted(options)
        if letters != list(LETTERS[: len(letters)]):
            raise Fault("options", f"letters {', '.join(letters)} are not A, B, C and so on", _REMEDY)
        options = [options[letter] for letter in letters]
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise Fault("options", f"{options!r} is no list of texts", _REMEDY)
    return options


def _names(entry: Mapping[str, Any]) -> tuple[str, str]:
    field = "image" if "image" in entry else "images"
    names = entry.get(field)
    if not isinstance(names, list) or len(names) != 2 or not all(isinstance(name, str) and name for name in names):
        raise Fault(field, f"{names!r} is not two paths", _REMEDY)
    return names[0], names[1]
