"""The path from a task's rows to its table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from spotdiff.answers import Outcome
from spotdiff.errors import DataError, SettingError
from spotdiff.evaluation import Answer, Evaluation
from spotdiff.question import Option, Question
from spotdiff.settings import Settings
from spotdiff.tasks import task

MakeRow = Callable[..., dict[str, Any]]
Write = Callable[..., Path]

ASKED = Question(
    "state_invariance/1",
    "state_invariance",
    (),
    (Option("A", "No"), Option("B", "Yes")),
    ("B",),
    "pair",
    groups={"setting": "state_invariance", "category": "none"},
)
EVALUATION = Evaluation(task("m4bench_state_invariance"), Settings())


# --- rows ---------------------------------------------------------------------------------------------------------


def test_rows_know_their_task_and_setting_in_the_order_of_the_settings(
    make_row: MakeRow, plain_row: MakeRow, data_folder: Write
) -> None:
    joined = task("M4Bench")
    configs = {setting.config: [make_row(f"{setting.config} {n}") for n in (1, 2)] for setting in joined.settings}
    data_folder(**configs)
    evaluation = Evaluation.of(joined)
    rows = evaluation.rows()
    assert list(rows["setting"]) == [setting.name for setting in joined.settings for _ in (1, 2)]
    assert set(rows["task"]) == {"m4bench"}
    ids = [evaluation_question(evaluation, row).id for row in rows.remove_columns(["image_1", "image_2"])]
    assert ids == [f"{setting.name}/{setting.config} {n}" for setting in joined.settings for n in (1, 2)]


def evaluation_question(evaluation: Evaluation, row: Any) -> Question:
    return Evaluation(evaluation.task, evaluation.settings, "gpt4o").question(row)


def test_faulty_rows_of_all_configs_come_in_one_error(make_row: MakeRow, data_folder: Write) -> None:
    configs: dict[str, Any] = {setting.config: [make_row()] for setting in task("M4Bench").settings}
    configs["state_invariance"] = [make_row("x"), make_row("x")]
    configs["spatial_perception"] = [make_row("y", answer="Z")]
    data_folder(**configs)
    with pytest.raises(DataError) as caught:
        Evaluation.of(task("M4Bench")).rows()
    assert [(problem.row, problem.field) for problem in caught.value.problems] == [("x", "id"), ("y", "answer")]
    assert "state_invariance" in caught.value.problems[0].file
    assert str(caught.value).startswith("m4bench: 2 faults in the data; no question was asked.")


def test_images_are_not_needed_to_read_rows(make_row: MakeRow, data_folder: Write) -> None:
    data_folder(spatial_perception=[make_row(image_1=None, image_2=None)])
    evaluation = Evaluation.of(task("m4bench_spatial_perception"), "gpt4o")
    (row,) = evaluation.rows()
    assert evaluation.question(row).prompt
    with pytest.raises(DataError, match="image_1"):
        evaluation.check_media()


def test_columns_named_as_ours_give_way(make_row: MakeRow, data_folder: Write) -> None:
    file = data_folder(spatial_perception=[make_row()]) / "spatial_perception" / "test.parquet"
    table = pyarrow.parquet.read_table(file)
    pyarrow.parquet.write_table(table.append_column("task", [["x"]]).append_column("setting", [["y"]]), file)
    (row,) = Evaluation.of(task("m4bench_spatial_perception")).rows()
    assert (row["task"], row["setting"]) == ("m4bench_spatial_perception", "spatial_perception")


def test_parts_of_different_types_are_an_error(make_row: MakeRow, data_folder: Write) -> None:
    folder = data_folder(**{setting.config: [make_row()] for setting in task("M4Bench").settings})
    file = folder / "state_invariance" / "test.parquet"
    table = pyarrow.parquet.read_table(file).replace_schema_metadata({})
    sizes = table["image_sizes"].cast(pyarrow.list_(pyarrow.list_(pyarrow.int64())))
    pyarrow.parquet.write_table(
        table.set_column(table.schema.get_field_index("image_sizes"), "image_sizes", sizes), file
    )
    with pytest.raises(DataError, match="its parts do not fit together"):
        Evaluation.of(task("M4Bench")).rows()


@pytest.mark.parametrize("change", [{"id": [7]}, {"options": ['["No", "Yes"]']}, {"image_1": [7]}, {"pair": [None]}])
def test_columns_of_another_type_are_an_error(make_row: MakeRow, data_folder: Write, change: dict[str, Any]) -> None:
    file = data_folder(spatial_perception=[make_row()]) / "spatial_perception" / "test.parquet"
    table = pyarrow.parquet.read_table(file).replace_schema_metadata({})
    for name, values in change.items():
        table = table.set_column(table.schema.get_field_index(name), name, [values])
    pyarrow.parquet.write_table(table, file)
    with pytest.raises(DataError, match="spatial_perception"):
        Evaluation.of(task("m4bench_spatial_perception")).rows()


def test_the_settings_in_force_are_said_at_the_start(
    make_row: MakeRow, data_folder: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data_folder(spatial_perception=[make_row()])
    monkeypatch.setenv("SPOTDIFF_SHUFFLE_SEED", "3")
    Evaluation.of(task("m4bench_spatial_perception_swap")).rows()
    said = capsys.readouterr().err
    assert "m4bench_spatial_perception_swap: 1 questions; settings: " in said
    assert "shuffle_seed=3" in said
    assert "swap=True" in said


def test_what_a_task_fixes_is_in_force_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_LAYOUT", "separate")
    monkeypatch.setenv("SPOTDIFF_VISUAL_PROMPT", "text")
    assert Evaluation.of(task("M4Bench_Concat")).settings.layout == "concat"
    assert Evaluation.of(task("M4Bench_Drawn")).settings.visual_prompt == "drawn"


def test_the_token_limit_is_the_benchmarks_unless_one_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Evaluation.of(task("M4Bench")).max_new_tokens == 1024
    monkeypatch.setenv("SPOTDIFF_MAX_NEW_TOKENS", "7")
    assert Evaluation.of(task("M4Bench")).max_new_tokens == 7


def test_the_mini_data_can_be_asked_and_hold_whole_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path))
    evaluation = Evaluation.of(task("M4Bench_Mini"), "gpt4o")
    rows = evaluation.rows()
    evaluation.check_media()
    questions = [evaluation.question(row) for row in rows]
    assert len({question.id for question in questions}) == len(rows) > 8
    assert all(image.open().mode == "RGB" for question in questions[::5] for image in question.images())
    assert evaluation.expected(rows) == {
        setting.name: list(rows["setting"]).count(setting.name) for setting in evaluation.task.settings
    }


def test_the_complete_number_of_questions_is_the_papers(make_row: MakeRow, data_folder: Write) -> None:
    data_folder(spatial_perception=[make_row()])
    evaluation = Evaluation.of(task("m4bench_spatial_perception"))
    assert evaluation.expected(evaluation.rows()) == {"spatial_perception": 230}


# --- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "score", "outcome", "letters"),
    [("B", 1.0, "parsed", ("B",)), ("A", 0.0, "parsed", ("A",)), ("", 0.0, "empty", ()), (None, 0.0, "empty", ())],
)
def test_a_reply_is_read_and_scored(reply: str | None, score: float, outcome: str, letters: tuple[str, ...]) -> None:
    scored = EVALUATION.answer(ASKED, reply).scored
    assert (scored.score, scored.outcome, scored.letters) == (score, outcome, letters)
    assert (scored.id, scored.gold, scored.cluster, scored.chance, scored.options) == (ASKED.id, ("B",), "pair", 0.5, 2)
    assert scored.groups == ASKED.groups
    assert set(scored.extra) == {"acc_release"}


@effort(max_examples=300, deadline=None)
@given(
    st.none()
    | st.text()
    | st.text(st.sampled_from("ABab .,:*()[]{}<>/\\\n\t\ud800\u2028\0"), max_size=30)
    | st.builds(lambda head, tail: f"<think>{head}</think>{tail}", st.text(max_size=9), st.text(max_size=9))
)
def test_no_reply_makes_scoring_fail(reply: str | None) -> None:
    answer = EVALUATION.answer(ASKED, reply)
    assert isinstance(answer, Answer)
    assert (answer.scored.score > 0) <= (answer.reading.outcome is Outcome.parsed)
    assert answer.verdict is None


@pytest.mark.parametrize("reply", ["A" * 200_000, "<think>" * 20_000, "(" * 50_000, "A or " * 30_000, " \n" * 100_000])
def test_a_very_long_reply_is_scored_in_a_moment(reply: str) -> None:
    import time

    started = time.monotonic()
    EVALUATION.answer(ASKED, reply)
    assert time.monotonic() - started < 5


def test_a_table_is_titled_with_task_and_version() -> None:
    scored = EVALUATION.answer(ASKED, "B").scored
    table = EVALUATION.table([scored], {"state_invariance": 219})
    assert table.title == "M4Bench, m4bench_state_invariance (version 1)"
    assert table.rows[0][:2] == ("acc", "100.0")
    assert "1 of 219 questions" in table.notes[0]


def test_settings_that_cannot_be_used_stop_a_task_before_its_data_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_LAYOUT", "stacked")
    with pytest.raises(SettingError, match="SPOTDIFF_LAYOUT"):
        Evaluation.of(task("M4Bench"))
