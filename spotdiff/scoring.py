"""From chosen letters to scores, and from scores to averages with their uncertainty.

All figures are shares between 0 and 1 (not percent), plain Python numbers.
"""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from string import ascii_uppercase

PARSED = "parsed"
OUTCOMES = (PARSED, "none", "ambiguous", "invalid", "refused", "empty", "truncated", "error")
"""What can become of a reply, in the order of every table. Only `parsed` can score."""

FAILED = ("empty", "error")
"""Outcomes of a reply that is none, see `spotdiff.failures`; every other reply is an answer, be it read or not."""

SCORE = "score"
"""The metric that every row has; any other metric is a name in `Scored.extra`."""

# Scores lie in [0, 1]: a standard error below this is rounding left over from an exact zero.
_ROUNDING = 1e-12


def subset_score(predicted: Collection[str], gold: Collection[str]) -> float:
    """Score a set of letters: |P| / |G| if P is a non-empty subset of G, else 0.

    Order and repeats do not matter. With one gold letter this is exact match. The rule is that of the M3-Verse paper.

    Raises:
        ValueError: no gold letter.
    """
    chosen, right = set(predicted), set(gold)
    if not right:
        raise ValueError("a question without a gold letter cannot be scored")
    return len(chosen) / len(right) if chosen <= right else 0.0


def chance(options: int, gold: int = 1) -> float:
    """Return the expected `subset_score` of one letter drawn uniformly from `options`, `gold` of which are right.

    The letter is right with probability gold / options and then scores 1 / gold, so the result is 1 / options however
    many letters are right.

    Raises:
        ValueError: not 1 <= gold <= options.
    """
    if not 1 <= gold <= options:
        raise ValueError(f"expected 1 <= gold <= options, got gold={gold}, options={options}")
    return 1 / options


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One scored answer.

    Attributes:
        id: Question id.
        score: Main score, in [0, 1]; 0 unless the outcome is `parsed`.
        chance: Expected score of a uniform guess, in [0, 1].
        letters: Predicted letters; at least one if the outcome is `parsed`.
        gold: Right letters, at least one.
        outcome: One of `OUTCOMES`.
        cluster: What questions with dependent errors share (scene, recording); the question id if nothing is shared.
        groups: Values to average by. A tuple puts the row into each of its values, an empty tuple into none.
        extra: Second metrics by name, each in [0, 1].
        options: Number of options, lettered from A without gaps, at most 26.
        failure: Class of failure, see `spotdiff.failures`; empty for an answer, and where it is not known.

    Raises:
        ValueError: a field breaks one of these conditions.
    """

    id: str
    score: float
    chance: float
    letters: tuple[str, ...]
    gold: tuple[str, ...]
    outcome: str
    cluster: str
    options: int
    groups: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    extra: Mapping[str, float] = field(default_factory=dict)
    failure: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is no reply of the model."""
        return self.outcome in FAILED

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(f"question {self.id!r}: unknown outcome {self.outcome!r}, expected one of {OUTCOMES}")
        for name, value in {SCORE: self.score, "chance": self.chance, **self.extra}.items():
            _require_share(value, f"question {self.id!r}: {name}")
        if SCORE in self.extra:
            raise ValueError(f"question {self.id!r}: {SCORE!r} is the main metric, not an extra one")
        if self.outcome == PARSED and not self.letters:
            raise ValueError(f"question {self.id!r}: a parsed answer needs a letter")
        if self.outcome != PARSED and self.score != 0:
            raise ValueError(f"question {self.id!r}: outcome {self.outcome!r} cannot score {self.score!r}, only 0")
        if self.failure and not self.failed:
            raise ValueError(f"question {self.id!r}: outcome {self.outcome!r} is an answer, no {self.failure!r}")
        if not 1 <= len(set(self.gold)) <= self.options <= len(ascii_uppercase):
            raise ValueError(f"question {self.id!r}: {self.options} options cannot have gold letters {self.gold!r}")
        if not self.cluster:
            raise ValueError(f"question {self.id!r}: empty cluster; use the question id where nothing is shared")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions and how sure it is.

    Attributes:
        mean: None without questions.
        stderr: Cluster-robust standard error; None with fewer than two clusters.
        n: Number of questions.
        clusters: Number of clusters.
        chance: Mean of the questions' chance scores, None if unknown.
    """

    mean: float | None
    stderr: float | None
    n: int
    clusters: int
    chance: float | None = None

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the two-sided confidence interval of the mean by Student t with `clusters - 1` degrees of freedom.

        The interval is not clipped to [0, 1]: its half-width stays the stated multiple of `stderr`, and a bound outside
        the range tells the reader that the approximation is stretched so close to the edge. It is too narrow with few
        clusters or clusters of very different size.

        None where there is no standard error, or where it is 0 (all answers right, all wrong): a sample without
        variation does not prove that there is none, and an interval of width 0 would claim that.

        Raises:
            ValueError: not 0 < level < 1.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie strictly between 0 and 1, got {level!r}")
        if self.mean is None or self.stderr is None or self.stderr < _ROUNDING:
            return None
        half = student_t(level, self.clusters - 1) * self.stderr
        return self.mean - half, self.mean + half


def estimate(values: Sequence[float], clusters: Sequence[str], chance: float | None = None) -> Estimate:
    """Average scores over questions, with the cluster-robust (CR1) standard error of that mean.

    stderr = sqrt(G / (G - 1) * sum over clusters of (sum of residuals)^2) / n for n questions in G clusters. If every
    question is a cluster of its own this is the usual s / sqrt(n).

    Args:
        values: Scores in [0, 1], one per question.
        clusters: The cluster of each question, as long as `values`.
        chance: Chance score of the same questions, passed through.

    Raises:
        ValueError: lengths differ, or a number is NaN or outside [0, 1].
    """
    for position, value in enumerate(values):
        _require_share(value, f"value {position}")
    if chance is not None:
        _require_share(chance, "chance")
    return _clustered_mean(values, clusters, None if chance is None else float(chance))


def overall(rows: Iterable[Scored], metric: str = SCORE) -> Estimate:
    """Average one metric over all rows.

    `chance` is that of the main score; for an extra metric it is None, as a row does not say how that metric treats a
    guess.

    Raises:
        ValueError: a row lacks the metric.
    """
    rows = tuple(rows)
    chances = [row.chance for row in rows] if metric == SCORE else []
    return estimate(
        [value_of(row, metric) for row in rows], [row.cluster for row in rows], _mean(chances) if chances else None
    )


def by_group(rows: Iterable[Scored], key: str, metric: str = SCORE) -> dict[str, Estimate]:
    """Average one metric within each value of a group, in the order in which the values first appear.

    A row with several values counts once in each of them, so the groups' `n` can add up to more than the rows.

    Raises:
        ValueError: a row lacks the group or the metric. Nothing is left out silently: where a group only applies to
            some rows, pass those rows.
    """
    members: dict[str, list[Scored]] = {}
    for row in rows:
        if key not in row.groups:
            raise ValueError(f"question {row.id!r} has no group {key!r}, only {sorted(row.groups)}")
        value = row.groups[key]
        for name in dict.fromkeys((value,) if isinstance(value, str) else value):
            members.setdefault(name, []).append(row)
    return {name: overall(group, metric) for name, group in members.items()}


def answered_only(rows: Iterable[Scored], metric: str = SCORE) -> Estimate:
    """Average one metric over the rows whose reply is no failure (`acc_answered`): what it would be without failures.

    Raises:
        ValueError: an answered row lacks the metric.
    """
    return overall((row for row in rows if not row.failed), metric)


def parsed_only(rows: Iterable[Scored], metric: str = SCORE) -> Estimate:
    """Average one metric over the rows whose outcome is `parsed`.

    This is no substitute for accuracy: it forgives every reply that named no answer. Whether a reply counts as
    parsed is decided by the outcome of the row, also for an extra metric that reads replies by rules of its own.

    Raises:
        ValueError: a parsed row lacks the metric.
    """
    return overall((row for row in rows if row.outcome == PARSED), metric)


def paired_difference(first: Iterable[Scored], second: Iterable[Scored], metric: str = SCORE) -> Estimate:
    """Estimate the mean of `first` minus `second` over the same questions, with the error of the differences.

    The rows are matched by id, whatever their order. The mean lies in [-1, 1], `chance` is None.

    Raises:
        ValueError: an id occurs twice on one side or on one side only, a question's cluster or gold letters differ, or
            a row lacks the metric.
    """
    ours, theirs = _by_id(first), _by_id(second)
    lonely = sorted(ours.keys() ^ theirs.keys())
    if lonely:
        raise ValueError(f"{len(lonely)} questions stand on one side only, {lonely[0]!r} among them")
    for name, row in ours.items():
        if row.cluster != theirs[name].cluster or set(row.gold) != set(theirs[name].gold):
            raise ValueError(f"question {name!r} differs between the two sides in cluster or gold letters")
    differences = [value_of(row, metric) - value_of(theirs[name], metric) for name, row in ours.items()]
    return _clustered_mean(differences, [row.cluster for row in ours.values()], None)


@dataclass(frozen=True, slots=True)
class Mean:
    """An unweighted mean of several averages, and what it covers.

    Attributes:
        mean: Mean of all expected parts; None unless every one is there.
        stderr: Standard error of `mean`; None unless every expected part has one.
        chance: Mean of the parts' chance scores; None unless every expected part has one.
        mean_covered: Mean of the parts that are there, None if there is none. Not comparable with a complete mean.
        mean_missing_zero: Sum of the parts that are there by the number of expected parts, None if there is none.
        covered: Names of the parts that are there, in the expected order.
        expected: Names of all parts that belong to the mean.
    """

    mean: float | None
    stderr: float | None
    chance: float | None
    mean_covered: float | None
    mean_missing_zero: float | None
    covered: tuple[str, ...]
    expected: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the expected parts that are not there, in the expected order."""
        return tuple(name for name in self.expected if name not in self.covered)

    @property
    def coverage(self) -> str:
        """How many parts are there, such as `2/8`."""
        return f"{len(self.covered)}/{len(self.expected)}"


def unweighted_mean(parts: Mapping[str, Estimate | Mean | None], expected: Sequence[str]) -> Mean:
    """Average parts (settings, directions) with equal weight, whatever their number of questions.

    A part that is None or has no mean is missing. `mean_missing_zero` counts it as 0, the convention of the M4Bench
    paper's table. A `Mean` can be a part of another one.

    The standard error is sqrt(sum of squared standard errors) / k over k parts. It treats the parts as independent, and
    is only approximate where parts share images or pairs.

    Raises:
        ValueError: no expected part, a name expected twice, or a part that is not expected.
    """
    if not expected or len(set(expected)) != len(expected):
        raise ValueError(f"expected parts must be one or more distinct names, got {list(expected)}")
    unknown = [name for name in parts if name not in expected]
    if unknown:
        raise ValueError(f"parts {unknown} are not among the expected {list(expected)}")
    present = {name: part for name in expected if (part := parts.get(name)) is not None and part.mean is not None}
    complete = len(present) == len(expected)
    means = [part.mean for part in present.values() if part.mean is not None]
    errors = [part.stderr for part in present.values() if part.stderr is not None]
    chances = [part.chance for part in present.values() if part.chance is not None]
    return Mean(
        mean=_mean(means) if complete else None,
        stderr=math.hypot(*errors) / len(expected) if len(errors) == len(expected) else None,
        chance=_mean(chances) if len(chances) == len(expected) else None,
        mean_covered=_mean(means) if means else None,
        mean_missing_zero=math.fsum(means) / len(expected) if means else None,
        covered=tuple(present),
        expected=tuple(expected),
    )


def metrics_of(rows: Iterable[Scored]) -> list[str]:
    """SCORE, and each further metric that one of the rows has, in the order in which they appear."""
    return list(dict.fromkeys((SCORE, *(extra for row in rows for extra in row.extra))))


def with_metric(rows: Iterable[Scored], metric: str) -> list[Scored]:
    """The rows that have a metric: a judge may have been set for some of them only."""
    return [row for row in rows if metric == SCORE or metric in row.extra]


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Average values by weight.

    Raises:
        ValueError: lengths differ.
    """
    return math.fsum(value * weight for value, weight in zip(values, weights, strict=True)) / math.fsum(weights)


def balanced_mean(values: Iterable[float], strata: Iterable[object]) -> float:
    """Average with equal weight for each stratum: the mean over the means of the values in each of them.

    Raises:
        ValueError: no values, or lengths differ.
    """
    found: dict[object, list[float]] = {}
    for value, stratum in zip(values, strata, strict=True):
        found.setdefault(stratum, []).append(float(value))
    return _mean([_mean(part) for part in found.values()])


def outcomes(rows: Iterable[Scored]) -> dict[str, int]:
    """Count the outcomes: all of `OUTCOMES` in that order, zeros kept."""
    counts = Counter(row.outcome for row in rows)
    return {name: counts[name] for name in OUTCOMES}


@dataclass(frozen=True, slots=True)
class LetterStat:
    """What one letter got. Counts are fractional where a row has several letters.

    Attributes:
        predicted: How often it was predicted, over parsed rows.
        gold: How often it is right, over all rows.
        predicted_share: Its share of the predictions; None without parsed rows.
        gold_share: Its share of the gold letters.
        chance_share: Its expected share of the predictions if every row were answered by one uniform guess. With
            different numbers of options this is not the same for all letters: A is on offer more often than D.
        recall: Mean score of the rows where it is right, unparsed ones included; None if it is never right.
    """

    predicted: float
    gold: float
    predicted_share: float | None
    gold_share: float
    chance_share: float
    recall: float | None


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How predictions spread over letters, against the right answers.

    Attributes:
        letters: By letter, in alphabetical order: all letters on offer, right or predicted.
        distance: Total-variation distance between predicted and gold shares, 0 (alike) to 1 (no letter in common);
            None without parsed rows.
        n: Number of rows, over which gold letters are counted.
        parsed: Number of parsed rows, over which predictions are counted.
    """

    letters: dict[str, LetterStat]
    distance: float | None
    n: int
    parsed: int


def letter_distribution(rows: Iterable[Scored]) -> PositionBias:
    """Compare the letters that were predicted with those that are right.

    Every row weighs the same: a row with several letters counts each for 1 / their number (predicted, gold and recall
    alike). Predictions are counted over parsed rows, gold letters over all rows, so that the gold side is the same for
    every model.
    """
    rows = tuple(rows)
    parsed = [row for row in rows if row.outcome == PARSED]
    predicted = _spread((row.letters, 1.0) for row in parsed)
    gold = _spread((row.gold, 1.0) for row in rows)
    scored = _spread((row.gold, float(row.score)) for row in rows)
    offered = _spread((ascii_uppercase[: row.options], 1.0) for row in rows)
    letters = {
        letter: LetterStat(
            predicted=predicted.get(letter, 0.0),
            gold=gold.get(letter, 0.0),
            predicted_share=predicted.get(letter, 0.0) / len(parsed) if parsed else None,
            gold_share=gold.get(letter, 0.0) / len(rows),
            chance_share=offered.get(letter, 0.0) / len(rows),
            recall=scored[letter] / gold[letter] if letter in gold else None,
        )
        for letter in sorted(predicted.keys() | gold.keys() | offered.keys())
    }
    gaps = [abs(s.predicted_share - s.gold_share) for s in letters.values() if s.predicted_share is not None]
    return PositionBias(letters, math.fsum(gaps) / 2 if parsed else None, len(rows), len(parsed))


def _spread(weighted: Iterable[tuple[Iterable[str], float]]) -> dict[str, float]:
    """Add up weights by letter, each row's weight split evenly over its distinct letters."""
    shares: dict[str, list[float]] = {}
    for letters, weight in weighted:
        distinct = set(letters)
        for letter in distinct:
            shares.setdefault(letter, []).append(weight / len(distinct))
    return {letter: math.fsum(parts) for letter, parts in shares.items()}


def value_of(row: Scored, metric: str) -> float:
    """One metric of one row. Raises ValueError when the row lacks it."""
    if metric == SCORE:
        return float(row.score)
    if metric not in row.extra:
        raise ValueError(f"question {row.id!r} has no metric {metric!r}, only {[SCORE, *row.extra]}")
    return float(row.extra[metric])


def _by_id(rows: Iterable[Scored]) -> dict[str, Scored]:
    found: dict[str, Scored] = {}
    for row in rows:
        if row.id in found:
            raise ValueError(f"question {row.id!r} occurs twice")
        found[row.id] = row
    return found


def _require_share(value: float, what: str) -> None:
    # NaN fails every comparison, so it is caught here as well.
    if not 0 <= value <= 1:
        raise ValueError(f"{what} must lie in [0, 1], got {value!r}")


def _mean(values: Sequence[float]) -> float:
    # Rounded once from the exact mean: never outside the values' range, the same in any order.
    return float(statistics.mean(map(float, values)))


def _clustered_mean(values: Sequence[float], clusters: Sequence[str], chance: float | None) -> Estimate:
    n = len(values)
    if n != len(clusters):
        raise ValueError(f"{n} values but {len(clusters)} clusters")
    if not n:
        return Estimate(None, None, 0, 0, chance)
    mean = _mean(values)
    residuals: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        residuals.setdefault(cluster, []).append(float(value) - mean)
    count = len(residuals)
    if count < 2:
        return Estimate(mean, None, n, count, chance)
    squares = math.fsum(math.fsum(parts) ** 2 for parts in residuals.values())
    return Estimate(mean, math.sqrt(count / (count - 1) * squares) / n, n, count, chance)


def two_sided_p(t: float, df: int) -> float:
    """Return P(|T| >= |t|) of Student's t with a whole number of degrees of freedom, to about 1e-15."""
    return max(0.0, 1 - _central_probability(math.atan(abs(t) / math.sqrt(df)), df))


@lru_cache(maxsize=1024)
def student_t(level: float, df: int) -> float:
    """Return t with P(|T| <= t) = level, by bisection over the angle atan(t / sqrt(df))."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _central_probability(middle, df) < level else (low, middle)
    return math.sqrt(df) * math.tan((low + high) / 2)


def _central_probability(angle: float, df: int) -> float:
    """Return P(|T| <= sqrt(df) * tan(angle)) of Student's t, whole `df` only (Abramowitz and Stegun 26.7.3-4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = 1.0
    for step in range(1 + df % 2, df - 2, 2):
        term *= step / (step + 1) * cosine * cosine
        total += term
    if df % 2 == 0:
        return sine * total
    return 2 / math.pi * (angle + (sine * cosine * total if df > 1 else 0.0))
