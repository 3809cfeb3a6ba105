"""What counts as a failed reply, and of which class: texts as the two frameworks and their clients leave them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff import failures
from spotdiff.answers import Outcome, read_reply
from spotdiff.errors import SettingError
from spotdiff.failures import CLASSES, Tally, failure_of, take_share

OPTIONS = {"A": "cup", "B": "bowl", "C": "No difference.", "D": None}

LMMS = "[LMMS_EVAL_REQUEST_FAILED after 2 retries] "
KIT = "Failed to obtain answer via API."

FOUND = [
    (LMMS + "Error code: 500 - {'error': {'message': 'The server had an error', 'code': None}}", "server error"),
    (LMMS + "<html> <head><title>502 Bad Gateway</title></head></html>", "server error"),
    (LMMS + "Error code: 503", "server error"),
    (LMMS + "Error code: 429 - {'error': {'message': 'Rate limit reached, connection kept'}}", "rate limit"),
    (LMMS + "Request timed out.", "time-out"),
    (LMMS + "Error code: 504 - {'message': 'upstream'}", "time-out"),
    (LMMS + "Connection error.", "no connection"),
    (LMMS + "Error code: 401 - {'error': {'message': 'Incorrect API key provided'}}", "request rejected"),
    (LMMS + "Error code: 400 - {'error': {'message': 'timeout and JSON of connection'}}", "request rejected"),
    (LMMS + "Error code: 400 - This model's maximum context length is 8192 tokens. However, ...", "prompt too long"),
    (LMMS + "Error code: 400 - {'error': {'code': 'context_length_exceeded'}}", "prompt too long"),
    (LMMS + "Error code: 400 - prompt is too long: 200001 tokens > 200000 maximum", "prompt too long"),
    (LMMS + "The decoder prompt (length 9000) is longer than the maximum model length of 8192", "prompt too long"),
    (LMMS + "'str' object has no attribute 'choices'", "bad reply"),
    (LMMS + "Expecting value: line 1 column 1 (char 0)", "bad reply"),
    (LMMS + "Unterminated string starting at: line 1 column 30 (char 29)", "bad reply"),
    (LMMS + "Expecting ',' delimiter: line 1 column 107 (char 106)", "bad reply"),
    (LMMS + "'NoneType' object is not subscriptable", "bad reply"),
    (LMMS + "'NoneType' object has no attribute 'split'", "reasoning only"),
    (LMMS + "unknown error", "unknown"),
    ('Error: can only concatenate str (not "NoneType") to str', "reasoning only"),
    ("[LMMS_EVAL_BUDGET_EXCEEDED]", "over budget"),
    (KIT, "unknown"),
    (f"{KIT} ", "unknown"),
    (f"{KIT} [rate limit] HTTP 429", "rate limit"),
    (f"{KIT} [no connection] ConnectionError: Name resolution timed out", "no connection"),
    ("Failed to obtain answer via API. : Failed with all possible conversation turns.", "unknown"),
    ("Failed to obtain answer: <class 'RuntimeError'> CUDA out of memory", "unknown"),
    ("Failed to retrieve GPT-4 response after maximum retries.", "unknown"),
    ("<!DOCTYPE html><html><head><title>Sign in</title></head><body>A</body></html>", "bad reply"),
    ("Error code: 429", "rate limit"),
    ("failed", "unknown"),
    ("", "empty"),
    (" \n", "empty"),
    (math.nan, "empty"),
    (None, "reasoning only"),
    ("<think>The cup moved, so A.</think>\n", "reasoning only"),
]


@pytest.mark.parametrize(("reply", "kind"), FOUND)
def test_a_failure_is_told_by_its_class_and_never_scores(reply: object, kind: str) -> None:
    assert failure_of(reply) == kind
    assert kind in CLASSES
    if reply is None or isinstance(reply, str):
        reading = read_reply(reply, OPTIONS)
        assert reading.letters == ()
        assert reading.outcome in (Outcome.empty, Outcome.error)


@pytest.mark.parametrize(
    "reply",
    [
        "B",
        "None",
        "NA",
        "I am sorry, I cannot help.",
        "The man failed to lift it. The answer is B.",
        "<think>The cup moved, so",
        "<think>Hm.</think>B",
        "The request timed out in the video, so B.",
        "<b>A</b>",
        "Error bars differ: C",
        "Error code: 404 is on the screen, so B.",
    ],
)
def test_whatever_a_model_says_is_no_failure(reply: str) -> None:
    assert failure_of(reply) is None


PIECES = st.sampled_from(
    [
        "<think>",
        "</think>",
        "A",
        "B.",
        " ",
        "\n",
        "```",
        "**",
        KIT,
        LMMS,
        "failed",
        "<html>",
        "Error code: 500",
        "[/THINK]",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join), st.none()))
def test_a_reply_is_a_failure_just_when_it_is_read_as_empty_or_an_error(reply: str | None) -> None:
    outcome = read_reply(reply, OPTIONS).outcome
    assert (failure_of(reply) is not None) == (outcome in (Outcome.empty, Outcome.error))


@pytest.mark.parametrize(
    ("status", "kind"),
    [(500, "server error"), (502, "server error"), (529, "server error"), (429, "rate limit"), (408, "time-out"),
     (504, "time-out"), (400, "request rejected"), (404, "request rejected")],
)  # fmt: skip
def test_a_status_says_its_class(status: int, kind: str) -> None:
    assert failures.class_of_status(status) == kind


def test_prompts_that_are_too_long_come_with_advice_and_other_failures_with_none() -> None:
    assert failures.advice(Tally.of([("error", "time-out"), ("parsed", "")])) == ""
    advised = failures.advice(Tally.of([("error", "prompt too long")] * 3))
    assert advised.startswith("The model takes less than 3 of the prompts hold")
    assert "SPOTDIFF_MAX_NEW_TOKENS" in advised


def test_a_tally_counts_every_question_once() -> None:
    entries = [("parsed", ""), ("none", ""), ("truncated", ""), ("none", ""), ("error", "time-out"), ("empty", "empty")]
    tally = Tally.of(entries)
    assert str(tally) == "6 asked, 4 answered, 2 failed (empty 1, time-out 1), 3 unparsed (none 2, truncated 1)"
    assert str(Tally(2, {}, None)) == "2 asked, 2 answered, 0 failed"
    assert str(Tally.of([])) == "0 asked, 0 answered, 0 failed, 0 unparsed"


def test_the_share_that_may_fail_is_included() -> None:
    tally = Tally(10, {"time-out": 1}, {})
    assert tally.exceeds(0)
    assert tally.exceeds(0.09)
    assert not tally.exceeds(0.1)
    assert not Tally(10, {}, {}).exceeds(0)
    assert not Tally(100, {"time-out": 29}, {}).exceeds(0.29)


def test_the_share_that_may_fail_is_taken_out_of_a_command_line() -> None:
    assert take_share(["--model", "x", "--limit", "-1"]) == (None, ["--model", "x", "--limit", "-1"])
    assert take_share(["--a", "b", "--max-failures", "0.25", "--c=d"]) == (0.25, ["--a", "b", "--c=d"])
    assert take_share(["--max-failures=1"]) == (1.0, [])


@pytest.mark.parametrize("words", [["1.1"], ["-0.1"], ["nan"], ["many"], [""], []])
def test_a_share_lies_between_0_and_1(words: list[str]) -> None:
    with pytest.raises(SettingError, match="--max-failures takes the share"):
        take_share(["--max-failures", *words])
