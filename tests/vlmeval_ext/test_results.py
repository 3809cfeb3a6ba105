from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.scoring import Scored
from vlmeval_ext.results import figures


def scored(number: int, right: bool, parsed: bool = True) -> Scored:
    return Scored(
        id=str(number),
        score=float(right and parsed),
        chance=0.25,
        letters=("A",) if parsed else (),
        gold=("A",) if right else ("B",),
        outcome="parsed" if parsed else "none",
        cluster=str(number),
        options=4,
        extra={"acc_release": float(right)},
    )


def rows(*right: bool) -> list[Scored]:
    return [scored(number, each) for number, each in enumerate(right)]


def test_the_figure_of_several_settings_is_the_mean_of_their_means() -> None:
    found = figures({"a": rows(True), "b": rows(True, False, False, False)}, {"a": 1, "b": 4})
    assert found["acc"] == (1 + 1 / 4) / 2
    assert found["acc_release"] == found["acc"]
    assert (found["a/acc"], found["b/acc"]) == (1, 0.25)
    assert (found["questions"], found["coverage"]) == (5, 1)


def test_settings_can_weigh_differently() -> None:
    found = figures({"a": rows(True), "b": rows(False)}, {"a": 1, "b": 1}, {"a": 3, "b": 1})
    assert found["acc"] == 0.75


def test_where_a_group_is_balanced_each_of_its_values_weighs_the_same() -> None:
    indoor = [replace(row, groups={"scene": "indoor"}) for row in rows(True, True, True, False)]
    outdoor = [replace(scored(9, False), groups={"scene": "outdoor"})]
    found = figures({"a": indoor + outdoor}, {"a": 5}, balanced="scene")
    assert found["acc"] == pytest.approx((3 / 4 + 0) / 2)


def test_without_every_setting_there_is_no_joint_figure() -> None:
    found = figures({"a": rows(True)}, {"a": 2, "b": 8})
    assert "acc" not in found
    assert found["a/acc"] == 1
    assert (found["questions"], found["coverage"]) == (1, 0.1)


def test_one_setting_is_reported_without_its_name() -> None:
    found = figures({"a": rows(True, False)}, {"a": 2})
    assert found["acc"] == 0.5
    assert not any("/" in name for name in found if not name.startswith("outcome/"))


def test_outcomes_are_counted() -> None:
    found = figures({"a": [scored(1, True), scored(2, True, parsed=False)]}, {"a": 2})
    assert (found["outcome/parsed"], found["outcome/none"]) == (1, 1)
    assert (found["parsed"], found["acc"], found["acc_release"]) == (0.5, 0.5, 1)


def test_failures_are_counted_by_class_and_left_out_of_acc_answered() -> None:
    late = replace(scored(2, True, parsed=False), outcome="error", failure="time-out")
    found = figures({"a": [scored(1, True), late], "b": rows(False, True)}, {"a": 2, "b": 2})
    assert (found["acc"], found["acc_answered"], found["failed"]) == (0.5, 0.75, 0.25)
    assert (found["a/acc_answered"], found["failure/time-out"], found["outcome/error"]) == (1, 1, 1)


def test_where_a_whole_setting_failed_there_is_no_acc_answered() -> None:
    late = replace(scored(1, True, parsed=False), outcome="error", failure="time-out")
    found = figures({"a": [late], "b": rows(True)}, {"a": 1, "b": 1})
    assert (found["acc"], found["failed"], found["b/acc_answered"]) == (0.5, 0.5, 1)
    assert not {"acc_answered", "a/acc_answered"} & set(found)


SETTINGS = st.dictionaries(
    st.sampled_from("abc"), st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1), min_size=1
)


@given(SETTINGS)
def test_figures_are_plain_finite_numbers_and_agree_with_counting(drawn: dict[str, list[tuple[bool, bool]]]) -> None:
    by_setting = {
        name: [scored(number, right, parsed) for number, (right, parsed) in enumerate(entries)]
        for name, entries in drawn.items()
    }
    found = figures(by_setting, {name: len(entries) for name, entries in drawn.items()})
    assert all(type(value) in (int, float) and math.isfinite(value) for value in found.values())
    shares = [sum(right and parsed for right, parsed in entries) / len(entries) for entries in drawn.values()]
    assert found["acc"] == pytest.approx(sum(shares) / len(shares))
    assert found["chance"] == pytest.approx(0.25)
