"""The rules of evidence, one function each, in the order in which they are asked.

A rule returns None when it finds nothing, else a `Found`, which ends the search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from spotdiff.answers._items import (
    Group,
    Item,
    ends_at,
    group_at,
    is_text_of,
    letter_at,
    not_applicable_at,
    run_of_letters,
    without_next_subject,
)
from spotdiff.answers._mentions import Mention, denied_at, is_question, mentions, starts_line
from spotdiff.answers._model import Options, Outcome

_PUNCTUATION = re.compile(r"""[\s.,;:!?。，；：！？、"'()\[\]{}<>【】「」《》|~_/\\-]*""")
_FAILURE = re.compile(
    r"""["'\s]{0,4}(?:Failed to obtain answer via API|Failed to retrieve [^\n]{0,80}? ?response after maximum retries|failed["'.!\s]{0,4}$)""",
    re.IGNORECASE,
)
_FAILURE_MARK = re.compile(r"\[LMMS_EVAL_(?:REQUEST_FAILED|BUDGET_EXCEEDED)")
_REFUSAL = re.compile(
    r"""^\W{0,4}(?:i\s?'?a?m\s(?:really\s|very\s|so\s)?sorry|sorry\b|(?:i\s)?apologi[sz]e|my\sapologies|抱歉|对不起|很抱歉|我无法|无法)
    |\b(?:i|we)\s(?:can't|cannot|can\snot|am\snot\sable\sto|am\sunable\sto|won't|will\snot\sbe\sable\sto)\s
        (?:\w+\s){0,2}?(?:help|assist|answer|comply|provide|fulfil|identify|process|view|see\sthe\s(?:image|video|picture)|see\sany\s(?:image|video|picture)|access|analy[sz]e|determine)
    |\bi'm\s(?:unable|not\sable)\sto\s|\bas\san\sai\b|^\W{0,4}unable\sto\s""",
    re.VERBOSE | re.IGNORECASE,
)
_OPTION_LINE = re.compile(r"[ \t]*(?:[-•>+]\s{0,3}|\d{1,2}[.)]\s{1,3})?(?=[\w(\[\"'【])")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？\n])")
_HEAD_START = re.compile(r".*(?:[.!?:](?=\s)|[;\n。！？；])", re.DOTALL)
_CLAUSE_START = re.compile(
    r".*(?:,|\b(?:so|but|hence|thus|therefore|because|while|whereas)\b)", re.DOTALL | re.IGNORECASE
)
_DISBELIEF = re.compile(
    r"(?:n't|\bnot|\bnever|\bcannot|\bhardly|\bdoubt)\s(?:\w+\s)?(?:think|believe|say|agree|conclude|mean|sure|certain|that)\b",
    re.IGNORECASE,
)

_LINK = re.compile(
    r"(?P<link>:|=>?|->|→|\b(?:is|are|be)\b|是|为|選)"
    r"|\b(?P<said>(?:go(?:ing)?|went)\s(?:with|for)|choose|select|pick|opt(?:ing)?\sfor|settle\s(?:on|for)|vote\sfor|lean(?:ing)?\s(?:towards?|to))\b"
    r"|(?P<chosen>选择|故选|应选|应该选|因此选|所以选|选(?![项择]))"
    r"|(?P<named>\b(?:answers?|ans|choice)\b\s{0,2}[-\u2013.]?(?=[ \n]))"
    r"|(?P<hence>\b(?:hence|therefore|thus|so|ergo|consequently|finally)\b,?|因此|所以)"
    r"|(?P<best>\b(?:best|closely|correctly|accurately|making|makes)\s(?:\w+\s)?(?:by|in|with|to)\b)"
    r"|(?P<making>\b(?:making|makes)\b)",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"""(?:[\s"'`>:=\u2013\u2014•-]|\b(?:the|most|likely|probably|possibly|perhaps|clearly|definitely|indeed|therefore|thus|simply|just|actually|certainly|both|either
    |between|following|correct|right|best|final|answer|label?led|as|by|of|in|with|within|region|under|represented|captured|indicated|shown|given|described|defined
    |found|specified|corresponding|to|box|bounding|would|be|should|choose|select|pick|go)\b(?!['’])|选项){0,14}""",
    re.VERBOSE | re.IGNORECASE,
)
_ANSWER_NOUN = re.compile(
    r"\b(?:(?:answers?|ans|options?|choices?|letters?)\b(?!\s?\(?[A-Z]\b)|(?:selections?|solution|picks?|guess|prediction|decision|verdict|conclusion|response|match(?:es)?|ones?|correct)\b)|答案|选项|结论|正确",
    re.IGNORECASE,
)
_LISTING = re.compile(
    r"""\b(?:other|another|alternative|second|third|fourth|next|possible|provided|available|remaining|following|each|every|all|two|three|four|only\swrong|candidates?)\s(?:\w+\s){0,2}?
        (?:options?|choices?|answers?|candidates?|ones?)\b
    |\b(?:first|runner)\s(?:option|choice|candidate)\b|\b(?:options|choices|candidates)\W*(?:are\W*)?$""",
    re.VERBOSE | re.IGNORECASE,
)
_ANSWER_ITSELF = re.compile(
    r"\b(?:(?:answers?|options?|choices?)\b(?!\s?\(?[A-Z]\b)|(?:selection|conclusion)\b)|答案|选项", re.IGNORECASE
)
_TITLE = re.compile(
    r"\W*(?:\w+\s){0,5}?(?:answers?|ans|options?|choices?|selection|solution|pick|guess|prediction|decision|verdict|conclusion|response|letters?|correct)(?:\s\w+){0,3}\W*$"
    r"|.*\b(?:correct|right|best|final)\s(?:answers?|options?|choices?)\b",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"(?:\b(?:is|are|be|becomes|follows|in|to|by|of|as|with|conclude|following(?:\s\w+){1,2})|\b(?:is|are|be)(?:\s\w+){1,2})\W*$",
    re.IGNORECASE,
)
_SURVEYING = re.compile(
    r"\b(?:let's|let\sus|analy[sz]\w*|examin\w*|inspect\w*|consider\s|compar\w*|looking|review\w*|evaluat\w*|break\w*)\b[^,]*$",
    re.IGNORECASE,
)
_QUALIFIED = re.compile(
    r"\b(?:correct|right|best|valid|true|accurate|appropriate|suitable|selected|chosen|final|my|that|which)\b",
    re.IGNORECASE,
)
_DENYING = re.compile(
    r"""\b(?:not|never|no|neither|nor|none|cannot|wrong|incorrect|worst|false|least|unlikely|rather|except|instead|eliminat\w*|exclud\w*|rul(?:e|ed|ing)\sout|reject\w*|discard\w*)\b
    |n't\b|不|非|错|排除""",
    re.VERBOSE | re.IGNORECASE,
)
_SUPPOSING = re.compile(r"\b(?:if|whether|unless|suppose|supposing|assuming|assume)\b[^,]*$|如果|假如", re.IGNORECASE)
_DENIAL = re.compile(
    r"""(?:\W{0,6}\b(?:therefore|that|likely|simply|clearly|the|it|is|would|be)\b){0,3}[\s"'(:-]{0,4}
    (?:none\b|neither\b|no\s(?:correct\s|valid\s|such\s)?(?:option|answer|choice)|nothing\b|not\s(?:listed|provided|given|explicitly|among|available|applicable|determin\w+)|n\s?[/.]\s?a\b|没有|无法|都不)""",
    re.VERBOSE | re.IGNORECASE,
)
_NOTHING_FITS = re.compile(
    r"""\bnone\s(?:of\s(?:the|these|those|them|any|option)|\w+\s(?:seem|match|fit))|\bno\s(?:\w+\s){0,3}?(?:options?|choices?|pairs?)\b|\bneither\s(?:option|of)|\bno\b[^.\n]{0,60}\bany\sof\sthe\b
    |\b(?:not|n't|impossible|cannot|difficult|challenging)\s(?:\w+\s){0,3}?(?:determin\w+|say|tell|identif\w+|decide)|没有(?:正确|合适)|都不""",
    re.VERBOSE | re.IGNORECASE,
)
_CONCLUDING = re.compile(
    r"\W{0,6}(?:so|thus|hence|therefore|overall|consequently|accordingly|finally|in (?:conclusion|summary|short|this case)|to (?:conclude|sum up)|conclusion|given|based on"
    r"|considering|among|out of|after|upon|from (?:the|this|these|my)|i (?:believe|think|infer|would))\b|\W{0,6}(?:因此|所以|综上)",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\s*,?\s*(?:because|since|as|due to|因为)\b|\s*(?:因为|,因)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found: letters (none when it found that there is no answer), and the text beside a lone letter."""

    letters: tuple[str, ...]
    rule: str
    weighed: bool = False
    beside: str = ""
    outcome: Outcome | None = None


class Reply:
    """A cleaned reply with the options and the form of the question: what every rule looks at."""

    def __init__(self, text: str, options: Options, *, several: bool) -> None:
        self.text = text
        self.options = options
        self.several = several

    @cached_property
    def mentions(self) -> list[Mention]:
        return mentions(self.text, self.options)

    @cached_property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.text.split("\n") if line.strip()]

    @cached_property
    def declarations(self) -> list[Declaration]:
        return sorted([*_linked(self), *_affirmed(self)], key=lambda declaration: declaration.position)


@dataclass(frozen=True, slots=True)
class Declaration:
    """Words that put letters forward. firm: they speak of the answer; else they say that something is found there.

    letters is empty when the words say that nothing is the answer.
    """

    position: int
    letters: tuple[str, ...]
    firm: bool
    weighed: bool = False
    beside: str = ""
    affirmed: bool = False


# Failure texts and refusals


def failure(raw: str) -> Found | None:
    """A text that an API or a framework left where a reply should be."""
    if _FAILURE.match(raw) or _FAILURE_MARK.search(raw):
        return Found((), "failure", outcome=Outcome.error)
    return None


def is_refusal(text: str) -> bool:
    return bool(_REFUSAL.search(text[:600]))


# A declaration


def declaration(reply: Reply) -> Found | None:
    """The last words that speak of the answer: `Answer: B`, `the correct option is (B)`, `I would go with A`, `C is right`."""
    firm = [each for each in reply.declarations if each.firm]
    if not firm:
        return None
    last = firm[-1]
    letters = last.letters
    if reply.several and last.affirmed:
        letters = tuple(letter for each in firm if each.affirmed for letter in each.letters)
    if not letters:
        return Found((), "declaration", outcome=Outcome.none)
    return Found(letters, "declaration", last.weighed, last.beside)


def _linked(reply: Reply) -> Iterator[Declaration]:
    """Letters or an option's text behind a word or sign that links them to what is said before."""
    text, options = reply.text, reply.options
    for link in _LINK.finditer(text):
        filler = _FILLER.match(text, link.end())
        begin = filler.end() if filler else link.end()
        block = "\n" in text[link.end() : begin]
        head = _head(text, link.start())
        if link["link"] and (denied := _denial(text, link, head, options)):
            yield denied
        group = _object(reply, begin, block)
        if group is None or denied_at(text, group.end) or is_question(text, group.end):
            continue
        firm = _is_firm(link, head, text, group)
        if firm is None or _is_denying(head) or _SUPPOSING.search(head):
            continue
        if not firm and len(set(group.letters)) > 1:
            continue
        yield Declaration(
            group.start,
            group.letters,
            firm,
            group.weighed or "between" in text[link.end() : begin],
            _beside(text, group),
        )


def _head(text: str, end: int) -> str:
    """What the sentence says before the link."""
    before = text[max(0, end - 260) : end]
    start = _HEAD_START.match(before)
    return before[start.end() :] if start else before


def _is_denying(head: str) -> bool:
    """Whether the clause before the link says what the answer is not."""
    clause = _CLAUSE_START.match(head)
    return bool(_DENYING.search(head[clause.end() :] if clause else head) or _DISBELIEF.search(head))


def _denial(text: str, link: re.Match[str], head: str, options: Options) -> Declaration | None:
    if not _ANSWER_ITSELF.search(head) or _SUPPOSING.search(head):
        return None
    spaces = _FILLER.match(text, link.end())
    for begin in {link.end(), spaces.end() if spaces else link.end()}:
        words = _DENIAL.match(text, begin)
        if words and group_of_text(text, begin, options) is None:
            return Declaration(words.start(), (), firm=True)
    return None


def group_of_text(text: str, begin: int, options: Options) -> Group | None:
    """An option's text that begins within the first signs from here."""
    start = begin + len(text[begin : begin + 12]) - len(text[begin : begin + 12].lstrip(" \n\"':(-"))
    group = group_at(text, start, options, texts=True)
    return group if group and group.items[0].body == group.end else None


def _object(reply: Reply, begin: int, block: bool) -> Group | None:
    """The letters, or texts of options, that are put forward from here on."""
    text, options = reply.text, reply.options
    if not_applicable_at(text, begin):
        return None
    if run := run_of_letters(text, begin, options):
        return Group(
            tuple(Item(letter, True, begin, begin + len(run), begin + len(run), False) for letter in run), False
        )
    group = group_at(text, begin, options, texts=True, lines=block)
    return group and without_next_subject(text, group)


def _is_firm(link: re.Match[str], head: str, text: str, group: Group) -> bool | None:
    """Whether the words speak of the answer (True), of some other thing (False), or put nothing forward (None)."""
    first = group.items[0]
    by_text = first.letter in group.letters and first.body == first.end and not first.labelled and first.strong
    closed = ends_at(text, group.end) or first.end > first.body
    if link["said"] or link["chosen"]:
        return True
    if link["named"]:
        return True if ("\n" in text[link.end() : group.start] or closed or text[group.start] == "(") else None
    if link["hence"]:
        return True if closed and not by_text else None
    if link["best"]:
        return False if first.strong else None
    if link["making"]:
        return True if re.match(r"[ )]*(?:as )?the (?:correct|right|best)", text[group.end : group.end + 30]) else None
    if _LISTING.search(head) and not (_QUALIFIED.search(head) and not re.search(r"\b(?:other|another)\b", head)):
        return None
    if link["link"] == ":" and not _is_announcement(head):
        return None
    if _ANSWER_NOUN.search(head):
        return True
    letter_form = not by_text or first.body != first.end
    if not letter_form:
        return None
    return bool(_CONCLUDING.match(head)) and len(set(group.letters)) == 1


def _is_announcement(head: str) -> bool:
    """Whether what stands before a colon is a title (`Final answer`) or leads to one thing (`The region is`), and surveys nothing."""
    plural = re.search(r"\b(?:options|choices)\b", head, re.IGNORECASE) and not _QUALIFIED.search(head)
    return not plural and not _SURVEYING.search(head) and bool(_ANNOUNCED.search(head) or _TITLE.match(head))


def _beside(text: str, group: Group) -> str:
    """What stands on the line beside a lone letter."""
    if len(group.items) != 1:
        return ""
    return text[group.items[0].body :].split("\n", 1)[0]


def _affirmed(reply: Reply) -> Iterator[Declaration]:
    for mention in reply.mentions:
        if mention.affirmed:
            yield Declaration(mention.group.start, mention.group.letters, True, mention.group.weighed, affirmed=True)


# A bare reply, a leading and a closing answer


def bare(reply: Reply) -> Found | None:
    """The whole reply is letters and punctuation, each letter perhaps with its own option's text."""
    if is_text_of(reply.text, reply.options) and not letter_alone(reply):
        return None
    return _bare(reply, reply.text, "bare")


def letter_alone(reply: Reply) -> bool:
    item = letter_at(reply.text, 0, reply.options)
    return item is not None and _PUNCTUATION.fullmatch(reply.text, item.end) is not None


def _bare(reply: Reply, text: str, rule: str) -> Found | None:
    start = len(text) - len(text.lstrip(" \t\n.,;:*-•"))
    if run := run_of_letters(text, start, reply.options):
        if _PUNCTUATION.fullmatch(text, start + len(run)):
            return Found(run, rule)
    group = group_at(text, start, reply.options) and _lines_group(reply, text, start)
    if group is None:
        return _text_then_letter(reply, text, rule)
    if _PUNCTUATION.fullmatch(text, group.end):
        return Found(group.letters, rule, group.weighed)
    last = group.items[-1]
    rest = text[last.body :]
    if "\n" not in rest.strip() and (last.labelled or last.strong) and (reply.options.cut_short(last.letter, rest)):
        return Found(group.letters, rule, group.weighed, rest)
    return None


def _lines_group(reply: Reply, text: str, start: int) -> Group | None:
    """Items one a line, each alone or with its own text."""
    group = group_at(text, start, reply.options)
    while group is not None:
        gap = re.compile(r"[ .,;:!)]*(?:\n\s*)+(?:[-•]\s{0,3}|\d{1,2}[.)]\s{1,3})?").match(text, group.end)
        following = group_at(text, gap.end(), reply.options) if gap else None
        if following is None:
            return group
        group = Group(group.items + following.items, group.weighed or following.weighed)
    return group


def _text_then_letter(reply: Reply, text: str, rule: str) -> Found | None:
    """An option's text with its letter in brackets behind it: `bowl (B)`."""
    match = re.fullmatch(r"(?s)(.{1,200}?)[ ]?\(([A-Z])\)[.!]?", text) if len(text) < 220 else None
    if match and reply.options.with_text(match[1]) == match[2]:
        return Found((match[2],), rule)
    return None


def leading(reply: Reply) -> Found | None:
    """The first line is an answer, and no later line begins like another option's: the rest explains it."""
    if reply.options.yes_or_no and (said := re.match(r"(yes|no)\s?[.,;:!\n\u2013\u2014-]", reply.text, re.IGNORECASE)):
        letter = reply.options.with_text(said[1])
        return None if letter is None or _later_labels(reply, {letter}) else Found((letter,), "leading")
    found = _first_line(reply)
    return found if found and not _later_labels(reply, set(found.letters)) else None


def _first_line(reply: Reply) -> Found | None:
    first = reply.lines[0] if reply.lines else ""
    if found := _bare(reply, first, "leading"):
        return found
    group = group_at(first, 0, reply.options)
    if group is None or denied_at(first, group.end):
        return None
    last = group.items[-1]
    rest = first[last.body :]
    if last.end > last.body:
        # Its own text, and more behind it: unless other letters follow in the same form.
        rest = first[last.end :]
    elif not (last.labelled and last.letter in reply.options.letters) and not _BECAUSE.match(first, last.end):
        return None
    if _inline_labels(reply, rest, set(group.letters)):
        return None
    return Found(group.letters, "leading", group.weighed, first[last.body :] if len(group.items) == 1 else "")


def _inline_labels(reply: Reply, rest: str, known: set[str]) -> bool:
    """Whether another option begins within the line, as in `A. cup B. bowl`."""
    for match in re.finditer(r"(?:(?<=[\s,;.])|^)\(?([A-Z])[.:)](?=\s|$)", rest):
        if match[1] in reply.options.letters and match[1] not in known:
            return True
    return False


def _later_labels(reply: Reply, known: set[str]) -> bool:
    """Whether a later line begins like the line of another option, so that the first one may be no more than the start of a list.

    A list begins with the first option: behind any other letter, and an explanation, such lines only say why they are out.
    """
    explained = len(reply.lines) > 1 and not _is_option_line(reply, reply.lines[1])
    if explained and reply.options.letters[0] not in known:
        return False
    return any(_is_option_line(reply, line, known) for line in reply.lines[1:])


def _is_option_line(reply: Reply, line: str, known: set[str] | frozenset[str] = frozenset()) -> bool:
    """Whether a line begins like an option in a list: `B. bowl`, `(B) bowl`, `Option B: bowl`; prose on `Option B` does not."""
    line = _unbulleted(line)
    item = letter_at(line, 0, reply.options)
    if item is None or item.letter not in reply.options.letters or item.letter in known:
        return False
    return item.labelled or line.startswith(("(", "[")) or _PUNCTUATION.fullmatch(line, item.end) is not None


def closing(reply: Reply) -> Found | None:
    """The last line is an answer (for several: the list of lines at the end), and no part of a list of options."""
    lines = reply.lines
    if len(lines) < 2:
        return None
    start = len(lines) - 1
    while (
        reply.several
        and start > 1
        and _bare(reply, _unbulleted(lines[start - 1]), "closing")
        and _bare(reply, _unbulleted(lines[start]), "closing")
    ):
        start -= 1
    found = _closing_block(reply, lines[start:])
    if found is None or _announces_otherwise(lines[start - 1]):
        return None
    if not lines[start - 1].endswith((":", "：")) and _continues_a_list(reply, lines[:start], found.letters):
        return None
    return found


def _closing_block(reply: Reply, lines: list[str]) -> Found | None:
    found = _bare(reply, "\n".join(_unbulleted(line) for line in lines), "closing")
    if found or len(lines) > 1:
        return found
    line = _unbulleted(lines[0])
    item = letter_at(line, 0, reply.options)
    if item and item.labelled and reply.options.belongs_to_another(item.letter, line[item.body :]):
        return Found((item.letter,), "closing", beside=line[item.body :])
    return None


def _unbulleted(line: str) -> str:
    return re.sub(r"^(?:[-•>+\u2013]\s{1,3}|\d{1,2}[.)]\s{1,3})", "", line)


def _announces_otherwise(line: str) -> bool:
    """Whether the line before speaks of all options, or of those that are out."""
    listing = re.search(
        r"\b(?:options|choices|candidates|possibilities)\b", line, re.IGNORECASE
    ) and not _QUALIFIED.search(line)
    return line.endswith((":", "：")) and bool(listing or _is_denying(_head(line.rstrip(":："), len(line))))


def _continues_a_list(reply: Reply, before: list[str], letters: tuple[str, ...]) -> bool:
    """Whether the lines before go through the options, so that the last line is only the next one."""
    items = [
        item
        for line in before
        if (item := letter_at(_unbulleted(line), 0, reply.options)) and (item.labelled or item.strong)
    ]
    previous = [item.letter for item in items if item.letter in reply.options.letters]
    return bool(previous) and not set(letters) <= set(previous) and set(letters) != {previous[0]}


# Option text, and letters that are put forward less plainly


def option_text(reply: Reply) -> Found | None:
    """The whole reply is one option's text."""
    letter = is_text_of(reply.text, reply.options)
    return Found((letter,), "option_text") if letter else None


def statement(reply: Reply) -> Found | None:
    """One letter is said to be where the thing in question is: `the region is (B)`, `Thus the change lies in option C.`"""
    loose = [each for each in reply.declarations if not each.firm and not nothing_fits(reply, each.position)]
    if len({letter for each in loose for letter in each.letters}) == 1:
        return Found(loose[-1].letters, "statement", loose[-1].weighed, loose[-1].beside)
    return _conclusion(reply)


def _conclusion(reply: Reply) -> Found | None:
    """The last sentence that names a letter draws a conclusion and names one only."""
    named = [mention for mention in reply.mentions if mention.letter_like]
    if not named:
        return None
    last = named[-1].group.start
    start = last - len(_head(reply.text, last))
    within = [mention for mention in named if mention.group.start >= start]
    letters = {letter for mention in within for letter in mention.group.letters}
    sentence = reply.text[start : named[-1].group.end]
    if len(letters) != 1 or any(mention.negated for mention in within) or is_question(reply.text, last):
        return None
    if not _CONCLUDING.match(sentence) or _DENYING.search(sentence) or starts_line(reply.text, last):
        return None
    return Found(tuple(letters), "statement")


def lonely_letter(reply: Reply) -> Found | None:
    """Exactly one letter stands in the text in the form of a letter of choice, and nothing says that it is wrong."""
    named = [mention for mention in reply.mentions if mention.letter_like and not mention.negated]
    letters = {letter for mention in named for letter in mention.group.letters if letter in reply.options.letters}
    if len(letters) == 1 and not (nothing_fits(reply) and not any(mention.labels for mention in named)):
        return Found(tuple(letters), "lonely_letter", beside=_beside(reply.text, named[-1].group))
    if len(letters) > 1:
        return Found((), "lonely_letter", outcome=Outcome.none if nothing_fits(reply) else Outcome.ambiguous)
    return None


def nothing_fits(reply: Reply, position: int = 0) -> bool:
    """Whether the reply says, from here on, that no option is right, or that it cannot tell."""
    return bool(_NOTHING_FITS.search(reply.text, position))
