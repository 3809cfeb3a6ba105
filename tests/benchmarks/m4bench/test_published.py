"""The published questions and replies: prompts byte for byte, what image-blind answers score, the published table."""

import gzip
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from spotdiff.baselines import answer_with
from spotdiff.benchmarks.m4bench.tables import SETTINGS, table
from spotdiff.evaluation import Evaluation
from spotdiff.question import Question, Text
from spotdiff.replay import load_replies
from spotdiff.scoring import Scored, by_group
from spotdiff.settings import Settings
from spotdiff.tasks import task

Rows = dict[str, list[dict[str, Any]]]
Ask = Callable[[str], dict[str, Question]]

pytestmark = pytest.mark.xdist_group("published")

MODELS = {"GPT-4o": None, "Qwen2-VL-7B-Instruct": None, "InternVL2_5-8B": None, "MiniCPM-V-2_6": "pixels"}
"""Published model -> box family, where its name does not tell."""


@pytest.fixture(scope="module")
def rows(replay_data_folder: Path) -> Rows:
    """Setting -> its rows, out of the prepared data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPOTDIFF_DATA", str(replay_data_folder))
        loaded = {setting.name: Evaluation.of(task(f"m4bench_{setting.name}")).rows() for setting in SETTINGS}
    return {name: rows.remove_columns(["image_1", "image_2"]).to_list() for name, rows in loaded.items()}


@pytest.fixture(scope="module")
def published(replay_data: Path) -> list[dict[str, Any]]:
    with gzip.open(replay_data / "replay.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


@pytest.fixture(scope="module")
def ask(rows: Rows) -> Ask:
    """All questions, by id, as they are put to a model."""

    @cache
    def questions(model: str) -> dict[str, Question]:
        settings = Settings(box_family=MODELS.get(model))
        return {
            asked.id: asked
            for name, entries in rows.items()
            for row in entries
            for asked in [Evaluation(task(f"m4bench_{name}"), settings, model).question(row)]
        }

    return questions


def id_of(reply: dict[str, Any]) -> str:
    return f"{next(s.name for s in SETTINGS if s.released_as == reply['task'])}/{reply['id']}"


def test_the_prepared_data_hold_as_many_questions_as_the_paper(rows: Rows) -> None:
    assert {name: len(entries) for name, entries in rows.items()} == {s.name: s.questions for s in SETTINGS}
    assert sum(map(len, rows.values())) == 1811


def test_every_published_prompt_is_rebuilt_byte_for_byte(ask: Ask, published: list[dict[str, Any]]) -> None:
    rebuilt = {model: ask(model) for model in MODELS}
    differing = []
    for reply in published:
        asked = rebuilt[reply["model"]][id_of(reply)]
        (text,) = (part.text for part in asked.parts if isinstance(part, Text))
        if text.encode() != reply["prompt"].encode() or asked.gold != (reply["answer"],):
            differing.append((reply["model"], asked.id, text, reply["prompt"]))
    assert differing == []
    assert len(published) == 5860
    assert {reply["model"] for reply in published} == set(MODELS)


def test_no_path_or_file_name_of_the_release_stands_in_the_prepared_data(rows: Rows) -> None:
    held = json.dumps(rows)
    assert re.findall(r"[^\s\"]*(?:\.jpe?g|\.png|imgs|M4Bench/)[^\s\"]*", held) == []


def test_questions_on_the_same_two_images_share_a_cluster(rows: Rows, published: list[dict[str, Any]]) -> None:
    images = {id_of(reply): frozenset(reply["images"]) for reply in published}
    clusters = defaultdict(set)
    for name, entries in rows.items():
        for row in entries:
            if f"{name}/{row['id']}" in images:
                clusters[images[f"{name}/{row['id']}"]].add(row["pair"])
    assert {len(found) for found in clusters.values()} == {1}
    assert len({pair for found in clusters.values() for pair in found}) == len(clusters)


# --- without an image ---------------------------------------------------------------------------------------------


def share(asked: dict[str, Question], policy: str, setting: str) -> float:
    """Right answers of a policy in one setting, in %."""
    answer = answer_with(policy, "m4bench")
    right = [(answer(question),) == question.gold for question in asked.values() if question.setting == setting]
    return round(100 * sum(right) / len(right), 1)


@pytest.mark.parametrize(
    ("policy", "setting", "expected"),
    [
        ("always_yes", "state_invariance", 72.1),
        ("always_no", "state_comparison", 55.8),
        ("largest_box", "detailed_difference_synthetic", 82.9),
        ("smallest_box", "detailed_difference_natural", 53.0),
        ("largest_box", "spatial_perception", 36.1),
        ("a", "spatial_perception", 28.3),
        ("d", "instance_comparison", 50.0),
        ("d", "detailed_difference_natural", 0.0),
    ],
)
def test_an_image_blind_policy_scores_what_is_known_of_the_questions(
    ask: Ask, policy: str, setting: str, expected: float
) -> None:
    assert share(ask("spotdiff_baseline"), policy, setting) == expected


def test_the_shortcuts_score_54_5_on_average(ask: Ask) -> None:
    shares = [share(ask("spotdiff_baseline"), "shortcut", setting.name) for setting in SETTINGS]
    assert round(sum(shares) / 8, 1) == 54.5


def test_random_answers_score_near_chance_and_do_not_depend_on_the_order(ask: Ask) -> None:
    asked = list(ask("spotdiff_baseline").values())
    answer = answer_with("random", "m4bench", seed=5)
    replies = {question.id: answer(question) for question in asked}
    assert replies == {question.id: answer(question) for question in reversed(asked)}
    assert replies != {question.id: answer_with("random", "m4bench", seed=6)(question) for question in asked}
    right = sum((replies[question.id],) == question.gold for question in asked)
    expected = sum(1 / len(question.options) for question in asked)
    assert abs(right - expected) < 4 * (len(asked) * 0.25) ** 0.5
    two = Counter(replies[question.id] for question in asked if len(question.options) == 2)
    assert set(two) == {"A", "B"}


def test_a_random_answer_is_the_recorded_function_of_seed_and_id(ask: Ask) -> None:
    for question in list(ask("spotdiff_baseline").values())[::97]:
        digest = hashlib.sha256(f"3/{question.id}".encode()).hexdigest()[:16]
        letter = "ABCD"[int(digest, 16) % len(question.options)]
        assert answer_with("random", "m4bench", seed=3)(question) == letter


# --- scores -------------------------------------------------------------------------------------------------------


def as_published(asked: Question, letter: str) -> Scored:
    """The answer that the authors counted; they write Z where nothing was found."""
    found = letter in asked.option_texts
    return Scored(
        id=asked.id,
        score=float(letter in asked.gold),
        chance=1 / len(asked.options),
        letters=(letter,) if found else (),
        gold=asked.gold,
        outcome="parsed" if found else "none",
        cluster=asked.cluster,
        options=len(asked.options),
        groups=asked.groups,
    )


@pytest.mark.parametrize("model", MODELS)
def test_letters_that_the_authors_extracted_give_their_published_table(
    ask: Ask, published: list[dict[str, Any]], replay_data: Path, model: str
) -> None:
    stated = json.loads((replay_data / "published_scores.json").read_text())[model]
    asked = ask(model)
    rows = [
        as_published(asked[id_of(reply)], reply["published_letter"]) for reply in published if reply["model"] == model
    ]
    found = table(rows, model, {setting.name: setting.questions for setting in SETTINGS})
    shares = [stated[s.released_as]["score"] if s.released_as in stated else None for s in SETTINGS]
    assert found.rows[0][1:9] == tuple("-" if share is None else f"{100 * share:.1f}" for share in shares)
    mean = f"{100 * sum(share or 0 for share in shares) / 8:.1f}"
    assert found.rows[0][9] == mean if None not in shares else f"counting as 0: {mean}." in found.notes[0]


RELEASE = {
    "GPT-4o": (88.6, 66.8, 32.1, 18.3, 10.9, 26.5, 13.9, 10.4),
    "Qwen2-VL-7B-Instruct": (72.1, 68.8, 60.3, 15.7, 33.9, 33.5, 43.5, 38.3),
    "InternVL2_5-8B": (73.1, 65.4, 4.7, 18.7, 26.5, 33.9, 31.7, 36.5),
}


@pytest.mark.parametrize("model", RELEASE)
def test_replayed_replies_score_as_the_rules_of_the_release_do(ask: Ask, replay_data: Path, model: str) -> None:
    replies = load_replies(replay_data / "replay.jsonl.gz", model)
    asked = ask(model)
    replies.require(asked)
    evaluation = Evaluation(task("M4Bench"), Settings(), model)
    scored = [evaluation.answer(question, replies.by_id[name]).scored for name, question in asked.items()]
    estimates = by_group(scored, "setting", "acc_release")
    assert tuple(round(100 * (estimates[s.name].mean or 0), 1) for s in SETTINGS) == RELEASE[model]
