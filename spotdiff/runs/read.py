"""Reads logs of runs: sample logs of lmms-eval (`--log_samples`), scored answers of VLMEvalKit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spotdiff.errors import SpotdiffError
from spotdiff.probes.stages import stages
from spotdiff.runs.logs import SAMPLES, SCORED, VLMEVALKIT, Log, Logged, family_of, read_log
from spotdiff.runs.provenance import Facts, lmms_results, of_lmms_eval, of_vlmevalkit
from spotdiff.scoring import Scored
from spotdiff.secrets import without_secrets
from spotdiff.tasks import Table, benchmarks, task, tasks

_LOG = re.compile(rf".*({SAMPLES}.*|{SCORED})\.jsonl", re.DOTALL)


@dataclass(frozen=True)
class Run:
    """The scored answers of one run.

    name: folder and time stamp. model: what was run: in lmms-eval the model with its arguments, where the results
    beside the logs say it, else the name in those of folders or files.
    scored: by family of tasks (`m4bench`, `m4bench_concat`), which ask the same questions in different ways and share
    no table. expected: complete number of questions, by family and setting.
    logs: the files that it was read from. facts: what is needed to run it again.
    """

    name: str
    model: str
    scored: dict[str, list[Scored]]
    expected: dict[str, dict[str, int]]
    logs: tuple[Log, ...] = ()
    facts: tuple[Facts, ...] = ()

    def tables(self) -> list[Table]:
        """The paper's table of each family of tasks that the run holds."""
        found = []
        for family, rows in self.scored.items():
            benchmark = benchmarks()[task(family).benchmark]
            found.append(benchmark.table(rows, f"{benchmark.title} ({family}), {self.name}", self.expected[family]))
        return found


def read_runs(path: Path, *, strict: bool = True) -> list[Run]:
    """The runs whose logs lie below a folder, by path.

    strict: raise for a broken line. Otherwise `Log.faults` names it, and the run goes on without it; such a run may be
    left without any answer. Raises SpotdiffError when there is no run.
    """
    if not path.exists():
        raise SpotdiffError(f"There is no folder {path}")
    found = _below(path) if path.is_dir() else [path]
    files = _ours_once(found) if path.is_dir() else [path]
    by_run: dict[str, list[Path]] = {}
    for file in files:
        by_run.setdefault(_run_name(file), []).append(file)
    runs = [_read(name, logs, strict) for name, logs in by_run.items()]
    runs = [run for run in runs if run.scored or any(log.faults for log in run.logs)]
    if not runs:
        raise SpotdiffError(_nothing_found(path, found))
    return runs


def foreign_tasks(path: Path) -> list[str]:
    """Names of tasks of others whose sample logs lie below a folder; stages of our probes answer nothing."""
    return [name for name in _foreign(_below(path)) if name not in stages()]


def _foreign(files: Iterable[Path]) -> list[str]:
    return sorted({_task_named(file) for file in files if not _is_ours(file)})


def _nothing_found(path: Path, files: Iterable[Path]) -> str:
    others = _foreign(files) if path.is_dir() else []
    if others:
        return f"{path} holds logs of other tasks only ({', '.join(others)}), none of spotdiff"
    if path.is_file():
        return f"{path} holds no scored answers of a task of spotdiff"
    return f"{path} holds no scored answers. lmms-eval writes them with --log_samples and --output_path"


def _below(path: Path) -> list[Path]:
    """The logs of either framework below a folder, through linked folders too."""
    root, entered = path.resolve(), set[Path]()
    found: list[Path] = []
    for name, folders, files in os.walk(path, followlinks=True):
        for link in [Path(name, folder) for folder in folders if Path(name, folder).is_symlink()]:
            target = link.resolve()
            # What lies below the folder is reached without the link, and what holds it would never end.
            if target in entered or target.is_relative_to(root) or root.is_relative_to(target):
                folders.remove(link.name)
            entered.add(target)
        found += [Path(name, file) for file in files if _LOG.fullmatch(file)]
    return found


def _ours_once(files: Iterable[Path]) -> list[Path]:
    """Those of our tasks, by path. VLMEvalKit links the files of a run from the folder above it: a link counts where
    what it leads to is not among the files, and a dangling one where no file has its name."""
    found = sorted(filter(_is_ours, files), key=lambda file: (file.is_symlink(), file))
    names = {file.name for file in found if not file.is_symlink()}
    known: dict[Path, Path] = {}
    for file in found:
        if file.exists() or file.name not in names:
            known.setdefault(file.resolve(), file)
    return sorted(known.values())


def _task_named(file: Path) -> str:
    return file.stem.partition(SAMPLES)[2]


def _is_ours(file: Path) -> bool:
    """Whether the log may hold our answers; lmms-eval names a task's log after it."""
    name = _task_named(file)
    return not name or name in tasks() or name.endswith(SCORED)


def _run_name(file: Path) -> str:
    """lmms-eval writes each run under a time stamp of its own; VLMEvalKit each data set into a file of its own."""
    stamp, mark, _ = file.name.partition(SAMPLES)
    return str(file.parent / (stamp if mark else file.stem.removesuffix(SCORED)))


def _read(name: str, files: Sequence[Path], strict: bool) -> Run:
    logs = [read_log(file) for file in files]
    scored: dict[str, dict[str, Scored]] = {}
    expected: dict[str, dict[str, int]] = {}
    for log in logs:
        kept = [entry for entry in log.answers if _is_new(entry, scored, log)]
        if strict and log.faults:
            raise SpotdiffError(log.faults[0])
        log.answers[:] = kept
        for entry in kept:
            expected.setdefault(family_of(entry.task), {})[entry.setting] = entry.total
    rows = {family: list(rows.values()) for family, rows in scored.items()}
    model = _model_of(logs)
    return Run(name, model, rows, expected, tuple(logs), _facts(logs))


def _is_new(entry: Logged, scored: dict[str, dict[str, Scored]], log: Log) -> bool:
    known = scored.setdefault(family_of(entry.task), {})
    if entry.scored.id in known:
        log.faults.append(f"{entry.place}: question {entry.scored.id} was answered before in the same run")
        return False
    known[entry.scored.id] = entry.scored
    return True


def _facts(logs: Sequence[Log]) -> tuple[Facts, ...]:
    if logs[0].framework == VLMEVALKIT:
        named = ((log, [entry.task for entry in log.answers]) for log in logs)
        return tuple(of_vlmevalkit(log.file, task(names[0]).vlmeval_name, names) for log, names in named if names)
    return (of_lmms_eval(logs[0].file, (entry.task for log in logs for entry in log.answers)),)


def _model_of(logs: Sequence[Log]) -> str:
    """In VLMEvalKit the part of the log's name before the data set. In lmms-eval the model and its arguments, from the
    results of the same run, else the name of the log's folder."""
    file = logs[0].file
    if file.stem.endswith(SCORED) and logs[0].answers:
        stem = file.stem.removesuffix(SCORED)
        return stem.removesuffix(f"_{task(logs[0].answers[0].task).vlmeval_name}")
    config = lmms_results(file).get("config")
    named, arguments = (config.get("model"), config.get("model_args")) if isinstance(config, dict) else (None, None)
    if not named:
        return file.parent.name
    if isinstance(arguments, dict):
        arguments = ",".join(f"{name}={value}" for name, value in sorted(arguments.items()))
    return f"{named} ({without_secrets(str(arguments))})" if arguments else str(named)
