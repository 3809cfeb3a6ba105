"""What is checked before the first question, and that it is checked once."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from PIL import Image

from spotdiff.benchmarks.m4bench import BENCHMARK
from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS, features
from spotdiff.data.checks import MediaSummary, Stamp, check_media, check_rows, raise_problems
from spotdiff.data.store import parquet_files, read_config
from spotdiff.data.write import write_data_set
from spotdiff.errors import DataError, Problem
from spotdiff.evaluation import Evaluation
from spotdiff.media.images import open_image
from spotdiff.tasks import task

MakeRow = Callable[..., dict[str, Any]]
Encode = Callable[..., bytes]
Write = Callable[..., Path]


def loaded(folder: Path, rows: list[dict[str, Any]]) -> Any:
    write_data_set(folder / "set", {"one": rows}, features())
    return read_config(folder / "set", "one", IMAGE_COLUMNS)


def checked(folder: Path, rows: list[dict[str, Any]]) -> list[Problem]:
    return check_rows(BENCHMARK, loaded(folder, rows), "some file")


# --- rows ---------------------------------------------------------------------------------------------------------


def test_rows_without_fault_pass(make_row: MakeRow, plain_row: MakeRow, tmp_path: Path) -> None:
    assert checked(tmp_path, [make_row("a"), plain_row("b"), make_row("c/d ü")]) == []


def test_a_duplicate_id_is_a_fault_that_is_named_once(make_row: MakeRow, tmp_path: Path) -> None:
    found = checked(tmp_path, [make_row("a"), make_row("b"), make_row("a"), make_row("a")])
    assert [(problem.row, problem.field, problem.message) for problem in found] == [("a", "id", "appears 3 times")]


def test_faults_of_all_rows_are_found(make_row: MakeRow, tmp_path: Path) -> None:
    found = checked(tmp_path, [make_row("a", answer="E"), make_row("b"), make_row("c", pair="")])
    assert [(problem.row, problem.field) for problem in found] == [("a", "answer"), ("c", "pair")]


def test_no_rows_are_a_fault(make_row: MakeRow, tmp_path: Path) -> None:
    (problem,) = check_rows(BENCHMARK, loaded(tmp_path, [make_row()]).select([]), "f")
    assert problem.message == "there are no rows"


def test_a_file_without_rows_is_an_error(make_row: MakeRow, data_folder: Write) -> None:
    file = data_folder(state_invariance=[make_row()]) / "state_invariance" / "test.parquet"
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(file).slice(0, 0), file)
    with pytest.raises(DataError, match="Prepare the data"):
        Evaluation.of(task("m4bench_state_invariance")).rows()


def test_a_missing_column_is_a_fault_of_every_row(make_row: MakeRow, tmp_path: Path) -> None:
    rows = loaded(tmp_path, [make_row("a"), make_row("b")]).remove_columns(["options"])
    assert [(p.row, p.field) for p in check_rows(BENCHMARK, rows, "f")] == [("a", "options"), ("b", "options")]


def test_without_ids_the_columns_that_are_there_are_named(make_row: MakeRow, tmp_path: Path) -> None:
    (problem,) = check_rows(BENCHMARK, loaded(tmp_path, [make_row()]).remove_columns(["id"]), "f")
    assert problem.field == "id"
    assert "question, visual_prompt" in problem.message


def test_all_problems_come_in_one_error(make_row: MakeRow) -> None:
    problems = [Problem("f", str(number), "x", "is wrong", "Mend it") for number in range(25)]
    with pytest.raises(DataError) as caught:
        raise_problems([*problems, problems[0]], "some task")
    lines = str(caught.value).splitlines()
    assert lines[0] == "some task: 25 faults in the data; no question was asked."
    assert lines[1] == "  f, row 0, field x: is wrong. Mend it"
    assert lines[-1] == "  ... and 5 more"
    assert caught.value.problems == tuple(problems)


def test_no_problem_is_no_error() -> None:
    raise_problems([], "some task")


# --- images -------------------------------------------------------------------------------------------------------


def broken_rows(make_row: MakeRow, encode: Encode) -> list[dict[str, Any]]:
    whole = make_row()["image_1"]["bytes"]
    return [
        make_row("missing", image_2=None),
        make_row("truncated", image_1={"bytes": whole[: len(whole) // 2], "path": None}),
        make_row("no image", image_2={"bytes": b"<html>404</html>", "path": None}),
        make_row("other size", image_1={"bytes": encode(Image.new("RGB", (48, 64))), "path": None}),
        make_row("path only", image_1={"bytes": None, "path": "nowhere/x.png"}),
        make_row("fine"),
    ]


def test_every_broken_image_is_named_in_one_error(make_row: MakeRow, encode: Encode, data_folder: Write) -> None:
    data_folder(spatial_perception=broken_rows(make_row, encode))
    evaluation = Evaluation.of(task("m4bench_spatial_perception"))
    evaluation.rows()
    with pytest.raises(DataError) as caught:
        evaluation.check_media()
    found = {problem.row: (problem.field, problem.message) for problem in caught.value.problems}
    assert {name: field for name, (field, _) in found.items()} == {
        "missing": "image_2",
        "truncated": "image_1",
        "no image": "image_2",
        "other size": "image_1",
        "path only": "image_1",
    }
    assert found["missing"][1] == "the image is missing"
    assert found["truncated"][1].startswith("the image cannot be decoded (")
    assert found["no image"][1] == "the image cannot be decoded (no known image format)"
    assert found["other size"][1] == "the image is 48x64, the row says (64, 48)"
    assert all(problem.remedy for problem in caught.value.problems)
    assert all(name in str(caught.value) for name in found)


def test_a_config_that_two_settings_ask_is_checked_once(
    make_row: MakeRow, data_folder: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    data_folder(**{setting.config: [make_row()] for setting in task("M4Bench").settings})
    Evaluation.of(task("M4Bench")).check_media()
    one = len(make_row()["image_1"]["bytes"]) + len(make_row()["image_2"]["bytes"])
    assert f"m4bench: 16 images, {8 * one / 1e6:.1f} MB as stored" in capsys.readouterr().err


# --- stamps -------------------------------------------------------------------------------------------------------


class Opened:
    """Counts the images that are decoded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0

        def counted(value: Any, where: str) -> Image.Image:
            self.count += 1
            return open_image(value, where)

        monkeypatch.setattr("spotdiff.data.checks.open_image", counted)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    return Opened(monkeypatch)


def check(folder: Path, stamps: Path) -> tuple[MediaSummary, list[Problem]]:
    rows = read_config(folder, "one", IMAGE_COLUMNS)
    return check_media(BENCHMARK, rows, "f", Stamp(stamps, parquet_files(folder, "one")))


def test_whole_images_are_decoded_once(make_row: MakeRow, tmp_path: Path, opened: Opened) -> None:
    rows = [make_row("a"), make_row("b")]
    loaded(tmp_path, rows)
    sizes = [len(row[column]["bytes"]) for row in rows for column in IMAGE_COLUMNS]
    expected: tuple[MediaSummary, list[Problem]] = (MediaSummary(4, sum(sizes)), [])
    assert check(tmp_path / "set", tmp_path / "stamps") == expected
    assert check(tmp_path / "set", tmp_path / "stamps") == expected
    assert opened.count == 4


def test_images_with_a_fault_are_decoded_again(make_row: MakeRow, tmp_path: Path, opened: Opened) -> None:
    loaded(tmp_path, [make_row("a", image_1=None)])
    for times in (1, 2):
        _, found = check(tmp_path / "set", tmp_path / "stamps")
        assert len(found) == 1
        assert opened.count == 2 * times


@pytest.mark.parametrize("how", ["content", "time", "another file"])
def test_a_changed_file_is_checked_again(make_row: MakeRow, tmp_path: Path, opened: Opened, how: str) -> None:
    loaded(tmp_path, [make_row("a")])
    folder = tmp_path / "set"
    check(folder, tmp_path / "stamps")
    if how == "content":
        loaded(tmp_path, [make_row("a", image_2=None)])
    elif how == "time":
        file = folder / "one" / "test.parquet"
        os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))
    else:
        (folder / "one" / "more.parquet").write_bytes((folder / "one" / "test.parquet").read_bytes())
    check(folder, tmp_path / "stamps")
    assert opened.count > 2


def test_files_that_were_moved_are_not_checked_again(make_row: MakeRow, tmp_path: Path, opened: Opened) -> None:
    loaded(tmp_path, [make_row("a")])
    check(tmp_path / "set", tmp_path / "stamps")
    check((tmp_path / "set").rename(tmp_path / "elsewhere"), tmp_path / "stamps")
    assert opened.count == 2


def test_stamps_that_cannot_be_written_do_no_harm(
    make_row: MakeRow, tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded(tmp_path, [make_row("a")])
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        assert check(tmp_path / "set", folder)[1] == []

    def refused(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(os, "replace", refused)
    assert check(tmp_path / "set", tmp_path / "stamps")[1] == []
    assert list((tmp_path / "stamps").iterdir()) == []
    assert opened.count == 6


@pytest.mark.parametrize("content", ["", "{", "[]", "5", '{"images": 1}', '{"images": 1, "stored_bytes": 2, "x": 3}'])
def test_a_broken_stamp_counts_as_none(make_row: MakeRow, tmp_path: Path, opened: Opened, content: str) -> None:
    loaded(tmp_path, [make_row("a")])
    check(tmp_path / "set", tmp_path / "stamps")
    (stamp,) = (tmp_path / "stamps").iterdir()
    stamp.write_text(content)
    assert check(tmp_path / "set", tmp_path / "stamps")[0].images == 2
    assert opened.count == 4
    assert json.loads(stamp.read_text())["images"] == 2
