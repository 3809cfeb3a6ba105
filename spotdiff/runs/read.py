"""Reads logs of runs: sample logs of lmms-eval (`--log_samples`), scored answers of VLMEvalKit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotdiff.errors import SpotdiffError
from spotdiff.runs.records import from_record
from spotdiff.scoring import Scored
from spotdiff.tasks import Table, Task, benchmarks, task, tasks


@dataclass(frozen=True)
class Run:
    """The scored answers of one run.

    name: folder and time stamp. model: what was run: in lmms-eval the model with its arguments, where the results
    beside the logs say it, else the name in those of folders or files.
    scored: by family of tasks (`m4bench`, `m4bench_concat`), which ask the same questions in different ways and share
    no table. expected: complete number of questions, by family and setting.
    """

    name: str
    model: str
    scored: dict[str, list[Scored]]
    expected: dict[str, dict[str, int]]

    def tables(self) -> list[Table]:
        """The paper's table of each family of tasks that the run holds."""
        found = []
        for family, rows in self.scored.items():
            benchmark = benchmarks()[task(family).benchmark]
            found.append(benchmark.table(rows, f"{benchmark.title} ({family}), {self.name}", self.expected[family]))
        return found


def read_runs(path: Path) -> list[Run]:
    """The runs whose logs lie below a folder, by path. Raises SpotdiffError when there is none, or a broken log."""
    if not path.exists():
        raise SpotdiffError(f"There is no folder {path}")
    found = {*path.rglob("*samples_*.jsonl"), *path.rglob("*_scored.jsonl")} if path.is_dir() else {path}
    # VLMEvalKit links the files of a run from the folder above it.
    files = sorted(file for file in found if not path.is_dir() or (not file.is_symlink() and _is_ours(file)))
    by_run: dict[str, list[Path]] = {}
    for file in files:
        by_run.setdefault(_run_name(file), []).append(file)
    runs = [run for name, logs in by_run.items() if (run := _read(name, logs)).scored]
    if not runs:
        raise SpotdiffError(
            f"{path} holds no scored answers. lmms-eval writes them with --log_samples and --output_path"
        )
    return runs


def _is_ours(file: Path) -> bool:
    """Whether the log may hold our answers; lmms-eval names a task's log after it."""
    _, mark, name = file.stem.partition("_samples_")
    return not mark or name in tasks() or name.endswith("_scored")


def _run_name(file: Path) -> str:
    """lmms-eval writes each run under a time stamp of its own; VLMEvalKit each data set into a file of its own."""
    stamp, mark, _ = file.name.partition("_samples_")
    return str(file.parent / (stamp if mark else file.stem.removesuffix("_scored")))


def _read(name: str, files: list[Path]) -> Run:
    scored: dict[str, dict[str, Scored]] = {}
    expected: dict[str, dict[str, int]] = {}
    model = _model_of(files[0])
    for file in files:
        for place, record in _records(file):
            try:
                answer, asked = from_record(record), task(record["task"])
                total, setting = int(record["total"]), asked.setting(str(answer.groups["setting"])).name
            except (KeyError, ValueError, TypeError, AttributeError, SpotdiffError) as error:
                raise SpotdiffError(f"{place} is no scored answer of this version of spotdiff ({error})") from error
            if file.stem.endswith("_scored"):
                model = file.stem.removesuffix("_scored").removesuffix(f"_{asked.vlmeval_name}")
            family = _family(asked)
            known = scored.setdefault(family, {})
            if answer.id in known:
                raise SpotdiffError(f"{place}: question {answer.id} was answered before in the same run")
            known[answer.id] = answer
            expected.setdefault(family, {})[setting] = total
    return Run(name, model, {family: list(rows.values()) for family, rows in scored.items()}, expected)


def _model_of(file: Path) -> str:
    """The model and its arguments from lmms-eval's results of the same run, else the name of the log's folder."""
    stamp, mark, _ = file.name.partition("_samples_")
    try:
        config = (
            json.loads((file.parent / f"{stamp}_results.json").read_text(encoding="utf-8"))["config"] if mark else {}
        )
        named, arguments = config.get("model"), config.get("model_args")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        named = arguments = None
    if not named:
        return file.parent.name
    if isinstance(arguments, dict):
        arguments = ",".join(f"{name}={value}" for name, value in sorted(arguments.items()))
    return f"{named} ({_without_secrets(arguments)})" if arguments else str(named)


def _without_secrets(arguments: str) -> str:
    return re.sub(
        r"((?:^|,)\s*[^,=]*(?:key|token|secret|password)[^,=]*=)[^,]*", r"\1...", arguments, flags=re.IGNORECASE
    )


def _family(asked: Task) -> str:
    """The first group that holds the whole task, or its own name."""
    groups = benchmarks()[asked.benchmark].groups
    own = set(groups.get(asked.name, (asked.name,)))
    return next((group for group, members in groups.items() if own <= set(members)), asked.name)


def _records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        # Not splitlines: a reply may hold U+2028 and its like.
        lines = file.read_bytes().decode("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SpotdiffError(f"{file} cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        place = f"{file}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise SpotdiffError(f"{place} is not JSON: {error}. The run was cut short: run it again") from error
        # A sample of lmms-eval carries the record in its main metric; a task that is not ours has none.
        record = row.get("acc") if isinstance(row, dict) and "doc_id" in row else row
        if isinstance(record, dict) and "outcome" in record:
            yield place, record
