"""How many questions of which kind there are, beside the paper's numbers, and how many of their views are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spotdiff.benchmarks.mvvbench.protocol import MOST_OPTIONS
from spotdiff.benchmarks.mvvbench.schema import CATEGORIES, MOTION, SOURCES
from spotdiff.question import LETTERS
from spotdiff.tasks import Table

SAMPLES = 608
TWO_VIEWS = 1254

_TWO, _OTHER = "two views", "another number of views"

Row = Mapping[str, Any]


def counts(rows: Sequence[Row]) -> Table:
    """Kinds of questions beside the paper's numbers, and below them data sets with their views, options and letters.

    A view counts as found where its row knows its frames.
    """
    questions = sum(CATEGORIES.values())
    paper = {**CATEGORIES, **MOTION, _TWO: TWO_VIEWS, _OTHER: questions - TWO_VIEWS}
    views = (_TWO if len(row["views"]) == 2 else _OTHER for row in rows)
    found = Counter((*(row[name] for row in rows for name in ("category", "motion")), *views))
    body = [(name, found[name], number) for name, number in paper.items()]
    body.append(("samples", len({row["sample"] for row in rows}), SAMPLES))
    body.append(("questions", len(rows), questions))
    differing = sum(number != expected for _, number, expected in body)
    said = f"{differing} of these numbers differ from the paper's" if differing else "All numbers are the paper's"
    return Table(
        "MVVBench: questions",
        ("", "found", "paper"),
        tuple((name, f"{number:,}", f"{expected:,}") for name, number, expected in body),
        (f"{said}.",),
        (_sources(rows), _letters(rows)),
    )


def _sources(rows: Sequence[Row]) -> Table:
    head = ("", "samples", "questions", "all views found", "needed", "found", "missing", "other views", "found")
    of_each = [(source, [row for row in rows if row["source"] == source]) for source in SOURCES]
    body = [(name, *(f"{number:,}" for number in _media(part))) for name, part in (*of_each, ("all", rows))]
    return Table("Data sets, the views that their questions need, and the other ones", head, tuple(body))


def _media(rows: Sequence[Row]) -> Iterable[int]:
    """One line of the table of data sets."""
    listed, found, needed = set(), set(), set()
    for row in rows:
        views = [(row["sample"], number) for number in row["view_numbers"]]
        listed |= set(views)
        found |= {view for view, frames in zip(views, row["view_frames"], strict=True) if frames}
        needed |= {(row["sample"], number) for number in row["views"]}
    samples = {row["sample"] for row in rows}
    whole = [row for row in rows if all((row["sample"], number) in found for number in row["views"])]
    others = listed - needed
    return map(len, (samples, rows, whole, needed, needed & found, needed - found, others, others & found))


def _letters(rows: Sequence[Row]) -> Table:
    """By number of options, as a letter that not every question has cannot be as frequent as the others."""
    letters = tuple(LETTERS[:MOST_OPTIONS])
    found = Counter((len(row["options"]), row["answer"]) for row in rows)
    of_each = [(str(size), [found[size, letter] for letter in letters]) for size in range(2, MOST_OPTIONS + 1)]
    all_of_them = ("all", [sum(numbers) for numbers in zip(*(line for _, line in of_each), strict=True)])
    body = [(name, *(f"{number:,}" for number in (sum(line), *line))) for name, line in (*of_each, all_of_them)]
    return Table("Options and right letters", ("options", "questions", *letters), tuple(body))
