"""What is odd about a data set is said, with question and field; what is not, is not."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spotdiff.benchmarks.egoexo_next.schema import IMAGE_COLUMNS, features, observations
from spotdiff.cli import main
from spotdiff.data.check import first_tasks
from spotdiff.data.oddities import oddities
from spotdiff.data.write import write_data_set
from spotdiff.tasks import benchmarks

MakeRow = Callable[..., dict[str, Any]]
Write = Callable[..., Path]
Row = dict[str, Any]


def found(folder: Path, name: str = "m4bench") -> list[str]:
    benchmark = benchmarks()[name]
    configs = [entry.name for entry in folder.iterdir() if entry.is_dir()]
    return list(oddities(benchmark, folder, first_tasks(benchmark, name, configs)))


@pytest.mark.parametrize("name", sorted(benchmarks()))
def test_shipped_data_are_not_odd(name: str) -> None:
    from importlib.resources import files

    data = f"{name}_mini"
    folder = Path(str(files(f"spotdiff.benchmarks.{name}"))) / "mini"
    benchmark = benchmarks()[name]
    configs = [entry.name for entry in folder.iterdir() if entry.is_dir()]
    assert list(oddities(benchmark, folder, first_tasks(benchmark, data, configs))) == []


def test_two_options_that_say_the_same_are_named(plain_row: MakeRow, data_folder: Write) -> None:
    folder = data_folder(state_invariance=[plain_row("a", options=["Yes", " yes"]), plain_row("b")])
    assert found(folder) == ["state_invariance/a, field options: two options say the same"]


def test_options_with_the_same_words_and_other_boxes_are_different(make_row: MakeRow, data_folder: Write) -> None:
    assert found(data_folder(spatial_perception=[make_row("a")])) == []


def test_right_letters_that_are_not_balanced_are_counted(plain_row: MakeRow, data_folder: Write) -> None:
    rows = [plain_row(str(number), answer="A" if number < 31 else "B") for number in range(40)]
    assert found(data_folder(state_invariance=rows)) == [
        "state_invariance, field answer: right letters are not balanced (2 options: A 31, B 9)"
    ]
    even = [plain_row(str(number), answer="AB"[number % 2]) for number in range(40)]
    assert found(data_folder(state_invariance=even)) == []


def with_names(row: Row, *names: str) -> Row:
    images = {column: {**row[column], "path": name} for column, name in zip(("image_1", "image_2"), names, strict=True)}
    return {**row, **images}


def test_file_names_that_tell_the_answer_are_found(plain_row: MakeRow, data_folder: Write) -> None:
    rows = [
        with_names(plain_row(str(number), answer="AB"[number % 2]), f"{number}.png", f"{number}_{word}.png")
        for number, word in enumerate(["different", "same"] * 10)
    ]
    assert found(data_folder(state_invariance=rows)) == [
        "state_invariance, fields image_1, image_2: file names are stored with the images; no model sees them",
        "state_invariance, fields image_1, image_2: file names tell the right letter in 20 of 20 questions",
    ]


def test_file_names_that_tell_nothing_are_only_said_to_be_stored(plain_row: MakeRow, data_folder: Write) -> None:
    rows = [with_names(plain_row(str(n), answer="AB"[n % 2]), f"{n}.png", f"{n}.png") for n in range(20)]
    assert len(found(data_folder(state_invariance=rows))) == 1


def test_files_that_no_row_names_are_found(plain_row: MakeRow, data_folder: Write) -> None:
    folder = data_folder(state_invariance=[plain_row()])
    (folder / "videos").mkdir()
    (folder / "videos" / "left over.mp4").write_bytes(b"x")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "state").write_bytes(b"x")
    assert found(folder) == ["videos/left over.mp4: no row names these files"]


def picture(value: int) -> dict[str, Any]:
    buffer = io.BytesIO()
    Image.linear_gradient("L").point(lambda shade: shade // 2 + value).convert("RGB").save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": None}


def test_nearly_the_same_images_across_options_are_found(tmp_path: Path) -> None:
    row: Row = {
        **dict.fromkeys(IMAGE_COLUMNS),
        **{column: picture(0) for column in observations("exo")},
        **{f"option_{letter}": picture(40 * number) for number, letter in enumerate("abcd")},
        "id": "q",
        "clip": "c",
        "subtask": "exo",
        "direction": "",
        "scene": "indoor",
        "source": "WEAR",
        "group": "",
        "answer": "A",
        "future_candidates": 0,
        "option_kinds": [],
    }
    write_data_set(tmp_path / "set", {"exo": [row, {**row, "id": "r", "option_d": picture(1)}]}, features())
    assert found(tmp_path / "set", "egoexo_next") == [
        "exo/r, field options (A, D): two options show nearly the same image"
    ]


def test_check_prints_oddities_and_does_not_fail_for_them(
    plain_row: MakeRow, data_folder: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    data_folder(state_invariance=[plain_row("a", options=["Yes", "Yes"])])
    main(["data", "check", "m4bench"])
    assert "odd: state_invariance/a, field options: two options say the same" in capsys.readouterr().out
