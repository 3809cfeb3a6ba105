"""The scenes of the mini data: who and what is where, when, and which cameras record it.

In `hall_01` and `hall_02` two cameras look at each other: one sees the bibs, the other one the backpacks, and what is
out of the first one's sight. In `hall_03` and `hall_04` one camera sees a lamp, the other one where people are while it
is lit. In `hall_05` and `hall_06` the cameras see different people, some of whom hold up a card.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spotdiff.benchmarks.mvvbench.mini_drawing import frame
from spotdiff.benchmarks.mvvbench.mini_world import EARLY, LATE, Camera, Lamp, Person, Thing, World
from spotdiff.benchmarks.mvvbench.schema import SOURCES

if TYPE_CHECKING:
    from PIL import Image as PILImage

SOUTH, EAST, NORTH, WEST = range(4)


@dataclass(frozen=True)
class View:
    """A camera's recording. rate: frames per second. frames: their number."""

    camera: Camera
    rate: int
    frames: int


@dataclass(frozen=True)
class Scene:
    """views: by their numbers, rising."""

    source: str
    world: World
    views: Mapping[int, View]

    def frames(self, number: int) -> Iterator[PILImage.Image]:
        view = self.views[number]
        return (frame(self.world, view.camera, place, view.rate) for place in range(view.frames))


_EGO_EXO, _PANOPTIC, _MMPTRACK = SOURCES

_HALL_01 = World(
    people=(
        Person("cyan", "red", "orange", SOUTH, (-1.6, -3.0), (-1.8, -3.2)),
        Person("cyan", "yellow", "green", SOUTH, (2.2, -0.6), (2.0, -0.4)),
        Person("cyan", "purple", "pink", SOUTH, (0.8, 2.4), (0.6, 2.6)),
    ),
    things=(
        Thing("box", "orange", (-0.6, -1.8)),
        Thing("ball", "red", (-0.4, 1.0)),
        Thing("cone", "purple", (-3.4, -2.4)),
        Thing("barrel", "blue", (3.6, -3.0)),
    ),
    lamp=None,
    seconds=6.0,
    ground=(224, 228, 222),
)

_HALL_02 = World(
    people=(
        Person("red", "cyan", "yellow", WEST, (-0.4, 0.6), (-0.8, 0.6)),
        Person("blue", "yellow", "pink", WEST, (-2.2, -2.0), (-2.0, -2.2)),
        Person("green", "orange", "purple", WEST, (2.6, -0.4), (2.2, -0.6)),
    ),
    things=(
        Thing("box", "green", (1.4, 1.8)),
        Thing("ball", "blue", (1.2, -1.6)),
        Thing("cone", "red", (-2.0, 3.2)),
        Thing("barrel", "orange", (-3.2, -3.6)),
    ),
    lamp=None,
    seconds=5.0,
    ground=(230, 224, 226),
)

_HALL_03 = World(
    people=(
        Person("purple", "yellow", "red", EAST, (-2.4, 2.0), (2.8, 2.0)),
        Person("purple", "green", "cyan", EAST, (2.8, 2.0), (-2.4, 2.0)),
        Person("purple", "orange", "yellow", EAST, (-0.4, -2.2), (0.0, -2.2)),
    ),
    things=(
        Thing("cone", "orange", (-1.0, 4.2)),
        Thing("barrel", "green", (1.4, 4.2)),
        Thing("box", "blue", (-2.2, -1.0)),
        Thing("ball", "pink", (1.4, 0.8)),
    ),
    lamp=Lamp((-4.2, -2.6), EARLY),
    seconds=6.0,
    ground=(222, 226, 230),
)

_HALL_04 = World(
    people=(
        Person("orange", "purple", "green", EAST, (1.6, -1.6), (-2.6, -2.0)),
        Person("pink", "cyan", "yellow", EAST, (-2.6, -2.0), (1.6, -1.6)),
        Person("blue", "red", "orange", EAST, (2.6, 0.2), (2.4, -0.2)),
    ),
    things=(
        Thing("cone", "red", (0.4, -4.0)),
        Thing("barrel", "cyan", (-3.8, -3.8)),
        Thing("box", "purple", (-0.2, 0.4)),
        Thing("ball", "green", (1.4, 2.2)),
    ),
    lamp=Lamp((3.6, 2.2), LATE),
    seconds=7.0,
    ground=(228, 228, 220),
)

_HALL_05 = World(
    people=(
        Person("red", "yellow", "blue", SOUTH, (-1.4, 3.6), (0.6, 3.0), card=LATE),
        Person("green", "pink", "orange", EAST, (0.6, 3.0), (-1.4, 3.6)),
        Person("purple", "cyan", "yellow", WEST, (3.4, 1.8), (3.4, 2.2), card=LATE),
        Person("blue", "orange", "pink", EAST, (-2.6, -3.0), (-2.2, -3.2), card=EARLY),
        Person("yellow", "purple", "green", NORTH, (-3.0, -0.6), (-3.2, -1.0)),
        Person("pink", "green", "cyan", SOUTH, (-1.8, -4.0), (-1.6, -4.2), card=EARLY),
    ),
    things=(
        Thing("cone", "blue", (-2.0, 1.8)),
        Thing("barrel", "red", (1.8, 4.2)),
        Thing("box", "cyan", (1.4, 0.4)),
        Thing("ball", "orange", (0.6, -3.0)),
    ),
    lamp=Lamp((-4.2, 2.6), LATE),
    seconds=6.0,
    ground=(226, 222, 230),
)

_HALL_06 = World(
    people=(
        Person("green", "yellow", "red", NORTH, (1.4, 0.2), (1.0, 0.2), card=EARLY),
        Person("purple", "orange", "cyan", NORTH, (-0.8, 2.6), (-1.0, 2.4), card=EARLY),
        Person("cyan", "red", "yellow", NORTH, (0.8, -3.6), (0.4, -3.8)),
        Person("orange", "blue", "green", SOUTH, (4.0, -2.6), (4.2, -2.8)),
    ),
    things=(
        Thing("cone", "yellow", (3.2, -1.4)),
        Thing("barrel", "purple", (2.2, 4.2)),
        Thing("box", "red", (-3.2, 1.8)),
        Thing("ball", "cyan", (-2.4, -0.8)),
    ),
    lamp=None,
    seconds=5.0,
    ground=(220, 228, 226),
)

SCENES: Mapping[str, Scene] = {
    "hall_01": Scene(
        _EGO_EXO,
        _HALL_01,
        {0: View(Camera(SOUTH), 10, 60), 1: View(Camera(NORTH), 10, 60), 2: View(Camera(EAST), 10, 60)},
    ),
    "hall_02": Scene(
        _PANOPTIC,
        _HALL_02,
        {1: View(Camera(WEST), 12, 60), 2: View(Camera(SOUTH), 12, 60), 4: View(Camera(EAST), 12, 60)},
    ),
    "hall_03": Scene(
        _MMPTRACK,
        _HALL_03,
        {0: View(Camera(SOUTH), 25, 150), 2: View(Camera(EAST), 30, 186), 3: View(Camera(WEST), 25, 150)},
    ),
    "hall_04": Scene(
        _EGO_EXO,
        _HALL_04,
        {1: View(Camera(NORTH), 10, 70), 3: View(Camera(WEST), 10, 70), 5: View(Camera(NORTH, -1.8), 10, 71)},
    ),
    "hall_05": Scene(
        _PANOPTIC,
        _HALL_05,
        {0: View(Camera(SOUTH, 1.2), 12, 72), 1: View(Camera(EAST, -1.2), 12, 72), 2: View(Camera(WEST), 12, 72)},
    ),
    "hall_06": Scene(
        _MMPTRACK,
        _HALL_06,
        {0: View(Camera(EAST), 15, 75), 3: View(Camera(NORTH, 1.2), 15, 75), 4: View(Camera(WEST, -1.2), 15, 75)},
    ),
}
"""By name. Views of one scene begin together; in `hall_03` and `hall_04` one goes on a little longer than others."""
