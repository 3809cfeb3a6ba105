"""Full input beside the controls (Table 2) and captions (Fig. 6), subtask 4 beside what helps it (Table 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from spotdiff.benchmarks.egoexo_next.schema import EGO2EXO, MATCH, SUBTASKS
from spotdiff.benchmarks.egoexo_next.tables import NEXT_STATE, average, cells
from spotdiff.reporting import half_width, percent
from spotdiff.scoring import PARSED, Estimate, Mean, Scored, paired_difference
from spotdiff.tasks import Table

FULL = "egoexo_next"

BLOCKS: tuple[tuple[str, tuple[str, ...], str, Mapping[str, str]], ...] = (
    ("Shortcuts: S1-S4", SUBTASKS, "Full Input", {"candidate_only": "Candidate Only"}),
    (
        "Order of time: S1, S3, S4",
        NEXT_STATE,
        "Full Sequence",
        {"last_frame": "Last Frame Only", "shuffled": "Shuffled Sequence"},
    ),
    (
        "Cross-view: S2, S4",
        (MATCH, EGO2EXO),
        "Full Observation",
        {"mismatched": "Mismatched Observation"},
    ),
)
"""Title of a block of Table 2, its subtasks, name of the full input there, and suffix -> name of each control."""

CAPTIONED = ("Captions: S1-S4", SUBTASKS, "Image Only", {"captioned": "Image + Caption"})
"""Fig. 6, in the same form."""

HELPED = {"plus_exo": "+ Current Exo", "plus_ego": "+ Next-State Ego", "plus_both": "+ Both"}

_HEAD = ("%", "acc", "95 % interval, +-", "against full", "95 % interval, +-", "questions")


def comparison(families: Mapping[str, Sequence[Scored]], title: str) -> list[Table]:
    """The two tables and that of captions, as far as the answers of one model, by family of tasks, allow.

    Mini data stand apart.
    """
    tables = []
    for base in (FULL, f"{FULL}_mini"):
        body = [line for block in BLOCKS for line in _block(base, block, families)]
        if body:
            tables.append(Table(f"{title}, {base}: controls", _HEAD, tuple(body)))
        if captioned := _block(base, CAPTIONED, families):
            tables.append(Table(f"{title}, {base}: captions of the options", _HEAD, tuple(captioned)))
        helped = _helped(base, families)
        if helped:
            head = ("%", "acc", "95 % interval, +-", "against the original", "95 % interval, +-", "questions")
            tables.append(Table(f"{title}, {base}: what helps subtask 4", head, tuple(helped)))
    return tables


def _block(
    base: str, block: tuple[str, tuple[str, ...], str, Mapping[str, str]], families: Mapping[str, Sequence[Scored]]
) -> list[tuple[str, ...]]:
    name, subtasks, full_name, controls = block
    found = _found(base, controls, families)
    if not found:
        return []
    full = [row for row in families.get(base, ()) if row.groups["subtask"] in subtasks]
    lines = [_line(f"{name}: {full_name}", full, None, subtasks)] if full else []
    return lines + [_line(f"{name}: {control}", rows, full or None, subtasks) for control, rows in found.items()]


def _helped(base: str, families: Mapping[str, Sequence[Scored]]) -> list[tuple[str, ...]]:
    found = _found(base, HELPED, families)
    if not found:
        return []
    original = [row for row in families.get(f"{base}_matched", ()) if row.groups["subtask"] == EGO2EXO]
    lines = [_line("Original Subtask 4", original, None, (EGO2EXO,))] if original else []
    return lines + [_line(name, rows, original or None, (EGO2EXO,)) for name, rows in found.items()]


def _found(
    base: str, names: Mapping[str, str], families: Mapping[str, Sequence[Scored]]
) -> dict[str, Sequence[Scored]]:
    """Name in the table -> answers, of those families that were asked. names: suffix of a family -> name."""
    return {name: families[f"{base}_{suffix}"] for suffix, name in names.items() if f"{base}_{suffix}" in families}


def _line(name: str, rows: Sequence[Scored], full: Sequence[Scored] | None, subtasks: Sequence[str]) -> tuple[str, ...]:
    mean = average(cells(rows), subtasks)
    own = (name, percent(mean.mean), half_width(mean))
    difference = _difference(rows, full, subtasks) if full is not None else None
    if difference is None or difference.mean is None:
        # A dash alone would not say why.
        other = "-" if full is None else "other questions"
        return (*own, other, "-", str(len(rows)))
    return (*own, f"{100 * difference.mean:+.1f}", half_width(difference), str(len(rows)))


def _over_runs(rows: Sequence[Scored]) -> list[Scored]:
    """One answer for each question, with the mean score of its runs where there are several."""
    by_id: dict[str, list[Scored]] = {}
    for row in rows:
        by_id.setdefault(row.id.removesuffix(f" (run {row.groups.get('run')})"), []).append(row)
    return [
        replace(found[0], id=name, score=fmean(row.score for row in found), outcome=PARSED, letters=found[0].gold)
        for name, found in by_id.items()
    ]


def _difference(rows: Sequence[Scored], full: Sequence[Scored], subtasks: Sequence[str]) -> Mean | None:
    """Paired by question within each setting; None where the two sides did not answer the same questions."""
    rows, full = _over_runs(rows), _over_runs(full)
    theirs = {row.id: row for row in full}

    def paired(part: Sequence[Scored]) -> Estimate:
        return paired_difference(part, [theirs[row.id] for row in part])

    if len(theirs) != len(full) or {row.id: row.gold for row in rows} != {row.id: row.gold for row in full}:
        return None
    return average(cells(rows, paired), subtasks)
