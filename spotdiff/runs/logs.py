"""One log file of either framework, line by line: scored answers, what they were read from, and every broken line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from spotdiff.errors import SpotdiffError
from spotdiff.runs.records import from_record
from spotdiff.runs.replies import StoredReply, replies_beside
from spotdiff.scoring import Scored
from spotdiff.tasks import Task, benchmarks, task

LMMS_EVAL = "lmms-eval"
VLMEVALKIT = "VLMEvalKit"

SAMPLES = "_samples_"
"""In the name of a sample log of lmms-eval, between the time stamp and the task."""

SCORED = "_scored"
"""At the end of the name of our log in VLMEvalKit, behind model and data set."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A scored answer with its log. total: questions of its setting when complete. version: of the benchmark's
    protocol. reply, prompt, version: None where the log does not tell."""

    scored: Scored
    task: str
    total: int
    version: int | None
    rule: str
    conflict: bool
    reply: str | None
    prompt: str | None
    place: str

    @property
    def setting(self) -> str:
        return str(self.scored.groups["setting"])


@dataclass(frozen=True)
class Log:
    """A file of a run. faults: what could not be used, each with its place. remarks: what is not as it should be, but
    costs no answer."""

    file: Path
    framework: str
    answers: list[Logged] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def read_log(file: Path) -> Log:
    """All answers of a file; lines that hold none of ours, such as those of other tasks, are passed over.

    Raises SpotdiffError when the file cannot be read at all.
    """
    log = Log(file, LMMS_EVAL if SAMPLES in file.name and not file.stem.endswith(SCORED) else VLMEVALKIT)
    stored: Mapping[str, StoredReply] = {}
    if log.framework == VLMEVALKIT:
        stored, remarks = replies_beside(file)
        log.remarks.extend(remarks)
    for place, line in _lines(file, log.faults):
        try:
            row = json.loads(line)
        # Not JSONDecodeError alone: a number may have too many digits, brackets may be nested too deep.
        except (ValueError, RecursionError) as error:
            log.faults.append(f"{place} is not JSON: {error}. The run was cut short: run it again")
            continue
        # A sample of lmms-eval carries the record in its main metric; a task that is not ours has none.
        record = row.get("acc") if isinstance(row, dict) and "doc_id" in row else row
        if not isinstance(record, dict) or "outcome" not in record:
            continue
        try:
            log.answers.append(_logged(record, row, stored, place))
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError, SpotdiffError) as error:
            log.faults.append(f"{place} is no scored answer of this version of spotdiff ({error})")
    lacking = sum(answer.reply is None for answer in log.answers)
    if lacking and not log.remarks:
        log.remarks.append(f"{file}: {lacking} of {len(log.answers)} answers have no stored reply to show")
    return log


def _lines(file: Path, faults: list[str]) -> Iterator[tuple[str, str]]:
    try:
        # Not splitlines: a reply may hold U+2028 and its like.
        lines = file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise SpotdiffError(f"{file} cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        place = f"{file}, line {number}"
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            faults.append(f"{place} cannot be read: {error}")
            continue
        if text.strip():
            yield place, text


def _logged(record: Mapping[str, Any], row: Mapping[str, Any], stored: Mapping[str, StoredReply], place: str) -> Logged:
    answer = from_record(record)
    family_of(record["task"])
    asked = _task(record["task"])
    asked.setting(str(answer.groups["setting"]))
    version, total = record.get("version"), int(record["total"])
    if total < 1:
        raise ValueError(f"a setting of {total} questions has no answer")
    beside = stored.get(answer.id)
    reply, prompt = (beside.reply, beside.prompt) if beside is not None else (reply_of(row), row.get("input"))
    return Logged(
        scored=answer,
        task=record["task"],
        total=total,
        version=None if version is None else int(version),
        rule=str(record.get("rule", "")),
        conflict=bool(record.get("conflict", False)),
        reply=reply,
        prompt=prompt if isinstance(prompt, str) else None,
        place=place,
    )


def reply_of(row: Mapping[str, Any]) -> str | None:
    """What was read of the reply in a row of a sample log: lmms-eval leaves `resps` out where nothing was filtered."""
    value: Any = row.get("filtered_resps", row.get("resps"))
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else None


@cache
def _task(name: str) -> Task:
    return task(name)


@cache
def family_of(name: str) -> str:
    """The family of a task by any of its names: the first group that holds the whole task, or its own name.

    Raises SettingError for a name that is no task.
    """
    asked = _task(name)
    groups = benchmarks()[asked.benchmark].groups
    own = set(groups.get(asked.name, (asked.name,)))
    return next((group for group, members in groups.items() if own <= set(members)), asked.name)
