"""How many questions of which kind were read, beside the paper's numbers (Sect. 3.2.3, Fig. 3 and Tables 1 and 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spotdiff.benchmarks.egoexo_next.release import CONFIGS, MATCHED_CONFIGS
from spotdiff.benchmarks.egoexo_next.schema import EGO, EGO2EXO, EXO, MATCH, SCENES, SOURCES, SUBTASKS
from spotdiff.question import LETTERS
from spotdiff.tasks import Table

PAPER: Mapping[str, tuple[int, int]] = {EGO: (305, 302), MATCH: (302, 302), EXO: (348, 317), EGO2EXO: (309, 318)}
"""Subtask -> questions indoor and outdoor; their sums are the paper's 607, 604, 665 and 627."""

MATCHED = (100, 100)
"""Of each subtask in the matched subset, indoor and outdoor."""

_TITLES = {
    EGO: "1 Ego Next-State",
    MATCH: "2 Ego-Exo Matching",
    EXO: "3 Exo Next-State",
    EGO2EXO: "4 Ego-to-Exo Next-State",
}
_NOTE = (
    "The paper's own numbers do not add up: its subtasks have 1,264 indoor and 1,239 outdoor questions, its text 1,265 "
    "and 1,238; and beside 305 of EPIC-KITCHENS-100 and 302 of WEAR, the 607 of subtask 1, it has 305 of Ego4D."
)

Row = Mapping[str, Any]


def counts(configs: Mapping[str, Sequence[Row]]) -> Table:
    """A table by subtask and scene, and below it sources, letters and future candidates.

    configs: config -> rows, images aside.
    """
    rows = [row for config in CONFIGS if config in configs for row in configs[config]]
    matched = [row for config in MATCHED_CONFIGS if config in configs for row in configs[config]]
    by_scene = [_by_scene(_TITLES[subtask], _of(rows, subtask), PAPER[subtask]) for subtask in SUBTASKS]
    by_scene.append(_by_scene("all", rows, tuple(map(sum, zip(*PAPER.values(), strict=True)))))
    if matched:
        by_scene += [_by_scene(f"matched {_TITLES[name]}", _of(matched, name), MATCHED) for name in SUBTASKS]
    further = (_sources(rows), _letters(rows), _futures(rows))
    cells = [cell for table in (by_scene, *(entry.rows for entry in further)) for row in table for cell in row]
    differing = sum("(" in cell for cell in cells)
    said = f"{differing} of these numbers differ from the paper's" if differing else "All numbers are the paper's"
    title = "EgoExo-Next: questions read (where it differs: the paper's)"
    return Table(title, ("subtask", *SCENES, "all"), tuple(by_scene), (f"{said}.", _NOTE), further)


def _of(rows: Iterable[Row], subtask: str) -> list[Row]:
    return [row for row in rows if row["subtask"] == subtask]


def _by_scene(title: str, rows: Sequence[Row], paper: Sequence[int]) -> tuple[str, ...]:
    found = Counter(row["scene"] for row in rows)
    scenes = (_beside(found[scene], number) for scene, number in zip(SCENES, paper, strict=True))
    return title, *scenes, _beside(len(rows), sum(paper))


def _beside(found: int, paper: int) -> str:
    return f"{found:,}" if found == paper else f"{found:,} ({paper:,})"


def _sources(rows: Sequence[Row]) -> Table:
    found = Counter(row["source"] for row in rows)
    names = (*SOURCES, *sorted(set(found) - set(SOURCES)))
    body = tuple((name, _beside(found[name], SOURCES.get(name, 0))) for name in names)
    return Table("Sources", ("source", "questions"), body)


def _letters(rows: Sequence[Row]) -> Table:
    """The paper calls them balanced, and gives no numbers."""
    letters = LETTERS[:4]
    groups = [(_TITLES[subtask], _of(rows, subtask)) for subtask in SUBTASKS]
    body = tuple((title, *_numbers(group, "answer", letters)) for title, group in (*groups, ("all", rows)))
    return Table("Right letters", ("subtask", *letters), body)


def _futures(rows: Sequence[Row]) -> Table:
    """The paper has a quarter of each number, without saying how it rounds."""
    body = tuple(
        (_TITLES[subtask], *_numbers(_of(rows, subtask), "future_candidates", (1, 2, 3, 4, 0)))
        for subtask in SUBTASKS
        if subtask != MATCH
    )
    return Table("Future candidates", ("subtask", "1", "2", "3", "4", "not known"), body)


def _numbers(rows: Iterable[Row], name: str, values: Iterable[Any]) -> tuple[str, ...]:
    found = Counter(row[name] for row in rows)
    return tuple(f"{found[value]:,}" for value in values)
