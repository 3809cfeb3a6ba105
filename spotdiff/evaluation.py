"""The path that both frameworks share: a task's rows, a row's question, a reply's score, the scores' table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.answers import Reading, read_reply
from spotdiff.data.store import commit, digest_of_ends, locate, without_columns
from spotdiff.errors import DataError, Problem
from spotdiff.failures import failure_of
from spotdiff.judge import Judge, Verdict
from spotdiff.media.forms import FORMS, Form, form_for
from spotdiff.question import Asked, Image, Panel, Question, Shown, Video
from spotdiff.scoring import Scored, chance, subset_score
from spotdiff.settings import Settings, load_settings
from spotdiff.tasks import (
    DONOR_ROW,
    FROM_TEXTS,
    TEXTS_COLUMN,
    TEXTS_MISSING_COLUMN,
    Benchmark,
    Setting,
    Table,
    Task,
    benchmarks,
)

if TYPE_CHECKING:
    from datasets import Dataset

TASK_COLUMN = "task"
SETTING_COLUMN = "setting"
DONOR_COLUMN = "donor"
"""Id of the row that lends its images, empty for none; only there where a task has such rows."""

_AGAIN = "Prepare the data again, with the videos that are there now"

MEDIA_FREE_MODELS = ("spotdiff_baseline", "spotdiff_replay")
"""Models that never look at an image: they run on questions alone."""


@dataclass(frozen=True)
class Evaluation:
    """A task with the settings in force: the one object that an adapter needs.

    model: the model's name as the user gave it, None when the framework does not tell.
    """

    task: Task
    settings: Settings
    model: str | None = None

    @classmethod
    def of(cls, task: Task, model: str | None = None) -> Evaluation:
        return cls(task, load_settings(task.own), model)

    @property
    def benchmark(self) -> Benchmark:
        return benchmarks()[self.task.benchmark]

    @property
    def max_new_tokens(self) -> int:
        return self.settings.max_new_tokens or self.task.max_new_tokens or self.benchmark.max_new_tokens

    def rows(self) -> Dataset:
        """All rows of the task, setting after setting, checked, with columns `task` and `setting` added.

        Images are undecoded and unchecked; they may be missing. Raises DataError with every fault that was found.
        """
        import datasets

        from spotdiff.data.checks import check_rows, raise_problems

        configs = self._configs()
        raise_problems(
            (p for folder, rows in configs.values() for p in check_rows(self.benchmark, rows, str(folder))),
            self.task.name,
        )
        parts = [self._part(s, self._with_media(s, configs[s.config][1])) for s in self.task.settings]
        try:
            joined = datasets.concatenate_datasets(parts)
        except ValueError as error:
            folder = next(iter(configs.values()))[0].parent
            raise DataError(f"{folder}: its parts do not fit together ({error}). Prepare the data again") from error
        self._say(f"{len(joined)} questions; settings: {self._settings_in_force()}")
        left_out = sum(len(configs[s.config][1]) for s in self.task.settings) - len(joined)
        if left_out:
            self._say(f"warning: {left_out} questions are left out, as videos of theirs are missing (allow_missing)")
        return joined

    def _with_media(self, setting: Setting, rows: Dataset) -> Dataset:
        """The rows whose videos are all there, where the settings allow that some are not; else all.

        Raises DataError when no row is left.
        """
        if not self.settings.allow_missing or not self.benchmark.video_columns:
            return rows
        whole = [
            number
            for number, row in enumerate(rows)
            if all(path.is_file() for path in self._needed_videos(setting, row))
        ]
        if not whole:
            raise DataError(f"{self.task.name}: no question has all of its videos. Prepare the data with their videos")
        return rows.select(whole) if len(whole) < len(rows) else rows

    def _needed_videos(self, setting: Setting, row: Mapping[str, Any]) -> list[Path]:
        """Those that a question shows, or all of its row where it rests on texts, which are found by their videos."""
        if setting.options.get(FROM_TEXTS):
            folder = locate(self.task.data, self.settings)
            return [folder / name for name in self.benchmark.videos_of(row)]
        return [video.path for video in _videos(self.question({**row, SETTING_COLUMN: setting.name}))]

    def _part(self, setting: Setting, rows: Dataset) -> Dataset:
        """The rows of one setting, each marked with its task, its setting and, where it borrows images, the lender.

        Where the setting rests on texts of an earlier stage, each has its own.
        """
        marks: dict[str, list[Any]] = {
            TASK_COLUMN: [self.task.name] * len(rows),
            SETTING_COLUMN: [setting.name] * len(rows),
        }
        texts = without_columns(rows, self.benchmark.image_columns)
        donors = self.benchmark.donors(texts, setting, self.settings)
        if donors:
            marks[DONOR_COLUMN] = [donors.get(name, "") for name in rows["id"]]
        if setting.options.get(FROM_TEXTS):
            rested_on = self.benchmark.texts(self, setting, rows)
            marks[TEXTS_COLUMN] = [list(found) for found, _ in rested_on]
            marks[TEXTS_MISSING_COLUMN] = [missing for _, missing in rested_on]
        rows = without_columns(rows, marks)
        for name, values in marks.items():
            rows = rows.add_column(name, values)
        return rows

    def data_digest(self, settings: Sequence[Setting] = ()) -> str:
        """Tells data sets apart by what they hold: 16 hex digits over the ends of all files.

        Those of a parquet file state the sizes and bounds of its columns; videos come as the rows name them.

        settings: of these alone, by default of all. Raises DataError when the data are not there.
        """
        from spotdiff.data.store import parquet_files

        folder = locate(self.task.data, self.settings)
        names = dict.fromkeys(setting.config for setting in settings or self.task.settings)
        files = [file for name in names for file in parquet_files(folder, name)]
        if self.benchmark.video_columns:
            configs = self._configs()
            columns = list(self.benchmark.video_columns)
            rows = (row for name in names for row in configs[name][1].select_columns(columns))
            named = (video for row in rows for video in self.benchmark.videos_of(row))
            files += [path for video in dict.fromkeys(named) if (path := folder / video).is_file()]
        return digest_of_ends(files)

    def data_revision(self) -> str | None:
        """The commit of data that come from the Hub, None for others. Raises DataError when they are not there."""
        return commit(self.task.data, self.settings)

    def check_media(self, forms: Collection[Form] = FORMS, outcome: str = "no question was asked") -> None:
        """Make sure that all media the questions show are there and whole. To be called before a model is asked.

        forms: those in which the framework can hand over a video. outcome: what is not done if there are faults. Raises
        DataError with every fault that was found.
        """
        from spotdiff.data.checks import raise_problems

        problems = self._check_videos(forms) if self.benchmark.video_columns else self._check_images()
        raise_problems(problems, self.task.name, outcome)

    def _check_images(self) -> list[Problem]:
        from spotdiff.data.checks import Stamp, check_media
        from spotdiff.data.store import parquet_files, stream_rows

        folder = locate(self.task.data, self.settings)
        images = stored = 0
        problems: list[Problem] = []
        for config in dict.fromkeys(setting.config for setting in self.task.settings):
            stamp = Stamp(self.settings.media_cache / "checked", parquet_files(folder, config))
            rows = stream_rows(folder, config)
            summary, found = check_media(self.benchmark, rows, str(folder / config), stamp)
            problems += found
            times_asked = sum(s.config == config for s in self.task.settings)
            images += summary.images * times_asked
            stored += summary.stored_bytes * times_asked
            for warning in summary.warnings:
                self._say(f"warning: {warning}")
        self._say(f"{images} images, {stored / 1e6:.1f} MB as stored (as PNG in a request usually 1 to 4 times that)")
        return problems

    def _check_videos(self, forms: Collection[Form]) -> list[Problem]:
        from spotdiff.data.checks import check_videos

        configs = self._configs()
        shown: dict[Path, tuple[str, Video]] = {}
        for setting in self.task.settings:
            for row in self._with_media(setting, configs[setting.config][1]):
                asked = self.question({**row, SETTING_COLUMN: setting.name})
                place = f"{asked.id} (scene {asked.cluster})"
                shown |= {video.path: (place, video) for video in _videos(asked)}
        whole, problems = check_videos({path: place for path, (place, _) in shown.items()}, self.settings)
        problems += [
            Problem(
                str(path), place, "video", f"it has {whole[path].frames} frames, the data say {video.stated}", _AGAIN
            )
            for path, (place, video) in shown.items()
            if path in whole and video.stated is not None and video.stated != whole[path].frames
        ]
        stored = sum(summary.stored_bytes for summary in whole.values())
        self._say(f"{len(whole)} videos, {stored / 1e6:.1f} MB as stored, given as {self.video_form(forms)}")
        wanted = {path: video.sampling for path, (_, video) in shown.items()}
        short = [path for path, summary in whole.items() if summary.frames < (wanted[path].count or 0)]
        if short:
            self._say(f"{len(short)} of them have fewer frames than asked; each of their frames is given once")
        return problems

    def _configs(self) -> dict[str, tuple[Path, Dataset]]:
        """Config -> its folder and its rows."""
        from spotdiff.data.store import read_config

        folder = locate(self.task.data, self.settings)
        names = dict.fromkeys(setting.config for setting in self.task.settings)
        return {name: (folder / name, read_config(folder, name, self.benchmark.image_columns)) for name in names}

    def _settings_in_force(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.settings.changed().items()) or "defaults"

    def _say(self, what: str) -> None:
        print(f"spotdiff: {self.task.name}: {what}", file=sys.stderr)

    def question(self, row: Mapping[str, Any]) -> Question:
        """The question of one of these rows (image columns may have been dropped as long as no image is opened)."""
        if self.benchmark.video_columns:
            folder = locate(self.task.data, self.settings)
            row = {**row, **{column: _whole_path(folder, row[column]) for column in self.benchmark.video_columns}}
        if row.get(DONOR_COLUMN):
            row = {**row, DONOR_ROW: partial(self._row_of, row[SETTING_COLUMN], row[DONOR_COLUMN])}
        return self.benchmark.question(row, self.task.setting(row[SETTING_COLUMN]), self.settings, self.model)

    def _row_of(self, setting: str, name: str) -> Mapping[str, Any]:
        """The row of this id in the config of a setting."""
        folder, config = locate(self.task.data, self.settings), self.task.setting(setting).config
        rows, numbers = _opened(folder, config, self.benchmark.image_columns)
        found: Mapping[str, Any] = rows[numbers[name]]
        return found

    def shown(self, asked: Asked, forms: Collection[Form] = FORMS) -> Iterator[Shown]:
        """The parts as the model gets them, in order: a panel as one Image, a video given as images as one each frame.

        forms: those that the framework can hand over; images are given where the one in force is none of them. A video
        that stays whole is to be given in the form `video_form`. Frames are decoded here.
        """
        for part in asked.parts:
            if isinstance(part, Panel):
                yield Image(part.image)
            elif isinstance(part, Video) and (part.as_images or self.video_form(forms) == "images"):
                yield from (Image(lambda frame=frame: frame) for frame in part.frames())  # type: ignore[misc]
            else:
                yield part

    def video_form(self, forms: Collection[Form] = FORMS) -> Form:
        """How this model is given a video, of those forms that the framework can hand over."""
        form = form_for(self.settings.video_form, self.model)
        return form if form in forms else "images"

    def answer(self, question: Question, reply: str | None) -> Answer:
        """Read and score one reply. Never raises on any reply."""
        reading = read_reply(
            reply, question.option_texts, several=question.several, chain_of_thought=question.chain_of_thought
        )
        extra = dict(self.benchmark.metrics(question, reply or ""))
        judge = Judge.of(self.settings)
        verdict = None
        if judge is not None:
            verdict = judge.verdict(reply or "", question.option_texts) if judge.wanted(reading) else None
            letters = verdict.letters if verdict is not None else reading.letters
            extra["acc_judged"] = subset_score(letters, question.gold)
            extra["judged"] = float(verdict is not None)
            extra["judge_failed"] = float(verdict is not None and bool(verdict.error))
        scored = Scored(
            id=question.id,
            score=subset_score(reading.letters, question.gold),
            chance=chance(len(question.options), len(question.gold)),
            letters=reading.letters,
            gold=question.gold,
            outcome=reading.outcome.value,
            cluster=question.cluster,
            options=len(question.options),
            groups=question.groups,
            extra=extra,
            failure=failure_of(reply) or "",
        )
        return Answer(scored, reading, verdict)

    def table(self, rows: Sequence[Scored], expected: Mapping[str, int]) -> Table:
        """The benchmark's table of these answers. expected: complete number of questions by setting."""
        title = f"{self.benchmark.title}, {self.task.name} (version {self.benchmark.version})"
        return self.benchmark.table(rows, title, expected)

    def expected(self, rows: Dataset) -> dict[str, int]:
        """Complete number of questions by setting: the paper's, or for a shipped mini set what it holds."""
        if self.task.expected is None:
            return dict(Counter(rows[SETTING_COLUMN]))
        return {setting.name: setting.questions for setting in self.task.settings}


@dataclass(frozen=True)
class Answer:
    """A scored reply with how it was read. verdict: the judge's, where one was asked."""

    scored: Scored
    reading: Reading
    verdict: Verdict | None = None


def _whole_path(folder: Path, value: str | Sequence[str]) -> Path | list[Path]:
    """A column's video, or its list of videos, as paths."""
    return folder / value if isinstance(value, str) else [folder / name for name in value]


def _videos(asked: Question) -> Iterator[Video]:
    """The videos that a question shows, whole or in a panel."""
    for part in asked.parts:
        if isinstance(part, Panel):
            yield from part.videos
        elif isinstance(part, Video):
            yield part


@lru_cache(maxsize=16)
def _opened(folder: Path, config: str, image_columns: tuple[str, ...]) -> tuple[Dataset, Mapping[str, int]]:
    """A config, kept open for rows that are read one by one, with the number of each id."""
    from spotdiff.data.store import read_config

    rows = read_config(folder, config, image_columns)
    return rows, {name: number for number, name in enumerate(rows["id"])}
