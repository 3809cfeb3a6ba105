from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spotdiff.tasks import vlmeval_tasks
from vlmeval_ext import names
from vlmeval_ext.invocation import Invocation


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMUData", str(tmp_path))
    monkeypatch.delenv("SPOTDIFF_NO_REGISTER", raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def vlmeval_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for `vlmeval.dataset`, whose import takes long."""
    stand_in = SimpleNamespace(SUPPORTED_DATASETS=["M4Bench", "MMBench_DEV_EN"])
    monkeypatch.setitem(sys.modules, "vlmeval", SimpleNamespace(dataset=stand_in))
    monkeypatch.setitem(sys.modules, "vlmeval.dataset", stand_in)


def early(*data: str, models: tuple[str, ...] = ("GPT4o",)) -> list[str]:
    return names.early_faults(Invocation(data, models))


def test_every_one_of_our_names_is_accepted() -> None:
    assert names.ours() == tuple(sorted(vlmeval_tasks()))
    assert early(*names.ours()) == []


def test_a_misspelt_name_of_ours_is_refused_with_the_closest_ones() -> None:
    (fault,) = early("M4Bench_State_Invarance")
    assert "no data set 'M4Bench_State_Invarance'" in fault
    assert "did you mean M4Bench_State_Invariance" in fault


def test_case_counts_and_the_right_one_is_named() -> None:
    (fault,) = early("m4bench")
    assert "did you mean M4Bench" in fault


def test_a_name_that_may_be_vlmevalkits_is_left_to_vlmevalkit() -> None:
    assert early("MMBench_DEV_EN", "NoSuchThing") == []


def test_a_table_of_the_users_own_may_have_any_name(own_data_folder: Path) -> None:
    (own_data_folder / "M4Bench_Mine.tsv").touch()
    assert early("M4Bench_Mine") == []


def test_data_and_model_are_needed_unless_there_is_a_config() -> None:
    assert early("M4Bench", models=()) != []
    assert early() != []
    assert names.early_faults(Invocation(config=Path("run.json"))) == []


def test_while_registration_is_off_our_names_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_NO_REGISTER", "1")
    assert names.ours() == ()
    assert early("M4Bench") == []


def framework(config: Any = None) -> Any:
    return SimpleNamespace(
        supported_VLM={"GPT4o": 0, "Qwen2-VL-7B-Instruct": 0, "org--model": 0},
        supported_video_datasets={"M4Bench": 0, "MVBench_8frame": 0},
        load=lambda path: config,
    )


def arguments(**given: Any) -> argparse.Namespace:
    usual = {"config": None, "data": [], "model": ["GPT4o"], "api_mode": False, "base_url": None, "mode": "all"}
    return argparse.Namespace(**{**usual, **given})


def test_an_unknown_model_is_refused_with_the_closest_names() -> None:
    (fault,) = names.faults(arguments(model=["GPT4o", "Qwen2-VL-7b"]), framework())
    assert "no model 'Qwen2-VL-7b'; did you mean Qwen2-VL-7B-Instruct?" in fault


@pytest.mark.parametrize("given", [{"base_url": "http://localhost"}, {"mode": "eval"}])
def test_any_model_name_will_do_for_a_server_and_for_stored_predictions(given: dict[str, str]) -> None:
    assert names.faults(arguments(model=["anything"], **given), framework()) == []


def test_in_api_mode_a_slash_in_a_model_name_stands_for_two_dashes() -> None:
    assert names.faults(arguments(model=["org/model"], api_mode=True), framework()) == []
    assert names.faults(arguments(model=["org/model"]), framework()) != []


def test_entries_of_a_config_without_a_class_must_be_known_names() -> None:
    config = {
        "model": {"GPT4o": {}, "mine": {"class": "GPT4V"}, "typo": {}},
        "data": {"M4Bench": {}, "own": {"class": "X"}, "M4Bnch": {}},
    }
    faults = names.faults(arguments(config="run.json"), framework(config))
    assert [fault.split("'")[1] for fault in faults] == ["M4Bnch", "typo"]


def test_an_entry_of_a_config_must_be_called_like_our_data_set_in_it() -> None:
    """VLMEvalKit would store its replies under one name and look for them under the other."""
    entry = {"class": "SpotdiffDataset", "dataset": "M4Bench_Mini"}
    assert names.faults(arguments(config="run.json"), framework({"model": {}, "data": {"M4Bench_Mini": entry}})) == []
    (fault,) = names.faults(arguments(config="run.json"), framework({"model": {}, "data": {"short": entry}}))
    assert "'short'" in fault
    assert "'M4Bench_Mini'" in fault


def test_a_name_in_the_wrong_case_throughout_finds_the_right_one() -> None:
    (fault,) = early("M4BENCH_STATE_INVARIANCE")
    assert "did you mean M4Bench_State_Invariance" in fault


def test_every_data_set_of_vlmevalkit_is_accepted_and_no_other() -> None:
    given = arguments(data=["M4Bench", "MMBench_DEV_EN", "MVBench_8frame", "MMBench_DEV_ENN"])
    (fault,) = names.faults(given, framework())
    assert "no data set 'MMBench_DEV_ENN'; did you mean MMBench_DEV_EN?" in fault


def test_a_served_model_with_a_slash_in_its_name_is_refused_before_vlmevalkit_fails_at_it() -> None:
    words = ["--data", "M4Bench", "--model", "org/name", "--base-url", "http://localhost:8000/v1"]
    (fault,) = names.early_faults(Invocation.of(words))
    assert "org/name" in fault
    assert "--served-model-name" in fault
    assert names.early_faults(Invocation.of([*words, "--api-mode"])) == []
    assert names.early_faults(Invocation.of(words[:4])) == []


def test_a_limit_that_would_be_ignored_is_refused() -> None:
    words = ["--data", "M4Bench", "--model", "GPT4o", "--limit", "5"]
    assert names.early_faults(Invocation.of(words)) == []
    (fault,) = names.early_faults(Invocation.of([*words, "--api-mode"]))
    assert "--limit" in fault
