"""Replies that begin with Yes or No, where these are the options."""

from __future__ import annotations

import re

from spotdiff.answers._clauses import head_of
from spotdiff.answers._items import ends_at
from spotdiff.answers._mentions import Mention
from spotdiff.answers._model import Options

_FIRST = re.compile(
    r"""(?P<word>yes|no)(?:\s?[.,;:!\n。\u2013\u2014-]
    |\s(?:they|these|those|both|the\s(?:two|images?|pictures?|objects?))\s(?:\w+\s){0,3}?
        (?:are|is|show|depict|display|look|differ|represent)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
# A word that is said by itself, not `no difference` or `no other`.
_ALONE = re.compile(r"(?<![\w'])(yes|no)(?=\W*$|\s?[.,;:!?)\n。])", re.IGNORECASE)
# The reply speaks to the person who asks, or of pictures that it lacks, and not to the question.
_BESIDE_THE_QUESTION = re.compile(
    r"""\b(?:can't|cannot|can\snot|unable\sto|not\sable\sto)\s(?:\w+\s)?(?:see|view|access|open|tell|say|answer|determine|judge
        |process)\b
    |\b(?:not\s(?:available|visible|attached|provided|included|accessible)|missing)\b
    |\bi\s(?:can|could)\s(?:\w+\s)?(?:see|help|assist)\b|\bi\sneed\s(?:the|to\ssee)\b
    |\bplease\s(?:\w+\s)?(?:upload|provide|share|attach|send|describe)\b
    |\blet\sme\s(?:look|see|check|compare|analy\w+|examine)\b|\bas\san\sai\b""",
    re.VERBOSE | re.IGNORECASE,
)


def first_word(text: str) -> re.Match[str] | None:
    """The Yes or No that a reply begins with, its group `word`; none where more words make it mean something else."""
    return _FIRST.match(text)


def speaks_of_something_else(text: str) -> bool:
    """Whether what follows the first word is a refusal, a request for pictures, or the announcement of an answer."""
    return bool(_BESIDE_THE_QUESTION.search(text))


def contradicts(text: str, position: int, letter: str, mentions: list[Mention], options: Options) -> bool:
    """Whether the other word, or another letter, is said from here on by itself."""
    return says_other_word(text, position, letter, options) or any(
        set(mention.group.letters) != {letter}
        for mention in mentions
        if mention.group.start >= position and not mention.negated and _is_said_alone(text, mention)
    )


def says_other_word(text: str, position: int, letter: str, options: Options) -> bool:
    """Whether the word that is not this letter's is said from here on by itself."""
    return any(options.with_text(word[1]) != letter for word in _ALONE.finditer(text, position))


def _is_said_alone(text: str, mention: Mention) -> bool:
    start, end = mention.group.start, mention.group.end
    return mention.letter_like or (not head_of(text, start).strip(" ,\"'(") and ends_at(text, end))
