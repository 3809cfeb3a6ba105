"""What the page's template shows of a report, in the order in which it shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spotdiff.reporting import listed
from spotdiff.runs.compare import OVERALL
from spotdiff.runs.report import FULL, Comparison, Report, RunFacts, Sheet

_TASK_FACTS = ("version", "spotdiff", "data digest", "data revision", "settings", "generation")

_SEVERAL = 3
"""Different values of one fact that a card lists; `provenance.json` has all."""


@dataclass(frozen=True)
class Card:
    """A run at a glance. facts: name and value. commands: as they were typed, as far as the logs tell."""

    label: str
    colour: str
    incomplete: bool
    facts: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    logs: tuple[str, ...]
    troubles: tuple[str, ...]


def card(run: RunFacts, colour: str) -> Card:
    answered = (f"{family} {run.answered[family]:,} of {run.expected[family]:,}" for family in run.answered)
    facts = [("model", run.model), ("framework", run.framework), ("answered", ", ".join(answered))]
    for name, label in (("framework version", "its version"), ("date", "date"), ("limit", "limit"), ("seeds", "seeds")):
        facts.append((label, _distinct(entry.get(name) for entry in run.provenance)))
    told = [facts for entry in run.provenance for facts in entry.get("tasks", {}).values()]
    for name in _TASK_FACTS:
        label = {"version": "task version", "settings": "settings (frames, ...)"}.get(name, name)
        facts.append((label, _distinct(entry.get(name) for entry in told)))
    commands = dict.fromkeys(str(entry["command"]) for entry in run.provenance if entry.get("command"))
    known = tuple((name, value) for name, value in facts if value)
    return Card(run.label, colour, run.incomplete, known, tuple(commands), run.logs, (*run.faults, *run.mixed))


def _distinct(values: Iterable[Any]) -> str:
    return listed(list(dict.fromkeys(in_line(value) for value in values if value not in (None, "", {}, []))), _SEVERAL)


def in_line(value: Any) -> str:
    """A plain value on one line: `frames=60, fps=2`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={in_line(entry)}" for name, entry in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(in_line, value))
    return str(value)


@dataclass(frozen=True)
class Contrast:
    """A table of differences. widest: the largest bound of an interval, for the scale of its drawing."""

    title: str
    rows: tuple[Comparison, ...]
    notes: tuple[str, ...]
    folded: bool

    @property
    def widest(self) -> float:
        bounds = [abs(bound) for row in self.rows for bound in (row.difference.low, row.difference.high) if bound]
        means = [abs(row.difference.estimate.mean or 0.0) for row in self.rows]
        return max([*bounds, *means, 0.01])

    @property
    def with_metric(self) -> bool:
        return len({row.metric for row in self.rows}) > 1

    @property
    def with_part(self) -> bool:
        return any(row.part != OVERALL for row in self.rows)


_CONTRASTS = {
    "comparisons": ("runs", True),
    "comparisons_by_setting": ("runs", False),
    "variants": ("variants", True),
    "variants_by_setting": ("variants", False),
}
"""Sheet of differences -> kind of its comparisons, and whether over all settings."""


def contrasts(report: Report) -> list[Contrast]:
    """The tables of differences, under the titles and notes that they have in the other files."""
    named = {sheet.name: sheet for sheet in report.sheets}
    found = []
    for name, (kind, whole) in _CONTRASTS.items():
        rows = tuple(one for one in report.comparisons if one.kind == kind and (one.part == OVERALL) == whole)
        if rows and name in named:
            found.append(Contrast(named[name].title, rows, named[name].notes, not whole))
    return found


def checks(report: Report) -> list[Sheet]:
    """All other tables: coverage, outcomes, letters."""
    return [sheet for sheet in report.sheets if sheet.name not in _CONTRASTS]


def side(run: str, variant: str) -> str:
    return run if variant == FULL else f"{run}, {variant}"


def title(runs: Sequence[RunFacts]) -> str:
    return listed([run.label for run in runs], 3)
