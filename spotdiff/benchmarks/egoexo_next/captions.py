"""Caption augmentation of EgoExo-Next: a caption right after each option image (Li et al., Appendix F, Fig. 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spotdiff.benchmarks.egoexo_next.schema import OPTION_COLUMNS
from spotdiff.probes.images import caption_stage, captions_of
from spotdiff.probes.stages import Stage, stages
from spotdiff.tasks import Setting, Task

if TYPE_CHECKING:
    from datasets import Dataset

    from spotdiff.evaluation import Evaluation

TEMPLATE = (
    "A <Perspective> view of <Scene> in a <Setting>. The image shows <Situation> involving <Objects>, with "
    "<Background> visible in the scene."
)
"""Fig. 7."""

CAPTION_PROMPT = (
    f"Write a caption of this image in the following form:\n{TEMPLATE}\n"
    "Put words of your own in place of everything in angle brackets, and output the caption alone."
)
"""Ours around the figure's template: the paper calls it the prompt, and prints the form of the caption alone."""

CAPTIONS = "egoexo_next_captions"


def stage_of(data: str, settings: Sequence[Setting]) -> Stage:
    """The stage that describes every option image of a data set, and no observation."""
    task = Task(data, "egoexo_next", data, tuple(settings))
    return caption_stage(f"{data}_captions", task, CAPTIONS, CAPTION_PROMPT, 128, OPTION_COLUMNS)


def texts(evaluation: Evaluation, setting: Setting, rows: Dataset) -> list[tuple[list[str], int]]:
    """The captions of the option images of each row, for a setting that has them."""
    return captions_of(stages()[f"{evaluation.task.data}_captions"], evaluation, rows, OPTION_COLUMNS)
