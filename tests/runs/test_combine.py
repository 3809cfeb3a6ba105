"""Means over repeated runs, and ways of asking beside each other."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.errors import SpotdiffError
from spotdiff.runs.combine import comparisons, joined, means
from spotdiff.runs.read import Run
from spotdiff.scoring import Scored, overall


def scored(number: int, right: bool, gold: str = "A") -> Scored:
    return Scored(
        id=f"ego/{number}",
        score=float(right),
        chance=0.25,
        letters=(gold if right else "D",),
        gold=(gold,),
        outcome="parsed",
        cluster=f"clip {number}",
        options=4,
        groups={
            "setting": "ego",
            "subtask": "ego",
            "direction": (),
            "scene": "indoor" if number % 2 else "outdoor",
            "source": "WEAR",
            "future": (),
            "kinds": (),
            "group": (),
        },
    )


def run(*right: bool, name: str = "run", model: str = "m", family: str = "egoexo_next") -> Run:
    rows = [scored(number, each) for number, each in enumerate(right)]
    return Run(name, model, {family: rows}, {family: {"ego": 607}})


ANSWERS = st.integers(1, 6).flatmap(
    lambda size: st.lists(st.lists(st.booleans(), min_size=size, max_size=size), min_size=1, max_size=4)
)


@given(ANSWERS)
def test_the_mean_over_runs_is_the_mean_of_their_averages(drawn: list[list[bool]]) -> None:
    (found,) = means([run(*answers, name=f"run {number}") for number, answers in enumerate(drawn)])
    averages = [sum(answers) / len(answers) for answers in drawn]
    estimate = overall(found.scored["egoexo_next"])
    assert estimate.mean == pytest.approx(sum(averages) / len(averages))
    assert estimate.clusters == len(drawn[0])
    assert found.expected == {"egoexo_next": {"ego": 607 * len(drawn)}}
    assert found.name == f"m, mean of {len(drawn)} run{'s' * (len(drawn) > 1)}"


def test_every_answer_of_every_run_is_told_apart() -> None:
    (found,) = means([run(True, False), run(False, False)])
    rows = found.scored["egoexo_next"]
    assert [row.id for row in rows] == ["ego/0 (run 1)", "ego/1 (run 1)", "ego/0 (run 2)", "ego/1 (run 2)"]
    assert [row.groups["run"] for row in rows] == ["1", "1", "2", "2"]


def test_each_model_has_a_mean_of_its_own() -> None:
    found = means([run(True), run(False, model="other"), run(False)])
    assert [(entry.model, overall(entry.scored["egoexo_next"]).mean) for entry in found] == [("m", 0.5), ("other", 0)]


def test_runs_on_other_questions_have_no_mean() -> None:
    with pytest.raises(SpotdiffError, match=r"two did not ask the questions of one in egoexo_next: 1 differ, ego/1"):
        means([run(True, True, name="one"), run(True, name="two")])


def test_ways_of_asking_are_compared_within_a_model_across_its_runs() -> None:
    runs = [
        run(True, True, False, False),
        run(False, False, False, False, family="egoexo_next_candidate_only"),
        run(True, True, True, True, model="other"),
    ]
    (found,) = comparisons(runs)
    assert found.title == "m, egoexo_next: controls"
    assert len(found.rows) == 2


def numbered(numbers: Iterable[int], name: str, model: str = "m", family: str = "egoexo_next") -> Run:
    return Run(name, model, {family: [scored(number, True) for number in numbers]}, {family: {"ego": 607}})


def test_runs_that_ask_different_questions_of_a_model_are_one() -> None:
    runs = [
        numbered([0, 1], "a"),
        numbered([2], "b"),
        numbered([3], "c", "other"),
        numbered([0], "d", family="m4bench"),
    ]
    found = joined(runs)
    assert [(run.name, run.model, sorted(run.scored)) for run in found] == [
        ("a and 2 more", "m", ["egoexo_next", "m4bench"]),
        ("c", "other", ["egoexo_next"]),
    ]
    assert [row.id for row in found[0].scored["egoexo_next"]] == ["ego/0", "ego/1", "ego/2"]
    assert found[0].expected == {"egoexo_next": {"ego": 607}, "m4bench": {"ego": 607}}


def test_repeated_runs_stay_apart_and_parts_fill_them_in_their_order() -> None:
    runs = [numbered([0], "a"), numbered([1], "b"), numbered([0], "c"), numbered([1], "d")]
    assert [run.name for run in joined(runs)] == ["a and 1 more", "c and 1 more"]
    (mean,) = means(joined(runs))
    assert len(mean.scored["egoexo_next"]) == 4


def test_the_run_with_the_most_answers_is_compared() -> None:
    runs = [
        run(True, True, name="whole"),
        run(False, name="a try"),
        run(True, True, family="egoexo_next_shuffled"),
    ]
    (found,) = comparisons(runs)
    assert next(row for row in found.rows if row[0].endswith("Full Sequence"))[-1] == "2"


def test_of_several_whole_runs_on_the_same_the_last_one_is_compared() -> None:
    runs = [
        run(True, True, name="first"),
        run(False, False, name="second"),
        run(True, True, family="egoexo_next_shuffled"),
    ]
    (found,) = comparisons(runs)
    full = next(row for row in found.rows if row[0].endswith("Full Sequence"))
    assert full[1] == "-"
    assert full[-1] == "2"


def test_a_model_without_controls_is_compared_with_nothing() -> None:
    assert comparisons([run(True)]) == []
