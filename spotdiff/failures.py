"""Replies that are none: what a framework, an API or a proxy left in place of a model's words, and why.

lmms-eval stores the text of the last error behind a mark of its own; VLMEvalKit stores one fixed sentence, behind which
`vlmeval_ext.guard` writes the class and the reason.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spotdiff.errors import SettingError

SERVER_ERROR = "server error"
RATE_LIMIT = "rate limit"
TIME_OUT = "time-out"
CONNECTION = "no connection"
REJECTED = "request rejected"
BAD_REPLY = "bad reply"
EMPTY = "empty"
REASONING_ONLY = "reasoning only"
OVER_BUDGET = "over budget"
TOO_LONG = "prompt too long"
UNKNOWN = "unknown"

CLASSES = (
    SERVER_ERROR, RATE_LIMIT, TIME_OUT, CONNECTION, REJECTED, BAD_REPLY, EMPTY, REASONING_ONLY, OVER_BUDGET, TOO_LONG,
    UNKNOWN,
)  # fmt: skip
"""Every class of failure. `bad reply`: what came back is no chat completion, such as cut JSON or an HTML page.
`reasoning only`: the content is null, or nothing follows the reasoning."""

OPTION = "--max-failures"

WITHOUT_CONTENT = (EMPTY, REASONING_ONLY)
"""The server answered as it should, with nothing in it."""

VLMEVALKIT_MARK = "Failed to obtain answer via API."
"""VLMEvalKit asks again for what holds this."""

_LMMS_MARK = re.compile(
    r"\[LMMS_EVAL_(?P<kind>REQUEST_FAILED|BUDGET_EXCEEDED)[^\]\n]{0,80}\]?(?P<reason>.*)", re.DOTALL
)
_MARK = re.compile(
    r"""["'\s]{0,4}(?:Failed[ ]to[ ]obtain[ ]answer(?:[ ]via[ ]API|:)\W{0,4}
    |Failed[ ]to[ ]retrieve[ ][^\n]{0,80}?response[ ]after[ ]maximum[ ]retries
    |failed["'.!\s]{0,4}$
    |(?=Error[ ]code:[ ]?\d{3}\s*(?:-|\Z)|<(?:!doctype[ ])?html\b))(?P<reason>.*)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
# What the asynchronous client of lmms-eval makes of a content that is null.
_NULL_CONTENT = re.compile(r"""Error: can only concatenate str \(not "NoneType"\) to str$""")

_STATED = re.compile(rf"\[?(?P<kind>{'|'.join(CLASSES)})\]")
_STATUS = re.compile(r"Error code: ?(\d{3})", re.IGNORECASE)
# As OpenAI, vLLM, SGLang and Anthropic say it, each with status 400.
_LENGTH = re.compile(
    r"context[_ ]length[_ ]exceeded|maximum context length|prompt is too long"
    r"|(?:is|are) longer than the (?:maximum )?(?:model|context)",
    re.IGNORECASE,
)
_BY_WORDS = (
    (REASONING_ONLY, re.compile(r"""not "NoneType"\) to str|'NoneType' object has no attribute '(?:split|strip)'""")),
    (TIME_OUT, re.compile(r"gateway time-?out", re.IGNORECASE)),
    (
        SERVER_ERROR,
        re.compile(r"internal server error|bad gateway|service (?:temporarily )?unavailable", re.IGNORECASE),
    ),
    (BAD_REPLY, re.compile(r"<(?:!doctype )?html\b", re.IGNORECASE)),
    (RATE_LIMIT, re.compile(r"rate[ _-]?limit|too many requests|quota", re.IGNORECASE)),
    (TIME_OUT, re.compile(r"timed? ?-?out\b|deadline exceeded", re.IGNORECASE)),
    (CONNECTION, re.compile(r"connect(?:ion|ing)?\b|name resolution|unreachable|disconnected", re.IGNORECASE)),
    (SERVER_ERROR, re.compile(r"overloaded|server had an error", re.IGNORECASE)),
    (
        BAD_REPLY,
        re.compile(
            r"JSON|Expecting (?:value|property name|'|\")|Unterminated string|Extra data|control character"
            r"|expected schema|object has no attribute|not subscriptable|out of range|^'\w+'$",
            re.IGNORECASE,
        ),
    ),
)


def failure_of(reply: object) -> str | None:
    """The class of failure that a stored reply stands for, out of `CLASSES`; None for a reply of a model.

    reply: the text, None where the content was null, or NaN where a table has no text. A reply that was cut off within
    its reasoning is one: the model spoke, and had too few tokens.
    """
    if reply is None:
        return REASONING_ONLY
    if not isinstance(reply, str):
        # NaN alone differs from itself.
        return EMPTY if reply != reply else UNKNOWN
    marked = mark_of(reply)
    if marked is not None:
        return marked
    # Its package reads replies by this module.
    from spotdiff.answers._clean import clean

    cleaned = clean(reply)
    return None if cleaned.text or cleaned.truncated else REASONING_ONLY


def mark_of(reply: str) -> str | None:
    """As `failure_of`, for a text that is a mark of failure or blank as a whole; reasoning is not looked at."""
    text = reply.strip()
    if not text:
        return EMPTY
    if _NULL_CONTENT.match(text):
        return REASONING_ONLY
    found = _LMMS_MARK.search(text) or _MARK.match(text)
    if found is None:
        return None
    if found.groupdict().get("kind") == "BUDGET_EXCEEDED":
        return OVER_BUDGET
    return class_of(found["reason"] or "")


def class_of(reason: str) -> str:
    """The class that the text of an error tells, by the status of the response where it names one."""
    reason = reason.strip()
    if stated := _STATED.match(reason):
        return stated["kind"]
    if _LENGTH.search(reason):
        return TOO_LONG
    if status := _STATUS.search(reason):
        return class_of_status(int(status[1]))
    return next((kind for kind, words in _BY_WORDS if words.search(reason)), UNKNOWN)


def class_of_status(status: int) -> str:
    """The class of an HTTP response that is no success."""
    if status == 429:
        return RATE_LIMIT
    if status in (408, 504, 524):
        return TIME_OUT
    return SERVER_ERROR if status >= 500 else REJECTED


@dataclass(frozen=True)
class Tally:
    """What became of the questions of a task.

    failed: replies that are none, by class. unparsed: replies without a letter, failures not among them, by outcome;
    None where replies were stored and not read.
    """

    asked: int
    failed: Mapping[str, int]
    unparsed: Mapping[str, int] | None

    @classmethod
    def of(cls, entries: Iterable[tuple[str, str]]) -> Tally:
        """entries: outcome and class of failure, or "", of every question."""
        known = list(entries)
        failed = Counter(failure for _, failure in known if failure)
        unparsed = Counter(outcome for outcome, failure in known if not failure and outcome != "parsed")
        return cls(len(known), failed, unparsed)

    @property
    def failures(self) -> int:
        return sum(self.failed.values())

    def exceeds(self, share: float) -> bool:
        """Whether more than this share of the questions failed."""
        # A share such as 0.29 of 100 is a little less than 29.
        return self.failures > share * self.asked + 1e-9

    def __str__(self) -> str:
        words = [f"{self.asked} asked", f"{self.asked - self.failures} answered", _counted("failed", self.failed)]
        return ", ".join(words if self.unparsed is None else [*words, _counted("unparsed", self.unparsed)])


def advice(tally: Tally) -> str:
    """What to do about failures that asking again does not mend; empty where there are none."""
    too_long = tally.failed.get(TOO_LONG, 0)
    if not too_long:
        return ""
    return (
        f"The model takes less than {too_long} of the prompts hold. Ask one that takes more, or show it less: fewer "
        "frames (SPOTDIFF_FRAMES), or texts of an earlier stage made shorter (SPOTDIFF_MAX_NEW_TOKENS in that stage)"
    )


def _counted(word: str, by_kind: Mapping[str, int]) -> str:
    total = sum(by_kind.values())
    known = sorted((kind for kind in by_kind if by_kind[kind]), key=lambda kind: (-by_kind[kind], kind))
    return f"{total} {word}" + (f" ({', '.join(f'{kind} {by_kind[kind]}' for kind in known)})" if known else "")


def take_share(words: Sequence[str]) -> tuple[float | None, list[str]]:
    """The share that `--max-failures` of a command line allows to fail, None without it, and the other words.

    Raises SettingError unless it is a number from 0 to 1.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument(OPTION, default=None)
    try:
        given, others = parser.parse_known_args(words)
        share = None if given.max_failures is None else float(given.max_failures)
    except (argparse.ArgumentError, ValueError):
        share = math.nan
    if share is not None and not 0 <= share <= 1:
        raise SettingError(f"{OPTION} takes the share of failed questions that is allowed, from 0 (the default) to 1")
    return share, others
