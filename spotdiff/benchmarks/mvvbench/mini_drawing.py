"""Draws a frame: what one camera sees of a world at one moment, with a clock at the lower edge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spotdiff.benchmarks.mvvbench.mini_clock import CELLS, clock_cells
from spotdiff.benchmarks.mvvbench.mini_world import SIZE, STRIP, Camera, Person, Place, Share, Thing, World

if TYPE_CHECKING:
    from PIL import Image as PILImage
    from PIL import ImageDraw

Colour = tuple[int, int, int]
Outline = tuple[Place, ...]

COLOURS: Mapping[str, Colour] = {
    "red": (208, 40, 40),
    "orange": (240, 128, 24),
    "yellow": (240, 208, 40),
    "green": (40, 152, 64),
    "cyan": (40, 184, 200),
    "blue": (40, 88, 216),
    "purple": (136, 56, 192),
    "pink": (240, 112, 168),
}
_WALL: Colour = (208, 206, 204)
_DARK: Colour = (44, 44, 52)
_HAIR: Colour = (70, 48, 40)
_SKIN: Colour = (250, 214, 184)
_OFF: Colour = (150, 150, 156)
_LIT: Colour = (255, 216, 32)
_CARD: Colour = (240, 40, 200)

_FLOOR_EDGE = 4.6
_TILE = 2.3
"""Metres."""

_FINE = 2
"""Frames are drawn this many times larger and averaged, for smooth edges."""


@dataclass(frozen=True)
class Part:
    """A flat shape that faces the camera: metres to the right of the place it stands on, and metres up from there."""

    outline: Outline
    colour: Colour
    edged: bool = True


def _rectangle(left: float, low: float, right: float, high: float) -> Outline:
    return (left, low), (right, low), (right, high), (left, high)


def _oval(x: float, y: float, width: float, height: float, start: float = 0.0, end: float = 1.0) -> Outline:
    """The part of an oval between two shares of a full turn, counter-clockwise from the right."""
    turns = [math.tau * (start + (end - start) * step / 32) for step in range(33)]
    return tuple((x + math.cos(turn) * width / 2, y + math.sin(turn) * height / 2) for turn in turns)


_TORSO: Outline = ((-0.3, 0.5), (0.3, 0.5), (0.36, 1.12), (0.28, 1.22), (-0.28, 1.22), (-0.36, 1.12))
_HEAD = (0.0, 1.45, 0.5, 0.48)
_EYES = (-0.08, 0.08)

_SHAPES: Mapping[str, Outline] = {
    "cone": ((-0.4, 0.0), (0.4, 0.0), (0.06, 0.85), (-0.06, 0.85)),
    "barrel": (*_oval(0, 0.08, 0.6, 0.16, 0.5, 1), *_oval(0, 0.92, 0.6, 0.16, 0, 0.5)),
    "box": _rectangle(-0.4, 0, 0.4, 0.66),
    "ball": _oval(0, 0.36, 0.72, 0.72),
}


def _person(person: Person, camera: Camera, share: Share) -> Iterator[Part]:
    yield Part(_rectangle(-0.26, 0, -0.05, 0.5), _DARK)
    yield Part(_rectangle(0.05, 0, 0.26, 0.5), _DARK)
    if person.holds_card(share):
        yield Part(((0.24, 1.1), (0.34, 1.06), (0.44, 1.8), (0.34, 1.8)), _SKIN)
        yield Part(_rectangle(0.17, 1.78, 0.61, 2.16), _CARD)
    yield Part(_TORSO, COLOURS[person.shirt])
    side = (camera.turn - person.facing) % 4
    if side == 0:
        yield Part(_rectangle(-0.2, 0.62, 0.2, 1.08), COLOURS[person.bib])
    if side == 2:
        yield Part(_oval(0, 0.86, 0.44, 0.52), COLOURS[person.pack])
    yield from _head(side)


def _head(side: int) -> Iterator[Part]:
    """side: what is seen of it: 0 the face, 2 the hair, 1 and 3 half of each, with the nose to the left and right."""
    yield Part(_oval(*_HEAD), _HAIR if side else _SKIN)
    if side == 0:
        yield Part(_oval(*_HEAD, 0.09, 0.41), _HAIR, edged=False)
        for eye in _EYES:
            yield Part(_oval(eye, 1.49, 0.06, 0.08), _DARK, edged=False)
    elif side in (1, 3):
        yield Part(_oval(*_HEAD, 0.25, 0.75) if side == 1 else _oval(*_HEAD, -0.25, 0.25), _SKIN, edged=False)
        eye = -0.1 if side == 1 else 0.1
        yield Part(_oval(eye, 1.49, 0.06, 0.08), _DARK, edged=False)


def _thing(thing: Thing) -> Iterator[Part]:
    yield Part(_SHAPES[thing.kind], COLOURS[thing.colour])


def _lamp(is_lit: bool) -> Iterator[Part]:
    yield Part(_rectangle(-0.2, 0, 0.2, 0.1), _DARK)
    yield Part(_rectangle(-0.05, 0, 0.05, 1.2), _DARK)
    yield Part(((0, 1.1), (0.4, 1.5), (0, 1.9), (-0.4, 1.5)), _LIT if is_lit else _OFF)


def _standing(world: World, camera: Camera, share: Share) -> list[tuple[Place, list[Part]]]:
    """All that stands on the floor, the farthest first."""
    found = [(person.at(share), list(_person(person, camera, share))) for person in world.people]
    found += [(thing.place, list(_thing(thing))) for thing in world.things]
    if world.lamp is not None:
        found.append((world.lamp.place, list(_lamp(world.lamp.is_lit(share)))))
    return sorted(found, key=lambda standing: -camera.seen(standing[0])[1])


def frame(world: World, camera: Camera, number: int, rate: int) -> PILImage.Image:
    """The frame of a number, from 0, in a video of so many frames a second."""
    from PIL import Image, ImageDraw

    canvas = Image.new("RGB", (SIZE[0] * _FINE, SIZE[1] * _FINE), _WALL)
    pen = ImageDraw.Draw(canvas)
    _floor(pen, world.ground, camera)
    for place, parts in _standing(world, camera, number / rate / world.seconds):
        x, y, metre = (value * _FINE for value in camera.projected(place))
        shadow = tuple(value - 28 for value in world.ground)
        pen.ellipse((x - 0.42 * metre, y - 0.1 * metre, x + 0.42 * metre, y + 0.1 * metre), fill=shadow)
        for part in parts:
            points = [(x + right * metre, y - up * metre) for right, up in part.outline]
            pen.polygon(points, fill=part.colour)
            if part.edged:
                pen.line([*points, *points[:2]], fill=_DARK, width=_FINE, joint="curve")
    picture = canvas.reduce(_FINE)
    _clock(ImageDraw.Draw(picture), number, rate)
    return picture


def _floor(pen: ImageDraw.ImageDraw, ground: Colour, camera: Camera) -> None:
    """A square floor of square tiles."""

    def line(*places: Place) -> list[tuple[float, float]]:
        return [(x * _FINE, y * _FINE) for x, y, _ in map(camera.projected, places)]

    edge = _FLOOR_EDGE
    joint = tuple(value - 14 for value in ground)
    pen.polygon(line((-edge, -edge), (edge, -edge), (edge, edge), (-edge, edge)), fill=ground, outline=_DARK)
    for tile in range(1, round(2 * edge / _TILE)):
        along = tile * _TILE - edge
        pen.line(line((along, -edge), (along, edge)), fill=joint, width=_FINE)
        pen.line(line((-edge, along), (edge, along)), fill=joint, width=_FINE)


def _clock(pen: ImageDraw.ImageDraw, number: int, rate: int) -> None:
    """A strip along the lower edge, whose cells are white and black by `clock_cells`."""
    width, top = SIZE[0] / CELLS, SIZE[1] - STRIP
    for place, white in enumerate(clock_cells(number, rate)):
        colour = (255, 255, 255) if white else (0, 0, 0)
        pen.rectangle((place * width, top, (place + 1) * width - 1, SIZE[1]), fill=colour)
