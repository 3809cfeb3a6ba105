"""A model of VLMEvalKit that gives a reply to every question of ours, and says why a reply is none.

VLMEvalKit itself lets one exception end a data set, or in API mode wait for ever, and tells in its log only why a
request failed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

from spotdiff import failures
from spotdiff.errors import SpotdiffError
from spotdiff.failures import VLMEVALKIT_MARK, class_of_status, mark_of
from spotdiff.secrets import without_secrets
from spotdiff.tasks import vlmeval_tasks

_LONGEST_REASON = 200

stopping = threading.Event()
"""Set once the user has interrupted the run: what waits in VLMEvalKit's queue is not asked any more."""

_BY_NAME = {
    "Timeout": failures.TIME_OUT,
    "TimeoutError": failures.TIME_OUT,
    "APITimeoutError": failures.TIME_OUT,
    "JSONDecodeError": failures.BAD_REPLY,
    "ConnectionError": failures.CONNECTION,
    "APIConnectionError": failures.CONNECTION,
}
"""Exceptions of the HTTP clients, which are not imported for their names alone; the first that fits counts."""

Reason = tuple[str, str]
"""Class of failure, and what is known beside it."""


class Interrupted(BaseException):
    """Ends a thread of VLMEvalKit, which takes any Exception for a request to be repeated."""


class _Attempts:
    """`generate_inner` of an API model, which keeps to itself why an attempt failed.

    reason: why the last attempt of this thread has no reply; meaningless where it has one.
    """

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask
        self._last = threading.local()

    @property
    def reason(self) -> Reason | None:
        return getattr(self._last, "reason", None)

    def forget(self) -> None:
        self._last.reason = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        _stop_if_interrupted()
        try:
            result = self._ask(*arguments, **named)
        except Exception as error:
            self._last.reason = _of_exception(error)
            raise
        self._last.reason = _of_result(result)
        return result


class Guarded:
    """Stands in for a model; everything but `generate` is the model's own."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._attempts: _Attempts | None = None
        if getattr(model, "is_api", False) and hasattr(model, "generate_inner"):
            ask = model.generate_inner
            # Several data sets of a run may share a model.
            self._attempts = model.generate_inner = ask if isinstance(ask, _Attempts) else _Attempts(ask)

    @property
    def bare(self) -> Any:
        """The model itself."""
        return self._model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(self, message: Any, dataset: str | None = None, **options: Any) -> Any:
        """The model's reply. To a question of ours: a failed reply, with its class, where the model gives none.

        Raises SpotdiffError where the model says that it cannot be asked this.
        """
        if dataset not in vlmeval_tasks():
            return self._model.generate(message=message, dataset=dataset, **options)
        _stop_if_interrupted()
        if self._attempts is not None:
            self._attempts.forget()
        try:
            reply = self._model.generate(message=message, dataset=dataset, **options)
        except SpotdiffError:
            raise
        except Exception as error:
            return failed_reply(failures.UNKNOWN, f"{type(error).__name__}: {error}")
        if reply is None:
            return failed_reply(*(self._reason or (failures.EMPTY, "the model gave no text")))
        kind = mark_of(reply) if isinstance(reply, str) else None
        return reply if kind is None else failed_reply(*(self._reason or (kind, reply)))

    @property
    def _reason(self) -> Reason | None:
        return self._attempts.reason if self._attempts is not None else None


class GuardedModels:
    """Name -> builder, as VLMEvalKit's table of models, of guarded models."""

    def __init__(self, models: Mapping[str, Callable[..., Any]]) -> None:
        self._models = models

    def __getitem__(self, name: str) -> Callable[..., Guarded]:
        build = self._models[name]
        return lambda **options: Guarded(build(**options))


def failed_reply(kind: str, reason: str) -> str:
    """What is stored in place of a reply; VLMEvalKit asks again for it, and `spotdiff.failures` finds the class."""
    words = without_secrets(" ".join(reason.replace(VLMEVALKIT_MARK, "").split())[:_LONGEST_REASON])
    return f"{VLMEVALKIT_MARK} [{kind}] {words}".rstrip()


def _stop_if_interrupted() -> None:
    if stopping.is_set():
        raise Interrupted


def _of_exception(error: Exception) -> Reason:
    said = f"{type(error).__name__}: {error}"
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return class_of_status(status), said
    names = {kind.__name__ for kind in type(error).__mro__}
    return next((kind for name, kind in _BY_NAME.items() if name in names), failures.UNKNOWN), said


def _of_result(result: Any) -> Reason | None:
    """Why an attempt (return code, answer, response or text of a log) has no reply; meaningless where it has one."""
    if not (isinstance(result, tuple) and len(result) == 3):
        return None
    code, _, log = result
    status = getattr(log, "status_code", code)
    if isinstance(status, int) and status >= 300:
        return class_of_status(status), f"HTTP {status} {getattr(log, 'text', log)}"
    body = getattr(log, "text", None)
    return _of_body(body) if isinstance(body, str) else None


def _of_body(body: str) -> Reason:
    """The body of a response whose status is a success."""
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        return failures.BAD_REPLY, body
    if content is None:
        return failures.REASONING_ONLY, "the content is null"
    return failures.EMPTY, "the content is empty"
