"""Which data sets and models exist, and what is wrong with the names that a user gave."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from _spotdiff_hook import is_off
from spotdiff.tasks import vlmeval_tasks
from vlmeval_ext.invocation import Invocation


def ours() -> tuple[str, ...]:
    """The names of spotdiff's data sets, known without importing VLMEvalKit; none while registration is turned off."""
    return () if is_off() else tuple(sorted(vlmeval_tasks()))


def of_framework(framework: ModuleType) -> tuple[str, ...]:
    """The names of all data sets of VLMEvalKit, ours included. framework: the module `vlmeval.run`."""
    from vlmeval.dataset import SUPPORTED_DATASETS

    return tuple(sorted({*SUPPORTED_DATASETS, *framework.supported_video_datasets}))


def early_faults(told: Invocation) -> list[str]:
    """What can be said before VLMEvalKit is imported, which takes many seconds.

    A data set whose name begins like one of ours can only be one of ours; any other name has to wait for `faults`.
    """
    if told.config is None and not (told.data and told.models):
        return ["--data and --model are needed (or --config); vlmeval list shows the data sets"]
    found = []
    if told.api_mode and told.limited:
        found.append("--api-mode of VLMEvalKit ignores --limit and would ask every question: leave one of them out")
    slashed = [name for name in told.named if "/" in name]
    if told.served and not told.api_mode and slashed:
        found.append(
            f"VLMEvalKit names files after the model and fails at the slash of {', '.join(slashed)}: have the server "
            "use another name (vllm serve ... --served-model-name NAME)"
        )
    known = ours()
    first_words = {_first_word(name) for name in known}
    return found + _unknown("data set", (name for name in told.data if _first_word(name) in first_words), known)


def faults(arguments: argparse.Namespace, framework: ModuleType) -> list[str]:
    """What is wrong with the names in the parsed arguments, one message for each.

    framework: the module `vlmeval.run`.
    """
    if arguments.config is not None:
        return _faults_of_config(framework.load(arguments.config), framework)
    found = _unknown("data set", arguments.data, of_framework(framework))
    if arguments.api_mode:
        names = [name.replace("/", "--") for name in arguments.model]
    else:
        # Stored predictions may be anyone's.
        names = arguments.model if arguments.mode != "eval" else []
    return found if arguments.base_url else found + _unknown("model", names, framework.supported_VLM)


def _faults_of_config(config: Any, framework: ModuleType) -> list[str]:
    """An entry without a class is a name that must be known; one of ours must be called what it holds."""
    models = [name for name, entry in config["model"].items() if "class" not in entry]
    data = [name for name, entry in config["data"].items() if not entry]
    # VLMEvalKit stores replies under the name of the data set, and looks for them under that of the entry.
    misnamed = [
        f"the entry {name!r} of --config must be called {entry['dataset']!r} like its data set"
        for name, entry in config["data"].items()
        if entry.get("dataset", name) != name and entry["dataset"] in ours()
    ]
    unknown_data = _unknown("data set", data, framework.supported_video_datasets)
    return misnamed + unknown_data + _unknown("model", models, framework.supported_VLM)


def _unknown(kind: str, given: Iterable[str], known: Iterable[str]) -> list[str]:
    known = set(known)
    spelled = {name.lower(): name for name in sorted(known)}
    found = []
    for name in given:
        if name in known or (kind == "data set" and _has_table(name)):
            continue
        close = get_close_matches(name, known, n=3)
        close = close or [spelled[match] for match in get_close_matches(name.lower(), spelled, n=3)]
        found.append(f"there is no {kind} {name!r}" + (f"; did you mean {' or '.join(close)}?" if close else ""))
    return found


def _first_word(name: str) -> str:
    return name.split("_")[0].lower()


def _has_table(name: str) -> bool:
    """Whether the user has a data set of his own: VLMEvalKit takes `<name>.tsv` in its data folder for one."""
    folder = os.environ.get("LMUData", "")  # noqa: SIM112, it is spelled so
    root = Path(folder) if folder and Path(folder).exists() else Path.home() / "LMUData"
    return (root / f"{name}.tsv").exists()
