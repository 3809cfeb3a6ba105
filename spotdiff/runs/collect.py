"""The runs of a report: read from their folders, joined, named, and checked for what must not be mixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from spotdiff.errors import SpotdiffError
from spotdiff.reporting import listed
from spotdiff.runs.combine import joined
from spotdiff.runs.logs import LMMS_EVAL, Log, Logged, family_of
from spotdiff.runs.provenance import Facts
from spotdiff.runs.read import Run, foreign_tasks, read_runs
from spotdiff.runs.report import FULL, Answered, RunFacts
from spotdiff.tasks import benchmarks, task

_NAMING = ("pretrained", "model_version", "model", "model_name", "checkpoint")
"""Arguments of a model that say which one it is, in the order in which they are looked at."""


@dataclass(frozen=True)
class Collected:
    """runs: one for each label. answers: of all of them, one after the other. warnings: in words."""

    runs: tuple[RunFacts, ...]
    answers: tuple[Answered, ...]
    warnings: tuple[str, ...]


def collect(paths: Sequence[Path], names: Mapping[Path, str], *, force: bool) -> Collected:
    """Read the runs below some folders; parts of one run that ask different questions are joined.

    names: folder -> what to call its model. force: take runs with different versions of a task together.
    Raises SpotdiffError when there is nothing to report, a name fits no folder, or versions of a task are mixed.
    """
    unknown = [str(path) for path in names if path not in paths]
    if unknown:
        known = listed([*map(str, paths)])
        raise SpotdiffError(f"--name names {', '.join(unknown)}, which is none of the runs: {known}")
    warnings: list[str] = []
    runs = joined(_named(paths, names, warnings))
    labels = _labels([run.model if run.model in names.values() else short_name(run.model) for run in runs], warnings)
    answers = [answered for label, run in zip(labels, runs, strict=True) for answered in _answers(label, run)]
    mixed = _mixed_versions(answers)
    if mixed and not force:
        raise SpotdiffError(
            f"{'; '.join(mixed.values())}. Figures of different versions do not compare: report them apart, or all the "
            "same with --force"
        )
    warnings += [f"{said}; taken together with --force" for said in mixed.values()]
    warnings += [said for label, run in zip(labels, runs, strict=True) for said in _one_by_folder(label, run, names)]
    facts = tuple(_facts(label, run, answers, mixed) for label, run in zip(labels, runs, strict=True))
    for fact, run in zip(facts, runs, strict=True):
        warnings += [*_of_run(fact), *(remark for log in run.logs for remark in log.remarks)]
    return Collected(facts, tuple(answers), tuple(warnings + _other_data(facts)))


def _named(paths: Sequence[Path], names: Mapping[Path, str], warnings: list[str]) -> list[Run]:
    """All runs that have an answer, each log once."""
    found: list[Run] = []
    seen: set[Path] = set()
    broken: list[str] = []
    for path in paths:
        others = foreign_tasks(path)
        runs = read_runs(path, strict=False)
        if others:
            warnings.append(f"{path}: logs of other tasks are passed over: {', '.join(others)}")
        for run in runs:
            files = {log.file.resolve() for log in run.logs}
            if files <= seen:
                warnings.append(f"{run.name} is named more than once, and counted once")
                continue
            seen |= files
            if run.scored:
                found.append(replace(run, model=names.get(path, run.model)))
            else:
                broken.append(f"{run.name}: no line can be used. {_shown(run.logs)[0]}")
    warnings += broken
    if not found:
        raise SpotdiffError(". ".join(broken))
    return found


def _one_by_folder(label: str, run: Run, names: Mapping[Path, str]) -> list[str]:
    """Where the name of a folder alone says that logs of several folders are those of one model."""
    folders = list(dict.fromkeys(str(log.file.parent) for log in run.logs))
    untold = any(fact.get("framework") == LMMS_EVAL and "model" not in fact for fact in run.facts)
    if len(folders) < 2 or not untold or run.model in names.values():
        return []
    return [
        f"{label}: no results beside the logs say which model it was; {listed(folders)} are taken for one run as their "
        "names are the same. --name RUN=NAME tells them apart"
    ]


def short_name(model: str) -> str:
    """`qwen3_vl (pretrained=Qwen/Qwen3-VL-8B,device=cpu)` -> `Qwen3-VL-8B`; as it is where no argument tells."""
    _, mark, arguments = model.partition(" (")
    if not mark:
        return model
    told = dict(part.split("=", 1) for part in arguments.removesuffix(")").split(",") if "=" in part)
    value = next((told[name] for name in _NAMING if told.get(name)), "")
    return value.rstrip("/").rsplit("/", 1)[-1] or model


def _labels(names: Sequence[str], warnings: list[str]) -> list[str]:
    """The names, numbered where several runs share one."""
    shared = [name for name, count in Counter(names).items() if count > 1]
    warnings += [
        f"{names.count(name)} runs are called {name}: they are numbered in the order given. --name RUN=NAME names them"
        for name in shared
    ]
    used: Counter[str] = Counter()
    labels: list[str] = []
    for name in names:
        used[name] += 1
        label = name if used[name] == 1 else f"{name} ({used[name]})"
        while label in labels:
            used[name] += 1
            label = f"{name} ({used[name]})"
        labels.append(label)
    return labels


def _answers(label: str, run: Run) -> list[Answered]:
    versions = {name: told.get("version") for fact in run.facts for name, told in fact.get("tasks", {}).items()}
    found = [_answered(label, run, log, entry, versions) for log in run.logs for entry in log.answers]
    return sorted(found, key=_place)


def _place(answer: Answered) -> tuple[str, bool, str, int, str]:
    """The same for the same answers in whatever order their logs hold them: rounding follows the order."""
    settings = _settings(answer.family)
    return answer.data, answer.variant != FULL, answer.variant, settings.index(answer.setting), answer.scored.id


@cache
def _settings(family: str) -> tuple[str, ...]:
    return tuple(setting.name for setting in task(family).settings)


def _answered(label: str, run: Run, log: Log, entry: Logged, versions: Mapping[str, object]) -> Answered:
    family = family_of(entry.task)
    asked = task(family)
    version = entry.version if entry.version is not None else versions.get(entry.task)
    return Answered(
        run=label,
        model=run.model,
        framework=log.framework,
        benchmark=asked.benchmark,
        data=asked.data,
        family=family,
        variant=variant_of(family, asked.data),
        task=entry.task,
        version=version if isinstance(version, int) else None,
        scored=entry.scored,
        rule=entry.rule,
        conflict=entry.conflict,
        reply=entry.reply,
        prompt=entry.prompt,
        place=entry.place,
    )


def variant_of(family: str, data: str) -> str:
    """`m4bench_swap` on `m4bench` -> `swap`."""
    return family.removeprefix(data).strip("_") or FULL


def _mixed_versions(answers: Sequence[Answered]) -> dict[str, str]:
    """Benchmark -> what is mixed, in words."""
    found: dict[str, dict[int, list[str]]] = {}
    for answer in answers:
        if answer.version is not None:
            runs = found.setdefault(answer.benchmark, {}).setdefault(answer.version, [])
            if answer.run not in runs:
                runs.append(answer.run)
    return {
        name: f"{benchmarks()[name].title} was asked in several versions: "
        + ", ".join(f"{version} by {listed(runs)}" for version, runs in sorted(versions.items()))
        for name, versions in found.items()
        if len(versions) > 1
    }


def _facts(label: str, run: Run, answers: Sequence[Answered], mixed: Mapping[str, str]) -> RunFacts:
    own = {answer.benchmark for answer in answers if answer.run == label}
    return RunFacts(
        label=label,
        model=run.model,
        framework=", ".join(dict.fromkeys(log.framework for log in run.logs)),
        logs=tuple(str(log.file) for log in run.logs),
        answered={family: len(rows) for family, rows in run.scored.items()},
        expected={family: sum(counts.values()) for family, counts in run.expected.items()},
        faults=tuple(fault for log in run.logs for fault in log.faults),
        mixed=tuple(said for name, said in mixed.items() if name in own),
        provenance=run.facts,
    )


def _shown(logs: Sequence[Log]) -> list[str]:
    return [fault for log in logs for fault in log.faults]


def _of_run(fact: RunFacts) -> list[str]:
    said = []
    if fact.faults:
        said.append(
            f"{fact.label} is incomplete: {len(fact.faults)} lines of its logs cannot be used. {fact.faults[0]}"
            + (f" (and {len(fact.faults) - 1} more, see provenance.json)" if len(fact.faults) > 1 else "")
        )
    for family, count in fact.answered.items():
        if count < fact.expected[family]:
            said.append(f"{fact.label} is incomplete: {count} of {fact.expected[family]} questions of {family}")
    return said


def _other_data(facts: Sequence[RunFacts]) -> list[str]:
    """A warning for each task whose data differ between runs, as far as the results tell."""
    found: dict[str, set[str]] = {}
    for fact in facts:
        for entry in fact.provenance:
            for name, told in _tasks(entry).items():
                if told.get("data digest"):
                    found.setdefault(task(name).name, set()).add(str(told["data digest"]))
    return [
        f"{name} was asked on different data: {', '.join(sorted(digests))}"
        for name, digests in found.items()
        if len(digests) > 1
    ]


def _tasks(entry: Facts) -> Mapping[str, Facts]:
    tasks: Mapping[str, Facts] = entry.get("tasks", {})
    return tasks
