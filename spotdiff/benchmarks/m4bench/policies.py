"""Answers to M4Bench that look at no image: how far a reader of the options alone gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from spotdiff.errors import SettingError
from spotdiff.question import Option, Question

Policy = Callable[[Question], Sequence[str]]


def _option_that_says(word: str) -> Policy:
    def choose(question: Question) -> Sequence[str]:
        for option in question.options:
            if (option.text or "").strip().lower() == word:
                return [option.letter]
        raise SettingError(
            f"policy always_{word} does not fit question {question.id}: no option says {word.capitalize()}"
        )

    return choose


def _by_area(pick: Callable[..., Option], policy: str) -> Policy:
    """The option whose boxes, both images together, cover the largest (smallest) area; the first of equals."""

    def choose(question: Question) -> Sequence[str]:
        boxed = [option for option in question.options if option.boxes]
        if not boxed:
            raise SettingError(f"policy {policy} does not fit question {question.id}: its options have no boxes")
        return [pick(boxed, key=_area).letter]

    return choose


def _area(option: Option) -> int:
    return sum((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in option.boxes)


def _letter(letter: str) -> Policy:
    return lambda question: [letter]


_GENERAL: Mapping[str, Policy] = {
    "always_yes": _option_that_says("yes"),
    "always_no": _option_that_says("no"),
    "largest_box": _by_area(max, "largest_box"),
    "smallest_box": _by_area(min, "smallest_box"),
}

SHORTCUTS: Mapping[str, Policy] = {
    "state_invariance": _GENERAL["always_yes"],
    "state_comparison": _GENERAL["always_no"],
    "detailed_difference_synthetic": _GENERAL["largest_box"],
    "detailed_difference_natural": _GENERAL["smallest_box"],
    "spatial_perception": _GENERAL["largest_box"],
    "spatial_perception_vp": _GENERAL["largest_box"],
    "instance_comparison": _letter("D"),
    "instance_comparison_vp": _letter("D"),
}
"""The best image-blind answer to each setting of the released questions: 54.5 % in all, above every model of the
paper."""


def _shortcut(question: Question) -> Sequence[str]:
    return SHORTCUTS[question.setting](question)


POLICIES: Mapping[str, Policy] = {**_GENERAL, "shortcut": _shortcut}
