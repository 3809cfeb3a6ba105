"""All tables of a report but the papers': coverage, outcomes of replies, letters, and differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spotdiff.reporting import listed
from spotdiff.runs.compare import OVERALL
from spotdiff.runs.figures import family_named, grouped
from spotdiff.runs.report import FULL, Answered, Comparison, RunFacts, Sheet, Unit, Value
from spotdiff.scoring import OUTCOMES, Scored, answered_only, letter_distribution, outcomes, overall, parsed_only
from spotdiff.tasks import task

_NAMED = 5
"""Questions that a note names."""

_NOTES = 10
"""Notes about questions that are not compared."""


def sheets(answers: Sequence[Answered], runs: Sequence[RunFacts], found: Sequence[Comparison]) -> list[Sheet]:
    """Every one that has a row."""
    made = [
        _coverage(answers, runs),
        _outcomes(answers),
        _position_bias(answers),
        _letters(answers),
        _differences("comparisons", "Differences between runs", found, kind="runs", overall_only=True),
        _differences("comparisons_by_setting", "Differences between runs, by setting", found, kind="runs"),
        _differences("variants", "Ways of asking against the full input", found, kind="variants", overall_only=True),
        _differences("variants_by_setting", "Ways of asking, by setting", found, kind="variants"),
        _unpaired(found),
    ]
    return [sheet for sheet in made if sheet.rows]


def _coverage(answers: Sequence[Answered], runs: Sequence[RunFacts]) -> Sheet:
    """Settings that were asked, and those of the variant that were not at all."""
    rows: list[tuple[Value, ...]] = []
    facts = {run.label: run for run in runs}
    versions: dict[tuple[str, str, str], set[int]] = {}
    for answer in answers:
        if answer.version is not None:
            versions.setdefault((answer.data, answer.run, answer.variant), set()).add(answer.version)
    for data, groups in grouped(answers).items():
        for (run, variant), found in groups.items():
            family = family_named(data, variant)
            asked = {str(row.groups["setting"]) for row in found}
            lacking = [setting.name for setting in task(family).settings if setting.name not in asked]
            said = ", ".join(map(str, sorted(versions.get((data, run, variant), ())))) or "not recorded"
            fact = facts[run]
            state = "incomplete" if fact.faults or len(found) < fact.expected[family] else "complete"
            row = (run, data, variant, said, len(found), fact.expected[family], len(found) / fact.expected[family])
            rows.append((*row, listed(lacking) or "-", state))
    return Sheet(
        "coverage",
        "Coverage",
        ("run", "data", "variant", "version", "answered", "of", "share", "settings not asked", "state"),
        ("text", "text", "text", "text", "count", "count", "share", "text", "text"),
        tuple(rows),
        ("Questions are counted over the settings that were asked.",),
    )


def _outcomes(answers: Sequence[Answered]) -> Sheet:
    rows: list[tuple[Value, ...]] = []
    conflicts: dict[tuple[str, str, str], int] = {}
    for answer in answers:
        key = (answer.data, answer.run, answer.variant)
        conflicts[key] = conflicts.get(key, 0) + answer.conflict
    for data, groups in grouped(answers).items():
        for (run, variant), found in groups.items():
            shares = (overall(found).mean, answered_only(found).mean, parsed_only(found).mean)
            counts = outcomes(found).values()
            rows.append((run, data, variant, len(found), *counts, conflicts[data, run, variant], *shares))
    return Sheet(
        "outcomes",
        "What became of the replies",
        (*("run", "data", "variant", "questions"), *OUTCOMES, *("conflicting", "acc", "acc answered", "acc parsed")),
        (*_TEXTS, "count", *(["count"] * len(OUTCOMES)), "count", "share", "share", "share"),  # type: ignore[arg-type]
        tuple(rows),
        (
            "Only parsed replies can score; the means are over all questions, over those with any reply, over the "
            "parsed. Each question weighs the same here. Conflicting replies name several answers, one of them by a "
            "stronger rule.",
        ),
    )


_TEXTS: tuple[Unit, ...] = ("text", "text", "text")


def _position_bias(answers: Sequence[Answered]) -> Sheet:
    """How far chosen letters are from right ones; questions with other numbers of options apart."""
    rows: list[tuple[Value, ...]] = []
    for data, groups in grouped(answers).items():
        for (run, variant), found in groups.items():
            for options, part in _by_options(found).items():
                bias = letter_distribution(part)
                known = {name: stat for name, stat in bias.letters.items() if stat.predicted_share is not None}
                most = max(known, key=lambda name: known[name].predicted_share or 0.0) if known else "-"
                share = known[most].predicted_share if known else None
                rows.append((run, data, variant, options, bias.n, bias.parsed, bias.distance, most, share))
    return Sheet(
        "position_bias",
        "Position bias",
        ("run", "data", "variant", "options", "questions", "parsed", "distance", "most chosen", "its share"),
        (*_TEXTS, "count", "count", "count", "share", "text", "share"),
        tuple(rows),
        ("Distance: total variation between the letters that were chosen and those that are right; 0 is alike.",),
    )


def _by_options(rows: Sequence[Scored]) -> dict[int, list[Scored]]:
    found: dict[int, list[Scored]] = {}
    for row in rows:
        found.setdefault(row.options, []).append(row)
    return dict(sorted(found.items()))


def _letters(answers: Sequence[Answered]) -> Sheet:
    rows: list[tuple[Value, ...]] = []
    for data, groups in grouped(answers).items():
        for (run, variant), found in groups.items():
            for options, part in _by_options(found).items():
                for letter, stat in letter_distribution(part).letters.items():
                    shares = (stat.predicted_share, stat.gold_share, stat.chance_share, stat.recall)
                    rows.append((run, data, variant, options, letter, *shares))
    return Sheet(
        "letters",
        "Letters, by number of options",
        ("run", "data", "variant", "options", "letter", "chosen", "right", "a guess", "acc where right"),
        (*_TEXTS, "count", "text", "share", "share", "share", "share"),
        tuple(rows),
        detail=True,
    )


_HEAD = ("data", "metric", "part", "first", "second", "difference", "low", "high", "p", "p (Holm)", "wins", "losses")
_MORE = ("ties", "questions", "clusters", "degrees", "smallest", "only first", "only second", "differing")


def _differences(name: str, title: str, found: Sequence[Comparison], *, kind: str, overall_only: bool = False) -> Sheet:
    chosen = [one for one in found if one.kind == kind and (one.part == OVERALL) == overall_only]
    differences: tuple[Unit, ...] = ("difference", "difference", "difference", "p", "p")
    counts: tuple[Unit, ...] = ("count", "count")
    units: tuple[Unit, ...] = ("text",) * 5
    more: tuple[Unit, ...] = ("count", "count", "count", "count", "difference", "count", "count", "count")
    return Sheet(
        name,
        title,
        (*_HEAD, *_MORE),
        (*units, *differences, *counts, *more),
        tuple(_row(one) for one in chosen),
        tuple(_notes(chosen)) if chosen else (),
        detail=not overall_only,
    )


def _row(one: Comparison) -> tuple[Value, ...]:
    found = one.difference
    names = (one.data, one.metric, one.part, _side(one.first, one.first_variant), _side(one.second, one.second_variant))
    sure = (found.estimate.mean, found.low, found.high, found.p, one.adjusted)
    counts = (found.wins, found.losses, found.ties, found.estimate.n, found.estimate.clusters, found.degrees)
    lonely = (len(one.only_first), len(one.only_second), len(one.differing))
    return (*names, *sure, *counts, found.smallest, *lonely)


def _side(run: str, variant: str) -> str:
    return run if variant == FULL else f"{run}, {variant}"


def _notes(chosen: Sequence[Comparison]) -> list[str]:
    said = [
        "First minus second on the questions that both answered, weighed as in the benchmark's own mean; 95 % interval "
        "and p by Student t with clustered standard errors, degrees of freedom: clusters - 1. p (Holm): corrected for "
        "all comparisons with a p of the same data and metric in this table. Smallest: the smallest true difference "
        "that these data would show with a power of 80 % at 5 %, before correction."
    ]
    named = list(dict.fromkeys(note for one in chosen if one.metric == "acc" for note in _lonely(one)))
    if len(named) > _NOTES:
        named = [*named[:_NOTES], f"{len(named) - _NOTES} more notes of this kind: see the table `unpaired`."]
    return said + named


def _lonely(one: Comparison) -> Iterator[str]:
    """What is not compared, and why."""
    first, second = _side(one.first, one.first_variant), _side(one.second, one.second_variant)
    for name, ids in ((first, one.only_first), (second, one.only_second)):
        if ids:
            yield f"Of {first} and {second}, {name} alone has {len(ids):,} questions: {listed(ids, _NAMED)}."
    if one.differing:
        yield (
            f"{first} and {second} have {len(one.differing):,} questions with other right letters or another cluster, "
            f"which are not compared: {listed(one.differing, _NAMED)}."
        )


def _unpaired(found: Sequence[Comparison]) -> Sheet:
    rows: list[tuple[Value, ...]] = []
    for one in found:
        if one.part == OVERALL and one.metric == "acc":
            names = (one.data, _side(one.first, one.first_variant), _side(one.second, one.second_variant))
            for why, ids in (("first", one.only_first), ("second", one.only_second), ("differing", one.differing)):
                rows += [(*names, why, name) for name in ids]
    return Sheet(
        "unpaired",
        "Questions that were not compared",
        ("data", "first", "second", "only in", "question"),
        ("text", "text", "text", "text", "text"),
        tuple(rows),
        detail=True,
    )
