"""What the state-reading server sees in one picture: things of one colour each on pale ground, and a dark person.

It knows how such pictures are taken (how wide the cameras see, how high they are, where their horizon lies), as one
learns it from a few, and no scene of any data set. It looks at pictures of any size, at such that were stretched, and
at JPEG as well as PNG.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from PIL import Image
from pixel_eye import Mask, Pixels, over_neighbours, patches

Patch = list[tuple[int, int, int]]
"""Connected pixels as runs: row, start, end."""

EGO, EXO = "ego", "exo"

_WIDTH, _HEIGHT = 240, 180
_COLOURFUL = 70
_PALE = 50
_BRIGHT = 120
_DARK = 104
_PERSON = 94
_SMALLEST = 24
_SMALLEST_PERSON = 150
_HUES: Mapping[str, float] = {
    "red": 0,
    "orange": 30,
    "yellow": 52,
    "green": 131,
    "teal": 180,
    "blue": 224,
    "purple": 273,
    "pink": 330,
}


@dataclass(frozen=True)
class Sighting:
    """Where a thing stands. across, along: errors to expect across the line of sight and along it, in metres."""

    place: complex
    across: float
    along: float


@dataclass(frozen=True)
class _Camera:
    """focal: share of the width. horizon: share of the height. height: of the camera above the ground, in metres."""

    focal: float
    horizon: float
    height: float

    def sighting(self, x: float, y: float) -> Sighting | None:
        """What stands on the ground at a point of the picture; None where there is no ground."""
        below, focal = y - self.horizon * _HEIGHT, self.focal * _WIDTH
        if below < 2:
            return None
        ahead = focal * self.height / below
        place = complex((x - _WIDTH / 2) * ahead / focal, ahead)
        return Sighting(place, abs(place) / focal, abs(place) * ahead / (focal * self.height))


_CAMERAS = {EGO: _Camera(0.54, 0.34, 1.55), EXO: _Camera(0.75, 0.2, 2.4)}


@dataclass(frozen=True)
class Sight:
    """Places on the ground as a camera sees them, in metres: to its right, and ahead of it as the imaginary part.

    things: by colour. person: the camera itself where it is the person's.
    """

    things: Mapping[str, Sighting]
    person: complex


def look(image: Image.Image, view: str) -> Sight | None:
    """What a picture shows; None where no thing is seen, or no person where there must be one. view: EGO or EXO."""
    seen = _Seen(np.asarray(image.convert("RGB").resize((_WIDTH, _HEIGHT), Image.Resampling.BILINEAR), dtype=np.int16))
    camera = _CAMERAS[view]
    things = {hue: thing for hue, foot in seen.feet().items() if (thing := camera.sighting(*foot))}
    foot = (_WIDTH / 2, float(_HEIGHT)) if view == EGO else seen.person()
    person = camera.sighting(*foot) if foot else None
    if not things or person is None:
        return None
    return Sight(things, 0j if view == EGO else person.place)


class _Seen:
    """The pixels of one picture."""

    def __init__(self, picture: Pixels) -> None:
        self._picture = picture
        self._high, self._low = picture.max(axis=2), picture.min(axis=2)

    @cached_property
    def _pale(self) -> Mask:
        return np.asarray((self._high - self._low < _PALE) & (self._high >= _BRIGHT))

    @cached_property
    def _hues(self) -> npt.NDArray[np.int8]:
        """Number of the nearest named hue of each pixel that has such neighbours only, -1 elsewhere."""
        colourful = (self._high - self._low >= _COLOURFUL) & (self._high >= _DARK)
        red, green, blue = (self._picture[:, :, channel][colourful].astype(np.float64) for channel in range(3))
        hue = np.degrees(np.arctan2(np.sqrt(3) * (green - blue), 2 * red - green - blue)) % 360
        apart = np.abs(hue[:, None] - np.array(list(_HUES.values()))) % 360
        numbers = np.full(colourful.shape, -1, dtype=np.int8)
        numbers[colourful] = np.minimum(apart, 360 - apart).argmin(axis=1)
        inside = over_neighbours(numbers, np.minimum) == over_neighbours(numbers, np.maximum)
        return np.where(inside, numbers, np.int8(-1))

    def feet(self) -> dict[str, tuple[float, float]]:
        """By colour: where the thing of that colour touches the ground, if that is seen."""
        found = {}
        for number, name in enumerate(_HUES):
            foot = self._foot(_largest(self._hues == number, _SMALLEST), worn=1)
            if foot is not None and self._stands(*foot):
                found[name] = ((foot[0] + foot[1]) / 2, self._lower_edge(*foot))
        return found

    def _lower_edge(self, left: int, right: int, bottom: int) -> float:
        """Where a foot ends and the ground begins, to a part of a pixel, by how the colours of rows mix."""
        third = (right - left) // 3
        rows = self._picture[bottom - 5 : bottom + 4, left + third : right - third].mean(axis=1)
        foot, ground = rows[0], rows[-1]
        covered = (rows - ground) @ (foot - ground) / ((foot - ground) @ (foot - ground))
        return bottom - 5 + float(covered.clip(0, 1).sum())

    def person(self) -> tuple[float, float] | None:
        """Where the feet of the person are: those of the largest dark patch."""
        foot = self._foot(_largest(self._high < _DARK, _SMALLEST_PERSON), worn=0)
        return ((foot[0] + foot[1]) / 2, float(foot[2])) if foot else None

    @staticmethod
    def _foot(patch: Patch, worn: int) -> tuple[int, int, int] | None:
        """Left, right and lower edge (the last two outside) of the lowest rows. worn: pixels lost on every side."""
        if not patch:
            return None
        bottom = max(row for row, _, _ in patch)
        lowest = [run for run in patch if run[0] >= bottom - 2]
        left, right = min(start for _, start, _ in lowest), max(end for _, _, end in lowest)
        return left - worn, right + worn, bottom + 1 + worn

    def _stands(self, left: int, right: int, bottom: int) -> bool:
        """Whether ground is below a foot and on both sides, and no person and no edge of the picture is near."""
        if left < 4 or right > _WIDTH - 4 or bottom > _HEIGHT - 4:
            return False
        below = self._pale[bottom + 2 : bottom + 4, left:right]
        beside = self._pale[bottom - 3 : bottom, [left - 4, left - 3, right + 2, right + 3]]
        near = self._high[bottom - 6 : bottom + 3, max(0, left - 8) : right + 8]
        return bool(below.mean() > 0.8 and beside.mean() > 0.8 and near.min() >= _PERSON)


def _largest(mask: Mask, smallest: int) -> Patch:
    """The largest patch; empty where it has fewer pixels than `smallest`."""

    def size(patch: Patch) -> int:
        return sum(end - start for _, start, end in patch)

    rows = np.flatnonzero(mask.any(axis=1))
    if len(rows) == 0:
        return []
    top = int(rows[0])
    patch = max(patches(mask[top : rows[-1] + 1]), key=size)
    return [(row + top, start, end) for row, start, end in patch] if size(patch) >= smallest else []
