"""The tables of the M3-Verse paper. Every average is a mean over questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from spotdiff.benchmarks.m3verse.schema import CAPABILITIES, INTER, INTRA
from spotdiff.benchmarks.published import read_published
from spotdiff.reporting import half_width, notes, percent
from spotdiff.scoring import SCORE, Estimate, Scored, by_group, metrics_of, overall, with_metric
from spotdiff.tasks import Breakdown, Published, Table

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


_POOLED = "pooled"


def _of_part(part: str, rows: Sequence[Scored]) -> list[Scored]:
    """The rows of one part; of all where there are several, for the pooled one."""
    if part != _POOLED:
        return [row for row in rows if row.groups["setting"] == part]
    return list(rows) if len({row.groups["setting"] for row in rows}) > 1 else []


def _measure(part: str, rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    rows = _of_part(part, rows)
    found = {name: [row for row in rows if belongs(row)] for name, belongs in COLUMNS}
    return {name: overall(members, metric) for name, members in found.items() if members}


def _measure_subcategories(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    return dict(sorted(by_group(rows, "subcategory", metric).items()))


_ORACLES = {"oracle": ("6", "Table 6, Text-Oracle"), "oracle_raw": ("7", "Table 7, Text-Oracle without summaries")}
"""Context of answers -> table of the paper, and its title."""


def _measure_oracle(context: str, rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    """Of the answers from this context; of Sim alone, as in the paper, or of the mini set."""
    wanted = [row for row in rows if row.groups.get("context") == context and row.groups["setting"] != "real"]
    found = {name: [row for row in wanted if belongs(row)] for name, belongs in COLUMNS}
    return {name: overall(members, metric) for name, members in found.items() if members}


def _published_oracle(number: str) -> Sequence[Published]:
    def note(row: Mapping[str, str]) -> str:
        clip = f"clips of {row['clip']} frames" if row["clip"] else ""
        return ", ".join(filter(None, (f"from {row['context']}", clip, f"answers by {row['answers'] or row['model']}")))

    return read_published(
        Path(__file__).with_name("published_oracle.csv"),
        {name: name for name in _OF_THE_PAPER},
        wanted=lambda row: row["table"] == number,
        note=note,
    )


_OF_THE_PAPER = [name for name, _ in COLUMNS if name.split()[0] in ("overall", INTRA, INTER)]


def _published(part: str) -> Sequence[Published]:
    def note(row: Mapping[str, str]) -> str:
        frames = row["frames"]
        said = (row["size"], f"{frames} frames" if frames.isdigit() else frames)
        return ", ".join(filter(None, said))

    return read_published(
        Path(__file__).with_name("published.csv"),
        {name: name for name in _OF_THE_PAPER},
        wanted=lambda row: row["scope"] == part,
        note=note,
    )


BREAKDOWNS = (
    *(
        Breakdown(
            part,
            f"Table 2, {title}",
            partial(_measure, part),
            tuple(name for name, _ in COLUMNS),
            partial(_published, part),
        )
        for part, title in {**_TITLES, _POOLED: "Sim and Real pooled"}.items()
    ),
    *(
        Breakdown(
            context,
            f"{title} (Sim)",
            partial(_measure_oracle, context),
            tuple(name for name, _ in COLUMNS),
            partial(_published_oracle, number),
        )
        for context, (number, title) in _ORACLES.items()
    ),
    Breakdown("subcategories", "By subcategory", _measure_subcategories),
)
