"""The table of the M4Bench paper: one column a setting, and the unweighted mean of the eight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from spotdiff.benchmarks.published import read_published
from spotdiff.reporting import half_width, notes, percent
from spotdiff.scoring import PARSED, SCORE, Estimate, Mean, Scored, by_group, metrics_of, unweighted_mean
from spotdiff.tasks import Breakdown, Published, Setting, Table

_VP = {"visual_prompt": True}

SETTINGS = (
    Setting("state_invariance", "SI", "state_invariance", 219, released_as="State_Invariance"),
    Setting("state_comparison", "SC", "state_comparison", 208, released_as="State_Comparison"),
    Setting(
        "detailed_difference_synthetic",
        "DD-S",
        "detailed_difference_synthetic",
        234,
        released_as="Detailed_Difference_Generated_Images",
    ),
    Setting(
        "detailed_difference_natural",
        "DD-N",
        "detailed_difference_natural",
        230,
        released_as="Detailed_Difference_Natural_Images",
    ),
    Setting(
        "spatial_perception", "SP", "spatial_perception", 230, released_as="Spatial_Perception_WithOut_Visual_Prompt"
    ),
    Setting(
        "spatial_perception_vp",
        "SP-vp",
        "spatial_perception",
        230,
        _VP,
        released_as="Spatial_Perception_With_Visual_Prompt",
    ),
    Setting(
        "instance_comparison", "IC", "instance_comparison", 230, released_as="Instance_Comparison_WithOut_Visual_Prompt"
    ),
    Setting(
        "instance_comparison_vp",
        "IC-vp",
        "instance_comparison",
        230,
        _VP,
        released_as="Instance_Comparison_With_Visual_Prompt",
    ),
)


def table(rows: Sequence[Scored], title: str, expected: Mapping[str, int]) -> Table:
    """`acc` with its 95 % interval, other metrics, chance and number of questions, by setting and as a mean.

    The mean is shown only over all eight settings; with fewer, the notes give the mean over those that were run, and
    the paper's convention, which counts a missing setting as 0.
    """
    body = []
    for metric in metrics_of(rows):
        estimates = by_group(_with(metric, rows), "setting", metric)
        body.append(("acc" if metric == SCORE else metric, *_cells(estimates)))
        if metric == SCORE:
            body.append(("95 % interval, +-", *_half_widths(estimates)))
    groups = by_group(rows, "setting")
    parsed = {name: [row.outcome == PARSED for row in rows if row.groups["setting"] == name] for name in groups}
    body.append(("parsed", *(percent(sum(p) / len(p)) if (p := parsed.get(s.name)) else "-" for s in SETTINGS), ""))
    body.append(("chance", *_chances(groups)))
    body.append(("questions", *(str(groups[s.name].n) if s.name in groups else "0" for s in SETTINGS), str(len(rows))))
    return Table(
        title,
        ("%", *(s.title for s in SETTINGS), "mean"),
        tuple(body),
        tuple(_coverage(groups, expected) + notes(rows)),
    )


def _with(metric: str, rows: Sequence[Scored]) -> list[Scored]:
    """The rows of those settings in which every row has the metric: a judge may have been set for some of them only."""
    lacking = {row.groups["setting"] for row in rows if metric != SCORE and metric not in row.extra}
    return [row for row in rows if row.groups["setting"] not in lacking]


def _mean(estimates: dict[str, Estimate]) -> Mean:
    return unweighted_mean(dict(estimates), [setting.name for setting in SETTINGS])


def _cells(estimates: dict[str, Estimate]) -> tuple[str, ...]:
    cells = [percent(estimates[s.name].mean) if s.name in estimates else "-" for s in SETTINGS]
    return (*cells, percent(_mean(estimates).mean))


def _half_widths(estimates: dict[str, Estimate]) -> tuple[str, ...]:
    cells = [half_width(estimates[s.name]) if s.name in estimates else "-" for s in SETTINGS]
    return (*cells, half_width(_mean(estimates)))


def _chances(estimates: dict[str, Estimate]) -> tuple[str, ...]:
    return (
        *(percent(estimates[s.name].chance) if s.name in estimates else "-" for s in SETTINGS),
        percent(_mean(estimates).chance),
    )


def _coverage(estimates: dict[str, Estimate], expected: Mapping[str, int]) -> list[str]:
    mean = _mean(estimates)
    asked = sum(entry.n for entry in estimates.values())
    line = f"Coverage: {mean.coverage} settings, {asked} of {sum(expected.values())} questions."
    if len(expected) > 1 and mean.mean is None and mean.mean_covered is not None:
        line += f" Mean over the settings that were run: {percent(mean.mean_covered)};"
        line += f" by the paper's convention, a missing setting counting as 0: {percent(mean.mean_missing_zero)}."
    return [line]


def _measure(rows: Sequence[Scored], metric: str) -> dict[str, Estimate]:
    from spotdiff.statistics import mean_over

    found = by_group(_with(metric, rows), "setting", metric)
    cells = {setting.title: found[setting.name] for setting in SETTINGS if setting.name in found}
    if len(cells) == len(SETTINGS):
        cells["mean"] = mean_over(rows, metric, lambda row: str(row.groups["setting"]))
    return cells


def _published() -> Sequence[Published]:
    """What the paper prints: replies that no rule could read were given to a judge, and some others too."""
    columns = {setting.name: setting.title for setting in SETTINGS}
    return read_published(
        Path(__file__).with_name("published.csv"), columns, note=lambda row: f"judge-assisted ({row['judge']})"
    )


BREAKDOWNS = (
    Breakdown("settings", "Accuracy by setting", _measure, (*(s.title for s in SETTINGS), "mean"), _published),
)
