"""From a row of M3-Verse to a question, in every variant."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from spotdiff.benchmarks.m3verse import BENCHMARK
from spotdiff.benchmarks.m3verse.protocol import TEXT_VARIANTS, VARIANTS, problems, question, sampling
from spotdiff.errors import SettingError
from spotdiff.evaluation import Evaluation
from spotdiff.media.sampling import Sampling
from spotdiff.question import Part, Question, Text, Video
from spotdiff.settings import Settings
from spotdiff.tasks import Setting, task

Row = dict[str, Any]

BEFORE, AFTER = "the first video", "the second video"

FIGURE_17 = """Your task is to answer questions based on the provided videos and options.
Question: {question text}
Options: {candidate options}
Return ONLY the letter(s) corresponding to the correct option(s) (e.g., A, B, C, or A,C for multiple correct answers)"""

FIGURE_18 = """Your task is to answer questions based on the provided videos and options.
This is the first video: {video of the ‘before’ state}
This is the second video: {video of the ‘after’ state}
Question: {question text}
Options: {candidate options}
Return ONLY the letter(s) corresponding to the correct option(s) (e.g., A, B, C, or A,C for multiple correct answers)"""

ONE_RIGHT = "There is only one correct option for this question."
SEVERAL_RIGHT = "There are more than one correct option for this question."


def make_row(**changes: Any) -> Row:
    return {
        "id": "scene_7-3",
        "scene": "scene_7",
        "state": "inter",
        "category": "object_change",
        "subcategory": "old_receptacle",
        "question": "Where did it go?",
        "options": ["To the shelf", "To the bed", "No correct option is listed."],
        "answer": ["B"],
        "hallucination": False,
        "capabilities": ["spatial understanding", "reasoning"],
        "video_before": "videos/sim/scene_7/state_0.mp4",
        "video_after": "videos/sim/scene_7/state_1.mp4",
        **changes,
    }


def setting(variant: str = "direct", part: str = "sim") -> Setting:
    return Setting(part, part, part, 1, {"variant": variant})


def asked(row: Row | None = None, variant: str = "direct", model: str | None = None, **changes: Any) -> Question:
    return question(row or make_row(), setting(variant), Settings(**changes), model)


def told(parts: tuple[Part, ...]) -> list[str]:
    """Texts as they are, videos by name."""
    names = {"state_0.mp4": BEFORE, "state_1.mp4": AFTER}
    told = []
    for part in parts:
        assert isinstance(part, (Text, Video))
        told.append(part.text if isinstance(part, Text) else f"<{names[part.path.name]}>")
    return told


def collapsed(text: str) -> str:
    return " ".join(text.split())


def filled(figure: str, row: Row) -> str:
    """The figure's text with everything in braces replaced, and the hint behind it."""
    options = " ".join(f"{letter}. {text}" for letter, text in zip("ABCDEFGH", row["options"], strict=False))
    text = figure.replace("{question text}", row["question"]).replace("{candidate options}", options)
    text = text.replace("{video of the ‘before’ state}", f"<{BEFORE}>")
    text = text.replace("{video of the ‘after’ state}", f"<{AFTER}>")
    return collapsed(f"{text} {SEVERAL_RIGHT if len(row['answer']) > 1 else ONE_RIGHT}")


# --- prompts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [["B"], ["A", "C"]])
@pytest.mark.parametrize(("variant", "figure"), [("direct", FIGURE_18), ("blind", FIGURE_17)])
def test_a_prompt_is_that_of_the_paper_word_for_word(variant: str, figure: str, answer: list[str]) -> None:
    row = make_row(answer=answer)
    assert collapsed("".join(told(asked(row, variant).parts))) == filled(figure, row)


def test_the_text_stands_on_lines_of_its_own_with_one_option_a_line() -> None:
    *_, last = told(asked().parts)
    assert last == (
        "\nQuestion: Where did it go?\nOptions:\nA. To the shelf\nB. To the bed\nC. No correct option is listed.\n"
        "Return ONLY the letter(s) corresponding to the correct option(s) "
        "(e.g., A, B, C, or A,C for multiple correct answers)\n"
        "There is only one correct option for this question."
    )


TASK = "Your task is to answer questions based on the provided videos and options."

PARTS: Mapping[str, list[str]] = {
    "direct": [
        f"{TASK}\nThis is the first video: ",
        f"<{BEFORE}>",
        "\nThis is the second video: ",
        f"<{AFTER}>",
    ],
    "swapped": [
        f"{TASK}\nThis is the first video: ",
        f"<{AFTER}>",
        "\nThis is the second video: ",
        f"<{BEFORE}>",
    ],
    "before_only": [f"{TASK}\nThis is the first video: ", f"<{BEFORE}>"],
    "after_only": [f"{TASK}\nThis is the second video: ", f"<{AFTER}>"],
    "single_stream": [
        f"{TASK}\nBoth videos are given in one stream.\nThe first video (before): ",
        f"<{BEFORE}>",
        "\nThe second video (after): ",
        f"<{AFTER}>",
    ],
    "blind": [],
}


def test_every_variant_is_known_here() -> None:
    assert set(PARTS) == set(VARIANTS)
    assert {entry.settings[0].options["variant"] for entry in BENCHMARK.tasks} == {*VARIANTS, *TEXT_VARIANTS}


@pytest.mark.parametrize("variant", PARTS)
def test_a_variant_changes_what_comes_before_the_question_and_nothing_else(variant: str) -> None:
    found = asked(variant=variant)
    *shown, last = told(found.parts)
    assert shown == PARTS[variant]
    direct = asked()
    text = told(direct.parts)[-1]
    assert last == (text if variant != "blind" else f"{TASK}{text}")
    assert (found.id, found.options, found.gold, found.groups) == (
        direct.id,
        direct.options,
        direct.gold,
        direct.groups,
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_only_a_joined_stream_is_always_given_as_images(variant: str) -> None:
    videos = [part for part in asked(variant=variant).parts if isinstance(part, Video)]
    assert {video.as_images for video in videos} == ({variant == "single_stream"} if videos else set())


@given(st.integers(2, 8).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), min_size=1))))
def test_the_hint_follows_the_number_of_right_options(case: tuple[int, set[int]]) -> None:
    number, right = case
    letters = ["ABCDEFGH"[place] for place in right]
    row = make_row(options=[f"option {place}" for place in range(number)], answer=letters)
    for variant in VARIANTS:
        found = asked(row, variant)
        text = told(found.parts)[-1]
        assert text.endswith(f"\n{SEVERAL_RIGHT if len(letters) > 1 else ONE_RIGHT}")
        assert (ONE_RIGHT in text) != (SEVERAL_RIGHT in text)
        assert found.several == (len(letters) > 1)
        assert found.gold == tuple(sorted(letters))


# --- what scoring needs -------------------------------------------------------------------------------------------


def test_a_question_carries_what_the_tables_need() -> None:
    found = asked(make_row(answer=["C"], hallucination=True))
    assert found.id == "sim/scene_7-3"
    assert found.gold == ("C",)
    assert found.option_texts["C"] == "No correct option is listed."
    assert found.groups == {
        "setting": "sim",
        "state": "inter",
        "capability": ("spatial understanding", "reasoning"),
        "kind": "hallucination",
        "choice": "one",
        "subcategory": "inter old_receptacle",
    }


def test_scenes_of_the_same_name_in_two_parts_are_two_scenes() -> None:
    row = make_row()
    found = {part: question(row, setting(part=part), Settings(), None) for part in ("sim", "real")}
    assert found["sim"].cluster != found["real"].cluster
    assert asked(make_row(id="other")).cluster == found["sim"].cluster


# --- frames -------------------------------------------------------------------------------------------------------

SQUARE, FLAT = (448, 448), (448, 336)


@pytest.mark.parametrize(
    ("model", "frames", "size"),
    [
        (None, 200, SQUARE),
        ("qwen3_vl", 200, SQUARE),
        ("Qwen2.5-VL-7B-Instruct", 200, SQUARE),
        ("openai", 200, SQUARE),
        ("InternVL3-8B", 200, SQUARE),
        ("InternVL2_5-8B", 200, SQUARE),
        ("internvl3_5", 60, SQUARE),
        ("InternVL3_5-8B", 60, SQUARE),
        ("InternVL3.5-241B-A28B", 60, SQUARE),
        ("internvl_hf", 60, SQUARE),
        ("internvideo2_5", 60, SQUARE),
        ("InternVideo2.5-8B", 60, SQUARE),
        ("internvideo2", 200, SQUARE),
        ("videollama3", 60, FLAT),
        ("VideoLLaMA3-7B", 60, FLAT),
    ],
)
def test_number_and_size_of_frames_follow_the_family_of_the_model(
    model: str | None, frames: int, size: tuple[int, int]
) -> None:
    assert sampling(Settings(), model) == Sampling(count=frames, size=size)
    videos = [part for part in asked(model=model).parts if isinstance(part, Video)]
    assert [video.sampling for video in videos] == [Sampling(count=frames, size=size)] * 2


@pytest.mark.parametrize("model", [None, "videollama3", "internvl3_5"])
def test_settings_win_over_the_family_of_the_model(model: str | None) -> None:
    own = FLAT if model == "videollama3" else SQUARE
    assert sampling(Settings(frames=7), model) == Sampling(count=7, size=own)
    assert sampling(Settings(fps=0.5), model) == Sampling(fps=0.5, size=own)
    assert sampling(Settings(frames=1000, frame_size=(90, 60)), model) == Sampling(count=1000, size=(90, 60))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("m3verse_sim_200frame", Sampling(count=200)),
        ("m3verse_sim_60frame", Sampling(count=60)),
        ("M3Verse_Real_1fps", Sampling(fps=1.0)),
        ("M3Verse_2fps", Sampling(fps=2.0)),
    ],
)
@pytest.mark.parametrize(("variable", "value"), [("SPOTDIFF_FRAMES", "9"), ("SPOTDIFF_FPS", "9")])
def test_frames_in_the_name_of_a_task_win_over_settings_and_model(
    name: str, expected: Sampling, variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    evaluation = Evaluation.of(task(name), "internvl3_5")
    assert sampling(evaluation.settings, evaluation.model) == expected


def test_a_rate_from_the_environment_replaces_a_number_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spotdiff.toml").write_text("frames = 5\n")
    monkeypatch.chdir(tmp_path)
    assert sampling(Evaluation.of(task("m3verse_sim")).settings, None) == Sampling(count=5)
    monkeypatch.setenv("SPOTDIFF_FPS", "3")
    assert sampling(Evaluation.of(task("m3verse_sim")).settings, None) == Sampling(fps=3.0)
    monkeypatch.setenv("SPOTDIFF_FRAMES", "4")
    with pytest.raises(SettingError, match="frames and fps"):
        Evaluation.of(task("m3verse_sim"))


# --- faults of rows -----------------------------------------------------------------------------------------------


def test_a_row_without_fault_has_no_problems() -> None:
    assert problems(make_row(), "f") == []
    assert problems(make_row(answer=["C", "A"], capabilities=["attribute recognition"], state="intra"), "f") == []


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"capabilities": ["spatial understanding", "smelling"]}, "capabilities", "'smelling' is unknown"),
        ({"capabilities": ["Reasoning"]}, "capabilities", "'Reasoning' is unknown"),
        ({"capabilities": []}, "capabilities", "there is none"),
        ({"capabilities": None}, "capabilities", "is missing"),
        ({"answer": ["D"]}, "answer", "D is none of the 3 options"),
        ({"answer": ["A", "D", "E"]}, "answer", "D, E is none of the 3 options"),
        ({"answer": ["b"]}, "answer", "b is none of"),
        ({"answer": [""]}, "answer", "is none of"),
        ({"answer": ["AB"]}, "answer", "AB is none of"),
        ({"answer": ["A", "A"]}, "answer", "a letter appears twice"),
        ({"answer": []}, "answer", "there is no right option"),
        ({"answer": "B"}, "answer", "is missing"),
        ({"options": ["only one"], "answer": ["A"]}, "options", "1 options"),
        ({"options": ["x"] * 27, "answer": ["A"]}, "options", "27 options"),
        ({"options": ["x", " ", "y"]}, "options", "is empty"),
        ({"state": "both"}, "state", "'both' is unknown"),
        ({"state": None}, "state", "is missing"),
        ({"hallucination": None}, "hallucination", "is missing"),
        ({"subcategory": None}, "subcategory", "is missing"),
        ({"category": None}, "category", "is missing"),
        ({"id": ""}, "id", "is empty"),
        ({"id": 7}, "id", "is missing"),
        ({"scene": " "}, "scene", "is empty"),
        ({"scene": None}, "scene", "is missing"),
        ({"question": ""}, "question", "is empty"),
        ({"video_before": None}, "video_before", "is missing"),
        ({"video_before": "/etc/state_0.mp4"}, "video_before", "leads out of the data set"),
        ({"video_after": "videos/../../state_1.mp4"}, "video_after", "leads out of the data set"),
        ({"video_after": ".."}, "video_after", "leads out of the data set"),
        ({"video_after": ""}, "video_after", "leads out of the data set"),
    ],
)
def test_a_fault_of_a_row_is_named_with_file_question_scene_and_field(changes: Row, field: str, message: str) -> None:
    row = make_row(**changes)
    (problem,) = problems(row, "some file")
    assert (problem.file, problem.field) == ("some file", field)
    assert problem.row == f"{row['id'] or '?'} (scene {row['scene'] or '?'})"
    assert message in problem.message
    assert problem.remedy


def test_the_known_capabilities_and_states_are_named_where_one_is_unknown() -> None:
    found = problems(make_row(capabilities=["x"], state="y"), "f")
    remedies = {problem.field: problem.remedy for problem in found}
    assert "spatial understanding, temporal understanding, attribute recognition, reasoning" in remedies["capabilities"]
    assert "intra or inter" in remedies["state"]


def test_every_missing_column_is_named() -> None:
    row = {name: value for name, value in make_row().items() if name not in ("options", "scene", "state")}
    assert {problem.field for problem in problems(row, "f")} == {"options", "scene", "state"}


def test_all_faults_of_a_row_are_named() -> None:
    row = make_row(answer=["E"], capabilities=["x"], state="y", video_after="/z.mp4", options=["", "b"])
    fields = [problem.field for problem in problems(row, "f")]
    assert sorted(fields) == ["answer", "capabilities", "options", "state", "video_after"]


VALUES = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.none() | st.text(max_size=2), max_size=3)


@effort(max_examples=300)
@given(st.fixed_dictionaries({}, optional=dict.fromkeys(make_row(), VALUES)))
def test_no_row_makes_the_check_fail(changes: Row) -> None:
    row = make_row(**changes)
    found = problems(row, "f")
    if not found:
        for variant in VARIANTS:
            assert asked(row, variant).gold
