"""What is checked when all questions of a release are read: answers that are numbers, kinds, ids and groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from spotdiff.benchmarks.egoexo_next.release_columns import example
from spotdiff.benchmarks.egoexo_next.release_fields import Fields
from spotdiff.benchmarks.egoexo_next.release_rows import Entry
from spotdiff.benchmarks.egoexo_next.schema import LATER, MATCH, OPTION_COLUMNS, OTHER, SUBTASKS, TARGET
from spotdiff.errors import Problem
from spotdiff.question import LETTERS

_OPTIONS = len(OPTION_COLUMNS)


def set_answers(entries: Iterable[Entry], fields: Fields) -> list[Problem]:
    """Turn the answers into letters, and return what is wrong with them.

    Numbers count from 0 or from 1 as the mapping says. Else a 0 or a 4 among all of them tells, and nothing else does.
    """
    entries = list(entries)
    bases = [entry.sheet.fixed.get("answer_base", fields.answer_base) for entry in entries]
    told = [entry for entry, base in zip(entries, bases, strict=True) if base is None and isinstance(entry.answer, int)]
    numbers = sorted({entry.answer for entry in told if isinstance(entry.answer, int)})
    base = 0 if 0 in numbers and _OPTIONS not in numbers else 1 if _OPTIONS in numbers and 0 not in numbers else None
    found = []
    if told and base is None:
        message = f"answers are numbers, {', '.join(map(str, numbers))}, "
        message += "which does not tell whether they count from 0 or from 1"
        found.append(
            told[0].problem("answer", message, "Write answer_base = 0 or answer_base = 1 into a file for --fields")
        )
    for entry, own in zip(entries, bases, strict=True):
        start = base if own is None else own
        if isinstance(entry.answer, str):
            entry.row["answer"] = entry.answer
        elif entry.answer is not None and start is not None:
            if start <= entry.answer < start + _OPTIONS:
                entry.row["answer"] = LETTERS[entry.answer - start]
            else:
                message = f"{entry.answer} is none of the options, counted from {start}"
                found.append(entry.problem("answer", message, "Correct it, or answer_base"))
    return found


def check_kinds(entry: Entry) -> list[Problem]:
    """Set kinds and number of future candidates as they follow from each other, and return what is wrong with them."""
    row, kinds = entry.row, entry.row["option_kinds"]
    if not kinds or not row["answer"] or not row["subtask"]:
        return []
    targets = [letter for letter, kind in zip(LETTERS, kinds, strict=False) if kind == TARGET]
    if targets != [row["answer"]]:
        message = f"the target is {', '.join(targets) or 'missing'}, the right option {row['answer']}"
        return [entry.problem("option_kinds", message, "Mark the right option, and it alone, as the target")]
    if row["subtask"] == MATCH:
        # Whatever lies before or after: another moment than that of the query.
        row["option_kinds"] = [kind if kind == TARGET else OTHER for kind in kinds]
        return []
    if OTHER in kinds:
        return [entry.problem("option_kinds", f"{OTHER!r} outside subtask 2", "Say whether it lies before or after")]
    later = sum(kind in (TARGET, LATER) for kind in kinds)
    if row["future_candidates"] not in (0, later):
        message = f"{row['future_candidates']}, but {entry.sheet.label('option_kinds')} names {later}"
        return [entry.problem("future_candidates", message, "Correct one of the two")]
    row["future_candidates"] = later
    return []


def repeated(by_config: Mapping[str, Sequence[Entry]]) -> Iterator[Problem]:
    for rows in by_config.values():
        first: dict[str, str] = {}
        for entry in rows:
            name = entry.row["id"]
            if name and name in first:
                message = f"{name!r} is the id in {first[name]} already"
                yield entry.problem(
                    "id", message, f"Give every question an id of its own, or write {example('id', '')}"
                )
            first.setdefault(name, entry.place)


def group_problems(entries: Iterable[Entry]) -> Iterator[Problem]:
    """Groups that the diagnosis of subtask 4 cannot use."""
    members: dict[str, list[Entry]] = {}
    unknown: set[str] = set()
    for entry in (entry for entry in entries if entry.row["group"]):
        if not entry.known:
            unknown.add(entry.row["group"])
        elif entry.matched:
            members.setdefault(entry.row["group"], []).append(entry)
    for group, rows in members.items():
        # Its members are not all told apart, and the fault of the one that is not is named already.
        if group not in unknown:
            yield from _faults_of_group(group, rows)


_WHOLE = (
    "Give each group one question of each subtask, subtask 2 from ego to exo; or write group = false if these are none"
)


def _faults_of_group(group: str, rows: Sequence[Entry]) -> Iterator[Problem]:
    first = rows[0]
    for number, subtask in enumerate(SUBTASKS, start=1):
        count = sum(entry.row["subtask"] == subtask for entry in rows)
        if count != 1:
            message = f"group {group!r} has {count or 'no'} questions of subtask {number} ({subtask})"
            yield first.problem("group", message, _WHOLE)
    scenes = sorted({entry.row["scene"] for entry in rows if entry.row["scene"]})
    if len(scenes) > 1:
        yield first.problem("scene", f"group {group!r} is {' and '.join(scenes)}", "Correct the scene or the group")
    for entry in rows:
        for name in entry.lacking:
            message = f"the question of subtask 4 in group {group!r} has no {name}"
            yield entry.problem(name, message, f"Name the column: {example(name, '')}; or write group = false")
