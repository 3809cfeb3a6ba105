"""`aggregation: !function lmms_eval_tasks.groups.<group>` in a YAML: the mean over the tasks of a group, by weight.

lmms-eval itself weighs tasks alike, or by their number of questions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def __getattr__(name: str) -> Callable[[Sequence[float], Sequence[int], bool], float]:
    from spotdiff.scoring import weighted_mean
    from spotdiff.tasks import benchmarks, tasks

    members = {group: tasks for benchmark in benchmarks().values() for group, tasks in benchmark.groups.items()}
    if name not in members:
        raise AttributeError(f"there is no group {name}")
    weights = [sum(setting.weight for setting in tasks()[member].settings) for member in members[name]]

    def weighted(means: Sequence[float], sizes: Sequence[int], weight_by_size: bool) -> float:
        if len(means) != len(weights):
            # Not every task has this metric, and which ones do is not told.
            return math.nan
        return weighted_mean(means, weights)

    return weighted
