"""The canonical row of M3-Verse: what a parquet file of the data set holds, one row a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasets import Features

VIDEO_COLUMNS = ("video_before", "video_after")

CAPABILITIES = ("spatial understanding", "temporal understanding", "attribute recognition", "reasoning")
"""In the order of the paper's tables."""

INTRA, INTER = "intra", "inter"

NO_CORRECT_OPTION = "No correct option is listed."
"""The option that takes the right one's place in a hallucination-type question."""


def features() -> Features:
    """Columns and types.

    id: unique within its config. scene: questions of one scene share both videos. state: INTRA, answerable from one
    video, or INTER. options: texts without their letter. answer: the right letters, A for options[0]. hallucination:
    the right option was replaced by NO_CORRECT_OPTION. capabilities: one or more of CAPABILITIES. video_before,
    video_after: files, relative to the data set's folder.
    """
    from datasets import Features, Sequence, Value

    text, texts = Value("string"), Sequence(Value("string"))
    return Features(
        {
            "id": text,
            "scene": text,
            "state": text,
            "category": text,
            "subcategory": text,
            "question": text,
            "options": texts,
            "answer": texts,
            "hallucination": Value("bool"),
            "capabilities": texts,
            "video_before": text,
            "video_after": text,
        }
    )
