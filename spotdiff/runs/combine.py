"""Several runs together: parts joined, the mean of repeated runs, and ways of asking beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spotdiff.errors import SpotdiffError
from spotdiff.runs.read import Run
from spotdiff.scoring import Scored
from spotdiff.tasks import Table, benchmarks, task


def joined(runs: Sequence[Run]) -> list[Run]:
    """Runs of one model that ask different questions made into one, in the order in which they come.

    A run that repeats a question begins a new one: repeated runs stay apart.
    """
    found: list[list[Run]] = []
    for run in runs:
        fitting = (parts for parts in found if parts[0].model == run.model and not _overlap(parts, run))
        parts = next(fitting, None)
        if parts is None:
            found.append([run])
        else:
            parts.append(run)
    return [parts[0] if len(parts) == 1 else _as_one(parts) for parts in found]


def _overlap(parts: Sequence[Run], run: Run) -> bool:
    return any(
        {row.id for row in part.scored[family]} & {row.id for row in rows}
        for part in parts
        for family, rows in run.scored.items()
        if family in part.scored
    )


def _as_one(parts: Sequence[Run]) -> Run:
    scored: dict[str, list[Scored]] = {}
    expected: dict[str, dict[str, int]] = {}
    for part in parts:
        for family, rows in part.scored.items():
            scored.setdefault(family, []).extend(rows)
            expected.setdefault(family, {}).update(part.expected[family])
    logs = tuple(log for part in parts for log in part.logs)
    facts = tuple(fact for part in parts for fact in part.facts)
    return Run(f"{parts[0].name} and {len(parts) - 1} more", parts[0].model, scored, expected, logs, facts)


def means(runs: Sequence[Run]) -> list[Run]:
    """One run for each model, with the answers of all its runs: an average over it is the mean of their averages.

    Each answer keeps its question's cluster, so that an interval says how sure the mean over questions is, not how much
    runs differ; the group `run` tells them apart.
    Raises SpotdiffError when a model was not asked the same questions each time.
    """
    by_model: dict[str, list[Run]] = {}
    for run in runs:
        by_model.setdefault(run.model, []).append(run)
    return [_mean(model, repeats) for model, repeats in by_model.items()]


def _mean(model: str, runs: Sequence[Run]) -> Run:
    scored: dict[str, list[Scored]] = {}
    expected: dict[str, dict[str, int]] = {}
    for family in dict.fromkeys(family for run in runs for family in run.scored):
        repeats = [run for run in runs if family in run.scored]
        _require_same_questions(family, repeats)
        scored[family] = [
            replace(row, id=f"{row.id} (run {number})", groups={**row.groups, "run": str(number)})
            for number, run in enumerate(repeats, start=1)
            for row in run.scored[family]
        ]
        expected[family] = {
            name: sum(run.expected[family][name] for run in repeats) for name in repeats[0].expected[family]
        }
    counts = sorted({sum(family in run.scored for run in runs) for family in scored})
    plural = "" if counts == [1] else "s"
    return Run(f"{model}, mean of {' or '.join(map(str, counts))} run{plural}", model, scored, expected)


def _require_same_questions(family: str, runs: Sequence[Run]) -> None:
    first = {row.id: row.gold for row in runs[0].scored[family]}
    for run in runs[1:]:
        other = {row.id: row.gold for row in run.scored[family]}
        if other != first:
            differing = sorted(name for name in first.keys() | other.keys() if first.get(name) != other.get(name))
            raise SpotdiffError(
                f"{run.name} did not ask the questions of {runs[0].name} in {family}: {len(differing)} differ, "
                f"{differing[0]} among them. A mean needs whole runs on the same data"
            )


def comparisons(runs: Sequence[Run]) -> list[Table]:
    """Tables that set ways of asking one model side by side, out of all runs.

    Of several runs that asked the same, the one with the most answers is taken, of two as many the later one.
    """
    by_model: dict[str, dict[str, list[Scored]]] = {}
    for run in sorted(runs, key=lambda run: sum(map(len, run.scored.values()))):
        for family, rows in run.scored.items():
            known = by_model.setdefault(run.model, {})
            if len(rows) >= len(known.get(family, ())):
                known[family] = rows
    found: list[Table] = []
    for model, families in by_model.items():
        for benchmark in benchmarks().values():
            own = {family: rows for family, rows in families.items() if task(family).benchmark == benchmark.name}
            found += benchmark.comparison(own, model)
    return found
