"""Makes the mini data of M3-Verse: drawn videos of a few scenes, before and after, and questions about them.

    python -m spotdiff.benchmarks.m3verse.mini [OUT]

writes a Hub repository (card, one parquet file, videos) into OUT, by default the folder `mini` beside this file. The
same rows and frames come out each time; the bytes of the videos depend on the build of the encoder. Subcategories are
the paper's, questions are worded after its templates.

To one who sees no video, every option is as likely as any other: right options stand at each letter equally often,
and `No correct option is listed.` is right in a fourth of the questions that list it. To one who sees one video of the
two, most questions about both stay just as open: they ask what changed, not how, or what one video shows of something
that only the other one points out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from spotdiff.benchmarks import mini_sets
from spotdiff.benchmarks.m3verse.mini_scenes import SCENES
from spotdiff.benchmarks.m3verse.mini_videos import write_mp4
from spotdiff.benchmarks.m3verse.schema import CAPABILITIES, INTER, INTRA, NO_CORRECT_OPTION, features

FOLDER = Path(__file__).with_name("mini")
CONFIG = "mini"

SPATIAL, TEMPORAL, ATTRIBUTE, REASONING = CAPABILITIES
NONE = NO_CORRECT_OPTION


@dataclass(frozen=True)
class Row:
    """One question, with the columns of `schema.features`."""

    id: str
    scene: str
    state: str
    category: str
    subcategory: str
    question: str
    options: list[str]
    answer: list[str]
    hallucination: bool
    capabilities: list[str]
    video_before: str
    video_after: str


@dataclass(frozen=True)
class _Asked:
    """A question. kind: the category and subcategory of the paper. answer: right letters."""

    state: str
    kind: str
    capabilities: tuple[str, ...]
    question: str
    answer: str
    options: tuple[str, ...]

    def row(self, scene: str, number: int) -> Row:
        category, subcategory = self.kind.split("/")
        return Row(
            id=f"{scene}-{number}",
            scene=scene,
            state=self.state,
            category=category,
            subcategory=subcategory,
            question=self.question,
            options=list(self.options),
            answer=list(self.answer),
            hallucination=any(self.options["ABCDE".index(letter)] == NONE for letter in self.answer),
            capabilities=list(self.capabilities),
            video_before=video(scene, 0),
            video_after=video(scene, 1),
        )


def video(scene: str, state: int) -> str:
    """Where a video lies in the folder. state: 0 before, 1 after."""
    return f"videos/{scene}/state_{state}.mp4"


QUESTIONS: Mapping[str, Sequence[_Asked]] = {
    "scene_01": (
        _Asked(
            INTRA,
            "object_info/object_room_location",
            (SPATIAL,),
            "In which room is the red ball located in the second video?",
            "E",
            ("Living room", NONE, "Bathroom", "Kitchen", "Bedroom"),
        ),
        _Asked(
            INTRA,
            "agent_explore/room_visit_order",
            (TEMPORAL,),
            "Which rooms were visited after the kitchen in the first video?",
            "AD",
            ("Bedroom", NONE, "Bathroom", "Living room", "Kitchen"),
        ),
        _Asked(
            INTRA,
            "object_info/object_color",
            (ATTRIBUTE,),
            "What color is the cushion in the first video?",
            "B",
            ("Green", NONE, "Blue", "Orange"),
        ),
        _Asked(
            INTER,
            "object_change/objects_room_movement",
            (SPATIAL, REASONING),
            "Which of the following objects are in another room in the second video than in the first video?",
            "ACE",
            ("The green cup", "The blue vase", "The pink hat", "The yellow star", "The red ball"),
        ),
        _Asked(
            INTER,
            "object_change/attribute_changed_objects",
            (ATTRIBUTE,),
            "Which of the following objects had any attribute changes between the first video and the second video "
            "(excluding positional movements)?",
            "BDE",
            ("The book", "The box", "The ceiling lamp", "The floor lamp", "The cushion"),
        ),
        _Asked(
            INTER,
            "agent_explore/nth_visit_room_objects",
            (TEMPORAL, REASONING),
            "Which objects are observed in the second video in the room that was visited first in the first video?",
            "AD",
            ("The blue vase", "The yellow star", "The red ball", "The pink hat", "The green cup"),
        ),
        _Asked(
            INTER,
            "object_change/new_receptacle",
            (SPATIAL,),
            "Where in the first video was the object that is on the bed in the second video?",
            "A",
            ("On the floor of the kitchen", "On the shelf", NONE, "On the counter", "On the floor of the living room"),
        ),
    ),
    "scene_02": (
        _Asked(
            INTRA,
            "object_info/object_type_num_in_room",
            (SPATIAL, REASONING),
            "How many balls are there in the bedroom in the first video?",
            "C",
            ("1", "2", "3", "4", NONE),
        ),
        _Asked(
            INTRA,
            "object_info/receptacle_contents",
            (SPATIAL,),
            "What objects are on the table in the second video?",
            "CE",
            ("The red ball", "The orange vase", "The pink star", "The purple cup", "The green hat"),
        ),
        _Asked(
            INTRA,
            "agent_explore/object_first_appearance_earliest",
            (TEMPORAL,),
            "Among the following objects, which one was first observed earliest in the second video?",
            "B",
            ("The pink star", "The purple cup", "The blue ball", NONE),
        ),
        _Asked(
            INTER,
            "object_change/old_receptacle",
            (SPATIAL, REASONING),
            "Where in the second video is the object that was on the table in the first video?",
            "D",
            ("On the bed", "On the floor of the bathroom", NONE, "On the shelf"),
        ),
        _Asked(
            INTER,
            "object_change/new_visible_objects",
            (TEMPORAL,),
            "Which object became visible between the first video and the second video?",
            "C",
            ("The blue ball", "The purple hat", "The pink star", "The orange vase", "The green book"),
        ),
        _Asked(
            INTER,
            "object_change/toggle_state_comparison",
            (ATTRIBUTE,),
            "Which devices have another power state in the second video than in the first video?",
            "B",
            ("Only the TV", NONE, "Only the ceiling lamp", "The TV and the ceiling lamp"),
        ),
    ),
    "scene_03": (
        _Asked(
            INTRA,
            "agent_explore/nth_visit_room_type",
            (TEMPORAL,),
            "What is the type of the second room visited in the second video?",
            "A",
            ("Bathroom", "Living room", NONE, "Kitchen"),
        ),
        _Asked(
            INTRA,
            "agent_explore/room_visit_count",
            (TEMPORAL, REASONING),
            "How many times did the observer visit the kitchen in the second video?",
            "B",
            ("1", "2", "3", "4", NONE),
        ),
        _Asked(
            INTRA,
            "object_info/object_receptacle_location",
            (SPATIAL,),
            "What is the blue ball placed on in the first video?",
            "D",
            ("The counter", "The sofa", "The table", NONE),
        ),
        _Asked(
            INTRA,
            "agent_explore/nth_visit_room_objects",
            (TEMPORAL, SPATIAL),
            "Which objects are observed in the first room visited in the first video?",
            "AC",
            ("The orange hat", "The yellow cup", "The purple star", "The green vase", NONE),
        ),
        _Asked(
            INTER,
            "agent_explore/longest_stay_room",
            (TEMPORAL,),
            "In which room did the observer stay for the longest time in total in the first and the second video?",
            "C",
            ("Bathroom", "Living room", "Kitchen", "Bedroom", NONE),
        ),
        _Asked(
            INTER,
            "agent_explore/total_room_visits",
            (TEMPORAL, REASONING),
            "How many times did the observer visit the kitchen in total across the first and the second video?",
            "B",
            ("2", "3", "4", NONE),
        ),
        _Asked(
            INTER,
            "object_change/room_position_changes",
            (SPATIAL,),
            "In the kitchen, which object changed position between the first video and the second video?",
            "A",
            (NONE, "The yellow cup", "The blue book", "The red box"),
        ),
        _Asked(
            INTER,
            "object_change/movement_between_receptacles",
            (SPATIAL, REASONING),
            "Where did the blue ball move from the first video to the second video?",
            "E",
            (
                "From the shelf to the table",
                "From the shelf to the counter",
                NONE,
                "From the floor to the table",
                "From the floor to the counter",
            ),
        ),
    ),
    "scene_04": (
        _Asked(
            INTRA,
            "object_info/object_color",
            (ATTRIBUTE,),
            "What color is the ball in the second video?",
            "C",
            ("Orange", NONE, "Pink", "Green"),
        ),
        _Asked(
            INTRA,
            "agent_explore/object_first_appearance_latest",
            (TEMPORAL,),
            "Among the following objects, which one was first observed latest in the first video?",
            "D",
            ("The green vase", "The red cup", NONE, "The orange ball"),
        ),
        _Asked(
            INTRA,
            "object_info/object_type_num_in_scene",
            (REASONING,),
            "How many cups are there in the entire scene in the first video?",
            "A",
            (NONE, "1", "3", "4"),
        ),
        _Asked(
            INTER,
            "object_change/lost_visible_objects",
            (TEMPORAL,),
            "Among the first video and the second video, which objects are no longer visible?",
            "BE",
            ("The red cup", "The green vase", "The yellow cup", "The blue star", "The purple hat"),
        ),
        _Asked(
            INTER,
            "object_change/openness_state_comparison",
            (ATTRIBUTE,),
            "Which object has another openness state in the second video than in the first video?",
            "C",
            ("The box", NONE, "The book", "The fridge"),
        ),
        _Asked(
            INTER,
            "object_change/old_receptacle",
            (SPATIAL, REASONING),
            "Which object is in the second video in the place where the pink star was in the first video?",
            "D",
            ("The blue cup", NONE, "The red cup", "The yellow cup"),
        ),
    ),
}
"""By the name of the scene, in the order of their numbers."""


def rows() -> list[Row]:
    return [
        asked.row(scene, number)
        for scene, questions in QUESTIONS.items()
        for number, asked in enumerate(questions, start=1)
    ]


def card() -> str:
    """The data card, see `mini_sets.card`."""
    return mini_sets.card("M3-Verse mini", mini_sets.VIDEOS, [CONFIG], _WORDS)


_WORDS = """\
A few questions of the kinds that M3-Verse asks, about drawn videos of a few scenes, to try a set-up and to test it.
They are not part of M3-Verse, and a score on them says nothing about a model. A seeded script drew the videos; they are
in the public domain (CC0).
"""


def write(folder: Path) -> None:
    """Write card, questions and videos into the folder, which is made if need be. Old files are replaced."""
    mini_sets.write_tables(folder, card(), {CONFIG: [asdict(row) for row in rows()]}, features())
    for scene, states in SCENES.items():
        for number, state in enumerate(states):
            path = folder / video(scene, number)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_mp4(path, state.frames(), state.starts())


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
