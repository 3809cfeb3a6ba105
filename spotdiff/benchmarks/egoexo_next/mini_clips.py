"""The clips of the mini data: which things stand where in each scene, who walks past them, and where cameras stand."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from spotdiff.benchmarks.drawing import Colour, Dice
from spotdiff.benchmarks.egoexo_next.mini_things import CARRIED, COLOURS, INDOOR, OUTDOOR, Look
from spotdiff.benchmarks.egoexo_next.mini_views import EXO, Action, Clip, Landmark, Place, Standpoint, Surroundings

STEP = 0.28
"""Metres between two neighbouring moments of a clip."""

LAST_MOMENT = 10
"""Moments are numbered from -10, the left end of the path, to 10, the right end."""

_FAR: tuple[Place, ...] = ((-1.6, 6.0), (0.0, 5.6), (1.6, 6.1))
_NEAR: tuple[Place, ...] = ((-4.6, 4.2), (-2.8, 3.5), (2.8, 3.5), (4.6, 4.3))
"""Where things stand, more or less. The far ones are seen from nearly everywhere, the near ones pass by."""

_WALL = 7.2

_GAP = 3
"""Pixels between two things, and between a thing and the edge, in the picture of the camera that stands still."""

_INSIDE: tuple[tuple[Colour, Colour, Colour, Colour], ...] = (
    ((222, 212, 198), (206, 196, 180), (180, 170, 156), (240, 234, 218)),
    ((206, 204, 200), (222, 220, 214), (168, 166, 164), (224, 234, 238)),
    ((214, 204, 204), (226, 220, 216), (176, 166, 168), (232, 226, 240)),
)
_OUTSIDE: tuple[tuple[Colour, Colour, Colour, Colour], ...] = (
    ((204, 216, 186), (226, 218, 196), (172, 184, 158), (212, 228, 242)),
    ((226, 220, 200), (208, 204, 190), (190, 184, 168), (222, 234, 236)),
    ((206, 212, 202), (224, 224, 220), (172, 178, 170), (230, 230, 242)),
)
"""Ground, path, shadow, and wall or sky: all of them paler than any thing."""

_SHIRTS: tuple[Colour, ...] = ((40, 52, 92), (92, 40, 48), (36, 72, 56), (76, 48, 88), (72, 72, 80))


@dataclass(frozen=True)
class Filmed:
    """A clip and what is said about it. forward: 1 where the walk goes to the right, -1 where it goes to the left."""

    name: str
    scene: str
    source: str
    forward: int
    clip: Clip


_SOURCES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "one view": {"indoor": ("EPIC-KITCHENS-100", "Ego4D"), "outdoor": ("WEAR", "Ego4D")},
    "two views": {"indoor": ("Ego-Exo4D", "EgoExoLearn"), "outdoor": ("Ego-Exo4D", "EgoHumans")},
    "matched": {"indoor": ("Ego-Exo4D",), "outdoor": ("EgoHumans",)},
}
"""Use -> scene -> sources, each of which has two clips for that use."""


@cache
def films(use: str) -> tuple[Filmed, ...]:
    """Indoor clips, then outdoor ones; of the two of each source the first walk goes to the right.

    use: `one view`, `two views` or `matched`.
    """
    found = []
    for scene, sources in _SOURCES[use].items():
        for number, (source, forward) in enumerate((source, way) for source in sources for way in (1, -1)):
            name = f"{scene} {use} {number}"
            found.append(
                Filmed(f"mini_{name.replace(' ', '_')}", scene, source, forward, _clip(name, scene == "indoor"))
            )
    return tuple(found)


def _clip(seed: str, indoor: bool) -> Clip:
    dice = Dice(f"clip: {seed}")
    colours = dice.mixed(list(COLOURS.values()))
    action = Action(
        course=90 + dice.between(-22, 22),
        gaze=dice.between(-8, 8),
        half=STEP * LAST_MOMENT,
        carried=dice.pick(list(CARRIED.values())),
        colour=colours.pop(),
        shirt=dice.pick(_SHIRTS),
    )
    aside = dice.between(-1.1, 1.1)
    exo = Standpoint(EXO, (aside, dice.between(-6.7, -6.0)), -6.5 * aside + dice.between(-1.5, 1.5))
    ground, track, shadow, back = dice.pick(_INSIDE if indoor else _OUTSIDE)
    landmarks = _landmarks(dice, INDOOR if indoor else OUTDOOR, colours)
    while not _apart(landmarks, exo):
        landmarks = _landmarks(dice, INDOOR if indoor else OUTDOOR, colours)
    return Clip(Surroundings(ground, track, shadow, back, _WALL if indoor else None, landmarks), action, exo)


def _landmarks(dice: Dice, looks: Mapping[str, Look], colours: Sequence[Colour]) -> tuple[Landmark, ...]:
    """Each look and each colour once, near one of the places."""
    return tuple(
        Landmark(look, colour, (x + dice.between(-0.3, 0.3), z + dice.between(-0.3, 0.3)))
        for look, colour, (x, z) in zip(dice.mixed(list(looks.values())), colours, (*_FAR, *_NEAR), strict=True)
    )


def _apart(landmarks: Sequence[Landmark], exo: Standpoint) -> bool:
    """Whether the camera that stands still sees all of every thing, with gaps between them."""
    columns = sorted(exo.columns(landmark) for landmark in landmarks)
    inside = columns[0][0] >= _GAP and columns[-1][1] <= exo.camera.size[0] - _GAP
    return inside and all(right + _GAP <= left for (_, right), (left, _) in itertools.pairwise(columns))
