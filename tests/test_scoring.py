"""Scores, averages and their errors, against definitions written another way."""

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
import statsmodels.api as sm  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from spotdiff.scoring import (
    OUTCOMES,
    Estimate,
    Mean,
    Scored,
    answered_only,
    balanced_mean,
    by_group,
    chance,
    estimate,
    letter_distribution,
    outcomes,
    overall,
    paired_difference,
    parsed_only,
    subset_score,
    unweighted_mean,
    weighted_mean,
)

LETTERS = "ABCD"


def subsets(letters: str) -> list[tuple[str, ...]]:
    return [subset for size in range(len(letters) + 1) for subset in itertools.combinations(letters, size)]


def row(name: str = "q", **changes: Any) -> Scored:
    fields: dict[str, Any] = {
        "id": name,
        "score": 1.0,
        "chance": 0.25,
        "letters": ("A",),
        "gold": ("A",),
        "outcome": "parsed",
        "cluster": name,
        "options": 4,
    }
    return Scored(**{**fields, **changes})


def unparsed(name: str, outcome: str = "none", **changes: Any) -> Scored:
    return row(name, **{"score": 0.0, "letters": (), "outcome": outcome, **changes})


# --- one answer ---------------------------------------------------------------------------------------------------


def test_subset_score_is_the_share_of_gold_letters_found_unless_a_wrong_one_is_among_them() -> None:
    for gold in subsets(LETTERS)[1:]:
        for predicted in subsets(LETTERS):
            hits = sum(letter in predicted for letter in gold)
            wrong = sum(letter not in gold for letter in predicted)
            assert subset_score(predicted, gold) == (0 if wrong else hits / len(gold))


def test_order_and_repeats_of_letters_do_not_change_the_score() -> None:
    for length in range(5):
        for predicted in itertools.product("ABC", repeat=length):
            for gold in itertools.product("ABC", repeat=2):
                assert subset_score(predicted, gold) == subset_score(sorted(set(predicted)), frozenset(gold))


def test_three_gold_letters_score_in_thirds() -> None:
    assert [subset_score(p, "ABD") for p in ("", "A", "DA", "BDA", "ABCD", "C")] == [0, 1 / 3, 2 / 3, 1, 0, 0]


def test_a_question_without_gold_letters_cannot_be_scored() -> None:
    with pytest.raises(ValueError, match="gold"):
        subset_score(["A"], [])


@pytest.mark.parametrize("options", [1, 2, 3, 4, 7])
def test_chance_is_the_average_score_over_all_single_letters(options: int) -> None:
    letters = "ABCDEFG"[:options]
    for gold in subsets(letters)[1:]:
        expected = sum(subset_score(letter, gold) for letter in letters) / options
        assert chance(options, len(gold)) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("options", "gold"), [(0, 1), (4, 0), (2, 3), (-1, 1)])
def test_chance_rejects_impossible_counts(options: int, gold: int) -> None:
    with pytest.raises(ValueError, match="gold"):
        chance(options, gold)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": 1.1}, "score must lie"),
        ({"score": -0.1}, "score must lie"),
        ({"score": math.nan}, "score must lie"),
        ({"chance": 25}, "chance must lie"),
        ({"extra": {"acc_release": math.nan}}, "acc_release must lie"),
        ({"extra": {"score": 1.0}}, "main metric"),
        ({"outcome": "Parsed"}, "unknown outcome"),
        ({"outcome": "ambiguous"}, "cannot score"),
        ({"letters": ()}, "needs a letter"),
        ({"gold": ()}, "gold letters"),
        ({"gold": ("A", "B", "C"), "options": 2}, "gold letters"),
        ({"options": 27}, "27 options"),
        ({"cluster": ""}, "empty cluster"),
    ],
)
def test_a_scored_answer_that_cannot_be_true_is_rejected_by_name(changes: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        row("scene-7", **changes)
    assert "scene-7" in str(error.value)


# --- the mean and its error ---------------------------------------------------------------------------------------

scores = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0]) | st.floats(0, 1)
clustered_scores = st.lists(st.tuples(scores, st.sampled_from("abcdefg")), min_size=1, max_size=40)
two_clusters_or_more = clustered_scores.filter(lambda pairs: len({cluster for _, cluster in pairs}) > 1)


def estimate_pairs(pairs: Sequence[tuple[float, str]]) -> Estimate:
    return estimate([value for value, _ in pairs], [cluster for _, cluster in pairs])


@settings(max_examples=150, deadline=None)
@given(two_clusters_or_more)
def test_the_error_is_that_of_a_regression_on_a_constant_with_clustered_covariance(
    pairs: list[tuple[float, str]],
) -> None:
    values = np.array([value for value, _ in pairs])
    codes = np.array(["abcdefg".index(cluster) for _, cluster in pairs])
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": codes, "use_correction": True}, use_t=True
    )
    result = estimate_pairs(pairs)
    assert result.mean == pytest.approx(fit.params[0], abs=1e-9)
    assert result.stderr == pytest.approx(fit.bse[0], abs=1e-9)
    assert (result.n, result.clusters) == (len(pairs), len(set(codes.tolist())))
    interval = result.interval(0.9)
    if interval is not None:
        assert interval == pytest.approx(tuple(fit.conf_int(alpha=0.1)[0]), abs=1e-9)


@given(two_clusters_or_more)
def test_the_error_is_a_double_sum_over_pairs_of_questions_that_share_a_cluster(pairs: list[tuple[float, str]]) -> None:
    n, count = len(pairs), len({cluster for _, cluster in pairs})
    mean = sum(value for value, _ in pairs) / n
    total = 0.0
    for value, cluster in pairs:
        for other, other_cluster in pairs:
            if cluster == other_cluster:
                total += (value - mean) * (other - mean)
    variance = count / (count - 1) * total / n**2
    stderr = estimate_pairs(pairs).stderr
    assert stderr is not None
    assert stderr**2 == pytest.approx(variance, abs=1e-12)


@given(st.lists(scores, min_size=2, max_size=40))
def test_without_shared_clusters_the_error_is_the_sample_deviation_by_the_root_of_n(values: list[float]) -> None:
    expected = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    assert estimate(values, [str(i) for i in range(len(values))]).stderr == pytest.approx(expected, abs=1e-12)


def test_copies_of_a_question_in_its_cluster_add_no_certainty() -> None:
    values, names = [0.0, 1.0, 1.0, 0.5], ["a", "b", "c", "d"]
    once, five = estimate(values, names), estimate(values * 5, names * 5)
    assert five.stderr == pytest.approx(once.stderr, abs=1e-15)
    assert (five.n, five.clusters) == (20, 4)


@given(clustered_scores)
def test_the_mean_lies_between_the_lowest_and_the_highest_score(pairs: list[tuple[float, str]]) -> None:
    mean = estimate_pairs(pairs).mean
    assert mean is not None
    assert min(value for value, _ in pairs) <= mean <= max(value for value, _ in pairs)


@given(clustered_scores, st.randoms(use_true_random=False))
def test_the_order_of_questions_and_the_names_of_clusters_do_not_matter(
    pairs: list[tuple[float, str]], rng: random.Random
) -> None:
    names = [f"scene {i}" for i in range(7)]
    rng.shuffle(names)
    moved = [(value, names["abcdefg".index(cluster)]) for value, cluster in pairs]
    rng.shuffle(moved)
    first, second = estimate_pairs(pairs), estimate_pairs(moved)
    assert (first.mean, first.n, first.clusters) == (second.mean, second.n, second.clusters)
    assert first.stderr == pytest.approx(second.stderr, abs=1e-15)


def test_no_questions_give_no_mean_and_one_cluster_gives_no_error() -> None:
    assert estimate([], []) == Estimate(None, None, 0, 0, None)
    assert estimate([0, 1], ["a", "a"], chance=0.5) == Estimate(0.5, None, 2, 1, 0.5)
    assert estimate([0, 1], ["a", "a"]).interval() is None


@pytest.mark.parametrize(
    ("values", "clusters", "guess", "message"),
    [
        ([0.5], ["a", "b"], None, "1 values but 2 clusters"),
        ([0.5, math.nan], ["a", "b"], None, "value 1 must lie"),
        ([0.5, math.inf], ["a", "b"], None, "value 1 must lie"),
        ([50.0], ["a"], None, "value 0 must lie"),
        ([0.5], ["a"], math.nan, "chance must lie"),
    ],
)
def test_bad_numbers_are_rejected_with_their_place(
    values: list[float], clusters: list[str], guess: float | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        estimate(values, clusters, guess)


def test_results_are_plain_python_numbers_even_from_numpy() -> None:
    result = estimate(np.array([0.0, 0.5, 1.0]), ["a", "b", "c"], np.float64(0.25))  # type: ignore[arg-type]
    assert [type(v) for v in (result.mean, result.stderr, result.chance, result.n)] == [float, float, float, int]
    assert type(estimate([1, 1], ["a", "b"]).mean) is float


# --- intervals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.1, 0.5, 0.8, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("df", [*range(1, 33), 99, 100, 1000, 2931])
def test_half_width_in_standard_errors_is_the_student_quantile(df: int, level: float) -> None:
    interval = Estimate(0.0, 1.0, n=5 * df, clusters=df + 1).interval(level)
    assert interval is not None
    assert interval[1] == pytest.approx(scipy.stats.t.ppf((1 + level) / 2, df), rel=1e-9)
    assert interval[0] == -interval[1]


def test_an_interval_is_not_clipped_at_the_ends_of_the_range() -> None:
    interval = estimate([1.0] * 9 + [0.0], [str(i) for i in range(10)]).interval()
    assert interval is not None
    assert interval[1] > 1
    assert sum(interval) / 2 == pytest.approx(0.9)


@pytest.mark.parametrize("value", [0.0, 1 / 3, 0.1, 1.0])
def test_scores_without_variation_claim_no_interval(value: float) -> None:
    result = estimate([value] * 7, [str(i) for i in range(7)])
    assert (result.mean, result.stderr, result.interval()) == (value, 0.0, None)
    balanced = estimate([0.0, value] * 7, [str(i // 2) for i in range(14)])
    assert balanced.interval() is None


@pytest.mark.parametrize("level", [0.0, 1.0, 95, math.nan])
def test_a_level_that_is_no_probability_is_rejected(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        Estimate(0.5, 0.1, 10, 10).interval(level)


def simulated_coverage(cluster_name: Callable[[int, int], str], repeats: int = 1500) -> float:
    """Share of 95 % intervals that hold the true mean; scenes differ in difficulty, scores are halves or thirds."""
    rng = random.Random(20240607)
    held = 0
    for _ in range(repeats):
        values, clusters = [], []
        for scene in range(50):
            skill = rng.choice([0.2, 0.5, 0.8])
            for question in range(rng.randint(1, 6)):
                best = rng.choice([1.0, 1.0, 0.5, 1 / 3])
                values.append(best if rng.random() < skill else 0.0)
                clusters.append(cluster_name(scene, question))
        interval = estimate(values, clusters).interval()
        truth = 0.5 * (1 + 1 + 0.5 + 1 / 3) / 4
        held += interval is not None and interval[0] <= truth <= interval[1]
    return held / repeats


def test_a_95_percent_interval_holds_the_truth_in_about_95_percent_of_clustered_samples() -> None:
    assert 0.93 <= simulated_coverage(lambda scene, question: f"{scene}") <= 0.97


def test_ignoring_the_clusters_of_the_same_samples_would_hold_the_truth_too_rarely() -> None:
    assert simulated_coverage(lambda scene, question: f"{scene}/{question}") < 0.93


# --- tables -------------------------------------------------------------------------------------------------------


def test_a_row_counts_in_each_of_its_groups_in_order_of_first_appearance() -> None:
    rows = [
        row("1", score=1.0, groups={"capability": ("temporal", "spatial", "temporal")}),
        row("2", score=0.0, groups={"capability": "reasoning"}),
        row("3", score=0.5, groups={"capability": ("spatial",)}),
        row("4", score=0.5, groups={"capability": ()}),
    ]
    result = by_group(rows, "capability")
    assert list(result) == ["temporal", "spatial", "reasoning"]
    assert {name: (part.mean, part.n) for name, part in result.items()} == {
        "temporal": (1.0, 1),
        "spatial": (0.75, 2),
        "reasoning": (0.0, 1),
    }


def test_a_group_average_is_the_overall_average_of_its_rows_alone() -> None:
    rng = random.Random(3)
    rows = [
        row(str(i), score=rng.random(), cluster=str(i % 5), chance=1 / (2 + i % 3), groups={"side": rng.choice("xy")})
        for i in range(40)
    ]
    for name, part in by_group(rows, "side").items():
        assert part == overall([r for r in rows if r.groups["side"] == name])


def test_a_row_without_the_group_is_an_error_and_not_left_out() -> None:
    with pytest.raises(ValueError, match=r"'2' has no group 'side'.*'scene'"):
        by_group([row("1", groups={"side": "x"}), row("2", groups={"scene": "y"})], "side")


def test_overall_reports_mean_chance_questions_and_clusters() -> None:
    rows = [
        row("1", chance=0.5, cluster="a"),
        row("2", score=0.0, chance=0.25, cluster="a"),
        unparsed("3", chance=0.25, cluster="b"),
    ]
    result = overall(iter(rows))
    assert result.mean == pytest.approx(1 / 3)
    assert (result.n, result.clusters) == (3, 2)
    assert result.chance == pytest.approx(1 / 3)
    assert overall([]) == Estimate(None, None, 0, 0, None)


def test_an_extra_metric_is_averaged_under_its_name_and_borrows_no_chance() -> None:
    rows = [
        row("1", score=1.0, extra={"acc_release": 0.0}, groups={"g": "x"}),
        unparsed("2", extra={"acc_release": 1.0}, groups={"g": "y"}),
        unparsed("3", extra={"acc_release": 1.0}, groups={"g": "y"}),
    ]
    assert overall(rows, "acc_release").mean == pytest.approx(2 / 3)
    assert overall(rows, "acc_release").chance is None
    assert {name: part.mean for name, part in by_group(rows, "g", "acc_release").items()} == {"x": 0.0, "y": 1.0}
    assert parsed_only(rows, "acc_release").mean == 0.0


def test_a_metric_that_a_row_lacks_is_an_error_that_names_the_row() -> None:
    with pytest.raises(ValueError, match="'2' has no metric 'acc_release'"):
        overall([row("1", extra={"acc_release": 1.0}), row("2")], "acc_release")


def test_accuracy_over_parsed_replies_leaves_out_every_other_outcome() -> None:
    rows = [row("right", chance=0.5), row("wrong", score=0.0), *(unparsed(name, name) for name in OUTCOMES[1:])]
    result = parsed_only(rows)
    assert (result.mean, result.n, result.chance) == (0.5, 2, 0.375)
    assert overall(rows).mean == pytest.approx(1 / 9)


def test_accuracy_over_answered_questions_leaves_out_failures_alone() -> None:
    rows = [row("right"), row("wrong", score=0.0), *(unparsed(name, name) for name in OUTCOMES[1:])]
    result = answered_only(rows)
    assert (result.mean, result.n) == (1 / 7, 7)
    assert {row.outcome for row in rows if row.failed} == {"empty", "error"}


def test_an_answer_has_no_class_of_failure() -> None:
    assert unparsed("1", "error", failure="time-out").failure == "time-out"
    with pytest.raises(ValueError, match="'1': outcome 'none' is an answer, no 'time-out'"):
        unparsed("1", "none", failure="time-out")


def test_outcomes_are_counted_under_all_names_in_fixed_order_with_zeros() -> None:
    rows = [row("1"), row("2"), unparsed("3", "error"), unparsed("4", "ambiguous")]
    assert list(outcomes(rows).items()) == [
        ("parsed", 2),
        ("none", 0),
        ("ambiguous", 1),
        ("invalid", 0),
        ("refused", 0),
        ("empty", 0),
        ("truncated", 0),
        ("error", 1),
    ]


# --- paired differences -------------------------------------------------------------------------------------------


def test_a_paired_difference_is_the_mean_of_differences_with_their_clustered_error() -> None:
    rng = random.Random(11)
    first = [row(str(i), score=rng.random(), cluster=str(i % 6)) for i in range(30)]
    second = [row(str(i), score=rng.random(), cluster=str(i % 6)) for i in range(30)]
    gaps = [a.score - b.score for a, b in zip(first, second, strict=True)]
    fit = sm.OLS(gaps, np.ones(30)).fit(cov_type="cluster", cov_kwds={"groups": np.arange(30) % 6})
    result = paired_difference(first, second[::-1])
    assert result.mean == pytest.approx(fit.params[0], abs=1e-12)
    assert result.stderr == pytest.approx(fit.bse[0], abs=1e-12)
    assert (result.n, result.clusters, result.chance) == (30, 6, None)


def test_a_paired_difference_can_be_negative_and_takes_other_metrics() -> None:
    worse = [unparsed("1", extra={"m": 1.0}), unparsed("2", extra={"m": 1.0})]
    better = [row("1", extra={"m": 0.5}), row("2", extra={"m": 1.0})]
    assert paired_difference(worse, better).mean == -1.0
    assert paired_difference(worse, better, "m").mean == 0.25


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ([row("1")], "1 questions stand on one side only, '2'"),
        ([row("1"), row("2"), row("2")], "'2' occurs twice"),
        ([row("1"), row("2", gold=("B",))], "'2' differs"),
        ([row("1"), row("2", cluster="other")], "'2' differs"),
    ],
)
def test_runs_over_different_questions_are_not_compared(second: list[Scored], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_difference([row("1"), row("2")], second)


# --- means over settings ------------------------------------------------------------------------------------------


def part(mean: float, stderr: float | None = 0.1, guess: float | None = 0.25, n: int = 10) -> Estimate:
    return Estimate(mean, stderr, n, n, guess)


def test_a_complete_mean_weighs_settings_alike_whatever_their_size() -> None:
    result = unweighted_mean({"b": part(0.9, 0.3, 0.5, n=1000), "a": part(0.1, 0.4)}, ["a", "b"])
    assert result.mean == result.mean_covered == result.mean_missing_zero == 0.5
    assert result.stderr == pytest.approx(0.25)
    assert result.chance == 0.375
    assert (result.covered, result.missing, result.coverage) == (("a", "b"), (), "2/2")


def test_an_incomplete_mean_is_withheld_and_its_substitutes_say_what_they_cover() -> None:
    names = [f"setting {i}" for i in range(8)]
    parts = {names[5]: part(0.8), names[2]: part(0.688), names[0]: None, names[1]: Estimate(None, None, 0, 0)}
    result = unweighted_mean(parts, names)
    assert (result.mean, result.stderr, result.chance) == (None, None, None)
    assert result.mean_covered == pytest.approx(0.744)
    assert result.mean_missing_zero == pytest.approx(0.186)
    assert result.covered == (names[2], names[5])
    assert result.coverage == "2/8"
    assert result.missing == tuple(name for name in names if name not in result.covered)


def test_nothing_run_is_no_mean_and_not_zero() -> None:
    result = unweighted_mean({}, ["a", "b"])
    assert result == Mean(None, None, None, None, None, (), ("a", "b"))


def test_one_setting_without_error_leaves_the_mean_without_error() -> None:
    result = unweighted_mean({"a": part(0.5, None), "b": part(0.7, 0.1, None)}, ["a", "b"])
    assert result.mean == pytest.approx(0.6)
    assert (result.stderr, result.chance) == (None, None)


def test_a_mean_of_two_directions_can_be_a_part_and_is_missing_while_incomplete() -> None:
    both = unweighted_mean({"to exo": part(0.2), "to ego": part(0.4)}, ["to exo", "to ego"])
    half = unweighted_mean({"to exo": part(0.2)}, ["to exo", "to ego"])
    assert unweighted_mean({"next": part(0.5), "match": both}, ["next", "match"]).mean == pytest.approx(0.4)
    assert unweighted_mean({"next": part(0.5), "match": half}, ["next", "match"]).covered == ("next",)


def test_the_error_of_a_mean_is_that_of_independent_settings() -> None:
    rng = random.Random(5)
    spreads = (0.05, 0.1, 0.2)
    means = []
    for _ in range(20000):
        means.append(sum(rng.gauss(0.5, spread) for spread in spreads) / 3)
    result = unweighted_mean({str(s): part(0.5, s) for s in spreads}, [str(s) for s in spreads])
    assert result.stderr == pytest.approx(float(np.std(means)), rel=0.03)


@pytest.mark.parametrize(
    ("parts", "expected", "message"),
    [
        ({"settng": part(0.5)}, ["setting"], "settng"),
        ({}, [], "distinct"),
        ({"a": part(0.5)}, ["a", "a"], "distinct"),
    ],
)
def test_a_misspelt_or_repeated_setting_is_an_error(
    parts: dict[str, Estimate], expected: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        unweighted_mean(parts, expected)


# --- letters ------------------------------------------------------------------------------------------------------


def test_letters_are_counted_by_hand_for_a_small_run() -> None:
    rows = [
        row("1", letters=("A",), gold=("A",), score=1.0, options=2),
        row("2", letters=("A",), gold=("B",), score=0.0, options=2),
        row("3", letters=("A", "C"), gold=("A", "C", "D"), score=2 / 3, options=4),
        unparsed("4", gold=("B",), options=4),
    ]
    bias = letter_distribution(rows)
    assert (bias.n, bias.parsed) == (4, 3)
    assert list(bias.letters) == ["A", "B", "C", "D"]
    seen = bias.letters
    assert [s.predicted for s in seen.values()] == [2.5, 0.0, 0.5, 0.0]
    assert [s.gold for s in seen.values()] == pytest.approx([4 / 3, 2, 1 / 3, 1 / 3])
    assert [s.predicted_share for s in seen.values()] == pytest.approx([5 / 6, 0, 1 / 6, 0])
    assert [s.gold_share for s in seen.values()] == pytest.approx([1 / 3, 1 / 2, 1 / 12, 1 / 12])
    assert [s.chance_share for s in seen.values()] == pytest.approx([3 / 8, 3 / 8, 1 / 8, 1 / 8])
    assert [s.recall for s in seen.values()] == pytest.approx([(1 + 2 / 9) / (4 / 3), 0, 2 / 3, 2 / 3])
    assert bias.distance == pytest.approx((1 / 2 + 1 / 2 + 1 / 12 + 1 / 12) / 2)


def test_a_letter_that_is_never_right_has_no_recall_and_stays_in_the_table() -> None:
    bias = letter_distribution([row("1", letters=("D",), score=0.0), row("2")])
    assert bias.letters["D"].recall is None
    assert (bias.letters["D"].predicted, bias.letters["C"].predicted, bias.letters["A"].recall) == (1, 0, 0.5)


def test_distance_is_zero_for_matching_shares_and_one_for_disjoint_letters() -> None:
    swapped = [row("1", letters=("B",), score=0.0), row("2", gold=("B",), score=0.0)]
    assert letter_distribution(swapped).distance == 0.0
    assert letter_distribution([row("1", letters=("B",), score=0.0)]).distance == 1.0


def test_without_parsed_rows_there_is_a_gold_side_only() -> None:
    bias = letter_distribution([unparsed("1"), unparsed("2", gold=("B",))])
    assert bias.distance is None
    assert [s.predicted_share for s in bias.letters.values()] == [None] * 4
    assert [s.gold_share for s in bias.letters.values()] == [0.5, 0.5, 0, 0]
    empty = letter_distribution([])
    assert (empty.letters, empty.distance, empty.n) == ({}, None, 0)


answers = st.tuples(
    st.sets(st.sampled_from(LETTERS), min_size=1), st.sets(st.sampled_from(LETTERS), min_size=1), st.booleans()
)


@given(st.lists(answers, min_size=1, max_size=30))
def test_shares_add_up_to_one_and_recall_weighted_by_gold_is_the_mean_score(
    drawn: list[tuple[set[str], set[str], bool]],
) -> None:
    rows = [
        row(str(i), letters=tuple(letters), gold=tuple(gold), score=subset_score(letters, gold))
        if answered
        else unparsed(str(i), gold=tuple(gold))
        for i, (letters, gold, answered) in enumerate(drawn)
    ]
    bias = letter_distribution(rows)
    stats = list(bias.letters.values())
    assert sum(s.gold_share for s in stats) == pytest.approx(1)
    assert sum(s.chance_share for s in stats) == pytest.approx(1)
    assert sum(s.predicted for s in stats) == pytest.approx(bias.parsed)
    assert sum(s.gold_share * s.recall for s in stats if s.recall is not None) == pytest.approx(overall(rows).mean)
    if bias.parsed:
        assert sum(s.predicted_share or 0 for s in stats) == pytest.approx(1)
        assert bias.distance is not None
        assert -1e-12 <= bias.distance <= 1 + 1e-12


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abc")), min_size=1, max_size=30))
def test_a_balanced_mean_is_the_mean_of_the_means_of_its_strata(drawn: list[tuple[float, str]]) -> None:
    parts = {name: [value for value, stratum in drawn if stratum == name] for _, name in drawn}
    expected = sum(sum(part) / len(part) for part in parts.values()) / len(parts)
    assert balanced_mean(*zip(*drawn, strict=True)) == pytest.approx(expected)


def test_a_weighted_mean_counts_each_value_by_its_weight() -> None:
    assert weighted_mean([0.0, 1.0], [3, 1]) == 0.25
    with pytest.raises(ValueError, match="argument"):
        weighted_mean([0.0, 1.0], [1])
