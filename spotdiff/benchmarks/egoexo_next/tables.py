"""The tables of the EgoExo-Next paper.

Accuracy of subtask 2 is the mean of its two directions; the average is the unweighted mean of the eight settings of
subtask by scene (Table 1). Numbers of future candidates are averaged over questions, as in Table 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial

from spotdiff.benchmarks.egoexo_next.schema import (
    DIRECTIONS,
    EGO,
    EGO2EXO,
    EXO,
    KINDS,
    LATER,
    MATCH,
    PAST,
    SCENES,
    SUBTASKS,
    TARGET,
    TO_EXO,
)
from spotdiff.reporting import half_width, notes, percent
from spotdiff.scoring import (
    PARSED,
    SCORE,
    Estimate,
    Mean,
    Scored,
    by_group,
    letter_distribution,
    metrics_of,
    overall,
    unweighted_mean,
    with_metric,
)
from spotdiff.tasks import Table

NEXT_STATE = (EGO, EXO, EGO2EXO)

NUMBERS = {subtask: f"S{number}" for number, subtask in enumerate(SUBTASKS, start=1)}
"""Subtask -> its number, as the paper counts."""

CELLS = tuple((subtask, scene) for subtask in SUBTASKS for scene in SCENES)
"""The eight settings, in the order of Table 1."""

KIND_TITLES = {TARGET: "target", LATER: "later future", PAST: "past"}

_ARROWS = {"ego2exo": "ego to exo", "exo2ego": "exo to ego"}

Part = Estimate | Mean

Measure = Callable[[Sequence[Scored]], Estimate]


def cells(rows: Iterable[Scored], measure: Measure = overall) -> dict[tuple[str, str], Part]:
    """(subtask, scene) -> accuracy, for those that were asked; subtask 2 as the mean of its two directions."""
    found: dict[tuple[str, str], list[Scored]] = {}
    for row in rows:
        found.setdefault((str(row.groups["subtask"]), str(row.groups["scene"])), []).append(row)
    return {
        cell: _mean_of_directions(found[cell], measure) if cell[0] == MATCH else measure(found[cell])
        for cell in CELLS
        if cell in found
    }


def average(parts: Mapping[tuple[str, str], Part], subtasks: Sequence[str] = SUBTASKS) -> Mean:
    """The unweighted mean over the settings of these subtasks."""
    names = {cell: f"{cell[0]} {cell[1]}" for cell in CELLS if cell[0] in subtasks}
    return unweighted_mean(
        {name: parts[cell] for cell, name in names.items() if cell in parts},
        list(names.values()),
    )


def _mean_of_directions(rows: Sequence[Scored], measure: Measure) -> Mean:
    by_direction = {name: [row for row in rows if row.groups["direction"] == name] for name in DIRECTIONS}
    return unweighted_mean({name: measure(part) for name, part in by_direction.items() if part}, DIRECTIONS)


def table(rows: Sequence[Scored], title: str, expected: Mapping[str, int]) -> Table:
    """Table 1, with tables by direction, number of future candidates, source, option slot and kind of option."""
    body = []
    for metric in metrics_of(rows):
        parts = cells(with_metric(rows, metric), partial(overall, metric=metric))
        body.append(("acc" if metric == SCORE else metric, *_line(parts, lambda part: percent(part.mean))))
        if metric == SCORE:
            body.append(("95 % interval, +-", *_line(parts, half_width)))
    body.append(("chance", *_line(cells(rows), lambda part: percent(part.chance))))
    counts = {cell: sum(_cell(row) == cell for row in rows) for cell in CELLS}
    body.append(("questions", *(str(count) for count in counts.values()), str(len(rows))))
    head = ("%", *(f"{NUMBERS[subtask]} {scene}" for subtask, scene in CELLS), "average")
    return Table(title, head, tuple(body), tuple(_coverage(rows, expected) + notes(rows)), tuple(_further(rows)))


def _cell(row: Scored) -> tuple[str, str]:
    return str(row.groups["subtask"]), str(row.groups["scene"])


def _line(parts: Mapping[tuple[str, str], Part], show: Callable[[Part], str]) -> tuple[str, ...]:
    return (*(show(parts[cell]) if cell in parts else "-" for cell in CELLS), show(average(parts)))


def _coverage(rows: Sequence[Scored], expected: Mapping[str, int]) -> list[str]:
    line = f"Coverage: {len(rows)} of {sum(expected.values())} questions."
    whole = {cell: part for cell, part in cells(rows).items() if part.mean is not None}
    if 0 < len(whole) < len(CELLS):
        mean = average(whole).mean_covered
        line += f" Mean over {len(whole)} of the 8 settings: {percent(mean)}; the paper's average is over all 8."
    return [line]


def _further(rows: Sequence[Scored]) -> list[Table]:
    tables = [_directions(rows), _futures(rows), _sources(rows), _slots(rows), _kinds(rows), _conditional(rows)]
    return [table for table in tables if table is not None]


def _directions(rows: Sequence[Scored]) -> Table | None:
    rows = [row for row in rows if row.groups["subtask"] == MATCH]
    body = []
    for direction in DIRECTIONS:
        part = [row for row in rows if row.groups["direction"] == direction]
        scenes = by_group(part, "scene")
        if part:
            shown = [percent(scenes[scene].mean) if scene in scenes else "-" for scene in SCENES]
            body.append((_ARROWS[direction], *shown, percent(unweighted_mean(scenes, SCENES).mean), str(len(part))))
    return Table("Subtask 2 by direction", ("%", *SCENES, "mean", "questions"), tuple(body)) if body else None


def _futures(rows: Sequence[Scored]) -> Table | None:
    rows = [row for row in rows if row.groups["future"] and row.groups["subtask"] in NEXT_STATE]
    if not rows:
        return None
    numbers = ("1", "2", "3", "4")
    lines: list[tuple[str, list[Scored]]] = [
        (NUMBERS[name], [row for row in rows if row.groups["subtask"] == name]) for name in NEXT_STATE
    ]
    body = []
    for name, part in [*lines, ("all", list(rows))]:
        found = by_group(part, "future")
        if part:
            shown = [percent(found[number].mean) if number in found else "-" for number in numbers]
            body.append((name, *shown, percent(overall(part).mean)))
    by_number = by_group(rows, "future")
    body.append(("questions", *(str(by_number[n].n) if n in by_number else "0" for n in numbers), str(len(rows))))
    title = "By number of future candidates, mean over questions"
    return Table(title, ("%", *numbers, "all"), tuple(body))


def _sources(rows: Sequence[Scored]) -> Table | None:
    if not rows:
        return None
    body = [
        (name, percent(part.mean), half_width(part), percent(part.chance), str(part.n))
        for name, part in sorted(by_group(rows, "source").items())
    ]
    head = ("%", "acc", "95 % interval, +-", "chance", "questions")
    return Table("By source, mean over questions", head, tuple(body))


def _slots(rows: Sequence[Scored]) -> Table | None:
    if not rows:
        return None
    bias = letter_distribution(rows)
    body = [
        (letter, percent(slot.predicted_share), percent(slot.gold_share), percent(slot.recall))
        for letter, slot in bias.letters.items()
    ]
    note = f"Distance of chosen from right slots (total variation): {percent(bias.distance)} %."
    return Table("By option slot", ("%", "chosen", "right", "acc where right"), tuple(body), (note,))


def _kinds(rows: Sequence[Scored]) -> Table | None:
    """How often each kind of option was chosen, beside how often a guess would choose it."""
    rows = [row for row in rows if row.groups["kinds"]]
    body = []
    for subtask in SUBTASKS:
        part = [row for row in rows if row.groups["subtask"] == subtask]
        if part:
            chosen = [chosen_kind(row) for row in part]
            shares = [Fraction(chosen.count(kind), len(part)) for kind in (*KINDS, None)]
            guessed = [sum(list(row.groups["kinds"]).count(kind) for row in part) / len(part) / 4 for kind in KINDS]
            body.append((NUMBERS[subtask], *(percent(float(share)) for share in shares), str(len(part))))
            body.append((f"{NUMBERS[subtask]}, a guess", *map(percent, guessed), "-", ""))
    head = ("%", *(KIND_TITLES.get(kind, "another moment") for kind in KINDS), "unread", "questions")
    return Table("What the chosen option shows", head, tuple(body)) if body else None


def chosen_kind(row: Scored) -> str | None:
    """What the chosen option shows, None where not exactly one was chosen."""
    if row.outcome != PARSED or len(row.letters) != 1:
        return None
    return row.groups["kinds"]["ABCD".index(row.letters[0])]


_Name = tuple[str, str]

_GIVEN = ((EGO, ""), (MATCH, TO_EXO), (EXO, ""))
"""What has to be right in a matched group for its subtask 4 to count in Table 5's last row."""


def _conditional(rows: Sequence[Scored]) -> Table | None:
    """Subtask 4 of those matched groups whose other three questions were answered rightly, and of all groups."""
    groups = _matched(rows)
    if not groups:
        return None
    whole = _whole(groups)
    body = [
        (name, percent(part.mean), half_width(part), str(part.n))
        for name, part in ((name, overall(found)) for name, found in conditional(rows).items())
    ]
    lacking = sorted(groups.keys() - whole.keys())
    note = f"{len(whole)} matched groups were asked in all four subtasks."
    if lacking:
        named = ", ".join(name for name, _ in lacking[:5])
        note += f" {len(lacking)} lack an answer and are left out: {named}{' ..' * (len(lacking) > 5)}"
    title = "Subtask 4 on the matched groups"
    return Table(title, ("%", "acc", "95 % interval, +-", "groups"), tuple(body), (note,))


def conditional(rows: Sequence[Scored]) -> dict[str, list[Scored]]:
    """The answers to subtask 4 in all whole matched groups, and in those whose other questions were answered rightly.

    Empty unless all four subtasks were asked.
    """
    groups = _matched(rows)
    if not groups:
        return {}
    whole = _whole(groups)
    given = {name: members for name, members in whole.items() if all(members[key].score == 1 for key in _GIVEN)}
    return {
        name: [members[EGO2EXO, ""] for members in part.values()]
        for name, part in (("S4", whole), ("S4 given S1, S2 (ego to exo), S3 right", given))
    }


def _whole(groups: Mapping[_Name, Mapping[_Name, Scored]]) -> dict[_Name, Mapping[_Name, Scored]]:
    return {name: members for name, members in groups.items() if len(members) == len(_GIVEN) + 1}


def _matched(rows: Sequence[Scored]) -> dict[_Name, dict[_Name, Scored]]:
    """(group, run) -> (subtask, direction) -> answer; empty unless all four subtasks were asked."""
    wanted = (*_GIVEN, (EGO2EXO, ""))
    found: dict[tuple[str, str], dict[tuple[str, str], Scored]] = {}
    for row in rows:
        member = str(row.groups["subtask"]), str(row.groups["direction"] or "")
        if row.groups["group"] and member in wanted:
            name = str(row.groups["group"]), str(row.groups.get("run", ""))
            found.setdefault(name, {})[member] = row
    asked = {member for members in found.values() for member in members}
    return found if asked == set(wanted) else {}
