"""Differences between two sets of answers to the same questions, and how sure they are.

Standard errors are cluster-robust, intervals and tests by Student t with one degree of freedom less than there are
clusters. The mean may weigh strata (settings, scenes): then it is the contrast of a regression on the strata, with
the usual small-sample factor G / (G - 1) * (n - 1) / (n - K) for G clusters, n questions and K strata, as
statsmodels' `OLS(...).fit(cov_type="cluster", use_t=True)` has it. With one stratum that is the estimate of
`spotdiff.scoring`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy

from spotdiff.scoring import SCORE, Estimate, Scored, student_t, two_sided_p, value_of, weighted_mean

POWER = 0.8
LEVEL = 0.95

_ROUNDING = 1e-12
"""Standard errors below this are rounding left over from an exact zero."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean paired difference.

    estimate: mean, standard error, number of questions and of clusters. low, high: its 95 % interval. p: two-sided, of
    no difference. All three are None where there is no standard error or it is 0.
    wins, losses, ties: questions on which the first side scored more, less, the same.
    smallest: the smallest true difference that a test at 5 % would find with a probability of 80 % in data with this
    standard error, (t(0.975) + t(0.8)) * stderr.
    """

    estimate: Estimate
    low: float | None
    high: float | None
    p: float | None
    wins: int
    losses: int
    ties: int
    smallest: float | None

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""
        return max(self.estimate.clusters - 1, 0)


def weighted_estimate(
    values: Sequence[float], clusters: Sequence[str], strata: Sequence[str], weights: Mapping[str, float]
) -> Estimate:
    """The mean over strata, by weight, of the means within them.

    values, clusters, strata: one for each question. weights: of the strata that occur; they need not add up to 1.
    Raises ValueError when the lengths differ, KeyError when a stratum has no weight.
    """
    count = len(values)
    if not count == len(clusters) == len(strata):
        raise ValueError(f"{count} values, {len(clusters)} clusters, {len(strata)} strata")
    if not count:
        return Estimate(None, None, 0, 0)
    numbers = numpy.asarray(values, dtype=float)
    of_stratum, names, sizes = _numbered(strata)
    of_cluster, cluster_names, _ = _numbered(clusters)
    shares = numpy.array([float(weights[name]) for name in names])
    shares /= shares.sum()
    means = numpy.bincount(of_stratum, numbers) / sizes
    mean = float(shares @ means)
    groups, parts = len(cluster_names), len(names)
    if groups < 2 or count <= parts:
        return Estimate(mean, None, count, groups)
    influence = (shares / sizes)[of_stratum] * (numbers - means[of_stratum])
    squares = math.fsum(numpy.bincount(of_cluster, influence) ** 2)
    factor = groups / (groups - 1) * (count - 1) / (count - parts)
    return Estimate(mean, math.sqrt(factor * squares), count, groups)


def mean_over(
    rows: Sequence[Scored],
    metric: str,
    stratum: Callable[[Scored], str],
    weights: Mapping[str, float] | None = None,
) -> Estimate:
    """The mean of a metric over the strata of these rows, by weight, by default all alike; `chance` likewise.

    Raises ValueError when a row lacks the metric.
    """
    strata = [stratum(row) for row in rows]
    weights = weights or dict.fromkeys(strata, 1.0)
    found = weighted_estimate([value_of(row, metric) for row in rows], [row.cluster for row in rows], strata, weights)
    if metric != SCORE or not rows:
        return found
    chances: dict[str, list[float]] = {}
    for row, name in zip(rows, strata, strict=True):
        chances.setdefault(name, []).append(row.chance)
    means = [math.fsum(part) / len(part) for part in chances.values()]
    return replace(found, chance=weighted_mean(means, [weights[name] for name in chances]))


def _numbered(names: Sequence[str]) -> tuple[numpy.ndarray, list[str], numpy.ndarray]:
    """The number of each name, the distinct names in that order, and how often each occurs."""
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    numbers = numpy.array([known[name] for name in names])
    return numbers, list(known), numpy.bincount(numbers)


def difference(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[str],
    strata: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
) -> Difference:
    """First minus second, question by question; see `weighted_estimate` for the rest.

    strata: by default all questions weigh the same.
    Raises ValueError when the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} scores on one side, {len(second)} on the other")
    values = numpy.asarray(first, dtype=float) - numpy.asarray(second, dtype=float)
    if strata is None or weights is None:
        strata, weights = [""] * len(values), {"": 1.0}
    found = weighted_estimate(values.tolist(), clusters, strata, weights)
    wins, losses = int((values > _ROUNDING).sum()), int((values < -_ROUNDING).sum())
    interval = found.interval(LEVEL)
    low, high = interval if interval is not None else (None, None)
    p = smallest = None
    if interval is not None and found.mean is not None and found.stderr is not None:
        degrees = found.clusters - 1
        p = two_sided_p(found.mean / found.stderr, degrees)
        # The quantile of one side, asked for as a two-sided level.
        smallest = (student_t(LEVEL, degrees) + student_t(2 * POWER - 1, degrees)) * found.stderr
    return Difference(found, low, high, p, wins, losses, len(values) - wins - losses, smallest)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """p-values after Holm's correction, which keeps the chance of any false finding among all of them below the level.

    None stays None, and does not count as a comparison.
    """
    known = sorted((value, place) for place, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    highest = 0.0
    for rank, (value, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        found[place] = highest
    return found
