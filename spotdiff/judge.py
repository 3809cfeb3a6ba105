"""A language model that reads what no rule can: off unless a judge is set, and never part of `acc`.

The judge sees the reply and the texts of the options, not the question and not the right answer. Its verdict counts in
`acc_judged` alone. Where it fails, the reply stays unparsed.
"""

from __future__ import annotations

import http.client
import json
import os
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from spotdiff.answers import Outcome, Reading, read_reply
from spotdiff.settings import JUDGE_KEY, Settings

TIMEOUT = 60.0
TRIES = 3
PAUSE = 1.0
"""Seconds before the second try; twice as many before the third."""

_INSTRUCTION = (
    "Below are the options of a multiple-choice question and a reply that somebody gave to it. "
    "Say which option the reply chooses. Write its letter and nothing else. "
    "If the reply chooses none of them, or more than one, write NONE.\n\n"
    "Options:\n{options}\n\nReply:\n{reply}\n\nLetter:"
)


@dataclass(frozen=True)
class Verdict:
    """What the judge said. letters: one letter, or none. said: its words. error: why there are none, else empty."""

    letters: tuple[str, ...]
    said: str
    error: str = ""


@dataclass(frozen=True)
class Judge:
    """An OpenAI-compatible endpoint. url: with or without `/chat/completions` at its end."""

    url: str
    model: str

    @classmethod
    def of(cls, settings: Settings) -> Judge | None:
        """The judge of these settings, or None when there is none."""
        if settings.judge_url is None or settings.judge_model is None:
            return None
        return cls(settings.judge_url, settings.judge_model)

    def wanted(self, reading: Reading) -> bool:
        """Whether the reply is text that may choose an option in words of its own."""
        return reading.outcome in (Outcome.none, Outcome.ambiguous)

    def verdict(self, reply: str, options: Mapping[str, str | None]) -> Verdict:
        """Ask once for each distinct reply and set of options. Never raises."""
        return _ask(self, reply, tuple((letter, text or "") for letter, text in options.items()))


@lru_cache(maxsize=10_000)
def _ask(judge: Judge, reply: str, options: tuple[tuple[str, str], ...]) -> Verdict:
    listed = "\n".join(f"{letter}. {text}" for letter, text in options)
    try:
        said = _complete(judge, _INSTRUCTION.format(options=listed, reply=reply))
    except Exception as error:  # Whatever goes wrong out there must not end a run.
        return Verdict((), "", _without_key(f"{type(error).__name__}: {error}"))
    if said.strip().strip(".").upper() == "NONE":
        return Verdict((), said)
    return Verdict(read_reply(said, dict(options)).letters, said)


def _complete(judge: Judge, prompt: str) -> str:
    body = {"model": judge.model, "temperature": 0, "max_tokens": 16, "messages": [{"role": "user", "content": prompt}]}
    headers = {"Content-Type": "application/json"}
    if key := _key():
        if not (key.isascii() and key.isprintable()):
            raise ValueError(f"{JUDGE_KEY} holds a character that no header can hold")
        headers["Authorization"] = f"Bearer {key}"
    address = judge.url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    for attempt in range(TRIES):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
                return _content(json.load(response))
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            if attempt == TRIES - 1:
                raise
            time.sleep(PAUSE * 2**attempt)
    raise AssertionError("unreachable: the last try returns or raises")


def _key() -> str:
    return os.environ.get(JUDGE_KEY, "").strip()


def _without_key(text: str) -> str:
    """A server may repeat the key in the words of its error."""
    return text.replace(key, "***") if (key := _key()) else text


def _content(answer: Any) -> str:
    content = answer["choices"][0]["message"]["content"]
    if not isinstance(content, str) or not content.strip():
        raise ValueError("the judge's answer is empty")
    return content
