"""The tables of the EgoExo-Next paper over several runs."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from spotdiff.benchmarks.egoexo_next.schema import DIRECTIONS, EGO2EXO, KINDS, MATCH, SUBTASKS
from spotdiff.benchmarks.egoexo_next.tables import CELLS, KIND_TITLES, NEXT_STATE, NUMBERS, chosen_kind, conditional
from spotdiff.benchmarks.published import read_published
from spotdiff.scoring import SCORE, Estimate, Scored, by_group, estimate, overall
from spotdiff.tasks import Breakdown, Published

AVERAGE = "average"

_TITLES = {cell: f"{NUMBERS[cell[0]]} {cell[1]}" for cell in CELLS}


_BLOCKS = {
    "S1, S2, S3, S4": SUBTASKS,
    "S1, S3, S4": NEXT_STATE,
    "S2, S4": (MATCH, EGO2EXO),
    "S4": (EGO2EXO,),
}
"""Subtasks over which Tables 2 and 5 average, under the names of their files."""


def _cell(row: Scored) -> tuple[str, str]:
    return str(row.groups["subtask"]), str(row.groups["scene"])


def _measure(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    """Table 1: subtask 2 as the mean of its two directions, the average over the eight cells."""
    from spotdiff.statistics import mean_over

    members: dict[tuple[str, str], list[Scored]] = {}
    for row in rows:
        members.setdefault(_cell(row), []).append(row)
    directions = {cell: {str(row.groups["direction"]) for row in part} for cell, part in members.items()}
    whole = [cell for cell in CELLS if cell in members and (cell[0] != MATCH or directions[cell] == set(DIRECTIONS))]
    found = {
        _TITLES[cell]: mean_over(members[cell], metric, lambda row: str(row.groups["direction"])) for cell in whole
    }
    average = _average(rows, metric, SUBTASKS)
    return found if average is None else {**found, AVERAGE: average}


def _average(rows: Sequence[Scored], metric: str, subtasks: Sequence[str]) -> Estimate | None:
    """The mean over the cells of these subtasks, each direction of subtask 2 alike; None where some were not asked."""
    from spotdiff.statistics import mean_over

    rows = [row for row in rows if row.groups["subtask"] in subtasks]
    directions: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        directions.setdefault(_cell(row), set()).add(str(row.groups["direction"]))
    if any(
        cell not in directions or (cell[0] == MATCH and directions[cell] != set(DIRECTIONS))
        for cell in CELLS
        if cell[0] in subtasks
    ):
        return None
    weights = {f"{cell} {name}": 1 / len(names) for cell, names in directions.items() for name in names}
    return mean_over(rows, metric, lambda row: f"{_cell(row)} {row.groups['direction']}", weights)


def _averages(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    found = {name: _average(rows, metric, subtasks) for name, subtasks in _BLOCKS.items()}
    return {name: part for name, part in found.items() if part is not None}


def _directions(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    return by_group([row for row in rows if row.groups["subtask"] == MATCH], "direction", metric)


def _futures(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    rows = [row for row in rows if row.groups["future"] and row.groups["subtask"] in NEXT_STATE]
    found = {
        f"{NUMBERS[name]}, {number}": part
        for name in NEXT_STATE
        for number, part in by_group([row for row in rows if row.groups["subtask"] == name], "future", metric).items()
    }
    return {**found, **{f"all, {number}": part for number, part in by_group(rows, "future", metric).items()}}


def _sources(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    return dict(sorted(by_group(rows, "source", metric).items()))


def _kinds(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    """How often an option of each kind was chosen; chance: how often a guess would choose it."""
    found = {}
    for subtask in SUBTASKS:
        part = [row for row in rows if row.groups["kinds"] and row.groups["subtask"] == subtask]
        for kind in KINDS if part else ():
            guessed = sum(list(row.groups["kinds"]).count(kind) / row.options for row in part) / len(part)
            chosen = [float(chosen_kind(row) == kind) for row in part]
            name = f"{NUMBERS[subtask]}, {KIND_TITLES.get(kind, kind)}"
            found[name] = estimate(chosen, [row.cluster for row in part], guessed)
    return found


def _conditional(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    return {name: overall(part, SCORE) for name, part in conditional(rows).items() if part}


def _published() -> Sequence[Published]:
    columns: Mapping[str, str] = {f"{subtask} {scene}": title for (subtask, scene), title in _TITLES.items()}
    return read_published(Path(__file__).with_name("published.csv"), {**columns, AVERAGE: AVERAGE})


def _published_averages() -> Sequence[Published]:
    """Tables 2 and 5, one row a model and a way of asking; what both call the full input is one row."""
    found: dict[str, dict[str, float]] = {}
    for file in ("published_controls.csv", "published_diagnosis.csv"):
        with Path(__file__).with_name(file).open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if not row["setting"].startswith("S4 |")]
        for row in rows:
            block, setting = row.pop("block", "S4"), row.pop("setting")
            row.pop(AVERAGE)
            for model, value in row.items():
                name = model if setting.startswith("Full ") else f"{model}, {setting}"
                found.setdefault(name, {})[block] = float(value) / 100
    return [Published(name, values) for name, values in sorted(found.items())]


BREAKDOWNS = (
    Breakdown("table_1", "Table 1, by subtask and scene", _measure, (*_TITLES.values(), AVERAGE), _published),
    Breakdown("averages", "Tables 2 and 5, averages", _averages, tuple(_BLOCKS), _published_averages),
    Breakdown("directions", "Subtask 2 by direction", _directions, tuple(DIRECTIONS)),
    Breakdown(
        "futures",
        "By subtask and number of future candidates",
        _futures,
        tuple(f"{name}, {number}" for name in (*map(NUMBERS.__getitem__, NEXT_STATE), "all") for number in "1234"),
    ),
    Breakdown("sources", "By source", _sources),
    Breakdown("kinds", "What the chosen option shows", _kinds, main_only=True),
    Breakdown("conditional", "Subtask 4 on the matched groups", _conditional, main_only=True),
)
