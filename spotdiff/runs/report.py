"""A report as data: what Markdown, CSV, parquet and HTML are written from.

Shares lie between 0 and 1, differences between -1 and 1; only the writers turn them into percent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from spotdiff.scoring import Scored
from spotdiff.statistics import Difference

Kind = Literal["run", "published", "human", "chance"]

Unit = Literal["text", "count", "share", "difference", "p", "number"]
"""How a column is shown: share in %, difference in percentage points with its sign, p as a probability."""

FULL = "full"
"""Variant of the tasks that ask as the paper does."""


@dataclass(frozen=True, slots=True)
class Answered:
    """One scored answer of one run, a row of `answers.parquet`.

    run: label of the run. family: tasks that share a table (`m4bench_swap`). data: their data set (`m4bench`, or
    `m4bench_mini`). variant: how the family asks, FULL or such as `swap`. task: as the framework of the run spells it.
    version: of the benchmark's protocol, None where the log does not tell. reply, prompt: None where the log has none.
    place: file and line of the log.
    """

    run: str
    model: str
    framework: str
    benchmark: str
    data: str
    family: str
    variant: str
    task: str
    version: int | None
    scored: Scored
    rule: str
    conflict: bool
    reply: str | None
    prompt: str | None
    place: str

    @property
    def setting(self) -> str:
        return str(self.scored.groups["setting"])

    @property
    def failed(self) -> bool:
        """Whether there is no reply of the model."""
        return self.scored.failed


@dataclass(frozen=True)
class RunFacts:
    """What a run was, and what is wrong with its logs.

    label: its name in every table, unique. model: with its arguments, secrets masked. logs: the files it was read from.
    answered, expected: number of questions by family of tasks. faults: each with file and line, in words.
    mixed: what differs within it that should not (versions of a task), where that was forced.
    provenance: what is needed to run it again, in plain values, one entry for each group of logs.
    """

    label: str
    model: str
    framework: str
    logs: tuple[str, ...]
    answered: Mapping[str, int]
    expected: Mapping[str, int]
    faults: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    provenance: tuple[Mapping[str, Any], ...] = ()

    @property
    def incomplete(self) -> bool:
        """Whether questions are missing or lines of its logs could not be used."""
        return bool(self.faults) or any(self.answered[name] < self.expected[name] for name in self.answered)


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure: a share, its 95 % interval and standard error where there is one, and what it rests on.

    questions, clusters: None for published figures.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    stderr: float | None = None
    questions: int | None = None
    clusters: int | None = None


@dataclass(frozen=True)
class Line:
    """A row of a table of figures: one run in one variant, or a row to compare it with.

    name: as shown. run: label of the run, empty unless kind is `run`. metric: `acc`, `acc_release`, ...
    note: such as `published, judge-assisted (gpt-3.5-turbo)`. cells: by column; a column that is not there was not
    asked, or not published.
    """

    name: str
    kind: Kind
    cells: Mapping[str, Cell]
    run: str = ""
    variant: str = ""
    metric: str = "acc"
    note: str = ""


@dataclass(frozen=True)
class Figures:
    """A table of figures of one data set, all runs as rows. name: unique, fit for a file name."""

    name: str
    title: str
    benchmark: str
    data: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()


Value = str | int | float | None


@dataclass(frozen=True)
class Sheet:
    """Any other table: coverage, outcomes, letters, comparisons. One row an observation.

    name: unique, fit for a file name. units: of each column. detail: long, to be shown folded or not at all; the CSV
    has it.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    units: tuple[Unit, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()
    detail: bool = False


@dataclass(frozen=True)
class Comparison:
    """First minus second, over the questions that both answered.

    kind: `runs` for two runs in the same variant, `variants` for two variants of one run, the full one second.
    part: `overall` (the benchmark's own mean) or a setting. settings: those that the figure covers.
    adjusted: p after Holm's correction, over the comparisons of the same kind, data, metric and either all overall or
    all of a setting. only_first, only_second: ids of questions that one side has alone. differing: ids of questions
    with other right letters or another cluster on the two sides; they are not compared.
    """

    kind: Literal["runs", "variants"]
    benchmark: str
    data: str
    metric: str
    part: str
    first: str
    first_variant: str
    second: str
    second_variant: str
    difference: Difference
    adjusted: float | None
    settings: tuple[str, ...]
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """All that a report says.

    runs: in the order in which they were named. answers: of all runs, one after the other. figures: the papers' tables
    and what breaks them down; of each data set the paper's own come first. sheets: all other tables, comparisons among
    them. warnings: what a reader has to know first, in words. provenance: versions, command and date of the report
    itself, and of each run what `RunFacts.provenance` holds; plain JSON values.
    """

    runs: tuple[RunFacts, ...]
    answers: tuple[Answered, ...]
    figures: tuple[Figures, ...]
    comparisons: tuple[Comparison, ...]
    sheets: tuple[Sheet, ...]
    warnings: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
