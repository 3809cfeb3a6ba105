"""Stages of a probe: tasks whose replies are texts that a later task reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from spotdiff.errors import SettingError
from spotdiff.probes.store import FAILED, TextKey, read_texts
from spotdiff.question import Part, Text
from spotdiff.tasks import Task, benchmarks

if TYPE_CHECKING:
    from spotdiff.evaluation import Evaluation


@dataclass(frozen=True)
class Wanted:
    """A text that is to be there. about: file or row that it is of, for people."""

    key: TextKey
    about: str


@dataclass(frozen=True)
class Item:
    """One text to be made. parts: what the model gets, in order. missing: texts it rests on that are not there."""

    wanted: Wanted
    parts: tuple[Part, ...]
    missing: int = 0

    @property
    def prompt(self) -> str:
        """All text of the prompt."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


@dataclass(frozen=True)
class Stage:
    """A task of lmms-eval that makes texts.

    name: in lmms-eval. task: one whose media are described; it says which data, and which of their settings. kind: of
    the texts, in the store. template: of its prompt. unit: what one text is of, in the plural. shows_media: whether the
    model sees any. items(stage, evaluation, label) gives all texts to be made, each once, in the order in which they
    are best asked; label is the model's that makes them.
    """

    name: str
    task: Task
    kind: str
    template: str
    max_new_tokens: int
    unit: str
    items: Callable[[Stage, Evaluation, str], Sequence[Item]]
    shows_media: bool = True

    @property
    def prompt_version(self) -> str:
        return text_digest(self.template)

    def evaluation(self) -> Evaluation:
        """What adapters need of its task, under the settings in force."""
        from spotdiff.evaluation import Evaluation

        return Evaluation.of(self.task)

    def missing(self, label: str) -> int:
        """How many of its texts are not there yet, of this model."""
        evaluation = self.evaluation()
        own = read_texts(evaluation.settings.probes, self.kind).by_model.get(label, {})
        asked = (own.get(item.wanted.key) for item in self.items(self, evaluation, label))
        return sum(text is None or text.outcome == FAILED for text in asked)


def text_digest(*texts: str) -> str:
    """16 hex digits that change with any of these texts."""
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(encoded)} ".encode() + encoded)
    return digest.hexdigest()[:16]


@cache
def stages() -> Mapping[str, Stage]:
    """All stages by name."""
    return {stage.name: stage for benchmark in benchmarks().values() for stage in benchmark.stages}


@cache
def stage_groups() -> Mapping[str, tuple[str, ...]]:
    """Group of lmms-eval -> stages that it joins."""
    return {name: names for benchmark in benchmarks().values() for name, names in benchmark.stage_groups.items()}


def stages_of(name: str) -> list[Stage]:
    """The stage of this name, or those of a group. Raises SettingError."""
    found = stage_groups().get(name, (name,))
    if any(one not in stages() for one in found):
        raise SettingError(f"There is no stage {name!r}. Known: {', '.join([*stages(), *stage_groups()])}")
    return [stages()[one] for one in found]
