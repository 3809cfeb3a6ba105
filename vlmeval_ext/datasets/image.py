"""The one class of data set for every benchmark, of images or of videos."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas
from vlmeval.dataset.image_base import ImageBaseDataset
from vlmeval.smp import get_rank_and_world_size

from spotdiff.errors import SettingError, SpotdiffError
from spotdiff.media.clips import link_by_digest
from spotdiff.media.frame_files import frame_files
from spotdiff.media.frame_room import make_room
from spotdiff.media.images import save_by_digest
from spotdiff.media.prefetch import Ahead, Wanted, clips_of
from spotdiff.question import Panel, Part, Question, Text, Video
from spotdiff.tasks import vlmeval_tasks
from vlmeval_ext.invocation import Invocation, is_media_free, last_part
from vlmeval_ext.loading import FORMS, Loaded, load
from vlmeval_ext.prompt import Prompt
from vlmeval_ext.results import score


class SpotdiffDataset(ImageBaseDataset):  # type: ignore[misc]
    """A task of spotdiff, under its VLMEvalKit name; a group of tasks is one data set, setting after setting.

    `--limit N` of VLMEvalKit takes the first N questions, which in a joined data set belong to its first settings.
    """

    MODALITY = "IMAGE"
    # A type that VLMEvalKit knows would bring a judge, or a prompt that a model words anew.
    TYPE = "spotdiff"
    force_use_dataset_prompt = True

    def __init__(self, dataset: str, model: str | Sequence[str] | None = None, **_: Any) -> None:
        """Load and check the data.

        dataset: a name out of `supported_datasets`. model: names of the models that will be asked, by default those of
        the command line. Further arguments, all of the command line among them, are ignored.
        Raises SpotdiffError with every fault of the data.
        """
        told = Invocation.of(sys.argv[1:])
        given = (model,) if isinstance(model, str) else tuple(model or ())
        self._models = tuple(last_part(name) for name in given) or told.models
        told = replace(told, models=self._models)
        self._media_free = is_media_free(self._models)
        self._loaded: Loaded = load(dataset, told.asked, media=told.needs_media)
        if told.needs_media and not told.served:
            _refuse_models_of_one_image(self._models, self._loaded)
            _refuse_shrunk_images(self._models, self._loaded)
        super().__init__(dataset)

    @classmethod
    def supported_datasets(cls) -> list[str]:
        return list(vlmeval_tasks())

    def load_data(self, dataset: str) -> pandas.DataFrame:
        """One row a question, without pixels: `index`, prompt, right letters, and what the tables break down by."""
        self._ahead = self._expected()
        return pandas.DataFrame([_row(index, question) for index, question in self._loaded.questions()])

    def build_prompt(self, line: int | Mapping[str, Any]) -> list[dict[str, str]]:
        """The parts of a question in order; images as files that are named after their pixels.

        Raises DataError when an image cannot be decoded.
        """
        row = self.data.iloc[line] if isinstance(line, int) else line
        question = self._loaded.question(row["index"])
        messages = [message for part in question.parts for message in self._messages(part, question)]
        self._ahead.asked(row["index"])
        return messages

    def _messages(self, part: Part, question: Question) -> Iterator[dict[str, str]]:
        folder = self._loaded.evaluation.settings.media_cache
        if isinstance(part, Text):
            yield {"type": "text", "value": Prompt(_no_file_name(part.text), question)}
        elif self._media_free:
            return
        elif isinstance(part, Video) and not part.as_images and self._loaded.evaluation.video_form(FORMS) == "path":
            yield {"type": "video", "value": str(link_by_digest(part.path, folder / "videos"))}
        elif isinstance(part, Video):
            for file in frame_files(part.path, part.sampling, folder / "vlmeval"):
                yield {"type": "image", "value": str(file)}
        else:
            image = part.image() if isinstance(part, Panel) else part.open()
            yield {"type": "image", "value": str(save_by_digest(image, folder / "vlmeval"))}

    def _expected(self) -> Ahead:
        """The questions of this process, in their order, and the frames that they show."""
        evaluation = self._loaded.evaluation
        settings = evaluation.settings
        folder = settings.media_cache / "vlmeval"
        prepare = partial(frame_files, folder=folder)
        ahead = Ahead(prepare, prepare)
        if self._media_free:
            return ahead
        whole = evaluation.video_form(FORMS) != "path"
        with_videos = evaluation.benchmark.video_columns
        make_room(self._clips_as_files(whole) if with_videos else (), folder, settings.frame_disk * 10**9)
        if not with_videos:
            return ahead
        rank, processes = get_rank_and_world_size()
        for index, question in itertools.islice(self._loaded.questions(), rank, None, processes):
            # Of a panel there is no file until all of it is read.
            if not any(isinstance(part, Panel) for part in question.parts):
                ahead.expect(index, clips_of(question, whole=whole))
        return ahead

    def _clips_as_files(self, whole: bool) -> set[Wanted]:
        shown = (part for _, question in self._loaded.questions() for part in question.parts)
        return {(part.path, part.sampling) for part in shown if isinstance(part, Video) and (whole or part.as_images)}

    def dump_image(self, line: Mapping[str, Any]) -> list[str]:
        """Called only by a model that words the prompt itself."""
        raise SpotdiffError(
            f"{self.dataset_name}: this model would put its own prompt in place of the benchmark's. "
            "Run it without --custom-prompt"
        )

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> dict[str, float]:
        """Score a file of predictions, see `vlmeval_ext.results.score`. VLMEvalKit's judge arguments are not used."""
        return score(self._loaded, list(self.data["index"]), Path(eval_file), self._models)

    @classmethod
    def report_primary_metric(cls, metrics: Mapping[str, float] | None) -> dict[str, float]:
        """`acc`; nothing where the run covers a part of the settings only, as there is no mean to report then."""
        return {"acc": metrics["acc"]} if metrics and "acc" in metrics else {}

    @classmethod
    def report_judge_err(cls, prediction_file: object, **_: Any) -> dict[str, int]:
        """No judge of VLMEvalKit takes part."""
        return {"failed": 0, "total": 0}


def _refuse_models_of_one_image(models: Sequence[str], loaded: Loaded) -> None:
    """Of several images, VLMEvalKit gives a model that does not interleave them with text the first one alone."""
    from vlmeval.config import supported_VLM

    if not any(sum(not isinstance(part, Text) for part in question.parts) > 1 for _, question in loaded.questions()):
        return
    for name in models:
        kind = getattr(supported_VLM.get(name), "func", None)
        if getattr(kind, "INTERLEAVE", True) is False:
            raise SettingError(
                f"{name} takes one image, and VLMEvalKit would give it the first of each question alone. Take a model "
                "that takes several, or for M4Bench its joined layout (M4Bench_Concat)"
            )


def _refuse_shrunk_images(models: Sequence[str], loaded: Loaded) -> None:
    """Some API models of VLMEvalKit shrink every image, so that boxes in pixels of the image do not fit any more."""
    from vlmeval.config import supported_VLM

    if loaded.evaluation.settings.box_family is not None:
        return
    if not any(option.boxes for _, question in loaded.questions() for option in question.options):
        return
    for name in models:
        size = getattr(supported_VLM.get(name), "keywords", {}).get("img_size", -1)
        if size > 0:
            raise SettingError(
                f"{name} shrinks images to {size} pixels, and the questions hold boxes in pixels. Take a model of "
                "VLMEvalKit with img_size=-1 (such as its _HIGH form), or set SPOTDIFF_BOX_FAMILY to run it as it is"
            )


def _row(index: str, question: Question) -> dict[str, str]:
    groups = {name: value if isinstance(value, str) else ", ".join(value) for name, value in question.groups.items()}
    own = {"index": index, "question": question.prompt, "answer": ", ".join(question.gold), "setting": question.setting}
    return {**groups, **own}


def _no_file_name(text: str) -> str:
    """VLMEvalKit takes a text that names an existing file for that file, and fails."""
    return f"{text} " if os.path.exists(text) else text
