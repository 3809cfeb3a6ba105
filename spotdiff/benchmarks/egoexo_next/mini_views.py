"""A mini scene as two cameras see it: one that stands still and sees a person, and one at that person's eyes.

Places are on the ground, in metres: x to the right and z away from the camera that stands still. Directions are angles
in degrees from z towards x. Both cameras look level; where their horizon lies in the picture is a property of the
camera. Nobody faces where they walk: a person looks in one direction all the time and is drawn from behind, so that one
picture alone does not tell which way the walk goes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spotdiff.benchmarks.drawing import Colour, Point, Shape, rectangle
from spotdiff.benchmarks.egoexo_next.mini_things import Look, oval, shade

if TYPE_CHECKING:
    from PIL import Image as PILImage

Place = tuple[float, float]

_SKIN: Colour = (222, 190, 168)
_HAIR: Colour = (60, 48, 44)
_TROUSERS: Colour = (48, 48, 64)
_ENDLESS = 60.0
"""Metres to what counts as endless ground."""

_NEAREST = 0.5
"""Metres in front of a camera from which on things are drawn."""


@dataclass(frozen=True)
class Camera:
    """How a camera sees. size: of its pictures. focal, horizon: shares of width and height. height: metres."""

    size: tuple[int, int]
    focal: float
    horizon: float
    height: float


EXO = Camera((200, 150), 0.75, 0.2, 2.4)
EGO = Camera((180, 135), 0.54, 0.34, 1.55)


@dataclass(frozen=True)
class Landmark:
    look: Look
    colour: Colour
    place: Place


@dataclass(frozen=True)
class Standpoint:
    """A camera at a place. gaze: the direction that it looks in."""

    camera: Camera
    place: Place
    gaze: float

    def seen(self, place: Place) -> Point:
        """How far a place lies to the right of the camera and ahead of it, in metres."""
        turn = math.radians(self.gaze)
        x, z = place[0] - self.place[0], place[1] - self.place[1]
        return x * math.cos(turn) - z * math.sin(turn), x * math.sin(turn) + z * math.cos(turn)

    def pixel(self, right: float, up: float, ahead: float) -> Point:
        """Where a point shows that lies so far from the camera and so high above the ground, in metres."""
        width, height = self.camera.size
        scale = self.camera.focal * width / ahead
        return width / 2 + right * scale, self.camera.horizon * height + (self.camera.height - up) * scale

    def columns(self, landmark: Landmark) -> tuple[float, float]:
        """Left and right end of what a thing ahead takes of the picture, in pixels."""
        right, ahead = self.seen(landmark.place)
        half = landmark.look.width / 2
        return self.pixel(right - half, 0, ahead)[0], self.pixel(right + half, 0, ahead)[0]


@dataclass(frozen=True)
class Surroundings:
    """wall: how far away it stands; None outdoors, where the ground goes on to the horizon."""

    ground: Colour
    track: Colour
    shadow: Colour
    back: Colour
    wall: float | None
    landmarks: tuple[Landmark, ...]


@dataclass(frozen=True)
class Action:
    """A straight walk through the origin. course, gaze: directions of the path and of the eyes. half: of its length."""

    course: float
    gaze: float
    half: float
    carried: Look
    colour: Colour
    shirt: Colour

    def place(self, along: float) -> Place:
        """along: metres from the middle of the path, negative on its left."""
        turn = math.radians(self.course)
        return along * math.sin(turn), along * math.cos(turn)


@dataclass(frozen=True)
class Clip:
    """One action in one scene. exo: where the camera stands that stands still."""

    surroundings: Surroundings
    action: Action
    exo: Standpoint

    def exo_frame(self, along: float) -> PILImage.Image:
        """What the camera that stands still sees when the person is there."""
        view = _View(self.exo)
        view.surroundings(self.surroundings, self.action)
        view.person(self.action, self.surroundings.shadow, self.action.place(along))
        return view.picture

    def ego_frame(self, along: float) -> PILImage.Image:
        """What the person sees there."""
        view = _View(Standpoint(EGO, self.action.place(along), self.action.gaze))
        view.surroundings(self.surroundings, self.action)
        view.hands(self.action)
        return view.picture


class _View:
    """A picture in the making."""

    def __init__(self, standpoint: Standpoint) -> None:
        from PIL import Image, ImageDraw

        self._standpoint = standpoint
        # Few flat colours: a palette makes files half as large.
        self.picture = Image.new("P", standpoint.camera.size)
        self._pen = ImageDraw.Draw(self.picture)

    def surroundings(self, scene: Surroundings, action: Action) -> None:
        width, height = self.picture.size
        self._polygon(rectangle(0, 0, width, height), scene.back)
        if scene.wall is None:
            horizon = self._standpoint.camera.horizon * height
            self._polygon(rectangle(0, horizon, width, height), scene.ground)
        else:
            self._ground(
                ((-_ENDLESS, scene.wall), (_ENDLESS, scene.wall), (_ENDLESS, -_ENDLESS), (-_ENDLESS, -_ENDLESS)),
                scene.ground,
            )
        self._ground(_strip(action), scene.track)
        for landmark in sorted(scene.landmarks, key=self._distance, reverse=True):
            if self._distance(landmark) >= _NEAREST:
                self._look(landmark.look, landmark.colour, landmark.place)

    def _distance(self, landmark: Landmark) -> float:
        return self._standpoint.seen(landmark.place)[1]

    def person(self, action: Action, shadow: Colour, place: Place) -> None:
        """From behind; what is carried shows on both sides."""
        self._ground(tuple((place[0] + x, place[1] + z) for x, z in oval(-0.42, -0.2, 0.42, 0.2)), shadow)
        carried = action.carried
        self._look(carried, action.colour, place, low=1.12 - carried.height / 2)
        for shape, colour in _body(action.shirt, carried.width / 2 + 0.02):
            self._upright(shape, colour, place)

    def hands(self, action: Action) -> None:
        """What is carried, held by two hands, at the lower edge."""
        width, height = self.picture.size
        wide, carried = 0.3 * width, action.carried
        tall = min(wide * carried.height / carried.width, 0.2 * height)
        for part in carried.parts:
            shape = tuple((width / 2 + x * wide, 1.04 * height - y * tall) for x, y in part.shape)
            self._polygon(shape, shade(action.colour, part.tone))
        top = 0.9 * height
        for side in (-1, 1):
            inner, hand, wrist, outer = (width * (0.5 + side * share) for share in (0.15, 0.16, 0.2, 0.3))
            self._polygon(((inner, height), (outer, height), (wrist, top), (inner, top)), action.shirt)
            self._polygon(oval(hand - 0.04 * width, top - 6, hand + 0.04 * width, top + 8), _SKIN)

    def _look(self, look: Look, colour: Colour, place: Place, low: float = 0.0) -> None:
        """low: how high above the ground its lower edge is, in metres."""
        for part in look.parts:
            shape = tuple((x * look.width, low + y * look.height) for x, y in part.shape)
            self._upright(shape, shade(colour, part.tone), place)

    def _upright(self, shape: Shape, colour: Colour, place: Place) -> None:
        """A flat shape that stands at a place and faces the camera; x, y: metres from that place on the ground."""
        right, ahead = self._standpoint.seen(place)
        self._polygon(tuple(self._standpoint.pixel(right + x, y, ahead) for x, y in shape), colour)

    def _ground(self, corners: Sequence[Place], colour: Colour) -> None:
        seen = _in_front([self._standpoint.seen(corner) for corner in corners])
        if len(seen) >= 3:
            self._polygon(tuple(self._standpoint.pixel(right, 0, ahead) for right, ahead in seen), colour)

    def _polygon(self, shape: Shape, colour: Colour) -> None:
        self._pen.polygon([(x - 0.5, y - 0.5) for x, y in shape], fill=colour)


def _in_front(corners: Sequence[Point]) -> list[Point]:
    """What of a polygon lies in front of the camera."""
    kept: list[Point] = []
    for (x1, z1), (x2, z2) in zip(corners, [*corners[1:], corners[0]], strict=True):
        if z1 >= _NEAREST:
            kept.append((x1, z1))
        if (z1 < _NEAREST) != (z2 < _NEAREST):
            share = (_NEAREST - z1) / (z2 - z1)
            kept.append((x1 + share * (x2 - x1), _NEAREST))
    return kept


def _strip(action: Action) -> tuple[Place, ...]:
    """The ground that the path takes."""
    turn = math.radians(action.course)
    x, z = 0.35 * math.cos(turn), -0.35 * math.sin(turn)
    (x1, z1), (x2, z2) = action.place(-action.half - 0.6), action.place(action.half + 0.6)
    return (x1 + x, z1 + z), (x2 + x, z2 + z), (x2 - x, z2 - z), (x1 - x, z1 - z)


def _body(shirt: Colour, reach: float) -> list[tuple[Shape, Colour]]:
    """A person from behind, in metres, with hands so far from the middle."""
    arm = (0.16, 1.42), (0.24, 1.34), (reach, 1.16), (reach, 1.02), (0.16, 1.2)
    parts: list[tuple[Shape, Colour]] = []
    for side in (-1, 1):
        parts += [
            (rectangle(side * 0.05, 0, side * 0.2, 0.8), _TROUSERS),
            (tuple((side * x, y) for x, y in arm), shirt),
            (oval(side * reach - 0.08, 1.0, side * reach + 0.08, 1.18), _SKIN),
        ]
    return [
        *parts,
        (rectangle(-0.2, 0.68, 0.2, 0.84), _TROUSERS),
        (rectangle(-0.24, 0.8, 0.24, 1.42), shirt),
        (rectangle(-0.07, 1.4, 0.07, 1.52), _SKIN),
        (oval(-0.15, 1.46, 0.15, 1.78), _HAIR),
    ]
