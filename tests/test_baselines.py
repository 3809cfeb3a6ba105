"""Answers without a look at an image."""

import hashlib

import pytest

from spotdiff.baselines import answer_with, policy_names
from spotdiff.errors import SettingError
from spotdiff.question import Box, Image, Option, Question, Text
from spotdiff.tasks import benchmarks


def refuse() -> None:
    raise AssertionError("a baseline looked at an image")


def question(*options: tuple[str, tuple[Box, ...]], name: str = "q", setting: str = "spatial_perception") -> Question:
    return Question(
        id=f"{setting}/{name}",
        setting=setting,
        parts=(Image(refuse), Image(refuse), Text("prompt")),  # type: ignore[arg-type]
        options=tuple(Option(letter, text, boxes) for letter, (text, boxes) in zip("ABCDEF", options, strict=False)),
        gold=("A",),
        cluster="c",
    )


BOXED = question(
    ("small", ((0, 0, 2, 2), (0, 0, 2, 2))),
    ("large in one image only", ((0, 0, 9, 9), (0, 0, 1, 1))),
    ("large in both", ((0, 0, 8, 8), (0, 0, 8, 8))),
    ("No difference.", ()),
)
YES_OR_NO = question((" no ", ()), ("YES", ()), setting="state_invariance")


@pytest.mark.parametrize(
    ("policy", "asked", "reply"),
    [
        ("a", BOXED, "A"),
        ("D", BOXED, "D"),
        ("largest_box", BOXED, "C"),
        ("Largest_Box", BOXED, "C"),
        ("smallest_box", BOXED, "A"),
        ("always_yes", YES_OR_NO, "B"),
        ("always_no", YES_OR_NO, "A"),
        ("shortcut", BOXED, "C"),
        ("shortcut", YES_OR_NO, "B"),
    ],
)
def test_a_policy_chooses_by_the_options_alone(policy: str, asked: Question, reply: str) -> None:
    assert answer_with(policy, "m4bench")(asked) == reply


def test_of_equal_boxes_the_first_is_chosen() -> None:
    asked = question(("x", ((0, 0, 2, 3),)), ("y", ((1, 1, 4, 3),)))
    assert answer_with("largest_box", "m4bench")(asked) == answer_with("smallest_box", "m4bench")(asked) == "A"


@pytest.mark.parametrize(
    ("policy", "asked", "message"),
    [
        ("e", BOXED, "policy e does not fit question spatial_perception/q: it has no option E"),
        ("c", YES_OR_NO, "policy c does not fit question state_invariance/q"),
        ("ü", BOXED, "it has no option Ü"),
        ("always_yes", BOXED, "policy always_yes does not fit question spatial_perception/q: no option says Yes"),
        ("largest_box", YES_OR_NO, "policy largest_box does not fit question state_invariance/q: its options have no"),
    ],
)
def test_a_policy_that_does_not_fit_a_question_says_so(policy: str, asked: Question, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        answer_with(policy, "m4bench")(asked)


@pytest.mark.parametrize(
    ("policy", "hint"),
    [
        ("larges_box", "Did you mean largest_box"),
        ("zzzz", "Known: random, a, b"),
        ("", "Known: random"),
        ("7", "Known"),
    ],
)
def test_an_unknown_policy_is_refused_before_any_question(policy: str, hint: str) -> None:
    with pytest.raises(SettingError, match=hint):
        answer_with(policy, "m4bench")


def test_every_policy_that_is_listed_can_be_used() -> None:
    for benchmark in benchmarks():
        assert len(policy_names(benchmark)) == len(set(policy_names(benchmark)))
        for policy in policy_names(benchmark):
            assert callable(answer_with(policy, benchmark))


def test_a_random_answer_is_a_function_of_seed_and_id() -> None:
    asked = [question(*[("x", ())] * 4, name=str(number)) for number in range(400)]
    replies = [answer_with("random", "m4bench", seed=1)(entry) for entry in asked]
    expected = [int(hashlib.sha256(f"1/{entry.id}".encode()).hexdigest()[:16], 16) % 4 for entry in asked]
    assert replies == ["ABCD"[number] for number in expected]
    assert replies != [answer_with("random", "m4bench", seed=2)(entry) for entry in asked]
    assert all(70 < replies.count(letter) < 130 for letter in "ABCD")
