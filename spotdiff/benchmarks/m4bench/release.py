"""How the release of M4Bench reads a reply, without the judge that follows its rules there."""

from __future__ import annotations

from collections.abc import Mapping

_BLANKED = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))


def release_letter(reply: str, options: Mapping[str, str]) -> str | None:
    """The letter that the release's own rules find, None where they leave the reply to the judge."""
    pieces = set(reply.translate(_BLANKED).split())
    named = [letter for letter in options if letter in pieces]
    if len(named) == 1:
        return named[0]
    contained = [letter for letter, text in options.items() if text.lower() in reply.lower()]
    return contained[0] if len(contained) == 1 else None
