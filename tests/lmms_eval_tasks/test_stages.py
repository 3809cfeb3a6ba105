"""Stages of a probe in lmms-eval: replies become stored texts, whatever they are, and results count them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spotdiff.probes.store import StoredText, read_texts

pytestmark = pytest.mark.framework

STAGE = "m3verse_mini_oracle_captions"
REPLIES = [
    "A kitchen.",
    "",
    "I'm sorry, but I cannot describe this video.",
    "[LMMS_EVAL_REQUEST_FAILED] Error code: 503",
]
TOO_LONG = "[LMMS_EVAL_REQUEST_FAILED] Error code: 400 - This model's maximum context length is 8 tokens."


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPOTDIFF_PROBES", str(tmp_path / "probes"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "probes"


def model_of(replies: list[str]) -> Any:
    """A model of lmms-eval that gives these replies in turn, and keeps what it was sent."""
    from lmms_eval.api.model import lmms

    class Scripted(lmms):  # type: ignore[misc]
        is_simple = False

        def __init__(self) -> None:
            super().__init__()
            self.sent: list[Any] = []

        def generate_until(self, requests: list[Any]) -> list[str]:
            for request in requests:
                _, messages_of, _, document, task, split = request.args
                self.sent.append(messages_of(self.task_dict[task][split][document]))
            return [replies[number % len(replies)] for number in range(len(requests))]

        def loglikelihood(self, requests: list[Any]) -> list[Any]:
            raise NotImplementedError

        def generate_until_multi_round(self, requests: list[Any]) -> list[str]:
            raise NotImplementedError

    return Scripted()


def evaluated(model: Any, task: str = STAGE) -> dict[str, float]:
    from lmms_eval.evaluator import simple_evaluate

    results = simple_evaluate(model=model, tasks=[task])["results"][task]
    return {name.removesuffix(",none"): value for name, value in results.items() if isinstance(value, float)}


def stored(folder: Path) -> Iterator[StoredText]:
    return read_texts(folder, "m3verse_captions").all()


def test_every_reply_is_stored_with_what_became_of_it_and_counted(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = evaluated(model_of(REPLIES))
    assert {name: found[name] for name in ("made", "empty", "refused", "failed", "coverage")} == {
        "made": 0.25, "empty": 0.25, "refused": 0.25, "failed": 0.25, "coverage": 1.0,
    }  # fmt: skip
    texts = sorted((text.outcome, text.text, text.failure) for text in stored(store))
    assert texts[::2] == [
        ("empty", "", ""), ("failed", "", "server error"), ("made", REPLIES[0], ""), ("refused", REPLIES[2], ""),
    ]  # fmt: skip
    assert {text.model.rpartition("-")[0] for text in stored(store)} == {"Scripted"}
    assert (
        "8 asked, 6 answered, 2 failed (server error 2); kept as they are: 2 empty, 2 refused"
        in capsys.readouterr().err
    )


def test_a_clip_is_sent_before_its_prompt_as_one_image_a_frame() -> None:
    model = model_of(["a room"])
    evaluated(model)
    kinds = [[part["type"] for part in message[0]["content"]] for message in model.sent]
    assert [len(parts) - 1 for parts in kinds] == [32, 32, 30, 31, 25, 39, 36, 36]
    assert all(parts[-1] == "text" and set(parts[:-1]) == {"image"} for parts in kinds)


def test_summaries_longer_than_the_model_takes_are_told_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    evaluated(model_of(["a room"]))
    evaluated(model_of(["a very long summary"]), "m3verse_mini_oracle_summaries")
    capsys.readouterr()
    evaluated(model_of([TOO_LONG]), "m3verse_mini_oracle")
    said = capsys.readouterr().err
    assert "27 failed (prompt too long 27)" in said
    assert "The model takes less than 27 of the prompts hold" in said


def test_a_clip_cannot_be_shown_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    from spotdiff.errors import SettingError

    monkeypatch.setenv("SPOTDIFF_VIDEO_FORM", "path")
    with pytest.raises(SettingError, match="A clip is a part of a file"):
        evaluated(model_of(["a room"]))


def test_documents_of_a_stage_are_asked_for_by_lmms_eval_alone() -> None:
    from lmms_eval_tasks import documents
    from spotdiff.errors import SpotdiffError

    with pytest.raises(SpotdiffError, match="is run by lmms-eval itself"):
        getattr(documents, STAGE)(None)
