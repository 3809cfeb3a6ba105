"""Keeps API keys, tokens and passwords out of whatever is printed or stored.

A secret is told by what it is called, by its shape, or by its value, which the environment or the command line of this
process holds.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, TextIO

MASK = "..."
"""What stands in place of a secret."""

_SHORTEST = 8
"""Characters. A shorter value is looked for nowhere but behind its name: it may be part of any word."""

_WORD = r"(?:key|keys|token|secret|secrets|password|passwd|passphrase|authorization|credential|credentials)"
_NAME = rf"(?:[\w.-]*(?:[_.-]|(?-i:[a-z](?=[A-Z]))))?(?:api)?{_WORD}"
_OPEN = r"(?:none|null|true|false|empty)(?![\w.-])"
"""Placeholders that say that there is no key, or that it comes from elsewhere."""

_VALUE = r"""(?:\\?"(?:[^"\\]|\\[^"])*\\?"|\\?'(?:[^'\\]|\\[^'])*\\?'|[^\s,"'\\]+)"""
_PATTERNS = (
    # https://user:password@host
    (re.compile(r"(?<=://)([^\s/:@\"']*):[^\s/@\"']+(?=@)"), rf"\1:{MASK}"),
    # ?api_key=value&
    (re.compile(rf"(?<=[?&])({_NAME}=)(?!{_OPEN})[^&#\s\"'\\]+", re.IGNORECASE), rf"\1{MASK}"),
    # Authorization: Bearer value
    (re.compile(r"\b(bearer\s+)[\w.~+/=*-]{6,}", re.IGNORECASE), rf"\1{MASK}"),
)
_QUOTE = r"""\\?["']"""
_NAMED = (
    rf"--?{_NAME}[\s=]\s*",  # --key value
    rf"{_NAME}(?:=|\s=\s(?={_QUOTE}))",  # key=value, key = "value"
    rf"(?P<json>{_QUOTE}){_NAME}(?P=json)\s*:\s*(?={_QUOTE})",  # {"key": "value"}
    rf"(?P<word>{_QUOTE})--?{_NAME}(?P=word)\s*,\s*(?={_QUOTE})",  # ["--key", "value"]
    rf"(?<=\()(?P<pair>{_QUOTE}){_NAME}(?P=pair)\s*,\s*(?={_QUOTE})",  # ("key", "value")
)
_ARGUMENT = re.compile(
    rf"(?<![\w.&?-])(?P<name>{'|'.join(_NAMED)})(?!{_OPEN}|{_QUOTE}{_QUOTE})(?P<value>{_VALUE})", re.IGNORECASE
)
# As headers and messages of servers write it: "Incorrect API key provided: value".
_SAID = re.compile(
    rf"(\b(?:authorization|(?:x-)?api[ _-]?key)(?: provided| is)?\s*:\s*(?:(?:bearer|basic|token)\s+)?)(?!{_OPEN})"
    r"""[^\s,"'\\]+""",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"(?<![A-Za-z0-9_])(?:sk-[\w*-]{12,}|hf_[A-Za-z0-9]{16,}|AIza[\w-]{30,}|gh[opsur]_[A-Za-z0-9]{30,}"
    r"|github_pat_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})"
)
_SECRET_NAME = re.compile(rf"{_NAME}", re.IGNORECASE)
_VOCABULARY = re.compile(r"(?:image|video|audio|mask|pad|eos|bos|unk|sep|cls)_token")
"""Arguments that name what a model reads and writes. In small letters: a variable such as VIDEO_TOKEN may be a key."""


def is_secret(name: str) -> bool:
    """Whether an argument or variable of this name holds a secret: `api_key` and `HF_TOKEN` do, `max_tokens` not."""
    return _SECRET_NAME.fullmatch(name) is not None and _VOCABULARY.fullmatch(name) is None


def without_secrets(value: str) -> str:
    """A text about a run, with `...` in place of each secret and nothing else changed. Never raises.

    Secrets are: values named as such in `a=b,c=d`, JSON, options of a command, headers and URLs; what has the shape of
    a key of a known service; and all that `without_known_secrets` finds. Not for replies of models, which are data.
    """
    value = without_known_secrets(value)
    for pattern, replacement in _PATTERNS:
        value = pattern.sub(replacement, value)
    value = _ARGUMENT.sub(_masked, value)
    value = _SAID.sub(rf"\1{MASK}", value)
    return _SHAPES.sub(MASK, value)


def without_known_secrets(value: str) -> str:
    """A text without the secrets that this process was given, in its environment or on its command line.

    Nothing else is changed, so that it is safe for replies too: a failed request may be kept as one, with the key in
    the words of the server.
    """
    for secret in _known(tuple(sys.argv)):
        value = value.replace(secret, MASK)
    return value


def mask(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of arguments or settings without secrets, also in what is nested; empty values stay as they are."""
    return {
        name: MASK if is_secret(str(name)) and _is_given(value) else _inside(value) for name, value in mapping.items()
    }


def _is_given(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value) and re.fullmatch(_OPEN, value, re.IGNORECASE) is None
    return value is not None and not isinstance(value, (bool, int, float))


def _inside(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return mask(value)
    if type(value) in (list, tuple):
        # The words of a command line may be among them.
        before = (None, *value)
        return type(value)(
            MASK if _is_option(name) and _is_given(item) else _inside(item)
            for name, item in zip(before, value, strict=False)
        )
    return value


def _is_option(word: Any) -> bool:
    return isinstance(word, str) and word[:1] == "-" and is_secret(word)


def _known(words: Sequence[str]) -> list[str]:
    """Longest first: one secret may be the beginning of another."""
    named = {value for name, value in os.environ.items() if is_secret(name)}
    found = {value for value in named | _of_command_line(tuple(words)) if len(value) >= _SHORTEST}
    return sorted(found, key=len, reverse=True)


@lru_cache(maxsize=8)
def _of_command_line(words: tuple[str, ...]) -> frozenset[str]:
    """`--key VALUE`, and what is named as a secret within a word: `--key=VALUE`, `api_key=VALUE,a=b`, JSON."""
    behind = {value for name, value in pairwise(words) if _is_option(name)}
    within = {found["value"].strip("\\\"'") for word in words for found in _ARGUMENT.finditer(word)}
    return frozenset(behind | within)


def _masked(found: re.Match[str]) -> str:
    value = found["value"]
    quote = re.match(r"""\\?["']""", value)
    return found["name"] + (f"{quote[0]}{MASK}{quote[0]}" if quote else MASK)


class _MaskedStream:
    """Stands in for a text stream; whatever is written goes on without secrets."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(without_secrets(text))
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def masked_output() -> Iterator[None]:
    """Nothing that is printed in here holds a secret. Also a decorator: `@masked_output()`.

    Each write is masked by itself: a secret that is written in pieces is not found.
    """
    with (
        contextlib.redirect_stdout(_MaskedStream(sys.stdout)),
        contextlib.redirect_stderr(_MaskedStream(sys.stderr)),
    ):
        yield
