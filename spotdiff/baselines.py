"""Answers without a model: what a reader who never looks at an image scores."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from spotdiff.draws import drawn_below
from spotdiff.errors import SettingError
from spotdiff.question import Question
from spotdiff.tasks import benchmarks

Policy = Callable[[Question], Sequence[str]]


def answer_with(policy: str, benchmark: str, seed: int = 0) -> Callable[[Question], str]:
    """The reply of a policy to a question, as a model would write it (`B`, or `A, C`).

    policy: `random` (one letter, a pure function of seed and question id), a letter (`a`, `b`, ...), or one of the
    benchmark's own. Raises SettingError for an unknown policy, and when called for a question that the policy does not
    fit.
    """
    choose = _policy(policy.lower(), benchmark, seed)
    return lambda question: ", ".join(choose(question))


def policy_names(benchmark: str) -> list[str]:
    return ["random", "a", "b", "c", "d", *benchmarks()[benchmark].policies]


def _policy(policy: str, benchmark: str, seed: int) -> Policy:
    if policy == "random":
        return lambda question: [_drawn(question, seed)]
    if len(policy) == 1 and policy.isalpha():
        return lambda question: [_letter(policy.upper(), question)]
    known = benchmarks()[benchmark].policies
    if policy not in known:
        close = difflib.get_close_matches(policy, policy_names(benchmark), n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(policy_names(benchmark))}"
        raise SettingError(f"There is no policy {policy!r} for {benchmark}. {hint}")
    return known[policy]


def _drawn(question: Question, seed: int) -> str:
    return question.options[drawn_below(len(question.options), seed, question.id)].letter


def _letter(letter: str, question: Question) -> str:
    if letter not in question.option_texts:
        raise SettingError(f"policy {letter.lower()} does not fit question {question.id}: it has no option {letter}")
    return letter
