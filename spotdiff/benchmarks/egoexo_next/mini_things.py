"""What stands and is carried in the mini scenes: flat shapes, each thing in one colour and its shades.

A look is a list of parts in a unit square (x to the right, -0.5 to 0.5; y up from the ground, 0 to 1); later parts
cover earlier ones. Things are as symmetric as they can be, and no two of one scene have the same colour, so that a
person and a few lines of code find the same thing again from another side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from spotdiff.benchmarks import drawing
from spotdiff.benchmarks.drawing import Colour, Shape, rectangle

COLOURS: Mapping[str, Colour] = {
    "red": (214, 48, 48),
    "orange": (238, 134, 28),
    "yellow": (234, 208, 36),
    "green": (36, 164, 60),
    "teal": (20, 164, 164),
    "blue": (48, 96, 224),
    "purple": (144, 64, 208),
    "pink": (236, 100, 168),
}
"""One for each landmark of a scene and one for what is carried. Nothing else in a picture is as colourful."""

PLAIN, DARKER, LIGHTER = 0, 1, 2
"""Shades of a thing's colour."""


def shade(colour: Colour, tone: int) -> Colour:
    """The colour itself, or somewhat darker or lighter."""
    red, green, blue = colour
    if tone == DARKER:
        return red * 4 // 5, green * 4 // 5, blue * 4 // 5
    if tone == LIGHTER:
        return (red * 7 + 765) // 10, (green * 7 + 765) // 10, (blue * 7 + 765) // 10
    return colour


@dataclass(frozen=True)
class Part:
    """A closed outline. tone: a shade of the thing's colour."""

    shape: Shape
    tone: int = PLAIN


@dataclass(frozen=True)
class Look:
    """width, height: in metres."""

    width: float
    height: float
    parts: tuple[Part, ...]


oval = partial(drawing.oval, corners=24)


def _block(half: float, bottom: float, top: float, tone: int = PLAIN) -> Part:
    """A rectangle in the middle, so wide to either side."""
    return Part(rectangle(-half, bottom, half, top), tone)


def _slope(bottom: float, top: float, below: float, above: float, tone: int = PLAIN) -> Part:
    """Like a block, but so wide to either side below and above; a triangle where one of them is 0."""
    return Part(((-below, bottom), (below, bottom), (above, top), (-above, top)), tone)


def _round(x1: float, y1: float, x2: float, y2: float, tone: int = PLAIN) -> Part:
    return Part(oval(x1, y1, x2, y2), tone)


_WHOLE = _block(0.5, 0, 1)

INDOOR: Mapping[str, Look] = {
    "fridge": Look(0.95, 2.0, (_WHOLE, _block(0.5, 0.6, 0.64, DARKER), Part(rectangle(0.28, 0.7, 0.38, 0.9), LIGHTER))),
    "cupboard": Look(
        1.15,
        1.05,
        (_WHOLE, _block(0.42, 0.12, 0.86, LIGHTER), _block(0.04, 0.12, 0.86), _block(0.5, 0.92, 1, DARKER)),
    ),
    "stove": Look(0.9, 1.0, (_WHOLE, _block(0.36, 0.16, 0.62, DARKER), _block(0.4, 0.78, 0.86, LIGHTER))),
    "shelf": Look(1.0, 1.9, (_WHOLE, *(_block(0.4, bottom, bottom + 0.22, DARKER) for bottom in (0.1, 0.4, 0.7)))),
    "lamp": Look(0.8, 1.8, (_block(0.4, 0, 0.07), _block(0.17, 0, 0.8, DARKER), _slope(0.68, 1, 0.5, 0.28))),
    "plant": Look(
        0.95,
        1.4,
        (
            _slope(0, 0.36, 0.28, 0.36, DARKER),
            _round(-0.5, 0.34, 0.06, 0.86),
            _round(-0.06, 0.34, 0.5, 0.86),
            _round(-0.28, 0.42, 0.28, 1),
        ),
    ),
    "chair": Look(
        0.8,
        1.15,
        (_block(0.5, 0, 0.42), _block(0.4, 0.4, 1), _block(0.5, 0.38, 0.48, DARKER), _block(0.26, 0.58, 0.9, LIGHTER)),
    ),
}

OUTDOOR: Mapping[str, Look] = {
    "tree": Look(1.3, 2.5, (_block(0.18, 0, 0.5, DARKER), _round(-0.5, 0.36, 0.5, 1))),
    "fir": Look(
        1.2,
        2.4,
        (
            _block(0.19, 0, 0.2, DARKER),
            _slope(0.16, 0.6, 0.5, 0),
            _slope(0.42, 0.82, 0.38, 0),
            _slope(0.66, 1, 0.26, 0),
        ),
    ),
    "bush": Look(
        1.1,
        0.85,
        (
            _round(-0.5, 0.05, 0, 0.8),
            _round(0, 0.05, 0.5, 0.8),
            _round(-0.3, 0.2, 0.3, 1),
            _block(0.34, 0, 0.3),
        ),
    ),
    "house": Look(1.3, 1.8, (_block(0.42, 0, 0.6), _slope(0.56, 1, 0.5, 0, DARKER), _block(0.13, 0.08, 0.42, DARKER))),
    "tent": Look(1.3, 1.2, (_slope(0, 1, 0.5, 0), _slope(0.06, 0.74, 0.18, 0, DARKER))),
    "sign": Look(0.95, 1.7, (_block(0.23, 0, 0.6, DARKER), _block(0.5, 0.5, 1), _block(0.36, 0.68, 0.82, LIGHTER))),
    "bench": Look(
        1.2,
        0.9,
        (
            _block(0.42, 0, 0.4, DARKER),
            _block(0.5, 0.36, 0.54),
            _block(0.5, 0.64, 1),
            Part(rectangle(-0.42, 0.5, -0.32, 0.7)),
            Part(rectangle(0.32, 0.5, 0.42, 0.7)),
        ),
    ),
}

CARRIED: Mapping[str, Look] = {
    "box": Look(0.95, 0.36, (_WHOLE, _block(0.5, 0.8, 1, LIGHTER), _block(0.06, 0, 1, DARKER))),
    "ball": Look(0.9, 0.9, (_round(-0.5, 0, 0.5, 1), _round(-0.2, 0, 0.2, 1, LIGHTER))),
    "basket": Look(1.0, 0.42, (_slope(0, 1, 0.36, 0.5), _block(0.46, 0.62, 0.8, DARKER))),
    "tray": Look(1.05, 0.22, (_slope(0, 1, 0.4, 0.5), _block(0.48, 0.7, 1, LIGHTER))),
}
"""Wider than a person, so that they show on both sides of one who is seen from behind."""
