"""What lmms-eval gets to see of a task, without lmms-eval."""

import copy
import importlib.machinery
import json
import math
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks import adapter, documents
from spotdiff.errors import DataError, SettingError, SpotdiffError
from spotdiff.evaluation import Evaluation
from spotdiff.media.images import open_image, pixel_digest

Row = dict[str, Any]
MakeRow = Callable[..., Row]
Write = Callable[..., Path]
NAME = "m4bench_spatial_perception_vp"


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    yield
    adapter._loads.clear()


def words(model: str | None) -> Mapping[str, Any]:
    return adapter.MODEL_WORDS[model]


def load(model: str | None = "gpt4o", name: str = NAME) -> list[Row]:
    """The documents of a task, loaded as lmms-eval does: document 0 is asked for its text at once."""
    rows = list(getattr(documents, name)(None))
    adapter.doc_to_text(without_images(rows[0]), words(model))
    return rows


def without_images(doc: Row) -> Row:
    return {name: value for name, value in doc.items() if name not in ("image_1", "image_2")}


# --- the model's name ---------------------------------------------------------------------------------------------


def test_the_mapping_of_model_words_has_every_key_and_survives_a_copy() -> None:
    found = copy.deepcopy(adapter.MODEL_WORDS)
    for word in ("qwen3_vl", "default", "dataset", "anything"):
        assert word in found
        assert found[word] == {"model": word}
    assert found[None] == {"model": None}


def test_boxes_are_written_for_the_model_that_is_asked(make_row: MakeRow, data_folder: Write) -> None:
    data_folder(spatial_perception=[make_row()])
    texts = {model: adapter.doc_to_text(load(model)[0], words(model)) for model in ("gpt4o", "internvl2", "qwen3_vl")}
    assert "[4, 5, 40, 30] in image-1" in texts["gpt4o"]
    assert "<box>[[62, 104, 625, 625]]</box> in image-1" in texts["internvl2"]
    assert len(set(texts.values())) == 3


def test_a_model_of_unknown_family_is_an_error_as_the_task_is_loaded(make_row: MakeRow, data_folder: Write) -> None:
    data_folder(spatial_perception=[make_row()])
    with pytest.raises(SettingError, match="SPOTDIFF_BOX_FAMILY"):
        load("openai")


# --- images -------------------------------------------------------------------------------------------------------


def test_a_missing_image_stops_a_model_as_the_task_is_loaded(make_row: MakeRow, data_folder: Write) -> None:
    data_folder(spatial_perception=[make_row("a"), make_row("b", image_2=None)])
    for model in ("gpt4o", None):
        with pytest.raises(DataError, match="row b, field image_2"):
            load(model)


@pytest.mark.parametrize("model", ["spotdiff_baseline", "spotdiff_replay"])
def test_models_that_look_at_nothing_need_no_images(
    make_row: MakeRow, data_folder: Write, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_BOX_FAMILY", "pixels")
    data_folder(spatial_perception=[make_row(image_1=None, image_2=None)])
    assert len(load(model)) == 1


@pytest.mark.parametrize("model", ["gpt4o", None])
def test_images_are_checked_once_for_each_loading(
    make_row: MakeRow, data_folder: Write, monkeypatch: pytest.MonkeyPatch, model: str | None
) -> None:
    monkeypatch.setenv("SPOTDIFF_BOX_FAMILY", "pixels")
    data_folder(spatial_perception=[make_row("a"), make_row("b")])
    checks: list[str] = []
    monkeypatch.setattr(Evaluation, "check_media", lambda self: checks.append(self.task.name))
    for times in (1, 2):
        for doc in load(model):
            adapter.doc_to_text(without_images(doc), words(model))
        assert checks == [NAME] * times


# --- messages -----------------------------------------------------------------------------------------------------


def test_messages_are_one_turn_with_both_images_and_then_the_text(make_row: MakeRow, data_folder: Write) -> None:
    row = make_row()
    data_folder(spatial_perception=[row])
    (doc,) = load()
    (message,) = adapter.doc_to_messages(doc)
    assert message["role"] == "user"
    assert [part["type"] for part in message["content"]] == ["image", "image", "text"]
    digests = [pixel_digest(part["url"]) for part in message["content"][:2]]
    assert digests == [pixel_digest(open_image(row[name], "")) for name in ("image_1", "image_2")]
    assert [pixel_digest(image) for image in adapter.doc_to_visual(doc)] == digests
    assert message["content"][2]["text"] == adapter.doc_to_text(doc, words("gpt4o"))


def test_messages_are_new_at_each_call(make_row: MakeRow, data_folder: Write) -> None:
    data_folder(spatial_perception=[make_row()])
    (doc,) = load()
    first = adapter.doc_to_messages(doc)
    first[0]["content"].clear()
    assert len(adapter.doc_to_messages(doc)[0]["content"]) == 3


def test_text_and_target_need_no_images(make_row: MakeRow, data_folder: Write) -> None:
    data_folder(spatial_perception=[make_row()])
    doc = without_images(load()[0])
    assert adapter.doc_to_text(doc, words("gpt4o")).startswith("[4, 5, 40, 30] in image-1")
    assert adapter.doc_to_target(doc) == "B"


def test_a_document_of_another_task_is_refused(make_row: MakeRow, data_folder: Write) -> None:
    for doc in ({}, {"task": "mmmu"}, {"task": NAME}):
        with pytest.raises(SpotdiffError, match="tasks of spotdiff only"):
            adapter.question_of(doc)


# --- metrics ------------------------------------------------------------------------------------------------------


def test_results_hold_every_metric_and_the_record(make_row: MakeRow, data_folder: Write) -> None:
    data_folder(spatial_perception=[make_row("a/b")])
    found = adapter.process_results(without_images(load()[0]), ["(B)"])
    assert {name: entry["score"] for name, entry in found.items()} == {
        "acc": 1.0,
        "acc_answered": 1.0,
        "acc_release": 1.0,
        "parsed": 1.0,
        "failed": 0.0,
        "chance": 0.25,
        "coverage": 1.0,
    }
    assert {entry["cluster"] for entry in found.values()} == {"pair of a/b"}
    record = json.loads(json.dumps(found["acc"]))
    assert (record["id"], record["task"], record["total"]) == ("spatial_perception_vp/a/b", NAME, 230)
    assert (record["letters"], record["gold"], record["outcome"]) == (["B"], ["B"], "parsed")


@pytest.mark.parametrize("reply", ["", "  ", "\ud800", "<think>", "I will not say.", "A" * 10_000, None])
def test_no_reply_makes_the_results_fail(make_row: MakeRow, data_folder: Write, reply: Any) -> None:
    data_folder(spatial_perception=[make_row()])
    found = adapter.process_results(without_images(load()[0]), [reply])
    assert found["acc"]["score"] == 0.0


def test_a_failed_reply_scores_0_and_is_left_out_of_acc_answered(
    make_row: MakeRow, data_folder: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    data_folder(spatial_perception=[make_row(str(number)) for number in range(6)])
    replies = ["(B)", "(A)", "no idea", None, "[LMMS_EVAL_REQUEST_FAILED after 2 retries] Error code: 500 - A", " "]
    found = [
        adapter.process_results(without_images(doc), [reply])  # type: ignore[list-item]
        for doc, reply in zip(load(), replies, strict=True)
    ]
    items = {name: [entry[name] for entry in found] for name in found[0]}
    assert adapter.mean(items["acc"]) == pytest.approx(1 / 6)
    assert adapter.answered_mean(items["acc_answered"]) == pytest.approx(1 / 3)
    capsys.readouterr()
    assert adapter.failed(items["failed"]) == 1 / 2
    said = "6 asked, 3 answered, 3 failed (empty 1, reasoning only 1, server error 1), 1 unparsed (none 1)"
    assert capsys.readouterr().err == f"spotdiff: {NAME}: {said}\n"
    assert (adapter.TALLIES[-1][0], str(adapter.TALLIES[-1][1])) == (NAME, said)
    assert [item["failure"] for item in items["acc"]] == ["", "", "", "reasoning only", "server error", "empty"]


def test_where_everything_failed_there_is_no_mean_over_the_answered() -> None:
    assert math.isnan(adapter.answered_mean([{"stratum": "indoor"}, {"stratum": "outdoor"}]))
    assert (
        adapter.answered_mean([{"stratum": "a", "score": 1.0}, {"stratum": "a"}, {"stratum": "b", "score": 0.0}]) == 0.5
    )


def test_metrics_are_averaged_over_questions_and_coverage_over_the_complete_task() -> None:
    items: list[Mapping[str, Any]] = [
        {"score": share, "total": 8, "outcome": "parsed", "task": "t"} for share in (1.0, 0.0, 0.5, 0.5)
    ]
    assert adapter.mean(items) == 0.5
    assert adapter.coverage([{"score": 1.0, "total": 8}] * 4) == 0.5
    assert adapter.coverage([{"score": whole, "total": 4} for whole in (1.0, 1.0, 0.0)]) == 0.5


def test_where_a_group_is_balanced_each_of_its_values_weighs_the_same() -> None:
    items = [{"score": score, "stratum": "indoor"} for score in (1, 1, 1, 0)] + [{"score": 0, "stratum": "outdoor"}]
    assert adapter.mean(items) == pytest.approx((3 / 4 + 0) / 2)


# --- errors -------------------------------------------------------------------------------------------------------


def failing() -> None:
    raise SettingError("what is wrong and what to do")


def test_the_python_interface_gets_the_exception() -> None:
    with pytest.raises(SettingError):
        adapter.reported(failing)()


def test_under_the_command_line_an_error_is_a_message_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = types.ModuleType("__main__")
    main.__spec__ = importlib.machinery.ModuleSpec("lmms_eval.__main__", None)
    monkeypatch.setitem(sys.modules, "__main__", main)
    with pytest.raises(SystemExit) as caught:
        adapter.reported(failing)()
    assert caught.value.code == 2
    assert capsys.readouterr().err == "\nspotdiff: what is wrong and what to do\n"


def test_other_exceptions_are_left_alone() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        adapter.reported(broken)()


# --- several loadings in one process ------------------------------------------------------------------------------


def test_a_task_loaded_again_for_another_model_or_order_leaves_the_first_loading_as_it_was(
    make_row: MakeRow, data_folder: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_folder(spatial_perception=[make_row(str(number)) for number in range(12)])
    first = load("qwen2_vl")
    before = [(adapter.doc_to_text(doc, words("qwen2_vl")), adapter.doc_to_target(doc)) for doc in first]
    monkeypatch.setenv("SPOTDIFF_SHUFFLE_SEED", "3")
    second = load("qwen3_vl")
    assert [adapter.doc_to_target(doc) for doc in second] != [adapter.doc_to_target(doc) for doc in first]
    assert [(adapter.doc_to_text(doc, words("qwen2_vl")), adapter.doc_to_target(doc)) for doc in first] == before
    assert all(
        adapter.doc_to_messages(doc)[0]["content"][-1]["text"] == text
        for doc, (text, _) in zip(first, before, strict=True)
    )
