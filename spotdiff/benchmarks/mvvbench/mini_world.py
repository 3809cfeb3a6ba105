"""The world that the mini videos show: people and things on a floor, and cameras that look at it from its sides.

Places are in metres, x to the east and y to the north, (0, 0) the middle of the floor. Directions are quarter turns
counter-clockwise, 0 for the south: a camera of turn 1 stands in the east and looks west, and a person of facing 1 looks
east, into that camera. All cameras are alike, hang at one height, and look at the floor at the same tilt.
"""

from __future__ import annotations

from dataclasses import dataclass

Place = tuple[float, float]
Share = float
"""A moment, as a share of the recording."""

SIZE = (256, 192)
"""Width and height of a video, in pixels."""

STRIP = 16
"""Height of the clock, at the lower edge of a frame, in pixels."""

HEIGHT = 4.0
"""Of the cameras above the floor, in metres."""

AWAY = 10.0
"""From a camera to the middle of the floor, along the floor, in metres."""

HALF_WIDTH = 3.3
"""What a camera sees to either side at the middle of the floor, in metres."""

_HORIZON = 0.555
"""How far down in the picture the middle of the floor is, as a share of its height."""

_TILT_LENGTH = (AWAY**2 + HEIGHT**2) ** 0.5
FOCAL = SIZE[0] / 2 / HALF_WIDTH * _TILT_LENGTH
"""In pixels."""

STEPS: tuple[tuple[Share, Share], ...] = ((0.12, 0.20), (0.46, 0.54), (0.80, 0.88))
"""When people walk: to their other place, back, and to the other one again."""

EARLY: tuple[Share, Share] = (0.20, 0.46)
"""Between the first walk and the second: all are at their other place."""

LATE: tuple[Share, Share] = (0.54, 0.80)
"""Between the second walk and the third: all are at their own place."""


@dataclass(frozen=True)
class Person:
    """What a person wears, and where they stand. bib: seen from the front alone; pack: from behind alone.

    place, other_place: where they are before the first walk, and after it. card: when a card is held up.
    """

    shirt: str
    bib: str
    pack: str
    facing: int
    place: Place
    other_place: Place
    card: tuple[Share, Share] | None = None

    def at(self, share: Share) -> Place:
        """Where the person is. On the way from place to place they keep to the right, so that two may swap places."""
        done = sum(min(max((share - start) / (end - start), 0.0), 1.0) for start, end in STEPS)
        way = done % 2 if done % 2 <= 1 else 2 - done % 2
        (x1, y1), (x2, y2) = self.place, self.other_place
        aside = 1.2 * way * (1 - way) * (1 if done <= 1 or done > 2 else -1)
        return x1 + way * (x2 - x1) + aside * (y2 - y1), y1 + way * (y2 - y1) - aside * (x2 - x1)

    def holds_card(self, share: Share) -> bool:
        return self.card is not None and self.card[0] <= share < self.card[1]


@dataclass(frozen=True)
class Thing:
    """A landmark: a cone, barrel, box or ball."""

    kind: str
    colour: str
    place: Place


@dataclass(frozen=True)
class Lamp:
    """A lamp on a post. lit: when it is on."""

    place: Place
    lit: tuple[Share, Share]

    def is_lit(self, share: Share) -> bool:
        return self.lit[0] <= share < self.lit[1]


@dataclass(frozen=True)
class Camera:
    """turn: the side it looks from. aside: how far it is moved to its own right, in metres."""

    turn: int
    aside: float = 0.0

    def seen(self, place: Place) -> Place:
        """A place as the camera has it: metres to the right of its axis, and metres from it along the floor."""
        x, y = place
        for _ in range(self.turn % 4):
            x, y = y, -x
        return x - self.aside, y + AWAY

    def projected(self, place: Place) -> tuple[float, float, float]:
        """Where a place on the floor is in the picture, in pixels, and how many pixels a metre has there."""
        right, away = self.seen(place)
        cosine, sine = AWAY / _TILT_LENGTH, HEIGHT / _TILT_LENGTH
        depth = away * cosine + HEIGHT * sine
        down = HEIGHT * cosine - away * sine
        return SIZE[0] / 2 + FOCAL * right / depth, _HORIZON * SIZE[1] + FOCAL * down / depth, FOCAL / depth


@dataclass(frozen=True)
class World:
    """All that there is to see. seconds: length of the recording."""

    people: tuple[Person, ...]
    things: tuple[Thing, ...]
    lamp: Lamp | None
    seconds: float
    ground: tuple[int, int, int]
