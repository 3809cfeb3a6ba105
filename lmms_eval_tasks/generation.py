"""`!function lmms_eval_tasks.generation.<benchmark>` in a YAML: greedy decoding, the benchmark's token limit."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> dict[str, Any]:
    from spotdiff.tasks import benchmarks

    if name not in benchmarks():
        raise AttributeError(f"there is no benchmark {name}")

    from lmms_eval_tasks.adapter import reported
    from spotdiff.settings import load_settings

    limit = reported(load_settings)().max_new_tokens or benchmarks()[name].max_new_tokens
    # The default `until` of lmms-eval is a blank line, which would cut any reply of more than one paragraph.
    return {"max_new_tokens": limit, "temperature": 0, "do_sample": False, "until": []}
