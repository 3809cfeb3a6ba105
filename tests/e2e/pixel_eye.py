"""What the pixel-reading server sees: flat-coloured parts with dark outlines on grey grounds.

It knows this way of drawing, as a person does, and no picture of any data set. All of it works on images that went
through JPEG, and on two that stand side by side in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

Pixels = npt.NDArray[np.int16]
Mask = npt.NDArray[np.bool_]
Bounds = tuple[float, float, float, float]
"""x1, y1, x2, y2 in pixels, the right and lower edge outside."""

_DARK = 84
_COLOURFUL = 42
_BRIGHT = 124
_SMALLEST_PART = 16
_CHANGE = 48
_OUTLINE = 2.0


class CannotTell(Exception):
    """What is seen does not fit the question."""


@dataclass(frozen=True)
class Region:
    """A connected patch of colour. bounds: with its outline. colours: share of each of 64 coarse colours."""

    bounds: Bounds
    colours: npt.NDArray[np.float64]


def pixels(image: Image.Image) -> Pixels:
    """Height x width x 3."""
    return np.asarray(image.convert("RGB"), dtype=np.int16)


def two_pictures(images: Sequence[Image.Image]) -> tuple[Pixels, Pixels]:
    """The two pictures in the order they came: two images, or one that holds both side by side."""
    if len(images) == 2:
        return pixels(images[0]), pixels(images[1])
    if len(images) == 1:
        return _halves(pixels(images[0]))
    raise CannotTell(f"{len(images)} images")


def _halves(joined: Pixels) -> tuple[Pixels, Pixels]:
    """Pictures have a dark frame: two of them side by side show a dark band from top to bottom where they meet."""
    dark_columns = _dark_lines(joined, axis=0)
    bands = [(start, end) for start, end in _runs(dark_columns) if start > 0 and end < joined.shape[1]]
    if len(bands) != 1:
        raise CannotTell(f"{len(bands)} seams in one image")
    seam = round(sum(bands[0]) / 2)
    return _without_black_below(joined[:, :seam]), _without_black_below(joined[:, seam:])


def _without_black_below(picture: Pixels) -> Pixels:
    bright = np.flatnonzero(~_dark_lines(picture, axis=1))
    if len(bright) == 0:
        raise CannotTell("a dark picture")
    frame = int(bright[0])
    return picture[: int(bright[-1]) + 1 + frame]


def _dark_lines(picture: Pixels, axis: int) -> npt.NDArray[np.bool_]:
    """Columns (axis 0) or rows (axis 1) that are dark from end to end, but for a little noise."""
    return np.asarray((picture.max(axis=2) < _DARK).mean(axis=axis) >= 0.96)


def _runs(flags: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and end (outside) of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def colourful(picture: Pixels) -> Mask:
    """Where things are: neither grey ground nor dark outline."""
    high, low = picture.max(axis=2), picture.min(axis=2)
    return np.asarray((high - low >= _COLOURFUL) & (high >= _BRIGHT))


def colour_shares(picture: Pixels, where: Mask) -> npt.NDArray[np.float64]:
    """Share of each of 64 colours (four steps a channel) among the pixels of a mask."""
    steps = picture[where].astype(np.int64) // 64
    if len(steps) == 0:
        raise CannotTell("nothing but ground")
    counts = np.bincount(steps[:, 0] * 16 + steps[:, 1] * 4 + steps[:, 2], minlength=64).astype(np.float64)
    return counts / len(steps)


def difference(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    """0 where two colour mixtures are the same, 1 where they share nothing."""
    return float(np.abs(first - second).sum() / 2)


def regions(picture: Pixels, window: Bounds | None = None) -> list[Region]:
    """All patches of colour, or those inside a window."""
    mask = colourful(picture)
    if window is not None:
        left, top, right, bottom = (max(0, round(edge)) for edge in window)
        inside = np.zeros_like(mask)
        inside[top:bottom, left:right] = True
        mask &= inside
    found = []
    for patch in patches(mask):
        rows = np.concatenate([np.full(end - start, y) for y, start, end in patch])
        columns = np.concatenate([np.arange(start, end) for _, start, end in patch])
        if len(rows) < _SMALLEST_PART:
            continue
        where = np.zeros_like(mask)
        where[rows, columns] = True
        x1, y1, x2, y2 = (float(edge) for edge in (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1))
        bounds = (x1 - _OUTLINE, y1 - _OUTLINE, x2 + _OUTLINE, y2 + _OUTLINE)
        found.append(Region(bounds, colour_shares(picture, where)))
    return found


def patches(mask: Mask) -> list[list[tuple[int, int, int]]]:
    """Connected patches, each as its runs (row, start, end)."""
    runs: list[tuple[int, int, int]] = []
    owner: list[int] = []

    def root(index: int) -> int:
        while owner[index] != index:
            owner[index] = owner[owner[index]]
            index = owner[index]
        return index

    above: list[int] = []
    for y, row in enumerate(mask):
        current = []
        for start, end in _runs(row):
            index = len(runs)
            runs.append((y, start, end))
            owner.append(index)
            current.append(index)
            for other in above:
                if runs[other][1] < end and start < runs[other][2]:
                    owner[root(other)] = root(index)
        above = current
    patches: dict[int, list[tuple[int, int, int]]] = {}
    for index, run in enumerate(runs):
        patches.setdefault(root(index), []).append(run)
    return list(patches.values())


def around(boxes: Sequence[Bounds]) -> Bounds:
    """The box around all boxes."""
    if not boxes:
        raise CannotTell("nothing but ground")
    return min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)


def changed(first: Pixels, second: Pixels) -> Bounds:
    """The box around all that differs between two pictures of one size."""
    if first.shape != second.shape:
        raise CannotTell("two sizes")
    different = (np.abs(first - second) > _CHANGE).any(axis=2)
    # Noise of JPEG is one or two pixels wide and lies apart; thin lines of a change lie next to its core.
    near = over_neighbours(different, np.logical_and)
    for _ in range(5):
        near = over_neighbours(near, np.logical_or)
    ys, xs = np.nonzero(near & different)
    if len(xs) == 0:
        raise CannotTell("no difference")
    return float(xs.min()), float(ys.min()), float(xs.max()) + 1, float(ys.max()) + 1


def over_neighbours(mask: Mask, combine: np.ufunc) -> Mask:
    """Each pixel combined with its eight neighbours; outside counts as false."""
    height, width = mask.shape
    padded = np.pad(mask, 1)
    return np.asarray(combine.reduce([padded[y : y + height, x : x + width] for y in range(3) for x in range(3)]))


def red_frame(picture: Pixels) -> Bounds:
    """The one red frame that is drawn on a picture."""
    red, green, blue = picture[:, :, 0], picture[:, :, 1], picture[:, :, 2]
    is_red = (red - np.maximum(green, blue) > 84) & (np.abs(green - blue) < 60)
    xs, ys = np.flatnonzero(is_red.any(axis=0)), np.flatnonzero(is_red.any(axis=1))
    if len(xs) == 0:
        raise CannotTell("no red box")
    x1, y1, x2, y2 = int(xs[0]), int(ys[0]), int(xs[-1]) + 1, int(ys[-1]) + 1
    sides = (is_red[y1 : y1 + 3].any(axis=0).sum(), is_red[y2 - 3 : y2].any(axis=0).sum())
    uprights = (is_red[:, x1 : x1 + 3].any(axis=1).sum(), is_red[:, x2 - 3 : x2].any(axis=1).sum())
    if min(sides) < 0.9 * (x2 - x1) or min(uprights) < 0.9 * (y2 - y1):
        raise CannotTell("red, but no frame")
    return float(x1), float(y1), float(x2), float(y2)
