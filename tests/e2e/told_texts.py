"""Texts in the store of probes as a stage would have made them, without a model."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from spotdiff.probes.stages import Item, stages
from spotdiff.probes.store import StoredText, Writer
from spotdiff.settings import load_settings

LABEL = "captioner-000001"


def items(name: str, label: str = LABEL) -> Sequence[Item]:
    """All that a stage asks, under the settings in force."""
    stage = stages()[name]
    return stage.items(stage, stage.evaluation(), label)


def media_digest(item: Item) -> str:
    return f"<{item.wanted.key.media}>"


def tell(
    name: str,
    words_of: Callable[[Item], str] = media_digest,
    label: str = LABEL,
    leave_out: Container[int] = (),
    **more: Any,
) -> None:
    """Store a text for all that a stage asks. leave_out: numbers of those that are not stored. more: of StoredText."""
    writer = Writer(load_settings().probes, stages()[name].kind, label, {})
    for number, item in enumerate(items(name, label)):
        if number not in leave_out:
            told = {"missing": item.missing, "about": item.wanted.about, "data": "d", **more}
            writer.add(StoredText(item.wanted.key, label, words_of(item), **told))
