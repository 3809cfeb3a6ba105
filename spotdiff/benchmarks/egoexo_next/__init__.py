"""EgoExo-Next: which image shows the next state, within a view and across views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spotdiff.benchmarks.egoexo_next.breakdowns import BREAKDOWNS
from spotdiff.benchmarks.egoexo_next.captions import stage_of, texts
from spotdiff.benchmarks.egoexo_next.comparison import comparison
from spotdiff.benchmarks.egoexo_next.controls import donors
from spotdiff.benchmarks.egoexo_next.protocol import needed_images, pixel_warnings, problems, question
from spotdiff.benchmarks.egoexo_next.schema import EGO, EGO2EXO, EXO, IMAGE_COLUMNS, MATCH, ORACLE_COLUMNS
from spotdiff.benchmarks.egoexo_next.tables import table
from spotdiff.names import joined
from spotdiff.settings import Settings
from spotdiff.tasks import FROM_TEXTS, Benchmark, Setting, Table, Task

MATCHED_GROUPS = 200

_SETTINGS = (
    Setting("ego", "S1", "ego", 607, {"subtask": EGO}),
    # The paper counts both directions together; half of its 604 each is ours.
    *(
        Setting(f"match_{name}", "S2", f"match_{name}", 302, {"subtask": MATCH, "direction": name}, weight=0.5)
        for name in ("ego2exo", "exo2ego")
    ),
    Setting("exo", "S3", "exo", 665, {"subtask": EXO}),
    Setting("ego2exo", "S4", "ego2exo", 627, {"subtask": EGO2EXO}),
)

_MATCHED = tuple(
    replace(setting, config=config, questions=MATCHED_GROUPS, weight=1.0)
    for setting, config in zip(
        (setting for setting in _SETTINGS if setting.name != "match_exo2ego"),
        ("matched_ego", "matched_match", "matched_exo", "matched_ego2exo"),
        strict=True,
    )
)


def _asked_by(*subtasks: str, **options: Any) -> tuple[Setting, ...]:
    return tuple(
        replace(setting, options={**setting.options, **options})
        for setting in _SETTINGS
        if setting.options["subtask"] in subtasks
    )


def _helped_by(*oracles: str) -> tuple[Setting, ...]:
    return (replace(_MATCHED[-1], options={**_MATCHED[-1].options, "oracles": oracles}),)


_FAMILIES: Mapping[str, tuple[Setting, ...]] = {
    "": _SETTINGS,
    "candidate_only": _asked_by(EGO, MATCH, EXO, EGO2EXO, control="candidate_only"),
    "last_frame": _asked_by(EGO, EXO, EGO2EXO, control="last_frame"),
    "shuffled": _asked_by(EGO, EXO, EGO2EXO, control="shuffled"),
    "mismatched": _asked_by(MATCH, EGO2EXO, control="mismatched"),
    "matched": _MATCHED,
    "plus_exo": _helped_by("current_exo"),
    "plus_ego": _helped_by("next_ego"),
    "plus_both": _helped_by(*ORACLE_COLUMNS),
    "captioned": _asked_by(EGO, MATCH, EXO, EGO2EXO, **{FROM_TEXTS: True}),
}
"""Name -> its settings. A family of one setting is one task; of several, a group of as many tasks."""


def _tasks(data: str, family: str) -> tuple[Task, ...]:
    settings = _FAMILIES[family]
    mini = data.endswith("_mini")
    names = [joined(data, setting.name if len(settings) > 1 else "", family) for setting in settings]
    return tuple(
        Task(name, "egoexo_next", data, (setting,), expected=None if mini else setting.questions)
        for name, setting in zip(names, settings, strict=True)
    )


_DATA = ("egoexo_next", "egoexo_next_mini")
_TASKS = {(data, family): _tasks(data, family) for data in _DATA for family in _FAMILIES}


def _counts(configs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Sequence[Table]:
    from spotdiff.benchmarks.egoexo_next.release_counts import counts

    return [counts(configs)]


def _donors(rows: Iterable[Mapping[str, Any]], setting: Setting, settings: Settings) -> Mapping[str, str]:
    return donors(rows, settings.control_seed) if setting.options.get("control") == "mismatched" else {}


BENCHMARK = Benchmark(
    name="egoexo_next",
    title="EgoExo-Next",
    version=1,
    max_new_tokens=32,
    tasks=tuple(task for tasks in _TASKS.values() for task in tasks),
    groups={
        **{
            joined(data, family): tuple(task.name for task in tasks)
            for (data, family), tasks in _TASKS.items()
            if len(tasks) > 1
        },
        **{
            joined(data, MATCH): tuple(t.name for t in _TASKS[data, ""] if t.settings[0].options["subtask"] == MATCH)
            for data in _DATA
        },
    },
    question=question,
    problems=problems,
    table=table,
    image_columns=IMAGE_COLUMNS,
    needed_images=needed_images,
    pixel_warnings=pixel_warnings,
    donors=_donors,
    counts=_counts,
    balanced="scene",
    comparison=comparison,
    breakdowns=BREAKDOWNS,
    stages=tuple(stage_of(data, _SETTINGS) for data in _DATA),
    texts=texts,
    bases=dict.fromkeys(("plus_exo", "plus_ego", "plus_both"), "matched"),
)
