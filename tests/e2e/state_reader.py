"""From a prompt with labelled pictures of two views to an answer, by looking: EgoExo-Next's part of the pixel server.

Things stay where they are while a person walks, so that pictures which show the same things tell how far the places are
apart that they were taken from, or that the person in them stands at. What the first view shows is turned until its
things lie where they lie in the other one. Three readers share this: one answers, and two are of use as controls, for
they look at a part of the pictures alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from PIL import Image
from pixel_eye import CannotTell
from state_eye import EXO, Sight, Sighting, look

from spotdiff.media.images import pixel_digest

Part = str | Image.Image

CANNOT_TELL = "I cannot tell."

_LABEL = re.compile(
    r"\b(ego|exo)-centric (?:(keyframe) (\d)|(option) ([A-D])|current state|next state):", re.IGNORECASE
)
_TRUSTED = 3.0
"""How many times larger than expected an error may be before what was measured counts for little."""

_ROUNDS = 6
_TURNS, _LARGEST_TURN = 12, 0.1
"""The largest is in radians."""

_WORDINGS = (
    "{}",
    "({})",
    "{}.",
    "Answer: {}",
    "**{}**",
    "Option {}",
    "The answer is {}.",
    "The correct answer is ({}).",
    "Option {} shows it.",
    "\\boxed{{{}}}",
)


@dataclass(frozen=True)
class _Seen:
    """One picture and what its label says. name: number of the observation, or letter of the option."""

    view: str
    name: str
    sight: Sight | None


@dataclass(frozen=True)
class _Asked:
    """A prompt, taken apart. observations: in the order of their numbers. same_moment: a question of subtask 2."""

    observations: tuple[_Seen, ...]
    options: tuple[_Seen, ...]
    same_moment: bool


@dataclass(frozen=True)
class Places:
    """Where the person is in each picture, on the ground, in metres and in one frame of reference.

    To the right, and ahead as the imaginary part, for the camera that stands still, or, where it took no picture, for
    the person. observations: in the order of their numbers. options: by letter.
    """

    observations: tuple[complex, ...]
    options: Mapping[str, complex]


class _Reader:
    """What all three have in common."""

    _sights: ClassVar[dict[tuple[str, str], Sight | None]] = {}
    """By digest and view: the same picture comes with many questions, and to several readers."""

    def answer_parts(self, parts: Sequence[Part]) -> str:
        """The reply to a prompt; `CANNOT_TELL` where question, pictures and their labels do not fit together."""
        try:
            letter = self._letter(self._taken_apart(parts))
        except CannotTell:
            return CANNOT_TELL
        request = "\n".join(part if isinstance(part, str) else pixel_digest(part) for part in parts)
        choice = int.from_bytes(hashlib.sha256(request.encode()).digest()[:4], "big")
        return _WORDINGS[choice % len(_WORDINGS)].format(letter)

    def _letter(self, asked: _Asked) -> str:
        raise NotImplementedError

    def _taken_apart(self, parts: Sequence[Part]) -> _Asked:
        """Each picture belongs to the label that comes last before it; what has another label is left out."""
        seen: dict[str, list[_Seen]] = {"keyframe": [], "option": []}
        said = ""
        for part in parts:
            if isinstance(part, str):
                said += part
                continue
            labels = list(_LABEL.finditer(said))
            if not labels:
                raise CannotTell("a picture without a label")
            view, kind, name = labels[-1][1].lower(), labels[-1][2] or labels[-1][4], labels[-1][3] or labels[-1][5]
            if kind:
                seen[kind.lower()].append(_Seen(view, name.upper(), self._sight(part, view)))
            said = ""
        observations, options = (sorted(found, key=lambda one: one.name) for found in seen.values())
        return _Asked(tuple(observations), tuple(options), _same_moment(said))

    def _sight(self, image: Image.Image, view: str) -> Sight | None:
        key = pixel_digest(image), view
        if key not in self._sights:
            self._sights[key] = look(image, view)
        return self._sights[key]


def _same_moment(question: str) -> bool:
    if "at the same time" in question:
        return True
    if "subsequent" in question:
        return False
    raise CannotTell(f"an unknown question: {question!r}")


class StateReader(_Reader):
    """Takes the option that shows the same moment, or the nearest of those that lie ahead.

    Ahead is where the observations went. Where none lies ahead, the option that is the least behind; of one observation
    of four, the nearest option.
    """

    def places(self, parts: Sequence[Part]) -> Places:
        """What the answer rests on. Raises CannotTell where an observation or all options are missing."""
        return _places(self._taken_apart(parts))

    def _letter(self, asked: _Asked) -> str:
        places = _places(asked)
        if asked.same_moment or len(places.observations) < 2:
            return _nearest(places)
        order = np.arange(len(places.observations)) - (len(places.observations) - 1) / 2
        way = complex(order @ np.array(places.observations))
        if way == 0:
            return _nearest(places)
        ahead = {
            letter: ((place - places.observations[-1]) / way).real * abs(way)
            for letter, place in places.options.items()
        }
        return min(ahead, key=lambda letter: (ahead[letter] <= 0, abs(ahead[letter])))


class LastFrameReader(_Reader):
    """Takes the option that is nearest to the last observation, and looks at no other one."""

    def _letter(self, asked: _Asked) -> str:
        return _nearest(_places(_Asked(asked.observations[-1:], asked.options, asked.same_moment)))


class OptionsOnlyReader(_Reader):
    """Takes the option in which the person is farthest to the left, and looks at no observation."""

    def _letter(self, asked: _Asked) -> str:
        places = _places(_Asked(asked.options[:1], asked.options, asked.same_moment)).options
        return min(places, key=lambda letter: places[letter].real)


def _nearest(places: Places) -> str:
    last = places.observations[-1]
    return min(places.options, key=lambda letter: abs(places.options[letter] - last))


def _places(asked: _Asked) -> Places:
    """Raises CannotTell where an observation or all options are missing, or show nothing."""
    pictures = (*asked.observations, *asked.options)
    sights = {one.name: one.sight for one in pictures if one.sight is not None}
    options = [one.name for one in asked.options if one.sight is not None]
    if not asked.observations or not options or any(one.sight is None for one in asked.observations):
        raise CannotTell("no observation or no option, or one that shows nothing")
    exo = {one.name: sights[one.name] for one in pictures if one.view == EXO and one.name in sights}
    places = {name: sight.person for name, sight in exo.items()}
    if ego := {name: sight for name, sight in sights.items() if name not in exo}:
        places |= _walked(ego, _watched(exo.values()))
    return Places(tuple(places[one.name] for one in asked.observations), {name: places[name] for name in options})


def _watched(sights: Iterable[Sight]) -> dict[str, Sighting]:
    """What a camera that stands still sees, by colour: the median, for a person may hide a part of a thing."""
    seen: dict[str, list[Sighting]] = {}
    for sight in sights:
        for colour, thing in sight.things.items():
            seen.setdefault(colour, []).append(thing)
    return {
        colour: replace(found[0], place=complex(*(median(values) for values in zip(*map(_parts, found), strict=True))))
        for colour, found in seen.items()
    }


def _parts(thing: Sighting) -> tuple[float, float]:
    return thing.place.real, thing.place.imag


def _walked(sights: Mapping[str, Sight], known: Mapping[str, Sighting]) -> dict[str, complex]:
    """Where the camera was that took these pictures while it moved and looked in one direction.

    known: where things are as another camera sees them, in whose axes the places are given then; the angle between both
    is found in small turns. Where there are none, the axes are those of the pictures, and the origin is left open.
    """
    seen = [(name, colour, thing) for name, sight in sights.items() for colour, thing in sight.things.items()]
    unknown = [*sights, *sorted({colour for _, colour, _ in seen} | set(known))]
    incidence = np.zeros((len(seen) + len(known), len(unknown)))
    for row, (name, colour, _) in enumerate(seen):
        incidence[row, unknown.index(name)], incidence[row, unknown.index(colour)] = -1, 1
    for row, colour in enumerate(known, start=len(seen)):
        incidence[row, unknown.index(colour)] = 1
    turn = 1 + 0j
    for number in range(_TURNS if known else 1):
        measured = [*(replace(thing, place=turn * thing.place) for _, _, thing in seen), *known.values()]
        # What is turned a little moves at right angles to where it is.
        turned = [-1j * thing.place for thing in measured[: len(seen)]] if known else [0j] * len(seen)
        # Each complex unknown is two real ones.
        design = np.column_stack([incidence, 1j * incidence, [*turned, *[0j] * len(known)]])
        # While both views lie at an angle, nothing can be told to be wrong.
        found = _fitted(design, measured, rounds=1 if known and number < _TURNS // 2 else _ROUNDS)
        turn *= complex(np.exp(1j * np.clip(found[-1], -_LARGEST_TURN, _LARGEST_TURN)))
    return {name: complex(found[place], found[place + len(unknown)]) for place, name in enumerate(sights)}


def _fitted(design: npt.NDArray[np.complex128], measured: Sequence[Sighting], rounds: int) -> npt.NDArray[np.float64]:
    """Real x for which `design @ x` is nearest to the measured places, wrong measurements left aside.

    Errors along a line of sight and across it are weighed by what is to be expected of them.
    """
    places = np.array([thing.place for thing in measured])
    back = (places / np.abs(places)).conj()[:, None]
    along, across = (np.array([[getattr(thing, name)] for thing in measured]) for name in ("along", "across"))
    turned = np.column_stack([design, places]) * back
    rows = np.concatenate([turned.real / along, turned.imag / across])
    equations, values = rows[:, :-1], rows[:, -1]
    trust = np.ones(len(values))
    for _ in range(rounds):
        found = np.linalg.lstsq(equations * trust[:, None], values * trust, rcond=None)[0]
        trust = 1 / (1 + ((equations @ found - values) / _TRUSTED) ** 2)
    return np.asarray(found)
