"""`!function lmms_eval_tasks.generation.<benchmark or task>` in a YAML: greedy decoding, up to its token limit."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> dict[str, Any]:
    from spotdiff.tasks import benchmarks, tasks

    if name not in benchmarks() and name not in tasks():
        raise AttributeError(f"there is no benchmark or task {name}")
    # A task that shares its name with its benchmark has the benchmark's limit.
    task = None if name in benchmarks() else tasks()[name]
    benchmark = benchmarks()[name if task is None else task.benchmark]
    own = task.max_new_tokens if task is not None else None

    from lmms_eval_tasks.adapter import reported
    from spotdiff.settings import load_settings

    limit = reported(load_settings)().max_new_tokens or own or benchmark.max_new_tokens
    # The default `until` of lmms-eval is a blank line, which would cut any reply of more than one paragraph.
    return {"max_new_tokens": limit, "temperature": 0, "do_sample": False, "until": []}
