"""What was found, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from spotdiff import __version__
from spotdiff.secrets import mask, without_secrets


class Mark(Enum):
    """fault: runs fail, or give less than they should. warning: some will. note: worth knowing, nothing to do."""

    ok = "ok"
    note = "note"
    warning = "warning"
    fault = "FAULT"


@dataclass(frozen=True)
class Finding:
    """One line of the report. remedy: what to do, a command where there is one; empty where nothing is wrong."""

    mark: Mark
    text: str
    remedy: str = ""


Groups = Mapping[str, Sequence[Finding]]


def count(groups: Groups, mark: Mark) -> int:
    return sum(finding.mark is mark for findings in groups.values() for finding in findings)


def as_text(groups: Groups) -> str:
    """A line for each finding below the name of its group, its remedy below it, and the numbers at the end."""
    return without_secrets("\n".join(_lines(groups)))


def _lines(groups: Groups) -> Iterator[str]:
    width = max(len(mark.value) for mark in Mark)
    for group, findings in groups.items():
        yield group
        for finding in findings:
            yield f"  {finding.mark.value:<{width}}  {finding.text}"
            if finding.remedy:
                yield f"  {'':<{width}}  -> {finding.remedy}"
        yield ""
    yield f"faults: {count(groups, Mark.fault)}, warnings: {count(groups, Mark.warning)}"


def as_json(groups: Groups) -> str:
    """One object: version, faults and warnings (numbers), findings (group, mark, text, remedy)."""
    findings = [
        {"group": group, "mark": finding.mark.name, "text": finding.text, "remedy": finding.remedy}
        for group, found in groups.items()
        for finding in found
    ]
    numbers = {"faults": count(groups, Mark.fault), "warnings": count(groups, Mark.warning)}
    return json.dumps(mask({"spotdiff": __version__, **numbers, "findings": findings}), indent=2, ensure_ascii=False)
