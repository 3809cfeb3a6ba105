"""Put the tasks of this package into lmms-eval's index; called once lmms-eval's modules are imported."""

import functools
from pathlib import Path
from typing import Any

FOLDER = str(Path(__file__).resolve().parent)
"""Every `*.yaml` file below it is a task or a group."""

_MARK = "_includes_spotdiff"


def add_tasks(tasks: Any) -> None:
    """Make every `TaskManager` of the module `lmms_eval.tasks` index our folder.

    The folder comes last, so that a task of the same name in the user's own `--include_path` wins. A manager that was
    asked for without the default tasks (`include_defaults=False`) stays without ours.

    Raises:
        AttributeError: this version of lmms-eval has no `TaskManager.initialize_tasks`.
    """
    original = tasks.TaskManager.initialize_tasks
    if hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def initialize_tasks(
        self: Any, include_path: str | list[str] | None = None, include_defaults: bool = True
    ) -> dict[str, Any]:
        paths = [include_path] if isinstance(include_path, str) else list(include_path or ())
        if include_defaults:
            paths.append(FOLDER)
        index: dict[str, Any] = original(self, include_path=paths, include_defaults=include_defaults)
        return index

    setattr(initialize_tasks, _MARK, True)
    tasks.TaskManager.initialize_tasks = initialize_tasks
    _refuse_misspelt_names(tasks)


def _refuse_misspelt_names(tasks: Any) -> None:
    """Answer a name that begins like one of ours, and is none, with the closest names.

    lmms-eval itself prints a traceback for a task that it does not know, and exits with 0.
    """
    original = tasks.TaskManager.match_tasks

    @functools.wraps(original)
    def match_tasks(self: Any, task_list: list[str]) -> Any:
        from lmms_eval_tasks.adapter import reported
        from spotdiff.tasks import benchmarks, task

        for name in task_list:
            begins_like_ours = any(name.startswith(f"{benchmark}_") for benchmark in benchmarks())
            if begins_like_ours and "*" not in name and name not in self.all_tasks:
                reported(task)(name)
        return original(self, task_list)

    tasks.TaskManager.match_tasks = match_tasks


def add_to_discovery(discovery: Any) -> None:
    """Make the list of tasks that the web interface offers (`lmms_eval.tui.discovery`) include ours.

    Raises:
        AttributeError: this version of lmms-eval has no `discover_tasks` there.
    """
    original = discovery.discover_tasks
    if hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def discover_tasks(include_path: str | None = None) -> list[tuple[str, str]]:
        found = dict(original(FOLDER))
        if include_path is not None:
            found.update(original(include_path))
        return sorted(found.items())

    setattr(discover_tasks, _MARK, True)
    discovery.discover_tasks = discover_tasks
