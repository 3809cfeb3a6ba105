"""Draws the mini data of M4Bench: every kind of question, a few of each, with pictures that hold the answer.

    python -m spotdiff.benchmarks.m4bench.mini [OUT]

writes a Hub repository (card, one parquet file a config) into OUT, by default the folder `mini` beside this file.
The same rows and pixels come out each time. Questions are worded as in the released data.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spotdiff.benchmarks import mini_sets
from spotdiff.benchmarks.drawing import Dice
from spotdiff.benchmarks.m4bench import mini_things as things
from spotdiff.benchmarks.m4bench.mini_pictures import GROUNDS, PALETTES, Part, Picture, Place, Thing, spots, stripes
from spotdiff.benchmarks.m4bench.schema import features
from spotdiff.question import Box

if TYPE_CHECKING:
    from PIL import Image as PILImage

FOLDER = Path(__file__).with_name("mini")


_ROW_GROUP = 4
_NO_DIFFERENCE = "No difference."
_SIDES = (181, 209, 211, 237, 239, 265, 267, 293)
"""Widths and heights: no multiples of each other or of a model's patch, so that a box for another size misses."""

_MARGIN = 12
"""Pixels between a thing and the edge of the picture, at least."""

_PROMPT_PAD = 6
"""Pixels between a thing and the box that a visual prompt puts around it, so that a drawn frame covers no part."""


@dataclass(frozen=True)
class Row:
    """One question, with the columns of `schema.features`."""

    id: str
    question: str
    visual_prompt: str
    visual_prompt_boxes: list[Box]
    options: list[str]
    option_boxes: list[list[Box]]
    answer: str
    category: str
    pair: str
    image_sizes: list[tuple[int, int]]
    image_1: dict[str, bytes | None]
    image_2: dict[str, bytes | None]


class _Dice(Dice):
    """With choices of what a picture is like."""

    def size(self, sides: Sequence[int] = _SIDES) -> tuple[int, int]:
        return self.pick(sides), self.pick(sides)

    def two_sizes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Two sizes that differ in width and in height."""
        first = self.size()
        second = self.size()
        while first[0] == second[0] or first[1] == second[1]:
            second = self.size()
        return first, second

    def place(self, thing: Thing, size: tuple[int, int], share: float, stretch: float = 1.0) -> Place:
        """Somewhere in a picture of `size`, as large as fits into `share` of it. stretch: change of the aspect."""
        aspect = thing.aspect * stretch
        room = [share * (side - 2 * _MARGIN) for side in size]
        width = min(room[0], room[1] * aspect)
        height = width / aspect
        left, top = (
            self.between(_MARGIN, side - _MARGIN - extent) for side, extent in zip(size, (width, height), strict=True)
        )
        return Place(left, top, width, height)


def _encoded(image: PILImage.Image) -> dict[str, bytes | None]:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True)
    return {"bytes": buffer.getvalue(), "path": None}


@dataclass(frozen=True)
class _Ask:
    """What all rows of one config have in common."""

    config: str
    question: str
    box_option: str = ""
    visual_prompt: str = ""

    def row(
        self,
        number: int,
        pictures: tuple[PILImage.Image, PILImage.Image],
        options: Sequence[tuple[str, Sequence[Box]]],
        answer: str,
        category: str = "",
        object_boxes: Sequence[Box] = (),
        pair: int | None = None,
    ) -> Row:
        return Row(
            id=f"mini_{self.config}_{number}",
            question=self.question.format(category=category),
            visual_prompt=self.visual_prompt.format(category=category),
            visual_prompt_boxes=list(object_boxes),
            options=[text for text, _ in options],
            option_boxes=[list(boxes) for _, boxes in options],
            answer=answer,
            category=category,
            pair=f"{self.config}_pair_{number if pair is None else pair}",
            image_sizes=[image.size for image in pictures],
            image_1=_encoded(pictures[0]),
            image_2=_encoded(pictures[1]),
        )


_STATE_INVARIANCE = _Ask("state_invariance", "Whether these two pictures show same object? ")
_STATE_COMPARISON = _Ask(
    "state_comparison", "Whether the {category} in the first image and the second image are in the same state? "
)
_SYNTHETIC = _Ask(
    "detailed_difference_synthetic",
    "Which of the following region is the difference between figure 1 and figure 2 ?",
    "<bbox> in figure 1 and <bbox> in figure 2",
)
_NATURAL = _Ask(
    "detailed_difference_natural",
    "Which of the following region is the difference between figure 1 and figure 2?",
    "<bbox> in figure 1 and <bbox> in figure 2",
)
_SPATIAL_PERCEPTION = _Ask(
    "spatial_perception",
    "Which of the following options are semantic corresponding part?",
    "<bbox> in image-1 and <bbox> in image-2",
    "<bbox> in image-1 and <bbox> in image-2 are {category}. ",
)
_INSTANCE_COMPARISON = _Ask(
    "instance_comparison",
    "Which option shows a part pair that is semantic aligned but different?",
    "<bbox> in figure 1 and <bbox> in figure 2",
    "<bbox> in image1 and <bbox> in image2 are {category}. ",
)


def _yes_no(same: bool, answer: str) -> list[tuple[str, Sequence[Box]]]:
    """Yes and No, in the order that gives the right one the letter `answer`."""
    right, wrong = ("Yes", "No") if same else ("No", "Yes")
    return [(right, ()), (wrong, ())] if answer == "A" else [(wrong, ()), (right, ())]


@dataclass(frozen=True)
class _Shown:
    """A thing in one picture: which, in which palette, turned by how many degrees, how large, whole or in halves."""

    thing: Thing
    palette: int
    angle: float
    share: float
    halves: bool = False


def _single(dice: _Dice, size: tuple[int, int], ground: int, shown: _Shown) -> PILImage.Image:
    place = dice.place(shown.thing, size, shown.share)
    # A turned or halved thing needs more room than its place: it goes to the middle.
    left, top = (size[0] - place.width) / 2, (size[1] - place.height) / 2
    picture = Picture(size, ground)
    if shown.halves:
        picture.add_halves(shown.thing, PALETTES[shown.palette], Place(left, top, place.width, place.height), gap=24)
    elif shown.angle:
        picture.add(shown.thing, PALETTES[shown.palette], Place(left, top, place.width, place.height, shown.angle))
    else:
        picture.add(shown.thing, PALETTES[shown.palette], place)
    return picture.finished()


def _state_invariance() -> list[Row]:
    bag, mug, shoe, shirt, car, doll, lamp, bottle = (
        things.BAG, things.MUG, things.SHOE, things.SHIRT, things.CAR, things.DOLL, things.LAMP, things.BOTTLE,
    )  # fmt: skip
    specifications: tuple[tuple[str, bool, _Shown, _Shown], ...] = (
        ("A", True, _Shown(mug, 0, 0, 0.75), _Shown(mug, 0, 135, 0.55)),
        ("B", False, _Shown(shoe, 1, 0, 0.9), _Shown(bag, 1, 20, 0.6)),
        ("B", True, _Shown(shirt, 2, 0, 0.5), _Shown(shirt, 2, 0, 0.7, halves=True)),
        ("A", False, _Shown(bottle, 3, 0, 0.8), _Shown(bottle, 4, 60, 0.7)),
        ("B", True, _Shown(car, 4, 0, 0.95), _Shown(car, 4, 180, 0.6)),
        ("A", False, _Shown(doll, 5, 0, 0.8), _Shown(lamp, 5, 0, 0.7, halves=True)),
        ("A", True, _Shown(bag, 6, 0, 0.75, halves=True), _Shown(bag, 6, 75, 0.5)),
        ("B", False, _Shown(mug, 7, 0, 0.7), _Shown(mug, 1, 0, 0.45)),
    )
    rows = []
    for number, (answer, same, *shown) in enumerate(specifications, start=1):
        dice = _Dice(f"state invariance {number}")
        grounds = dice.mixed(range(len(GROUNDS)))
        first, second = (_single(dice, size, grounds[i], shown[i]) for i, size in enumerate(dice.two_sizes()))
        rows.append(_STATE_INVARIANCE.row(number, (first, second), _yes_no(same, answer), answer))
    return rows


def _state_comparison() -> list[Row]:
    specifications = (
        ("A", "apple", 0, 0),
        ("A", "apple", 0, 1),
        ("B", "coffee", 1, 1),
        ("B", "coffee", 1, 0),
        ("A", "avocado", 1, 1),
        ("B", "avocado", 0, 1),
        ("B", "corn", 0, 0),
        ("A", "egg", 0, 1),
    )
    rows = []
    for number, (answer, food, *states) in enumerate(specifications, start=1):
        dice = _Dice(f"state comparison {number}")
        palette, looks = things.STATES[food]
        grounds = dice.mixed(range(len(GROUNDS)))
        pictures = []
        for ground, size, state in zip(grounds, dice.two_sizes(), states, strict=False):
            picture = Picture(size, ground)
            picture.add(looks[state], palette, dice.place(looks[state], size, dice.between(0.5, 0.85)))
            pictures.append(picture.finished())
        options = _yes_no(states[0] == states[1], answer)
        rows.append(_STATE_COMPARISON.row(number, (pictures[0], pictures[1]), options, answer, food))
    return rows


@dataclass(frozen=True)
class _Item:
    """A thing of a scene."""

    thing: Thing
    palette: int
    place: Place

    @property
    def box(self) -> Box:
        return self.place.box(part.shape for part in self.thing.parts)


def _scene(dice: _Dice, size: tuple[int, int], kinds: Sequence[Thing]) -> list[_Item]:
    """Six things in two rows of three, each somewhere in its own cell, of different sizes."""
    shares = dice.mixed((0.65, 0.72, 0.79, 0.86, 0.93, 1.0))
    width, height = (size[0] - 2 * _MARGIN) / 3, (size[1] - 2 * _MARGIN) / 2
    items = []
    for cell, (thing, share) in enumerate(zip(dice.mixed(kinds), shares, strict=True)):
        room = (share * (width - 8), share * (height - 8))
        extent = min(room[0], room[1] * thing.aspect)
        left = _MARGIN + (cell % 3) * width + dice.between(4, width - 4 - extent)
        top = _MARGIN + (cell // 3) * height + dice.between(4, height - 4 - extent / thing.aspect)
        items.append(_Item(thing, cell, Place(left, top, extent, extent / thing.aspect)))
    return items


def _drawn_scene(size: tuple[int, int], ground: int, items: Sequence[_Item]) -> PILImage.Image:
    picture = Picture(size, ground)
    for item in items:
        picture.add(item.thing, PALETTES[item.palette], item.place)
    return picture.finished()


_RECOLOUR, _REPLACE, _ADD, _REMOVE = "recolour", "replace", "add", "remove"
_CHANGES = (
    ("A", 0, _RECOLOUR),
    ("B", 1, _RECOLOUR),
    ("C", 2, _REPLACE),
    ("C", 0, _ADD),
    ("A", 1, _REPLACE),
    ("B", 2, _REMOVE),
)
"""Right letter, rank by area of the changed region among the three on offer (0: the largest), and what happens from
figure 1 to figure 2."""


def _detailed_difference(ask: _Ask, kinds: Sequence[Thing], other: Thing, ground: int) -> list[Row]:
    rows = []
    for number, (answer, rank, change) in enumerate(_CHANGES, start=1):
        dice = _Dice(f"{ask.config} {number}")
        size = dice.size(_SIDES[3:])
        items = _scene(dice, size, kinds)
        offered = sorted(dice.mixed(items)[:3], key=lambda item: -_area(item.box))
        changed = offered.pop(rank)
        pictures = _with_change(size, ground, items, changed, change, other)
        boxes = dice.mixed([item.box for item in offered])
        boxes.insert("ABC".index(answer), changed.box)
        options: list[tuple[str, Sequence[Box]]] = [(ask.box_option, (box, box)) for box in boxes]
        rows.append(ask.row(number, pictures, [*options, (_NO_DIFFERENCE, ())], answer))
    return rows


def _with_change(
    size: tuple[int, int], ground: int, items: Sequence[_Item], changed: _Item, change: str, other: Thing
) -> tuple[PILImage.Image, PILImage.Image]:
    rest = [item for item in items if item is not changed]
    next_palette = (changed.palette + 1) % len(PALETTES)
    before, after = {
        _RECOLOUR: ([changed], [_Item(changed.thing, next_palette, changed.place)]),
        _REPLACE: ([changed], [_Item(other, next_palette, changed.place)]),
        _REMOVE: ([changed], []),
        _ADD: ([], [changed]),
    }[change]
    return _drawn_scene(size, ground, [*rest, *before]), _drawn_scene(size, ground, [*rest, *after])


def _area(*boxes: Box) -> int:
    return sum((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in boxes)


@dataclass(frozen=True)
class _Twins:
    """Two things of one kind, each in its own picture."""

    things: tuple[Thing, Thing]
    places: tuple[Place, Place]
    pictures: tuple[PILImage.Image, PILImage.Image]

    def box(self, image: int, part: str) -> Box:
        return self.places[image].box(p.shape for p in self.things[image].parts if p.name == part)

    def pair(self, first: str, second: str) -> tuple[Box, Box]:
        return self.box(0, first), self.box(1, second)

    def object_boxes(self) -> list[Box]:
        boxes = []
        for thing, place in zip(self.things, self.places, strict=True):
            x1, y1, x2, y2 = place.box(part.shape for part in thing.parts)
            boxes.append((x1 - _PROMPT_PAD, y1 - _PROMPT_PAD, x2 + _PROMPT_PAD, y2 + _PROMPT_PAD))
        return boxes


def _twins(dice: _Dice, kinds: tuple[Thing, Thing], palettes: tuple[int, int]) -> _Twins:
    """Drawn in pictures of two sizes, at different places and scales, one a little wider than the other."""
    sizes = dice.two_sizes()
    grounds = dice.mixed(range(len(GROUNDS)))
    shares = dice.mixed((dice.between(0.66, 0.76), dice.between(0.88, 0.97)))
    stretches = dice.mixed((0.92, 1.12))
    places, pictures = [], []
    for thing, palette, size, ground, share, stretch in zip(
        kinds, palettes, sizes, grounds, shares, stretches, strict=False
    ):
        place = dice.place(thing, size, share, stretch)
        picture = Picture(size, ground)
        picture.add(thing, PALETTES[palette], place)
        places.append(place)
        pictures.append(picture.finished())
    return _Twins(kinds, (places[0], places[1]), (pictures[0], pictures[1]))


def _spatial_perception() -> list[Row]:
    """Part p of image 1 and of image 2 correspond; q and r are other parts, for the wrong options."""
    specifications: tuple[tuple[str, str, Thing, int, tuple[str, str, str]], ...] = (
        ("C", "bottle", things.BOTTLE, 1, ("label", "neck", "body")),
        ("A", "chair", things.CHAIR, 2, ("back", "seat", "crossbar")),
        ("D", "shoe", things.SHOE, 3, ("tongue", "toe", "sole")),
        ("B", "car_(automobile)", things.CAR, 4, ("cabin", "headlamp", "body")),
        ("B", "lamp", things.LAMP, 5, ("foot", "pole", "shade")),
        ("D", "mug", things.MUG, 6, ("body", "rim", "emblem")),
        ("A", "bottle", things.BOTTLE, 1, ("cap", "label", "neck")),
        ("C", "shoe", things.SHOE, 3, ("sole", "tongue", "upper")),
    )
    rows = []
    for number, (answer, category, thing, pair, (p, q, r)) in enumerate(specifications, start=1):
        # The same seed gives the same pictures: some pairs are asked about twice.
        twins = _twins(_Dice(f"spatial perception {pair}"), (thing, thing), (pair, pair + 1))
        # Each box stands in two options, so that counting boxes gives nothing away.
        pairs = _Dice(f"spatial perception options {number}").mixed([(p, r), (q, p), (q, r)])
        pairs.insert("ABCD".index(answer), (p, p))
        options = [(_SPATIAL_PERCEPTION.box_option, twins.pair(*names)) for names in pairs]
        rows.append(
            _SPATIAL_PERCEPTION.row(number, twins.pictures, options, answer, category, twins.object_boxes(), pair)
        )
    return rows


def _recoloured(thing: Thing, name: str) -> Thing:
    """The part in the colour of the next one of the palette."""
    part = _part(thing, name)
    return thing.with_part(name, colour=(part.colour + 1) % len(PALETTES[0]))


def _striped(thing: Thing, name: str) -> Thing:
    return thing.with_part(name, marks=stripes(_part(thing, name), 3))


def _spotted(thing: Thing, name: str) -> Thing:
    return thing.with_part(name, marks=spots(_part(thing, name), 4, 2))


def _part(thing: Thing, name: str) -> Part:
    return next(part for part in thing.parts if part.name == name)


def _instance_comparison() -> list[Row]:
    """The second product differs in one part, or in none; a pair of two different parts is offered here and there."""
    specifications: tuple[tuple[str, str, Thing, Thing, tuple[tuple[str, str], ...]], ...] = (
        ("D", "clothing", things.SHIRT, things.SHIRT, (("collar", "collar"), ("body", "body"), ("pocket", "pocket"))),
        (
            "B",
            "accessories",
            things.BAG,
            _striped(things.BAG, "flap"),
            (("handle", "handle"), ("flap", "flap"), ("buckle", "buckle")),
        ),
        (
            "D",
            "shoes",
            things.SHOE,
            _recoloured(things.SHOE, "tongue"),
            (("sole", "sole"), ("toe", "toe"), ("heel", "heel")),
        ),
        (
            "A",
            "daily_necessities",
            things.MUG,
            _recoloured(things.MUG, "emblem"),
            (("emblem", "emblem"), ("body", "rim"), ("handle", "handle")),
        ),
        ("D", "dolls", things.DOLL, things.DOLL, (("hat", "hat"), ("head", "body"), ("body", "body"))),
        (
            "C",
            "furniture",
            things.CHAIR,
            _spotted(things.CHAIR, "seat"),
            (("back", "back"), ("crossbar", "crossbar"), ("seat", "seat")),
        ),
    )
    rows = []
    for number, (answer, category, *products, pairs) in enumerate(specifications, start=1):
        twins = _twins(_Dice(f"instance comparison {number}"), (products[0], products[1]), (number, number))
        options: list[tuple[str, Sequence[Box]]] = [
            (_INSTANCE_COMPARISON.box_option, twins.pair(*names)) for names in pairs
        ]
        options.append((_NO_DIFFERENCE, ()))
        rows.append(_INSTANCE_COMPARISON.row(number, twins.pictures, options, answer, category, twins.object_boxes()))
    return rows


_INDOORS = (things.LAMP, things.CHAIR, things.MUG, things.BOTTLE, things.BAG, things.DOLL)
_OUTDOORS = (things.HOUSE, things.TREE, things.CAR, things.BALLOON, things.TREE, things.HOUSE)

CONFIGS: Mapping[str, Callable[[], list[Row]]] = {
    "state_invariance": _state_invariance,
    "state_comparison": _state_comparison,
    "detailed_difference_synthetic": lambda: _detailed_difference(_SYNTHETIC, _INDOORS, things.SHIRT, 2),
    "detailed_difference_natural": lambda: _detailed_difference(_NATURAL, _OUTDOORS, things.DOLL, 1),
    "spatial_perception": _spatial_perception,
    "instance_comparison": _instance_comparison,
}
"""Name of each config, and what draws its rows."""


def card() -> str:
    """The data card, see `mini_sets.card`."""
    return mini_sets.card("M4Bench mini", mini_sets.IMAGES, CONFIGS, _WORDS)


_WORDS = """\
A few drawn questions of each kind that M4Bench asks, to try a set-up and to test it. They are not part of M4Bench, and
a score on them says nothing about a model. A seeded script drew the pictures; they are in the public domain (CC0).
"""


def write(folder: Path) -> None:
    """Write card and parquet files into the folder, which is made if need be; files of the same names are replaced."""
    rows = {name: [asdict(row) for row in drawn()] for name, drawn in CONFIGS.items()}
    mini_sets.write_images(folder, card(), rows, features(), _ROW_GROUP)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
