"""Plots of the answers themselves: Sim against Real, and which letters are favoured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from spotdiff.runs.page.drawing import INK, Plot, figure, in_words, legend, percent_axis, plain, svg
from spotdiff.runs.page.lines import MOST_LINES, Marks, name_of
from spotdiff.runs.report import FULL, Report
from spotdiff.scoring import Scored, letter_distribution, overall


def sim_against_real(report: Report, looks: Marks) -> list[Plot]:
    """M3-Verse: each run's accuracy on simulated and on real scenes, with the rank correlation from three runs on."""
    points = _sim_and_real(report)
    if len(points) < 2:
        return []
    name, title = "sim-real", "M3-Verse: Sim against Real"
    notes: tuple[str, ...] = ("A rank correlation needs three runs.",)
    if len(points) > 2:
        correlation = spearman(*zip(*points.values(), strict=True))
        said = "undefined, as all runs score the same" if correlation is None else f"{correlation:.2f}"
        notes = (f"Spearman's rank correlation over {len(points)} runs: {said}.",)
    with figure(4.6, name) as drawn:
        axes = drawn.add_subplot()
        ends = [100 * value for point in points.values() for value in point]
        low, high = max(0, min(ends) - 6), min(100, max(ends) + 6)
        axes.plot([low, high], [low, high], color=INK, linestyle=":", linewidth=0.9)
        handles = []
        for key, (sim, real) in points.items():
            look = looks[key]
            (handle,) = axes.plot(
                100 * sim, 100 * real, look.marker, color=look.colour, markeredgecolor=INK, markersize=8
            )
            handles.append((handle, name_of(key)))
        axes.set_xlim(low, high)
        axes.set_ylim(low, high)
        axes.set_aspect("equal")
        axes.set_xlabel("accuracy on Sim in %")
        axes.set_ylabel("accuracy on Real in %")
        axes.grid()
        axes.legend(
            [handle for handle, _ in handles],
            [f" {plain(text)}" for _, text in handles],
            loc="upper left",
            bbox_to_anchor=(1.02, 1),
        )
        shown = {
            handle[1]: dict(zip(("Sim", "Real"), point, strict=True))
            for handle, point in zip(handles, points.values(), strict=True)
        }
        alt = f"Each run's accuracy on Sim and on Real. {in_words(shown)}. {notes[0]}"
        picture = svg(drawn, name, title, alt)
    return [Plot(name, title, alt, picture, notes)]


def _sim_and_real(report: Report) -> dict[tuple[str, str], tuple[float, float]]:
    """(run, variant) -> accuracy on Sim and on Real, of those that were asked both."""
    rows: dict[tuple[str, str], dict[str, list[Scored]]] = {}
    for answer in report.answers:
        if answer.benchmark == "m3verse":
            rows.setdefault((answer.run, answer.variant), {}).setdefault(answer.setting, []).append(answer.scored)
    return {
        key: (overall(parts["sim"]).mean or 0.0, overall(parts["real"]).mean or 0.0)
        for key, parts in rows.items()
        if {"sim", "real"} <= parts.keys()
    }


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None where one side does not vary.

    Raises ValueError when the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values on one side, {len(second)} on the other")
    one, other = _ranks(first), _ranks(second)
    middle = (len(first) + 1) / 2
    spread = math.sqrt(sum((rank - middle) ** 2 for rank in one) * sum((rank - middle) ** 2 for rank in other))
    if not spread:
        return None
    return sum((a - middle) * (b - middle) for a, b in zip(one, other, strict=True)) / spread


def _ranks(values: Sequence[float]) -> list[float]:
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def slot_bias(report: Report, looks: Marks) -> list[Plot]:
    """How much more often each letter was chosen than it is right, a plot for each data set."""
    rows: dict[str, dict[tuple[str, str], list[Scored]]] = {}
    for answer in report.answers:
        rows.setdefault(answer.data, {}).setdefault((answer.run, answer.variant), []).append(answer.scored)
    return [plot for data, groups in rows.items() for plot in _slot_plot(data, groups, looks)]


def _slot_plot(data: str, groups: Mapping[tuple[str, str], Sequence[Scored]], looks: Marks) -> Iterator[Plot]:
    full = {key: rows for key, rows in groups.items() if key[1] == FULL} or groups
    gaps = {}
    for key, rows in list(full.items())[:MOST_LINES]:
        shares = {
            letter: part.predicted_share - part.gold_share
            for letter, part in letter_distribution(rows).letters.items()
            if part.predicted_share is not None
        }
        if shares:
            gaps[key] = shares
    if not gaps:
        return
    letters = sorted({letter for shares in gaps.values() for letter in shares})
    name, title = f"slots-{data}", f"{data}: letters chosen more or less often than they are right"
    with figure(3.2, name) as drawn:
        axes = drawn.add_subplot()
        entries = []
        width = 0.84 / len(gaps)
        for number, (key, shares) in enumerate(gaps.items()):
            look = looks[key]
            places = [letters.index(letter) - 0.42 + width * (number + 0.5) for letter in shares]
            heights = [100 * gap for gap in shares.values()]
            handle = axes.bar(
                places, heights, width * 0.94, color=look.colour, hatch=look.hatch, edgecolor=INK, linewidth=0.4
            )
            entries.append((handle, name_of(key)))
        axes.axhline(0, color=INK, linewidth=0.9)
        axes.set_xticks(range(len(letters)), letters)
        axes.set_xlabel("letter")
        percent_axis(axes, "chosen minus right,\npercentage points")
        legend(axes, entries)
        said = in_words({name_of(key): shares for key, shares in gaps.items()}, "points")
        alt = f"Share of the answers minus share of the right letters. {said}"
        picture = svg(drawn, name, title, alt)
    yield Plot(name, title, alt, picture, ("Over replies that were read; 0 is a run that favours no letter.",))
