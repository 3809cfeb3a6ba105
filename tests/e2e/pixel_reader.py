"""From a prompt and its images to an answer, by looking: what the pixel-reading server does with a request."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image
from pixel_eye import (
    Bounds,
    CannotTell,
    Pixels,
    Region,
    around,
    changed,
    colour_shares,
    colourful,
    difference,
    red_frame,
    regions,
    two_pictures,
)

from spotdiff.benchmarks.m4bench.boxes import BoxFamily, resized

CANNOT_TELL = "I cannot tell."

_TOLERANCE = 4.0
"""Pixels that the edge of a box may lie off the edge of what it shows."""

_SAME_PLACE = 0.12
"""How far, in shares of their objects, corresponding parts may lie apart."""

_SAME_LOOK = 0.16
"""Colour mixtures that differ by less are of the same object, state or design."""

_WORDINGS = (
    "{letter}",
    "({letter})",
    "{letter}.",
    "{letter}. {text}",
    "**Answer: {letter}**",
    "({letter}) {text}",
    "The correct option is {letter} because that is what both pictures show.",
    "The correct answer is ({letter}).",
    "Answer: {letter}\n\nThe other options do not fit what is visible.",
    "{letter}\n\nBoth pictures were compared with each other first.",
)


@dataclass(frozen=True)
class Asked:
    """A prompt, taken apart. prompted: the sentence about the object's boxes, if there is one."""

    question: str
    prompted: str | None
    options: dict[str, str]


class Reader:
    """Answers M4Bench's questions from pixels. family: how the boxes of the prompts are written."""

    def __init__(self, family: BoxFamily) -> None:
        self._family = family
        coordinate = r"(\d+(?:\.\d+)?)"
        written = re.escape(family.template)
        for name in ("x1", "y1", "x2", "y2"):
            written = written.replace(re.escape("{" + name + "}"), coordinate)
        self._box = re.compile(written)
        self._pair = re.compile(rf"{written} in (?:image-?|figure )1 and {written} in (?:image-?|figure )2")

    def answer(self, text: str, images: Sequence[Image.Image]) -> str:
        """The reply to a prompt; `CANNOT_TELL` where question, boxes and pixels do not fit together."""
        try:
            asked = _taken_apart(text)
            letter = self._letter(asked, *two_pictures(images))
        except CannotTell:
            return CANNOT_TELL
        choice = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % len(_WORDINGS)
        return _WORDINGS[choice].format(letter=letter, text=asked.options[letter])

    def _letter(self, asked: Asked, first: Pixels, second: Pixels) -> str:
        question = asked.question
        if "show same object" in question or "in the same state" in question:
            return _option(asked, "Yes" if _same_look(first, second) else "No")
        if "is the difference between figure 1 and figure 2" in question:
            return self._changed_region(asked, first, second)
        if "semantic corresponding part" in question:
            return self._corresponding_part(asked, first, second)
        if "semantic aligned but different" in question:
            return self._different_part(asked, first, second)
        raise CannotTell(f"an unknown question: {question!r}")

    def _changed_region(self, asked: Asked, first: Pixels, second: Pixels) -> str:
        region = changed(first, second)
        return _only(
            [
                letter
                for letter, (box_1, box_2) in self._option_boxes(asked, first, second).items()
                if _fits(region, box_1) and _fits(region, box_2)
            ]
        )

    def _corresponding_part(self, asked: Asked, first: Pixels, second: Pixels) -> str:
        pairs = self._part_pairs(asked, first, second)
        return _only([letter for letter, pair in pairs.items() if pair.corresponds])

    def _different_part(self, asked: Asked, first: Pixels, second: Pixels) -> str:
        pairs = self._part_pairs(asked, first, second)
        different = [letter for letter, pair in pairs.items() if pair.corresponds and not pair.looks_the_same]
        return _only(different) if different else _option(asked, "No difference.")

    def _part_pairs(self, asked: Asked, first: Pixels, second: Pixels) -> dict[str, _PartPair]:
        windows = self._windows(asked, first, second)
        seen = [_Seen.of(picture, window) for picture, window in zip((first, second), windows, strict=True)]
        return {
            letter: _PartPair(*seen[0].part(box_1), *seen[1].part(box_2))
            for letter, (box_1, box_2) in self._option_boxes(asked, first, second).items()
        }

    def _option_boxes(self, asked: Asked, first: Pixels, second: Pixels) -> dict[str, tuple[Bounds, Bounds]]:
        """Boxes of the options that name any, in pixels. Only the family's own format can be read."""
        boxes = {}
        for letter, text in asked.options.items():
            if text == "No difference.":
                continue
            match = self._pair.fullmatch(text)
            if match is None:
                raise CannotTell(f"boxes in another format: {text!r}")
            numbers = [float(group) for group in match.groups()]
            boxes[letter] = (self._in_pixels(numbers[:4], first), self._in_pixels(numbers[4:], second))
        return boxes

    def _windows(self, asked: Asked, first: Pixels, second: Pixels) -> tuple[Bounds | None, Bounds | None]:
        """Where the prompt says that the object is: as text, as red boxes in the pictures, or not at all."""
        if asked.prompted is None:
            return None, None
        if asked.prompted.lower().count("the red box in ") == 2:
            return red_frame(first), red_frame(second)
        match = self._pair.match(asked.prompted)
        if match is None:
            raise CannotTell(f"boxes in another format: {asked.prompted!r}")
        numbers = [float(group) for group in match.groups()]
        return self._in_pixels(numbers[:4], first), self._in_pixels(numbers[4:], second)

    def _in_pixels(self, numbers: Sequence[float], picture: Pixels) -> Bounds:
        height, width = picture.shape[:2]
        across, down = self._extent(width, height)
        x1, y1, x2, y2 = numbers[0] / across, numbers[1] / down, numbers[2] / across, numbers[3] / down
        if not (0 <= x1 < x2 <= 1 and 0 <= y1 < y2 <= 1):
            raise CannotTell(f"a box outside the picture: {numbers}")
        return x1 * width, y1 * height, x2 * width, y2 * height

    def _extent(self, width: int, height: int) -> tuple[float, float]:
        """The coordinates of the right and lower edge."""
        if self._family.scale == "pixels":
            return width, height
        if self._family.scale == "resized":
            return resized(width, height, self._family.patch, self._family.min_pixels, self._family.max_pixels)
        return float(self._family.scale), float(self._family.scale)


@dataclass(frozen=True)
class _Seen:
    """The object of one picture: its box, and its parts."""

    bounds: Bounds
    parts: list[Region]

    @classmethod
    def of(cls, picture: Pixels, window: Bounds | None) -> _Seen:
        """window: where the prompt says that the object is; it must fit it, with a little space on each side."""
        if window is None:
            parts = regions(picture)
            return cls(around([part.bounds for part in parts]), parts)
        x1, y1, x2, y2 = window
        # Inside a drawn frame and its JPEG halo.
        parts = regions(picture, (x1 + 5, y1 + 5, x2 - 5, y2 - 5))
        bounds = around([part.bounds for part in parts])
        spaces = (bounds[0] - x1, bounds[1] - y1, x2 - bounds[2], y2 - bounds[3])
        if not all(3.5 < space < 10 for space in spaces):
            raise CannotTell(f"the object does not fit its box: {spaces}")
        return cls(bounds, parts)

    def part(self, box: Bounds) -> tuple[Region, Bounds]:
        """The part that a box shows, and where it lies in the object (0 to 1 each way)."""
        fitting = [part for part in self.parts if _fits(part.bounds, box)]
        if len(fitting) != 1:
            raise CannotTell(f"{len(fitting)} parts fit {box}")
        x1, y1, x2, y2 = self.bounds
        width, height = x2 - x1, y2 - y1
        a, b, c, d = fitting[0].bounds
        return fitting[0], ((a - x1) / width, (b - y1) / height, (c - x1) / width, (d - y1) / height)


@dataclass(frozen=True)
class _PartPair:
    first: Region
    first_place: Bounds
    second: Region
    second_place: Bounds

    @property
    def corresponds(self) -> bool:
        return max(abs(a - b) for a, b in zip(self.first_place, self.second_place, strict=True)) < _SAME_PLACE

    @property
    def looks_the_same(self) -> bool:
        return difference(self.first.colours, self.second.colours) < _SAME_LOOK


def _taken_apart(text: str) -> Asked:
    found = re.findall(r"^([A-Z])\. (.+?)\s*$", text, flags=re.MULTILINE)
    if len(found) < 2:
        raise CannotTell("no options")
    before = text[: re.search(r"^[A-Z]\. ", text, flags=re.MULTILINE).start()]  # type: ignore[union-attr]
    question = re.search(r"(Whether|Which) [^\n]*\?", before)
    if question is None:
        raise CannotTell("no question")
    prompted = before[: question.start()].strip().splitlines()
    sentence = prompted[-1] if prompted and " are " in prompted[-1] and "1 and " in prompted[-1] else None
    return Asked(question.group(), sentence, dict(found))


def _same_look(first: Pixels, second: Pixels) -> bool:
    shares = [colour_shares(picture, colourful(picture)) for picture in (first, second)]
    return difference(*shares) < _SAME_LOOK


def _fits(seen: Bounds, box: Bounds) -> bool:
    return all(abs(a - b) <= _TOLERANCE for a, b in zip(seen, box, strict=True))


def _option(asked: Asked, text: str) -> str:
    return _only([letter for letter, option in asked.options.items() if option == text])


def _only(letters: Sequence[str]) -> str:
    if len(letters) != 1:
        raise CannotTell(f"{len(letters)} options fit")
    return letters[0]
