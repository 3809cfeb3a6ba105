"""The words that every table shares."""

from dataclasses import replace

import pytest

from spotdiff.reporting import notes, percent
from spotdiff.scoring import Scored


@pytest.mark.parametrize(
    ("share", "text"), [(None, "-"), (0.0, "0.0"), (1.0, "100.0"), (1 / 3, "33.3"), (0.9996, "100.0"), (0.0004, "0.0")]
)
def test_a_share_is_a_percentage_with_one_decimal(share: float | None, text: str) -> None:
    assert percent(share) == text


def row(number: int, letter: str, gold: str, outcome: str = "parsed") -> Scored:
    right = outcome == "parsed" and letter == gold
    return Scored(
        id=str(number),
        score=float(right),
        chance=0.5,
        letters=(letter,) if outcome == "parsed" else (),
        gold=(gold,),
        outcome=outcome,
        cluster=str(number),
        options=2,
    )


def test_replies_that_were_all_read_need_no_second_figure() -> None:
    assert notes([row(1, "A", "A"), row(2, "A", "B")]) == [
        "Replies: 2 of 2 parsed.",
        "Letters, predicted/gold in %: A 100.0/50.0, B 0.0/50.0.",
    ]


def test_what_became_of_the_other_replies_is_counted() -> None:
    rows = [row(1, "A", "A"), row(2, "", "B", "none"), row(3, "", "B", "refused"), row(4, "", "B", "none")]
    assert notes(rows)[0] == (
        "Replies: 1 of 4 parsed. The others score 0: none 2, refused 1. acc 25.0 over all, 100.0 over the parsed."
    )


def test_replies_none_of_which_was_read_have_no_mean_over_the_parsed() -> None:
    assert "acc 0.0 over all, - over the parsed" in notes([row(1, "", "A", "error")])[0]


def test_failures_are_said_by_class_beside_what_the_score_would_be_without_them() -> None:
    rows = [row(1, "A", "A"), row(2, "", "B", "none"), row(3, "", "B", "error"), row(4, "", "B", "empty")]
    rows[2:] = [replace(rows[2], failure="time-out"), replace(rows[3], failure="reasoning only")]
    assert notes(rows)[0].endswith(
        "acc 25.0 over all, 100.0 over the parsed. 2 failed (time-out 1, reasoning only 1): without them acc_answered "
        "would be 50.0."
    )


def test_nothing_scored_is_said() -> None:
    assert notes([]) == ["No question was scored."]
