"""Families of tasks by data set and variant, and what every benchmark breaks its answers down into."""

import pytest

from spotdiff.runs.collect import short_name, variant_of
from spotdiff.runs.figures import benchmark_of, family_named
from spotdiff.runs.logs import family_of
from spotdiff.runs.report import FULL
from spotdiff.tasks import benchmarks, task, tasks


def test_every_family_is_found_by_its_data_set_and_variant() -> None:
    for name, own in tasks().items():
        family = family_of(name)
        variant = variant_of(family, own.data)
        assert family_named(own.data, variant) == family, name
        assert benchmark_of(own.data).name == own.benchmark
        assert {setting.name for setting in own.settings} <= {setting.name for setting in task(family).settings}


def test_every_data_set_has_a_full_variant() -> None:
    for data in {own.data for own in tasks().values()}:
        assert variant_of(family_of(family_named(data, FULL)), data) == FULL


@pytest.mark.parametrize("name", list(benchmarks()))
def test_a_benchmarks_published_columns_are_columns_of_its_table(name: str) -> None:
    breakdowns = benchmarks()[name].breakdowns
    assert len({breakdown.name for breakdown in breakdowns}) == len(breakdowns)
    rows = [(breakdown, row) for breakdown in breakdowns for row in breakdown.published()]
    assert rows
    for breakdown, row in rows:
        assert set(row.values) <= set(breakdown.columns)
        assert all(-0.1 <= value <= 1 for value in row.values.values())


@pytest.mark.parametrize(
    ("model", "short"),
    [
        ("qwen3_vl (pretrained=Qwen/Qwen3-VL-8B,device=cpu)", "Qwen3-VL-8B"),
        ("qwen3_vl (device=cpu,pretrained=/models/mine/)", "mine"),
        ("openai (base_url=http://host/v1,model_version=gpt)", "gpt"),
        ("spotdiff_baseline (policy=random)", "spotdiff_baseline (policy=random)"),
        ("GPT-4o_replay", "GPT-4o_replay"),
    ],
)
def test_a_model_is_called_what_its_arguments_call_it(model: str, short: str) -> None:
    assert short_name(model) == short
