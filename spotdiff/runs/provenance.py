"""What is needed to run a run again, from what the two frameworks leave beside its logs. Secrets are masked."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from spotdiff.secrets import mask, without_secrets

Facts = Mapping[str, Any]

_SEEDS = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")


def installed_version(distribution: str) -> str | None:
    """The version of an installed framework, None where it is not one (a checkout on the path)."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def lmms_results(log: Path) -> Facts:
    """The results of lmms-eval that belong to a sample log; empty where they are not there, or broken."""
    stamp, mark, _ = log.name.partition("_samples_")
    return _loaded(log.with_name(f"{stamp}_results.json")) if mark else {}


def of_lmms_eval(log: Path, tasks: Iterable[str]) -> Facts:
    """Facts of one run, read beside one of its sample logs.

    tasks: those that it answered. Of each: version, settings, digest and revision of its data, arguments of generation.
    """
    results = lmms_results(log)
    config = _mapping(results.get("config"))
    configs = _mapping(results.get("configs"))
    told = _mapping(config.get("resolved_cli_args"))
    return _plain(
        {
            "framework": "lmms-eval",
            "framework version": _framework(configs) or _known(results.get("lmms_eval_version")),
            "date": results.get("date"),
            "model": config.get("model"),
            "model arguments": _model_arguments(config.get("model_args")),
            "command": _lmms_command(config, told),
            "limit": config.get("limit"),
            "seeds": {name: config[name] for name in _SEEDS if name in config},
            "tasks": {name: _lmms_task(name, _mapping(configs.get(name)), results) for name in sorted(set(tasks))},
        }
    )


def _lmms_task(name: str, config: Facts, results: Facts) -> Facts:
    told = _mapping(config.get("metadata"))
    return {
        "version": told.get("version", _mapping(results.get("versions")).get(name)),
        "spotdiff": told.get("spotdiff"),
        "settings": _mapping(told.get("settings")) or None,
        "data digest": told.get("data"),
        "data revision": told.get("revision"),
        "generation": config.get("generation_kwargs"),
        "questions": _mapping(_mapping(results.get("n-samples")).get(name)).get("effective"),
    }


def _framework(configs: Facts) -> Any:
    """As our tasks note it, see `installed_version`."""
    told = (_mapping(_mapping(config).get("metadata")).get("framework") for config in configs.values())
    return next(filter(None, told), None)


def _known(version: Any) -> Any:
    """lmms-eval tells the branch and commit of its own checkout, and `unknown@unknown` where it was installed."""
    return None if isinstance(version, str) and version.startswith("unknown") else version


def _model_arguments(arguments: Any) -> Any:
    return without_secrets(arguments) if isinstance(arguments, str) else arguments


def _lmms_command(config: Facts, told: Facts) -> str | None:
    """The command line, as far as it decides what is asked: lmms-eval keeps its arguments, not the line itself."""
    if not config.get("model"):
        return None
    arguments = config.get("model_args")
    if isinstance(arguments, Mapping):
        arguments = ",".join(f"{name}={value}" for name, value in arguments.items())
    parts: list[tuple[str, Any]] = [
        ("--model", config["model"]),
        ("--model_args", arguments),
        ("--tasks", told.get("tasks")),
        ("--limit", config.get("limit")),
        ("--gen_kwargs", config.get("gen_kwargs")),
        ("--batch_size", config.get("batch_size")),
    ]
    words = ["lmms-eval", *(word for name, value in parts if value not in (None, "") for word in (name, str(value)))]
    return without_secrets(shlex.join(words))


def of_vlmevalkit(log: Path, data: str, tasks: Iterable[str]) -> Facts:
    """Facts of one data set of a run, from `status.json` and our table beside its log. data: name of the data set."""
    stem = log.name.removesuffix(".jsonl").removesuffix("_scored")
    status = _loaded(log.with_name("status.json"))
    entry = _mapping(_mapping(status.get("datasets")).get(data))
    told = _told(log.with_name(f"{stem}_table.md"))
    words = status.get("argv")
    command = shlex.join(["vlmeval", "run", *map(str, words[1:])]) if isinstance(words, Sequence) and words else None
    return _plain(
        {
            "framework": "VLMEvalKit",
            "framework version": told.get("framework", status.get("commit")) or None,
            "date": entry.get("updated_at", status.get("created_at")),
            "model": told.get("models", status.get("model_name")),
            "command": without_secrets(command) if command else None,
            "mode": status.get("mode"),
            "tasks": {
                name: {
                    "version": told.get("version"),
                    "spotdiff": told.get("spotdiff"),
                    "settings": _mapping(told.get("settings")) or None,
                    "data digest": told.get("data"),
                    "data revision": told.get("revision"),
                    "questions": _mapping(entry.get("metrics")).get("questions"),
                }
                for name in sorted(set(tasks))
            },
        }
    )


def _told(table: Path) -> Facts:
    """What stands as JSON in the last line of our table."""
    try:
        lines = table.read_text(encoding="utf-8").strip().split("\n")
        return _mapping(json.loads(lines[-1]))
    except (OSError, ValueError, RecursionError):
        return {}


def _loaded(file: Path) -> Facts:
    try:
        return _mapping(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Facts:
    return value if isinstance(value, Mapping) else {}


def _plain(facts: dict[str, Any]) -> Facts:
    """Masked, without what is not known."""
    return {name: value for name, value in mask(facts).items() if value not in (None, {}, [])}
