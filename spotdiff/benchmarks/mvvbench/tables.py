"""The tables of MVVBench. Every average is a mean over questions; chance is the mean of 1/k over k options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from spotdiff.benchmarks.mvvbench.protocol import VIEWS
from spotdiff.benchmarks.mvvbench.schema import CATEGORIES, MOTION, SOURCES
from spotdiff.benchmarks.published import read_published
from spotdiff.reporting import half_width, notes, percent
from spotdiff.scoring import SCORE, Estimate, Scored, by_group, metrics_of, overall, with_metric
from spotdiff.tasks import Breakdown, Published, Table


def table(rows: Sequence[Scored], title: str, expected: Mapping[str, int]) -> Table:
    """Accuracy by category and overall, gain over chance, interval by sample; then by motion, views and source.

    Where questions are missing every title says how many are there, and no column is called overall.
    """
    total = sum(expected.values())
    part = f", {len(rows)} of {total} questions" if len(rows) < total else ""
    columns: dict[str, Callable[[Scored], bool]] = {name: partial(_is_of, name) for name in CATEGORIES}
    columns["these questions" if part else "overall"] = lambda row: True
    further = [
        _by(rows, f"By {key}{part}", key, names)
        for key, names in (("motion", tuple(MOTION)), ("views", VIEWS), ("source", SOURCES))
        if rows
    ]
    coverage = f"Coverage: {len(rows)} of {total} questions."
    if part:
        coverage += " A part of the benchmark: its figures are not those of the whole."
    return Table(
        f"{title}{part}", ("%", *columns), tuple(_lines(rows, columns)), (coverage, *notes(rows)), tuple(further)
    )


def _is_of(category: str, row: Scored) -> bool:
    return row.groups["category"] == category


def _lines(rows: Sequence[Scored], columns: Mapping[str, Callable[[Scored], bool]]) -> list[tuple[str, ...]]:
    found = [[row for row in rows if belongs(row)] for belongs in columns.values()]
    lines = []
    for metric in metrics_of(rows):
        estimates = [overall(with_metric(part, metric), metric) for part in found]
        lines.append(("acc" if metric == SCORE else metric, *(percent(estimate.mean) for estimate in estimates)))
        if metric == SCORE:
            lines.append(("95 % interval, +-", *map(half_width, estimates)))
            lines.append(("gain over chance", *(_gain(estimate.mean, estimate.chance) for estimate in estimates)))
    lines.append(("chance", *(percent(overall(part).chance) for part in found)))
    lines.append(("truncated", *(percent(_truncated(part)) for part in found)))
    lines.append(("questions", *(str(len(part)) for part in found)))
    return lines


def _gain(mean: float | None, chance: float | None) -> str:
    return "-" if mean is None or chance is None else f"{100 * (mean - chance):+.1f}"


def _truncated(rows: Sequence[Scored]) -> float | None:
    """Share of replies that ended before their answer."""
    return sum(row.outcome == "truncated" for row in rows) / len(rows) if rows else None


def _by(rows: Sequence[Scored], title: str, key: str, names: Sequence[str]) -> Table:
    found = by_group(rows, key)
    body = [
        (name, percent(part.mean), half_width(part), _gain(part.mean, part.chance), percent(part.chance), str(part.n))
        for name in names
        if (part := found.get(name)) is not None
    ]
    head = ("%", "acc", "95 % interval, +-", "gain over chance", "chance", "questions")
    return Table(title, head, tuple(body))


_GAIN = "gain over chance"


def _measure(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    cells = by_group(rows, "category", metric)
    whole = overall(rows, metric)
    cells["overall"] = whole
    if whole.mean is not None and whole.chance is not None:
        cells[_GAIN] = replace(whole, mean=whole.mean - whole.chance, chance=0.0)
    return cells


def _measure_by(key: str, rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    return by_group(rows, key, metric)


def _published() -> Sequence[Published]:
    columns = {**{name: name for name in (*CATEGORIES, "overall")}, "gain": _GAIN}
    return read_published(Path(__file__).with_name("published.csv"), columns)


BREAKDOWNS = (
    Breakdown("categories", "Accuracy by category", _measure, (*CATEGORIES, "overall", _GAIN), _published),
    *(
        Breakdown(key, f"By {key}", partial(_measure_by, key), tuple(names))
        for key, names in (("motion", MOTION), ("views", VIEWS), ("source", SOURCES))
    ),
)
