"""Prompts that are sorted by scene, and are otherwise their text."""

import copy
import json
import pickle
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks import adapter
from lmms_eval_tasks.ordering import ScenePrompt
from spotdiff.media import clips, prefetch

PROMPTS = st.builds(ScenePrompt, st.sampled_from(["", "a", "b", "ab"]), st.sampled_from("st"), st.integers(0, 12))


@given(st.lists(PROMPTS))
def test_sorting_as_models_do_brings_scenes_together_in_their_order(prompts: list[ScenePrompt]) -> None:
    found = sorted([(prompt, prompt) for prompt in prompts])
    expected = sorted((prompt._place, str(prompt)) for prompt in prompts)
    assert [(prompt._place, str(prompt)) for prompt, _ in found] == expected


def test_a_prompt_is_its_text_wherever_it_is_read() -> None:
    prompt = ScenePrompt("What is new?", "m3verse_sim", 7)
    assert prompt == "What is new?" == f"{prompt}"
    assert {prompt: 1}["What is new?"] == 1
    assert json.dumps([prompt]) == '["What is new?"]'
    assert type(str(prompt)) is str
    assert prompt != "What is old?"
    assert prompt < "X"


@pytest.mark.parametrize("how", ["", "description "])
def test_its_place_is_kept_when_lmms_eval_puts_a_description_in_front(how: str) -> None:
    first, second = how + ScenePrompt("b", "t", 1), how + ScenePrompt("a", "t", 2)
    assert (first, second) == (f"{how}b", f"{how}a")
    assert sorted([second, first]) == [first, second]


def test_its_place_is_kept_in_copies_and_in_other_processes() -> None:
    prompt = ScenePrompt("b", "t", 1)
    pickled = [pickle.loads(pickle.dumps(prompt, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for same in (copy.deepcopy(prompt), copy.copy(prompt), *pickled):
        assert type(same) is ScenePrompt
        assert same == prompt
        assert same < ScenePrompt("a", "t", 2)


def test_one_wording_in_two_scenes_is_not_one_prompt() -> None:
    assert ScenePrompt("a", "t", 1) != ScenePrompt("a", "t", 2)
    assert ScenePrompt("a", "t", 1) == ScenePrompt("a", "t", 1)


# --- what lmms-eval gets ------------------------------------------------------------------------------------------


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """All documents of a task with videos, after lmms-eval has asked for their texts."""
    for name, value in (("MEDIA_CACHE", str(tmp_path)), ("FRAMES", "3"), ("FRAME_SIZE", "28x28")):
        monkeypatch.setenv(f"SPOTDIFF_{name}", value)
    monkeypatch.setattr(clips, "_clips", clips._Clips())
    yield list(adapter.load_documents("m3verse_mini"))
    settle()
    adapter._loads.clear()


def settle() -> None:
    """Wait until nothing is prepared any more."""
    deadline = time.monotonic() + 60
    while prefetch._worker._plan is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_texts_of_chat_models_are_prompts_that_keep_scenes_together(loaded: list[dict[str, Any]]) -> None:
    texts = [adapter.doc_to_text(document, {"model": "qwen3_vl"}) for document in loaded]
    assert [str(text) for text in texts] == [adapter.question_of(document).prompt for document in loaded]
    order = sorted(range(len(loaded)), key=lambda number: (texts[number], texts[number]))
    scenes = [loaded[number]["scene"] for number in order]
    assert [scene for scene, _ in groupby(scenes)] == list(dict.fromkeys(row["scene"] for row in loaded))


def test_the_next_scene_is_decoded_once_a_question_has_been_handed_over(
    loaded: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for document in loaded:
        adapter.doc_to_text(document, {"model": "qwen3_vl"})
    first = [part["url"] for part in adapter.doc_to_messages(loaded[0])[0]["content"] if part["type"] == "video"]
    settle()
    assert len(clips._clips._kept) == len({row[name] for row in loaded for name in ("video_before", "video_after")})
    monkeypatch.setattr(clips, "_decoded", None)
    other = next(row for row in loaded if row["scene"] != loaded[0]["scene"])
    second = [part["url"] for part in adapter.doc_to_messages(other)[0]["content"] if part["type"] == "video"]
    assert [len(frames) for frames in (*first, *second)] == [3] * 4


def test_a_model_that_reads_files_needs_nothing_decoded(
    loaded: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_VIDEO_FORM", "path")
    documents = list(adapter.load_documents("m3verse_mini"))
    for document in documents:
        adapter.doc_to_text(document, {"model": "qwen3_vl"})
    adapter.doc_to_messages(documents[0])
    assert prefetch._worker._plan is None
    assert not clips._clips._kept
