"""Second thoughts: words behind an answer that take it back, and the letter that they put in its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spotdiff.answers._clauses import head_of, is_doubting, is_question, is_supposing
from spotdiff.answers._items import ends_at, group_at
from spotdiff.answers._mentions import Mention
from spotdiff.answers._model import Options, Outcome
from spotdiff.answers._yes_no import says_other_word

# `back` takes the answer away by itself, `softly` only with another letter behind it, `beside` puts one next to it.
_CUE = re.compile(
    r"""(?:[.!?…;:,\n(。\u2013\u2014-]|(?=[→]|->))\s*
    (?:(?:oh|hmm+|but|and|so|ah|well|yes|ok(?:ay)?|however)\b[\s,.…]*){0,3}
    (?:(?P<back>wait\b(?!\s(?:for|at|in)\b)|(?P<no>no\b(?=\s?[,.:;!\u2014…-]|\s(?:wait|actually|it's|it\sis)\b))
        |correct(?:ion|ed)\b|on\ssecond\sthoughts?\b|scratch\sthat\b|make\sthat\b|changed?\s(?:it\s|that\s)?to\b|hold\son\b
        |i\s(?:made\sa\smistake|was\swrong|need\sto\sreconsider|meant?)\b|my\smistake\b|revis(?:ed|ion)\b
        |let\sme\s(?:re-?|double[ -])?(?:check|verify|consider|examine|evaluate|think)\b
        |更正|不对|等等|等一下|我错了)
    |(?P<softly>(?:actually|sorry|edit|(?:on|up)on\s(?:closer|further|re-?)\s?\w+)\b|应该是)
    |(?P<beside>(?:alternatively|(?<!,)(?<!,\s)or|maybe|perhaps|possibly)\b|→|->))""",
    re.VERBOSE | re.IGNORECASE,
)
_LEADS_TO_LETTER = re.compile(
    r"[\s,:]*(?:\b(?:it(?:'s|\sis|\scould\sbe|\smight\sbe)|the|answer|is|even|also)\b[\s:]*){0,4}", re.IGNORECASE
)
_IS_THE_ONE = re.compile(r"[ ]?(?:is|was)\s(?:the\b|what\b|it\b|correct\b|right\b)", re.IGNORECASE)
_TO_BE_CHECKED = re.compile(r"\b(?:check|verify|consider|examine|look\w*|evaluate|compare)\b[^,;]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Retraction:
    """letters: what is put in the place of the answer. outcome: set when that is nothing, or not one thing."""

    letters: tuple[str, ...] = ()
    outcome: Outcome | None = None


_NOTHING = Retraction(outcome=Outcome.none)


def retraction(
    text: str, position: int, letters: tuple[str, ...], mentions: list[Mention], options: Options
) -> Retraction | None:
    """What the words from `position` on make of an answer, given by `letters`, before them; None when it stands."""
    for cue in _CUE.finditer(text, position):
        if cue["beside"]:
            if _names_another(text, cue.end(), letters, options):
                return Retraction(outcome=Outcome.ambiguous)
        elif options.yes_or_no and says_other_word(text, cue.start(), letters[0], options):
            return Retraction(outcome=Outcome.ambiguous)
        elif not (cue["no"] and options.yes_or_no):
            found = _put_in_its_place(text, cue.end(), letters, mentions)
            if cue["back"] or (found and found != _NOTHING):
                return found
    return None


def _names_another(text: str, position: int, letters: tuple[str, ...], options: Options) -> bool:
    """Whether a letter beyond the given ones stands here and is not the subject of more words."""
    lead = _LEADS_TO_LETTER.match(text, position)
    group = group_at(text, lead.end() if lead else position, options)
    return (
        group is not None
        and not set(group.letters) <= set(letters)
        and (ends_at(text, group.end) or group.items[-1].labelled)
    )


def _put_in_its_place(text: str, position: int, letters: tuple[str, ...], mentions: list[Mention]) -> Retraction | None:
    named = [mention for mention in mentions if mention.group.start >= position and _counts(text, mention)]
    sets = {frozenset(mention.group.letters) for mention in named}
    if not sets:
        return _NOTHING
    if sets == {frozenset(letters)}:
        return None
    last = named[-1]
    if len(sets) > 1 or last.group.weighed or not any(_stands_alone(text, mention) for mention in named):
        return Retraction(outcome=Outcome.ambiguous)
    return Retraction(last.group.letters)


def _counts(text: str, mention: Mention) -> bool:
    head = head_of(text, mention.group.start)
    if mention.negated or is_question(text, mention.group.end) or is_doubting(head) or is_supposing(head):
        return False
    if _TO_BE_CHECKED.search(head):
        return False
    return mention.letter_like or _stands_alone(text, mention)


def _stands_alone(text: str, mention: Mention) -> bool:
    end = mention.group.end
    return mention.affirmed or ends_at(text, end) or bool(_IS_THE_ONE.match(text, end))
