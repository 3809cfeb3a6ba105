"""Which frames of a video are taken, and at which instants those of several videos that run in step."""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from spotdiff.errors import SettingError

_TIE = 1e-4
"""Seconds. Frames whose distances to a wanted time differ by no more are equally near: times come rounded, to a
millisecond in some containers, so that an exact comparison would decide by rounding errors."""


@dataclass(frozen=True)
class Sampling:
    """Which frames are taken, by number, by rate or by instant, and the size they get.

    count: that many, by `even_indices`. fps: so many per second, by `indices_at_fps`. instants: those shown nearest to
    these times, by `indices_at`. Exactly one of them is given.
    size: width and height in pixels, the aspect is not kept; None leaves the size of the file.
    span: first and last frame that `count` chooses among, by default all; the video may have fewer.
    Raises SettingError for a value that cannot be used.
    """

    count: int | None = None
    fps: float | None = None
    size: tuple[int, int] | None = (448, 448)
    instants: tuple[float, ...] | None = None
    span: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if sum(choice is not None for choice in (self.count, self.fps, self.instants)) != 1:
            raise SettingError("Frames are chosen in one way: give count, fps or instants")
        if self.count is not None:
            _check_count(self.count)
        if self.fps is not None:
            _check_fps(self.fps)
        if self.span is not None and (self.count is None or not 0 <= self.span[0] <= self.span[1]):
            raise SettingError(
                f"A span is the first and the last frame that a number of frames is taken of: {self.span}"
            )
        if self.size is not None and not (len(self.size) == 2 and all(_is_positive_int(side) for side in self.size)):
            raise SettingError(f"The size of frames is a width and a height in pixels, such as (448, 448): {self.size}")

    def told(self) -> str:
        """The sampling in words that never change, for the keys of stored frames."""
        chosen = {"count": self.count, "fps": self.fps, "instants": self.instants, "size": self.size, "span": self.span}
        return json.dumps({name: value for name, value in chosen.items() if value is not None})

    def indices(self, times: Sequence[float]) -> list[int]:
        """The frames to take from a video whose frames are shown at these times (seconds, in order)."""
        if self.count is not None:
            first, last = self.span or (0, len(times) - 1)
            frames = min(last + 1, len(times)) - first
            return [first + index for index in even_indices(frames, self.count)] if frames > 0 else []
        if self.fps is not None:
            return indices_at_fps(times, self.fps)
        assert self.instants is not None
        return indices_at(times, self.instants)


def even_indices(frames: int, count: int) -> list[int]:
    """`round(linspace(0, frames - 1, count))`, halves to the even number: evenly spread, both ends included.

    A video with fewer frames than asked gives each frame once, in order. One frame is the first one, as `linspace` has
    it. This is the rule of M3-Verse's uniform frames as we read them (the paper names the number alone).
    """
    _check_count(count)
    if count >= frames:
        return list(range(frames))
    if count == 1:
        return [0]
    step = (frames - 1) / (count - 1)
    return [*(round(index * step) for index in range(count - 1)), frames - 1]


def indices_at_fps(times: Sequence[float], fps: float) -> list[int]:
    """The frames nearest to 0, 1/fps, 2/fps, ... seconds after the first frame, up to the last one.

    times: when each frame is shown, in seconds, never falling. Each frame is taken at most once, in order; of two that
    are equally near, to 0.1 ms, the earlier one. A rate above the video's own gives every frame.
    """
    _check_fps(fps)
    if not times:
        return []
    distinct = [index for index, time in enumerate(times) if index == 0 or time > times[index - 1]]
    shown = [times[index] - times[0] for index in distinct]
    nearest_until = [(here + after + _TIE) / 2 for here, after in pairwise(shown)] + [shown[-1] + _TIE]
    taken = []
    wanted = 0
    for index, until in zip(distinct, nearest_until, strict=True):
        last = math.floor(until * fps)
        if last >= wanted:
            taken.append(index)
            wanted = last + 1
    return taken


def indices_at(times: Sequence[float], instants: Sequence[float]) -> list[int]:
    """The frame shown nearest to each instant (seconds after the first frame), one for each, in order.

    times: when each frame is shown, in seconds, never falling. Of two frames that are equally near, to 0.1 ms, the
    earlier one. A frame is taken as often as instants lie next to it.
    """
    shown = [time - times[0] for time in times]
    return [_nearest(shown, instant) for instant in instants] if shown else []


def _nearest(shown: Sequence[float], instant: float) -> int:
    after = min(bisect_left(shown, instant), len(shown) - 1)
    before = max(after - 1, 0)
    nearest = before if instant - shown[before] <= shown[after] - instant + _TIE else after
    return bisect_left(shown, shown[nearest])


def even_instants(start: float, end: float, count: int) -> tuple[float, ...]:
    """`linspace(start, end, count)`: evenly spread instants, both ends included; one instant is the start."""
    _check_count(count)
    if count == 1:
        return (start,)
    return tuple(start + (end - start) * number / (count - 1) for number in range(count))


def _is_positive_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _check_count(count: int) -> None:
    if not _is_positive_int(count):
        raise SettingError(f"The number of frames is a whole number above 0, not {count!r}")


def _check_fps(fps: float) -> None:
    if isinstance(fps, bool) or not isinstance(fps, (int, float)) or not 0 < fps < math.inf:
        raise SettingError(f"The rate of frames is a number of frames per second above 0, not {fps!r}")
