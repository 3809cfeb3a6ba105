"""Flat-colour drawings for the mini data: things made of parts, placed in pictures, with the boxes of their parts.

A thing is a list of parts in the unit square (x to the right, y down); later parts cover earlier ones. Every part has
its own colour and a dark outline, grounds are grey, so that a person and a few lines of code see the same parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spotdiff.benchmarks.drawing import Colour, Point, Shape, oval, rectangle
from spotdiff.question import Box

if TYPE_CHECKING:
    from PIL import Image as PILImage

BLUE, SKY, TEAL, GREEN, LIME = (32, 96, 224), (96, 160, 224), (0, 160, 160), (32, 160, 32), (160, 224, 32)
YELLOW, ORANGE, BROWN, CREAM = (232, 216, 32), (224, 96, 0), (160, 96, 32), (224, 224, 160)
PINK, PURPLE, CRIMSON = (224, 96, 160), (160, 32, 224), (160, 32, 32)

PALETTES: tuple[tuple[Colour, ...], ...] = (
    (BLUE, YELLOW, ORANGE, TEAL, PINK),
    (GREEN, PINK, SKY, ORANGE, PURPLE),
    (ORANGE, TEAL, LIME, PURPLE, BLUE),
    (SKY, BROWN, PURPLE, LIME, GREEN),
    (YELLOW, BLUE, GREEN, PINK, BROWN),
    (PURPLE, LIME, YELLOW, SKY, TEAL),
    (PINK, SKY, BROWN, GREEN, YELLOW),
    (TEAL, ORANGE, PINK, YELLOW, SKY),
)
"""Colours of a thing's parts. At each place the colour of one palette is far from that of the next. None is near pure
red, which frames around boxes are drawn in."""

FRAME: Colour = (48, 48, 56)
FRAME_WIDTH = 3
OUTLINE: Colour = (32, 32, 40)
OUTLINE_WIDTH = 3

GROUNDS: tuple[tuple[Colour, Colour], ...] = (
    ((228, 228, 222), (228, 228, 222)),
    ((216, 224, 230), (184, 188, 180)),
    ((206, 204, 198), (236, 234, 230)),
    ((238, 238, 238), (196, 196, 202)),
)
"""Upper and lower colour of the space behind things."""

_FINE = 2
"""Pictures are drawn this many times larger and averaged, for smooth edges."""


@dataclass(frozen=True)
class Part:
    """A closed outline with one colour of the thing's palette, and marks of another colour clipped to it."""

    name: str
    shape: Shape
    colour: int
    marks: tuple[Shape, ...] = ()
    mark_colour: Colour = CREAM

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        return _bounds(self.shape)


@dataclass(frozen=True)
class Thing:
    """Parts in the unit square, which they fill from edge to edge. aspect: width by height as it looks natural."""

    aspect: float
    parts: tuple[Part, ...]

    def with_part(self, name: str, **changes: Any) -> Thing:
        return Thing(self.aspect, tuple(replace(part, **changes) if part.name == name else part for part in self.parts))


@dataclass(frozen=True)
class Place:
    """Where the unit square of a thing lies, in pixels; angle: degrees, clockwise, about the centre."""

    left: float
    top: float
    width: float
    height: float
    angle: float = 0.0

    def at(self, point: Point) -> Point:
        x, y = (point[0] - 0.5) * self.width, (point[1] - 0.5) * self.height
        turn = math.radians(self.angle)
        cosine, sine = math.cos(turn), math.sin(turn)
        return (
            self.left + self.width / 2 + x * cosine - y * sine,
            self.top + self.height / 2 + x * sine + y * cosine,
        )

    def box(self, shapes: Iterable[Shape]) -> Box:
        """Pixel box around shapes of the unit square."""
        x1, y1, x2, y2 = _bounds([self.at(point) for shape in shapes for point in shape])
        return round(x1), round(y1), round(x2), round(y2)


def _bounds(points: Sequence[Point]) -> tuple[float, float, float, float]:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


class Picture:
    """A picture with a ground, to draw things on. size: width, height in pixels."""

    def __init__(self, size: tuple[int, int], ground: int) -> None:
        from PIL import Image, ImageDraw

        self.size = size
        self._canvas = Image.new("RGB", (size[0] * _FINE, size[1] * _FINE), GROUNDS[ground][0])
        horizon = round(size[1] * 0.68) * _FINE
        ImageDraw.Draw(self._canvas).rectangle((0, horizon, *self._canvas.size), fill=GROUNDS[ground][1])

    def add(self, thing: Thing, palette: Sequence[Colour], place: Place) -> None:
        layer = self._layer(thing, palette, place)
        self._canvas.paste(layer, (0, 0), layer)

    def add_halves(self, thing: Thing, palette: Sequence[Colour], place: Place, gap: int) -> None:
        """The thing cut in two from top to bottom, the halves `gap` pixels apart and shifted against each other."""
        layer = self._layer(thing, palette, place)
        middle = round(place.left + place.width / 2) * _FINE
        shift, drop = gap * _FINE // 2, gap * _FINE // 3
        for box, offset in (
            ((0, 0, middle, layer.height), (-shift, drop)),
            ((middle, 0, *layer.size), (middle + shift, -drop)),
        ):
            half = layer.crop(box)
            self._canvas.paste(half, offset, half)

    def finished(self) -> PILImage.Image:
        """The picture in its final size, with a dark frame all around."""
        from PIL import ImageDraw

        image = self._canvas.reduce(_FINE)
        ImageDraw.Draw(image).rectangle((0, 0, image.width - 1, image.height - 1), outline=FRAME, width=FRAME_WIDTH)
        return image

    def _layer(self, thing: Thing, palette: Sequence[Colour], place: Place) -> PILImage.Image:
        from PIL import Image, ImageDraw

        layer = Image.new("RGBA", self._canvas.size, (0, 0, 0, 0))
        for part in thing.parts:
            points = self._pixels(part.shape, place)
            inside = Image.new("L", layer.size, 0)
            ImageDraw.Draw(inside).polygon(points, fill=255)
            fill = Image.new("RGBA", layer.size, (*palette[part.colour], 255))
            pen = ImageDraw.Draw(fill)
            for mark in part.marks:
                pen.polygon(self._pixels(mark, place), fill=(*part.mark_colour, 255))
            layer.paste(fill, (0, 0), inside)
            ImageDraw.Draw(layer).line(
                [*points, *points[:2]], fill=(*OUTLINE, 255), width=OUTLINE_WIDTH * _FINE, joint="curve"
            )
        return layer

    @staticmethod
    def _pixels(shape: Shape, place: Place) -> list[Point]:
        return [(x * _FINE, y * _FINE) for x, y in (place.at(point) for point in shape)]


def ring(x1: float, y1: float, x2: float, y2: float, start: float, end: float, thickness: float) -> Shape:
    """A curved band along the ellipse that fills the rectangle, from start to end (degrees, clockwise from the right).

    thickness: share of the ellipse's radius.
    """
    turns = [math.radians(start + (end - start) * step / 24) for step in range(25)]

    def along(radius: float) -> list[Point]:
        return [
            ((x1 + x2) / 2 + radius * math.cos(t) * (x2 - x1) / 2, (y1 + y2) / 2 + radius * math.sin(t) * (y2 - y1) / 2)
            for t in turns
        ]

    return (*along(1.0), *reversed(along(1.0 - thickness)))


def stripes(part: Part, count: int) -> tuple[Shape, ...]:
    """Upright bands, as wide as the spaces between them, over the part."""
    x1, y1, x2, y2 = part.bounds
    step = (x2 - x1) / (2 * count + 1)
    return tuple(rectangle(x1 + step * (2 * k + 1), y1, x1 + step * (2 * k + 2), y2) for k in range(count))


def spots(part: Part, columns: int, rows: int) -> tuple[Shape, ...]:
    """A grid of ovals over the part."""
    x1, y1, x2, y2 = part.bounds
    width, height = (x2 - x1) / columns, (y2 - y1) / rows
    return tuple(
        oval(x1 + (c + 0.2) * width, y1 + (r + 0.2) * height, x1 + (c + 0.8) * width, y1 + (r + 0.8) * height)
        for c in range(columns)
        for r in range(rows)
    )
