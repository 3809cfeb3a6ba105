"""Writing a data set whole or not at all, and reading it back."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
from pyarrow.parquet import ParquetFile, ParquetWriter

from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS, features
from spotdiff.data.store import read_config
from spotdiff.data.write import BYTES_A_GROUP, ROWS_A_GROUP, write_data_set
from spotdiff.errors import SettingError
from spotdiff.media.images import open_image, pixel_digest

MakeRow = Callable[..., dict[str, Any]]


def ids(folder: Path, config: str = "one") -> list[str]:
    return list(read_config(folder, config, IMAGE_COLUMNS)["id"])


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_rows_come_back_as_they_were_written(make_row: MakeRow, tmp_path: Path) -> None:
    rows = [make_row("a/b ü \u2028 🙂"), make_row("q2", image_2=None, options=["x", "y"], option_boxes=[[], []])]
    rows.append(make_row("", question="", options=["", "y" * 1_000_000], option_boxes=[[], []], category=" \0\n"))
    write_data_set(tmp_path / "set", {"one": rows}, features())
    assert list(read_config(tmp_path / "set", "one", IMAGE_COLUMNS)) == rows


def test_the_folder_is_one_that_load_dataset_reads_with_images(make_row: MakeRow, tmp_path: Path) -> None:
    row = make_row()
    write_data_set(tmp_path / "set", {"one": [row], "two": [make_row("z")]}, features())
    (found,) = datasets.load_dataset(str(tmp_path / "set"), data_dir="one", split="test")
    assert pixel_digest(found["image_1"]) == pixel_digest(open_image(row["image_1"], ""))
    assert found["option_boxes"] == row["option_boxes"]


def row_groups(folder: Path) -> list[int]:
    """Rows of each."""
    metadata = ParquetFile(folder / "one" / "test.parquet").metadata
    return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]


def test_row_groups_have_few_rows(plain_row: MakeRow, tmp_path: Path) -> None:
    rows = [plain_row(str(number), image_1=None, image_2=None) for number in range(2 * ROWS_A_GROUP + 1)]
    write_data_set(tmp_path / "set", {"one": rows}, features())
    assert row_groups(tmp_path / "set") == [ROWS_A_GROUP, ROWS_A_GROUP, 1]


def test_a_row_group_of_large_images_has_fewer_rows(plain_row: MakeRow, tmp_path: Path) -> None:
    small, half, large = ({"bytes": bytes(size), "path": None} for size in (1, BYTES_A_GROUP // 2, BYTES_A_GROUP + 1))
    images = [(small, half), (small, half), (half, half), (small, large), (small, None), (None, small)]
    rows = [plain_row(str(n), image_1=first, image_2=second) for n, (first, second) in enumerate(images)]
    write_data_set(tmp_path / "set", {"one": rows}, features())
    assert row_groups(tmp_path / "set") == [1, 1, 1, 1, 2]
    assert ids(tmp_path / "set") == [row["id"] for row in rows]


def test_rows_are_taken_as_they_are_written(
    plain_row: MakeRow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    when_written: list[int] = []
    write = ParquetWriter.write_table

    def watched(self: ParquetWriter, *arguments: Any) -> None:
        when_written.append(len(taken))
        write(self, *arguments)

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(3 * ROWS_A_GROUP):
            taken.append(number)
            yield plain_row(str(number), image_1=None, image_2=None)

    monkeypatch.setattr(ParquetWriter, "write_table", watched)
    write_data_set(tmp_path / "set", {"one": rows()}, features())
    assert when_written == [ROWS_A_GROUP + 1, 2 * ROWS_A_GROUP + 1, 3 * ROWS_A_GROUP]


@pytest.mark.parametrize("change", [{"more": 1}, {"answer": ...}])
def test_a_row_with_other_columns_is_refused(make_row: MakeRow, tmp_path: Path, change: dict[str, Any]) -> None:
    row = {name: value for name, value in make_row(**change).items() if value is not ...}
    with pytest.raises(ValueError, match="a row has the columns id, "):
        write_data_set(tmp_path / "set", {"one": [make_row(), row]}, features())
    assert not list(tmp_path.iterdir())


def test_an_old_data_set_is_replaced_whole(make_row: MakeRow, tmp_path: Path) -> None:
    write_data_set(tmp_path / "set", {"one": [make_row("old")], "gone": [make_row("old")]}, features())
    write_data_set(tmp_path / "set", {"one": [make_row("new")]}, features())
    assert names(tmp_path / "set") == ["one"]
    assert ids(tmp_path / "set") == ["new"]
    assert names(tmp_path) == ["set"]


def test_a_row_that_does_not_fit_leaves_the_old_data_set_and_nothing_else(make_row: MakeRow, tmp_path: Path) -> None:
    write_data_set(tmp_path / "set", {"one": [make_row("old")]}, features())
    broken = {**make_row("new"), "image_sizes": "wide"}
    with pytest.raises((TypeError, ValueError)):
        write_data_set(tmp_path / "set", {"one": [make_row("new")], "two": [broken]}, features())
    assert ids(tmp_path / "set") == ["old"]
    assert names(tmp_path) == ["set"]


def test_a_full_disk_is_an_error_that_leaves_the_old_data_set(
    make_row: MakeRow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_data_set(tmp_path / "set", {"one": [make_row("old")]}, features())

    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(ParquetWriter, "write_table", full)
    with pytest.raises(SettingError, match=r"No space left on device.*SPOTDIFF_DATA"):
        write_data_set(tmp_path / "set", {"one": [make_row("new")]}, features())
    assert ids(tmp_path / "set") == ["old"]
    assert names(tmp_path) == ["set"]


def test_where_the_new_folder_cannot_take_the_place_the_old_one_comes_back(
    make_row: MakeRow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_data_set(tmp_path / "set", {"one": [make_row("old")]}, features())
    replace, calls = os.replace, []

    def second_fails(source: Path, target: Path) -> None:
        calls.append(source)
        if len(calls) == 2:
            raise OSError("busy")
        replace(source, target)

    monkeypatch.setattr(os, "replace", second_fails)
    with pytest.raises(SettingError, match="busy"):
        write_data_set(tmp_path / "set", {"one": [make_row("new")]}, features())
    assert ids(tmp_path / "set") == ["old"]
    assert names(tmp_path) == ["set"]


KILLED = """
import os, signal, sys
from pathlib import Path
from pyarrow.parquet import ParquetWriter
from spotdiff.benchmarks.m4bench.schema import features
from spotdiff.data.write import write_data_set

write, written = ParquetWriter.write_table, []

def killed(self, *arguments, **options):
    if written:
        os.kill(os.getpid(), signal.SIGKILL)
    written.append(write(self, *arguments, **options))

ParquetWriter.write_table = killed
row = {"id": "new", "question": "q", "visual_prompt": "", "visual_prompt_boxes": [], "options": ["x", "y"],
       "option_boxes": [[], []], "answer": "A", "category": "", "pair": "p", "image_sizes": [], "image_1": None,
       "image_2": None}
write_data_set(Path(sys.argv[1]), {"one": [row], "two": [row]}, features())
"""


def test_a_process_killed_half_way_leaves_the_old_data_set(make_row: MakeRow, tmp_path: Path) -> None:
    write_data_set(tmp_path / "set", {"one": [make_row("old")]}, features())
    run = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "set")], capture_output=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    assert ids(tmp_path / "set") == ["old"]
    write_data_set(tmp_path / "set", {"one": [make_row("newer")]}, features())
    assert ids(tmp_path / "set") == ["newer"]


def test_a_link_to_a_folder_stays_a_link(make_row: MakeRow, tmp_path: Path) -> None:
    (tmp_path / "large disk" / "set").mkdir(parents=True)
    (tmp_path / "set").symlink_to(tmp_path / "large disk" / "set")
    write_data_set(tmp_path / "set", {"one": [make_row("new")]}, features())
    assert (tmp_path / "set").is_symlink()
    assert ids(tmp_path / "large disk" / "set") == ["new"]


def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_set(make_row: MakeRow, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="SPOTDIFF_DATA"):
        write_data_set(tmp_path / "file" / "set", {"one": [make_row()]}, features())


def test_others_may_read_what_was_written(make_row: MakeRow, tmp_path: Path) -> None:
    write_data_set(tmp_path / "set", {"one": [make_row()]}, features())
    assert (tmp_path / "set").stat().st_mode & 0o055 == 0o055
