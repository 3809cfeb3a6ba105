"""`!function lmms_eval_tasks.documents.<task>` in a YAML: a function that puts the task's rows in.

lmms-eval passes the data set it loaded itself; ours come from `spotdiff.data`, wherever they lie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def __getattr__(name: str) -> Callable[[Any], Any]:
    from spotdiff.probes.stages import stages
    from spotdiff.tasks import tasks

    if name not in tasks() and name not in stages():
        raise AttributeError(f"there is no task {name}")

    from lmms_eval_tasks import adapter
    from lmms_eval_tasks import stages as texts

    load_documents = adapter.load_documents if name in tasks() else texts.load_documents

    @adapter.reported
    def documents(placeholder: Any) -> Any:
        return load_documents(name)

    return documents
