"""Draws the mini data of EgoExo-Next: walks past a few things, seen by two cameras each, and questions about them.

    python -m spotdiff.benchmarks.egoexo_next.mini [OUT]

writes a Hub repository (card, one parquet file a config) into OUT, by default the folder `mini` beside this file.
The same rows and pixels come out each time.

To one who sees the options alone, the right one looks like any other: from left to right it stands at each place
equally often. To one who sees the last observation too, it is the nearest option in a third of the questions at most.
Walks go to the left as often as to the right, and nobody faces where they walk.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.benchmarks import mini_sets
from spotdiff.benchmarks.drawing import Dice
from spotdiff.benchmarks.egoexo_next.mini_clips import STEP, Filmed, films
from spotdiff.benchmarks.egoexo_next.schema import (
    EGO,
    EGO2EXO,
    EXO,
    LATER,
    MATCH,
    OPTION_COLUMNS,
    ORACLE_COLUMNS,
    OTHER,
    PAST,
    TARGET,
    TO_EGO,
    TO_EXO,
    features,
    observations,
)

if TYPE_CHECKING:
    from PIL import Image as PILImage

FOLDER = Path(__file__).with_name("mini")

Row = dict[str, Any]

_LETTERS = "ABCD"
_ROW_GROUP = 4


@dataclass(frozen=True)
class _Walk:
    """Moments of a question about the next state.

    last: the last observation, counted in the direction of the walk from the middle of the path. seen: the three
    before it, options: target first; both counted from the last observation, ahead of it where positive.
    """

    last: int
    seen: tuple[int, int, int]
    options: tuple[int, int, int, int]

    def observed(self, forward: int) -> list[int]:
        return [forward * (self.last + moment) for moment in (*self.seen, 0)]

    def offered(self, forward: int) -> list[tuple[str, int]]:
        """Kind and moment of each option, the target first."""
        kinds = [TARGET, *(LATER if moment > 0 else PAST for moment in self.options[1:])]
        return [(kind, forward * (self.last + moment)) for kind, moment in zip(kinds, self.options, strict=True)]


@dataclass(frozen=True)
class _Pair:
    """Moments of a question about the same moment: the right one, then the other options."""

    moments: tuple[int, int, int, int]

    def offered(self) -> list[tuple[str, int]]:
        return [(OTHER if place else TARGET, moment) for place, moment in enumerate(self.moments)]


_WALKS: Mapping[str, Sequence[tuple[str, _Walk]]] = {
    EGO: (
        ("C", _Walk(0, (-7, -5, -3), (10, -9, -4, -2))),
        ("A", _Walk(-2, (-8, -4, -2), (9, 12, -3, -7))),
        ("B", _Walk(-2, (-8, -6, -4), (3, 5, 7, 11))),
        ("D", _Walk(0, (-10, -8, -4), (4, 8, 10, -3))),
        ("C", _Walk(0, (-8, -5, -2), (5, 9, -10, -3))),
        ("B", _Walk(2, (-8, -6, -4), (8, -5, -10, -3))),
        ("D", _Walk(2, (-12, -7, -3), (4, 6, 8, -5))),
        ("A", _Walk(-3, (-7, -5, -3), (6, 8, 10, 13))),
    ),
    EXO: (
        ("A", _Walk(0, (-10, -8, -3), (10, -2, -7, -4))),
        ("C", _Walk(-1, (-9, -5, -3), (8, 10, -2, -6))),
        ("B", _Walk(-2, (-8, -4, -2), (4, 6, 9, 12))),
        ("D", _Walk(1, (-11, -6, -3), (4, 6, 8, -2))),
        ("D", _Walk(0, (-10, -8, -3), (7, 9, -2, -5))),
        ("B", _Walk(0, (-10, -6, -3), (9, -4, -2, -7))),
        ("C", _Walk(1, (-9, -7, -4), (4, 7, 9, -3))),
        ("A", _Walk(-2, (-7, -4, -2), (2, 4, 8, 12))),
    ),
    EGO2EXO: (
        ("B", _Walk(0, (-10, -7, -4), (8, 10, -6, -3))),
        ("D", _Walk(0, (-10, -6, -2), (10, -5, -3, -8))),
        ("A", _Walk(-2, (-8, -5, -2), (8, 10, 12, -3))),
        ("C", _Walk(-1, (-9, -7, -4), (2, 4, 6, 9))),
        ("A", _Walk(2, (-11, -6, -3), (6, -2, -4, -7))),
        ("C", _Walk(2, (-9, -7, -4), (6, 8, -5, -11))),
        ("D", _Walk(-1, (-9, -6, -4), (2, 4, 6, 11))),
        ("B", _Walk(2, (-9, -5, -2), (4, 6, 8, -7))),
    ),
}
"""Subtask -> right letter and moments, in the order of the clips.

In each scene each number of options ahead occurs once, and the target stands once at each place from the left. In two
thirds of the questions an option behind the last observation is nearer to it than the target.
"""

_PAIRS: Mapping[str, Sequence[tuple[str, _Pair]]] = {
    TO_EXO: (
        ("D", _Pair((-5, 7, 1, -10))),
        ("B", _Pair((7, -2, -6, -10))),
        ("C", _Pair((-10, -4, 10, 2))),
        ("A", _Pair((4, 9, 0, -10))),
        ("B", _Pair((10, -5, -1, 5))),
        ("D", _Pair((-9, -4, 9, 3))),
        ("A", _Pair((-1, -10, -6, 9))),
        ("C", _Pair((-3, -10, 5, 9))),
    ),
    TO_EGO: (
        ("A", _Pair((4, -8, 8, 0))),
        ("C", _Pair((-10, 2, 8, -3))),
        ("D", _Pair((7, 2, -4, -10))),
        ("B", _Pair((-4, -9, 2, 7))),
        ("C", _Pair((1, -4, 10, 5))),
        ("A", _Pair((3, -5, -9, 9))),
        ("B", _Pair((9, -4, 5, 1))),
        ("D", _Pair((-7, -1, 10, 6))),
    ),
}
"""Direction -> right letter and moments, in the order of the clips; one place from the left each in each scene."""


@dataclass(frozen=True)
class _Group:
    """A walk that is asked about in every subtask. letters: right ones, by subtask. pair: for subtask 2."""

    letters: Mapping[str, str]
    walk: _Walk
    pair: _Pair


_GROUPS = (
    _Group(
        {EGO: "A", MATCH: "B", EXO: "C", EGO2EXO: "D"},
        _Walk(0, (-10, -8, -5), (10, -7, -2, -9)),
        _Pair((0, 9, 3, 6)),
    ),
    _Group(
        {EGO: "D", MATCH: "C", EXO: "B", EGO2EXO: "A"},
        _Walk(-2, (-8, -6, -4), (8, 12, -2, -7)),
        _Pair((2, 5, 8, -1)),
    ),
    _Group(
        {EGO: "B", MATCH: "A", EXO: "D", EGO2EXO: "C"},
        _Walk(-2, (-7, -5, -2), (2, 4, 8, 12)),
        _Pair((-2, -8, -5, 1)),
    ),
    _Group(
        {EGO: "C", MATCH: "D", EXO: "A", EGO2EXO: "B"},
        _Walk(1, (-11, -8, -5), (4, 7, 9, -2)),
        _Pair((-1, -10, -4, -7)),
    ),
)
"""In the order of the clips."""


def _next_state(subtask: str, film: Filmed, letter: str, walk: _Walk) -> Row:
    """A question of subtask 1, 3 or 4."""
    seen, asked = _frames(film, "exo" if subtask == EXO else "ego"), _frames(film, "ego" if subtask == EGO else "exo")
    offered = walk.offered(film.forward)
    return {
        **_row(subtask, film, letter, offered, asked),
        **dict(zip(observations(subtask), map(seen, walk.observed(film.forward)), strict=True)),
        "future_candidates": sum(kind != PAST for kind, _ in offered),
    }


def _matching(direction: str, film: Filmed, letter: str, pair: _Pair) -> Row:
    """A question of subtask 2."""
    seen, asked = (_frames(film, view) for view in direction.split("2"))
    (observation,) = observations(MATCH)
    return {
        **_row(MATCH, film, letter, pair.offered(), asked),
        observation: seen(pair.moments[0]),
        "direction": direction,
    }


def _row(
    subtask: str, film: Filmed, letter: str, offered: Sequence[tuple[str, int]], asked: Callable[[int], dict[str, Any]]
) -> Row:
    """What questions of all subtasks have in common. offered: kind and moment of each option, the right one first."""
    right, *others = offered
    options = Dice(f"options: {film.name} {subtask} {letter}").mixed(others)
    options.insert(_LETTERS.index(letter), right)
    return {
        "clip": film.name,
        "subtask": subtask,
        "direction": "",
        "scene": film.scene,
        "source": film.source,
        "group": "",
        "answer": letter,
        "future_candidates": 0,
        "option_kinds": [kind for kind, _ in options],
        **dict.fromkeys((*observations(EGO), *ORACLE_COLUMNS)),
        **{column: asked(moment) for column, (_, moment) in zip(OPTION_COLUMNS, options, strict=True)},
    }


def _frames(film: Filmed, view: str) -> Callable[[int], dict[str, Any]]:
    """What draws the frame of a moment, in the form that a file of the data set holds."""
    draw = film.clip.ego_frame if view == "ego" else film.clip.exo_frame
    return lambda moment: _encoded(draw(STEP * moment))


def _encoded(image: PILImage.Image) -> dict[str, Any]:
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", optimize=True)
    return {"bytes": buffer.getvalue(), "path": None}


def _of_group(subtask: str, number: int, film: Filmed, group: _Group) -> Row:
    letter = group.letters[subtask]
    if subtask == MATCH:
        row = _matching(TO_EXO, film, letter, group.pair)
    else:
        row = _next_state(subtask, film, letter, group.walk)
    if subtask == EGO2EXO:
        last, target = group.walk.observed(film.forward)[-1], group.walk.offered(film.forward)[0][1]
        row |= {"current_exo": _frames(film, "exo")(last), "next_ego": _frames(film, "ego")(target)}
    return {**row, "group": f"mini_group_{number}"}


def configs() -> dict[str, list[Row]]:
    """Name of each config -> its rows, with the columns of `schema.features`."""
    drawn: dict[str, list[Row]] = {}
    for subtask in (EGO, EXO, EGO2EXO):
        asked = zip(films("one view" if subtask == EGO else "two views"), _WALKS[subtask], strict=True)
        drawn[subtask] = [_next_state(subtask, film, letter, walk) for film, (letter, walk) in asked]
    for direction in (TO_EXO, TO_EGO):
        pairs = zip(films("two views"), _PAIRS[direction], strict=True)
        drawn[f"{MATCH}_{direction}"] = [_matching(direction, film, letter, pair) for film, (letter, pair) in pairs]
    for subtask in (EGO, MATCH, EXO, EGO2EXO):
        groups = enumerate(zip(films("matched"), _GROUPS, strict=True), start=1)
        drawn[f"matched_{subtask}"] = [_of_group(subtask, number, film, group) for number, (film, group) in groups]
    return {
        name: [{"id": f"mini_{name}_{number}", **row} for number, row in enumerate(drawn[name], start=1)]
        for name in CONFIGS
    }


CONFIGS = (
    EGO,
    f"{MATCH}_{TO_EXO}",
    f"{MATCH}_{TO_EGO}",
    EXO,
    EGO2EXO,
    *(f"matched_{subtask}" for subtask in (EGO, MATCH, EXO, EGO2EXO)),
)
"""In the order of the benchmark's table."""


def card() -> str:
    """The data card, see `mini_sets.card`."""
    return mini_sets.card("EgoExo-Next mini", mini_sets.IMAGES, CONFIGS, _WORDS)


_WORDS = """\
A few drawn questions of each kind that EgoExo-Next asks, to try a set-up and to test it. They are not part of
EgoExo-Next, and a score on them says nothing about a model. They name its sources, so that tables and controls work as
with the whole data set, and hold no picture of any of them. A seeded script drew the pictures; they are in the public
domain (CC0).
"""


def write(folder: Path) -> None:
    """Write card and parquet files into the folder, which is made if need be; files of the same names are replaced."""
    mini_sets.write_images(folder, card(), configs(), features(), _ROW_GROUP)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
