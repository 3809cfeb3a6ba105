"""What the server that reads several views sees in one frame: people and things on a floor, a lamp, and a clock.

It knows what they look like and how the cameras are built, as one does who knows the place, and no scene of any data
set. It looks at frames of any size, at such that were stretched, and at JPEG as well as PNG.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PIL import Image
from pixel_eye import Mask, Pixels, patches

_WIDTH, _HEIGHT = 256, 192
_FLOOR_ENDS = 176
"""Below it is the clock."""

_CELLS = 16
_CHECK = 0b1011
_BLACK, _WHITE = 90, 165

_HEIGHT_OF_CAMERA, _TO_MIDDLE, _HALF_WIDTH = 4.0, 10.0, 3.3
_MIDDLE = (_WIDTH / 2, 0.555 * _HEIGHT)
_SLOPE = math.hypot(_HEIGHT_OF_CAMERA, _TO_MIDDLE)
_COSINE, _SINE = _TO_MIDDLE / _SLOPE, _HEIGHT_OF_CAMERA / _SLOPE
_FOCAL = _WIDTH / 2 / _HALF_WIDTH * _SLOPE
"""How the cameras hang, in metres, and how far they see."""

_SATURATED = 0.4
_BRIGHT = 100
_COLOURED = 60
_DARK = 125
_SMALLEST = 24
_TORSO_WIDTH = 0.69
"""Metres, inside of the outline."""

_HUES = (
    ("red", 0),
    ("orange", 29),
    ("yellow", 50),
    ("green", 133),
    ("cyan", 186),
    ("blue", 224),
    ("purple", 275),
    ("magenta", 312),
    ("pink", 334),
    ("red", 360),
)
_MIDDLE_HEIGHTS = {"cone": 0.42, "barrel": 0.5, "box": 0.33, "ball": 0.36, "person": 0.86}
"""Metres from the floor to the middle of the coloured part."""

FRONT, BACK, SIDE = "front", "back", "side"

Place = complex
"""Metres along the floor: to the right of the camera's axis, and, as the imaginary part, away from the camera."""


@dataclass(frozen=True)
class Clock:
    """rate: frames per second of the video."""

    number: int
    rate: int

    @property
    def seconds(self) -> float:
        return self.number / self.rate


@dataclass(frozen=True)
class Sighting:
    """A person. x: in pixels from the left, of 256. side: which one is seen. patch: colour of the bib or backpack.

    shirt: empty where somebody else is in front of one half of it.
    """

    place: Place
    x: float
    shirt: str
    side: str
    patch: str
    card: bool


@dataclass(frozen=True)
class Glimpse:
    """One frame. things: kind -> place. lit: a lamp is seen, and it is on."""

    clock: Clock
    people: tuple[Sighting, ...]
    things: dict[str, Place]
    lit: bool


@dataclass(frozen=True)
class _Patch:
    """A coloured patch. The right and lower edges are outside. fill, low_fill: share of the box and of its lower
    third that it covers."""

    x1: int
    y1: int
    x2: int
    y2: int
    fill: float
    low_fill: float
    hue: str

    @property
    def width(self) -> int:
        return self.x2 - self.x1

    @property
    def height(self) -> int:
        return self.y2 - self.y1

    @property
    def middle(self) -> tuple[float, float]:
        return (self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2

    def holds(self, other: _Patch) -> bool:
        x, y = other.middle
        return self.x1 < x < self.x2 and self.y1 < y < self.y2


def read_clock(image: Image.Image) -> Clock | None:
    """The clock at the lower edge of a frame; None where there is none that can be read."""
    cells = _cells(image)
    if cells is None:
        return None
    bits = int("".join("1" if white else "0" for white in cells), 2)
    left = bits
    for place in reversed(range(3, _CELLS)):
        if left >> place & 1:
            left ^= _CHECK << place - 3
    number, rate = bits >> 8, bits >> 3 & 31
    for shift in (1, 2, 4):
        number ^= number >> shift
    return None if left or not rate else Clock(number, rate)


def _cells(image: Image.Image) -> list[bool] | None:
    width, height = image.size
    top = height * (_FLOOR_ENDS + 4) / _HEIGHT
    strip = np.asarray(image.convert("L").crop((0, round(top), width, height - max(1, height // 64))), dtype=np.float64)
    if strip.shape[0] < 2 or width < 4 * _CELLS:
        return None
    levels = []
    for cell in range(_CELLS):
        start, end = (width * (cell + share) / _CELLS for share in (0.3, 0.7))
        levels.append(float(strip[:, round(start) : max(round(end), round(start) + 1)].mean()))
    if any(_BLACK < level < _WHITE for level in levels):
        return None
    return [level >= _WHITE for level in levels]


def look(image: Image.Image) -> Glimpse | None:
    """What a frame shows; None where no clock can be read."""
    clock = read_clock(image)
    if clock is None:
        return None
    picture = image.convert("RGB").resize((_WIDTH, _HEIGHT), Image.Resampling.BICUBIC)
    pixels = np.asarray(picture, dtype=np.int16)[:_FLOOR_ENDS]
    found = _coloured(pixels)
    torsos = [(patch, side) for patch in _outermost(found) if (side := _side(pixels, patch))]
    rest = [patch for patch in found if not any(torso.holds(patch) for torso, _ in torsos)]
    cards = [patch for patch in rest if patch.hue == "magenta"]
    kinds = [(_kind(patch), patch) for patch in rest if patch not in cards]
    return Glimpse(
        clock,
        tuple(seen for torso, side in torsos if (seen := _sighting(pixels, torso, side, cards)).shirt),
        {kind: _place(patch, kind) for kind, patch in kinds if kind in _MIDDLE_HEIGHTS},
        any(kind == "lamp" and patch.hue == "yellow" for kind, patch in kinds),
    )


def _coloured(pixels: Pixels) -> list[_Patch]:
    """Patches of saturated colour that touch no edge of the picture."""
    high, low = pixels.max(axis=2), pixels.min(axis=2)
    whole: Mask = np.asarray((high >= _BRIGHT) & (high - low >= _SATURATED * high))
    found = []
    for patch in patches(whole):
        x1, x2 = min(start for _, start, _ in patch), max(end for _, _, end in patch)
        y1, y2 = patch[0][0], max(y for y, _, _ in patch) + 1
        if sum(end - start for _, start, end in patch) < _SMALLEST or x1 <= 1 or x2 >= _WIDTH - 1 or y1 <= 1:
            continue
        box = whole[y1:y2, x1:x2]
        rows = np.concatenate([np.full(end - start, y) for y, start, end in patch])
        columns = np.concatenate([np.arange(start, end) for _, start, end in patch])
        hue = _hue(pixels[rows, columns])
        found.append(_Patch(x1, y1, x2, y2, float(box.mean()), float(box[-((y2 - y1) // 3) :].mean()), hue))
    return found


def _outermost(found: list[_Patch]) -> list[_Patch]:
    """Without bibs and backpacks, which lie inside of another patch."""
    return [patch for patch in found if not any(o.width > patch.width and o.holds(patch) for o in found)]


def _hue(pixels: Pixels) -> str:
    """Name of the usual colour of some pixels, rows of three values; empty for a grey."""
    red, green, blue = (float(value) for value in np.median(pixels, axis=0))
    if max(red, green, blue) - min(red, green, blue) < _COLOURED:
        return ""
    angle = math.degrees(math.atan2(math.sqrt(3) * (green - blue), 2 * red - green - blue)) % 360
    return min(_HUES, key=lambda named: abs(named[1] - angle))[0]


def _side(pixels: Pixels, torso: _Patch) -> str:
    """Which side of a person is seen, told by the head; empty where a patch is no torso between a head and legs."""
    if not (0.8 < torso.width / torso.height < 1.25 and torso.fill > 0.65):
        return ""
    metre = torso.width / _TORSO_WIDTH
    (x, _), neck, hem = torso.middle, torso.y1, torso.y2
    legs = [_window(pixels, x + side * 0.155 * metre, hem + 0.25 * metre, 0.06 * metre) for side in (-1, 1)]
    cheeks = [_window(pixels, x + side * 0.1 * metre, neck - 0.15 * metre, 0.05 * metre) for side in (-1, 1)]
    if not all(map(_is_dark, legs)) or not all(_is_dark(cheek) or _is_skin(cheek) for cheek in cheeks):
        return ""
    haired = [_is_dark(cheek) for cheek in cheeks]
    return SIDE if haired[0] != haired[1] else BACK if haired[0] else FRONT


def _window(pixels: Pixels, x: float, y: float, half: float) -> Pixels:
    """The pixels of a square, as rows of three values; none where it lies outside."""
    half = max(half, 1)
    rows, columns = (slice(max(round(middle - half), 0), max(round(middle + half), 0)) for middle in (y, x))
    return pixels[rows, columns].reshape(-1, 3)


def _is_dark(window: Pixels) -> bool:
    """Hair, trousers or outline."""
    return bool(len(window)) and float(window.mean(axis=0).max()) < _DARK


def _is_skin(window: Pixels) -> bool:
    if not len(window):
        return False
    red, _, blue = window.mean(axis=0)
    return bool(red > 170 and red - blue > 14)


def _kind(patch: _Patch) -> str:
    """Of a thing, told by its outline; empty where it is like none."""
    ratio = patch.width / patch.height
    if 0.75 < ratio < 1.3 and 0.4 < patch.fill < 0.68:
        return "cone" if patch.low_fill > 0.6 else "lamp"
    if 0.85 < ratio < 1.15 and 0.68 < patch.fill < 0.87:
        return "ball"
    if 0.45 < ratio < 0.75 and patch.fill > 0.87:
        return "barrel"
    return "box" if 1.05 < ratio < 1.4 and patch.fill > 0.9 else ""


def _place(patch: _Patch, kind: str) -> Place:
    """Where on the floor something stands, told by where the middle of its coloured part is seen."""
    x, y = patch.middle
    over = (y - _MIDDLE[1]) / _FOCAL
    away = (_HEIGHT_OF_CAMERA * (_COSINE - over * _SINE) - _MIDDLE_HEIGHTS[kind]) / (over * _COSINE + _SINE)
    return complex((x - _MIDDLE[0]) / _FOCAL * (away * _COSINE + _HEIGHT_OF_CAMERA * _SINE), away)


def _sighting(pixels: Pixels, torso: _Patch, side: str, cards: list[_Patch]) -> Sighting:
    metre = torso.width / _TORSO_WIDTH
    x, y = torso.middle
    patch = _hue(_window(pixels, x, y, 0.12 * metre)) if side != SIDE else ""
    # Where neither bib nor backpack is in the way, more of the shirt is seen.
    out, half = (0.2, 0.1) if side == SIDE else (0.28, 0.04)
    sleeves = [_window(pixels, x + end * out * metre, y - 0.1 * metre, half * metre) for end in (-1, 1)]
    alike = len({hue for hue in map(_hue, sleeves) if hue}) == 1
    shirt = _hue(np.concatenate(sleeves)) if alike else ""
    near = any(math.dist(card.middle, (x + 0.39 * metre, y - 1.1 * metre)) < 0.25 * metre for card in cards)
    return Sighting(_place(torso, "person"), x, shirt, side, patch, near)
