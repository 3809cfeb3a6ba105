"""A task loaded for VLMEvalKit: its checked rows, and an index that says what exactly was asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from spotdiff.data.store import without_columns
from spotdiff.errors import SettingError
from spotdiff.evaluation import Evaluation
from spotdiff.media.forms import Form
from spotdiff.question import Panel, Part, Question, Text, Video
from spotdiff.tasks import vlmeval_tasks

if TYPE_CHECKING:
    from datasets import Dataset

FORMS: tuple[Form, ...] = ("images", "path")
"""VLMEvalKit has no way to hand over a list of frames. Images are what all its models take, in order."""

_CHANGE_NO_QUESTION = {
    "data",
    "hub",
    "hub_revision",
    "media_cache",
    "frame_memory",
    "frame_disk",
    "max_new_tokens",
    "judge_url",
    "judge_model",
    "video_timeout",
    "allow_missing",
    # What they decide stands in the texts of the prompt.
    "probes",
    "probe_captions",
    "probe_summaries",
    "probe_partial",
    "clip_length",
    "clip_frames",
}


@dataclass(frozen=True)
class Loaded:
    """numbers: index of a question -> number of its row, in the order of the rows."""

    evaluation: Evaluation
    rows: Dataset
    numbers: Mapping[str, int]

    def question(self, index: str) -> Question:
        return self.evaluation.question(self.rows[self.numbers[index]])

    def questions(self) -> Iterator[tuple[str, Question]]:
        """All questions by index, without pixels."""
        return zip(self.numbers, _questions(self.evaluation, self.rows), strict=True)


def load(name: str, models: Sequence[str], *, media: bool) -> Loaded:
    """Load a data set by its VLMEvalKit name and check all of it.

    models: names of the models that will be asked. media: whether the images are needed, and so checked.
    Raises DataError with every fault of the data, SettingError when the models would have to be asked differently: how
    a box is written depends on the model, and VLMEvalKit does not tell a data set which of several models is asked.
    """
    task = vlmeval_tasks()[name]
    evaluations = [Evaluation.of(task, model) for model in models] or [Evaluation.of(task)]
    rows = evaluations[0].rows()
    data = {setting.name: evaluations[0].data_digest([setting]) for setting in task.settings}
    indices = [
        [index_of(question, one, data[question.setting]) for question in _questions(one, rows)] for one in evaluations
    ]
    if any(other != indices[0] for other in indices):
        raise SettingError(
            f"{name} puts some questions differently to {', '.join(models)}. Run these models one at a time, or set "
            "what follows from their names: SPOTDIFF_BOX_FAMILY, SPOTDIFF_FRAMES, SPOTDIFF_FRAME_SIZE"
        )
    if media:
        evaluations[0].check_media(FORMS)
    return Loaded(evaluations[0], rows, {index: number for number, index in enumerate(indices[0])})


def index_of(question: Question, evaluation: Evaluation, data: str) -> str:
    """`<question id>@<digest of what is asked>`.

    data: digest of its part of the data set, see `Evaluation.data_digest`.

    VLMEvalKit joins predictions of earlier runs to questions by index alone, also without `--reuse`. With the digest in
    it a question that is put differently (other settings, data or version) is asked again.
    """
    told = [_told(part) for part in question.parts]
    settings = evaluation.settings
    shaping = {field.name: getattr(settings, field.name) for field in fields(settings)}
    shaping = {name: value for name, value in shaping.items() if name not in _CHANGE_NO_QUESTION}
    how = dict(evaluation.task.setting(question.setting).options)
    if "control" not in how:
        # The seed of what is drawn, which is nothing here.
        del shaping["control_seed"]
    asked = json.dumps([evaluation.benchmark.version, told, shaping, data, how], sort_keys=True, default=str)
    return f"{question.id}@{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


def _told(part: Part) -> str | None:
    """What tells a part from another one without opening it; where a file lies does not matter."""
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Video):
        return f"{part.path.parent.name}/{part.path.name} {part.sampling} {part.as_images}"
    if isinstance(part, Panel):
        return f"panel {[_told(video) for video in part.videos]}"
    return None


def _questions(evaluation: Evaluation, rows: Dataset) -> Iterator[Question]:
    texts: Any = without_columns(rows, evaluation.benchmark.image_columns)
    return (evaluation.question(row) for row in texts)
