"""Whether spotdiff's tasks, data sets and models are in both frameworks, as a run would find them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from typing import Any

from _spotdiff_hook import OFF_SWITCH, is_off
from spotdiff.doctor.findings import Finding, Mark
from spotdiff.doctor.processes import Unanswered, ask_python
from spotdiff.doctor.versions import EXTRAS, version
from spotdiff.reporting import listed
from spotdiff.tasks import benchmarks, tasks, vlmeval_tasks

_REINSTALL = "pip install --force-reinstall --no-deps spotdiff"

_LMMS_EVAL = """
from lmms_eval.models import list_available_models
from lmms_eval.tasks import TaskManager
answer({"tasks": list(TaskManager().all_tasks), "models": list(list_available_models())})
"""
_VLMEVALKIT = """
import vlmeval.config, vlmeval.dataset
answer({"tasks": list(vlmeval.dataset.SUPPORTED_DATASETS), "models": list(vlmeval.config.supported_VLM)})
"""


def check_lmms_eval() -> Iterator[Finding]:
    groups = [group for benchmark in benchmarks().values() for group in benchmark.groups]
    models = [f"spotdiff_{name}" for name in ("baseline", "replay", "similarity")]
    yield from _check("lmms-eval", "lmms_eval.tasks", _LMMS_EVAL, {*tasks(), *groups}, models)


def check_vlmevalkit() -> Iterator[Finding]:
    yield from _check("ms-vlmeval", "vlmeval.dataset", _VLMEVALKIT, vlmeval_tasks(), ["spotdiff_baseline"])


def _check(package: str, module: str, code: str, wanted: Collection[str], models: Collection[str]) -> Iterator[Finding]:
    if version(package) is None:
        yield Finding(Mark.note, "is not installed", f"pip install 'spotdiff[{EXTRAS[package]}]'")
        return
    hook = _hook()
    yield hook
    try:
        found = ask_python(code)
    except Unanswered as failure:
        yield _unanswered(failure, package, module)
        return
    if hook.mark is Mark.ok:
        yield _registered("tasks", wanted, found)
        yield _registered("models", models, found)


def _hook() -> Finding:
    """Whether this process, like any of the environment, watches for the frameworks."""
    if is_off():
        return Finding(
            Mark.warning, f"{OFF_SWITCH} is set: spotdiff keeps out of this framework", f"unset {OFF_SWITCH}"
        )
    if any(type(finder).__module__ == "_spotdiff_hook" for finder in sys.meta_path):
        return Finding(Mark.ok, "the hook that adds tasks is in place")
    return Finding(
        Mark.fault,
        "the hook that adds tasks is not armed: Python has not read _spotdiff_hook.pth in site-packages",
        f"{_REINSTALL}, and start Python without -S",
    )


def _unanswered(failure: Unanswered, package: str, module: str) -> Finding:
    if failure.in_time:
        remedy = f"pip install --upgrade 'spotdiff[{EXTRAS[package]}]', see also the findings on versions"
        return Finding(Mark.fault, f"{module} cannot be imported: {failure}", remedy)
    again = f'see how long it takes: time python -c "import {module}"'
    return Finding(Mark.warning, f"{module}: {failure}; the machine is busy, or the import hangs", again)


def _registered(what: str, wanted: Collection[str], found: dict[str, Any]) -> Finding:
    missing = sorted(set(wanted) - set(found[what]))
    if missing:
        text = f"{len(missing)} of our {len(wanted)} {what} are not there: {listed(missing)}"
        return Finding(Mark.fault, text, _REINSTALL)
    return Finding(Mark.ok, f"all {len(wanted)} {what} of spotdiff are there")
