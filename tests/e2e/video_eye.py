"""What the video-reading server sees in one frame: rooms with pale walls, and flat shapes with dark outlines in them.

It knows what a few things look like, as a person does, and no scene of any data set. It looks at frames of any size, at
such that were stretched, and at JPEG as well as PNG.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image
from pixel_eye import Mask, Pixels, over_neighbours, patches

Tint = tuple[int, int, int]

_WIDTH, _HEIGHT = 320, 240
_PALE = 176
_DARK = 96
_CELLS = 8
_SMALLEST = 60
_UNLIKE = 0.2
_SIZE_RATIO = 1.3
_BELOW = 12
_COLOURED = 48

FLOOR = "floor"


@dataclass(frozen=True)
class _Picture:
    """How a thing looks: extent inside of its outline, in a frame of 320 x 240, and coverage of 8 x 8 cells.

    Cells are full (#), half (+) or empty (.). state: what this look means, where the look tells.
    """

    kind: str
    state: str
    width: int
    height: int
    cells: str

    def coverage(self) -> npt.NDArray[np.float64]:
        levels = [{"#": 1.0, "+": 0.5, ".": 0.0}[cell] for row in self.cells.split() for cell in row]
        return np.array(levels).reshape(_CELLS, _CELLS)


_PICTURES: tuple[_Picture, ...] = (
    _Picture("ball", "", 30, 29, ".+###++. .######. +######+ ######## ######## +######+ .######. ..+##+.."),
    _Picture("cup", "", 23, 25, "######## +######+ +######+ +######+ .######. .######. .+####+. .+####+."),
    _Picture("vase", "", 22, 39, "...##... ...++... ...++... ..+##+.. +######+ ######## +######+ .######."),
    _Picture("cushion", "", 34, 25, "++....+# +##++##+ .######. .######. .######. +######+ +##++##+ +.....++"),
    _Picture("star", "", 26, 24, "...++... ...##... .++##++. +######+ .+####+. .+####.. .+####.. .++..++."),
    _Picture("hat", "", 42, 25, "..+##+.. ..###+.. ..###+.. ..###+.. ..###+.. ..####.. +######+ ########"),
    _Picture("box", "closed", 38, 29, "######## ######## ##+..+## ##++++## ######## ######## ######## ########"),
    _Picture("box", "open", 49, 34, "+......+ #######+ +######+ .######. .######. .######. .######. .######."),
    _Picture("book", "closed", 42, 11, "######## ######## ######## ######## ######## ######## ######## ########"),
    _Picture("book", "open", 54, 19, "+......+ #......# ##....## +##..+#+ .+#++##. ..####.. ...##+.. ...++..."),
    _Picture("floor lamp", "", 41, 28, "..####.. .+####+. .+####+. .######. +######. +######+ +######+ ########"),
    _Picture("ceiling lamp", "", 58, 25, "...##... ..####.. .+####+. .######. +######+ +######+ ######## ########"),
    _Picture("TV", "", 70, 38, "######## ######## ######## ######## ######## ######## ######## ########"),
    _Picture("fridge", "closed", 54, 107, "######## ######## ######.+ ######.+ ######+# ######## ######## ########"),
    _Picture("fridge", "open", 32, 111, "###+++++ ######## ######## ######## ######## ######## ######## ++######"),
    _Picture("counter", "", 103, 51, "######## +######+ .######. .#++++#. .#+..+#. .#+..+#. .#+..+#. .##++##."),
    _Picture("sofa", "", 121, 46, "#......# #......# #......# #......# ######## ######## ######## ########"),
    _Picture("bed", "", 123, 61, "+....... +....... +....... +....... ######## ######## +++++++# .......+"),
    _Picture("bathtub", "", 115, 43, "######## ######## ######## +######+ +######+ +######. .######. .+####+."),
    _Picture("table", "", 96, 51, "######## ++++++++ ++....++ ++....++ ++....++ ++....++ ++....++ .+....++"),
    _Picture("shelf", "", 92, 9, "######## ######## ######## ######## ######## ######## ######## ########"),
)

_HUES = (
    ("red", 0),
    ("orange", 30),
    ("yellow", 50),
    ("green", 130),
    ("blue", 222),
    ("purple", 276),
    ("pink", 334),
    ("red", 360),
)
_POWERED = ("floor lamp", "ceiling lamp", "TV")


@dataclass(frozen=True)
class Sighting:
    """A thing that is wholly visible in a frame.

    state: open, closed, on, off, or empty. on: kind of what it stands on, or the floor. wall: tint of the room's walls.
    """

    kind: str
    colour: str
    state: str
    on: str
    wall: Tint


@dataclass(frozen=True)
class View:
    """One frame. wall: tint of the walls where the camera points at."""

    wall: Tint
    things: tuple[Sighting, ...]


@dataclass(frozen=True)
class _Region:
    """A patch of one colour. box: x1, y1, x2, y2, the last two outside."""

    box: tuple[int, int, int, int]
    rgb: tuple[int, int, int]
    kind: str
    state: str


def look(image: Image.Image) -> View | None:
    """What a frame shows; None where no room can be seen."""
    picture = np.asarray(image.convert("RGB").resize((_WIDTH, _HEIGHT), Image.Resampling.BILINEAR), dtype=np.int16)
    walls = _walls(picture)
    if not walls:
        return None
    known = [region for region in _regions(picture) if region.kind]
    things = tuple(
        Sighting(region.kind, _colour(region.rgb), _state(region), _support(region, known), _wall_at(walls, region.box))
        for region in known
    )
    return View(_wall_at(walls, (0, 0, _WIDTH, _HEIGHT)), things)


def _walls(picture: Pixels) -> list[tuple[int, int, Tint]]:
    """First and last column and tint of every stretch of wall between two dark partitions."""
    upper = picture[: _HEIGHT * 2 // 3]
    partition = (upper.max(axis=2) < _DARK).mean(axis=0) > 0.9
    pale = upper.min(axis=2) >= _PALE
    stretches = []
    edges = np.flatnonzero(np.diff(np.concatenate(([1], partition.astype(np.int8), [1]))))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        wall = upper[:, start:end][pale[:, start:end]]
        if end - start > 12 and len(wall) > 0.25 * upper.shape[0] * (end - start):
            red, green, blue = (int(value) for value in np.median(wall, axis=0))
            stretches.append((int(start), int(end), (red, green, blue)))
    return stretches


def _wall_at(walls: Sequence[tuple[int, int, Tint]], box: tuple[int, int, int, int]) -> Tint:
    """Of the stretch that is nearest to the middle of a box."""
    middle = (box[0] + box[2]) / 2
    return min(walls, key=lambda wall: max(wall[0] - middle, middle - wall[1], 0))[2]


def _regions(picture: Pixels) -> list[_Region]:
    """Patches that are neither pale nor dark and touch neither side of the frame."""
    inside: Mask = over_neighbours(
        np.asarray((picture.min(axis=2) < _PALE) & (picture.max(axis=2) >= _DARK)), np.logical_and
    )
    found = []
    for patch in patches(inside):
        rows = np.concatenate([np.full(end - start, y) for y, start, end in patch])
        columns = np.concatenate([np.arange(start, end) for _, start, end in patch])
        x1, y1, x2, y2 = int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1
        if len(rows) < _SMALLEST or x1 <= 2 or x2 >= _WIDTH - 2:
            continue
        red, green, blue = (int(value) for value in np.median(picture[rows, columns], axis=0))
        mask = np.zeros((y2 - y1, x2 - x1))
        mask[rows - y1, columns - x1] = 1
        kind, state = _recognised(mask)
        found.append(_Region((x1, y1, x2, y2), (red, green, blue), kind, state))
    return found


def cells(mask: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Share of each of 8 x 8 cells that a mask covers."""
    image = Image.fromarray((mask * 255).astype(np.uint8)).resize((_CELLS, _CELLS), Image.Resampling.BOX)
    return np.asarray(image, dtype=np.float64) / 255


def _recognised(mask: npt.NDArray[np.float64]) -> tuple[str, str]:
    """Kind and state of the picture that a patch is most alike; empty where it is like none."""
    height, width = mask.shape
    coverage = cells(mask)
    best = (_UNLIKE, "", "")
    for picture in _PICTURES:
        ratios = (width / picture.width, height / picture.height)
        # A pixel more or less matters much to what is thin.
        if abs(width - picture.width) > 3 and not 1 / _SIZE_RATIO < ratios[0] < _SIZE_RATIO:
            continue
        if abs(height - picture.height) > 3 and not 1 / _SIZE_RATIO < ratios[1] < _SIZE_RATIO:
            continue
        unlike = float(np.abs(coverage - picture.coverage()).mean())
        best = min(best, (unlike, picture.kind, picture.state))
    return best[1], best[2]


def _state(region: _Region) -> str:
    if region.kind not in _POWERED:
        return region.state
    return "on" if max(region.rgb) - min(region.rgb) >= _COLOURED else "off"


def _support(thing: _Region, others: Sequence[_Region]) -> str:
    """What is right below a thing."""
    x1, _, x2, bottom = thing.box
    middle = (x1 + x2) / 2
    for other in others:
        left, top, right, lowest = other.box
        if other is not thing and left < middle < right and top < bottom + _BELOW and bottom < lowest:
            return other.kind
    return FLOOR


def _colour(rgb: tuple[int, int, int]) -> str:
    """Name of a colour; empty for a grey."""
    high, low = max(rgb), min(rgb)
    if high - low < _COLOURED:
        return ""
    red, green, blue = rgb
    hue = math.degrees(math.atan2(math.sqrt(3) * (green - blue), 2 * red - green - blue)) % 360
    return min(_HUES, key=lambda named: abs(named[1] - hue))[0]
