"""`!function lmms_eval_tasks.metadata.<benchmark>` in a YAML: what stands in the results beside the scores."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> dict[str, Any]:
    from spotdiff.tasks import benchmarks

    if name not in benchmarks():
        raise AttributeError(f"there is no benchmark {name}")

    from lmms_eval_tasks.adapter import reported
    from spotdiff import __version__
    from spotdiff.settings import load_settings

    return {
        "version": benchmarks()[name].version,
        "spotdiff": __version__,
        "settings": reported(load_settings)().changed(),
    }
