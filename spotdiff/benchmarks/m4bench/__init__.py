"""M4Bench: two images compared at several grains, in eight settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spotdiff.benchmarks.m4bench.captions import stage_of, texts
from spotdiff.benchmarks.m4bench.policies import POLICIES
from spotdiff.benchmarks.m4bench.protocol import metrics, pixel_problems, problems, question
from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS
from spotdiff.benchmarks.m4bench.tables import BREAKDOWNS, SETTINGS, table
from spotdiff.names import joined
from spotdiff.tasks import FROM_TEXTS, Benchmark, Setting, Task

_PROMPTED = tuple(setting for setting in SETTINGS if setting.options.get("visual_prompt"))

_CAPTIONED = tuple(replace(setting, options={**setting.options, FROM_TEXTS: True}) for setting in SETTINGS)

_FAMILIES: Mapping[str, tuple[str, tuple[Setting, ...], Mapping[str, Any]]] = {
    "": ("m4bench", SETTINGS, {}),
    "concat": ("m4bench", SETTINGS, {"layout": "concat"}),
    "swap": ("m4bench", SETTINGS, {"swap": True}),
    "drawn": ("m4bench", _PROMPTED, {"visual_prompt": "drawn"}),
    "captioned": ("m4bench", _CAPTIONED, {}),
    "mini": ("m4bench_mini", SETTINGS, {}),
    "mini_captioned": ("m4bench_mini", _CAPTIONED, {}),
}
"""Name -> data set, settings, and what the tasks of this family fix."""


def _task(family: str, setting: Setting) -> Task:
    data, _, own = _FAMILIES[family]
    mini = data.endswith("_mini")
    words = [data, setting.name, family.removeprefix("mini").removeprefix("_")]
    expected = None if mini else setting.questions
    return Task(joined(*words), "m4bench", data, (setting,), own, expected)


_BY_FAMILY = {
    family: [_task(family, setting) for setting in settings] for family, (_, settings, _) in _FAMILIES.items()
}

BENCHMARK = Benchmark(
    name="m4bench",
    title="M4Bench",
    version=1,
    max_new_tokens=1024,
    tasks=tuple(task for tasks in _BY_FAMILY.values() for task in tasks),
    groups={joined("m4bench", family): tuple(task.name for task in tasks) for family, tasks in _BY_FAMILY.items()},
    image_columns=IMAGE_COLUMNS,
    question=question,
    problems=problems,
    pixel_problems=pixel_problems,
    metrics=metrics,
    table=table,
    policies=POLICIES,
    breakdowns=BREAKDOWNS,
    stages=tuple(stage_of(data, SETTINGS) for data in ("m4bench", "m4bench_mini")),
    texts=texts,
)
