"""What the mini videos show: small things and furniture, as flat shapes with dark outlines, in each of their states.

A look is a list of parts in the unit square (x to the right, y down); later parts cover earlier ones. The part named
`body` tells what it is, so its silhouette is different from that of every other look of about its size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from spotdiff.benchmarks.drawing import Colour, Point, Shape, oval, rectangle

COLOURS: Mapping[str, Colour] = {
    "red": (208, 40, 40),
    "orange": (240, 128, 24),
    "yellow": (240, 208, 40),
    "green": (40, 152, 64),
    "blue": (40, 88, 216),
    "purple": (136, 56, 192),
    "pink": (240, 112, 168),
}
BROWN: Colour = (152, 104, 64)
TEAL: Colour = (56, 136, 136)
STEEL: Colour = (120, 144, 160)
OFF: Colour = (128, 128, 136)
LIGHT: Colour = (248, 216, 88)
SCREEN: Colour = (88, 160, 248)
DARK: Colour = (40, 40, 48)
"""Outlines, poles and what lies inside of open things."""


@dataclass(frozen=True)
class Part:
    """A closed outline. colour: None for the colour of the thing that it belongs to."""

    shape: Shape
    colour: Colour | None = None


@dataclass(frozen=True)
class Look:
    """How a thing looks in one state. width, height: in pixels of a video."""

    width: int
    height: int
    parts: tuple[Part, ...]


def _star() -> Shape:
    points = [
        (
            math.sin(math.tau * step / 10) * (1 - 0.56 * (step % 2)),
            -math.cos(math.tau * step / 10) * (1 - 0.56 * (step % 2)),
        )
        for step in range(10)
    ]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return tuple(
        ((x - min(xs)) / (max(xs) - min(xs)), (y - min(ys)) / (max(ys) - min(ys))) for x, y in points
    )  # fmt: skip


def _one(width: int, height: int, *shape: Point) -> Look:
    return Look(width, height, (Part(shape),))


_EVERYWHERE = rectangle(0, 0, 1, 1)
_LAMP_POLE = (Part(rectangle(0.45, 0.3, 0.55, 0.96), DARK), Part(rectangle(0.15, 0.95, 0.85, 1), DARK))
_LAMP_SHADE = ((0.26, 0), (0.74, 0), (1, 0.32), (0, 0.32))
_CORD = Part(rectangle(0.47, 0, 0.53, 0.5), DARK)
_DOME = tuple(
    (0.5 - 0.5 * math.cos(math.pi * step / 24), 1 - 0.66 * math.sin(math.pi * step / 24)) for step in range(25)
)
_TUB = ((0, 0), (1, 0), (0.98, 0.4), (0.9, 0.75), (0.76, 1), (0.24, 1), (0.1, 0.75), (0.02, 0.4))

LOOKS: Mapping[tuple[str, str], Look] = {
    ("ball", ""): _one(34, 34, *oval(0, 0, 1, 1)),
    ("cup", ""): Look(
        36,
        30,
        (Part(oval(0.55, 0.15, 1, 0.75), DARK), Part(((0, 0), (0.8, 0), (0.64, 1), (0.16, 1)))),
    ),
    ("vase", ""): _one(
        28, 44, (0.22, 0), (0.78, 0), (0.64, 0.2), (0.66, 0.36), (1, 0.62), (0.84, 1), (0.16, 1), (0, 0.62),
        (0.34, 0.36), (0.36, 0.2),
    ),
    ("cushion", ""): _one(44, 34, (0, 0), (0.5, 0.2), (1, 0), (0.82, 0.5), (1, 1), (0.5, 0.8), (0, 1), (0.18, 0.5)),
    ("star", ""): _one(40, 38, *_star()),
    ("hat", ""): _one(
        46, 30, (0.28, 0), (0.72, 0), (0.76, 0.66), (1, 0.7), (1, 1), (0, 1), (0, 0.7), (0.24, 0.66),
    ),
    ("box", "closed"): Look(42, 34, (Part(_EVERYWHERE), Part(rectangle(0.36, 0.36, 0.64, 0.44), DARK))),
    ("box", "open"): _one(
        60, 44, (0, 0), (0.2, 0.24), (0.5, 0.24), (0.8, 0.24), (1, 0), (0.9, 0.46), (0.84, 0.5), (0.84, 1), (0.16, 1),
        (0.16, 0.5), (0.1, 0.46),
    ),
    ("book", "closed"): _one(46, 16, *_EVERYWHERE),
    ("book", "open"): _one(58, 26, (0, 0), (0.5, 0.5), (1, 0), (1, 0.5), (0.5, 1), (0, 0.5)),
    ("floor lamp", "on"): Look(48, 104, (*_LAMP_POLE, Part(_LAMP_SHADE, LIGHT))),
    ("floor lamp", "off"): Look(48, 104, (*_LAMP_POLE, Part(_LAMP_SHADE, OFF))),
    ("ceiling lamp", "on"): Look(62, 44, (_CORD, Part(_DOME, LIGHT))),
    ("ceiling lamp", "off"): Look(62, 44, (_CORD, Part(_DOME, OFF))),
    ("TV", "on"): Look(84, 54, (Part(_EVERYWHERE, DARK), Part(rectangle(0.06, 0.1, 0.94, 0.9), SCREEN))),
    ("TV", "off"): Look(84, 54, (Part(_EVERYWHERE, DARK), Part(rectangle(0.06, 0.1, 0.94, 0.9), OFF))),
    ("fridge", "closed"): Look(58, 112, (Part(_EVERYWHERE), Part(rectangle(0.78, 0.3, 0.86, 0.55), DARK))),
    ("fridge", "open"): Look(
        96, 118,
        (
            Part(rectangle(0, 0, 0.62, 0.95), DARK),
            Part(rectangle(0.07, 0.42, 0.55, 0.46), STEEL),
            Part(((0.62, 0), (1, 0.09), (1, 1), (0.62, 0.95))),
        ),
    ),
    ("counter", ""): Look(
        108, 56,
        (
            Part(((0, 0), (1, 0), (1, 0.26), (0.86, 0.26), (0.86, 1), (0.14, 1), (0.14, 0.26), (0, 0.26))),
            Part(rectangle(0.34, 0.48, 0.66, 0.86), DARK),
        ),
    ),
    ("sofa", ""): Look(
        126, 72,
        (
            Part(rectangle(0.1, 0, 0.9, 0.6)),
            Part(((0, 0.28), (0.15, 0.28), (0.15, 0.58), (0.85, 0.58), (0.85, 0.28), (1, 0.28), (1, 1), (0, 1))),
        ),
    ),
    ("bed", ""): _one(128, 66, (0, 0), (0.1, 0), (0.1, 0.46), (1, 0.46), (1, 1), (0.9, 1), (0.9, 0.84), (0, 0.84)),
    ("bathtub", ""): _one(120, 48, *_TUB),
    ("table", ""): _one(
        100, 56, (0, 0), (1, 0), (1, 0.24), (0.92, 0.24), (0.92, 1), (0.8, 1), (0.8, 0.24), (0.2, 0.24), (0.2, 1),
        (0.08, 1), (0.08, 0.24), (0, 0.24),
    ),
    ("shelf", ""): _one(96, 14, *_EVERYWHERE),
}  # fmt: skip
"""By kind and state; the state is empty for what has but one."""

FURNITURE_COLOURS: Mapping[str, Colour] = {
    "fridge": STEEL,
    "counter": BROWN,
    "sofa": TEAL,
    "bed": BROWN,
    "bathtub": STEEL,
    "table": BROWN,
    "shelf": BROWN,
}

TOPS: Mapping[str, float] = {"counter": 0.0, "sofa": 0.58, "bed": 0.46, "table": 0.0, "shelf": 0.0}
"""Where things stand on a piece of furniture, as a share of its height from the top."""
