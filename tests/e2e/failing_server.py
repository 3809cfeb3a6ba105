"""A server that fails one question in ten, and keeps count of what it did.

What goes wrong is decided by a hash of the prompt alone: in half of the cases the first call fails and further ones
do not, in the others every call does. Once, in addition, an HTML page comes with status 200.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Mapping

from many_questions import LetterReader, number_in
from pixel_server import FAULTS, Fault, PixelServer

from spotdiff import failures

SLOW = 8.0
"""Seconds that an answer takes where a client is to give up."""

TIMEOUT = 2
"""Seconds that clients are to wait."""


def _completion(message: Mapping[str, object]) -> bytes:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    whole = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "usage": usage}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return json.dumps({**whole, "choices": [choice]}).encode()


_CUT = _completion({"content": "A"})[:-30]
_NULL = _completion({"content": None, "reasoning_content": "The cup moved, so A."})

KINDS: Mapping[str, tuple[str, Fault]] = {
    "500": (failures.SERVER_ERROR, FAULTS["500"]),
    "429": (failures.RATE_LIMIT, FAULTS["429"]),
    "slow": (failures.TIME_OUT, Fault(seconds=SLOW)),
    "cut": (failures.BAD_REPLY, Fault(body=_CUT)),
    "empty": (failures.EMPTY, FAULTS["empty"]),
    "null": (failures.REASONING_ONLY, Fault(body=_NULL)),
}
"""Name -> class that the failure is to be counted in, and what is sent."""

SALT = 1188
"""Chosen so that among 200 questions every kind occurs both ways."""

_HTML_AT = 40
"""The call, of those that would succeed, which gets an HTML page."""


class FailingServer(PixelServer):
    """calls: what was sent, by kind, "html" and "fine" among them. last: number of a question -> the last of these."""

    def __init__(self, *, failing: bool = True) -> None:
        super().__init__(reader=LetterReader())
        self.failing = failing
        self.calls: Counter[str] = Counter()
        self.last: dict[int, str] = {}
        self.attempts: Counter[int] = Counter()
        self._counting = threading.Lock()

    def handle(self, body: bytes) -> Fault:
        number = number_in(body.decode())
        with self._counting:
            kind = self._kind(number)
            self.attempts[number] += 1
            self.calls[kind] += 1
            self.last[number] = kind
        if kind == "html":
            return FAULTS["html"]
        return super().handle(body) if kind == "fine" else KINDS[kind][1]

    def _kind(self, number: int) -> str:
        kind, always = planned(number)
        if not self.failing:
            return "fine"
        if kind is not None and (always or not self.attempts[number]):
            return kind
        return "html" if self.calls["fine"] == _HTML_AT and not self.calls["html"] else "fine"

    def failed(self) -> dict[str, int]:
        """Number of questions whose last call failed, by the class that they are to be counted in."""
        return dict(Counter(KINDS[kind][0] for kind in self.last.values() if kind in KINDS))


def planned(number: int, salt: int = SALT) -> tuple[str | None, bool]:
    """What goes wrong with a question, or None, and whether it does at every call."""
    digest = hashlib.sha256(f"{salt} {number}".encode()).digest()
    names = [*KINDS]
    drawn = int.from_bytes(digest[:4], "big") % (20 * len(names))
    return (names[drawn % len(names)] if drawn < 2 * len(names) else None), drawn < len(names)
