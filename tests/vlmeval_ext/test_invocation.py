from __future__ import annotations

import json
from pathlib import Path

import pytest

from spotdiff.benchmarks.m4bench.boxes import FAMILIES, family_of_model
from vlmeval_ext.invocation import Invocation, is_media_free


def test_names_are_read_from_the_arguments_of_vlmevalkit() -> None:
    told = Invocation.of(["--data", "M4Bench", "MMBench", "--model", "GPT4o", "--limit", "5", "--verbose"])
    assert told == Invocation(data=("M4Bench", "MMBench"), models=("GPT4o",), named=("GPT4o",), limited=True)


def test_a_model_given_by_its_repository_or_folder_is_known_by_the_last_part() -> None:
    told = Invocation.of(["--model", "Qwen/Qwen2-VL-7B-Instruct", "/models/InternVL3-8B/"])
    assert told.models == ("Qwen2-VL-7B-Instruct", "InternVL3-8B")


def test_the_name_of_a_served_model_does_not_tell_how_its_images_are_prepared() -> None:
    words = ["--model", "Qwen/Qwen2.5-VL-7B-Instruct"]
    assert Invocation.of(words).asked == ("Qwen2.5-VL-7B-Instruct",)
    (served,) = Invocation.of([*words, "--base-url", "http://localhost:8000/v1"]).asked
    assert family_of_model(served, FAMILIES) is None


def test_mode_is_not_taken_for_an_abbreviation_of_model() -> None:
    told = Invocation.of(["--mode", "eval", "--model", "GPT4o"])
    assert told.models == ("GPT4o",)
    assert told.scores_only


def test_a_config_tells_models_by_what_they_load_and_data_sets_by_what_they_hold(tmp_path: Path) -> None:
    config = tmp_path / "run.json"
    models = {
        "mine": {"class": "GPT4V", "model": "gpt-4o-2024-08-06"},
        "tuned": {"class": "Qwen2VLChat", "model_path": "/ckpt/Qwen2-VL-7B-tuned"},
        "GPT4o_20241120": {},
    }
    data = {"short": {"class": "SpotdiffDataset", "dataset": "M4Bench_Mini"}, "M4Bench": {}}
    config.write_text(json.dumps({"model": models, "data": data}))
    told = Invocation.of(["--config", str(config)])
    assert told.models == ("gpt-4o-2024-08-06", "Qwen2-VL-7B-tuned", "GPT4o_20241120")
    assert told.data == ("M4Bench_Mini", "M4Bench")


@pytest.mark.parametrize("text", [None, "", "[]", '{"model": []}'])
def test_a_config_that_cannot_be_read_tells_nothing(text: str | None, tmp_path: Path) -> None:
    config = tmp_path / "run.json"
    if text is not None:
        config.write_text(text)
    assert Invocation.of(["--config", str(config)]) == Invocation(config=config)


def test_another_programs_arguments_tell_nothing() -> None:
    assert Invocation.of(["-x", "tests/test_it.py", "--model"]) == Invocation()


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["--model", "GPT4o"], True),
        (["--model", "GPT4o", "--mode", "eval"], False),
        (["--model", "GPT4o", "--mode", "infer"], True),
        (["--model", "spotdiff_baseline", "spotdiff_baseline_shortcut"], False),
        (["--model", "spotdiff_baseline", "GPT4o"], True),
        ([], True),
    ],
)
def test_images_are_needed_unless_no_model_will_look_at_them(words: list[str], needed: bool) -> None:
    assert Invocation.of(words).needs_media is needed


def test_no_model_is_not_a_model_without_eyes() -> None:
    assert not is_media_free([])
