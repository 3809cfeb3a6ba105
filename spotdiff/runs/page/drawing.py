"""How plots look: colours, hatches and markers of runs, and a figure as SVG that stands in a page.

Colours are those of Okabe and Ito (2008), which readers with any common colour vision tell apart; what a colour says,
a hatch or a marker says too, so that prints in grey can be read.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spotdiff.runs.report import FULL, Cell, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c8c8c")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

INK = "#010203"
RULE = "#030201"
"""Stand-ins for the colours of text and of thin lines, which are those of the page, light or dark."""

WIDTH = 10.0
"""Inches; a page shows a figure at this width or less."""

LONGEST_NAME = 44


@dataclass(frozen=True)
class Plot:
    """A drawn plot. alt: what it shows, in words, for readers who cannot see it. notes: below it."""

    name: str
    title: str
    alt: str
    svg: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """How a run, or a variant of one, looks in every plot."""

    colour: str
    hatch: str
    marker: str


def marks(report: Report) -> dict[tuple[str, str], Mark]:
    """(run, variant) -> its mark: a colour for each run, other hatches and markers for its variants."""
    found: dict[tuple[str, str], Mark] = {}
    variants: dict[str, list[str]] = {run.label: [FULL] for run in report.runs}
    for answer in report.answers:
        known = variants.setdefault(answer.run, [FULL])
        if answer.variant not in known:
            known.append(answer.variant)
    taken: set[tuple[str, str]] = set()
    # All runs first, so that what one looks like does not depend on the variants of others.
    for place in range(max(map(len, variants.values()), default=0)):
        for number, (run, names) in enumerate(variants.items()):
            if place < len(names):
                colour = COLOURS[number % len(COLOURS)]
                hatches = [HATCHES[(number + place + step) % len(HATCHES)] for step in range(len(HATCHES))]
                hatch = next((one for one in hatches if (colour, one) not in taken), hatches[0])
                taken.add((colour, hatch))
                found[run, names[place]] = Mark(colour, hatch, MARKERS[(number + place) % len(MARKERS)])
    return found


def plain(text: str, longest: int = LONGEST_NAME) -> str:
    """A name on one line, without what cannot be drawn, cut where it is long."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


@contextmanager
def figure(height: float, name: str) -> Iterator[Figure]:
    """A figure of full width with the page's fonts. height: inches."""
    import matplotlib
    from matplotlib.figure import Figure

    options = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        # Names of models are no formulas.
        "text.parse_math": False,
        "font.size": 9.5,
        "axes.titlesize": 9.5,
        "hatch.linewidth": 0.5,
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "legend.labelcolor"), INK),
        **dict.fromkeys(("axes.edgecolor", "grid.color", "legend.edgecolor"), RULE),
        **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
        "axes.axisbelow": True,
        "grid.linewidth": 0.6,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
    }
    with matplotlib.rc_context(options), warnings.catch_warnings():
        # A sign that this machine's font lacks is drawn by the reader's.
        warnings.filterwarnings("ignore", message="Glyph")
        yield Figure((WIDTH, height), layout="constrained")


def legend(axes: Axes, entries: Sequence[tuple[Any, str]]) -> None:
    """A legend above the axes. A name that begins with `_` would be left out but for the space."""
    handles = [handle for handle, _ in entries]
    names = [f" {plain(name)}" for _, name in entries]
    longest = max(map(len, names), default=0)
    columns = max(1, min(len(names), 120 // (longest + 8)))
    axes.legend(handles, names, ncols=columns, loc="lower left", bbox_to_anchor=(0, 1.01), borderaxespad=0)


def percent_axis(axes: Axes, label: str = "accuracy in %") -> None:
    axes.set_ylabel(label)
    axes.grid(axis="y")


def bars_of_interval(values: Sequence[float], cells: Sequence[Cell]) -> list[list[float]]:
    """Lengths of the interval below and above each value, in percent; 0 where there is none."""
    pairs = list(zip(values, cells, strict=True))
    below = [0.0 if cell.low is None else 100 * (value - cell.low) for value, cell in pairs]
    above = [0.0 if cell.high is None else 100 * (cell.high - value) for value, cell in pairs]
    return [below, above]


def svg(drawn: Figure, name: str, title: str, alt: str) -> str:
    """The figure as an element of a page: its text as text in the page's font, its ids unlike those of other plots."""
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"font-family: [^;\"]*", "font-family: inherit", text)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{name}-", text)
    text = text.replace(INK, "currentColor").replace(RULE, "var(--rule)")
    head = re.match(r'<svg[^>]*?width="([\d.]+)pt"[^>]*?(viewBox="[^"]+")[^>]*>', text)
    assert head is not None, "matplotlib's SVG begins otherwise"
    opening = (
        f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" {head[2]} style="max-width: {head[1]}pt" role="img" '
        f'aria-labelledby="{name}-title {name}-alt">'
        f'<title id="{name}-title">{_escaped(title)}</title><desc id="{name}-alt">{_escaped(alt)}</desc>'
    )
    return opening + text[head.end() :]


def _escaped(text: str) -> str:
    return plain(text, len(text)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def in_words(rows: Mapping[str, Mapping[str, float]], unit: str = "%", most: int = 12) -> str:
    """`A: x 10.0 %, y 20.0 %; B: ...`, for the text beside a plot; of long ones the first."""
    said = [
        f"{name}: " + ", ".join(f"{column} {100 * value:.1f} {unit}" for column, value in list(values.items())[:most])
        for name, values in list(rows.items())[:most]
    ]
    return "; ".join(said) + (" ..." if len(rows) > most else "")
