"""From a raw reply to the text that counts: no reasoning, no mark-up, one way to write a box."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_APOSTROPHES = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00a0": " ", "\r": "\n", "\x00": " "}
)
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")

_THOUGHT_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad|seed:think|thinking_process"
_THOUGHT_TAG = re.compile(
    rf"<(?P<close>/?)(?:{_THOUGHT_NAMES})>|<\|(?P<mark>begin|end)_of_(?:thought|thinking)\|>"
    r"|\[(?P<slash>/?)THINK\]|◁(?P<kimi>/?)think▷",
    re.IGNORECASE,
)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>\s*final[^<]{0,40}<\|message\|>")
_ANY_CHANNEL = re.compile(r"<\|channel\|>[^<]{0,40}<\|message\|>")
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|end_of_text|end|return|eom_id)\|>|</s>|<end_of_turn>|<eos>|<\uff5cend▁of▁sentence\uff5c>"
)
_SPEAKER = re.compile(r"(?:<\|im_start\|>\s*)?(?:assistant|gpt|model)\s*(?::|\n)\s*", re.IGNORECASE)

_ANSWER_TAG = re.compile(
    r"<(?P<close>/?)(?:answer|final_answer|finalanswer|conclusion)>|<\|(?P<mark>begin|end)_of_solution\|>",
    re.IGNORECASE,
)
# What follows shows the form of an answer.
_SAMPLE = re.compile(r"\b(?:(?:use|follow)\s(?:\w+\s){0,2}format|such\sas|for\sexample|e\.g\.)\W*$", re.IGNORECASE)
_ANSWER_KEYS = (
    "answer",
    "final_answer",
    "finalanswer",
    "answers",
    "correct_answer",
    "choice",
    "option",
    "selected_option",
    "prediction",
)

_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_ANSWER_BOX = re.compile(r"<\|begin_of_box\|>(.{0,400}?)<\|end_of_box\|>", re.DOTALL)
_BETWEEN_BOXED = re.compile(r"[\s$,;&]*(?:and|or|,)?[\s$,;&]*")
_TEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathbf|mathrm|mathsf|operatorname|bf|rm)\s*\{([^{}]*)\}")
_TEX_MARK = re.compile(r"\\[()\[\],;! ]|\${1,2}")
_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*$", re.MULTILINE)
_BOLD_LETTER = re.compile(r"\*\*\s*(?:Option\s+)?\(?([A-Z])\)?([.:]?)\s*\*\*(?![A-Za-z])")
_MARK = re.compile(
    r"\*+|`+|__|^[ \t]*#{1,6}[ \t]+|^[ \t]*>[ \t]?|</?(?:b|strong|em|i|p|br|box|ref|code)\s*/?>",
    re.MULTILINE,
)
_SPECIAL = re.compile(r"<\|[^|<>\n]{1,40}\|>")
_SPACES = re.compile(r"[ \t\f\v]+")

# An answer stands at the beginning of a reply or at its end; what is longer than this is a model that repeats itself.
_HEAD, _TAIL = 2_000, 6_000

_NUMBER = r"\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*"
_BOX = re.compile(
    rf"\[{{1,2}}{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}\]{{1,2}}|\({_NUMBER},{_NUMBER}\)\s{{0,3}},?\s{{0,3}}\({_NUMBER},{_NUMBER}\)"
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A reply without its wrapping.

    text: what is left to read. truncated: the reply ended within its reasoning. declared: what it put into a box.
    cut: the middle of an overlong text is missing, so that nothing can be said of all of it.
    """

    text: str
    truncated: bool = False
    declared: str | None = None
    cut: bool = False


def clean(reply: str) -> Cleaned:
    """Reasoning goes, wrappers are opened, mark-up is taken off."""
    text, truncated = _without_reasoning(reply)
    if truncated:
        return Cleaned("", truncated=True)
    text = _first_turn(text)
    text = _answer_field(_answer_tag(text)).strip()
    cut = len(text) > _HEAD + _TAIL
    text, declared = _unboxed(f"{text[:_HEAD]}\n\n{text[-_TAIL:]}" if cut else text)
    return Cleaned(plain(text), declared=None if declared is None else plain(declared), cut=cut)


def plain(text: str) -> str:
    """Text without mark-up, its boxes as `[x1, y1, x2, y2]`. Options go through it too, to be compared."""
    text = _BOLD_LETTER.sub(r"(\1)\2", _FENCE.sub("", _characters(text)))
    text = _MARK.sub("", _SPECIAL.sub("", text))
    text = _TEX_MARK.sub(lambda mark: mark[0][1:] if mark[0][1:] in tuple("()[]") else "", _TEX_TEXT.sub(r"\1", text))
    return _SPACES.sub(" ", _BOX.sub(_canonical_box, text)).strip()


def boxes_of(text: str) -> list[str]:
    """All boxes in a plain text, in their one form."""
    return [_canonical_box(match) for match in _BOX.finditer(text)]


def _characters(text: str) -> str:
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).replace("\r\n", "\n").translate(_APOSTROPHES)


def _canonical_box(match: re.Match[str]) -> str:
    return "[" + ", ".join(number for number in match.groups() if number is not None) + "]"


def _without_reasoning(text: str) -> tuple[str, bool]:
    """The text outside of reasoning blocks, and whether one of them never closed."""
    if channels := list(_ANY_CHANNEL.finditer(text)):
        final = list(_FINAL_CHANNEL.finditer(text))
        return (text[final[-1].end() :], False) if final else (text[: channels[0].start()], True)
    kept, depth, start = "", 0, 0
    for tag in _THOUGHT_TAG.finditer(text):
        closes = bool(tag["close"] or tag["slash"] or tag["kimi"] or (tag["mark"] or "").lower() == "end")
        if depth == 0:
            # A closing tag alone: the opening one stood in the prompt, all before it is reasoning.
            kept = "" if closes else kept + text[start : tag.start()]
        depth = max(0, depth - 1) if closes else depth + 1
        start = tag.end()
    return kept + text[start:], depth > 0


def _first_turn(text: str) -> str:
    """What the model said before it went on to play the next speaker."""
    for mark in _END_OF_TURN.finditer(text):
        if text[: mark.start()].strip():
            text = text[: mark.start()]
            break
    text = _END_OF_TURN.sub("", text)
    text = text.strip()
    speaker = _SPEAKER.match(text)
    return text[speaker.end() :] if speaker else text


def _answer_tag(text: str) -> str:
    """The content of the last answer tag, which may lack its end; the text itself when there is none."""
    opened, content = None, None
    for tag in _ANSWER_TAG.finditer(text):
        if not (tag["close"] or (tag["mark"] or "").lower() == "end"):
            if _SAMPLE.search(text, max(0, tag.start() - 40), tag.start()):
                return text
            opened = tag.end()
        elif opened is not None:
            content, opened = text[opened : tag.start()], None
        elif content is None:
            # The opening tag stood in the prompt.
            content = text[: tag.start()]
    if opened is not None and text[opened:].strip():
        return text[opened:]
    return text if content is None else content


def _answer_field(text: str) -> str:
    """The answer of a reply that is one JSON object; the text itself for any other."""
    body = _FENCE.sub("", text).strip()
    if not (body.startswith("{") and body.endswith("}")):
        return text
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        return text
    fields = {str(key).casefold().replace(" ", "_"): value for key, value in record.items()}
    for value in (fields[key] for key in _ANSWER_KEYS if key in fields):
        if isinstance(value, str):
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return ", ".join(value)
    return text


def _unboxed(text: str) -> tuple[str, str | None]:
    r"""The text with `\boxed{..}` and answer boxes opened, and what the last group of boxes held."""
    pieces: list[str] = []
    group: list[str] = []
    start = 0
    for begin, end, content in _boxed_spans(text):
        between = text[start:begin]
        if group and not _BETWEEN_BOXED.fullmatch(between):
            group = []
        group += [between, content] if group else [content]
        pieces += [between, content]
        start = end
    return "".join([*pieces, text[start:]]), "".join(group) if group else None


def _boxed_spans(text: str) -> Iterator[tuple[int, int, str]]:
    spans = [(match.start(), match.end(), match[1]) for match in _ANSWER_BOX.finditer(text)]
    spans += [span for match in _BOXED.finditer(text) if (span := _braces(text, match.start(), match.end()))]
    last = 0
    for begin, end, content in sorted(spans):
        if begin >= last:
            yield begin, end, content
            last = end


def _braces(text: str, begin: int, inside: int, longest: int = 400) -> tuple[int, int, str] | None:
    depth = 1
    for position in range(inside, min(len(text), inside + longest)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return begin, position + 1, text[inside:position]
    return None
