"""Declarations: words that put letters forward as the answer, or as the place of what was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spotdiff.answers._clauses import has_denial, head_of, is_denying, is_question, is_supposing, is_undercut
from spotdiff.answers._items import (
    Group,
    Item,
    ends_at,
    group_at,
    not_applicable_at,
    run_of_letters,
    without_next_subject,
)
from spotdiff.answers._mentions import Mention, denied_at
from spotdiff.answers._model import Options

_LINK = re.compile(
    r"(?P<link>:|=>?|->|→|\b(?:is|are|be)\b|\b(?:it|that)'s\b|(?<!因)[应應]?[为為]|(?<!还)[应應]?是|選)"
    r"|\b(?P<said>(?:go(?:ing)?|went)\s(?:with|for)|choose|select|pick|opt(?:ing)?\sfor|settle\s(?:on|for)|vote\sfor"
    r"|lean(?:ing)?\s(?:towards?|to)|(?<=\bi'd\s)say|(?<=\bi\swould\s)say)\b"
    r"|(?P<chosen>选择|故选|[应该因此所以]选|选(?![项择])|【答案】)"
    r"|(?P<named>\b(?:answers?|ans|choice)\b\s{0,2}[-\u2013.]?(?=[ \n]))"
    r"|(?P<hence>\b(?:hence|therefore|thus|so|ergo|consequently|finally)\b,?|因此|所以)"
    r"|(?P<best>\b(?:best|closely|correctly|accurately)\s(?:\w+\s)?(?:in\s\S{1,12}\s)?(?:by|in|with|to)\b)"
    r"|(?P<making>\b(?:making|makes)\b)",
    re.IGNORECASE,
)
# More than a reply of any sense has; the last ones decide.
_MOST_LINKS = 400
_FILLER = re.compile(
    r"""(?:[\s"'`>:=\u2013\u2014•-]|\b(?:the|most|likely|probably|possibly|perhaps|clearly|definitely|indeed|therefore|thus|simply
    |just|actually|certainly|both|either|between|following|correct|best|final|answer|letter|label?led|as|by|of|in|with|within
    |region|under|represented|captured|indicated|shown|given|described|defined|found|specified|corresponding|to|box|bounding
    |would|be|should|choose|select|pick|go)\b(?!['’])|选项){0,14}""",
    re.VERBOSE | re.IGNORECASE,
)
_NOT_BUT = re.compile(r"""\s?not\s(?:(?i:option)\s)?["'(]{0,2}[A-Z]\b["')]{0,2},?\sbut\s(?:rather\s)?""")
_ANSWER_ITSELF = re.compile(
    r"\b(?:(?:answers?|options?|choices?)\b(?!\s?\(?[A-Z]\b)|(?:selection|conclusion)\b)|答案|选项", re.IGNORECASE
)
_ANSWER_NOUN = re.compile(
    r"\b(?:(?:answers?|ans|options?|choices?|letters?)\b(?!\s?\(?[A-Z]\b)(?!\s(?:on|in)\s)"
    r"|(?:selections?|solution|picks?|guess|prediction|decision|verdict|conclusion|response|match(?:es)?|ones?|correct)\b)"
    r"|答案|选项|结论|正确",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r"\W*(?:\w+\s){0,5}?(?:answers?|ans|options?|choices?|selection|solution|pick|guess|prediction|decision|verdict|conclusion"
    r"|response|letters?|correct)(?:\s\w+){0,3}\W*$"
    r"|.*\b(?:correct|right|best|final)\s(?:answers?|options?|choices?)\b"
    r"|.*(?:答案|选项|结论|正确|选择)\W*$",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"(?:\b(?:is|are|be|becomes|remains|follows|in|to|by|of|as|with|conclude|following(?:\s\w+){1,2})|\b(?:is|are|be)(?:\s\w+){1,2})\W*$",
    re.IGNORECASE,
)
_SURVEYING = re.compile(
    r"\b(?:let's|let\sus|analy[sz]\w*|examin\w*|inspect\w*|consider|compar\w*|looking|review\w*|evaluat\w*|break\w*)\b[^,]*$",
    re.IGNORECASE,
)
_LISTING = re.compile(
    r"""\b(?:other|another|alternative|second|third|fourth|next|possible|provided|available|remaining|following|each|every|all|two
        |three|four|only\swrong|candidates?)\s(?:\w+\s){0,2}?(?:options?|choices?|answers?|candidates?|ones?)\b
    |\b(?:first|runner)\s(?:option|choice|candidate)\b|\b(?:options|choices|candidates)\W*(?:are\W*)?$""",
    re.VERBOSE | re.IGNORECASE,
)
_OTHER = re.compile(r"\b(?:other|another)\b", re.IGNORECASE)
_SEVERAL_OPTIONS = re.compile(r"\b(?:options|choices|candidates|possibilities)\b", re.IGNORECASE)
_QUALIFIED = re.compile(
    r"\b(?:correct|right|best|valid|true|accurate|appropriate|suitable|selected|chosen|final|my|that|which)\b",
    re.IGNORECASE,
)
_ONLY_A_LETTER = re.compile(r"\W*[A-Z]\W*")
_DENIAL = re.compile(
    r"""(?:\W{0,6}\b(?:therefore|that|likely|simply|clearly|the|it|is|would|be)\b){0,3}[\s"'(:-]{0,4}
    (?:none\b|neither\b|no\s(?:correct\s|valid\s|such\s)?(?:option|answer|choice)|nothing\b
    |not\s(?:listed|provided|given|explicitly|among|available|applicable|determin\w+)|n\s?[/.]\s?a\b|没有|无法|都不)""",
    re.VERBOSE | re.IGNORECASE,
)
_CONCLUDING = re.compile(
    r"\W{0,6}(?:so|thus|hence|therefore|overall|consequently|accordingly|finally"
    r"|in (?:conclusion|summary|short|this case)|to (?:conclude|sum up)|conclusion|given|based on|considering|among"
    r"|out of|after|upon|from (?:the|this|these|my)"
    r"|i (?:believe|think|infer|would))\b|\W{0,6}(?:因此|所以|综上)",
    re.IGNORECASE,
)
_AS_THE_ANSWER = re.compile(r"[ )]*(?:as )?the (?:correct|right|best)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Declaration:
    """Words that put letters forward.

    letters: empty when the words say that nothing is the answer.
    firm: they speak of the answer; else they say that something is found there.
    affirmed: the letters come first (`C is right`).
    end: where the letters end.
    beside: the text beside a lone letter.
    """

    position: int
    letters: tuple[str, ...]
    firm: bool
    weighed: bool = False
    beside: str = ""
    affirmed: bool = False
    end: int = 0


def declarations(text: str, options: Options, mentions: Sequence[Mention], *, several: bool) -> list[Declaration]:
    """All declarations of a reply, in order."""
    affirmed = [
        Declaration(
            mention.group.start,
            mention.group.letters,
            True,
            mention.group.weighed,
            affirmed=True,
            end=mention.group.end,
        )
        for mention in mentions
        if mention.affirmed
    ]
    return sorted([*_linked(text, options, several=several), *affirmed], key=lambda declaration: declaration.position)


def _linked(text: str, options: Options, *, several: bool) -> Iterator[Declaration]:
    """Letters or an option's text behind a word or sign that links them to what is said before."""
    for link in list(_LINK.finditer(text))[-_MOST_LINKS:]:
        begin = _own_text_in_filler(text, link.end(), _after_filler(text, link.end()), options)
        if link["link"] and (denied := _denial(text, link.end(), begin, head_of(text, link.start()), options)):
            yield denied
        block = "\n" in text[link.end() : begin]
        group = _object(text, begin, options, block=block, several=several)
        if group is None or denied_at(text, group.end) or is_question(text, group.end) or is_undercut(text, group.end):
            continue
        head = head_of(text, link.start())
        firm = None if is_denying(head) or is_supposing(head) else _is_firm(text, link, head, group)
        if firm or (firm is False and len(set(group.letters)) == 1):
            weighed = group.weighed or "between" in text[link.end() : begin]
            yield Declaration(group.start, group.letters, firm, weighed, text_beside(text, group), end=group.end)


def _after_filler(text: str, position: int) -> int:
    """Where the object begins, in `not A but C` at the C."""
    denied = _NOT_BUT.match(text, position)
    filler = _FILLER.match(text, denied.end() if denied else position)
    return filler.end() if filler else position


def _own_text_in_filler(text: str, start: int, end: int, options: Options) -> int:
    """Where an option's text begins among words that may be filler (`The barrel`), else the end of the filler."""
    for word in re.finditer(r"\b\w", text[start:end]):
        group = group_at(text, start + word.start(), options, texts=True)
        if group is not None and group.items[0].is_text:
            return start + word.start()
    return end


def lists_options(line: str) -> bool:
    """Whether words speak of the options as such, not of those that are right."""
    return bool(_SEVERAL_OPTIONS.search(line)) and not _QUALIFIED.search(line)


def is_survey(head: str) -> bool:
    """Whether a sentence goes through the options, or names one of them as no more than that."""
    return bool(_SURVEYING.search(head) or _LISTING.search(head))


def is_concluding(sentence: str) -> bool:
    """Whether a sentence draws a conclusion, and a positive one."""
    return bool(_CONCLUDING.match(sentence)) and not has_denial(sentence)


def text_beside(text: str, group: Group) -> str:
    """What stands on the line beside a lone letter."""
    return text[group.items[0].body :].split("\n", 1)[0][:600] if len(group.items) == 1 else ""


def _denial(text: str, after_link: int, begin: int, head: str, options: Options) -> Declaration | None:
    """`The answer is none of these`: unless that is an option's text."""
    if not _ANSWER_ITSELF.search(head) or is_supposing(head):
        return None
    for position in (after_link, begin):
        words = _DENIAL.match(text, position)
        if words and not _is_option_text(text, position, options):
            return Declaration(words.start(), (), firm=True)
    return None


def _is_option_text(text: str, position: int, options: Options) -> bool:
    start = position + len(text[position : position + 12]) - len(text[position : position + 12].lstrip(" \n\"':(-"))
    group = group_at(text, start, options, texts=True)
    return group is not None and group.items[0].is_text


def _object(text: str, begin: int, options: Options, *, block: bool, several: bool) -> Group | None:
    """The letters, or texts of options, that are put forward from here on."""
    if not_applicable_at(text, begin):
        return None
    if run := run_of_letters(text, begin, options):
        end = begin + len(run)
        return Group(tuple(Item(letter, True, begin, end, end, False) for letter in run), weighed=False)
    group = group_at(text, begin, options, texts=True, lines=block or several, loose_lines=block)
    return group and without_next_subject(text, group)


def _is_firm(text: str, link: re.Match[str], head: str, group: Group) -> bool | None:
    """Whether the words speak of the answer (True), of some other thing (False), or put nothing forward (None)."""
    first = group.items[0]
    complete = ends_at(text, group.end) or first.end > first.body
    if link["said"] or link["chosen"]:
        return True if complete or link["said"] != "say" else None
    if link["link"] in ("->", "→") and _ONLY_A_LETTER.fullmatch(head):
        return None
    if link["named"]:
        return True if complete or "\n" in text[link.end() : group.start] or text[group.start] == "(" else None
    if link["hence"]:
        return True if complete and not first.is_text else None
    if link["best"]:
        return False if first.strong else None
    if link["making"]:
        return True if _AS_THE_ANSWER.match(text, group.end) else None
    if _LISTING.search(head) and (_OTHER.search(head) or not _QUALIFIED.search(head)):
        return None
    if link["link"] == ":" and not _is_announcement(head):
        return None
    if _ANSWER_NOUN.search(head):
        return True
    return None if first.is_text else bool(_CONCLUDING.match(head)) and len(set(group.letters)) == 1


def _is_announcement(head: str) -> bool:
    """Whether what stands before a colon is a title (`Final answer`) or leads to one thing (`The region is`)."""
    if lists_options(head) or _SURVEYING.search(head):
        return False
    return bool(_ANNOUNCED.search(head) or _TITLE.match(head))
