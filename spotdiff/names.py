"""Names of models, however they are spelt, and of tasks."""

from __future__ import annotations

import re


def normalised(model: str) -> str:
    """A model name in lower case with `_` for every run of other signs: `Qwen2.5-VL-7B` -> `qwen2_5_vl_7b`."""
    return re.sub(r"[^a-z0-9]+", "_", model.lower()).strip("_")


def joined(*words: str) -> str:
    """The name of a task from its words, empty ones left out."""
    return "_".join(filter(None, words))
