"""The mini data of M3-Verse: valid, balanced, reproducible, and of no use to one who sees no video."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest

from spotdiff.benchmarks.m3verse.mini import FOLDER, QUESTIONS, card, rows, video, write
from spotdiff.benchmarks.m3verse.mini_scenes import SCENES, State
from spotdiff.scoring import chance, subset_score

pytestmark = pytest.mark.slow

Row = dict[str, Any]
Frames = list[npt.NDArray[np.int16]]

NONE = "No correct option is listed."
CAPABILITIES = ["spatial understanding", "temporal understanding", "attribute recognition", "reasoning"]
SUBCATEGORIES = {
    "intra": {
        "object_info": "object_room_location object_color object_type_num_in_room receptacle_contents "
        "object_receptacle_location object_type_num_in_scene",
        "agent_explore": "room_visit_order object_first_appearance_earliest object_first_appearance_latest "
        "room_visit_count nth_visit_room_type nth_visit_room_objects",
    },
    "inter": {
        "object_change": "old_receptacle new_receptacle movement_between_receptacles new_visible_objects "
        "lost_visible_objects objects_room_movement attribute_changed_objects room_position_changes "
        "openness_state_comparison toggle_state_comparison",
        "agent_explore": "longest_stay_room total_room_visits nth_visit_room_objects",
    },
}
"""Of the paper's tables of templates, those that are asked here. The last one is asked across both videos."""


def read(folder: Path) -> list[Row]:
    read: list[Row] = pq.read_table(folder / "mini" / "test.parquet").to_pylist()
    return read


ROWS = read(FOLDER)
VIDEOS = [(scene, number) for scene in SCENES for number in (0, 1)]


def decoded(path: Path) -> tuple[Frames, list[float]]:
    """Frames as height x width x 3, and when each is shown, in seconds."""
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    return [frame.to_ndarray(format="rgb24").astype(np.int16) for frame in frames], [frame.time for frame in frames]


def drawn(state: State) -> Frames:
    return [np.asarray(frame, dtype=np.int16) for frame in state.frames()]


def texts(row: Row, letters: Sequence[str]) -> list[str]:
    return [row["options"]["ABCDE".index(letter)] for letter in letters]


def test_there_are_four_scenes_with_questions_about_one_video_and_about_both() -> None:
    assert {row["scene"] for row in ROWS} == set(SCENES) == {f"scene_{number:02d}" for number in (1, 2, 3, 4)}
    assert 24 <= len(ROWS) <= 30
    for scene in SCENES:
        assert (
            min(Counter(row["state"] for row in ROWS if row["scene"] == scene)[kind] for kind in ("intra", "inter")) > 2
        )


def test_the_whole_folder_is_smaller_than_a_third_of_a_megabyte() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 333_000


def test_the_folder_holds_the_card_the_questions_and_two_videos_a_scene_and_nothing_else() -> None:
    found = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert found == {"README.md", "mini/test.parquet", *(video(*which) for which in VIDEOS)}
    assert (FOLDER / "README.md").read_text("utf-8") == card()


def test_subcategories_are_those_of_the_paper_and_a_question_names_its_video() -> None:
    for row in ROWS:
        assert row["subcategory"] in SUBCATEGORIES[row["state"]][row["category"]].split()
        named = re.findall(r"(first|second)(?= video| and the second video)", row["question"])
        assert len(named) == 1 if row["state"] == "intra" else set(named) == {"first", "second"}
    assert len({row["subcategory"] for row in ROWS}) >= 20


def test_every_capability_is_asked_about_one_video_and_about_both_and_some_questions_have_two() -> None:
    for state in ("intra", "inter"):
        found = Counter(name for row in ROWS if row["state"] == state for name in row["capabilities"])
        assert set(found) == set(CAPABILITIES)
        assert min(found.values()) >= 2
    assert {len(row["capabilities"]) for row in ROWS} == {1, 2}


def test_options_are_four_or_five_different_texts_without_letters() -> None:
    for row in ROWS:
        assert 4 <= len(set(row["options"])) == len(row["options"]) <= 5
        assert not any(re.match(r"\(?[A-E][.):]", text) for text in row["options"])


def test_answers_are_letters_of_options_in_order_and_some_questions_have_two_or_three() -> None:
    for row in ROWS:
        assert row["answer"] == sorted(set(row["answer"]))
        assert set(row["answer"]) <= set("ABCDE"[: len(row["options"])])
    assert {len(row["answer"]) for row in ROWS if row["state"] == "intra"} == {1, 2}
    assert {len(row["answer"]) for row in ROWS if row["state"] == "inter"} == {1, 2, 3}


def test_a_fifth_of_the_questions_are_of_the_hallucination_type_and_their_right_option_says_so() -> None:
    assert all(row["hallucination"] == (texts(row, row["answer"]) == [NONE]) for row in ROWS)
    assert all(NONE not in texts(row, row["answer"]) for row in ROWS if not row["hallucination"])
    assert sum(row["hallucination"] for row in ROWS) / len(ROWS) == pytest.approx(0.2, abs=0.02)
    assert {row["state"] for row in ROWS if row["hallucination"]} == {"intra", "inter"}


def test_that_no_option_is_right_is_itself_right_in_a_fourth_of_the_questions_that_offer_it() -> None:
    offered = [row["hallucination"] for row in ROWS if NONE in row["options"]]
    assert sum(offered) / len(offered) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("state", ["intra", "inter"])
def test_right_letters_are_balanced(state: str) -> None:
    """Against the share that each letter would have if every option were right equally often."""
    share = dict.fromkeys("ABCDE", 0.0)
    for row in (row for row in ROWS if row["state"] == state):
        for letter in "ABCDE":
            share[letter] += (letter in row["answer"]) / len(row["answer"])
            share[letter] -= (letter in "ABCDE"[: len(row["options"])]) / len(row["options"])
    assert max(map(abs, share.values())) < 1


def letter(place: int) -> Callable[[Row], str]:
    return lambda row: "ABCDE"[min(place, len(row["options"]) - 1)]


def by(key: Callable[[Row, str], float]) -> Callable[[Row], str]:
    """The first of the options for which the key is highest."""
    return lambda row: "ABCDE"[max(range(len(row["options"])), key=lambda place: key(row, row["options"][place]))]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - {"the", "on", "of", "in", "from", "to"}


def told_elsewhere(row: Row, text: str) -> float:
    """How often the words of an option stand in the other questions of its scene and in their options."""
    others = [other for other in ROWS if other["scene"] == row["scene"] and other is not row]
    return sum(len(words(text) & words(" ".join([other["question"], *other["options"]]))) for other in others)


def alike(row: Row, text: str) -> float:
    """How much an option has in common with the other ones."""
    return sum(len(words(text) & words(other)) for other in row["options"] if other != text)


POLICIES: dict[str, Callable[[Row], str]] = {
    "a": letter(0),
    "b": letter(1),
    "c": letter(2),
    "d": letter(3),
    "last": letter(4),
    "longest": by(lambda row, text: len(text)),
    "shortest": by(lambda row, text: -len(text)),
    "longest that says something": by(lambda row, text: len(text) * (text != NONE)),
    "no correct option": by(lambda row, text: text == NONE),
    "first that says something": by(lambda row, text: text != NONE),
    "told elsewhere": by(told_elsewhere),
    "told elsewhere the least": by(lambda row, text: -told_elsewhere(row, text)),
    "alike": by(alike),
    "in the question": by(lambda row, text: len(words(text) & words(row["question"]))),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_an_answer_that_sees_no_video_stays_near_chance(policy: str) -> None:
    expected = sum(chance(len(row["options"])) for row in ROWS) / len(ROWS)
    score = sum(subset_score(POLICIES[policy](row), row["answer"]) for row in ROWS) / len(ROWS)
    assert score == pytest.approx(expected, abs=0.12)


def test_no_option_is_right_in_most_of_the_questions_that_offer_it() -> None:
    offered = Counter((row["scene"], text) for row in ROWS for text in row["options"])
    right = Counter((row["scene"], text) for row in ROWS for text in texts(row, row["answer"]))
    often = [option for option, count in offered.items() if count > 3]
    assert often
    assert all(right[option] <= offered[option] / 2 for option in often)


def test_ids_are_unique_and_number_the_questions_of_a_scene() -> None:
    for scene in SCENES:
        found = [row["id"] for row in ROWS if row["scene"] == scene]
        assert found == [f"{scene}-{number}" for number in range(1, len(found) + 1)]


def test_both_videos_of_a_question_are_those_of_its_scene() -> None:
    for row in ROWS:
        assert row["video_before"] == f"videos/{row['scene']}/state_0.mp4"
        assert row["video_after"] == f"videos/{row['scene']}/state_1.mp4"


def test_making_the_rows_again_gives_the_committed_ones() -> None:
    assert [asdict(row) for row in rows()] == ROWS
    assert sum(len(questions) for questions in QUESTIONS.values()) == len(ROWS)


@pytest.mark.parametrize(("scene", "number"), VIDEOS)
def test_drawing_again_gives_the_frames_of_the_committed_video(scene: str, number: int) -> None:
    """Within what the encoder loses: a frame of the next moment, or of the other state, is further off."""
    ours, (theirs, _) = drawn(SCENES[scene][number]), decoded(FOLDER / video(scene, number))
    assert len(ours) == len(theirs)
    assert max(np.abs(a - b).mean() for a, b in zip(ours, theirs, strict=True)) < 4
    assert max(np.abs(a - b).mean() for a, b in zip(ours, theirs[1:], strict=False)) > 4


def test_drawing_twice_gives_the_same_pixels() -> None:
    first, second = drawn(SCENES["scene_01"][0]), drawn(SCENES["scene_01"][0])
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_videos_are_h264_and_not_square() -> None:
    for which in VIDEOS:
        with av.open(str(FOLDER / video(*which))) as container:
            stream = container.streams.video[0]
            assert (stream.codec_context.name, stream.width, stream.height) == ("h264", 320, 240)
            assert stream.codec_context.pix_fmt == "yuv420p"
            assert 24 <= stream.frames <= 40
            assert 3 <= stream.average_rate <= 8


def test_both_videos_of_one_scene_have_a_variable_frame_rate_and_the_others_a_constant_one() -> None:
    for scene, number in VIDEOS:
        _, times = decoded(FOLDER / video(scene, number))
        gaps = np.diff(times)
        assert (gaps.max() / gaps.min() > 1.5) == (scene == "scene_02")
        assert gaps.min() > 0.1


def test_in_one_scene_the_second_video_is_much_longer() -> None:
    lengths = {scene: [len(decoded(FOLDER / video(scene, number))[0]) for number in (0, 1)] for scene in SCENES}
    assert lengths["scene_03"][1] > 1.5 * lengths["scene_03"][0]
    assert all(abs(first - second) <= 1 for scene, (first, second) in lengths.items() if scene != "scene_03")


@pytest.mark.parametrize("scene", SCENES)
def test_the_room_itself_has_changed_not_the_way_of_the_camera_alone(scene: str) -> None:
    """No frame of the second video is a frame of the first one, unless the camera looks where nothing changed."""
    before, after = (decoded(FOLDER / video(scene, number))[0] for number in (0, 1))
    nearest = [min(np.abs(frame - other).mean() for other in before) for frame in after]
    assert max(nearest) > 3


def test_the_written_folder_loads_with_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "mini"
    write(folder)
    assert read(folder) == ROWS
    loaded = datasets.load_dataset(str(folder), "mini", split="test", cache_dir=str(tmp_path / "cache"))
    assert loaded["id"][:] == [row["id"] for row in ROWS]
    assert loaded[1]["answer"] == ROWS[1]["answer"]
    for which in VIDEOS:
        ours, theirs = (decoded(place / video(*which)) for place in (folder, FOLDER))
        assert ours[1] == theirs[1]
        assert max(np.abs(a - b).mean() for a, b in zip(ours[0], theirs[0], strict=True)) < 4


def test_the_file_has_the_columns_and_types_of_the_schema() -> None:
    schema = pq.ParquetFile(FOLDER / "mini" / "test.parquet").schema_arrow
    types = {field.name: re.sub(r"\b(item|element): ", "", str(field.type)) for field in schema}
    lists = {"options", "answer", "capabilities"}
    strings = {"id", "scene", "state", "category", "subcategory", "question", "video_before", "video_after"}
    assert types == {
        **dict.fromkeys(strings, "string"),
        **dict.fromkeys(lists, "list<string>"),
        "hallucination": "bool",
    }
