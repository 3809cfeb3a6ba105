"""EgoExo-Next from a folder on disk: what is checked, and whose observations a mismatched question shows."""

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PILImage

from spotdiff.benchmarks.egoexo_next.schema import IMAGE_COLUMNS, OPTION_COLUMNS, features, observations
from spotdiff.data.write import write_data_set
from spotdiff.errors import DataError
from spotdiff.evaluation import DONOR_COLUMN, Evaluation
from spotdiff.media.images import pixel_digest
from spotdiff.question import Question
from spotdiff.tasks import task

Row = dict[str, Any]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    def write(**configs: Sequence[Mapping[str, Any]]) -> Path:
        monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))
        write_data_set(tmp_path / "data" / "egoexo_next", configs, features())
        return tmp_path / "data" / "egoexo_next"

    return write


def pixels(*values: int) -> dict[str, Any]:
    buffer = io.BytesIO()
    PILImage.new("RGB", (6, 4), values).save(buffer, "PNG")  # type: ignore[arg-type]
    return {"bytes": buffer.getvalue(), "path": None}


def make_row(number: int, subtask: str = "ego2exo", **changes: Any) -> Row:
    """Every picture is one of its own: (row, column)."""
    shown = (*observations(subtask), *OPTION_COLUMNS)
    row: Row = {
        "id": f"q{number}",
        "clip": f"clip {number // 2}",
        "subtask": subtask,
        "direction": "",
        "scene": ("indoor", "outdoor")[number % 2],
        "source": "EgoHumans",
        "group": "",
        "answer": "ABCD"[number % 4],
        "future_candidates": 0,
        "option_kinds": [],
        **{name: pixels(number, place, 7) if name in shown else None for place, name in enumerate(IMAGE_COLUMNS)},
    }
    return {**row, **changes}


def pictures(asked: Question) -> list[tuple[int, int]]:
    """(row, column) of each picture that is shown."""
    return [image.open().getpixel((0, 0))[:2] for image in asked.images()]  # type: ignore[index,misc]


def questions(evaluation: Evaluation) -> dict[str, Question]:
    return {row["id"]: evaluation.question(row) for row in evaluation.rows()}


def test_a_mismatched_question_shows_another_rows_observations_and_its_own_options(write: Write) -> None:
    write(ego2exo=[make_row(number) for number in range(12)])
    evaluation = Evaluation.of(task("egoexo_next_ego2exo_mismatched"))
    rows = {row["id"]: row for row in evaluation.rows()}
    own = questions(Evaluation.of(task("egoexo_next_ego2exo")))
    lent = []
    for name, asked in questions(evaluation).items():
        donor = rows[rows[name][DONOR_COLUMN]]
        assert donor["id"] != name
        assert donor["scene"] == rows[name]["scene"]
        assert pictures(asked) == pictures(own[donor["id"]])[:4] + pictures(own[name])[4:]
        lent.append(donor["id"])
    assert sorted(lent) == sorted(rows)


def test_the_seed_of_the_controls_chooses_the_donors(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(ego2exo=[make_row(number) for number in range(20)])
    asked = task("egoexo_next_ego2exo_mismatched")
    first = list(Evaluation.of(asked).rows()[DONOR_COLUMN])
    monkeypatch.setenv("SPOTDIFF_CONTROL_SEED", "1")
    assert list(Evaluation.of(asked).rows()[DONOR_COLUMN]) != first


def test_other_tasks_name_no_donor(write: Write) -> None:
    write(ego2exo=[make_row(number) for number in range(4)])
    assert DONOR_COLUMN not in Evaluation.of(task("egoexo_next_ego2exo")).rows().column_names


def test_a_scene_with_one_question_cannot_be_mismatched(write: Write) -> None:
    write(ego2exo=[make_row(0), make_row(2), make_row(3)])
    with pytest.raises(DataError, match="q3: it is the only one of its subtask that is outdoor"):
        Evaluation.of(task("egoexo_next_ego2exo_mismatched")).rows()


def test_equal_options_are_warned_of_each_time(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write(exo=[make_row(0, "exo"), make_row(1, "exo", option_d=pixels(1, IMAGE_COLUMNS.index("option_a"), 7))])
    for _ in range(2):
        Evaluation.of(task("egoexo_next_exo")).check_media()
        said = capsys.readouterr().err
        assert said.count("warning: ") == 1
        assert "exo, question q1: option_a and option_d hold the same image" in said


@pytest.mark.parametrize("column", ["observation_3", "option_b"])
def test_a_missing_image_stops_the_run_with_row_and_column(write: Write, column: str) -> None:
    write(exo=[make_row(0, "exo"), make_row(1, "exo", **{column: None})])
    with pytest.raises(DataError) as raised:
        Evaluation.of(task("egoexo_next_exo")).check_media()
    (found,) = raised.value.problems
    assert (found.row, found.field) == ("q1", column)
    assert "the image is missing" in found.message


def test_images_that_a_subtask_does_not_have_are_not_missed(write: Write) -> None:
    write(match_ego2exo=[make_row(number, "match", direction="ego2exo") for number in range(2)])
    Evaluation.of(task("egoexo_next_match_ego2exo")).check_media()


def test_the_same_rows_give_the_same_pixels_in_every_process(write: Write) -> None:
    write(exo=[make_row(number, "exo") for number in range(4)])
    asked = questions(Evaluation.of(task("egoexo_next_exo_shuffled")))
    again = questions(Evaluation.of(task("egoexo_next_exo_shuffled")))
    for name in asked:
        digests = [[pixel_digest(image.open()) for image in one[name].images()] for one in (asked, again)]
        assert digests[0] == digests[1]


def test_a_row_of_another_subtask_than_its_config_is_refused(write: Write) -> None:
    write(exo=[make_row(0, "exo"), make_row(1, "ego")])
    evaluation = Evaluation.of(task("egoexo_next_exo"))
    with pytest.raises(DataError, match="question exo/q1: its row belongs to subtask 'ego'"):
        questions(evaluation)
