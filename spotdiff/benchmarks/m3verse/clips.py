"""A video cut into clips that follow each other, for the Text-Oracle probe (Wei et al., 5.1 and Appendix C)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Clip:
    """Frames `first` to `last` of a video. start, end: when the first one appears and the last one goes, in seconds
    after the beginning of the video. total: length of the video in seconds."""

    first: int
    last: int
    start: float
    end: float
    total: float

    @property
    def timestamps(self) -> str:
        return f"{seconds(self.start)} - {seconds(self.end)}"


def clips_of(times: Sequence[float], length: int) -> Iterator[Clip]:
    """Clips of so many frames, which hold every frame once; the last one has what is left.

    times: when each frame is shown, in seconds after the first one, never falling. The last frame is taken to last as
    long as the one before it, since nothing follows that would tell.
    """
    total = times[-1] + (times[-1] - times[-2] if len(times) > 1 else 0.0)
    edges = [*times, total]
    for first in range(0, len(times), length):
        last = min(first + length, len(times)) - 1
        yield Clip(first, last, edges[first], edges[last + 1], total)


def seconds(value: float) -> str:
    """To a hundredth, which is less than half a frame up to 100 frames a second."""
    return f"{value:.2f}s"
