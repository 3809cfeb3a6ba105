"""What the command line of VLMEvalKit tells about a run; a data set is not told it in every mode."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEDIA_FREE_PREFIX = "spotdiff_baseline"
"""Models whose name begins so never look at an image."""


@dataclass(frozen=True)
class Invocation:
    """The part of VLMEvalKit's arguments that our data sets depend on.

    data: names of the data sets. models: the names that tell how a model writes boxes; empty where there is none, as in
    a notebook. config: the file of `--config`, which data and models were read from. scores_only: whether stored
    predictions are scored and no model is asked. served: whether a server is asked (`--base-url`), under any name.
    named: the models as they were given. api_mode, limited: whether `--api-mode` and `--limit` were given.
    """

    data: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    config: Path | None = None
    scores_only: bool = False
    served: bool = False
    named: tuple[str, ...] = ()
    api_mode: bool = False
    limited: bool = False

    @classmethod
    def of(cls, words: Sequence[str]) -> Invocation:
        """words: the command line without the program's name; what is not VLMEvalKit's is ignored."""
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
        parser.add_argument("--data", nargs="+", default=[])
        parser.add_argument("--model", nargs="+", default=[])
        parser.add_argument("--config", type=Path)
        parser.add_argument("--mode")
        parser.add_argument("--base-url")
        parser.add_argument("--api-mode", action="store_true")
        parser.add_argument("--limit")
        try:
            given, _ = parser.parse_known_args(words)
        except argparse.ArgumentError:
            return cls()
        data, models = (given.data, given.model) if given.config is None else _names_in(given.config)
        names = tuple(last_part(name) for name in models)
        return cls(
            data=tuple(data),
            models=names,
            config=given.config,
            scores_only=given.mode == "eval",
            served=given.base_url is not None,
            named=tuple(models),
            api_mode=given.api_mode,
            limited=given.limit is not None,
        )

    @property
    def asked(self) -> tuple[str, ...]:
        """The names as far as they tell how to ask: a server prepares images its own way, whatever its model's name."""
        return tuple(f"served {name}" for name in self.models) if self.served else self.models

    @property
    def needs_media(self) -> bool:
        """Whether a model will look at images."""
        return not self.scores_only and not is_media_free(self.models)


def is_media_free(models: Iterable[str]) -> bool:
    """Whether there are models, and none of them looks at an image."""
    models = tuple(models)
    return bool(models) and all(name.startswith(MEDIA_FREE_PREFIX) for name in models)


def _names_in(config: Path) -> tuple[list[str], list[str]]:
    """Data sets and models of a config file; none where VLMEvalKit will not be able to read it either.

    What an entry names tells more than its key, which is any word of the user's.
    """
    try:
        entries: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(config.read_text(encoding="utf-8"))
        data = [str(entry.get("dataset", key)) for key, entry in entries["data"].items()]
        models = [str(entry.get("model") or entry.get("model_path") or key) for key, entry in entries["model"].items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return [], []
    return data, models


def last_part(model: str) -> str:
    """`Qwen/Qwen2-VL-7B` and `/models/Qwen2-VL-7B/` -> `Qwen2-VL-7B`."""
    return model.rstrip("/").split("/")[-1]
