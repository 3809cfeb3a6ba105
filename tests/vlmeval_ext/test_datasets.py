"""The data set class inside the real VLMEvalKit, in this process."""

from __future__ import annotations

import csv
import json
import pickle
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PILImage
from told_texts import tell

import _spotdiff_hook
from lmms_eval_tasks import adapter
from spotdiff.errors import DataError, ReplyFileError, SettingError, SpotdiffError
from spotdiff.media.images import pixel_digest
from spotdiff.probes.stages import stages
from spotdiff.tasks import tasks, vlmeval_tasks

pytest.importorskip("vlmeval")
pytestmark = [pytest.mark.framework, pytest.mark.xdist_group("vlmeval")]

MINI_TASKS = [name for name, entry in tasks().items() if entry.data.endswith("_mini")]


@pytest.fixture(scope="module")
def framework() -> Any:
    """The module `vlmeval.dataset`, with whatever its import brings along."""
    _spotdiff_hook.arm()
    import vlmeval.dataset

    return vlmeval.dataset


@pytest.fixture(autouse=True)
def quiet_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))


def build(framework: Any, name: str = "M4Bench_Mini", model: str = "gpt-4o") -> Any:
    # As `--model` arrives there.
    return framework.build_dataset(name, model=[model], data=[name], mode="all", limit=None)


def write_predictions(path: Path, replies: Mapping[str, str]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writerows([("index", "prediction"), *replies.items()])
    return str(path)


def test_importing_vlmevalkit_is_enough_to_have_every_data_set_and_model(framework: Any) -> None:
    from vlmeval.config import supported_VLM

    for name in vlmeval_tasks():
        assert framework.SUPPORTED_DATASETS.count(name) == 1
        assert framework.DATASET_TYPE(name) == "spotdiff"
        assert framework.DATASET_MODALITY(name) == "IMAGE"
    assert supported_VLM["spotdiff_baseline_shortcut"]().generate


def test_m4bench_is_ours_however_it_is_asked_for(framework: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """VLMEvalKit has a data set of this name, which scores otherwise."""
    from vlmeval.run import build_dataset_from_config

    assert framework.M4Bench is framework.SpotdiffDataset
    monkeypatch.setattr(sys, "argv", ["vlmeval", "--model", "gpt-4o"])
    for entry in (
        {},
        {"class": "SpotdiffDataset", "dataset": "M4Bench_Mini"},
        {"class": "M4Bench", "dataset": "M4Bench_Mini"},
    ):
        built = build_dataset_from_config({"M4Bench_Mini": entry}, "M4Bench_Mini")
        assert type(built) is framework.SpotdiffDataset
        assert built.dataset_name == "M4Bench_Mini"


def test_registering_again_changes_nothing(framework: Any) -> None:
    from vlmeval_ext.registration import add_data_sets

    before = list(framework.DATASET_CLASSES), list(framework.SUPPORTED_DATASETS)
    add_data_sets(framework)
    assert before == (framework.DATASET_CLASSES, framework.SUPPORTED_DATASETS)


def test_our_package_can_be_imported_by_its_own_name(framework: Any) -> None:
    from vlmeval_ext.datasets import SpotdiffDataset

    assert framework.SpotdiffDataset is SpotdiffDataset


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts for all tasks of mini data that rest on some."""
    folder = tmp_path_factory.mktemp("probes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPOTDIFF_PROBES", str(folder))
        for name in (name for name in stages() if "_mini_" in name):
            tell(name)
    return folder


@pytest.mark.parametrize("name", MINI_TASKS)
def test_a_model_gets_the_same_parts_as_in_lmms_eval(
    name: str, framework: Any, probes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_FRAMES", "3")
    monkeypatch.setenv("SPOTDIFF_PROBES", str(probes))
    dataset = build(framework, tasks()[name].vlmeval_name)
    documents = adapter.load_documents(name)
    assert len(dataset) == len(documents)
    adapter.doc_to_text(documents[0], {"model": "gpt-4o"})
    for number, document in enumerate(documents):
        (turn,) = adapter.doc_to_messages(document)
        expected = [part["text"] if part["type"] == "text" else pixel_digest(part["url"]) for part in turn["content"]]
        messages = dataset.build_prompt(dataset.data.iloc[number])
        parts = [
            part["value"] if part["type"] == "text" else pixel_digest(PILImage.open(part["value"])) for part in messages
        ]
        assert [part["type"] for part in messages] == [part["type"] for part in turn["content"]]
        assert parts == expected


def test_a_model_that_reads_videos_itself_gets_the_same_files_as_in_lmms_eval(
    framework: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPOTDIFF_VIDEO_FORM", "path")
    dataset = build(framework, "M3Verse_Mini")
    documents = adapter.load_documents("m3verse_mini")
    adapter.doc_to_text(documents[0], {"model": "gpt-4o"})
    for number in (0, len(documents) - 1):
        (turn,) = adapter.doc_to_messages(documents[number])
        files = [part["url"] for part in turn["content"] if part["type"] == "video"]
        messages = dataset.build_prompt(number)
        assert [message["type"] for message in messages] == ["text", "video", "text", "video", "text"]
        assert [message["value"] for message in messages if message["type"] == "video"] == files
        assert len(set(files)) == 2
        assert all(re.fullmatch(r"[0-9a-f]{64}\.mp4", Path(file).name) for file in files)
        assert {Path(file).parent for file in files} == {tmp_path / "media/videos"}


def test_an_image_is_a_file_whose_name_tells_its_pixels_and_nothing_else(framework: Any, tmp_path: Path) -> None:
    dataset = build(framework, "M4Bench_Mini_State_Invariance")
    for message in dataset.build_prompt(0):
        if message["type"] == "image":
            file = Path(message["value"])
            assert file.parent == tmp_path / "media/vlmeval"
            assert re.fullmatch(r"[0-9a-f]{64}\.png", file.name)
            assert file.stem == pixel_digest(PILImage.open(file))


def test_the_table_of_questions_holds_no_pixels_and_text_alone(framework: Any) -> None:
    dataset = build(framework)
    assert {"index", "question", "answer", "setting", "category"} <= set(dataset.data.columns)
    assert all(isinstance(value, str) for row in dataset.data.itertuples(index=False) for value in row)


def test_a_model_without_eyes_gets_text_alone_and_needs_no_image(framework: Any) -> None:
    dataset = build(framework, model="spotdiff_baseline")
    assert {message["type"] for message in dataset.build_prompt(0)} == {"text"}


def test_vlmevalkits_models_accept_every_message(framework: Any, tmp_path: Path) -> None:
    from vlmeval.api.base import BaseAPI
    from vlmeval.vlm.base import BaseModel

    dataset = build(framework, "M4Bench_Mini_Spatial_Perception_VP")
    messages = dataset.build_prompt(0)
    text = messages[-1]["value"]
    for take in (BaseAPI.preproc_content, BaseModel.preproc_content):
        model = BaseAPI() if take is BaseAPI.preproc_content else BaseModel()
        assert take(model, [dict(message) for message in messages]) == messages
    assert text in set(dataset.data["question"])


def test_a_text_that_names_an_existing_file_is_still_a_text(
    framework: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Fails without the workaround: VLMEvalKit asserts that such a part is no text."""
    from vlmeval.api.base import BaseAPI

    dataset = build(framework, "M4Bench_Mini_State_Invariance")
    text = dataset.build_prompt(0)[-1]["value"]
    (tmp_path / text).write_text("a file")
    with pytest.raises(AssertionError):
        BaseAPI().preproc_content([{"type": "text", "value": str(text)}])
    messages = dataset.build_prompt(0)
    assert BaseAPI().preproc_content(messages) == messages
    assert messages[-1]["value"].rstrip() == text


def test_a_model_that_words_the_prompt_itself_is_refused(framework: Any) -> None:
    dataset = build(framework, "M4Bench_Mini_State_Invariance")
    with pytest.raises(SpotdiffError, match="custom-prompt"):
        dataset.dump_image(dataset.data.iloc[0])


def test_right_answers_score_one_and_what_is_written_agrees(
    framework: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = build(framework)
    replies = dict(zip(dataset.data["index"], dataset.data["answer"], strict=True))
    file = write_predictions(tmp_path / "gpt-4o.2_M4Bench_Mini.tsv", replies)
    found = dataset.evaluate(file, model="gpt-4o", nproc=4)
    assert (found["acc"], found["acc_release"], found["parsed"], found["coverage"]) == (1, 1, 1, 1)
    assert type(dataset).report_primary_metric(found) == {"acc": 1.0}
    json.dumps(found)
    lines = (tmp_path / "gpt-4o.2_M4Bench_Mini_scored.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [f"{record['id']}" for record in records] == [index.split("@")[0] for index in dataset.data["index"]]
    assert {record["score"] for record in records} == {1}
    table = (tmp_path / "gpt-4o.2_M4Bench_Mini_table.md").read_text()
    assert table.splitlines()[0] in capsys.readouterr().out
    assert '"models": ["gpt-4o"]' in table
    assert not list(tmp_path.glob(".*tmp"))


def test_the_right_answers_are_ours_whatever_the_file_says(framework: Any, tmp_path: Path) -> None:
    dataset = build(framework, "M4Bench_Mini_State_Invariance")
    file = tmp_path / "x_M4Bench_Mini_State_Invariance.tsv"
    lines = [("index", "answer", "prediction"), *((index, "B", "B") for index in dataset.data["index"])]
    with file.open("w", newline="") as stream:
        csv.writer(stream, delimiter="\t").writerows(lines)
    right = sum(answer == "B" for answer in dataset.data["answer"])
    assert 0 < right < len(dataset)
    assert dataset.evaluate(str(file))["acc"] == right / len(dataset)


def test_only_the_questions_of_a_limited_run_are_scored(framework: Any, tmp_path: Path) -> None:
    dataset = build(framework)
    # What VLMEvalKit does for --limit 3.
    dataset.data = dataset.data.iloc[:3]
    replies = dict(zip(dataset.data["index"], dataset.data["answer"], strict=True))
    found = dataset.evaluate(write_predictions(tmp_path / "p.tsv", replies))
    assert found["questions"] == 3
    assert "acc" not in found
    assert found["state_invariance/acc"] == 1
    assert type(dataset).report_primary_metric(found) == {}


def test_replies_given_under_other_settings_are_not_scored(
    framework: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """VLMEvalKit would join them by index, and the letters would mean other options."""
    dataset = build(framework, "M4Bench_Mini_State_Invariance")
    file = write_predictions(tmp_path / "p.tsv", dict.fromkeys(dataset.data["index"], "A"))
    monkeypatch.setenv("SPOTDIFF_SHUFFLE_SEED", "5")
    with pytest.raises(ReplyFileError, match=r"no reply to .*not asked with these settings"):
        build(framework, "M4Bench_Mini_State_Invariance").evaluate(file)


def test_a_data_set_can_be_evaluated_in_another_process(framework: Any, tmp_path: Path) -> None:
    dataset = pickle.loads(pickle.dumps(build(framework, "M4Bench_Mini_State_Invariance")))
    replies = dict(zip(dataset.data["index"], dataset.data["answer"], strict=True))
    assert dataset.evaluate(write_predictions(tmp_path / "p.tsv", replies))["acc"] == 1


def test_missing_data_are_named_without_a_traceback(
    framework: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import logging

    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    with pytest.raises(DataError, match="spotdiff data prepare m4bench") as caught:
        build(framework, "M4Bench")
    info = (DataError, caught.value, caught.tb)
    logger = logging.getLogger("vlmeval.run")
    ours = logger.makeRecord(logger.name, logging.ERROR, "run.py", 1, "failed", (), info)
    other = logger.makeRecord(logger.name, logging.ERROR, "run.py", 1, "failed", (), (ValueError, ValueError(), None))
    assert logger.filter(ours)
    assert logger.filter(other)
    assert ours.exc_info is None
    assert other.exc_info is not None


def test_a_model_of_one_image_is_refused_where_a_question_has_two(
    framework: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vlmeval.config import supported_VLM

    class OneImage:
        INTERLEAVE = False

    monkeypatch.setitem(supported_VLM, "one-image", partial(OneImage))
    name = "M4Bench_Mini_State_Comparison"
    with pytest.raises(SettingError, match="one-image takes one image"):
        build(framework, name, "one-image")
    monkeypatch.setenv("SPOTDIFF_LAYOUT", "concat")
    assert len(build(framework, name, "one-image"))
