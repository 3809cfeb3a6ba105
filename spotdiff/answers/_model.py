"""What the parser speaks of: outcomes, readings, and the options in a form that replies can be compared with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from spotdiff.answers._clean import boxes_of, plain

_OWN_LABEL = r"\s*\(?{letter}[.):]\s+"
_EDGES = " \t\n.,;:!?。，；：！？\"'()[]"


class Outcome(str, Enum):
    """What became of a reply. Only `parsed` can score."""

    parsed = "parsed"
    none = "none"
    ambiguous = "ambiguous"
    invalid = "invalid"
    refused = "refused"
    empty = "empty"
    truncated = "truncated"
    error = "error"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says.

    letters: the answer, in the order of the options, each once; empty unless the outcome is `parsed`.
    rule: the rule that decided; empty when none did.
    conflict: another option's box or text stands beside the letter that counts.
    """

    letters: tuple[str, ...]
    outcome: Outcome
    rule: str
    conflict: bool


def folded(text: str) -> str:
    """Text as it is compared: case, runs of white space and punctuation at both ends do not matter."""
    return " ".join(text.casefold().split()).strip(_EDGES)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a question, cleaned as replies are.

    texts: letter -> text, only for options that have one.
    by_text: folded text -> the letters that have it.
    boxes: letter -> the boxes in its text.
    """

    letters: tuple[str, ...]
    texts: Mapping[str, str]
    by_text: Mapping[str, tuple[str, ...]]
    boxes: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, options: Mapping[str, str | None]) -> Options:
        texts = {
            letter: _without_label(letter, plain(text)) for letter, text in options.items() if text and text.strip()
        }
        by_text: dict[str, tuple[str, ...]] = {}
        for letter, text in texts.items():
            by_text[folded(text)] = (*by_text.get(folded(text), ()), letter)
        by_text.pop("", None)
        return cls(
            tuple(options), texts, by_text, {letter: frozenset(boxes_of(text)) for letter, text in texts.items()}
        )

    @property
    def yes_or_no(self) -> bool:
        return len(self.letters) == 2 and set(self.by_text) == {"yes", "no"}

    def with_text(self, text: str) -> str | None:
        """The one option whose whole text this is."""
        letters = self.by_text.get(folded(text), ())
        return letters[0] if len(letters) == 1 else None

    def starts_with_own_text(self, letter: str, text: str) -> bool:
        """Whether `text` begins with all of that option's text."""
        own, said = folded(self.texts.get(letter, "")), folded(text[: 2 * len(self.texts.get(letter, "")) + 20])
        return bool(own) and said.startswith(own) and not said[len(own) : len(own) + 1].isalnum()

    def cut_short(self, letter: str, text: str) -> bool:
        """Whether `text` is that option's text, perhaps cut before its end."""
        own, said = folded(self.texts.get(letter, "")), folded(text)
        return bool(said) and own.startswith(said) and not own[len(said) : len(said) + 1].isalnum()

    def belongs_to_another(self, letter: str, text: str) -> bool:
        """Whether `text`, which stands beside `letter`, is another option's text or holds another option's boxes."""
        if self.starts_with_own_text(letter, text) or self.cut_short(letter, text):
            return False
        said = frozenset(boxes_of(text))
        if said:
            own = self.boxes.get(letter, frozenset())
            return not said <= own and any(said <= boxes for other, boxes in self.boxes.items() if other != letter)
        return any(self.starts_with_own_text(other, text) for other in self.texts if other != letter)


def _without_label(letter: str, text: str) -> str:
    return (
        re.sub(_OWN_LABEL.format(letter=re.escape(letter)), "", text, count=1)
        if text.lstrip(" (").startswith(letter)
        else text
    )
