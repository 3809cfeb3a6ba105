"""The papers' tables with all runs as rows: published rows, a person, a guess, then each run in each variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spotdiff.names import joined
from spotdiff.runs.report import FULL, Answered, Cell, Figures, Kind, Line
from spotdiff.scoring import SCORE, Estimate, Scored, metrics_of, with_metric
from spotdiff.tasks import Benchmark, Breakdown, Published, benchmarks, tasks

Groups = Mapping[tuple[str, str], Sequence[Scored]]
"""(run, variant) -> its answers, runs in their order, the full variant first."""


def grouped(answers: Sequence[Answered]) -> dict[str, dict[tuple[str, str], list[Scored]]]:
    """Data set -> (run, variant) -> answers."""
    found: dict[str, dict[tuple[str, str], list[Scored]]] = {}
    for answer in answers:
        found.setdefault(answer.data, {}).setdefault((answer.run, answer.variant), []).append(answer.scored)
    order = {run: number for number, run in enumerate(dict.fromkeys(answer.run for answer in answers))}
    return {
        data: dict(sorted(groups.items(), key=lambda item: (order[item[0][0]], item[0][1] != FULL)))
        for data, groups in found.items()
    }


def benchmark_of(data: str) -> Benchmark:
    """The benchmark that a data set belongs to, a shipped one too."""
    return benchmarks()[next(task.benchmark for task in tasks().values() if task.data == data)]


def family_named(data: str, variant: str) -> str:
    """The family of tasks that asks a data set in this variant."""
    return joined(data, "" if variant == FULL else variant)


def metrics(rows: Sequence[Scored]) -> list[str]:
    """The metrics that say how good answers are; what a judge was asked is none."""
    return [name for name in metrics_of(rows) if name == SCORE or name.startswith("acc")]


def shown(metric: str) -> str:
    """As tables call it."""
    return "acc" if metric == SCORE else metric


def figures(answers: Sequence[Answered]) -> list[Figures]:
    """All tables of all data sets; those that no run has a figure for are left out."""
    found = []
    for data, groups in grouped(answers).items():
        benchmark = benchmark_of(data)
        for breakdown in benchmark.breakdowns:
            lines = [line for (run, variant), rows in groups.items() for line in _lines(run, variant, rows, breakdown)]
            if lines:
                beside = [*_published(data, breakdown), *_chance(groups, breakdown)]
                found.append(_table(benchmark, data, breakdown, [*beside, *lines]))
    return found


def _table(benchmark: Benchmark, data: str, breakdown: Breakdown, lines: Sequence[Line]) -> Figures:
    there = list(dict.fromkeys(column for line in lines for column in line.cells))
    columns = [name for name in breakdown.columns if name in there]
    columns += [name for name in there if name not in columns]
    notes = ["Shares in %, with half of the 95 % interval (clustered, Student t)."]
    if any(line.kind == "published" for line in lines):
        notes.append("Rows marked as published are the paper's figures; their questions and replies are not here.")
    if any("judge-assisted" in line.note for line in lines):
        notes.append("Judge-assisted: a language model read what the release's rules could not.")
    return Figures(
        name=f"{data}_{breakdown.name}",
        title=f"{benchmark.title} ({data}): {breakdown.title}",
        benchmark=benchmark.name,
        data=data,
        columns=tuple(columns),
        lines=tuple(lines),
        notes=tuple(notes),
    )


def _lines(run: str, variant: str, rows: Sequence[Scored], breakdown: Breakdown) -> list[Line]:
    found = []
    for metric in [SCORE] if breakdown.main_only else metrics(rows):
        cells = {name: _cell(part) for name, part in breakdown.measure(with_metric(rows, metric), metric).items()}
        if cells:
            name = run if variant == FULL else f"{run}, {variant}"
            found.append(Line(name, "run", cells, run, variant, shown(metric)))
    return found


def _cell(part: Estimate) -> Cell:
    interval = part.interval()
    low, high = interval if interval is not None else (None, None)
    return Cell(part.mean, low, high, part.stderr, part.n, part.clusters)


def _published(data: str, breakdown: Breakdown) -> list[Line]:
    """The paper's rows, beside the paper's data only."""
    if all(task.expected is None for task in tasks().values() if task.data == data):
        return []
    order = {"human": 0, "chance": 1, "published": 2}
    lines = [_published_line(row) for row in breakdown.published()]
    return sorted(lines, key=lambda line: order[line.kind])


def _published_line(row: Published) -> Line:
    kinds: Mapping[str, Kind] = {"Human": "human", "Random": "chance"}
    note = ", ".join(filter(None, ("published", row.note)))
    cells = {name: Cell(value) for name, value in row.values.items()}
    return Line(row.model, kinds.get(row.model, "published"), cells, note=note)


def _chance(groups: Groups, breakdown: Breakdown) -> list[Line]:
    """What a guess scores on the questions that the runs were asked, as the paper asks where one was."""
    full = [rows for (_, variant), rows in groups.items() if variant == FULL] or list(groups.values())
    once = {row.id: row for rows in full for row in rows}
    parts = breakdown.measure(list(once.values()), SCORE)
    cells = {name: Cell(part.chance, questions=part.n) for name, part in parts.items() if part.chance is not None}
    return [Line("Chance", "chance", cells, note="a guess at these questions")] if cells else []
