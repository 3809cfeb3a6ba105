"""The things that the mini data shows: shapes of their parts, and states of food."""

from __future__ import annotations

import math
from collections.abc import Mapping

from spotdiff.benchmarks.drawing import Colour, oval, rectangle
from spotdiff.benchmarks.m4bench.mini_pictures import (
    BROWN,
    CREAM,
    CRIMSON,
    GREEN,
    LIME,
    ORANGE,
    TEAL,
    YELLOW,
    Part,
    Thing,
    ring,
)

BOTTLE = Thing(
    0.42,
    (
        Part("neck", rectangle(0.34, 0.13, 0.66, 0.32), 1),
        Part("body", ((0.3, 0.32), (0.7, 0.32), (1, 0.46), (1, 1), (0, 1), (0, 0.46)), 0),
        Part("cap", rectangle(0.28, 0, 0.72, 0.13), 2),
        Part("label", rectangle(0.15, 0.56, 0.85, 0.84), 3),
    ),
)
CHAIR = Thing(
    0.62,
    (
        Part("leg", rectangle(0.06, 0.6, 0.24, 1), 3),
        Part("leg", rectangle(0.76, 0.6, 0.94, 1), 3),
        Part("crossbar", rectangle(0.24, 0.74, 0.76, 0.84), 2),
        Part("back", rectangle(0.1, 0, 0.9, 0.46), 0),
        Part("seat", rectangle(0, 0.46, 1, 0.62), 1),
    ),
)
SHOE = Thing(
    1.7,
    (
        Part("tongue", ((0.26, 0.24), (0.28, 0), (0.52, 0.03), (0.5, 0.26)), 3),
        Part("heel", ((0.02, 0.8), (0.02, 0.24), (0.26, 0.24), (0.26, 0.8)), 1),
        Part("upper", ((0.26, 0.8), (0.26, 0.24), (0.48, 0.24), (0.7, 0.46), (0.7, 0.8)), 0),
        Part("toe", ((0.7, 0.8), (0.7, 0.46), (0.88, 0.52), (0.97, 0.64), (0.98, 0.8)), 4),
        Part("sole", rectangle(0, 0.8, 1, 1), 2),
    ),
)
CAR = Thing(
    1.8,
    (
        Part("cabin", ((0.14, 0.42), (0.26, 0), (0.74, 0), (0.86, 0.42)), 1),
        Part("window", ((0.5, 0.34), (0.5, 0.1), (0.68, 0.1), (0.76, 0.34)), 3),
        Part("body", rectangle(0, 0.42, 1, 0.8), 0),
        Part("headlamp", rectangle(0.85, 0.47, 1, 0.65), 4),
        Part("wheel", oval(0.1, 0.62, 0.32, 1), 2),
        Part("wheel", oval(0.66, 0.62, 0.88, 1), 2),
    ),
)
LAMP = Thing(
    0.66,
    (
        Part("pole", rectangle(0.41, 0.46, 0.59, 0.86), 1),
        Part("shade", ((0.24, 0), (0.76, 0), (1, 0.46), (0, 0.46)), 0),
        Part("foot", rectangle(0.16, 0.86, 0.84, 1), 2),
    ),
)
MUG = Thing(
    1.1,
    (
        Part("handle", ring(0.44, 0.26, 1, 0.86, -90, 90, 0.42), 2),
        Part("body", ((0, 0.17), (0.72, 0.17), (0.72, 0.9), (0.62, 1), (0.1, 1), (0, 0.9)), 0),
        Part("rim", rectangle(0, 0, 0.72, 0.17), 1),
        Part("emblem", oval(0.2, 0.42, 0.52, 0.8), 3),
    ),
)
SHIRT = Thing(
    1.05,
    (
        Part("sleeve", ((0.26, 0.1), (0.02, 0.24), (0, 0.52), (0.26, 0.5)), 1),
        Part("sleeve", ((0.74, 0.1), (0.98, 0.24), (1, 0.52), (0.74, 0.5)), 1),
        Part("body", rectangle(0.26, 0.1, 0.74, 1), 0),
        Part("collar", ((0.36, 0), (0.64, 0), (0.68, 0.16), (0.32, 0.16)), 2),
        Part("pocket", rectangle(0.5, 0.4, 0.68, 0.6), 3),
    ),
)
BAG = Thing(
    1.0,
    (
        Part("handle", ring(0.18, 0, 0.82, 0.8, 180, 360, 0.36), 1),
        Part("body", rectangle(0, 0.38, 1, 1), 0),
        Part("flap", ((0.12, 0.38), (0.88, 0.38), (0.78, 0.68), (0.22, 0.68)), 2),
        Part("buckle", rectangle(0.4, 0.58, 0.6, 0.82), 3),
    ),
)
DOLL = Thing(
    0.62,
    (
        Part("arm", rectangle(0, 0.4, 0.22, 0.68), 3),
        Part("arm", rectangle(0.78, 0.4, 1, 0.68), 3),
        Part("leg", rectangle(0.26, 0.74, 0.46, 1), 4),
        Part("leg", rectangle(0.54, 0.74, 0.74, 1), 4),
        Part("body", rectangle(0.22, 0.38, 0.78, 0.76), 0),
        Part("head", oval(0.22, 0.15, 0.78, 0.41), 2),
        Part("hat", ((0.3, 0), (0.7, 0), (0.84, 0.15), (0.16, 0.15)), 1),
    ),
)
HOUSE = Thing(
    0.95,
    (
        Part("wall", rectangle(0.08, 0.42, 0.92, 1), 0),
        Part("roof", ((0.3, 0), (0.7, 0), (1, 0.32), (1, 0.44), (0, 0.44), (0, 0.32)), 1),
        Part("door", rectangle(0.2, 0.6, 0.44, 1), 2),
        Part("window", rectangle(0.58, 0.56, 0.82, 0.78), 3),
    ),
)
TREE = Thing(
    0.72,
    (
        Part("trunk", rectangle(0.38, 0.56, 0.62, 1), 1),
        Part("crown", oval(0, 0, 1, 0.64), 0),
    ),
)
BALLOON = Thing(
    0.7,
    (
        Part("basket", rectangle(0.3, 0.78, 0.7, 1), 1),
        Part("envelope", oval(0, 0, 1, 0.8), 0),
        Part("band", rectangle(0.06, 0.34, 0.94, 0.5), 2),
    ),
)

_APPLE_OUTLINE = oval(0, 0.18, 1, 1)
_HEIGHTS = tuple((1 - math.cos(math.pi * step / 24)) / 2 for step in range(25))
_AVOCADO_SIDE = tuple((0.5 + math.sqrt(y * (1 - y)) * (0.6 + 0.5 * y), y) for y in _HEIGHTS)
_AVOCADO_OUTLINE = (*_AVOCADO_SIDE, *((1 - x, y) for x, y in _AVOCADO_SIDE[-2:0:-1]))
_KERNELS = tuple(
    oval(0.12 + 0.26 * c, 0.1 + 0.15 * r, 0.32 + 0.26 * c, 0.2 + 0.15 * r) for c in range(3) for r in range(6)
)
_CUP = (
    Part("handle", ring(0.5, 0.36, 1, 0.86, -90, 90, 0.4), 0),
    Part("cup", ((0, 0.22), (0.76, 0.22), (0.62, 1), (0.14, 1)), 0),
)

STATES: Mapping[str, tuple[tuple[Colour, ...], tuple[Thing, Thing]]] = {
    "apple": (
        (CRIMSON, CREAM, BROWN, GREEN),
        (
            Thing(
                0.95,
                (
                    Part("skin", _APPLE_OUTLINE, 0),
                    Part("stem", rectangle(0.45, 0, 0.55, 0.24), 2),
                    Part("leaf", oval(0.55, 0.02, 0.9, 0.18), 3),
                ),
            ),
            Thing(
                0.95,
                (
                    Part("skin", _APPLE_OUTLINE, 0),
                    Part("flesh", oval(0.08, 0.25, 0.92, 0.93), 1),
                    Part("core", oval(0.4, 0.46, 0.6, 0.74), 2),
                    Part("stem", rectangle(0.45, 0, 0.55, 0.24), 2),
                ),
            ),
        ),
    ),
    "coffee": (
        (TEAL, BROWN, CREAM),
        (
            Thing(1.05, (*_CUP, Part("coffee", oval(0, 0, 0.76, 0.46), 1))),
            Thing(1.05, (*_CUP, Part("inside", oval(0, 0, 0.76, 0.46), 2))),
        ),
    ),
    "egg": (
        (CREAM, ORANGE),
        (
            Thing(0.78, (Part("shell", oval(0, 0, 1, 1), 0),)),
            Thing(1.3, (Part("white", oval(0, 0, 1, 1), 0), Part("yolk", oval(0.22, 0.2, 0.76, 0.78), 1))),
        ),
    ),
    "avocado": (
        (GREEN, LIME, BROWN),
        (
            Thing(0.72, (Part("skin", _AVOCADO_OUTLINE, 0),)),
            Thing(
                0.72,
                (
                    Part("skin", _AVOCADO_OUTLINE, 0),
                    Part(
                        "flesh",
                        tuple((0.5 + (x - 0.5) * 0.8, 0.52 + (y - 0.52) * 0.84) for x, y in _AVOCADO_OUTLINE),
                        1,
                    ),
                    Part("stone", oval(0.26, 0.5, 0.74, 0.86), 2),
                ),
            ),
        ),
    ),
    "corn": (
        (YELLOW, GREEN),
        (
            Thing(
                0.5,
                (
                    Part("cob", oval(0.1, 0, 0.9, 0.9), 0, _KERNELS, ORANGE),
                    Part("husk", ((0, 0.25), (0.12, 0.2), (0.5, 0.5), (0.5, 1), (0.2, 0.95), (0.02, 0.7)), 1),
                    Part("husk", ((1, 0.25), (0.88, 0.2), (0.5, 0.5), (0.5, 1), (0.8, 0.95), (0.98, 0.7)), 1),
                ),
            ),
            Thing(0.42, (Part("cob", oval(0, 0, 1, 1), 0, _KERNELS, ORANGE),)),
        ),
    ),
}
"""Food: its colours, and how it looks in two states (whole or opened, full or empty, raw or fried, husked or bare)."""
