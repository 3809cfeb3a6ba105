"""Register spotdiff's tasks and data sets with lmms-eval and VLMEvalKit as soon as either is imported.

Neither framework looks for tasks in installed packages. `_spotdiff_hook.pth` in site-packages calls `arm` when an
interpreter starts; from then on the import of one of the modules in `_HOOKS` is followed by the registration that
belongs to it, whatever imported it. `SPOTDIFF_NO_REGISTER=1` turns this off.

Every Python process of the environment runs this file, so it imports only what is loaded by then anyway.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

OFF_SWITCH = "SPOTDIFF_NO_REGISTER"

_HOOKS = {
    "lmms_eval.caching.response_cache": ("lmms_eval_tasks.secrets", "keep_secrets_of_cache"),
    "lmms_eval.loggers.evaluation_tracker": ("lmms_eval_tasks.secrets", "keep_secrets"),
    "lmms_eval.tasks": ("lmms_eval_tasks.registration", "add_tasks"),
    "lmms_eval.tui.discovery": ("lmms_eval_tasks.registration", "add_to_discovery"),
    "vlmeval.config": ("vlmeval_ext.registration", "add_models"),
    "vlmeval.dataset": ("vlmeval_ext.registration", "add_data_sets"),
    "vlmeval.inference": ("vlmeval_ext.registration", "guard_inference"),
    "vlmeval.inference_api": ("vlmeval_ext.registration", "guard_api_inference"),
    "vlmeval.smp.status_report": ("vlmeval_ext.secrets", "keep_secrets"),
}
"""Module of a framework -> module and function of ours, which is called with the framework's module."""


def is_off() -> bool:
    """Whether the environment asks for no registration."""
    return os.environ.get(OFF_SWITCH, "") not in ("", "0")


def arm() -> None:
    """Watch for the frameworks from now on. Calls after the first one do nothing."""
    if is_off() or any(type(finder) is _Finder for finder in sys.meta_path):
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    for name in _HOOKS:
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            finder.register(module)


class _Finder:
    """Finds nothing itself: it has the other finders search and lets a registration follow the import.

    Once its work is done it stays on `sys.meta_path` and answers None: to remove it could make an import in another
    thread, which is going through that list, skip a finder.
    """

    def __init__(self) -> None:
        self._pending = dict(_HOOKS)
        self._searching: set[str] = set()

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        # A finder that is asked below may itself ask all finders.
        if name not in self._pending or name in self._searching:
            return None
        self._searching.add(name)
        try:
            spec = self._ask_others(name, path, target)
        finally:
            self._searching.discard(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, self)  # type: ignore[assignment, arg-type]
        return spec

    def _ask_others(self, name: str, path: "Sequence[str] | None", target: "ModuleType | None") -> "ModuleSpec | None":
        for finder in list(sys.meta_path):
            find_spec = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find_spec(name, path, target) if find_spec else None
            if spec is not None:
                return spec
        return None

    def register(self, module: "ModuleType") -> None:
        """Run the registration that belongs to a module of a framework; a failure is only reported.

        The report goes to standard error: lmms-eval silences Python's warnings.
        """
        ours = self._pending.pop(module.__name__, None)
        if ours is None:
            return
        try:
            from importlib import import_module

            getattr(import_module(ours[0]), ours[1])(module)
        except Exception as error:
            if sys.stderr is not None:
                print(
                    f"Warning: spotdiff could not register with {module.__name__}, and what it adds there is missing: "
                    f"{type(error).__name__}: {error}",
                    file=sys.stderr,
                )


class _Loader:
    """Stands in for a module's own loader until the module is executed."""

    def __init__(self, loader: "Loader", finder: _Finder) -> None:
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def exec_module(self, module: "ModuleType") -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._finder.register(module)
