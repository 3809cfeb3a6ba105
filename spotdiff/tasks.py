"""The registry: which tasks exist, under which name in which framework, and which benchmark answers for them.

A benchmark is one folder under `spotdiff/benchmarks` with an object `BENCHMARK`; nothing else needs to know of it.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from spotdiff.errors import Problem, SettingError
from spotdiff.question import Question
from spotdiff.scoring import Estimate, Scored
from spotdiff.settings import Settings

if TYPE_CHECKING:
    from datasets import Dataset

    from spotdiff.evaluation import Evaluation
    from spotdiff.probes.stages import Stage

_SPELLED = {
    "m4bench": "M4Bench",
    "m3verse": "M3Verse",
    "egoexo": "EgoExo",
    "ego2exo": "Ego2Exo",
    "exo2ego": "Exo2Ego",
    "mvvbench": "MVVBench",
    "cot": "CoT",
    "m3cot": "M3CoT",
    "mv": "MV",
    "vp": "VP",
}

TEXTS_COLUMN = "texts"
"""Key of a row that rests on texts of an earlier stage (spotdiff.probes): these, in the order of its benchmark."""

TEXTS_MISSING_COLUMN = "texts_missing"
"""Key of such a row: how many texts that it rests on are not there."""

FROM_TEXTS = "from_texts"
"""Option of a setting whose questions rest on such texts."""

INPUTS = "inputs"
"""Group of a question that rests on such texts: WHOLE, or PARTIAL where some of them are missing."""

WHOLE, PARTIAL = "whole", "partial"

DONOR_ROW = "donor_row"
"""Key of a row that borrows images of another row: a function without arguments that gives that row."""


@dataclass(frozen=True)
class Setting:
    """One column of a benchmark's table: a config of the data set, asked in one way.

    name: as in ids and tables. title: short, for a table's head. config: of the data set. options: a benchmark's own
    marks for this setting. questions: how many the paper has. released_as: its name in the files of the release.
    weight: in a mean over several settings.
    """

    name: str
    title: str
    config: str
    questions: int
    options: Mapping[str, Any] = field(default_factory=dict)
    released_as: str = ""
    weight: float = 1.0


@dataclass(frozen=True)
class Task:
    """What a framework runs under one name: one or more settings of one data set, with the values that the task fixes.

    name: in lmms-eval. data: name of the data set (`m4bench`), or of a shipped one (`m4bench_mini`). own: settings that
    this task fixes, see spotdiff.settings. expected: questions in the complete task, None where the data decide (mini).
    max_new_tokens: where the benchmark's own limit does not fit.
    """

    name: str
    benchmark: str
    data: str
    settings: tuple[Setting, ...]
    own: Mapping[str, Any] = field(default_factory=dict)
    expected: int | None = None
    max_new_tokens: int | None = None

    def setting(self, name: str) -> Setting:
        """The setting of this name. Raises KeyError."""
        return {setting.name: setting for setting in self.settings}[name]

    @property
    def vlmeval_name(self) -> str:
        """As VLMEvalKit spells it: `m4bench_spatial_perception_vp` -> `M4Bench_Spatial_Perception_VP`."""
        return "_".join(_SPELLED.get(word, word.capitalize()) for word in self.name.split("_"))


@dataclass(frozen=True)
class Table:
    """A table ready to print: its title, its head, its rows, notes below it, and tables that break it down further."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    further: tuple[Table, ...] = ()

    def markdown(self) -> str:
        widths = [max(len(row[i]) for row in (self.head, *self.rows)) for i in range(len(self.head))]
        lines = [
            " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in (self.head, *self.rows)
        ]
        rule = " | ".join("-" * width for width in widths)
        body = [f"| {line} |" for line in (lines[0], rule, *lines[1:])]
        own = "\n".join([f"**{self.title}**", "", *body, *([""] if self.notes else []), *self.notes])
        return "\n\n".join([own, *(table.markdown() for table in self.further)])


def inputs_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The group of a row that rests on texts."""
    return {INPUTS: PARTIAL if row.get(TEXTS_MISSING_COLUMN) else WHOLE}


def filled(template: str, **values: str) -> str:
    """A prompt's template with its marks `{name}` replaced, all at once: a value may hold anything, marks too."""
    return re.sub(r"\{(\w+)\}", lambda mark: values[mark[1]], template)


def _none(row: Mapping[str, Any], sizes: Mapping[str, tuple[int, int]], file: str) -> Sequence[Problem]:
    return ()


def _no_warning(row: Mapping[str, Any], file: str) -> Sequence[str]:
    return ()


def _no_donors(rows: Iterable[Mapping[str, Any]], setting: Setting, settings: Settings) -> Mapping[str, str]:
    return {}


def _no_comparison(families: Mapping[str, Sequence[Scored]], title: str) -> Sequence[Table]:
    return ()


def _no_texts(evaluation: Evaluation, setting: Setting, rows: Dataset) -> Sequence[tuple[Sequence[str], int]]:
    return ()


def _no_metric(question: Question, reply: str) -> Mapping[str, float]:
    return {}


@dataclass(frozen=True)
class Published:
    """A row of a paper's table. values: by column, as shares. note: what has to be known to compare with it."""

    model: str
    values: Mapping[str, float]
    note: str = ""


@dataclass(frozen=True)
class Breakdown:
    """A table over several runs: what the answers of one run are averaged into.

    measure(rows, metric) gives column -> average, for those columns that these rows have; every row has the metric.
    columns: in their order, those that were not foreseen come behind them. published: rows of the paper with the same
    columns; the one called Human and the one called Random stand for a person and for a guess. main_only: for the main
    score alone.
    """

    name: str
    title: str
    measure: Callable[[Sequence[Scored], str], Mapping[str, Estimate]]
    columns: tuple[str, ...] = ()
    published: Callable[[], Sequence[Published]] = tuple
    main_only: bool = False


@dataclass(frozen=True)
class Benchmark:
    """One benchmark, as the adapters see it.

    version: of the protocol; raised whenever what is measured changes. max_new_tokens: the task's own limit.
    tasks: all of them. groups: lmms-eval group -> task names; a VLMEvalKit data set of that name joins them.
    question(row, setting, settings, model) makes the Question; row may lack the image columns, and its video columns
    hold whole paths. problems(row, file) gives the faults of a row without decoding media.
    image_columns: columns of a row that hold pixels. needed_images(row) names those that must not be empty in this row,
    by default all. video_columns: those that name a video or a list of videos, relative to the data set.
    pixel_problems(row, sizes, file) gives the faults of a row's images, given their sizes by column;
    pixel_warnings(row, file) what is odd about them, and no reason to stop.
    donors(rows, setting, settings) gives, for rows that borrow images in this setting, id -> id of the row that lends.
    metrics(question, reply) gives further scores in [0, 1] beside `acc`. table(scored, title, expected) is the
    paper's table, expected being the complete number of questions by setting.
    policies: image-blind ways to answer, name -> (question) -> letters.
    pooled: the mean over several settings is one over all their questions, not one over the settings.
    balanced: a group whose values weigh the same in the mean of one setting; by default each question does.
    comparison(families, title) gives tables that set families of tasks (ways to ask the same) side by side, for the
    answers of one model by family.
    breakdowns: tables with a row for each run, the paper's first. bases: variant -> the variant that it changes, where
    that is not the full one (`plus_exo` -> `matched`).
    counts(configs) gives tables of what a data set holds beside the paper's numbers, from its rows without images by
    config.
    stages: tasks that make texts for later ones. stage_groups: lmms-eval group -> names of stages.
    texts(evaluation, setting, rows) gives, for a setting with the option FROM_TEXTS, the texts of each row, in their
    order, and how many are missing. Raises SpotdiffError where a text is not there that must be.
    """

    name: str
    title: str
    version: int
    max_new_tokens: int
    tasks: tuple[Task, ...]
    groups: Mapping[str, tuple[str, ...]]
    question: Callable[[Mapping[str, Any], Setting, Settings, str | None], Question]
    problems: Callable[[Mapping[str, Any], str], Sequence[Problem]]
    table: Callable[[Sequence[Scored], str, Mapping[str, int]], Table]
    image_columns: tuple[str, ...] = ()
    needed_images: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    video_columns: tuple[str, ...] = ()
    pixel_problems: Callable[[Mapping[str, Any], Mapping[str, tuple[int, int]], str], Sequence[Problem]] = _none
    pixel_warnings: Callable[[Mapping[str, Any], str], Sequence[str]] = _no_warning
    donors: Callable[[Iterable[Mapping[str, Any]], Setting, Settings], Mapping[str, str]] = _no_donors
    metrics: Callable[[Question, str], Mapping[str, float]] = _no_metric
    policies: Mapping[str, Callable[[Question], Sequence[str]]] = field(default_factory=dict)
    pooled: bool = False
    balanced: str | None = None
    comparison: Callable[[Mapping[str, Sequence[Scored]], str], Sequence[Table]] = _no_comparison
    counts: Callable[[Mapping[str, Sequence[Mapping[str, Any]]]], Sequence[Table]] | None = None
    breakdowns: tuple[Breakdown, ...] = ()
    bases: Mapping[str, str] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()
    stage_groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Callable[[Evaluation, Setting, Dataset], Sequence[tuple[Sequence[str], int]]] = _no_texts

    def videos_of(self, row: Mapping[str, Any]) -> Iterator[str]:
        """All videos that a row names, relative to the data set."""
        for column in self.video_columns:
            yield from [row[column]] if isinstance(row[column], str) else row[column]


@cache
def benchmarks() -> Mapping[str, Benchmark]:
    """All benchmarks by name."""
    import spotdiff.benchmarks as package

    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.ispkg)
    found = (importlib.import_module(f"spotdiff.benchmarks.{name}").BENCHMARK for name in names)
    return {benchmark.name: benchmark for benchmark in found}


@cache
def tasks() -> Mapping[str, Task]:
    """All tasks by their lmms-eval name."""
    return {task.name: task for benchmark in benchmarks().values() for task in benchmark.tasks}


@cache
def vlmeval_tasks() -> Mapping[str, Task]:
    """All tasks by their VLMEvalKit name; a group of lmms-eval is one data set there, with all its settings."""
    found = {task.vlmeval_name: task for task in tasks().values()}
    for benchmark in benchmarks().values():
        for group, members in benchmark.groups.items():
            joined = _joined(group, [tasks()[name] for name in members])
            found[joined.vlmeval_name] = joined
    return found


def _joined(name: str, members: Sequence[Task]) -> Task:
    first = members[0]
    if any((task.data, task.own) != (first.data, first.own) for task in members):
        raise ValueError(f"tasks of group {name} differ in data or in what they fix")
    settings = tuple(setting for task in members for setting in task.settings)
    expected = None if first.expected is None else sum(task.expected or 0 for task in members)
    return Task(name, first.benchmark, first.data, settings, first.own, expected, first.max_new_tokens)


def task(name: str) -> Task:
    """The task or group of this name, as either framework spells it. Raises SettingError with the closest names."""
    theirs = vlmeval_tasks()
    ours = {entry.name: entry for entry in theirs.values()}
    found = ours.get(name) or theirs.get(name)
    if found is None:
        known = list(ours if name.islower() else theirs)
        close = difflib.get_close_matches(name, known, n=3)
        hint = f"Did you mean {', '.join(close)}?" if close else "`spotdiff tasks` lists all of them"
        raise SettingError(f"There is no task {name!r}. {hint}")
    return found
