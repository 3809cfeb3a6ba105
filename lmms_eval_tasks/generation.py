"""`!function lmms_eval_tasks.generation.<benchmark, task or stage>` in a YAML: greedy decoding, up to a token limit."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> dict[str, Any]:
    own = _own_limit(name)

    from lmms_eval_tasks.adapter import reported
    from spotdiff.settings import load_settings

    limit = reported(load_settings)().max_new_tokens or own
    # The default `until` of lmms-eval is a blank line, which would cut any reply of more than one paragraph.
    return {"max_new_tokens": limit, "temperature": 0, "do_sample": False, "until": []}


def _own_limit(name: str) -> int:
    from spotdiff.probes.stages import stages
    from spotdiff.tasks import benchmarks, tasks

    # A task that shares its name with its benchmark has the benchmark's limit.
    if name in benchmarks():
        return benchmarks()[name].max_new_tokens
    if name in stages():
        return stages()[name].max_new_tokens
    if name not in tasks():
        raise AttributeError(f"there is no benchmark, task or stage {name}")
    task = tasks()[name]
    return task.max_new_tokens or benchmarks()[task.benchmark].max_new_tokens
