"""Draws rooms side by side with all that is in them, as a camera sees them that passes along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spotdiff.benchmarks.drawing import Colour
from spotdiff.benchmarks.m3verse.mini_things import COLOURS, DARK, FURNITURE_COLOURS, LOOKS, TOPS

if TYPE_CHECKING:
    from PIL import Image as PILImage

SIZE = (320, 240)
"""Width and height of a video, in pixels."""

ROOM_WIDTH = 340
"""A little more than a camera sees."""

WALLS: Mapping[str, Colour] = {
    "kitchen": (240, 230, 192),
    "living room": (200, 222, 242),
    "bedroom": (242, 210, 220),
    "bathroom": (204, 236, 212),
}
_FLOOR: Colour = (224, 208, 192)
_SKIRTING: Colour = (72, 64, 64)
_PARTITION = 12
_FLOOR_TOP = 176
_FURNITURE_BASE = 206
_THINGS_BASE = 222
_SHELF_TOP = 92
_TV_TOP = 24
_OUTLINE = 3

_FINE = 2
"""Frames are drawn this many times larger and averaged, for smooth edges."""


@dataclass(frozen=True)
class Item:
    """Something in a room. x: its middle, from the room's left wall. on: the furniture it stands on, or the floor."""

    kind: str
    x: float
    colour: str = ""
    state: str = ""
    on: str = "floor"

    def base(self) -> float:
        """y of its lower edge, in pixels."""
        height = LOOKS[self.kind, self.state].height
        if self.kind == "ceiling lamp":
            return height
        if self.kind == "TV":
            return _TV_TOP + height
        if self.kind == "shelf":
            return _SHELF_TOP + height
        if self.kind in FURNITURE_COLOURS or self.kind == "floor lamp":
            return _FURNITURE_BASE
        return _THINGS_BASE if self.on == "floor" else _top(self.on)


def _top(furniture: str) -> float:
    """y of the place where things stand on it."""
    height = LOOKS[furniture, ""].height
    return Item(furniture, 0).base() - height + TOPS[furniture] * height


@dataclass(frozen=True)
class Room:
    """A room and its width in pixels."""

    name: str
    items: tuple[Item, ...]
    width: int = ROOM_WIDTH


class Rooms:
    """Rooms in a row, drawn once; a camera sees parts of the drawing."""

    def __init__(self, rooms: Sequence[Room]) -> None:
        from PIL import Image, ImageDraw

        width = sum(room.width for room in rooms)
        self._canvas = Image.new("RGB", (width * _FINE, SIZE[1] * _FINE), _FLOOR)
        self._pen = ImageDraw.Draw(self._canvas)
        left = 0
        for room in rooms:
            self._walls(left, room)
            for item in room.items:
                self._item(left, item)
            left += room.width
        self._whole = self._canvas.reduce(_FINE)

    def seen_from(self, x: float) -> PILImage.Image:
        """The frame of a camera whose left edge is at x, in pixels from the left end of the row."""
        left = min(max(round(x), 0), self._whole.width - SIZE[0])
        return self._whole.crop((left, 0, left + SIZE[0], SIZE[1]))

    def _walls(self, left: int, room: Room) -> None:
        right = left + room.width
        self._rectangle(left, 0, right, _FLOOR_TOP, WALLS[room.name])
        self._rectangle(left, _FLOOR_TOP - 2, right, _FLOOR_TOP, _SKIRTING)
        for edge in (left, right):
            self._rectangle(edge - _PARTITION / 2, 0, edge + _PARTITION / 2, SIZE[1], _SKIRTING)

    def _rectangle(self, x1: float, y1: float, x2: float, y2: float, colour: Colour) -> None:
        self._pen.rectangle((x1 * _FINE, y1 * _FINE, x2 * _FINE - 1, y2 * _FINE - 1), fill=colour)

    def _item(self, left: int, item: Item) -> None:
        look = LOOKS[item.kind, item.state]
        own = COLOURS[item.colour] if item.colour else FURNITURE_COLOURS.get(item.kind, DARK)
        x0, y0 = left + item.x - look.width / 2, item.base() - look.height
        for part in look.parts:
            points = [((x0 + x * look.width) * _FINE, (y0 + y * look.height) * _FINE) for x, y in part.shape]
            self._pen.polygon(points, fill=part.colour or own)
            self._pen.line([*points, *points[:2]], fill=DARK, width=_OUTLINE * _FINE, joint="curve")
