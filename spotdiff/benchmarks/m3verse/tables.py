"""The tables of the M3-Verse paper. Every average is a mean over questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from spotdiff.benchmarks.m3verse.schema import CAPABILITIES, INTER, INTRA
from spotdiff.reporting import half_width, notes, percent
from spotdiff.scoring import SCORE, Scored, by_group, metrics_of, overall, with_metric
from spotdiff.tasks import Table

_SHORT = dict(zip(CAPABILITIES, ("S.U.", "T.U.", "A.R.", "Rs"), strict=True))

Column = tuple[str, Callable[[Scored], bool]]


def _capability(state: str, name: str) -> Column:
    return f"{state} {_SHORT[name]}", lambda row: row.groups["state"] == state and name in row.groups["capability"]


def _state(state: str) -> Column:
    return f"{state} avg", lambda row: row.groups["state"] == state


def _group(title: str, key: str, value: str) -> Column:
    return title, lambda row: row.groups[key] == value


COLUMNS: tuple[Column, ...] = (
    ("overall", lambda row: True),
    *(
        column
        for state in (INTRA, INTER)
        for column in (_state(state), *(_capability(state, name) for name in CAPABILITIES))
    ),
    _group("factual", "kind", "factual"),
    _group("hallucination", "kind", "hallucination"),
    _group("one right", "choice", "one"),
    _group("several right", "choice", "several"),
)
"""A question counts in each of its capabilities."""

_TITLES = {"sim": "Sim", "real": "Real", "mini": "mini"}


def table(rows: Sequence[Scored], title: str, expected: Mapping[str, int]) -> Table:
    """Table 2 of the paper with, for each part and pooled over parts: `acc`, its 95 % interval by scene, chance,
    counts.

    A further table breaks down by subcategory.
    """
    parts = {_TITLES[name]: [row for row in rows if row.groups["setting"] == name] for name in _TITLES}
    parts = {name: found for name, found in parts.items() if found}
    if len(parts) > 1:
        parts["pooled"] = list(rows)
    body = [line for name, found in parts.items() for line in _lines(name, found)]
    coverage = f"Coverage: {len(rows)} of {sum(expected.values())} questions."
    head = ("%", *(name for name, _ in COLUMNS))
    return Table(title, head, tuple(body), (coverage, *notes(rows)), (_subcategories(rows, title),) if rows else ())


def _lines(name: str, rows: Sequence[Scored]) -> list[tuple[str, ...]]:
    found = {column: [row for row in rows if belongs(row)] for column, belongs in COLUMNS}
    lines = []
    for metric in metrics_of(rows):
        label = "acc" if metric == SCORE else metric
        estimates = [overall(with_metric(part, metric), metric) for part in found.values()]
        lines.append((f"{name} {label}", *(percent(estimate.mean) for estimate in estimates)))
        if metric == SCORE:
            lines.append((f"{name} 95 % interval, +-", *(half_width(estimate) for estimate in estimates)))
    lines.append((f"{name} chance", *(percent(overall(part).chance) for part in found.values())))
    lines.append((f"{name} questions", *(str(len(part)) for part in found.values())))
    return lines


def _subcategories(rows: Sequence[Scored], title: str) -> Table:
    body = [
        (name, percent(estimate.mean), half_width(estimate), percent(estimate.chance), str(estimate.n))
        for name, estimate in sorted(by_group(rows, "subcategory").items())
    ]
    return Table(f"{title}, by subcategory", ("%", "acc", "95 % interval, +-", "chance", "questions"), tuple(body))
