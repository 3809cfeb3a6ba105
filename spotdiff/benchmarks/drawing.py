"""What the scripts that draw mini data share: flat shapes, and choices that depend on a seed alone."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TypeVar

Point = tuple[float, float]
Shape = tuple[Point, ...]
Colour = tuple[int, int, int]

T = TypeVar("T")


def rectangle(x1: float, y1: float, x2: float, y2: float) -> Shape:
    return (x1, y1), (x2, y1), (x2, y2), (x1, y2)


def oval(x1: float, y1: float, x2: float, y2: float, corners: int = 48) -> Shape:
    """The ellipse that fills the rectangle, as a polygon."""
    turns = [math.tau * step / corners for step in range(corners)]
    return tuple(
        ((x1 + x2) / 2 + math.cos(turn) * (x2 - x1) / 2, (y1 + y2) / 2 + math.sin(turn) * (y2 - y1) / 2)
        for turn in turns
    )


class Dice:
    """Choices that depend on a seed alone, the same in every version of Python."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self._random.random()

    def pick(self, values: Sequence[T]) -> T:
        return values[int(self._random.random() * len(values))]

    def mixed(self, values: Sequence[T]) -> list[T]:
        return [
            value for _, value in sorted(((self._random.random(), value) for value in values), key=lambda pair: pair[0])
        ]
