"""Runs against each other, and variants of one run against the full input, question by question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from spotdiff.runs.figures import benchmark_of, family_named, grouped, metrics, shown
from spotdiff.runs.report import FULL, Answered, Comparison
from spotdiff.scoring import SCORE, Scored, value_of
from spotdiff.statistics import Difference, difference, holm
from spotdiff.tasks import Benchmark, Setting, task

OVERALL = "overall"


@dataclass(frozen=True)
class _Side:
    """The answers of one run in one variant, by question. settings: of the variant, by name."""

    run: str
    variant: str
    rows: Mapping[str, Scored]
    settings: Mapping[str, Setting]

    def metrics(self) -> list[str]:
        return metrics(list(self.rows.values()))


@dataclass(frozen=True)
class _Data:
    name: str
    benchmark: Benchmark


def comparisons(answers: Sequence[Answered]) -> list[Comparison]:
    """All pairs of runs in the same variant, and all variants of each run against what they change."""
    found: list[Comparison] = []
    for name, groups in grouped(answers).items():
        data = _Data(name, benchmark_of(name))
        sides = [_side(name, run, variant, rows) for (run, variant), rows in groups.items()]
        for first, second in combinations(sides, 2):
            if first.variant == second.variant:
                found += _compared("runs", data, first, second)
        for first, second in _variants(data, sides):
            found += _compared("variants", data, first, second)
    return _corrected(found)


def _side(data: str, run: str, variant: str, rows: Sequence[Scored]) -> _Side:
    settings = {setting.name: setting for setting in task(family_named(data, variant)).settings}
    return _Side(run, variant, {row.id: row for row in rows}, settings)


def _variants(data: _Data, sides: Sequence[_Side]) -> Iterator[tuple[_Side, _Side]]:
    """Pairs of a variant and what it changes, of the same run."""
    by_name = {(side.run, side.variant): side for side in sides}
    for side in sides:
        base = by_name.get((side.run, data.benchmark.bases.get(side.variant, FULL)))
        if side.variant != FULL and base is not None:
            shared = {side.rows[name].groups["setting"] for name in side.rows}
            # A variant of some settings lacks no question of the others.
            rows = {name: row for name, row in base.rows.items() if row.groups["setting"] in shared}
            if side.rows.keys() & rows.keys():
                yield side, replace(base, rows=rows)
        yield from _settings_of_one_config(side)


def _settings_of_one_config(side: _Side) -> Iterator[tuple[_Side, _Side]]:
    """Settings that ask the same rows in two ways, such as without and with a visual prompt."""
    own = dict.fromkeys(str(row.groups["setting"]) for row in side.rows.values())
    known = [setting for name, setting in side.settings.items() if name in own]
    for plain, changed in combinations(known, 2):
        if plain.config == changed.config:
            yield _of_setting(side, changed), _of_setting(side, plain)


def _of_setting(side: _Side, setting: Setting) -> _Side:
    """The answers of one setting by the id of the row alone."""
    rows = {
        name.removeprefix(f"{setting.name}/"): replace(row, groups={**row.groups, "setting": setting.config})
        for name, row in side.rows.items()
        if row.groups["setting"] == setting.name
    }
    return _Side(
        side.run,
        setting.name if side.variant == FULL else f"{side.variant}, {setting.name}",
        rows,
        {setting.config: setting},
    )


def _compared(kind: Literal["runs", "variants"], data: _Data, first: _Side, second: _Side) -> Iterator[Comparison]:
    common = [name for name in first.rows if name in second.rows]
    same = [name for name in common if _same_question(first.rows[name], second.rows[name])]
    alike = set(same)
    lonely = {
        "only_first": tuple(sorted(first.rows.keys() - second.rows.keys())),
        "only_second": tuple(sorted(second.rows.keys() - first.rows.keys())),
        "differing": tuple(name for name in common if name not in alike),
    }
    for metric in first.metrics():
        if metric not in second.metrics():
            continue
        pairs = [(first.rows[name], second.rows[name]) for name in same]
        pairs = [pair for pair in pairs if all(metric == SCORE or metric in row.extra for row in pair)]
        by_setting: dict[str, list[tuple[Scored, Scored]]] = {}
        for pair in pairs:
            by_setting.setdefault(str(pair[0].groups["setting"]), []).append(pair)
        parts = {OVERALL: pairs, **(by_setting if len(by_setting) > 1 else {})}
        for part, members in parts.items():
            yield Comparison(
                kind=kind,
                benchmark=data.benchmark.name,
                data=data.name,
                metric=shown(metric),
                part=part,
                first=first.run,
                first_variant=first.variant,
                second=second.run,
                second_variant=second.variant,
                difference=_difference(data, members, metric, first.settings),
                adjusted=None,
                settings=tuple(by_setting) if part == OVERALL else (part,),
                **(lonely if part == OVERALL else {}),
            )


def _same_question(first: Scored, second: Scored) -> bool:
    return first.cluster == second.cluster and set(first.gold) == set(second.gold)


def _difference(
    data: _Data, pairs: Sequence[tuple[Scored, Scored]], metric: str, settings: Mapping[str, Setting]
) -> Difference:
    strata, weights = _strata(data, [first for first, _ in pairs], settings)
    return difference(
        [value_of(first, metric) for first, _ in pairs],
        [value_of(second, metric) for _, second in pairs],
        [first.cluster for first, _ in pairs],
        strata,
        weights,
    )


def _strata(data: _Data, rows: Sequence[Scored], settings: Mapping[str, Setting]) -> tuple[list[str], dict[str, float]]:
    """The stratum of each question, and what each weighs in the benchmark's own mean."""
    if data.benchmark.pooled:
        return [""] * len(rows), {"": 1.0}
    balanced = data.benchmark.balanced
    keys = [(str(row.groups["setting"]), str(row.groups[balanced]) if balanced else "") for row in rows]
    within: dict[str, set[str]] = {}
    for setting, value in keys:
        within.setdefault(setting, set()).add(value)
    weights = {
        f"{setting}/{value}": settings[setting].weight / len(values)
        for setting, values in within.items()
        for value in values
    }
    return [f"{setting}/{value}" for setting, value in keys], weights


def _corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Each with its p after Holm's correction, within its kind, data set, metric, and overall or by setting."""
    families: dict[tuple[str, str, str, bool], list[int]] = {}
    for place, one in enumerate(found):
        families.setdefault((one.kind, one.data, one.metric, one.part == OVERALL), []).append(place)
    corrected = list(found)
    for places in families.values():
        adjusted = holm([found[place].difference.p for place in places])
        for place, p in zip(places, adjusted, strict=True):
            corrected[place] = replace(found[place], adjusted=p)
    return corrected
