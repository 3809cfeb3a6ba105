"""Requests that wait to be asked, and the messages that their keys were made from."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lmms_eval.api.instance import Instance
from PIL import Image

HELD = 100_000_000
"""Bytes of pixels that are held between key and question; the messages beyond are made a second time."""


@dataclass(frozen=True)
class Open:
    """A request without a kept answer, and its place among all."""

    place: int
    key: str
    request: Instance


@dataclass
class Waiting:
    """The requests of a chunk, and the messages of the first of them."""

    requests: list[Open] = field(default_factory=list)
    _messages: list[Any] = field(default_factory=list)
    _pixels: int = 0

    def add(self, request: Open, message: Any) -> None:
        self.requests.append(request)
        self._pixels += _pixel_bytes(message)
        if self._pixels <= HELD:
            self._messages.append(message)

    def copies(self, maker: int) -> list[Instance]:
        """Requests for the model, which may change them. maker: the argument that makes what is shown."""
        missing = [None] * (len(self.requests) - len(self._messages))
        made = [*self._messages, *missing]
        return [_own_copy(one.request, maker, message) for one, message in zip(self.requests, made, strict=True)]


class _Made:
    """Gives what has been made already once, as models may change it, and makes it anew after that."""

    def __init__(self, make: Callable[[Any], Any], made: Any) -> None:
        self._make = make
        self._made = [made]

    def __call__(self, document: Any) -> Any:
        return self._made.pop() if self._made else self._make(document)


def _own_copy(request: Instance, maker: int, message: Any) -> Instance:
    """Models change generation arguments in place, and several requests of a question are one object."""
    own = copy.copy(request)
    arguments: list[Any] = [copy.deepcopy(one) if isinstance(one, dict) else one for one in request.args]
    if message is not None:
        arguments[maker] = _Made(arguments[maker], message)
    own.arguments = tuple(arguments)
    return own


def _pixel_bytes(message: Any) -> int:
    """Bytes of the images and arrays of a message, frames among them; a pixel of an image takes four."""
    if isinstance(message, Mapping):
        return sum(map(_pixel_bytes, message.values()))
    if isinstance(message, (list, tuple)):
        return sum(map(_pixel_bytes, message))
    if isinstance(message, Image.Image):
        return 4 * message.width * message.height
    return int(getattr(message, "nbytes", 0))
