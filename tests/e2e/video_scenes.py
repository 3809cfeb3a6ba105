"""Scenes of two videos in the prepared form of M3-Verse, whose every frame carries its number."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from videos import numbered, write_video

from spotdiff.benchmarks.m3verse.schema import CAPABILITIES, VIDEO_COLUMNS, features
from spotdiff.data.write import write_data_set

SECOND = 1000
"""Number of the first frame of a scene's second video; its first video begins with 0."""

SIZE = (112, 64)


def write_scenes(folder: Path, scenes: int, questions: int, frames: int) -> dict[str, str]:
    """Make `folder` a data folder with m3verse's part sim; return the settings that put it in force.

    questions: of each scene, one after the other. frames: of each video. All scenes show the same, in files of their
    own.
    """
    rows = [_row(f"scene_{scene:03}", question) for scene in range(scenes) for question in range(questions)]
    write_data_set(folder / "m3verse", {"sim": rows}, features())
    drawn = [
        write_video(folder / f"{first}.mp4", [numbered(first + index, *SIZE) for index in range(frames)])
        for first in (0, SECOND)
    ]
    for row in rows[::questions]:
        for column, video in zip(VIDEO_COLUMNS, drawn, strict=True):
            path = folder / "m3verse" / row[column]
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(video, path)
    return {"SPOTDIFF_DATA": str(folder)}


def _row(scene: str, question: int) -> dict[str, Any]:
    return {
        "id": f"{scene}_{question}",
        "scene": scene,
        "state": "inter",
        "category": "change",
        "subcategory": "number",
        "question": f"Which number is new (question {question})?",
        "options": ["one", "two", "three", "four"],
        "answer": ["B"],
        "hallucination": False,
        "capabilities": [CAPABILITIES[0]],
        **{column: f"videos/{scene}/state_{state}.mp4" for state, column in enumerate(VIDEO_COLUMNS)},
    }
