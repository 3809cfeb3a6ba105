"""The scenes of the mini data: what stands where before and after, and how the camera goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from spotdiff.benchmarks.m3verse.mini_rooms import ROOM_WIDTH, SIZE, Item, Room, Rooms

if TYPE_CHECKING:
    from PIL import Image as PILImage

_DRIFT = 14
"""Pixels that the camera moves on while it looks at a room."""

_LEAVING = (0.12, 0.4)
"""Shares of the way to the next room, in the last frames of a visit; the first frames of the next one mirror them."""


@dataclass(frozen=True)
class Visits:
    """A way through rooms of one width: (which room, for how many frames), neighbours one after the other."""

    visits: tuple[tuple[int, int], ...]

    def __iter__(self) -> Iterator[float]:
        """The camera's left edge in every frame, in pixels."""
        xs = [
            room * ROOM_WIDTH + 3 + _DRIFT * frame / (frames - 1)
            for room, frames in self.visits
            for frame in range(frames)
        ]
        start = 0
        for (_, frames), _ in pairwise(self.visits):
            start += frames
            here, there = xs[start - len(_LEAVING) - 1], xs[start + len(_LEAVING)]
            for step, share in enumerate(_LEAVING):
                xs[start - len(_LEAVING) + step] = here + share * (there - here)
                xs[start + len(_LEAVING) - 1 - step] = there - share * (there - here)
        return iter(xs)


@dataclass(frozen=True)
class Pan:
    """One movement along a wide room: x of the camera's left edge in the first and in the last of so many frames."""

    start: float
    end: float
    frames: int

    def __iter__(self) -> Iterator[float]:
        return (self.start + (self.end - self.start) * frame / (self.frames - 1) for frame in range(self.frames))


@dataclass(frozen=True)
class State:
    """One video: the rooms as they are, the camera's way, and how long each frame is shown.

    durations: milliseconds, repeated over the frames in turn.
    """

    rooms: tuple[Room, ...]
    way: Visits | Pan
    durations: Sequence[int] = (250,)

    def frames(self) -> list[PILImage.Image]:
        rooms = Rooms(self.rooms)
        return [rooms.seen_from(x) for x in self.way]

    def starts(self) -> list[int]:
        """When each frame is shown first, and when the last one ends, in milliseconds."""
        times = [0]
        for number, _ in enumerate(self.way):
            times.append(times[-1] + self.durations[number % len(self.durations)])
        return times


def _fixed(name: str, *furniture: Item) -> tuple[str, tuple[Item, ...]]:
    return name, furniture


def _rooms(
    fixed: Sequence[tuple[str, tuple[Item, ...]]], *things: Sequence[Item], width: int = ROOM_WIDTH
) -> tuple[Room, ...]:
    """Rooms with their furniture, which both states share, and the things of one state."""
    return tuple(
        Room(name, (*furniture, *inside), width) for (name, furniture), inside in zip(fixed, things, strict=True)
    )


def _flat() -> tuple[State, State]:
    """Kitchen, living room and bedroom, passed from left to right before and from right to left after."""
    fixed = (
        _fixed("kitchen", Item("fridge", 54, state="closed"), Item("counter", 180)),
        _fixed("living room", Item("sofa", 98), Item("shelf", 254)),
        _fixed("bedroom", Item("bed", 96), Item("table", 224)),
    )
    before = _rooms(
        fixed,
        [Item("vase", 150, "blue", on="counter"), Item("cup", 206, "green", on="counter"), Item("ball", 286, "red")],
        [
            Item("ceiling lamp", 176, state="on"), Item("cushion", 98, "purple", on="sofa"),
            Item("star", 270, "yellow", on="shelf"), Item("box", 220, "orange", "closed"),
        ],
        [
            Item("floor lamp", 296, state="on"), Item("hat", 110, "pink", on="bed"),
            Item("book", 224, "blue", "closed", on="table"),
        ],
    )  # fmt: skip
    after = _rooms(
        fixed,
        [Item("vase", 150, "blue", on="counter"), Item("hat", 286, "pink")],
        [
            Item("ceiling lamp", 176, state="on"), Item("cushion", 98, "green", on="sofa"),
            Item("cup", 232, "green", on="shelf"), Item("star", 270, "yellow", on="shelf"),
            Item("box", 220, "orange", "open"),
        ],
        [
            Item("floor lamp", 296, state="off"), Item("ball", 110, "red", on="bed"),
            Item("book", 224, "blue", "closed", on="table"),
        ],
    )  # fmt: skip
    return State(before, Visits(((0, 11), (1, 11), (2, 10)))), State(after, Visits(((2, 11), (1, 11), (0, 10))))


def _two_rooms() -> tuple[State, State]:
    """Bedroom and bathroom. Frames are shown for different times."""
    fixed = (
        _fixed("bedroom", Item("bed", 80), Item("table", 232)),
        _fixed("bathroom", Item("bathtub", 92), Item("shelf", 234)),
    )
    before = _rooms(
        fixed,
        [
            Item("TV", 90, state="on"), Item("floor lamp", 296, state="off"), Item("ball", 100, "blue", on="bed"),
            Item("ball", 226, "red", on="table"), Item("ball", 163, "yellow"),
        ],
        [
            Item("ceiling lamp", 120, state="off"), Item("cup", 210, "purple", on="shelf"),
            Item("hat", 258, "green", on="shelf"), Item("vase", 240, "orange"),
        ],
    )  # fmt: skip
    after = _rooms(
        fixed,
        [
            Item("TV", 90, state="on"), Item("floor lamp", 296, state="on"), Item("ball", 100, "blue", on="bed"),
            Item("hat", 208, "green", on="table"), Item("star", 249, "pink", on="table"),
        ],
        [
            Item("ceiling lamp", 120, state="off"), Item("ball", 234, "red", on="shelf"),
            Item("vase", 240, "orange"), Item("cup", 290, "purple"),
        ],
    )  # fmt: skip
    durations = (250, 310, 170, 420, 200)
    return (
        State(before, Visits(((0, 16), (1, 14))), durations),
        State(after, Visits(((1, 10), (0, 12), (1, 9))), durations[::-1]),
    )


def _short_and_long() -> tuple[State, State]:
    """Bathroom, kitchen and living room. The second video is longer, and passes through other rooms."""
    fixed = (
        _fixed("bathroom", Item("bathtub", 92), Item("table", 230)),
        _fixed("kitchen", Item("counter", 82)),
        _fixed("living room", Item("sofa", 98), Item("shelf", 254)),
    )
    bathroom = [Item("floor lamp", 296, state="on"), Item("hat", 230, "red", on="table")]
    living_room = [
        Item("ceiling lamp", 176, state="off"), Item("hat", 98, "orange", on="sofa"),
        Item("star", 236, "purple"), Item("book", 254, "green", "open", on="shelf"),
    ]  # fmt: skip
    before = _rooms(
        fixed,
        bathroom,
        [
            Item("vase", 52, "green", on="counter"), Item("cup", 104, "yellow", on="counter"),
            Item("book", 172, "blue", "closed"), Item("ball", 232, "blue"), Item("box", 290, "red", "closed"),
        ],
        living_room,
    )  # fmt: skip
    after = _rooms(
        fixed,
        bathroom,
        [
            Item("ball", 52, "blue", on="counter"), Item("cup", 104, "yellow", on="counter"),
            Item("book", 172, "blue", "closed"), Item("vase", 232, "green"), Item("box", 290, "red", "closed"),
        ],
        living_room,
    )  # fmt: skip
    return (
        State(before, Visits(((2, 15), (1, 10)))),
        State(after, Visits(((1, 8), (0, 21), (1, 10))), (200,)),
    )


def _wide_room() -> tuple[State, State]:
    """One wide living room, passed from left to right before and from right to left after."""
    width = 820
    fixed = (
        _fixed(
            "living room",
            Item("sofa", 92), Item("table", 252), Item("TV", 372, state="off"), Item("shelf", 492),
            Item("counter", 624), Item("fridge", 746, state="open"),
        ),
    )  # fmt: skip
    before = _rooms(
        fixed,
        [
            Item("cup", 92, "red", on="sofa"), Item("star", 230, "pink", on="table"),
            Item("book", 280, "red", "open", on="table"), Item("box", 360, "blue", "closed"),
            Item("vase", 510, "green", on="shelf"), Item("hat", 520, "purple"),
            Item("cup", 596, "blue", on="counter"), Item("ball", 650, "orange", on="counter"),
        ],
        width=width,
    )  # fmt: skip
    after = _rooms(
        fixed,
        [
            Item("cup", 92, "red", on="sofa"), Item("cup", 230, "yellow", on="table"),
            Item("book", 280, "red", "closed", on="table"), Item("box", 360, "blue", "closed"),
            Item("star", 480, "pink", on="shelf"),
            Item("cup", 596, "blue", on="counter"), Item("ball", 650, "pink", on="counter"),
        ],
        width=width,
    )  # fmt: skip
    last = width - SIZE[0]
    return State(before, Pan(0, last, 36), (200,)), State(after, Pan(last, 0, 36), (200,))


SCENES: dict[str, tuple[State, State]] = {
    "scene_01": _flat(),
    "scene_02": _two_rooms(),
    "scene_03": _short_and_long(),
    "scene_04": _wide_room(),
}
"""Before and after, by the name of the scene."""
