"""What a prepared data set holds, beside the paper's numbers, and all that is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spotdiff.data.checks import check_rows, check_videos
from spotdiff.data.oddities import oddities
from spotdiff.data.store import MINI, locate, read_config, without_columns
from spotdiff.errors import DataError, Problem
from spotdiff.evaluation import Evaluation
from spotdiff.question import LETTERS
from spotdiff.reporting import listed
from spotdiff.settings import load_settings
from spotdiff.tasks import Benchmark, Table, Task, benchmarks

Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Config:
    """A config as it was found. rows: without images. paper: its questions there, None for a shipped set. fault: why
    it cannot be read, or empty. problems: faults of its rows.
    """

    name: str
    paper: int | None
    rows: Sequence[Row] = ()
    fault: str = ""
    problems: Sequence[Problem] = ()


def check(name: str) -> bool:
    """Print what a data set holds and what is wrong with it; tell whether nothing is wrong, and nothing missing.

    name: of a data set, or of a shipped one (`<benchmark>_mini`). Every image and video is decoded to its end, once:
    what was found whole and is unchanged is not decoded again. What is odd and no fault is printed too, unless media
    are broken. Raises DataError where the data set is not prepared.
    """
    import datasets

    # Of reading each config.
    datasets.disable_progress_bars()
    folder = locate(name, load_settings())
    benchmark = benchmarks()[name.removesuffix(MINI)]
    configs = [_read(benchmark, folder, config, paper) for config, paper in papers(benchmark, name).items()]
    for table in _tables(benchmark, name, configs):
        print(f"{table.markdown()}\n", flush=True)
    media = list(_faults_of_media(benchmark, name, configs, folder))
    faults = [*_faults_of_rows(configs, folder), *media]
    for fault in faults:
        print(fault)
    if not media:
        tasks = first_tasks(benchmark, name, [config.name for config in configs if _is_sound(config)])
        for oddity in oddities(benchmark, folder, tasks):
            print(f"odd: {oddity}")
    said = f"{len(faults)} kind{'s' if len(faults) > 1 else ''} of faults, see above" if faults else "nothing is wrong"
    print(f"{name} in {folder}: {said}")
    return not faults


def first_tasks(benchmark: Benchmark, name: str, configs: Collection[str]) -> Iterator[Task]:
    """The first task for each of these configs of a data set: a benchmark's plain tasks come first."""
    asked: set[str] = set()
    for task in benchmark.tasks:
        own = {setting.config for setting in task.settings}
        if task.data == name and own <= set(configs) and not own <= asked:
            asked |= own
            yield task


def papers(benchmark: Benchmark, name: str) -> dict[str, int | None]:
    """Config of a data set -> questions that the paper has there."""
    return {
        setting.config: None if task.expected is None else setting.questions
        for task in benchmark.tasks
        if task.data == name
        for setting in task.settings
    }


def _read(benchmark: Benchmark, folder: Path, config: str, paper: int | None) -> _Config:
    try:
        rows = read_config(folder, config, benchmark.image_columns)
    except DataError as error:
        return _Config(config, paper, fault=str(error))
    texts = without_columns(rows, benchmark.image_columns)
    return _Config(config, paper, texts.to_list(), problems=check_rows(benchmark, rows, str(folder / config)))


# --- what there is ------------------------------------------------------------------------------------------------


def _tables(benchmark: Benchmark, name: str, configs: Sequence[_Config]) -> Iterator[Table]:
    letters = {config.name: Counter(_letters(config.rows)) for config in configs}
    used = LETTERS[: max((LETTERS.index(letter) + 1 for found in letters.values() for letter in found), default=1)]
    body = [
        (
            config.name,
            "-" if config.fault else f"{len(config.rows):,}",
            "-" if config.paper is None else f"{config.paper:,}",
            *(f"{letters[config.name][letter]:,}" for letter in used),
        )
        for config in configs
    ]
    head = ("config", "questions", "paper", *(f"right: {letter}" for letter in used))
    yield Table(f"{benchmark.title}: {name}", head, tuple(body))
    if benchmark.counts and not name.endswith(MINI) and all(map(_is_sound, configs)):
        yield from benchmark.counts({config.name: config.rows for config in configs})


def _letters(rows: Iterable[Row]) -> Iterator[str]:
    """All letters that are right in one of these rows."""
    return (letter for row in rows for letter in row.get("answer") or () if letter in LETTERS)


def _is_sound(config: _Config) -> bool:
    return not config.fault and not config.problems


# --- what is wrong ------------------------------------------------------------------------------------------------


def _faults_of_rows(configs: Sequence[_Config], folder: Path) -> Iterator[str]:
    for config in configs:
        if config.fault:
            yield config.fault
        elif config.paper is not None and config.paper != len(config.rows):
            yield f"{config.name}: {len(config.rows):,} questions, where the paper has {config.paper:,}"
        yield from _said(config.problems, folder)


def _faults_of_media(benchmark: Benchmark, name: str, configs: Sequence[_Config], folder: Path) -> Iterator[str]:
    unsound = [config.name for config in configs if config.problems]
    if unsound:
        yield f"{', '.join(unsound)}: images and videos were not looked at, as rows have faults"
    sound = [config for config in configs if _is_sound(config)]
    found: list[Problem] = []
    for task in first_tasks(benchmark, name, [config.name for config in sound]):
        try:
            evaluation = Evaluation.of(task)
            # What a run may leave out is missing all the same.
            replace(evaluation, settings=replace(evaluation.settings, allow_missing=False)).check_media()
        except DataError as error:
            if not error.problems:
                raise
            found += error.problems
    known = {Path(problem.file) for problem in found}
    others = {path: row for path, row in _videos(benchmark, sound, folder).items() if path not in known}
    yield from _said([*found, *check_videos(others, load_settings())[1]], folder)


def _videos(benchmark: Benchmark, configs: Sequence[_Config], folder: Path) -> dict[Path, str]:
    """All videos that rows name and that are there, those that plain tasks do not show too -> a row that names it."""
    named = (
        (folder / video, str(row["id"]))
        for config in configs
        for row in config.rows
        for video in benchmark.videos_of(row)
    )
    return {path: row for path, row in named if path.exists()}


def _said(problems: Iterable[Problem], folder: Path) -> Iterator[str]:
    """A line for each fault; one for all those that say the same, with their number and the first of their places."""
    groups: dict[tuple[str, str], dict[str, Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.message, problem.remedy), {}).setdefault(_place(problem, folder), problem)
    for (message, remedy), group in groups.items():
        places = list(group)
        if len(places) == 1:
            yield str(group[places[0]])
        else:
            yield f"{len(places):,} times: {message} ({listed(places)}). {remedy}"


def _place(problem: Problem, folder: Path) -> str:
    """A video as it lies in the data set, and a row that names it; a row by its config, its id and the field."""
    file = Path(problem.file)
    within = str(file.relative_to(folder)) if file.is_relative_to(folder) else problem.file
    return f"{within}/{problem.row} {problem.field}" if file.is_dir() else f"{within} of {problem.row}"
