"""`!function lmms_eval_tasks.metadata.<task>` in a YAML: what stands in the results beside the scores.

lmms-eval takes it into the key of its reply cache, so replies to other data or under other settings are not used again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any


def __getattr__(name: str) -> dict[str, Any]:
    from spotdiff.probes.stages import stages
    from spotdiff.tasks import tasks

    if name not in tasks() and name not in stages():
        raise AttributeError(f"there is no task {name}")

    from lmms_eval_tasks.adapter import reported
    from spotdiff import __version__
    from spotdiff.errors import DataError
    from spotdiff.evaluation import Evaluation
    from spotdiff.runs.provenance import installed_version

    evaluation = reported(Evaluation.of)(stages()[name].task if name in stages() else tasks()[name])
    data = revision = None
    # The documents come next, and say what is missing.
    with suppress(DataError):
        data, revision = evaluation.data_digest(), evaluation.data_revision()
    return {
        "version": evaluation.benchmark.version,
        "spotdiff": __version__,
        "framework": installed_version("lmms-eval"),
        "settings": evaluation.settings.changed(),
        "data": data,
        "revision": revision,
    }
