"""A prompt of M4Bench taken apart again: the question, the options, their boxes in pixels, and the right letter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from spotdiff.benchmarks.m4bench.boxes import FAMILIES, BoxFamily
from spotdiff.benchmarks.m4bench.official_entries import Fault
from spotdiff.benchmarks.m4bench.schema import BOX_MARK
from spotdiff.question import LETTERS

_BEHIND = r"(?: |(?=\r?\n|\Z))"
_LETTER_MARKS = (rf"{{}}\.{_BEHIND}", r"\({}\) ?", rf"{{}}\){_BEHIND}", rf"{{}}:{_BEHIND}")
"""Ways to mark an option: `A. ` in the release's code, `(A)` in what VLMEvalKit tells its judge of these files."""

_BOX_NOTE = re.compile(r"\A\[x1, y1, x2, y2\].*?\. ", re.DOTALL)
"""The sentence before the question that explains boxes to closed models, in the release's code."""

_FORMATS = ("qwen2_vl", "internvl", "deepseek_vl2", "pixels")
"""Families of boxes that the release's code writes."""

_COORDINATES = ("x1", "y1", "x2", "y2")


def _pattern(family: BoxFamily) -> str:
    pattern = re.escape(family.template).replace(r",\ ", ",").replace(",", r",\s*")
    for name in _COORDINATES:
        pattern = pattern.replace(re.escape(f"{{{name}}}"), r"\d+")
    return pattern


_BOX = re.compile("|".join(f"(?P<{name}>{_pattern(FAMILIES[name])})" for name in _FORMATS))

_NUMBER = r"-?\d+(?:\.\d+)?"
_OTHER_BOX = re.compile(rf"{_NUMBER}(?:[\s,()\[\]]+{_NUMBER}){{3}}")
"""What may be a box that is written in no format of _BOX."""


def split_query(query: str) -> tuple[str, list[str]]:
    """The question, with the blanks at its end, and the options without their letters, as they are. Raises Fault."""
    for style in _LETTER_MARKS:
        marks = _option_marks(query, style)
        if marks:
            ends = [*(mark.start() for mark in marks[1:]), len(query)]
            texts = [query[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
            return _BOX_NOTE.sub("", query[: marks[0].start()]), texts
    raise Fault("query", "there are no two lines that begin with A. and B., or (A) and (B)")


def _option_marks(query: str, style: str) -> list[re.Match[str]]:
    """The beginnings of option lines, A first, of the last list that has a B; empty where there is no such list."""
    first, *others = (re.compile(rf"(?:\A|\r?\n){style.format(letter)}") for letter in LETTERS)
    for start in reversed(list(first.finditer(query))):
        marks = [start]
        for other in others:
            found = other.search(query, marks[-1].end())
            if not found:
                break
            marks.append(found)
        if len(marks) > 1:
            return marks
    return []


def letter_of(answer: str, options: Sequence[str], where: str) -> str:
    """The letter that an answer names: alone, `(A)`, `A. text`, or by an option's text. Raises Fault.

    where: the field of the answer.
    """
    texts = [option.strip() for option in options]
    given = answer.strip()
    marked = re.fullmatch(r"\(?([A-Z])[).:]*(?:\s+(.+))?", given, re.DOTALL)
    if marked and marked[1] in LETTERS[: len(texts)]:
        text = texts[LETTERS.index(marked[1])]
        if marked[2] in (None, text):
            return marked[1]
    by_text = [letter for letter, text in zip(LETTERS, texts, strict=False) if text == given]
    if len(by_text) == 1:
        return by_text[0]
    raise Fault(where, f"the right answer {answer!r} is none of the {len(options)} options")


def split_prompt(question: str, where: str) -> tuple[str, str]:
    """The sentence that names the object's boxes, with the blank behind it, and the question proper. Raises Fault."""
    start = question.rfind("Which ")
    if start < 1:
        raise Fault(where, "there is no sentence before the question that names the object's boxes")
    return question[:start], question[start:]


@dataclass
class Recovered:
    """A text with a mark for each box, and the boxes in pixels. inexact: edges that are one of several that fit."""

    template: str
    boxes: list[list[int]] = field(default_factory=list)
    inexact: int = 0


def recover(text: str, sizes: Sequence[tuple[int, int]], where: str) -> Recovered:
    """Find the boxes that stand in a text; the k-th lies in image k, the second image has all further ones.

    sizes: width, height of both images. An edge that was written relative to the image's side becomes the pixel that
    the format writes so; of several, which an image with a side above 1,000 pixels has, the middle one.
    Raises Fault where there are numbers that may be a box in a format that is not known.
    """
    found = Recovered("")
    end = 0
    for written in _BOX.finditer(text):
        family = FAMILIES[str(written.lastgroup)]
        size = sizes[min(len(found.boxes), len(sizes) - 1)]
        values = [int(number) for number in re.findall(r"\d+", written[0])]
        edges = [list(_pixels(family, value, size[i % 2])) for i, value in enumerate(values)]
        found.template += text[end : written.start()] + BOX_MARK
        found.boxes.append([fitting[(len(fitting) - 1) // 2] for fitting in edges])
        found.inexact += sum(len(fitting) > 1 for fitting in edges)
        end = written.end()
    found.template += text[end:]
    if unknown := _OTHER_BOX.search(found.template):
        raise Fault(where, f"{unknown[0]!r} may be a box, and is written in no known format", f"Known: {_formats()}")
    return found


def _pixels(family: BoxFamily, value: int, side: int) -> Iterator[int]:
    """The pixels of a side that the family writes as `value`; if there are none, the nearest to its place."""
    if not isinstance(family.scale, int):
        yield value
        return
    place = value * side / family.scale
    around = side // family.scale + 2
    known = family.template.format(**dict.fromkeys(_COORDINATES, value))
    fitting = [
        pixel
        for pixel in range(max(0, int(place) - around), min(side, int(place) + around) + 1)
        if family.write((pixel, pixel, pixel, pixel), (side, side)) == known
    ]
    yield from fitting or [round(place)]


def _formats() -> str:
    return ", ".join(FAMILIES[name].template.format(**{name: name for name in _COORDINATES}) for name in _FORMATS)
