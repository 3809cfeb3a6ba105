"""From a reply to the letters it chooses: one parser for all benchmarks and both frameworks.

A reply is cleaned (reasoning taken out, wrappers opened, mark-up removed) and then read by a fixed list of rules, the
strongest evidence first; the first rule that finds something decides. Nothing is guessed and nothing is random: a reply
that no rule reads has no letters, and its outcome says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from spotdiff.answers import _rules as rules
from spotdiff.answers._clean import clean
from spotdiff.answers._model import Options, Outcome, Reading
from spotdiff.answers._rules import is_refusal
from spotdiff.failures import WITHOUT_CONTENT, mark_of

__all__ = ["Outcome", "Reading", "is_refusal", "read_reply"]

Rule = Callable[[rules.Reply], "rules.Found | None"]

_EVIDENCE: tuple[Rule, ...] = (
    rules.declaration,
    rules.bare,
    rules.leading,
    rules.closing,
    rules.option_text,
    rules.statement,
    rules.lonely_letter,
)
_EVIDENCE_OF_A_CHAIN: tuple[Rule, ...] = (rules.declaration, rules.bare, rules.closing)


def read_reply(
    reply: str | None,
    options: Mapping[str, str | None],
    *,
    several: bool = False,
    chain_of_thought: bool = False,
) -> Reading:
    """Read the chosen letters out of a reply.

    reply: what the model wrote; None when nothing came back.
    options: letter -> text (None for an option that is an image), 2 to 26 letters from A on, in order.
    several: every right letter was asked for, not one.
    chain_of_thought: the question asked for reasoning first. Only a declared, bare or closing answer counts then, and a
        reply without one is `truncated`.
    """
    if reply is None or not reply.strip():
        return _unread(Outcome.empty)
    if failure := mark_of(reply):
        return _unread(Outcome.empty if failure in WITHOUT_CONTENT else Outcome.error, "failure")
    cleaned = clean(reply)
    if cleaned.truncated:
        return _unread(Outcome.truncated)
    if not cleaned.text:
        return _unread(Outcome.empty)
    known = Options.of(options)
    if cleaned.declared is not None:
        marked = rules.Reply(cleaned.declared, known, several=several)
        if found := rules.bare(marked) or rules.option_text(marked):
            return _judged(found, known, several=several, rule="declaration")
    text = rules.Reply(cleaned.text, known, several=several, chain=chain_of_thought)
    for rule in _EVIDENCE_OF_A_CHAIN if chain_of_thought or cleaned.cut else _EVIDENCE:
        if found := rule(text):
            settled = rules.after_second_thoughts(found, text)
            return _judged(settled, known, several=several, rule=settled.rule)
    if rules.is_refusal(cleaned.text):
        return _unread(Outcome.refused, "failure")
    return _unread(Outcome.truncated if chain_of_thought else Outcome.none)


def _judged(found: rules.Found, options: Options, *, several: bool, rule: str) -> Reading:
    """What the evidence comes to, for this form of question."""
    if found.outcome is not None:
        return _unread(found.outcome, rule)
    chosen = set(found.letters)
    if not chosen <= set(options.letters):
        return _unread(Outcome.invalid, rule)
    if found.weighed or (len(chosen) > 1 and not several):
        return _unread(Outcome.ambiguous, rule)
    letters = tuple(letter for letter in options.letters if letter in chosen)
    conflict = len(letters) == 1 and bool(found.beside) and options.belongs_to_another(letters[0], found.beside)
    return Reading(letters, Outcome.parsed, rule, conflict)


def _unread(outcome: Outcome, rule: str = "") -> Reading:
    return Reading((), outcome, rule, False)
