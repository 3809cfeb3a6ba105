"""`report.md`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from spotdiff.reporting import percent
from spotdiff.runs.report import Cell, Figures, Line, Report, RunFacts, Sheet, Unit, Value
from spotdiff.tasks import Table

_WIDEST = 18
"""Columns of figures; with more of them, they become the rows."""


def markdown(report: Report) -> str:
    """All of a report but its long tables, which are in the CSV files, and its answers."""
    return "\n\n".join(_blocks(report)) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    yield "# Report"
    if report.warnings:
        yield "\n".join(f"- **Note:** {_text(warning)}" for warning in report.warnings)
    yield "## Runs"
    yield _runs(report.runs).markdown()
    for data in dict.fromkeys(table.data for table in report.figures):
        yield f"## {data}"
        yield from (_figures(table).markdown() for table in report.figures if table.data == data)
    yield "## Replies and comparisons"
    for sheet in report.sheets:
        if sheet.detail:
            yield f"{sheet.title}: {len(sheet.rows):,} rows, in `tables/{sheet.name}.csv`."
        else:
            yield _sheet(sheet).markdown()
    yield "## To run it again"
    yield from (_provenance(run) for run in report.runs)


def _runs(runs: Sequence[RunFacts]) -> Table:
    rows = [
        (
            _text(run.label),
            _text(run.model),
            run.framework,
            ", ".join(f"{family} {run.answered[family]}/{run.expected[family]}" for family in run.answered),
            "incomplete" if run.incomplete else "complete",
        )
        for run in runs
    ]
    return Table("Runs", ("run", "model", "framework", "answered", "state"), tuple(rows))


def _figures(table: Figures) -> Table:
    """Rows are runs, or where there are many columns, columns are."""
    named = [(_name(line), [_cell(line, line.cells.get(column)) for column in table.columns]) for line in table.lines]
    if len(table.columns) <= _WIDEST:
        body = [(name, *cells) for name, cells in named]
        return Table(table.title, ("%", *map(_text, table.columns)), tuple(body), table.notes)
    body = [(_text(column), *(cells[place] for _, cells in named)) for place, column in enumerate(table.columns)]
    return Table(table.title, ("%", *(name for name, _ in named)), tuple(body), table.notes)


def _name(line: Line) -> str:
    metric = f", {line.metric}" if line.kind == "run" else ""
    return _text(f"{line.name}{metric}" + (f" ({line.note})" if line.note else ""))


def _cell(line: Line, cell: Cell | None) -> str:
    if cell is None or cell.value is None:
        return "-"
    if cell.low is None or cell.high is None:
        return percent(cell.value)
    return f"{percent(cell.value)} +-{percent((cell.high - cell.low) / 2)}"


def _sheet(sheet: Sheet) -> Table:
    rows = tuple(tuple(shown(value, unit) for value, unit in zip(row, sheet.units, strict=True)) for row in sheet.rows)
    units = {"share": " (%)", "difference": " (points)"}
    head = tuple(f"{name}{units.get(unit, '')}" for name, unit in zip(sheet.columns, sheet.units, strict=True))
    return Table(sheet.title, head, rows, tuple(map(_text, sheet.notes)))


def shown(value: Value, unit: Unit) -> str:
    """A value of a sheet as people read it."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return _text(value)
    if unit == "share":
        return percent(value)
    if unit == "difference":
        return f"{100 * value:+.1f}"
    if unit == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _provenance(run: RunFacts) -> str:
    lines = [f"**{_text(run.label)}**", ""]
    for entry in run.provenance:
        told = {name: value for name, value in entry.items() if name not in ("tasks", "model arguments")}
        lines += [f"- {name}: {_code(value)}" for name, value in told.items()]
        lines += [f"- {task}: {_code(_facts(facts))}" for task, facts in entry.get("tasks", {}).items()]
    return "\n".join([*lines, "", f"Logs: {', '.join(map(_code, run.logs[:3]))}"]) + (
        f" and {len(run.logs) - 3} more" if len(run.logs) > 3 else ""
    )


def _facts(facts: object) -> str:
    known = facts.items() if isinstance(facts, dict) else ()
    return ", ".join(f"{name} {value}" for name, value in known if value not in (None, {}))


def _code(value: object) -> str:
    text = _in_line(str(value)).replace("`", "'")
    return f"`{text}`"


def _text(text: str) -> str:
    """As it is, wherever it stands: no line break, no bar of a table, no mark-up, no HTML."""
    return re.sub(r"([\\`*<\[|])", r"\\\1", _in_line(text))


def _in_line(text: str) -> str:
    return " ".join(text.splitlines())
