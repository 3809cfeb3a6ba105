"""The letter that the release of M4Bench itself reads from a reply, for the metric `acc_release`.

The release first looks for an option's letter among the words of the reply, then for an option's text within it, and
hands the rest to a judge. The judge is left out here: what the rules do not decide is undecided, and wrong. The rules
have known faults, which are kept: the article "A" counts as a letter, and a passing mention of `No difference.` as an
answer. The main score reads replies with `spotdiff.answers`.
"""

from __future__ import annotations

from collections.abc import Mapping

from spotdiff.failures import mark_of

_BLANKED = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))


def release_letter(reply: str, options: Mapping[str, str]) -> str | None:
    """The letter by the release's rules, or None where they decide nothing.

    options: letter -> text as the model saw it, with its boxes filled in.
    """
    if mark_of(reply) is not None:
        return None
    pieces = set(reply.translate(_BLANKED).split())
    by_letter = [letter for letter in options if letter in pieces]
    if len(by_letter) == 1:
        return by_letter[0]
    lowered = reply.lower()
    by_text = [letter for letter, text in options.items() if text.lower() in lowered]
    return by_text[0] if len(by_text) == 1 else None
