"""MVVBench: synchronised cameras of one scene, questions that no single view answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spotdiff.benchmarks.mvvbench.protocol import CHAINS, DIRECT, VARIANTS, problems, question
from spotdiff.benchmarks.mvvbench.schema import CONFIG
from spotdiff.benchmarks.mvvbench.tables import BREAKDOWNS, table
from spotdiff.tasks import Benchmark, Setting, Table, Task

QUESTIONS = 1323
CHAIN_TOKENS = 1024


def _task(data: str, variant: str) -> Task:
    mini = data.endswith("_mini")
    name = "_".join([data] if variant == DIRECT else [data, variant])
    setting = Setting(CONFIG, "all", CONFIG, QUESTIONS, {"variant": variant})
    limit = CHAIN_TOKENS if variant in CHAINS else None
    return Task(name, "mvvbench", data, (setting,), {}, None if mini else QUESTIONS, limit)


def _counts(configs: Mapping[str, Sequence[Mapping[str, Any]]]) -> Sequence[Table]:
    from spotdiff.benchmarks.mvvbench.release_counts import counts

    return [counts(configs[CONFIG])]


BENCHMARK = Benchmark(
    name="mvvbench",
    title="MVVBench",
    version=1,
    max_new_tokens=64,
    tasks=tuple(_task(data, variant) for data in ("mvvbench", "mvvbench_mini") for variant in VARIANTS),
    groups={},
    question=question,
    problems=problems,
    table=table,
    video_columns=("view_videos",),
    pooled=True,
    breakdowns=BREAKDOWNS,
    counts=_counts,
)
