"""The cards of the data sets: the page that stands as README.md in each canonical folder, and tells `datasets` and the
Hub its configs and the types of their columns.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Collection
from pathlib import Path

from spotdiff.errors import SettingError

CARD = "README.md"
FOLDER = "hf_cards"

_LISTS = ("configs", "dataset_info")
"""Fields of the header with an entry for each config."""


def card(name: str, configs: Collection[str] | None = None) -> str:
    """The card of a data set (`m4bench`).

    configs: those that the folder holds, by default all. Others are left out of the header, as `datasets` loads none of
    a folder whose card begins with a config that has no file.
    Raises SettingError on a data set without a card, ValueError on a config that its card does not name.
    """
    path = _folder() / name / CARD
    if not path.is_file():
        known = ", ".join(sorted(place.parent.name for place in _folder().glob(f"*/{CARD}")))
        raise SettingError(f"There is no card of a data set {name!r}. Known: {known}")
    text = path.read_text(encoding="utf-8")
    return text if configs is None else _narrowed(text, configs)


def _folder() -> Path:
    """In an installed package below it, in a clone beside it."""
    package = Path(str(importlib.resources.files("spotdiff")))
    installed = package / FOLDER
    return installed if installed.is_dir() else package.parent / FOLDER


def _narrowed(text: str, configs: Collection[str]) -> str:
    from huggingface_hub import DatasetCard

    found = DatasetCard(text)
    unknown = set(configs) - {entry["config_name"] for entry in found.data["configs"]}
    if unknown:
        raise ValueError(f"the card does not name {', '.join(sorted(unknown))}")
    for field in _LISTS:
        found.data[field] = [entry for entry in found.data[field] if entry["config_name"] in configs]
    return str(found)
