"""The canonical row of MVVBench: what a parquet file of the data set holds, one row a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Features

CONFIG = "questions"

CATEGORIES: Mapping[str, int] = {
    "implicit attribute": 559,
    "explicit attribute": 121,
    "implicit relative distance": 84,
    "explicit relative distance": 81,
    "relative camera pose": 120,
    "counting": 358,
}
"""Category -> questions; the counts are derived from the paper's table, in whose order they stand."""

MOTION: Mapping[str, int] = {"static": 232, "dynamic": 1091}
"""Kind of question -> questions."""

SOURCES = ("Ego-Exo4D", "CMU Panoptic", "MMPTRACK")

TEXT_COLUMNS: Mapping[str, Any] = {
    "id": str,
    "sample": str,
    "source": str,
    "category": str,
    "motion": str,
    "question": str,
    "options": list,
    "answer": str,
    "views": list,
    "start": float,
    "end": float,
    "view_numbers": list,
    "view_videos": list,
    "view_frames": list,
    "view_seconds": list,
}
"""Column -> its type in Python."""


def features() -> Features:
    """Columns and types.

    id: unique. sample: questions of one sample show the same synchronised recording. source: the data set that it comes
    from, one of SOURCES. category: one of CATEGORIES. motion: one of MOTION. options: two to four texts without their
    letter. answer: the right letter, A for options[0]. views: numbers of the views that the question shows, in the
    order in which they are shown. start, end: the part of the recording that holds the answer, in seconds from its
    start; both -1 where it is not known.
    view_numbers: all views of the sample that the data set lists, rising, and for each of them view_videos: its file,
    relative to the data set's folder, view_frames: its number of frames, view_seconds: the time of its last frame, in
    seconds after its first; both 0 where the file is not there.
    """
    from datasets import Features, Sequence, Value

    text, texts = Value("string"), Sequence(Value("string"))
    numbers, seconds = Sequence(Value("int32")), Value("float64")
    return Features(
        {
            **dict.fromkeys(("id", "sample", "source", "category", "motion", "question"), text),
            "options": texts,
            "answer": text,
            "views": numbers,
            "start": seconds,
            "end": seconds,
            "view_numbers": numbers,
            "view_videos": texts,
            "view_frames": numbers,
            "view_seconds": Sequence(seconds),
        }
    )
