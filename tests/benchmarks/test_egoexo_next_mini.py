"""The mini data of EgoExo-Next: valid, balanced, reproducible, and of no use to one who sees only a part of it."""

from __future__ import annotations

import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest
from PIL import Image
from state_reader import LastFrameReader, OptionsOnlyReader, Places, StateReader

from spotdiff.answers import read_reply
from spotdiff.benchmarks.egoexo_next.mini import CONFIGS, FOLDER, card, configs, write
from spotdiff.benchmarks.egoexo_next.schema import SOURCES

Row = dict[str, Any]
Part = str | Image.Image

MAIN = ["ego", "match_ego2exo", "match_exo2ego", "exo", "ego2exo"]
MATCHED = ["matched_ego", "matched_match", "matched_exo", "matched_ego2exo"]
NAMES = [*MAIN, *MATCHED]
NEXT_STATE = ["ego", "exo", "ego2exo", "matched_ego", "matched_exo", "matched_ego2exo"]
MATCHING = ["match_ego2exo", "match_exo2ego", "matched_match"]
CROSS_VIEW = [*MATCHING, "ego2exo", "matched_ego2exo"]
SUBTASK = {name: "match" if "match_" in name or name == "matched_match" else name.split("_")[-1] for name in NAMES}
DIRECTION = {"match_ego2exo": "ego2exo", "match_exo2ego": "exo2ego", "matched_match": "ego2exo"}

OBSERVATIONS = [f"observation_{number}" for number in (1, 2, 3, 4)]
ORACLES = ["current_exo", "next_ego"]
OPTIONS = [f"option_{letter}" for letter in "abcd"]
IMAGES = [*OBSERVATIONS, *ORACLES, *OPTIONS]

ALL_LETTERS = Counter("ABCD")


def read(folder: Path) -> dict[str, list[Row]]:
    return {name: pq.read_table(folder / name / "test.parquet").to_pylist() for name in NAMES}


ROWS = read(FOLDER)
ALL = [(name, row) for name in NAMES for row in ROWS[name]]


def rows_of(name: str, scene: str) -> list[Row]:
    return [row for row in ROWS[name] if row["scene"] == scene]


def right_option(row: Row) -> dict[str, Any]:
    option: dict[str, Any] = row[f"option_{row['answer'].lower()}"]
    return option


@cache
def picture(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def test_there_is_one_config_for_each_part_of_the_benchmark_and_of_its_matched_subset() -> None:
    assert list(CONFIGS) == NAMES
    assert re.findall(r"config_name: (\w+)", card()) == NAMES
    assert {name: len(rows) for name, rows in ROWS.items()} == {**dict.fromkeys(MAIN, 8), **dict.fromkeys(MATCHED, 4)}


def test_the_whole_folder_is_smaller_than_four_hundred_kilobytes() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 400_000


def test_the_folder_holds_the_card_and_one_file_a_config_and_nothing_else() -> None:
    found = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert found == {"README.md", *(f"{name}/test.parquet" for name in NAMES)}
    assert (FOLDER / "README.md").read_text("utf-8") == card()


def test_subtask_and_direction_are_those_of_the_config() -> None:
    for name, row in ALL:
        assert (row["subtask"], row["direction"]) == (SUBTASK[name], DIRECTION.get(name, ""))


def test_four_frames_are_observed_in_a_question_about_the_next_state_and_one_in_one_about_the_same_moment() -> None:
    for name, row in ALL:
        oracles = ORACLES if name == "matched_ego2exo" else []
        expected = [*(OBSERVATIONS[:1] if name in MATCHING else OBSERVATIONS), *oracles, *OPTIONS]
        assert [column for column in IMAGES if row[column] is not None] == expected


@pytest.mark.parametrize("name", NEXT_STATE)
def test_options_are_the_target_later_and_past_states_in_the_numbers_of_the_paper(name: str) -> None:
    for row in ROWS[name]:
        ahead = row["future_candidates"]
        assert Counter(row["option_kinds"]) == +Counter(target=1, later=ahead - 1, past=4 - ahead)
        assert row["option_kinds"]["ABCD".index(row["answer"])] == "target"
    assert Counter(row["future_candidates"] for row in ROWS[name]) == dict.fromkeys((1, 2, 3, 4), len(ROWS[name]) // 4)
    if name in MAIN:
        for scene in ("indoor", "outdoor"):
            assert sorted(row["future_candidates"] for row in rows_of(name, scene)) == [1, 2, 3, 4]


@pytest.mark.parametrize("name", MATCHING)
def test_of_the_options_of_a_matching_question_one_is_right_and_the_others_are_other_moments(name: str) -> None:
    for row in ROWS[name]:
        assert row["option_kinds"] == ["target" if letter == row["answer"] else "other" for letter in "ABCD"]
        assert row["future_candidates"] == 0


def test_right_letters_are_balanced_in_every_config_and_in_each_of_its_scenes() -> None:
    for name in MAIN:
        for scene in ("indoor", "outdoor"):
            assert Counter(row["answer"] for row in rows_of(name, scene)) == ALL_LETTERS
    for name in MATCHED:
        assert Counter(row["answer"] for row in ROWS[name]) == ALL_LETTERS


def test_a_number_of_options_ahead_does_not_go_with_one_letter() -> None:
    for ahead in (1, 2, 3, 4):
        letters = Counter(
            row["answer"] for name in NEXT_STATE for row in ROWS[name] if row["future_candidates"] == ahead
        )
        assert max(letters.values()) <= 3
        assert min(letters[letter] for letter in "ABCD") >= 2


def test_every_source_has_two_clips_in_each_scene_of_each_config_so_that_a_donor_exists() -> None:
    for name in NAMES:
        for scene in ("indoor", "outdoor"):
            rows = rows_of(name, scene)
            assert len(rows) == (4 if name in MAIN else 2)
            clips = {source: {row["clip"] for row in rows if row["source"] == source} for source in SOURCES}
            assert [len(found) for found in clips.values() if found] == [2] * (2 if name in MAIN else 1)


def test_all_questions_of_a_clip_are_of_one_scene_and_source() -> None:
    facts = {(row["clip"], row["scene"], row["source"]) for _, row in ALL}
    assert len(facts) == len({clip for clip, _, _ in facts}) == 20


def test_a_matched_group_asks_about_one_clip_in_all_four_subtasks() -> None:
    groups = {row["group"] for name in MATCHED for row in ROWS[name]}
    assert len(groups) == 4
    for name in MATCHED:
        assert {row["group"] for row in ROWS[name]} == groups
    facts = {(row["group"], row["clip"], row["scene"]) for name in MATCHED for row in ROWS[name]}
    assert len(facts) == 4
    assert Counter(scene for _, _, scene in facts) == {"indoor": 2, "outdoor": 2}
    assert {row["group"] for name in MAIN for row in ROWS[name]} == {""}


def test_the_questions_of_a_matched_group_show_the_same_moments() -> None:
    for ego, match, exo, ego2exo in zip(
        *(sorted(ROWS[name], key=lambda row: row["group"]) for name in MATCHED), strict=True
    ):
        assert [ego[column] for column in OBSERVATIONS] == [ego2exo[column] for column in OBSERVATIONS]
        assert match["observation_1"] == ego["observation_4"]
        assert right_option(match) == exo["observation_4"] == ego2exo["current_exo"]
        assert right_option(exo) == right_option(ego2exo)
        assert ego2exo["next_ego"] == right_option(ego)
        assert {exo[column]["bytes"] for column in OPTIONS} == {ego2exo[column]["bytes"] for column in OPTIONS}


def test_ids_are_unique_and_neither_names_nor_image_files_tell_the_answer() -> None:
    for name, row in ALL:
        assert re.fullmatch(rf"mini_{name}_\d", row["id"])
        assert re.fullmatch(r"mini_(indoor|outdoor)_(one_view|two_views|matched)_\d", row["clip"])
        assert re.fullmatch(r"mini_group_\d" if name in MATCHED else "", row["group"])
        for image in (row[column] for column in IMAGES if row[column]):
            assert image["path"] is None
            assert Image.open(io.BytesIO(image["bytes"])).info == {}
    assert len({row["id"] for _, row in ALL}) == len(ALL)


def test_pictures_have_one_size_for_each_view_and_no_two_of_a_question_are_equal() -> None:
    sizes = {"ego": (180, 135), "exo": (200, 150)}
    for _, row in ALL:
        seen, asked = views(row)
        expected = {**dict.fromkeys(OBSERVATIONS, seen), **dict.fromkeys(OPTIONS, asked), "current_exo": "exo"}
        shown = [column for column in IMAGES if row[column]]
        for column in shown:
            assert picture(row[column]["bytes"]).size == sizes[expected.get(column, "ego")]
        pixels = {picture(row[column]["bytes"]).tobytes() for column in shown}
        assert len(pixels) == len(shown)


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[Row]]:
    return configs()


def test_drawing_again_gives_the_committed_rows_and_pixels(drawn: dict[str, list[Row]]) -> None:
    assert list(drawn) == NAMES
    for name in NAMES:
        assert [plain(row) for row in drawn[name]] == [plain(row) for row in ROWS[name]]


def plain(row: Row) -> Row:
    """A row that compares by value: decoded pixels for files, which depend on the build of the encoder."""
    pixels = {column: picture(row[column]["bytes"]).tobytes() for column in IMAGES if row[column]}
    return {**{key: value for key, value in row.items() if value is not None}, **pixels}


def test_drawing_twice_gives_the_same_bytes(drawn: dict[str, list[Row]]) -> None:
    assert configs() == drawn


def test_the_written_folder_loads_with_datasets_config_by_config(tmp_path: Path) -> None:
    import datasets

    write(tmp_path / "mini")
    assert read(tmp_path / "mini") == read(FOLDER)
    assert (tmp_path / "mini" / "README.md").read_text("utf-8") == card()
    for name in NAMES:
        loaded = datasets.load_dataset(str(tmp_path / "mini"), name, split="test", cache_dir=str(tmp_path / "cache"))
        assert loaded["id"][:] == [row["id"] for row in ROWS[name]]
        assert loaded[0]["option_kinds"] == ROWS[name][0]["option_kinds"]
        shown = loaded[0]["option_a"].convert("RGB")
        assert shown.tobytes() == picture(ROWS[name][0]["option_a"]["bytes"]).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_files_have_the_columns_and_types_of_the_schema_in_small_row_groups(name: str) -> None:
    file = pq.ParquetFile(FOLDER / name / "test.parquet")
    types = {field.name: re.sub(r"\b(item|element): ", "", str(field.type)) for field in file.schema_arrow}
    texts = ["id", "clip", "subtask", "direction", "scene", "source", "group", "answer"]
    assert types == {
        **dict.fromkeys(texts, "string"),
        "future_candidates": "int32",
        "option_kinds": "list<string>",
        **dict.fromkeys(IMAGES, "struct<bytes: binary, path: string>"),
    }
    assert all(file.metadata.row_group(index).num_rows <= 4 for index in range(file.num_row_groups))


# What the pixels tell: a reader that looks at all of them, and others that look at a part.

READER, LAST_FRAME, OPTIONS_ONLY = StateReader(), LastFrameReader(), OptionsOnlyReader()


def views(row: Row) -> tuple[str, str]:
    """The view that is observed, and that of the options."""
    if row["subtask"] == "match":
        seen, asked = row["direction"].split("2")
        return seen, asked
    return ("exo" if row["subtask"] == "exo" else "ego"), ("ego" if row["subtask"] == "ego" else "exo")


def observed(row: Row) -> list[bytes]:
    return [row[column]["bytes"] for column in OBSERVATIONS if row[column]]


def prompt(row: Row, observations: Sequence[bytes] | None = None) -> list[Part]:
    """Labels and pictures, then the question. observations: in place of the row's own."""
    seen, asked = (f"{view.capitalize()}-centric" for view in views(row))
    parts: list[Part] = []
    for number, data in enumerate(observed(row) if observations is None else observations, start=1):
        parts += [f"{seen} keyframe {number}:", picture(data)]
    for letter in "ABCD":
        parts += [f"{asked} option {letter}:", picture(row[f"option_{letter.lower()}"]["bytes"])]
    same = row["subtask"] == "match"
    return [*parts, "Which is at the same time?" if same else "Which shows the subsequent visual state?"]


def answer(reader: StateReader | LastFrameReader | OptionsOnlyReader, parts: Sequence[Part]) -> str:
    letters = read_reply(reader.answer_parts(parts), dict.fromkeys("ABCD")).letters
    return letters[0] if letters else ""


def near_chance(right: int, questions: int) -> bool:
    """Whether so many right answers of four-way questions lie in the middle 99 % of what guessing gives."""
    share = [math.comb(questions, k) * 0.25**k * 0.75 ** (questions - k) for k in range(questions + 1)]
    return sum(share[: right + 1]) > 0.005 and sum(share[right:]) > 0.005


def assert_near_chance(policy: Callable[[Row], str], names: Sequence[str] = tuple(NAMES)) -> None:
    right = {name: sum(policy(row) == row["answer"] for row in ROWS[name]) for name in names}
    assert all(near_chance(count, len(ROWS[name])) for name, count in right.items()), right
    assert near_chance(sum(right.values()), sum(len(ROWS[name]) for name in names)), right


@cache
def places_of(name: str, number: int) -> Places:
    return READER.places(prompt(ROWS[name][number]))


def places(row: Row) -> Places:
    name, number = re.fullmatch(r"mini_(\w+)_(\d)", row["id"]).groups()  # type: ignore[union-attr]
    return places_of(name, int(number) - 1)


def along(row: Row) -> dict[str, float]:
    """Letter -> how far to the right the person is, on the straight line that goes best through all places."""
    found = places(row)
    points = np.array([*found.observations, *found.options.values()])
    way = np.linalg.svd(np.stack([points.real, points.imag], axis=1) - [points.real.mean(), points.imag.mean()])[2][0]
    way = way if way[0] > 0 else -way
    return {letter: place.real * way[0] + place.imag * way[1] for letter, place in found.options.items()}


def ranked(values: dict[str, float], rank: int) -> str:
    return sorted(values, key=lambda letter: values[letter])[rank]


def apart(row: Row) -> dict[str, float]:
    """Letter -> how far an option lies from the other ones in all."""
    where = along(row)
    return {letter: sum(abs(place - other) for other in where.values()) for letter, place in where.items()}


def gap(row: Row) -> dict[str, float]:
    """Letter -> how far an option lies from the nearest other one."""
    where = along(row)
    return {
        letter: min(abs(place - where[other]) for other in where if other != letter) for letter, place in where.items()
    }


def pixels(data: bytes) -> npt.NDArray[np.float64]:
    return np.asarray(picture(data), dtype=np.float64)


def measured(measure: Callable[[npt.NDArray[np.float64]], float]) -> Callable[[Row], dict[str, float]]:
    return lambda row: {
        letter: measure(pixels(row[column]["bytes"])) for letter, column in zip("ABCD", OPTIONS, strict=True)
    }


def unlike_the_others(row: Row) -> dict[str, float]:
    shown = {letter: pixels(row[column]["bytes"]) for letter, column in zip("ABCD", OPTIONS, strict=True)}
    return {
        letter: sum(float(np.abs(image - other).mean()) for other in shown.values()) for letter, image in shown.items()
    }


OF_OPTIONS: dict[str, Callable[[Row], dict[str, float]]] = {
    "letter": lambda row: {"A": 0, "B": 1, "C": 2, "D": 3},
    "place from the left": along,
    "distance to the other options": apart,
    "distance to the nearest other option": gap,
    "size of the file": lambda row: {c[-1].upper(): float(len(row[c]["bytes"])) for c in OPTIONS},
    "brightness": measured(lambda image: float(image.mean())),
    "colourfulness": measured(lambda image: float((image.max(axis=2) - image.min(axis=2)).mean())),
    "darkness of the lower half": measured(lambda image: float(-image[len(image) // 2 :].mean())),
    "difference to the other pictures": unlike_the_others,
}
"""What can be said of options without a look at the observations."""


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_question_is_answered_right_from_its_pixels(name: str) -> None:
    assert [answer(READER, prompt(row)) for row in ROWS[name]] == [row["answer"] for row in ROWS[name]]


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("value", OF_OPTIONS)
def test_an_answer_that_rests_on_the_options_alone_stays_near_chance(value: str, rank: int) -> None:
    assert_near_chance(lambda row: ranked(OF_OPTIONS[value](row), rank))


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_the_target_stands_at_each_place_from_the_left_equally_often(rank: int) -> None:
    for name in NAMES:
        right = [ranked(along(row), rank) == row["answer"] for row in ROWS[name]]
        assert sum(right) == len(right) / 4


@pytest.mark.slow
def test_a_reader_of_the_options_alone_is_right_by_chance() -> None:
    assert_near_chance(lambda row: answer(OPTIONS_ONLY, prompt(row)))
    assert_near_chance(lambda row: answer(OPTIONS_ONLY, prompt(row, [])))


@pytest.mark.slow
def test_the_option_nearest_to_the_last_observation_is_the_next_state_in_a_third_of_the_questions() -> None:
    right = [answer(LAST_FRAME, prompt(row)) == row["answer"] for name in NEXT_STATE for row in ROWS[name]]
    assert sum(right) <= len(right) / 3
    assert_near_chance(lambda row: answer(LAST_FRAME, prompt(row)), NEXT_STATE)


def distance(number: int) -> Callable[[Row], dict[str, float]]:
    """Letter -> how far an option lies from an observation, counted from 0 or, where negative, from the end."""

    def distances(row: Row) -> dict[str, float]:
        found = places(row)
        return {letter: abs(place - found.observations[number]) for letter, place in found.options.items()}

    return distances


def ahead(row: Row) -> dict[str, float]:
    """Letter -> how far an option lies in the direction of the walk."""
    found = places(row)
    way = found.observations[-1] - found.observations[0]
    return {letter: (place * way.conjugate()).real for letter, place in found.options.items()}


def unlike_last(row: Row) -> dict[str, float]:
    """Letter -> difference between the picture of an option and the last observation; of one view."""
    last = pixels(observed(row)[-1])
    return {
        letter: float(np.abs(pixels(row[c]["bytes"]) - last).mean()) for letter, c in zip("ABCD", OPTIONS, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("value", [distance(-1), distance(0), ahead], ids=["last", "first", "ahead"])
def test_one_observation_or_the_direction_alone_does_not_tell_the_next_state(
    value: Callable[[Row], dict[str, float]], rank: int
) -> None:
    assert_near_chance(lambda row: ranked(value(row), rank), NEXT_STATE)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_likeness_to_the_last_observation_does_not_tell_the_next_state(rank: int) -> None:
    names = [name for name in NEXT_STATE if not name.endswith("ego2exo")]
    assert_near_chance(lambda row: ranked(unlike_last(row), rank), names)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEXT_STATE)
def test_walks_go_to_the_left_as_often_as_to_the_right(name: str) -> None:
    for scene in ("indoor", "outdoor"):
        rows = rows_of(name, scene)
        steps = [places(row).observations[-1].real - places(row).observations[0].real for row in rows]
        assert sum(step > 0 for step in steps) == len(rows) / 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NEXT_STATE)
def test_observations_go_one_way_in_steps_that_differ(name: str) -> None:
    for row in ROWS[name]:
        found = places(row).observations
        way = (found[-1] - found[0]) / abs(found[-1] - found[0])
        steps = [((there - here) / way).real for here, there in itertools.pairwise(found)]
        assert min(steps) > 0.3
        assert max(steps) - min(steps) > 0.15


@pytest.mark.slow
def test_observations_in_reverse_mislead() -> None:
    assert_near_chance(lambda row: answer(READER, prompt(row, observed(row)[::-1])), NEXT_STATE)


def donor(row: Row) -> Row:
    """The one other row of a config with the same source and scene: another clip."""
    name = row["id"].removeprefix("mini_")[:-2]
    (other,) = (
        one
        for one in ROWS[name]
        if (one["source"], one["scene"]) == (row["source"], row["scene"]) and one["clip"] != row["clip"]
    )
    return other


@pytest.mark.slow
def test_with_the_observations_of_another_clip_answers_across_views_are_right_by_chance() -> None:
    assert_near_chance(lambda row: answer(READER, prompt(row, observed(donor(row)))), CROSS_VIEW)


@pytest.mark.slow
@pytest.mark.parametrize("name", MATCHING)
def test_moments_of_a_matching_question_lie_far_enough_apart_to_be_told(name: str) -> None:
    for row in ROWS[name]:
        assert min(gap(row).values()) > 0.6
