"""Reads logs of runs: sample logs of lmms-eval (`--log_samples`), scored answers of VLMEvalKit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotdiff.errors import SpotdiffError
from spotdiff.runs.records import from_record
from spotdiff.scoring import Scored
from spotdiff.tasks import Table, benchmarks, task


@dataclass(frozen=True)
class Run:
    """The scored answers of one log folder, by benchmark."""

    path: Path
    scored: dict[str, list[Scored]]
    expected: dict[str, dict[str, int]]

    def tables(self) -> list[Table]:
        """The paper's table of each benchmark that the run holds."""
        return [
            benchmarks()[name].table(rows, f"{benchmarks()[name].title}, {self.path}", self.expected[name])
            for name, rows in self.scored.items()
        ]


def read_run(path: Path) -> Run:
    """All scored answers below a folder. Raises SpotdiffError when there are none, or when a log is broken."""
    files = sorted([*path.rglob("*samples_*.jsonl"), *path.rglob("*_scored.jsonl")]) if path.is_dir() else [path]
    scored: dict[str, dict[str, Scored]] = {}
    expected: dict[str, dict[str, int]] = {}
    for file in files:
        for place, record in _records(file):
            try:
                answer, answered = from_record(record), task(record["task"])
            except (KeyError, ValueError, TypeError) as error:
                raise SpotdiffError(
                    f"{place} is no scored answer of spotdiff ({error}). Run it again with this version"
                ) from error
            known = scored.setdefault(answered.benchmark, {})
            if answer.id in known:
                raise SpotdiffError(
                    f"{place}: question {answer.id} was answered before in {path}. Name the folder of one run"
                )
            known[answer.id] = answer
            totals = expected.setdefault(answered.benchmark, {})
            totals[str(answer.groups["setting"])] = record["total"]
    if not scored:
        raise SpotdiffError(
            f"{path} holds no scored answers. lmms-eval writes them with --log_samples and --output_path"
        )
    return Run(path, {name: list(rows.values()) for name, rows in scored.items()}, expected)


def _records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpotdiffError(f"{file} cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        place = f"{file}, line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise SpotdiffError(f"{place} is not JSON: {error}. The run was cut short: run it again") from error
        # A sample of lmms-eval carries the record in its main metric; a task that is not ours has none.
        record = row.get("acc", {}) if "doc_id" in row else row
        if isinstance(record, dict) and "outcome" in record:
            yield place, record
