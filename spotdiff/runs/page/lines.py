"""What plots take from the tables of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spotdiff.runs.page.drawing import Mark
from spotdiff.runs.report import FULL, Cell, Figures, Line, Report

Marks = Mapping[tuple[str, str], Mark]

MOST_LINES = 12
"""Runs and variants in one plot; of more, those that ask as the paper does come first."""

NO_SHARES = ("gain over chance",)
"""Columns of tables that an axis from 0 to 100 % does not fit."""

WHOLE = ("overall", "average", "mean")
"""What the papers call the column over all questions."""


def main_figures(report: Report) -> list[Figures]:
    """The paper's own tables: the first one of each data set, and others that hold published rows or its columns."""
    first: dict[str, Figures] = {}
    for figures in report.figures:
        first.setdefault(figures.data, figures)
    return [
        figures
        for figures in report.figures
        if set(figures.columns) <= set(first[figures.data].columns)
        or any(line.kind == "published" for line in figures.lines)
    ]


def drawn_runs(figures: Figures) -> list[Line]:
    """The lines of runs that are drawn."""
    lines = [line for line in figures.lines if line.kind == "run" and line.metric == "acc"]
    if len(lines) > MOST_LINES:
        lines = [line for line in lines if line.variant == FULL] + [line for line in lines if line.variant != FULL]
    return lines[:MOST_LINES]


def left_out(figures: Figures) -> tuple[str, ...]:
    count = sum(line.kind == "run" and line.metric == "acc" for line in figures.lines) - MOST_LINES
    return (f"{count} more runs and variants stand in the table only.",) if count > 0 else ()


def values_of(cells: Mapping[str, Cell], columns: Sequence[str]) -> dict[str, float]:
    """The figures that are there, in the order of the columns."""
    found = {column: cells[column].value for column in columns if column in cells}
    return {column: value for column, value in found.items() if value is not None}


def name_of(key: tuple[str, str]) -> str:
    """A run, or a variant of one, as tables call it."""
    return key[0] if key[1] == FULL else f"{key[0]}, {key[1]}"
