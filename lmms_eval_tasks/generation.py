"""`!function lmms_eval_tasks.generation.<benchmark or task>` in a YAML: greedy decoding, up to its token limit."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> dict[str, Any]:
    from spotdiff.tasks import benchmarks, tasks

    # A benchmark may share its name with one of its tasks, which then has the benchmark's limit.
    limits = {
        task.name: task.max_new_tokens or benchmarks()[task.benchmark].max_new_tokens for task in tasks().values()
    }
    limits |= {benchmark.name: benchmark.max_new_tokens for benchmark in benchmarks().values()}
    if name not in limits:
        raise AttributeError(f"there is no benchmark or task {name}")

    from lmms_eval_tasks.adapter import reported
    from spotdiff.settings import load_settings

    limit = reported(load_settings)().max_new_tokens or limits[name]
    # The default `until` of lmms-eval is a blank line, which would cut any reply of more than one paragraph.
    return {"max_new_tokens": limit, "temperature": 0, "do_sample": False, "until": []}
