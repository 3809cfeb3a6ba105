"""The release's own extraction of M4Bench, faults included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.benchmarks.m4bench.release import release_letter

YES_NO = {"A": "Yes", "B": "No"}
BOXES = {
    "A": "[10, 20, 30, 40] in figure 1 and [10, 20, 30, 40] in figure 2",
    "B": "[50, 60, 70, 80] in figure 1 and [50, 60, 70, 80] in figure 2",
    "C": "[15, 25, 35, 45] in figure 1 and [15, 25, 35, 45] in figure 2",
    "D": "No difference.",
}


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        ("(B)", "B"),
        ("**B**:", "B"),
        ("{B}", "B"),
        ("Answer:C", "C"),
        ("B. [50, 60, 70, 80] in figure 1", "B"),
        ("It is not A.", "A"),
    ],
)
def test_a_single_option_letter_among_the_words_is_the_answer(reply: str, letter: str) -> None:
    assert release_letter(reply, BOXES) == letter


@pytest.mark.parametrize("mark", list(".()[],:;!*#{}"))
def test_each_listed_mark_is_a_blank(mark: str) -> None:
    assert release_letter(f"x{mark}B{mark}y", BOXES) == "B"


@pytest.mark.parametrize("mark", list("?-/'\"_<>|"))
def test_no_other_mark_is_a_blank(mark: str) -> None:
    assert release_letter(f"x{mark}B{mark}y", BOXES) is None


def test_the_article_a_counts_as_the_letter() -> None:
    assert release_letter("A red car moved.", BOXES) == "A"


def test_a_small_letter_is_no_letter() -> None:
    assert release_letter("b", BOXES) is None


def test_a_passing_mention_of_one_options_text_decides_when_several_letters_stand_in_the_reply() -> None:
    assert release_letter("A moved, D says no difference. So the answer is A.", BOXES) == "D"


def test_text_is_found_in_any_case_and_with_its_boxes() -> None:
    assert release_letter("IT IS [50, 60, 70, 80] IN FIGURE 1 AND [50, 60, 70, 80] IN FIGURE 2", BOXES) == "B"


def test_text_is_found_within_a_word() -> None:
    assert release_letter("I know them.", YES_NO) == "B"


def test_two_texts_decide_nothing() -> None:
    assert release_letter("Yes and no", YES_NO) is None


def test_a_letter_goes_before_a_text() -> None:
    assert release_letter("A: no", YES_NO) == "A"


def test_the_api_failure_text_decides_nothing() -> None:
    assert release_letter("Failed to obtain answer via API.", YES_NO) is None


def test_a_letter_that_is_no_option_decides_nothing() -> None:
    assert release_letter("C", YES_NO) is None


def test_an_empty_reply_decides_nothing() -> None:
    assert release_letter("", BOXES) is None


@given(st.text(max_size=60))
def test_the_letter_is_an_option_or_none(reply: str) -> None:
    assert release_letter(reply, BOXES) in {*BOXES, None}
