"""A prepared data set with as many questions as a test wants, each with a number of its own, and quick to answer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chat import encoded
from PIL import Image

from spotdiff.benchmarks.m4bench.schema import features
from spotdiff.data.write import write_data_set

LMMS_TASK, KIT_DATA = "m4bench_state_invariance", "M4Bench_State_Invariance"

_NUMBER = re.compile(r"Question (\d+):")


def write_questions(folder: Path, count: int) -> Mapping[str, str]:
    """Write the data set m4bench with this many questions of State Invariance; returns settings that make it ours."""
    images = [
        {"bytes": encoded(Image.new("RGB", (32, 32), colour), format="PNG"), "path": None} for colour in ("red", "blue")
    ]
    rows = [_row(number, images) for number in range(count)]
    write_data_set(folder / "data" / "m4bench", {"state_invariance": rows}, features())
    return {"SPOTDIFF_DATA": str(folder / "data"), "SPOTDIFF_MEDIA_CACHE": str(folder / "media")}


def _row(number: int, images: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "question": f"Question {number}: Whether these two pictures show same object? ",
        "visual_prompt": "",
        "visual_prompt_boxes": [],
        "options": ["No", "Yes"],
        "option_boxes": [[], []],
        "answer": "AB"[number % 2],
        "category": "",
        "pair": f"pair of q{number}",
        "image_sizes": [],
        "image_1": images[0],
        "image_2": images[1],
    }


def number_in(text: str) -> int:
    """The number of the question in a prompt, or in the index of a prediction."""
    found = _NUMBER.search(text) or re.search(r"/q(\d+)", text)
    assert found is not None, text
    return int(found[1])


def letter_for(text: str) -> str:
    """The answer of the model behind the tests' server: by a hash, so that it is the same in every run."""
    return "AB"[hashlib.sha256(text.encode()).digest()[0] % 2]


class LetterReader:
    """For `PixelServer`: answers without looking."""

    def answer_parts(self, parts: Sequence[str | Image.Image]) -> str:
        return letter_for("\n".join(part for part in parts if isinstance(part, str)))
