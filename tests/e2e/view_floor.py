"""What the views of one scene show together: where everybody stands on one floor, and who is who in which view."""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from pixel_eye import CannotTell
from view_eye import BACK, FRONT, Glimpse, Place, Sighting

_SAME_PLACE = 0.7
"""Metres. People stand farther apart."""

_APART = 1.0
"""Metres between two things, from which on they tell how a view lies."""

SIDES = ("same", "right", "far", "left")
"""By quarter turns counter-clockwise: where one camera stands as another one sees the scene."""


@dataclass(frozen=True)
class Person:
    """Somebody at one moment. place: as the first view has it. xs: where in each view, in pixels from its left edge."""

    place: Place
    shirt: str
    bib: str
    pack: str
    card: bool
    xs: Mapping[int, float]

    def wears(self, piece: str) -> str:
        """The colour of a piece of clothing; empty where no view shows it."""
        return {"shirt": self.shirt, "bib": self.bib, "backpack": self.pack}[piece]


@dataclass(frozen=True)
class Moment:
    people: tuple[Person, ...]
    lit: bool


@dataclass(frozen=True)
class _Pose:
    """How places of a view are turned and moved to become places of the first view."""

    turn: complex
    move: complex

    def of(self, place: Place) -> Place:
        return self.turn * place + self.move


class Floor:
    """views: by the number of their label; the frames of all views at the same position show the same moment."""

    def __init__(self, views: Mapping[int, Sequence[Glimpse]]) -> None:
        self._views = views
        self._things = {number: _things(glimpses) for number, glimpses in views.items()}

    @property
    def views(self) -> list[int]:
        return list(self._views)

    @cached_property
    def things(self) -> dict[str, Place]:
        """Kind -> place, of all that stands still."""
        found: dict[str, Place] = {}
        for number, pose in self._poses.items():
            for kind, place in self._things[number].items():
                found.setdefault(kind, pose.of(place))
        return found

    @cached_property
    def moments(self) -> list[Moment]:
        return [self._moment(place) for place in range(min(map(len, self._views.values())))]

    def side(self, seen_from: int, camera: int) -> str:
        """Where the camera of a view stands, as another view has it: one of SIDES."""
        if not {seen_from, camera} <= set(self._views):
            raise CannotTell("a view is missing")
        turn = cmath.phase(self._poses[camera].turn / self._poses[seen_from].turn) / (math.pi / 2)
        if abs(turn - round(turn)) > 0.25:
            raise CannotTell("cameras that stand askew")
        return SIDES[round(turn) % 4]

    def seen(self, view: int) -> tuple[Glimpse, ...]:
        return tuple(self._views.get(view, ()))

    @cached_property
    def _poses(self) -> dict[int, _Pose]:
        """Told by the things that a view shares with one whose pose is known."""
        poses = {self.views[0]: _Pose(1, 0)}
        waiting = self.views[1:]
        while waiting:
            number, pose = next(
                (
                    (number, pose)
                    for number in waiting
                    for known, found in poses.items()
                    if (pose := _fitted(self._things[number], self._things[known], found))
                ),
                (None, None),
            )
            if number is None or pose is None:
                raise CannotTell("views that share nothing")
            poses[number] = pose
            waiting.remove(number)
        return poses

    def _moment(self, place: int) -> Moment:
        people: list[Person] = []
        for number, glimpses in self._views.items():
            for sighting in glimpses[place].people:
                _add(people, _person(sighting, number, self._poses[number]))
        return Moment(tuple(people), any(glimpses[place].lit for glimpses in self._views.values()))


def _things(glimpses: Sequence[Glimpse]) -> dict[str, Place]:
    """What stands where in one view, of that which most frames show."""
    found: dict[str, Place] = {}
    for kind in {kind for glimpse in glimpses for kind in glimpse.things}:
        places = [glimpse.things[kind] for glimpse in glimpses if kind in glimpse.things]
        if 2 * len(places) >= len(glimpses):
            found[kind] = complex(median(place.real for place in places), median(place.imag for place in places))
    return found


def _fitted(own: Mapping[str, Place], other: Mapping[str, Place], pose: _Pose) -> _Pose | None:
    """The pose that brings things of one view to where the other one has them; None where they share too few."""
    shared = sorted(set(own) & set(other))
    if len(shared) < 2:
        return None
    here, there = [own[kind] for kind in shared], [pose.of(other[kind]) for kind in shared]
    middle, target = sum(here) / len(here), sum(there) / len(there)
    turn = sum((t - target) * (h - middle).conjugate() for h, t in zip(here, there, strict=True))
    if max(abs(h - middle) for h in here) < _APART / 2 or not turn:
        return None
    turn /= abs(turn)
    return _Pose(turn, target - turn * middle)


def _person(sighting: Sighting, view: int, pose: _Pose) -> Person:
    return Person(
        pose.of(sighting.place),
        sighting.shirt,
        sighting.patch if sighting.side == FRONT else "",
        sighting.patch if sighting.side == BACK else "",
        sighting.card,
        {view: sighting.x},
    )


def _add(people: list[Person], seen: Person) -> None:
    """Somebody new, or one who was already seen in another view."""
    near = [place for place, known in enumerate(people) if known.shirt == seen.shirt]
    near = [place for place in near if abs(people[place].place - seen.place) < _SAME_PLACE]
    if not near:
        people.append(seen)
        return
    place = min(near, key=lambda place: abs(people[place].place - seen.place))
    known = people[place]
    people[place] = replace(
        known,
        bib=known.bib or seen.bib,
        pack=known.pack or seen.pack,
        card=known.card or seen.card,
        xs={**known.xs, **seen.xs},
    )
