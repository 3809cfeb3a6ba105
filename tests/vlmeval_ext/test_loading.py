from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import pytest

from spotdiff.errors import DataError, SettingError
from vlmeval_ext.loading import Loaded, load


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))


def mini(models: Iterable[str] = ("gpt-4o",), name: str = "M4Bench_Mini") -> Loaded:
    return load(name, tuple(models), media=False)


def indices(loaded: Loaded) -> list[str]:
    return list(loaded.numbers)


def test_an_index_finds_its_question() -> None:
    loaded = mini()
    assert len(loaded.numbers) == len(loaded.rows)
    for index, question in loaded.questions():
        assert index.startswith(f"{question.id}@")
        assert loaded.question(index).prompt == question.prompt


def test_the_same_question_has_the_same_index_in_every_data_set_that_holds_it() -> None:
    joined, alone = mini(), mini(name="M4Bench_Mini_State_Comparison")
    assert indices(alone) == [index for index in indices(joined) if index.startswith("state_comparison/")]


@pytest.mark.parametrize(
    ("setting", "value"),
    [("SWAP", "1"), ("SHUFFLE_SEED", "3"), ("LAYOUT", "concat"), ("BOX_NOTE", "1"), ("VISUAL_PROMPT", "drawn")],
)
def test_a_setting_that_changes_what_is_asked_changes_every_index(
    setting: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = indices(mini())
    monkeypatch.setenv(f"SPOTDIFF_{setting}", value)
    assert not set(indices(mini())) & set(before)


def test_a_setting_that_changes_no_question_changes_no_index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = indices(mini())
    monkeypatch.setenv("SPOTDIFF_MAX_NEW_TOKENS", "9")
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    assert indices(mini()) == before


def test_how_boxes_are_written_is_part_of_the_index() -> None:
    pixels, thousandths = mini(["gpt-4o"]), mini(["Qwen2-VL-7B"])
    same = set(indices(pixels)) & set(indices(thousandths))
    assert {index.split("/")[0] for index in same} == {"state_invariance", "state_comparison"}


def test_models_that_write_boxes_alike_are_run_together() -> None:
    assert indices(mini(["gpt-4o", "claude-x"])) == indices(mini(["gpt-4o"]))


def test_models_that_write_boxes_differently_are_refused_together(monkeypatch: pytest.MonkeyPatch) -> None:
    models = ["gpt-4o", "Qwen2-VL-7B"]
    with pytest.raises(SettingError, match="one at a time"):
        mini(models)
    assert mini(models, "M4Bench_Mini_State_Invariance")
    monkeypatch.setenv("SPOTDIFF_BOX_FAMILY", "qwen2_vl")
    assert mini(models)


@pytest.mark.parametrize("models", [[], ["a model that nobody knows"]])
def test_where_nothing_tells_how_boxes_are_written_the_choices_are_listed(models: list[str]) -> None:
    with pytest.raises(SettingError, match="internvl, pixels, qwen2_5_vl"):
        mini(models)


def test_missing_data_are_one_error_with_the_command_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    with pytest.raises(DataError, match="spotdiff data prepare m4bench"):
        mini(name="M4Bench")


def test_what_is_loaded_can_be_sent_to_another_process() -> None:
    loaded = mini()
    received: Loaded = pickle.loads(pickle.dumps(loaded))
    index = indices(loaded)[0]
    assert received.question(index).images()[0].open().tobytes() == loaded.question(index).images()[0].open().tobytes()
