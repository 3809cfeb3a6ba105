"""Behind a journal, tasks are asked in the name of the model that is asked.

lmms-eval looks up prompts of a task, and we defaults of settings, by the `--model` word.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

WORD = "spotdiff_journal"

_MARK = "_looks_behind_spotdiff_journal"
_behind = {WORD: WORD}


def load_tasks_for(model: str) -> None:
    """Let the tasks that are loaded from now on take `model` for the `--model` word, where that is ours.

    To be called when a model is created: lmms-eval loads the tasks after that, with a manager that it made before.
    """
    from lmms_eval.tasks import TaskManager

    _behind[WORD] = model
    for name in ("load_task_or_group", "load_config"):
        original = getattr(TaskManager, name)
        if not hasattr(original, _MARK):
            setattr(TaskManager, name, _looking_behind(original))


def _looking_behind(load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def loaded(manager: Any, *args: Any, **kwargs: Any) -> Any:
        word = manager.model_name
        if word != WORD:
            return load(manager, *args, **kwargs)
        manager.model_name = _behind[WORD]
        try:
            return load(manager, *args, **kwargs)
        finally:
            manager.model_name = word

    setattr(loaded, _MARK, True)
    return loaded
