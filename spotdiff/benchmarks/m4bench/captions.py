"""Caption test of M4Bench: each image put into words, and questions asked with these in its place (He et al., 4.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS
from spotdiff.probes.images import caption_stage, captions_of
from spotdiff.probes.stages import Stage, stages
from spotdiff.tasks import Setting, Task

if TYPE_CHECKING:
    from datasets import Dataset

    from spotdiff.evaluation import Evaluation

CAPTION_PROMPT = (
    "Please write a dense caption of this image: every object with its parts, colours, materials, state and number, "
    "where each is in the image and in relation to the others, any text, and the background."
)
"""Ours: the paper says that dense captions were generated, and prints no prompt."""

CAPTIONS = "m4bench_captions"


def stage_of(data: str, settings: Sequence[Setting]) -> Stage:
    """The stage that describes every image of a data set. settings: of each config one at least."""
    by_config = {setting.config: setting for setting in reversed(settings)}
    task = Task(data, "m4bench", data, tuple(reversed(by_config.values())))
    return caption_stage(f"{data}_captions", task, CAPTIONS, CAPTION_PROMPT, 1024, IMAGE_COLUMNS)


def texts(evaluation: Evaluation, setting: Setting, rows: Dataset) -> list[tuple[list[str], int]]:
    """The captions of both images of each row, for a setting that asks with captions."""
    return captions_of(stages()[f"{evaluation.task.data}_captions"], evaluation, rows, IMAGE_COLUMNS)
