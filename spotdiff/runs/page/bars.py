"""A table of figures as bars, and as a heat map."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spotdiff.runs.page.drawing import (
    INK,
    Mark,
    Plot,
    bars_of_interval,
    figure,
    in_words,
    legend,
    percent_axis,
    plain,
    svg,
)
from spotdiff.runs.page.lines import NO_SHARES, Marks, drawn_runs, left_out, values_of
from spotdiff.runs.report import Figures, Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 64
"""Bars in one plot; more are drawn as points."""


def bars(figures: Figures, looks: Marks) -> list[Plot]:
    """Accuracy by column of a table, runs side by side, with 95 % intervals, a guess and a person."""
    from matplotlib.lines import Line2D

    lines = drawn_runs(figures)
    columns = [name for name in figures.columns if name not in NO_SHARES]
    if not lines or not columns:
        return []
    as_points = len(lines) * len(columns) > MOST_BARS
    with figure(3.6 + 0.18 * math.ceil(len(lines) / 2), figures.name) as drawn:
        axes = drawn.add_subplot()
        entries = []
        for place, line in enumerate(lines):
            handle = _side_by_side(axes, columns, line, looks[line.run, line.variant], (place, len(lines)), as_points)
            entries.append((handle, line.name))
        for kind, style in (("chance", ":"), ("human", "--")):
            # The last one is what a guess scores at the very questions that the runs were asked.
            beside = next((line for line in reversed(figures.lines) if line.kind == kind), None)
            values = values_of(beside.cells, columns) if beside is not None else {}
            for column, value in values.items():
                centre = columns.index(column)
                axes.hlines(100 * value, centre - 0.45, centre + 0.45, colors=INK, linestyles=style, linewidth=1.2)
            if values:
                entries.append(
                    (Line2D([], [], color=INK, linestyle=style), {"chance": "a guess"}.get(kind, "a person"))
                )
        _name_columns(axes, columns)
        percent_axis(axes)
        axes.set_ylim(0, 100)
        legend(axes, entries)
        said = in_words({line.name: values_of(line.cells, columns) for line in lines})
        alt = f"Accuracy with 95 % intervals, by column of the table. {said}"
        name = f"bars-{figures.name}"
        picture = svg(drawn, name, figures.title, alt)
    return [Plot(name, figures.title, alt, picture, left_out(figures))]


def _side_by_side(
    axes: Axes, columns: Sequence[str], line: Line, look: Mark, place: tuple[int, int], as_points: bool
) -> Any:
    """Draw one run into every group; gives the handle for the legend. place: number of the run, and of how many."""
    number, count = place
    width = 0.84 / count
    cells = {column: line.cells[column] for column in values_of(line.cells, columns)}
    places = [columns.index(column) - 0.42 + width * (number + 0.5) for column in cells]
    values = list(values_of(cells, columns).values())
    errors = bars_of_interval(values, list(cells.values()))
    percents = [100 * value for value in values]
    if as_points:
        return axes.errorbar(
            places,
            percents,
            yerr=errors,
            fmt=look.marker,
            color=look.colour,
            markeredgecolor=INK,
            markeredgewidth=0.4,
            markersize=4.5,
            elinewidth=0.9,
        )
    handle = axes.bar(places, percents, width * 0.94, color=look.colour, hatch=look.hatch, edgecolor=INK, linewidth=0.4)
    axes.errorbar(places, percents, yerr=errors, fmt="none", ecolor=INK, elinewidth=0.9, capsize=min(2.5, 12 * width))
    return handle


def _name_columns(axes: Axes, columns: Sequence[str]) -> None:
    many = len(columns) > 10
    names = [textwrap.fill(plain(column), 24 if many else 13) for column in columns]
    axes.set_xticks(range(len(columns)), names, rotation=35 if many else 0, ha="right" if many else "center")
    if many:
        axes.tick_params("x", pad=1)
    axes.set_xlim(-0.6, len(columns) - 0.4)


def heat_map(figures: Figures) -> list[Plot]:
    """EgoExo-Next: all rows of the table by subtask and scene as colours, the figure in each."""
    from matplotlib import colormaps

    rows = [line for line in figures.lines if line.metric == "acc" and values_of(line.cells, figures.columns)]
    if not any(line.kind == "run" for line in rows):
        return []
    columns = list(figures.columns)
    values = [
        [math.nan if (value := values_of(line.cells, columns).get(name)) is None else 100 * value for name in columns]
        for line in rows
    ]
    names = [f"{plain(line.name, 36)}{' (paper)' if line.kind in ('published', 'human') else ''}" for line in rows]
    name, title = f"heat-{figures.name}", f"{figures.title}, as a heat map"
    with figure(0.9 + 0.27 * len(rows), name) as drawn:
        axes = drawn.add_subplot()
        shown = axes.pcolormesh(values, cmap="cividis", vmin=0, vmax=100, edgecolors="none")
        for row, line in enumerate(values):
            for column, value in enumerate(line):
                if not math.isnan(value):
                    ink = "black" if _luminance(colormaps["cividis"](value / 100)) > 0.18 else "white"
                    axes.text(column + 0.5, row + 0.5, f"{value:.1f}", ha="center", va="center", color=ink)
        axes.set_xticks([place + 0.5 for place in range(len(columns))], columns)
        axes.set_yticks([place + 0.5 for place in range(len(rows))], names)
        axes.xaxis.tick_top()
        axes.invert_yaxis()
        for spine in axes.spines.values():
            spine.set_visible(False)
        drawn.colorbar(shown, ax=axes, label="accuracy in %", fraction=0.03, pad=0.015).outline.set_visible(False)
        alt = "Accuracy by subtask and scene. " + in_words({line.name: values_of(line.cells, columns) for line in rows})
        picture = svg(drawn, name, title, alt)
    return [Plot(name, title, alt, picture)]


def _luminance(colour: Sequence[float]) -> float:
    """Relative luminance by WCAG 2, 0 to 1; from 0.18 on black is read better than white."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
