"""What a question was: its options, its prompt where the logs have none, and small pictures of what the model saw.

All of it comes from data on this machine, prepared or shipped; nothing is fetched. Where the data are not there, or are
not those of the run, the page says so.
"""

from __future__ import annotations

import base64
import contextlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from spotdiff.errors import SpotdiffError
from spotdiff.question import Image, Panel, Question, Text, Video
from spotdiff.runs.report import Answered, Report
from spotdiff.settings import Settings, load_settings
from spotdiff.tasks import task

if TYPE_CHECKING:
    from datasets import Dataset
    from PIL import Image as PILImage

    from spotdiff.evaluation import Evaluation

Key = tuple[str, str]
"""Family of tasks, id of the question."""

SIDE = 320
SIDE_OF_FRAME = 200
"""Longest side of a picture, and of a frame of a video, in pixels."""

MOST_FRAMES = 8
"""Frames shown of one video, evenly spread over those that the model was given."""

_OWN = ("data", "hub", "hub_revision", "media_cache", "frame_memory", "frame_disk", "video_timeout", "judge_url")
"""Settings that belong to a machine, not to what was asked."""


@dataclass
class Asked:
    """A question as it was asked. options: letter and text, None for an image. pictures: number and caption of each."""

    prompt: str
    options: tuple[tuple[str, str | None], ...]
    pictures: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class Sources:
    """asked: by family and id, as far as known. pictures: as base64 of JPEG. remarks: what is not shown, and why."""

    asked: dict[Key, Asked] = field(default_factory=dict)
    pictures: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Part:
    """The questions of one setting. answers: by id, of the run named first."""

    evaluation: Evaluation
    answers: Mapping[str, Answered]

    def asked(self) -> Iterator[tuple[str, Asked]]:
        """Those questions that are the same as in the run: their right letters say so."""
        for row in self._texts():
            question = self.evaluation.question(row)
            answer = self.answers.get(question.id)
            if answer is not None and set(question.gold) == set(answer.scored.gold):
                options = tuple((option.letter, option.text) for option in question.options)
                yield question.id, Asked(question.prompt, options)

    def _texts(self) -> Iterator[Mapping[str, Any]]:
        """The rows without their pixels, which are most of what a file holds."""
        from pyarrow.parquet import ParquetFile

        from spotdiff.data.store import locate, parquet_files
        from spotdiff.evaluation import SETTING_COLUMN

        (setting,) = self.evaluation.task.settings
        folder = locate(self.evaluation.task.data, self.evaluation.settings)
        for path in parquet_files(folder, setting.config):
            with ParquetFile(path) as file:
                names = [n for n in file.schema_arrow.names if n not in self.evaluation.benchmark.image_columns]
                for row in file.read(names).to_pylist():
                    yield {**row, SETTING_COLUMN: setting.name}

    @cached_property
    def _rows(self) -> tuple[Dataset, Mapping[str, int]]:
        """The rows as a run reads them, and the number of each id."""
        # What is in force is news at the start of a run, not in a report.
        with contextlib.redirect_stderr(io.StringIO()):
            rows = self.evaluation.rows()
        return rows, {name: number for number, name in enumerate(rows["id"])}

    def question(self, name: str) -> Question:
        """The question of this id, with its pixels."""
        rows, numbers = self._rows
        found: Question = self.evaluation.question(rows[numbers[name.partition("/")[2]]])
        return found


def sources(report: Report, thumbnails: float = 0) -> Sources:
    """What local data say about the questions of a report. thumbnails: megabytes (10**6 bytes) of pictures, at most."""
    found = Sources()
    parts: dict[Key, _Part] = {}
    for (family, setting), answers in _by_setting(report.answers).items():
        try:
            part = _part(report, answers)
            asked = dict(part.asked())
        except (SpotdiffError, OSError, ValueError, KeyError, TypeError) as error:
            reason = str(error).partition(". ")[0] if isinstance(error, SpotdiffError) else repr(error)
            found.remarks.append(f"{family}, {setting}: no options and no pictures. {reason}")
            continue
        found.asked |= {(family, name): entry for name, entry in asked.items()}
        parts |= {(family, name): part for name in asked}
        if len(asked) < len(answers):
            said = (
                f"{len(answers) - len(asked)} of {len(answers)} questions are not, or not the same, in the local data"
            )
            found.remarks.append(f"{family}, {setting}: {said}")
    if thumbnails:
        _add_pictures(found, parts, _by_interest(report.answers), thumbnails * 1e6)
    return found


def _by_setting(answers: Iterable[Answered]) -> dict[Key, dict[str, Answered]]:
    """(family, setting) -> question id -> the first answer to it."""
    found: dict[Key, dict[str, Answered]] = {}
    for answer in answers:
        found.setdefault((answer.family, answer.setting), {}).setdefault(answer.scored.id, answer)
    return found


def _part(report: Report, answers: Mapping[str, Answered]) -> _Part:
    """One setting, asked as the first run was."""
    from spotdiff.evaluation import Evaluation

    first = next(iter(answers.values()))
    asked = task(first.task)
    asked = replace(asked, settings=(asked.setting(first.setting),))
    model, told = _run_of(report, first)
    return _Part(Evaluation(asked, settings_of_run(load_settings(asked.own), told), model), answers)


def _run_of(report: Report, answer: Answered) -> tuple[str, Mapping[str, Any]]:
    """The model's name as its framework has it, and the settings of the task as far as the logs tell."""
    model = answer.model.partition(" (")[0]
    facts = next((run for run in report.runs if run.label == answer.run), None)
    for entry in facts.provenance if facts is not None else ():
        told = entry.get("tasks", {}).get(answer.task)
        if told is not None:
            named = entry.get("model")
            return named if isinstance(named, str) else model, told.get("settings") or {}
    return model, {}


def settings_of_run(own: Settings, told: Mapping[str, Any]) -> Settings:
    """The settings that a run was asked with; where data lie, this machine says. Nothing is fetched for a report."""
    known = {name: value for name, value in told.items() if hasattr(own, name) and name not in _OWN}
    if isinstance(known.get("frame_size"), list):
        known["frame_size"] = tuple(known["frame_size"])
    return replace(own, **known, hub=None)


def _by_interest(answers: Iterable[Answered]) -> list[Key]:
    """The questions that a reader looks at first: those where runs differ, then those that were answered wrongly."""
    scores: dict[Key, list[float]] = {}
    for answer in answers:
        scores.setdefault((answer.family, answer.scored.id), []).append(answer.scored.score)
    return sorted(scores, key=lambda key: (len(set(scores[key])) < 2, min(scores[key]) == 1))


def _add_pictures(found: Sources, parts: Mapping[Key, _Part], order: Sequence[Key], room: float) -> None:
    """Pictures of as many questions as fit, each picture once."""
    known: dict[object, list[int]] = {}
    shown = 0
    for key in order:
        if key not in parts:
            continue
        try:
            entries = list(_pictures(parts[key].question(key[1]), found.pictures, known))
        except SpotdiffError as error:
            found.remarks.append(f"No picture of {key[1]}: {error}")
            break
        if sum(map(len, found.pictures)) > room:
            break
        found.asked[key].pictures = entries
        shown += 1
    if shown < len(parts):
        found.remarks.append(
            f"{shown:,} of {len(parts):,} questions have pictures, those first where runs differ or are wrong. "
            "--thumbnails MEGABYTES makes room for more"
        )


def _pictures(question: Question, pictures: list[str], known: dict[object, list[int]]) -> Iterator[tuple[int, str]]:
    """Number and caption of each picture of a question; new ones are added to `pictures`, by their content."""
    caption = ""
    for part in question.parts:
        if isinstance(part, Text):
            caption = part.text.strip().rpartition("\n")[2]
            continue
        if isinstance(part, Video):
            key = (part.path, part.sampling)
            numbers = known.get(key)
            if numbers is None:
                numbers = known[key] = [_number(frame, SIDE_OF_FRAME, pictures, known) for frame in _some(part)]
            words = f"{caption} {len(numbers)} frames, evenly spread over those that were given".strip()
        else:
            image = part.image() if isinstance(part, Panel) else _open(part)
            numbers, words = [_number(image, SIDE * (2 if isinstance(part, Panel) else 1), pictures, known)], caption
        for number in numbers:
            yield number, words
        caption = ""


def _open(part: Image) -> PILImage.Image:
    return part.open()


def _some(video: Video) -> list[PILImage.Image]:
    from spotdiff.media.sampling import even_indices

    frames = video.frames()
    return [frames[place] for place in even_indices(len(frames), MOST_FRAMES)]


def _number(image: PILImage.Image, side: int, pictures: list[str], known: dict[object, list[int]]) -> int:
    small = image.copy()
    small.thumbnail((side, side))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=75, optimize=True)
    text = base64.b64encode(buffer.getvalue()).decode()
    if text not in known:
        known[text] = [len(pictures)]
        pictures.append(text)
    return known[text][0]
