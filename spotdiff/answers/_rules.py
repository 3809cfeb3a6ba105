"""The rules of evidence, one function each, in the order in which they are asked.

A rule returns None when it finds nothing, else a `Found`, which ends the search.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from spotdiff.answers._clauses import head_of, is_denying, is_question
from spotdiff.answers._declarations import (
    Declaration,
    declarations,
    is_concluding,
    is_survey,
    lists_options,
    text_beside,
)
from spotdiff.answers._items import Group, Item, group_at, is_text_of, letter_at, run_of_letters
from spotdiff.answers._mentions import Mention, denied_at, mentions, starts_line, unchanged_at
from spotdiff.answers._model import Options, Outcome
from spotdiff.answers._retractions import retraction
from spotdiff.answers._yes_no import contradicts, first_word, speaks_of_something_else

_PUNCTUATION = re.compile(r"[\W_]*")
_BEGINNING = re.compile(
    r"(?:[^\w(\[\"'<{【「《]|_)*(?:\d{1,2}[.)]\s+)?(?:(?:both|either|only|just|probably|maybe|perhaps|likely|definitely)\s+)?",
    re.IGNORECASE,
)
_LONGEST_REMARK = 300
"""Characters behind the answer of a chain of thought that may still be a remark on it."""

_SENTENCE_ENDS = re.compile(r"[.!?\u3002\uff01\uff1f)\]}\"'*_`|~=-]$")
_NEXT_CLAUSE = re.compile(r"[.!?]\s+\w.*\s|[,;]")
_ANSWER_LINE = re.compile(
    r"\W*(?:(?:so|therefore|thus|hence|finally)\W+)?(?:(?:the|my|final|correct|best)\s+)*(?:answer|option|choice)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"\W*(?:(?:scene graph|stage|step|view|option)\s*\w\b|\d+[.)]\s)", re.IGNORECASE)
_SPACED = re.compile(r"[A-Z](?:[ |]{1,3}[A-Z])+(?=\W*$)")
_BULLET = re.compile(r"(?:[-•>+\u2013]\s{1,3}|\d{1,2}[.)]\s{1,3})")
_NEXT_LINE = re.compile(r"[ .,;:!)]*(?:\n\s*)+(?:[-•]\s{0,3}|\d{1,2}[.)]\s{1,3})?")
_INLINE_LABEL = re.compile(r"""(?:(?<=[\s,;.])|^)["'(]?([A-Z])["']?[.:)](?=\s|$)""")
_BECAUSE = re.compile(
    r"\s*,?\s*(?:because|since|as|due to|(?:but |and )?not)\b|\s*[(,]\s*I (?:think|believe|guess)\b|\s*,?因为",
    re.IGNORECASE,
)
_PICTURES_LACK = re.compile(
    r"\b(?:image|picture|photo|video|figure)s?\s(?:\w+\s){0,2}?(?:fail(?:s|ed)?\sto|missing|n[o']t\s(?:load|available|visible|provided))",
    re.IGNORECASE,
)
_TEXT_THEN_LETTER = re.compile(r"(.{1,200}?)[ ]?\(([A-Z])\)[.!]?", re.DOTALL)

_ADDING = re.compile(r"^.{0,3}\(\s*and\b|\b(?:also|additionally|as well as|plus)\b", re.IGNORECASE)
_REFUSAL = re.compile(
    r"""^\W{0,4}(?:i\s?'?a?m\s(?:really\s|very\s|so\s)?sorry|sorry\b|(?:i\s)?apologi[sz]e|my\sapologies|抱歉|对不起|很抱歉|我无法|无法)
    |\b(?:i|we)\s(?:can't|cannot|can\snot|am\snot\sable\sto|am\sunable\sto|won't|will\snot\sbe\sable\sto)\s(?:\w+\s){0,2}?
        (?:help|assist|answer|comply|provide|fulfil|identify|process|view|access|analy[sz]e|determine
        |see\s(?:the|any)\s(?:image|video|picture))
    |\bi'm\s(?:unable|not\sable)\sto\s|\bas\san\sai\b|^\W{0,4}unable\sto\s""",
    re.VERBOSE | re.IGNORECASE,
)
_NOTHING_FITS = re.compile(
    r"""\bnone\s(?:(?:is|are)\s|of\s(?:the|these|those|them|any|option)|\w+\s(?:seem|match|fit))|\bneither\s(?:option|of)
    |\bno\s(?:\w+\s){0,3}?(?:options?|choices?|pairs?)\b|\bno\b[^.\n]{0,60}\bany\sof\sthe\b|没有(?:正确|合适)|都不
    |\b(?:not|n't|impossible|cannot|difficult|challenging)\s(?:\w+\s){0,3}?(?:determin\w+|say|tell|identif\w+|decide)""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found.

    letters: as they were said; they may lie beyond the options, or be several where one was asked for.
    weighed: they were set against each other (`A or B`).
    beside: the text beside a lone letter.
    outcome: set when the rule found that there is no answer.
    end: where the words that say so end, if others may follow.
    """

    letters: tuple[str, ...]
    rule: str
    weighed: bool = False
    beside: str = ""
    outcome: Outcome | None = None
    end: int | None = None


class Reply:
    """A cleaned reply with the options and the form of the question: what every rule looks at."""

    def __init__(self, text: str, options: Options, *, several: bool, chain: bool = False) -> None:
        self.text = text
        self.options = options
        self.several = several
        self.chain = chain

    @cached_property
    def mentions(self) -> list[Mention]:
        return mentions(self.text, self.options)

    @cached_property
    def declarations(self) -> list[Declaration]:
        return declarations(self.text, self.options, self.mentions, several=self.several)

    @cached_property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.text.split("\n") if line.strip()]

    def is_bare_line(self, line: str) -> bool:
        return _bare_line(self, line) is not None


# Refusals


def is_refusal(text: str) -> bool:
    """A reply that begins by declining. Asked last: a letter that follows counts."""
    return bool(_REFUSAL.search(text[:600]))


def after_second_thoughts(found: Found, reply: Reply) -> Found:
    """What is left of a finding after the words behind it: the same, another letter, or none."""
    if found.end is None or found.outcome is not None:
        return found
    changed = retraction(reply.text, found.end, found.letters, reply.mentions, reply.options)
    if changed is None:
        return found
    return Found(changed.letters, found.rule, outcome=changed.outcome)


# A declaration


def declaration(reply: Reply) -> Found | None:
    """The last words that speak of the answer: `Answer: B`, `the correct option is (B)`, `I choose A`, `C is right`."""
    firm = [each for each in reply.declarations if each.firm]
    if not firm:
        return None
    last = firm[-1]
    if reply.chain and not _is_at_the_end(reply.text, last.end):
        return None
    if not last.letters:
        return Found((), "declaration", outcome=Outcome.none)
    if reply.several and last.affirmed:
        return _affirmed_one_by_one(firm)
    if reply.several and _is_added_to(last, reply):
        return Found((), "declaration", outcome=Outcome.ambiguous)
    return Found(last.letters, "declaration", last.weighed, last.beside, end=last.end)


def _is_at_the_end(text: str, end: int) -> bool:
    """Whether a chain of thought ends with what is declared up to here, or with one closing remark on it.

    A chain that was cut off may hold conclusions of its earlier stages, and goes on behind them.
    """
    own_line, _, after = text[end:].rstrip().partition("\n")
    after = after.strip()
    if not after:
        if _PUNCTUATION.fullmatch(own_line) or _SENTENCE_ENDS.search(own_line):
            return True
        is_answer_line = _ANSWER_LINE.match(text, text.rfind("\n", 0, end) + 1)
        return bool(is_answer_line) and not _NEXT_CLAUSE.search(own_line)
    is_remark = len(after) <= _LONGEST_REMARK and not re.search(r"\n\s*\n", after) and not _GOES_ON.match(after)
    return bool(is_remark and _SENTENCE_ENDS.search(after))


def _is_added_to(last: Declaration, reply: Reply) -> bool:
    """Whether words behind the last declaration seem to add a letter: `Answer: A. Also D.`, `Answer: A (and C)`."""
    for mention in reply.mentions:
        between = reply.text[last.end : mention.group.start]
        new = set(mention.group.letters) - set(last.letters)
        if mention.group.start >= last.end and new and _ADDING.search(between):
            return True
    return False


def _affirmed_one_by_one(firm: list[Declaration]) -> Found:
    """`A is right. C is right.`: all of them, unless they only explain a list that was declared before.

    A letter that such a list lacks may add to it or correct it: `The answer is A and C. D is right.` is ambiguous.
    """
    letters = {letter for each in firm if each.affirmed for letter in each.letters}
    lists = [each for each in firm if not each.affirmed and each.letters]
    if lists and not letters <= set(lists[-1].letters):
        return Found((), "declaration", outcome=Outcome.ambiguous)
    if lists:
        return Found(lists[-1].letters, "declaration", lists[-1].weighed)
    return Found(tuple(letters), "declaration", any(each.weighed for each in firm if each.affirmed))


# A bare reply, a leading and a closing answer


def bare(reply: Reply) -> Found | None:
    """The whole reply is letters and punctuation, each letter perhaps with its own option's text."""
    return _bare(reply, reply.text, "bare")


def _bare(reply: Reply, text: str, rule: str) -> Found | None:
    beginning = _BEGINNING.match(text)
    start = beginning.end() if beginning else 0
    item = letter_at(text, start, reply.options)
    alone = item is not None and _PUNCTUATION.fullmatch(text, item.end)
    if not alone and is_text_of(text, reply.options):
        # `BAD` where an option says so, `A bowl`.
        return None
    if (run := run_of_letters(text, start, reply.options)) and _PUNCTUATION.fullmatch(text, start + len(run)):
        return Found(run, rule)
    if spaced := _SPACED.match(text, start):
        return Found(tuple(spaced[0].replace("|", " ").split()), rule)
    group = _items_on_lines(reply, text, start)
    if group is None:
        return _text_then_letter(reply, text, rule)
    if _PUNCTUATION.fullmatch(text, group.end):
        return Found(group.letters, rule, group.weighed)
    last = group.items[-1]
    rest = text[last.body :]
    if (last.labelled or last.strong) and "\n" not in rest.strip() and reply.options.cut_short(last.letter, rest):
        return Found(group.letters, rule, group.weighed)
    return None


def _items_on_lines(reply: Reply, text: str, start: int) -> Group | None:
    """Items one a line, or more on a line, each alone or with its own text."""
    items: list[Item] = []
    weighed = False
    group = group_at(text, start, reply.options)
    while group is not None:
        items += group.items
        weighed |= group.weighed
        gap = _NEXT_LINE.match(text, group.end)
        group = group_at(text, gap.end(), reply.options) if gap else None
    return Group(tuple(items), weighed) if items else None


def _text_then_letter(reply: Reply, text: str, rule: str) -> Found | None:
    """An option's text with its letter in brackets behind it: `bowl (B)`."""
    match = _TEXT_THEN_LETTER.fullmatch(text) if len(text) < 220 else None
    if match and reply.options.with_text(match[1]) == match[2]:
        return Found((match[2],), rule)
    return None


def leading(reply: Reply) -> Found | None:
    """The first line is an answer (for several: the first lines), and no later line begins like another option's."""
    if not reply.lines:
        return None
    if reply.options.yes_or_no and (word := first_word(reply.text)):
        return _yes_or_no(reply, word)
    count = 1
    while (
        reply.several
        and count < len(reply.lines)
        and all(_bare_line(reply, line) for line in reply.lines[: count + 1][-2:])
    ):
        count += 1
    if count > 1:
        found = _bare(reply, "\n".join(_unbulleted(line) for line in reply.lines[:count]), "leading")
    else:
        found = _bare_line(reply, reply.lines[0]) or _with_more_behind(reply, reply.lines[0])
    if found is None or _later_option(reply, count, set(found.letters)):
        return None
    return replace(found, end=found.end or len(reply.lines[0])) if count == 1 else found


def _yes_or_no(reply: Reply, word: re.Match[str]) -> Found | None:
    """The answer that the first word gives, unless the rest speaks against it or of something else."""
    letter = reply.options.with_text(word["word"])
    if letter is None or _later_option(reply, 1, {letter}):
        return None
    rest = word.end("word")
    if is_refusal(reply.text[rest:].lstrip(" .,;:!")):
        return Found((), "leading", outcome=Outcome.refused)
    if speaks_of_something_else(reply.text[rest:]):
        return Found((), "leading", outcome=Outcome.none)
    if contradicts(reply.text, rest, letter, reply.mentions, reply.options):
        return Found((), "leading", outcome=Outcome.ambiguous)
    return Found((letter,), "leading")


def _bare_line(reply: Reply, line: str) -> Found | None:
    return _bare(reply, _unbulleted(line), "leading")


def _with_more_behind(reply: Reply, line: str) -> Found | None:
    """A letter at the beginning of a line with words of any kind behind it: `B. The bowl moved`, `B because ..`."""
    group = group_at(line, 0, reply.options)
    if group is None or denied_at(line, group.end) or unchanged_at(line, group, reply.options):
        return None
    last = group.items[-1]
    has_own_text = last.end > last.body
    labelled = last.labelled and last.letter in reply.options.letters
    if not (has_own_text or labelled or _BECAUSE.match(line, last.end)):
        return None
    rest = line[last.end if has_own_text else last.body :]
    if _PICTURES_LACK.search(rest):
        return Found((), "leading", outcome=Outcome.refused)
    others = {match[1] for match in _INLINE_LABEL.finditer(rest)} & set(reply.options.letters)
    return (
        None
        if others - set(group.letters)
        else Found(group.letters, "leading", group.weighed, text_beside(line, group), end=group.end)
    )


def _later_option(reply: Reply, count: int, known: set[str]) -> bool:
    """Whether a line behind the first `count` begins like another option's, so that they may be the start of a list.

    A list begins with the first option: behind any other letter and an explanation, such lines say why they are out.
    """
    later = reply.lines[count:]
    if later and not _is_option_line(reply, later[0], set()) and reply.options.letters[0] not in known:
        return False
    return any(_is_option_line(reply, line, known) for line in later)


def _is_option_line(reply: Reply, line: str, known: set[str]) -> bool:
    """Whether a line begins like an option in a list: `B. bowl`, `(B) bowl`, `Option B: bowl`; not prose on it."""
    line = _unbulleted(line)
    item = letter_at(line, 0, reply.options)
    if item is None or item.letter not in reply.options.letters or item.letter in known:
        return False
    return item.labelled or line.startswith(("(", "[")) or _PUNCTUATION.fullmatch(line, item.end) is not None


def _unbulleted(line: str) -> str:
    return _BULLET.sub("", line, count=1) if _BULLET.match(line) else line


def closing(reply: Reply) -> Found | None:
    """The last line is an answer (for several: the list of lines at the end), and no part of a list of options."""
    lines = reply.lines
    start = len(lines) - 1
    while reply.several and start > 1 and all(map(reply.is_bare_line, lines[start - 1 : start + 1])):
        start -= 1
    if start < 1:
        return None
    found = _closing_lines(reply, lines[start:])
    if found is None or _leads_elsewhere(lines[start - 1]):
        return None
    if not lines[start - 1].endswith(":") and _continues_a_list(reply, lines[:start], set(found.letters)):
        return None
    return found


def _closing_lines(reply: Reply, lines: list[str]) -> Found | None:
    if found := _bare(reply, "\n".join(_unbulleted(line) for line in lines), "closing"):
        return found
    line = _unbulleted(lines[-1])
    item = letter_at(line, 0, reply.options) if len(lines) == 1 else None
    if item and item.labelled and reply.options.belongs_to_another(item.letter, line[item.body :]):
        return Found((item.letter,), "closing", beside=line[item.body :])
    return None


def _leads_elsewhere(line: str) -> bool:
    """Whether a line leads to all options, or to those that are out, and not to the answer."""
    return line.endswith(":") and (lists_options(line) or is_denying(head_of(line.rstrip(": "), len(line))))


def _continues_a_list(reply: Reply, before: list[str], letters: set[str]) -> bool:
    """Whether the lines before go through the options, so that the last line is only the next one."""
    previous = {
        item.letter
        for line in before
        if (item := letter_at(_unbulleted(line), 0, reply.options)) and (item.labelled or item.strong)
    }
    return bool(previous & set(reply.options.letters)) and not letters <= previous


# Option text, and letters that are put forward less plainly


def option_text(reply: Reply) -> Found | None:
    """The whole reply is one option's text."""
    letter = is_text_of(reply.text, reply.options)
    return Found((letter,), "option_text") if letter else None


def statement(reply: Reply) -> Found | None:
    """One letter is said to be what was asked for: `the region is (B)`, `Thus the change lies in option C.`"""
    loose = [each for each in reply.declarations if not each.firm and not _nothing_fits(reply, each.position)]
    if len({letter for each in loose for letter in each.letters}) == 1:
        return Found(loose[-1].letters, "statement", loose[-1].weighed, loose[-1].beside)
    return _conclusion(reply)


def _conclusion(reply: Reply) -> Found | None:
    """The last sentence that names a letter draws a conclusion and names one only."""
    named = [mention for mention in reply.mentions if mention.letter_like or _ends_the_reply(reply, mention)]
    if not named:
        return None
    last = named[-1].group
    start = last.start - len(head_of(reply.text, last.start))
    within = [mention for mention in named if mention.group.start >= start]
    letters = {letter for mention in within for letter in mention.group.letters}
    if len(letters) != 1 or any(mention.negated for mention in within) or is_question(reply.text, last.start):
        return None
    if starts_line(reply.text, last.start) or not is_concluding(reply.text[start : last.end]):
        return None
    return None if _nothing_fits(reply, last.end) else Found(tuple(letters), "statement")


def _ends_the_reply(reply: Reply, mention: Mention) -> bool:
    """Whether the only letter of a reply is its last word, behind a comma: `Based on the images, C.`"""
    start, end = mention.group.start, mention.group.end
    alone = len(reply.mentions) == 1 and _PUNCTUATION.fullmatch(reply.text, end) is not None
    return alone and reply.text[:start].rstrip().endswith(",") and not is_question(reply.text, end)


def lonely_letter(reply: Reply) -> Found | None:
    """Exactly one letter stands in the text in the form of a letter of choice, and nothing says that it is wrong."""
    named = [mention for mention in reply.mentions if mention.letter_like and not mention.negated]
    letters = {letter for mention in named for letter in mention.group.letters if letter in reply.options.letters}
    if len(letters) > 1:
        return Found((), "lonely_letter", outcome=Outcome.none if _nothing_fits(reply) else Outcome.ambiguous)
    if not letters or all(_is_in_passing(reply, mention) for mention in named):
        return None
    if _nothing_fits(reply, named[-1].group.end if any(mention.labels for mention in named) else 0):
        return None
    if any(_other_labels(reply, mention) for mention in named):
        return Found((), "lonely_letter", outcome=Outcome.ambiguous)
    return Found(tuple(letters), "lonely_letter", beside=text_beside(reply.text, named[-1].group))


def _is_in_passing(reply: Reply, mention: Mention) -> bool:
    """Whether a letter is only asked about, looked at, or named as one of the options."""
    start = mention.group.start
    return (
        is_question(reply.text, mention.group.end)
        or is_survey(head_of(reply.text, start))
        or (mention.labels and _leads_elsewhere(_line_before(reply.text, start)))
    )


def _other_labels(reply: Reply, mention: Mention) -> bool:
    """Whether the line of a letter goes on with other options, as in `A. B. C. D.`"""
    rest = reply.text[mention.group.end :].split("\n", 1)[0] if mention.labels else ""
    others = {match[1] for match in _INLINE_LABEL.finditer(rest)} & set(reply.options.letters)
    return bool(others - set(mention.group.letters))


def _line_before(text: str, position: int) -> str:
    line_start = text.rfind("\n", 0, position)
    return text[max(0, line_start - 300) : max(0, line_start)].rstrip().rsplit("\n", 1)[-1]


def _nothing_fits(reply: Reply, position: int = 0) -> bool:
    """Whether the reply says, from here on, that no option is right, or that it cannot tell."""
    return bool(_NOTHING_FITS.search(reply.text, position))
