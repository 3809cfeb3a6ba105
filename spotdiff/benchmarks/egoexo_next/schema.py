"""The canonical row of EgoExo-Next: what a parquet file of the data set holds, one row a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Features

EGO, MATCH, EXO, EGO2EXO = SUBTASKS = ("ego", "match", "exo", "ego2exo")
"""Subtasks 1 to 4: Ego Next-State, Ego-Exo Matching, Exo Next-State, Ego-to-Exo Next-State."""

TO_EXO, TO_EGO = DIRECTIONS = ("ego2exo", "exo2ego")
"""Of subtask 2: from the view that is observed to the view of the options."""

SCENES = ("indoor", "outdoor")

TARGET, LATER, PAST, OTHER = KINDS = ("target", "later", "past", "other")
"""What an option shows: the right state, a later future state, an earlier state, or (subtask 2) another moment."""

OBSERVATION_COLUMNS = ("observation_1", "observation_2", "observation_3", "observation_4")
ORACLE_COLUMNS = ("current_exo", "next_ego")
OPTION_COLUMNS = ("option_a", "option_b", "option_c", "option_d")
IMAGE_COLUMNS = (*OBSERVATION_COLUMNS, *ORACLE_COLUMNS, *OPTION_COLUMNS)

SOURCES: Mapping[str, int] = {
    "EPIC-KITCHENS-100": 305,
    "Ego4D": 305,
    "WEAR": 302,
    "Ego-Exo4D": 899,
    "EgoExoLearn": 44,
    "EgoHumans": 648,
}
"""Source -> questions, as the paper counts them."""

TEXT_COLUMNS: Mapping[str, Any] = {
    "id": str,
    "clip": str,
    "subtask": str,
    "direction": str,
    "scene": str,
    "source": str,
    "group": str,
    "answer": str,
    "future_candidates": int,
    "option_kinds": list,
}
"""Column -> its type in Python."""


def observations(subtask: str) -> tuple[str, ...]:
    """The columns that hold the observed frames, in order of time: four, in subtask 2 one."""
    return OBSERVATION_COLUMNS[:1] if subtask == MATCH else OBSERVATION_COLUMNS


def features() -> Features:
    """Columns and types.

    id: unique within its config. clip: questions of one clip show the same action. subtask: one of SUBTASKS.
    direction: one of DIRECTIONS in subtask 2, else empty. scene: one of SCENES. source: the data set that the frames
    come from. group: name of a matched group (the same moment asked in four subtasks), else empty. answer: a letter,
    A for option_a. future_candidates: how many options lie after the last observation, 1 to 4; 0 in subtask 2, or
    where the release does not say. option_kinds: what each option shows, one of KINDS; empty where it is not known.
    observation_1 to 4: frames in order of time; subtask 2 has the first alone. current_exo, next_ego: in subtask 4 of
    a matched group the exocentric frame at the last observation and the egocentric frame of the target; else null.
    """
    from datasets import Features, Image, Sequence, Value

    text = Value("string")
    return Features(
        {
            **dict.fromkeys(("id", "clip", "subtask", "direction", "scene", "source", "group", "answer"), text),
            "future_candidates": Value("int32"),
            "option_kinds": Sequence(text),
            **{column: Image() for column in IMAGE_COLUMNS},
        }
    )
