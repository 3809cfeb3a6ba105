"""Accuracy as a curve: by number of future candidates, by number of frames."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from spotdiff.runs.page.drawing import (
    INK,
    Mark,
    Plot,
    bars_of_interval,
    figure,
    in_words,
    percent_axis,
    plain,
    svg,
)
from spotdiff.runs.page.lines import WHOLE, Marks, drawn_runs, left_out, main_figures, values_of
from spotdiff.runs.report import FULL, Cell, Figures, Line, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FUTURE = re.compile(r"(.+), ([1-4])")


def by_future(figures: Figures, looks: Marks) -> list[Plot]:
    """EgoExo-Next: accuracy by the number of options that show the future, a panel for each subtask."""
    matched = [_FUTURE.fullmatch(column) for column in figures.columns]
    if figures.benchmark != "egoexo_next" or not matched or not all(matched):
        return []
    panels = list(dict.fromkeys(found[1] for found in matched if found))
    lines = drawn_runs(figures)
    name = f"futures-{figures.name}"
    with figure(3.4 + 0.18 * math.ceil(len(lines) / 2), name) as drawn:
        every = drawn.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, panel in zip(every, panels, strict=True):
            columns = [f"{panel}, {number}" for number in range(1, 5)]
            for place, line in enumerate(lines):
                points = [(number, line.cells[c]) for number, c in enumerate(columns, 1) if c in line.cells]
                shift = 0.07 * (place - (len(lines) - 1) / 2) * min(1, 8 / len(lines))
                _curve(axes, [(number + shift, cell) for number, cell in points], looks[line.run, line.variant])
            axes.set_title(panel)
            axes.set_xticks(range(1, 5))
            axes.set_xlim(0.5, 4.5)
            axes.grid(axis="y")
        every[0].set_ylim(-3, 103)
        every[0].set_ylabel("accuracy in %")
        drawn.supxlabel("options that show the future, of four", color=INK, fontsize=9)
        _legend_of(drawn, [(line.name, looks[line.run, line.variant]) for line in lines])
        alt = "Accuracy by number of future candidates. " + in_words(
            {line.name: values_of(line.cells, figures.columns) for line in lines}, most=16
        )
        picture = svg(drawn, name, figures.title, alt)
    return [Plot(name, figures.title, alt, picture, left_out(figures))]


def _curve(axes: Axes, points: Sequence[tuple[float, Cell]], look: Mark) -> None:
    there = [(place, cell, cell.value) for place, cell in points if cell.value is not None]
    values = [value for _, _, value in there]
    axes.errorbar(
        [place for place, _, _ in there],
        [100 * value for value in values],
        yerr=bars_of_interval(values, [cell for _, cell, _ in there]),
        fmt=f"-{look.marker}",
        color=look.colour,
        markeredgecolor=INK,
        markeredgewidth=0.4,
        markersize=5,
        linewidth=1.4,
        elinewidth=0.9,
    )


def _legend_of(drawn: Figure, entries: Sequence[tuple[str, Mark]]) -> None:
    """One legend for several panels, above them."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, markeredgecolor=INK, markeredgewidth=0.4)
        for _, look in entries
    ]
    names = [f" {plain(name)}" for name, _ in entries]
    columns = max(1, min(len(names), 120 // (max(map(len, names)) + 8)))
    drawn.legend(handles, names, ncols=columns, loc="outside upper left")


def by_frames(report: Report, looks: Marks) -> list[Plot]:
    """Accuracy against the number of frames a video, a curve for each model asked with several numbers."""
    found = []
    for figures in main_figures(report):
        column = next((name for name in WHOLE if name in figures.columns), None)
        curves: dict[str, list[tuple[int, Line]]] = {}
        for line in _all_runs(figures):
            frames = frames_of(report, figures.data, line)
            if frames is not None and column in line.cells:
                curves.setdefault(_model_of(report, line.run), []).append((frames, line))
        curves = {model: points for model, points in curves.items() if len({number for number, _ in points}) > 1}
        if curves and column:
            found.append(_frames_plot(figures, column, curves, looks))
    return found


def _all_runs(figures: Figures) -> list[Line]:
    return [line for line in figures.lines if line.kind == "run" and line.metric == "acc"]


def _model_of(report: Report, run: str) -> str:
    return next((facts.model for facts in report.runs if facts.label == run), run)


_FRAMES = re.compile(r"(?:^|_)(\d+)frame\b")


def frames_of(report: Report, data: str, line: Line) -> int | None:
    """Frames of each video that a run was given, as far as its variant or its settings say; else None."""
    told = _FRAMES.search(line.variant)
    if told:
        return int(told[1])
    answers = (answer for answer in report.answers if (answer.run, answer.variant) == (line.run, line.variant))
    task = next((answer.task for answer in answers if answer.data == data), None)
    for facts in report.runs:
        for entry in facts.provenance if facts.label == line.run else ():
            settings = entry.get("tasks", {}).get(task, {}).get("settings") or {}
            if isinstance(settings.get("frames"), int):
                return int(settings["frames"])
    return None


def _frames_plot(figures: Figures, column: str, curves: Mapping[str, Sequence[tuple[int, Line]]], looks: Marks) -> Plot:
    name, title = f"frames-{figures.name}", f"{figures.title}: {column} by number of frames"
    every = sorted({number for points in curves.values() for number, _ in points})
    with figure(3.6, name) as drawn:
        axes = drawn.add_subplot()
        for points in curves.values():
            _curve(
                axes,
                [(number, line.cells[column]) for number, line in sorted(points, key=lambda point: point[0])],
                looks[points[0][1].run, FULL],
            )
        axes.set_xscale("log")
        axes.set_xticks(every, [str(number) for number in every])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("frames of each video, log scale")
        percent_axis(axes)
        _legend_of(drawn, [(run, looks[run, FULL]) for run in (points[0][1].run for points in curves.values())])
        shown = {
            model: {f"{number} frames": line.cells[column].value or 0.0 for number, line in points}
            for model, points in curves.items()
        }
        alt = f"Accuracy ({column}) by number of frames. {in_words(shown)}"
        picture = svg(drawn, name, title, alt)
    return Plot(name, title, alt, picture)
