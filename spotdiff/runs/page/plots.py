"""Which plots a report has: those that its data can fill."""

from __future__ import annotations

from spotdiff.runs.page.answers import sim_against_real, slot_bias
from spotdiff.runs.page.bars import bars, heat_map
from spotdiff.runs.page.curves import by_frames, by_future
from spotdiff.runs.page.drawing import Plot, marks
from spotdiff.runs.page.lines import main_figures
from spotdiff.runs.report import Report


def plots(report: Report) -> list[Plot]:
    """All plots, in the order of the page."""
    looks = marks(report)
    found: list[Plot] = []
    for figures in main_figures(report):
        found += bars(figures, looks)
        found += heat_map(figures) if figures.benchmark == "egoexo_next" else []
    found += [plot for figures in report.figures for plot in by_future(figures, looks)]
    found += by_frames(report, looks)
    found += sim_against_real(report, looks)
    found += slot_bias(report, looks)
    return found
