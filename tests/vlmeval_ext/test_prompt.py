from __future__ import annotations

import copy
import json
import pickle

import pytest
from PIL import Image as PILImage

from spotdiff.errors import SpotdiffError
from spotdiff.question import Image, Option, Question, Text
from vlmeval_ext.models import Baseline, baselines
from vlmeval_ext.prompt import Prompt


def black() -> PILImage.Image:
    return PILImage.new("RGB", (2, 2))


# A function defined here cannot be pickled by name in another process, as little as the core's.
QUESTION = Question(
    id="state_invariance/1",
    setting="state_invariance",
    parts=(Image(lambda: black()), Text("Same?\nA. No\nB. Yes")),
    options=(Option("A", "No"), Option("B", "Yes")),
    gold=("B",),
    cluster="1",
)


@pytest.fixture
def prompt() -> Prompt:
    return Prompt("Same?\nA. No\nB. Yes", QUESTION)


def test_a_prompt_is_its_text_for_everyone_else(prompt: Prompt) -> None:
    assert prompt == "Same?\nA. No\nB. Yes"
    assert json.loads(json.dumps([prompt])) == ["Same?\nA. No\nB. Yes"]


@pytest.mark.parametrize("sent", [lambda prompt: pickle.loads(pickle.dumps(prompt)), copy.deepcopy, copy.copy])
def test_a_prompt_reaches_another_process_with_its_question(sent: object, prompt: Prompt) -> None:
    received = sent(prompt)  # type: ignore[operator]
    assert isinstance(received, Prompt)
    assert received == prompt
    assert (received.question.id, received.question.options) == (QUESTION.id, QUESTION.options)
    assert received.question.prompt == QUESTION.prompt


def test_a_baseline_answers_the_question_behind_the_text(prompt: Prompt) -> None:
    message = [{"type": "image", "value": "a.png"}, {"type": "text", "value": prompt}]
    assert Baseline("shortcut").generate(message, "M4Bench_Mini") == "B"
    assert Baseline("a").generate(message, "M4Bench_Mini") == "A"


def test_a_baseline_refuses_a_question_of_another_data_set() -> None:
    with pytest.raises(SpotdiffError, match="data sets of spotdiff only"):
        Baseline().generate([{"type": "text", "value": "Same?"}], "MMBench_DEV_EN")


def test_a_policy_that_does_not_fit_is_an_error_not_a_guess(prompt: Prompt) -> None:
    with pytest.raises(SpotdiffError, match="does not fit question state_invariance/1"):
        Baseline("c").generate([{"type": "text", "value": prompt}], "M4Bench_Mini")


def test_there_is_a_model_for_every_policy() -> None:
    models = baselines()
    assert {"spotdiff_baseline", "spotdiff_baseline_random", "spotdiff_baseline_shortcut"} <= set(models)
    assert all(isinstance(model(), Baseline) for model in models.values())
