"""From a row of MVVBench to a question, in every setting."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.answers import read_reply
from spotdiff.benchmarks.mvvbench import BENCHMARK
from spotdiff.benchmarks.mvvbench.protocol import CHAINS, VARIANTS, problems, question
from spotdiff.errors import DataError, SettingError
from spotdiff.evaluation import Evaluation
from spotdiff.media.sampling import indices_at
from spotdiff.question import Panel, Part, Question, Text, Video
from spotdiff.settings import Settings
from spotdiff.tasks import Setting, task

Row = dict[str, Any]

ASKED = "Which colour does the person at the left of View 0 wear?"


def make_row(**changes: Any) -> Row:
    row: Row = {
        "id": "kitchen-1",
        "sample": "kitchen",
        "source": "Ego-Exo4D",
        "category": "implicit attribute",
        "motion": "dynamic",
        "question": ASKED,
        "options": ["red", "blue", "green"],
        "answer": "B",
        "views": [4, 1],
        "start": 2.0,
        "end": 5.0,
        "view_numbers": [1, 2, 4],
        "view_videos": [f"videos/kitchen_view{number}.mp4" for number in (1, 2, 4)],
        "view_frames": [240, 200, 250],
        "view_seconds": [8.0, 7.0, 9.0],
    }
    return {**row, **changes}


def ask(variant: str = "direct", settings: Settings | None = None, **changes: Any) -> Question:
    row = make_row(**changes)
    row["view_videos"] = [Path("/data", name) for name in row["view_videos"]]
    return question(
        row, Setting("questions", "all", "questions", 1, {"variant": variant}), settings or Settings(), None
    )


def views(asked: Question) -> list[tuple[str, str, tuple[float, ...]]]:
    """(label, view, instants) of each group of frames."""
    parts = list(asked.parts)
    found = []
    for before, part in pairwise(parts):
        if isinstance(part, Video):
            assert isinstance(before, Text)
            assert part.sampling.instants is not None
            found.append((before.text.strip(), part.path.stem.rpartition("_")[2], part.sampling.instants))
    return found


def text_of(part: Part) -> str:
    assert isinstance(part, Text)
    return part.text


# --- what is shown ------------------------------------------------------------------------------------------------

WHOLE = tuple(8.0 * number / 7 for number in range(8))
INTERVAL = 9 / 249
"""Between two frames of view 4, the slowest of those that are shown: instants are moved to its frames."""


def are_on_frames(instants: Iterable[float]) -> bool:
    return all(abs(instant / INTERVAL - round(instant / INTERVAL)) < 1e-6 for instant in instants)


def test_instants_are_those_of_frames_of_the_slowest_view() -> None:
    for variant in ("direct", "window", "panel"):
        asked = ask("direct" if variant == "panel" else variant)
        for _, _, instants in views(asked):
            assert are_on_frames(instants)
            assert max(instants) <= 8.0


@given(st.integers(1, 60), st.sampled_from([24, 25, 30, 50]), st.sampled_from([10, 25, 30, 60]), st.floats(1.5, 20))
def test_frames_side_by_side_are_within_half_an_interval_of_each_other(
    count: int, rate: int, other: int, seconds: float
) -> None:
    times = [[number / each for number in range(int(seconds * each) + 1)] for each in (rate, other)]
    asked = ask(
        settings=Settings(frames=count),
        views=[1, 4],
        view_numbers=[1, 4],
        view_videos=["a.mp4", "b.mp4"],
        view_frames=[len(each) for each in times],
        view_seconds=[each[-1] for each in times],
        start=-1.0,
        end=-1.0,
    )
    (_, _, instants), (_, _, same) = views(asked)
    assert instants == same
    frames = [[each[index] for index in indices_at(each, instants)] for each in times]
    for first, second in zip(*frames, strict=True):
        assert abs(first - second) <= 0.5 / max(rate, other) + 1e-6
    assert len(set(frames[0])) == len(frames[0])


def test_views_stand_after_their_labels_in_the_order_of_the_question_at_the_same_instants() -> None:
    shown = views(ask())
    assert [(label, view) for label, view, _ in shown] == [("View 0:", "view4"), ("View 1:", "view1")]
    for _, _, instants in shown:
        assert instants == pytest.approx(WHOLE, abs=INTERVAL / 2)


def test_all_views_are_the_questions_own_and_then_the_others() -> None:
    shown = views(ask("all_views"))
    assert [(label, view) for label, view, _ in shown] == [
        ("View 0:", "view4"),
        ("View 1:", "view1"),
        ("View 2:", "view2"),
    ]
    # Of all that are shown, view 2 is the shortest.
    for _, _, instants in shown:
        assert instants[-1] == pytest.approx(7.0, abs=INTERVAL)


def test_the_window_alone_is_shown_with_both_of_its_ends() -> None:
    for _, _, instants in views(ask("window")):
        assert instants == pytest.approx([2 + 3 * number / 7 for number in range(8)], abs=INTERVAL / 2)


def test_a_window_that_ends_after_the_clip_is_cut_where_its_views_end() -> None:
    assert views(ask("window", end=8.7))[0][2][-1] == pytest.approx(8.0, abs=INTERVAL)


def test_a_window_of_one_moment_gives_one_frame() -> None:
    assert problems(make_row(start=2.0, end=2.0), "file") == []
    ((only,),) = {instants for _, _, instants in views(ask("window", end=2.0))}
    assert only == pytest.approx(2.0, abs=INTERVAL / 2)


def test_a_question_without_a_window_cannot_be_asked_about_it() -> None:
    with pytest.raises(DataError, match="question questions/kitchen-1: the data name no time window for it"):
        ask("window", start=-1.0, end=-1.0)
    assert views(ask(start=-1.0, end=-1.0)) == views(ask())


def test_text_only_shows_nothing() -> None:
    (only,) = ask("text_only").parts
    assert text_of(only).startswith(f"Question: {ASKED}\n")


def test_a_panel_is_one_image_with_a_row_for_each_view_and_four_moments() -> None:
    explained, panel, asked = ask("panel").parts
    assert text_of(explained) == (
        "The image is a grid of frames: each row is one view (View 0, View 1, from top to bottom), each column one "
        "moment, in order of time from left to right.\n"
    )
    assert isinstance(panel, Panel)
    assert [video.path.stem for video in panel.videos] == ["kitchen_view4", "kitchen_view1"]
    for video in panel.videos:
        assert video.sampling.instants == pytest.approx([0, 8 / 3, 16 / 3, 8], abs=INTERVAL)
        assert video.sampling.size == (224, 224)
    assert text_of(asked).startswith(f"\nQuestion: {ASKED}\n")


@given(st.integers(1, 40))
def test_any_number_of_frames_can_be_asked_for(count: int) -> None:
    for _, _, instants in views(ask(settings=Settings(frames=count))):
        assert len(instants) == count
        assert instants[0] == 0
        assert instants == tuple(sorted(set(instants)))


def test_more_frames_than_a_view_has_are_not_asked_for() -> None:
    asked = ask(settings=Settings(frames=500))
    # Of view 4 within the 8 seconds of view 1.
    assert {len(instants) for _, _, instants in views(asked)} == {222}


def test_frames_can_be_taken_by_rate() -> None:
    half = INTERVAL / 2 + 1e-6
    assert views(ask(settings=Settings(fps=0.5)))[0][2] == pytest.approx((0, 2, 4, 6, 8), abs=2 * half)
    assert views(ask("window", settings=Settings(fps=1.0)))[0][2] == pytest.approx((2, 3, 4, 5), abs=half)
    assert ask("panel", settings=Settings(fps=10.0)).parts[1] == ask("panel").parts[1]


def test_a_video_says_how_many_frames_its_row_states() -> None:
    stated = {part.path.stem: part.stated for part in ask().parts if isinstance(part, Video)}
    assert stated == {"kitchen_view4": 250, "kitchen_view1": 240}


def test_files_in_place_of_frames_are_refused() -> None:
    with pytest.raises(SettingError, match="video_form=path leaves the choice of frames to the model"):
        ask(settings=Settings(video_form="path"))


# --- the prompt ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_setting_asks_the_same_question_with_the_same_options(variant: str) -> None:
    prompt = text_of(ask(variant).parts[-1]).removeprefix("\n")
    assert prompt.startswith(f"Question: {ASKED}\nOptions:\nA. red\nB. blue\nC. green\n")
    assert "<" not in prompt
    assert "{" not in prompt


def test_without_a_chain_only_the_letter_is_asked_for() -> None:
    assert text_of(ask().parts[-1]).endswith("\nC. green\nAnswer with the letter of the right option only.")


@pytest.mark.parametrize("variant", CHAINS)
def test_a_chain_ends_with_a_line_that_the_parser_reads(variant: str) -> None:
    asked = ask(variant)
    assert asked.chain_of_thought
    assert text_of(asked.parts[-1]).endswith(
        "End with a line that holds the answer alone, in the form `Answer: X`, where X is the letter of the right "
        "option."
    )
    reply = "Stage 1\n\nView 0: A. red is seen.\n\nB. blue: no\nC. green: no\n\nAnswer: C"
    assert read_reply(reply, asked.option_texts, chain_of_thought=True).letters == ("C",)
    cut = read_reply(reply.removesuffix("Answer: C"), asked.option_texts, chain_of_thought=True)
    assert (cut.letters, cut.outcome.value) == ((), "truncated")


def test_the_guided_chain_has_its_three_stages_in_order() -> None:
    prompt = text_of(ask("mv_cot").parts[-1])
    places = [prompt.index(f"Stage {number}") for number in (1, 2, 3)]
    assert places == sorted(places)
    assert "all views show the same scene" in prompt
    assert "on the left in one view may be on the right in another" in prompt
    assert "options one by one" in prompt[places[2] :]


def test_no_other_setting_asks_for_a_chain() -> None:
    assert [variant for variant in VARIANTS if ask(variant).chain_of_thought] == list(CHAINS)


# --- what a question says about itself ----------------------------------------------------------------------------


def test_a_question_says_what_the_tables_break_down_by() -> None:
    asked = ask()
    assert (asked.id, asked.cluster, asked.gold) == ("questions/kitchen-1", "kitchen", ("B",))
    assert dict(asked.groups) == {
        "setting": "questions",
        "category": "implicit attribute",
        "motion": "dynamic",
        "views": "two views",
        "source": "Ego-Exo4D",
    }
    assert ask(views=[1, 2, 4]).groups["views"] == "more views"
    assert ask(views=[1]).groups["views"] == "one view"


def test_shuffled_options_keep_the_right_text() -> None:
    for seed in range(6):
        asked = ask(settings=Settings(shuffle_seed=seed))
        assert asked.option_texts[asked.gold[0]] == "blue"


def test_the_tasks_are_the_documented_ones() -> None:
    names = ["", "_text_only", "_all_views", "_window", "_cot", "_m3cot", "_mv_cot", "_panel"]
    assert {entry.name for entry in BENCHMARK.tasks} == {
        f"{data}{name}" for data in ("mvvbench", "mvvbench_mini") for name in names
    }
    assert {task(name).expected for name in ("mvvbench", "MVVBench_Window", "mvvbench_mv_cot")} == {1323}


def test_a_chain_has_room_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def limit(name: str) -> int:
        return Evaluation.of(task(name)).max_new_tokens

    assert [limit(f"mvvbench_{name}") for name in CHAINS] == [1024] * 3
    assert limit("mvvbench") == 64
    monkeypatch.setenv("SPOTDIFF_MAX_NEW_TOKENS", "5000")
    assert limit("mvvbench_cot") == 5000


# --- what is checked before a model is asked ----------------------------------------------------------------------


def test_a_right_row_has_no_fault() -> None:
    assert problems(make_row(), "file") == []
    assert problems(make_row(start=-1.0, end=-1.0), "file") == []
    assert problems(make_row(view_frames=[0] * 3, view_seconds=[0.0] * 3), "file") == []


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        (lambda row: row.pop("views"), "views", "is missing"),
        (lambda row: row.update(sample=""), "sample", "is empty"),
        (lambda row: row.update(category="Counting"), "category", "'Counting' is unknown"),
        (lambda row: row.update(motion="moving"), "motion", "'moving' is unknown"),
        (lambda row: row.update(source="Ego4D"), "source", "'Ego4D' is unknown"),
        (lambda row: row.update(options=["red"]), "options", "1 options"),
        (lambda row: row.update(options=["red"] * 5), "options", "5 options"),
        (lambda row: row.update(options=["red", " "]), "options", "an option is empty"),
        (lambda row: row.update(options=["red", "Red "]), "options", "two options say the same"),
        (lambda row: row.update(answer="D"), "answer", "'D' is none of the options"),
        (lambda row: row.update(answer="AB"), "answer", "'AB' is none of the options"),
        (lambda row: row.update(views=[]), "views", "is empty or names a view twice"),
        (lambda row: row.update(views=[1, 1]), "views", "is empty or names a view twice"),
        (lambda row: row.update(views=[1, 3]), "views", "view 3 is none of the sample's: [1, 2, 4]"),
        (lambda row: row.update(view_frames=[1, 2]), "view_frames", "2 entries for 3 views"),
        (lambda row: row["view_videos"].append("../x.mp4"), "view_videos", "4 entries for 3 views"),
        (lambda row: row["view_videos"].__setitem__(0, "../x.mp4"), "view_videos", "../x.mp4 leads out"),
        (lambda row: row["view_videos"].__setitem__(0, "/x.mp4"), "view_videos", "/x.mp4 leads out"),
        (lambda row: row.update(start=5.0, end=2.0), "start", "the window from 5.0 to 2.0 s is reversed"),
        (lambda row: row.update(start=-2.0), "start", "before the clip"),
        (lambda row: row.update(start=8.9, end=9.1), "end", "leaves the clip of 8.00 s"),
        (lambda row: row.update(end=9.5), "end", "the window from 2.0 to 9.5 s leaves the clip of 8.00 s"),
    ],
)
def test_a_faulty_row_is_named_with_its_field(change: Callable[[Row], object], field: str, message: str) -> None:
    row = make_row()
    change(row)
    found = problems(row, "the file")
    assert [(problem.file, problem.field) for problem in found] == [("the file", field)]
    assert message in found[0].message
    assert found[0].remedy
