"""The canonical row of M4Bench: what a parquet file of the data set holds, one row a question.

Both forms of a question (without and with a visual prompt) come from one row: the sentence that names the boxes of the
object stands in `visual_prompt`, and `question` follows it unchanged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Features

BOX_MARK = "<bbox>"
"""Stands in question and option templates where a box is written in the format of the model's family."""

IMAGE_COLUMNS = ("image_1", "image_2")

TEXT_COLUMNS: Mapping[str, Any] = {
    "id": str,
    "question": str,
    "visual_prompt": str,
    "visual_prompt_boxes": [[int]],
    "options": [str],
    "option_boxes": [[[int]]],
    "answer": str,
    "category": str,
    "pair": str,
    "image_sizes": [[int]],
}
"""Column -> its type in Python, `[type]` for a list."""


def pair_of(images: Iterable[str]) -> str:
    """What questions on the same two images share, whatever their order. images: names of both in the release."""
    return hashlib.sha256("\n".join(sorted(images)).encode()).hexdigest()[:16]


def features() -> Features:
    """Columns and types.

    id: unique within its part. question, visual_prompt, options: templates with BOX_MARK (`visual_prompt` is empty, or
    a sentence that ends with a blank). visual_prompt_boxes, option_boxes[i]: pixel boxes x1, y1, x2, y2, the k-th lies
    in image k. answer: a letter, A for options[0]. pair: the same for questions on the same two images.
    image_sizes: width, height of image 1 and 2.
    """
    from datasets import Features, Image, Sequence, Value

    box = Sequence(Value("int32"))
    return Features(
        {
            "id": Value("string"),
            "question": Value("string"),
            "visual_prompt": Value("string"),
            "visual_prompt_boxes": Sequence(box),
            "options": Sequence(Value("string")),
            "option_boxes": Sequence(Sequence(box)),
            "answer": Value("string"),
            "category": Value("string"),
            "pair": Value("string"),
            "image_sizes": Sequence(Sequence(Value("int32"))),
            "image_1": Image(),
            "image_2": Image(),
        }
    )
