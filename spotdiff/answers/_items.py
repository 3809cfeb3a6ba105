"""The grammar of letters: what counts as one, and where a list of them ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spotdiff.answers._model import Options, folded

_ITEM = re.compile(
    r"""(?P<word>(?:(?:the\s+)?(?:options?|choices?)\b|选项)[\s:]{0,3})?
    (?P<open>["'(\[{<【「《]{0,3})[ ]?(?P<letter>[A-Za-z])[ ]?(?P<close>["')\]}>】」》]{0,3})
    (?![A-Za-z0-9_]|['+\#&][A-Za-z0-9]|\+|-(?-i:[a-z])|:[ ]?(?:\\|drive\b)|[.][A-Za-z](?![A-Za-z])|/[A-Za-z]{2})""",
    re.VERBOSE | re.IGNORECASE,
)
_DELIMITER = re.compile(r"[ ]{0,2}[.:)\]、。,\u2013\u2014-]{0,2}[ ]{0,2}")
_STRONG_DELIMITER = re.compile(r"[ ]{0,2}(?:[.:)\]。]{1,2}|、|,(?=[ ]?[\u4e00-\u9fff])|[\u2013\u2014-](?=\s))[ ]{0,2}")
_SEPARATOR = re.compile(
    r"""[ ]{0,2}(?:
    (?P<weigh>[,;]?[ ]{0,2}(?:\bor\b|\bnor\b|\bvs\b\.?|\bversus\b|\band/or\b|或者?|还是))
    |(?P<and>\band\b|和|与|及|跟)
    |[,;&+、/]|(?=[(\[])
    |(?P<range>[-\u2013\u2014~]|\bto\b)
    )[ ]{0,2}(?:(?:and|as[ ]well[ ]as)\b[ ]?)?(?:(?:both|also|possibly|maybe|perhaps|even)\b[ ]{0,2})?""",
    re.VERBOSE | re.IGNORECASE,
)
_LINE_BREAK = re.compile(r"[ ]?(?:,|;|\band\b|\bor\b)?[ ]*(?:\n[ \t]*){1,4}(?:[-•*]\s{0,3}|\d{1,2}[.)]\s{1,3})?")
_AFTER_BARE_A = re.compile(
    r"(?:because|since|as|and|or|nor|for|due|based|given|but|where|which|while|with|in|is|are|was|seems?|appears?|has|does"
    r"|shows?|would|could|should|over|vs)\b",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"""[ ]?[.,;:!)\]}"'。，；]*[ ]*(?:\n|$)|[.!。][ ]|[,;][ ](?:because|since|as|but|not|so|and\s+not)\b""",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"[ ]?(?:is|are|was|were|has|have|does|do|did|shows?|seems?|appears?|looks?|can|could|would|will|isn't|doesn't"
    r"|don't|cannot|can't|not)\b",
    re.IGNORECASE,
)
_RUN = re.compile(r"[A-Z]{2,26}(?![A-Za-z0-9])")
_NOT_APPLICABLE = re.compile(r"""["'(\[ ]*n\s?[/.]\s?a\b""", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:a|an|the)\s+", re.IGNORECASE)
_TEXT_ENDS = re.compile(
    r"""["')\]]{0,2}(?:[ ]*(?:\n|$)|[.,;:!?。，；！][.)"']{0,2}(?:\s|$)|[ ]?[\u2013\u2014(]|[ ]-[ ]"""
    r"|[ ](?:because|since|as|due|for|and|or)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Item:
    """One letter, or one option's text, as it stands in a reply.

    letter: upper case; may lie beyond the options.
    strong: it has the form of a letter of choice by itself: `(B)`, `option B`, an option's text.
    start, end: where it stands, with its own text but not with a delimiter alone.
    body: where its own text, or whatever follows the delimiter, begins.
    labelled: a delimiter follows, as in a list of options.
    is_text: an option's text stands for its letter.
    """

    letter: str
    strong: bool
    start: int
    end: int
    body: int
    labelled: bool
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A list of items. weighed: they are set against each other (`A or B`), so it is no set."""

    items: tuple[Item, ...]
    weighed: bool

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(item.letter for item in self.items)

    @property
    def start(self) -> int:
        return self.items[0].start

    @property
    def end(self) -> int:
        return self.items[-1].end


def letter_at(text: str, position: int, options: Options) -> Item | None:
    """The letter that begins here. The article, the pronoun, `N/A` and parts of words are none."""
    if not (match := _ITEM.match(text, position)):
        return None
    end = match.end()
    opened = bool(match["open"] and match["close"])
    letter = match["letter"].upper()
    strong = opened or bool(match["word"])
    if not (opened or text.startswith(")", match.start("close"))) and not _stands_alone(text, match, letter):
        return None
    if letter == "N" and _NOT_APPLICABLE.match(text, match.start("open")):
        return None
    delimiter = _STRONG_DELIMITER.match(text, end)
    labelled = bool(delimiter) or match["close"][:1] in (")", "]")
    body = delimiter.end() if delimiter else end
    start = match.start() + (text[match.start()] == " ")
    return _with_own_text(Item(letter, strong, start, end, body, labelled), text, options)


def _stands_alone(text: str, match: re.Match[str], letter: str) -> bool:
    """Whether a letter without brackets can be one: no article, no pronoun, a small one only at the object's end."""
    if match["letter"].islower():
        return bool(_ENDS.match(text, match.end()))
    if letter not in "AI" or match["word"] or match["close"]:
        return True
    following = text[match.end() : match.end() + 12].lstrip(" ")
    if not text[match.end() : match.end() + 1].isspace() or not following[:1].isalnum():
        return True
    return letter == "A" and bool(_AFTER_BARE_A.match(following))


def _with_own_text(item: Item, text: str, options: Options) -> Item:
    own = options.texts.get(item.letter, "")
    if not own:
        return item
    start = _DELIMITER.match(text, item.end).end()  # type: ignore[union-attr]  # it matches the empty string too
    end = _end_of_text(text, start, own)
    if end is None and text.startswith("(", start) and (end := _end_of_text(text, start + 1, own)) is not None:
        end += text.startswith(")", end)
    return Item(item.letter, True, item.start, end, start, item.labelled) if end is not None else item


def _end_of_text(text: str, start: int, wanted: str) -> int | None:
    """Where an option's text that begins here ends, final punctuation aside."""
    wanted = wanted.rstrip(" .,;:!?")
    end = start + len(wanted)
    if not wanted or text[start:end].casefold() != wanted.casefold() or not _TEXT_ENDS.match(text, end):
        return None
    return end


def text_at(text: str, position: int, options: Options) -> Item | None:
    """The option whose whole text begins here, with or without an article; the longest wins, two alike are none."""
    best: list[tuple[int, str]] = []
    for start in _starts(text, position):
        for letter, own in options.texts.items():
            if (end := _end_of_text(text, start, own)) is not None and options.with_text(own) == letter:
                best.append((end, letter))
    if not best:
        return None
    end, letter = max(best)
    return Item(letter, True, position, end, end, False, is_text=True)


def _starts(text: str, position: int) -> list[int]:
    start = position + (1 if text[position : position + 1] in ("'", '"', "(") else 0)
    article = _ARTICLE.match(text, start)
    return [start, article.end()] if article else [start]


def group_at(
    text: str, position: int, options: Options, *, texts: bool = False, lines: bool = False, loose_lines: bool = False
) -> Group | None:
    """The list of letters that begins here.

    texts: options' texts count as items. lines: items may stand one a line. loose_lines: with any words behind each.
    """
    item = _item_at(text, position, options, texts=texts)
    items: list[Item] = []
    seen: set[str] = set()
    weighed = False
    while item is not None:
        items.append(item)
        seen.add(item.letter)
        if lines and (following := _next_line(text, item, options, loose=loose_lines)):
            item = following
            continue
        separator = _SEPARATOR.match(text, item.end)
        if separator is None:
            break
        item = _item_at(text, separator.end(), options, texts=texts)
        if item is None and items[-1].is_text and (separator["and"] or separator["weigh"]):
            # `cup and saucer` is no option's text, though `cup` is one.
            items.pop()
        if item is not None and item.letter not in seen:
            weighed |= bool(separator["weigh"] or separator["range"])
    return Group(tuple(items), weighed) if items else None


def without_next_subject(text: str, group: Group) -> Group:
    """The list without a last letter that only begins what follows: `A, B is wrong`."""
    *rest, last = group.items
    joined = text[rest[-1].end : last.start].strip() if rest else ""
    return Group(tuple(rest), group.weighed) if joined == "," and _VERB.match(text, last.end) else group


def _item_at(text: str, position: int, options: Options, *, texts: bool) -> Item | None:
    letter = letter_at(text, position, options)
    if not texts or (letter is not None and (letter.strong or text[position : position + 1] not in "Aa")):
        return letter
    return text_at(text, position, options) or letter


def _next_line(text: str, item: Item, options: Options, *, loose: bool) -> Item | None:
    end = item.end
    if item.labelled and loose:
        line_end = text.find("\n", end)
        end = len(text) if line_end < 0 else line_end
    if not (gap := _LINE_BREAK.match(text, end)):
        return None
    following = letter_at(text, gap.end(), options)
    if following is None or not (following.labelled or following.strong or _ENDS.match(text, following.end)):
        return None
    return following


def run_of_letters(text: str, position: int, options: Options) -> tuple[str, ...]:
    """Letters written together (`AC`); beyond eight options only in rising order, as words are too many then."""
    if not (match := _RUN.match(text, position)) or not _ENDS.match(text, match.end()):
        return ()
    run = match[0]
    rising = list(run) == sorted(set(run))
    if len(options.letters) > 8 and not rising:
        return ()
    # `ABF` of four options is a list with a wrong letter, `BADLY` is a word.
    known = all(letter in options.letters for letter in run)
    return tuple(run) if known or (rising and run[0] in options.letters) else ()


def not_applicable_at(text: str, position: int) -> bool:
    return bool(_NOT_APPLICABLE.match(text, position))


def ends_at(text: str, position: int) -> bool:
    """Whether a clause ends here."""
    return bool(_ENDS.match(text, position))


def is_text_of(text: str, options: Options) -> str | None:
    """The one option whose text this is, an article aside."""
    article = _ARTICLE.match(text)
    return options.with_text(text) or (options.with_text(text[article.end() :]) if article and folded(text) else None)
