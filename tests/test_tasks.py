"""Which tasks there are, under which names, and that the files of lmms-eval say the same."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import lmms_eval_tasks
from lmms_eval_tasks import documents, generation, groups, metadata
from spotdiff.benchmarks.m4bench import BENCHMARK
from spotdiff.errors import SettingError
from spotdiff.probes.stages import stage_groups, stages
from spotdiff.tasks import Setting, Task, _joined, benchmarks, task, tasks, vlmeval_tasks

FOLDER = Path(lmms_eval_tasks.__file__).parent

BASE = [
    "state_invariance",
    "state_comparison",
    "detailed_difference_synthetic",
    "detailed_difference_natural",
    "spatial_perception",
    "spatial_perception_vp",
    "instance_comparison",
    "instance_comparison_vp",
]


class Loader(yaml.SafeLoader):  # type: ignore[misc]
    pass


Loader.add_constructor("!function", lambda loader, node: f"!function {loader.construct_scalar(node)}")


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(file.read_text(), Loader)
    return found


FILES = {file: read(file) for file in sorted(FOLDER.rglob("*.yaml"))}
STAGE_FOLDER = "stages"
TASK_FILES = {
    content["task"]: file
    for file, content in FILES.items()
    if "group" not in content and file.parent.name != STAGE_FOLDER
}
GROUP_FILES = {
    content["group"]: file for file, content in FILES.items() if "group" in content and file.parent.name != STAGE_FOLDER
}


def with_includes(file: Path) -> dict[str, Any]:
    content = FILES.get(file) or read(file)
    if "include" not in content:
        return content
    return {**with_includes((file.parent / content["include"]).resolve()), **content}


# --- names --------------------------------------------------------------------------------------------------------


def test_the_tasks_of_m4bench_are_the_documented_ones() -> None:
    prompted = [name for name in BASE if name.endswith("_vp")]
    assert {entry.name for entry in BENCHMARK.tasks} == {
        *(f"m4bench_{name}" for name in BASE),
        *(f"m4bench_{name}_concat" for name in BASE),
        *(f"m4bench_{name}_swap" for name in BASE),
        *(f"m4bench_{name}_drawn" for name in prompted),
        *(f"m4bench_{name}_captioned" for name in BASE),
        *(f"m4bench_mini_{name}" for name in BASE),
        *(f"m4bench_mini_{name}_captioned" for name in BASE),
    }
    variants = ("", "_concat", "_swap", "_drawn", "_captioned", "_mini", "_mini_captioned")
    assert set(BENCHMARK.groups) == {f"m4bench{variant}" for variant in variants}


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("m4bench_state_invariance", "M4Bench_State_Invariance"),
        ("m4bench_spatial_perception_vp", "M4Bench_Spatial_Perception_VP"),
        ("m4bench_mini_instance_comparison_vp", "M4Bench_Mini_Instance_Comparison_VP"),
        ("m4bench_detailed_difference_synthetic_concat", "M4Bench_Detailed_Difference_Synthetic_Concat"),
        ("m3verse_sim_blind", "M3Verse_Sim_Blind"),
        ("egoexo_next", "EgoExo_Next"),
        ("mvvbench", "MVVBench"),
    ],
)
def test_names_are_the_same_words_in_both_frameworks(name: str, theirs: str) -> None:
    assert Task(name, "m4bench", "m4bench", ()).vlmeval_name == theirs


def test_every_name_is_its_own() -> None:
    assert len(tasks()) == sum(len(benchmark.tasks) for benchmark in benchmarks().values())
    groups = sum(len(benchmark.groups) for benchmark in benchmarks().values())
    assert len(vlmeval_tasks()) == len(tasks()) + groups
    lower = [name.lower() for name in vlmeval_tasks()]
    assert len(set(lower)) == len(lower)
    assert set(lower) == set(tasks()) | {group for entry in benchmarks().values() for group in entry.groups}


def test_a_task_or_group_is_found_by_either_name() -> None:
    for name, found in vlmeval_tasks().items():
        assert task(name) == task(name.lower()) == found
    for name, found in tasks().items():
        assert task(name) == found
        assert vlmeval_tasks()[found.vlmeval_name] == found


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("m4bench_state_invariants", "m4bench_state_invariance"),
        ("M4bench", "M4Bench"),
        ("M4Bench_Spatial_Perception_vp", "M4Bench_Spatial_Perception_VP"),
    ],
)
def test_an_unknown_task_is_refused_with_the_closest_names(name: str, close: str) -> None:
    with pytest.raises(SettingError, match=rf"There is no task '{name}'\. Did you mean .*{close}\b"):
        task(name)


@pytest.mark.parametrize("name", ["zzzzzz", "Zzzz"])
def test_a_task_unlike_any_other_is_refused_with_the_command_that_lists_all(name: str) -> None:
    with pytest.raises(SettingError, match=rf"There is no task '{name}'\. `spotdiff tasks` lists all of them$"):
        task(name)


def test_a_task_without_a_name_is_refused() -> None:
    with pytest.raises(SettingError, match="There is no task ''"):
        task("")


# --- joined tasks -------------------------------------------------------------------------------------------------


def test_a_group_is_one_data_set_with_all_settings_in_order() -> None:
    joined = task("M4Bench")
    assert [setting.name for setting in joined.settings] == BASE
    assert (joined.name, joined.data, joined.own, joined.expected) == ("m4bench", "m4bench", {}, 1811)
    assert task("M4Bench_Swap").own == {"swap": True}
    assert task("M4Bench_Drawn").expected == 460
    mini = task("M4Bench_Mini")
    assert (mini.data, mini.expected, len(mini.settings)) == ("m4bench_mini", None, 8)


def test_tasks_that_differ_in_what_they_fix_cannot_be_joined() -> None:
    one = Task("a", "m4bench", "m4bench", (), {"swap": True}, 1)
    for other in (Task("b", "m4bench", "m4bench", (), {}, 1), Task("b", "m4bench", "other", (), {"swap": True}, 1)):
        with pytest.raises(ValueError, match="differ in data or in what they fix"):
            _joined("c", [one, other])


def test_a_setting_is_found_by_name() -> None:
    assert task("M4Bench").setting("spatial_perception_vp").config == "spatial_perception"
    with pytest.raises(KeyError):
        task("m4bench_state_invariance").setting("state_comparison")


def test_every_task_names_known_settings_and_the_papers_counts() -> None:
    for entry in tasks().values():
        assert entry.benchmark in benchmarks()
        assert entry.settings
        assert all(isinstance(setting, Setting) and setting.questions > 0 for setting in entry.settings)
        if entry.expected is not None:
            assert entry.expected == sum(setting.questions for setting in entry.settings)


# --- the files of lmms-eval ---------------------------------------------------------------------------------------


def test_there_is_one_file_for_each_task_and_each_group() -> None:
    stage_files = [file for file in FILES if file.parent.name == STAGE_FOLDER]
    assert len(TASK_FILES) + len(GROUP_FILES) + len(stage_files) == len(FILES)
    assert set(TASK_FILES) == set(tasks())
    assert set(GROUP_FILES) == {group for benchmark in benchmarks().values() for group in benchmark.groups}
    assert all(file.stem == name for name, file in TASK_FILES.items())


@pytest.mark.parametrize("name", TASK_FILES)
def test_a_task_file_says_only_its_name_its_documents_and_its_metadata(name: str) -> None:
    content = FILES[TASK_FILES[name]]
    own_limit = {"generation_kwargs"} if tasks()[name].max_new_tokens else set()
    assert set(content) == {"include", "task", "process_docs", "metadata"} | own_limit
    assert content["process_docs"] == f"!function lmms_eval_tasks.documents.{name}"


@pytest.mark.parametrize("name", TASK_FILES)
def test_a_task_file_is_complete_with_what_it_includes(name: str) -> None:
    whole = with_includes(TASK_FILES[name])
    assert whole["output_type"] == "generate_until"
    assert whole["num_fewshot"] == 0
    assert whole["cluster_key"] == "cluster"
    limited = name if tasks()[name].max_new_tokens else tasks()[name].benchmark
    assert whole["generation_kwargs"] == f"!function lmms_eval_tasks.generation.{limited}"
    assert whole["metadata"] == f"!function lmms_eval_tasks.metadata.{name}"
    assert [entry["metric"] for entry in whole["metric_list"]][:1] == ["acc"]


def test_there_is_one_file_for_each_stage_and_each_group_of_stages() -> None:
    contents = {file.stem: content for file, content in FILES.items() if file.parent.name == STAGE_FOLDER}
    assert set(contents) == {*stages(), *(f"_{group}" for group in stage_groups())}
    for name in stages():
        whole = with_includes(next(file for file in FILES if file.stem == name))
        assert whole["process_docs"] == f"!function lmms_eval_tasks.documents.{name}"
        assert whole["generation_kwargs"] == f"!function lmms_eval_tasks.generation.{name}"
        assert whole["metadata"] == f"!function lmms_eval_tasks.metadata.{name}"
        assert whole["process_results"] == "!function lmms_eval_tasks.stages.process_results"
    for group, members in stage_groups().items():
        assert contents[f"_{group}"]["group"] == group
        assert contents[f"_{group}"]["task"] == list(members)


def test_stages_tasks_and_groups_share_no_name() -> None:
    names = {*tasks(), *(name for benchmark in benchmarks().values() for name in benchmark.groups)}
    own = [*stages(), *stage_groups()]
    assert len({*names, *own}) == len(names) + len(own)


@pytest.mark.parametrize("name", GROUP_FILES)
def test_a_group_file_lists_the_members_of_the_group_and_averages_them_as_the_benchmark_does(name: str) -> None:
    content = FILES[GROUP_FILES[name]]
    (benchmark,) = (entry for entry in benchmarks().values() if name in entry.groups)
    assert content["task"] == list(benchmark.groups[name])
    assert content["metadata"]["version"] == benchmark.version
    metrics = [entry["metric"] for entry in with_includes(TASK_FILES[content["task"][0]])["metric_list"]]
    assert [entry["metric"] for entry in content["aggregate_metric_list"]] == metrics
    assert {entry["weight_by_size"] for entry in content["aggregate_metric_list"]} == {benchmark.pooled}
    weights = {sum(setting.weight for setting in tasks()[member].settings) for member in content["task"]}
    uneven = len(weights) > 1 and not benchmark.pooled
    wanted = f"!function lmms_eval_tasks.groups.{name}" if uneven else "mean"
    assert {entry["aggregation"] for entry in content["aggregate_metric_list"]} == {wanted}


def test_tasks_of_a_group_are_averaged_by_their_weights() -> None:
    # Subtask 2 of EgoExo-Next is one part in four, and has two directions.
    means = [0.1, 0.2, 0.6, 0.5, 0.9]
    assert groups.egoexo_next(means, [1, 2, 3, 4, 5], False) == pytest.approx((0.1 + (0.2 + 0.6) / 2 + 0.5 + 0.9) / 4)
    assert groups.m4bench([0.0] * 4 + [1.0] * 4, [9] * 8, False) == 0.5


def test_a_group_without_all_of_its_tasks_has_no_mean() -> None:
    assert math.isnan(groups.egoexo_next([0.5] * 4, [1] * 4, False))


def every_function(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [name for entry in value.values() for name in every_function(entry)]
    if isinstance(value, list):
        return [name for entry in value for name in every_function(entry)]
    return [value.removeprefix("!function ")] if isinstance(value, str) and value.startswith("!function ") else []


def test_every_function_that_a_file_names_is_there() -> None:
    import importlib

    names = {name for file in FILES for name in every_function(with_includes(file))}
    assert len(names) > len(TASK_FILES)
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute) is not None


def test_a_function_of_an_unknown_task_or_benchmark_is_not_there() -> None:
    for module in (documents, generation, groups, metadata):
        with pytest.raises(AttributeError, match="there is no"):
            _ = module.m4bench_something


def test_replies_are_greedy_up_to_the_limit_of_the_benchmark_and_are_not_cut_at_blank_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert generation.m4bench == {"max_new_tokens": 1024, "temperature": 0, "do_sample": False, "until": []}
    assert generation.mvvbench["max_new_tokens"] == 64
    assert generation.mvvbench_mini_cot == {**generation.m4bench, "max_new_tokens": 1024}
    monkeypatch.setenv("SPOTDIFF_MAX_NEW_TOKENS", "9000")
    assert generation.mvvbench_mini_cot["max_new_tokens"] == 9000
    assert generation.m4bench["max_new_tokens"] == 9000


def test_the_results_say_version_and_settings_with_those_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_SWAP", "1")
    assert metadata.m4bench_mini_state_invariance["version"] == BENCHMARK.version
    assert metadata.m4bench_mini_state_invariance["settings"] == {"swap": True}
    assert metadata.m4bench_state_invariance_concat["settings"]["layout"] == "concat"


def test_the_results_tell_data_sets_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    digests = [metadata.m4bench_mini_state_invariance["data"], metadata.m4bench_mini_state_comparison["data"]]
    assert all(re.fullmatch("[0-9a-f]{16}", digest) for digest in digests)
    assert len(set(digests)) == 2
    assert metadata.m4bench_state_invariance["data"] is None
