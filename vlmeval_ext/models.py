"""Models for VLMEvalKit that need no weights: image-blind policies, see `spotdiff.baselines`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from spotdiff.baselines import answer_with, policy_names
from spotdiff.errors import SpotdiffError
from spotdiff.tasks import benchmarks, vlmeval_tasks
from vlmeval_ext.prompt import Prompt


class Baseline:
    """Answers a question by a policy. Has the methods that VLMEvalKit calls on a local model."""

    is_api = False

    def __init__(self, policy: str = "random", seed: int = 0) -> None:
        self._policy = policy
        self._seed = seed

    def set_dump_image(self, dump_image: Callable[[Any], list[str]]) -> None:
        """Nothing to do: no image is looked at."""

    def generate(self, message: Sequence[dict[str, Any]], dataset: str | None = None) -> str:
        """The reply. Raises SpotdiffError for a question that is not ours, or that the policy does not fit."""
        prompt = next((part["value"] for part in message if isinstance(part["value"], Prompt)), None)
        if prompt is None or dataset is None:
            raise SpotdiffError(f"spotdiff_baseline answers the data sets of spotdiff only, not {dataset}")
        return answer_with(self._policy, vlmeval_tasks()[dataset].benchmark, self._seed)(prompt.question)


def baselines() -> dict[str, Callable[[], Baseline]]:
    """Name -> model: `spotdiff_baseline` draws at random, `spotdiff_baseline_<policy>` follows that policy."""
    policies = dict.fromkeys(policy for name in benchmarks() for policy in policy_names(name))
    named: dict[str, Callable[[], Baseline]] = {
        f"spotdiff_baseline_{policy}": partial(Baseline, policy=policy) for policy in policies
    }
    return {"spotdiff_baseline": Baseline, **named}
