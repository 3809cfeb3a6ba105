"""Keeps API keys out of what lmms-eval prints and writes.

Of its own accord lmms-eval masks the configuration in the results, under some names. It prints `--model_args` as they
were given, and keeps what a server said about a failed request as the reply.
"""

from __future__ import annotations

import builtins
import functools
import sys
from typing import Any

from spotdiff.secrets import mask, without_known_secrets, without_secrets

_MARK = "_holds_no_secret"


def keep_secrets(evaluation_tracker: Any) -> None:
    """Mask what lmms-eval logs, prints at its end and stores from now on. Further calls change nothing.

    evaluation_tracker: the module `lmms_eval.loggers.evaluation_tracker`.
    Raises AttributeError where this version of lmms-eval stores its results another way.
    """
    tracker = evaluation_tracker.EvaluationTracker
    if hasattr(tracker, _MARK):
        return
    _mask_stored(tracker)
    setattr(tracker, _MARK, True)
    _mask_log()
    _mask_printed()


def keep_secrets_of_cache(response_cache: Any) -> None:
    """Mask what `--use_cache` stores: the model's arguments, and failures that it takes for replies.

    response_cache: the module `lmms_eval.caching.response_cache`. Which replies are found again does not change.
    Raises AttributeError where this version of lmms-eval stores replies another way.
    """
    serialize, cache = response_cache._serialize_response, response_cache.ResponseCache
    if hasattr(serialize, _MARK):
        return
    open_handles = cache._open_local_handles

    def serialize_masked(response: Any) -> str:
        return without_known_secrets(serialize(response))

    def open_masked(self: Any) -> None:
        # Stored for the reader alone: keys are made from its hash, which exists by now.
        self.model_fingerprint = without_secrets(self.model_fingerprint)
        open_handles(self)

    setattr(serialize_masked, _MARK, True)
    response_cache._serialize_response = serialize_masked
    cache._open_local_handles = open_masked


def _mask_stored(tracker: Any) -> None:
    aggregated, samples_of = tracker.save_results_aggregated, tracker.save_results_samples

    @functools.wraps(aggregated)
    def save_results_aggregated(self: Any, results: dict[str, Any], *rest: Any, **named: Any) -> Any:
        results["config"] = mask(results.get("config") or {})
        return aggregated(self, results, *rest, **named)

    @functools.wraps(samples_of)
    def save_results_samples(self: Any, task_name: str, samples: list[dict[str, Any]]) -> Any:
        for sample in samples:
            sample.update({name: _reply(sample[name]) for name in ("resps", "filtered_resps") if name in sample})
        return samples_of(self, task_name, samples)

    tracker.save_results_aggregated = save_results_aggregated
    tracker.save_results_samples = save_results_samples


def _reply(value: Any) -> Any:
    if isinstance(value, str):
        return without_known_secrets(value)
    return type(value)(_reply(item) for item in value) if type(value) in (list, tuple) else value


def _mask_log() -> None:
    from loguru import logger

    before = getattr(getattr(logger, "_core", None), "patcher", None)

    def patch(record: Any) -> None:
        if before is not None:
            before(record)
        record["message"] = without_secrets(record["message"])

    logger.configure(patcher=patch)


def _mask_printed() -> None:
    """`lmms_eval.__main__` prints the arguments of the model; it is being imported, or run, as this is called."""

    @functools.wraps(builtins.print)
    def print_masked(*values: Any, **named: Any) -> None:
        builtins.print(*(without_secrets(value) if isinstance(value, str) else value for value in values), **named)

    for name in ("lmms_eval.__main__", "__main__"):
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        if module is not None and getattr(spec, "name", name) == "lmms_eval.__main__":
            vars(module)["print"] = print_masked
