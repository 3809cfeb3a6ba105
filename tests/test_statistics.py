"""Differences between answers to the same questions, against statsmodels and scipy, and by simulation."""

import math

import numpy
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nct, t  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from spotdiff.scoring import Scored, estimate, two_sided_p
from spotdiff.statistics import difference, holm, mean_over, weighted_estimate

STRATA = ("first", "second", "third")
WEIGHTS = {"first": 1.0, "second": 0.5, "third": 0.5}


def drawn(seed: int, n: int, clusters: int) -> tuple[list[float], list[float], list[str], list[str]]:
    """Fractional scores of two sides whose clusters reach over several strata."""
    generator = numpy.random.default_rng(seed)
    names = generator.integers(clusters, size=n)
    effects = generator.normal(size=clusters)
    sides = [
        numpy.clip(numpy.round(0.5 + 0.3 * effects[names] + generator.normal(scale=0.5, size=n), 1), 0, 1)
        for _ in range(2)
    ]
    strata = [STRATA[number] for number in generator.integers(3, size=n)]
    return sides[0].tolist(), sides[1].tolist(), [f"c{name}" for name in names], strata


@pytest.mark.parametrize(("seed", "n", "clusters"), [(0, 30, 4), (1, 200, 25), (2, 1811, 400), (3, 50, 50)])
def test_a_paired_difference_is_that_of_statsmodels(seed: int, n: int, clusters: int) -> None:
    first, second, names, _ = drawn(seed, n, clusters)
    values = numpy.array(first) - numpy.array(second)
    numbers = numpy.unique(names, return_inverse=True)[1]
    fit = sm.OLS(values, numpy.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": numbers}, use_t=True)
    found = difference(first, second, names)
    assert found.estimate.mean == pytest.approx(fit.params[0], abs=1e-9)
    assert found.estimate.stderr == pytest.approx(fit.bse[0], abs=1e-9)
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]), abs=1e-9)
    assert found.p == pytest.approx(fit.pvalues[0], abs=1e-9)
    assert found.degrees == len(set(names)) - 1 == fit.df_resid_inference


@pytest.mark.parametrize(("seed", "n", "clusters"), [(0, 60, 6), (1, 200, 25), (2, 1811, 400)])
def test_a_mean_over_strata_is_a_contrast_of_the_regression_on_them(seed: int, n: int, clusters: int) -> None:
    first, second, names, strata = drawn(seed, n, clusters)
    values = numpy.array(first) - numpy.array(second)
    design = numpy.array([[float(stratum == name) for name in STRATA] for stratum in strata])
    numbers = numpy.unique(names, return_inverse=True)[1]
    fit = sm.OLS(values, design).fit(cov_type="cluster", cov_kwds={"groups": numbers}, use_t=True)
    contrast = fit.t_test(numpy.array([WEIGHTS[name] for name in STRATA]) / sum(WEIGHTS.values()))
    found = difference(first, second, names, strata, WEIGHTS)
    assert found.estimate.mean == pytest.approx(contrast.effect.item(), abs=1e-9)
    assert found.estimate.stderr == pytest.approx(contrast.sd.item(), abs=1e-9)
    assert (found.low, found.high) == pytest.approx(tuple(contrast.conf_int()[0]), abs=1e-9)
    assert found.p == pytest.approx(contrast.pvalue.item(), abs=1e-9)


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abcdef")), min_size=1, max_size=40))
def test_with_one_stratum_the_estimate_is_that_of_scoring(rows: list[tuple[float, str]]) -> None:
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    found = weighted_estimate(values, clusters, ["all"] * len(rows), {"all": 3.0})
    known = estimate(values, clusters)
    assert (found.n, found.clusters) == (known.n, known.clusters)
    assert found.mean == pytest.approx(known.mean, abs=1e-12)
    if known.stderr is None:
        assert found.stderr is None
    else:
        assert found.stderr == pytest.approx(known.stderr, abs=1e-12)


@pytest.mark.parametrize("strata", [1, 3])
def test_the_interval_covers_the_true_mean_of_clustered_fractional_scores_95_times_in_100(strata: int) -> None:
    generator = numpy.random.default_rng(7)
    repetitions, clusters, size = 2000, 60, 8
    # Scores 0, 1/3, 2/3 and 1: what a set of letters can score, easier in some scenes than in others.
    ability = generator.beta(2, 3, size=(repetitions, clusters, 1))
    scores = generator.binomial(3, numpy.broadcast_to(ability, (repetitions, clusters, size))) / 3
    names = [f"scene {number}" for number in range(clusters) for _ in range(size)]
    parts = [f"part {number % strata}" for number in range(clusters * size)]
    weights = {name: 1.0 + number for number, name in enumerate(dict.fromkeys(parts))}
    covered = 0
    for values in scores.reshape(repetitions, -1):
        interval = weighted_estimate(values.tolist(), names, parts, weights).interval()
        assert interval is not None
        covered += interval[0] <= 0.4 <= interval[1]
    assert 0.93 <= covered / repetitions <= 0.97


@pytest.mark.parametrize("clusters", [5, 30, 400])
def test_a_true_difference_of_the_smallest_size_is_found_four_times_in_five(clusters: int) -> None:
    first, second, names, _ = drawn(4, 4 * clusters, clusters)
    found = difference(first, second, names)
    assert found.smallest is not None
    assert found.estimate.stderr is not None
    critical = t.ppf(0.975, found.degrees)
    shift = found.smallest / found.estimate.stderr
    power = nct.sf(critical, found.degrees, shift) + nct.cdf(-critical, found.degrees, shift)
    assert power == pytest.approx(0.8, abs=0.03 if clusters == 5 else 0.005)


@given(st.floats(-40, 40), st.integers(1, 500))
def test_p_is_that_of_scipy(value: float, degrees: int) -> None:
    assert two_sided_p(value, degrees) == pytest.approx(2 * t.sf(abs(value), degrees), abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holms_correction_is_that_of_statsmodels(values: list[float]) -> None:
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1].tolist(), abs=1e-12)


def test_a_comparison_without_a_p_does_not_count_as_one() -> None:
    assert holm([0.01, None, 0.03]) == pytest.approx([0.02, None, 0.03])
    assert holm([]) == []


def test_wins_losses_and_ties_are_counted_by_question() -> None:
    found = difference([1, 0.5, 0, 1, 1 / 3], [0, 1, 0, 1, 2 / 3], ["a", "b", "c", "d", "e"])
    assert (found.wins, found.losses, found.ties) == (1, 2, 2)
    assert found.estimate.mean == pytest.approx((1 - 0.5 - 1 / 3) / 5)


def test_sides_that_never_differ_have_a_difference_of_0_and_no_p() -> None:
    found = difference([1, 0, 1], [1, 0, 1], ["a", "b", "c"])
    assert (found.estimate.mean, found.low, found.high, found.p, found.smallest) == (0, None, None, None, None)
    assert (found.wins, found.losses, found.ties) == (0, 0, 3)


def test_no_question_and_one_cluster_have_no_interval() -> None:
    nothing = difference([], [], [])
    assert (nothing.estimate.mean, nothing.p, nothing.degrees) == (None, None, 0)
    one = difference([1, 0], [0, 0], ["a", "a"])
    assert (one.estimate.mean, one.estimate.stderr, one.p) == (0.5, None, None)


def test_as_many_questions_as_strata_say_nothing_about_their_spread() -> None:
    found = weighted_estimate([1, 0], ["a", "b"], ["x", "y"], {"x": 1, "y": 3})
    assert (found.mean, found.stderr) == (0.25, None)


def test_sides_of_different_length_are_an_error() -> None:
    with pytest.raises(ValueError, match="1 scores on one side, 2 on the other"):
        difference([1], [1, 0], ["a", "b"])
    with pytest.raises(ValueError, match="1 clusters"):
        weighted_estimate([1, 0], ["a"], ["x", "x"], {"x": 1})


def row(name: str, score: float, options: int, part: str) -> Scored:
    return Scored(
        id=name,
        score=score,
        chance=1 / options,
        letters=("A",),
        gold=("A",) if score else ("B",),
        outcome="parsed",
        cluster=name,
        options=options,
        groups={"part": part},
        extra={"other": 1 - score},
    )


def test_a_mean_over_strata_takes_chance_along_for_the_main_score_alone() -> None:
    rows = [row("1", 1, 2, "x"), row("2", 0, 2, "x"), row("3", 1, 4, "y")]
    found = mean_over(rows, "score", lambda one: str(one.groups["part"]))
    assert (found.mean, found.chance) == (0.75, 0.375)
    assert mean_over(rows, "score", lambda one: str(one.groups["part"]), {"x": 3, "y": 1}).mean == 0.625
    other = mean_over(rows, "other", lambda one: str(one.groups["part"]))
    assert (other.mean, other.chance) == (0.25, None)
    assert math.isclose(mean_over(rows, "score", lambda one: "").mean or 0, 2 / 3)
