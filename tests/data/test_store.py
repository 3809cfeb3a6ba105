"""Where a data set lies, and what is said when it is not there or broken."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow
import pytest

from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS, features
from spotdiff.data.store import locate, parquet_files, read_config, stream_rows
from spotdiff.data.write import write_data_set
from spotdiff.errors import DataError
from spotdiff.settings import Settings

MakeRow = Callable[..., dict[str, Any]]


def test_a_data_set_lies_below_the_data_folder(tmp_path: Path) -> None:
    (tmp_path / "m4bench").mkdir()
    assert locate("m4bench", Settings(data=tmp_path)) == tmp_path / "m4bench"


def test_a_data_set_that_is_not_prepared_is_an_error_with_the_command_to_run(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        locate("m4bench", Settings(data=tmp_path))
    assert str(tmp_path / "m4bench") in str(caught.value)
    assert "spotdiff data prepare m4bench" in str(caught.value)
    assert "m4bench_mini" in str(caught.value)


def test_a_shipped_data_set_lies_in_the_package() -> None:
    assert sorted((locate("m4bench_mini", Settings())).rglob("*.parquet"))


@pytest.mark.parametrize("name", ["m5bench", "m5bench_mini", "", "_mini", "../x", "m4bench/state_invariance"])
def test_an_unknown_data_set_is_an_error_that_lists_the_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"There is no data set .*Known: .*m4bench, m4bench_mini"):
        locate(name, Settings(data=tmp_path))


def test_a_config_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no data for state_invariance: no file state_invariance/\*\.parquet"):
        parquet_files(tmp_path, "state_invariance")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"not parquet at all", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_a_broken_file_is_an_error_that_names_the_folder(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "test.parquet").write_bytes(content)
    with pytest.raises(DataError, match=r"one: the data cannot be read (?s:.*)Prepare the data set again"):
        read_config(tmp_path, "one", IMAGE_COLUMNS)


def test_a_cut_file_is_an_error(make_row: MakeRow, tmp_path: Path) -> None:
    write_data_set(tmp_path / "set", {"one": [make_row()]}, features())
    file = tmp_path / "set" / "one" / "test.parquet"
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(DataError, match="cannot be read"):
        read_config(tmp_path / "set", "one", IMAGE_COLUMNS)


def test_images_are_not_decoded(make_row: MakeRow, tmp_path: Path) -> None:
    row = make_row(image_2={"bytes": b"no image", "path": None})
    write_data_set(tmp_path / "set", {"one": [row]}, features())
    (found,) = read_config(tmp_path / "set", "one", IMAGE_COLUMNS)
    assert found["image_1"] == row["image_1"]
    assert found["image_2"]["bytes"] == b"no image"


def test_several_files_are_read_in_order(make_row: MakeRow, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    for number in (2, 0, 1):
        rows = datasets.Dataset.from_list([make_row(f"q{number}")], features=features())
        rows.to_parquet(str(tmp_path / "one" / f"test-0000{number}.parquet"))
    assert list(read_config(tmp_path, "one", IMAGE_COLUMNS)["id"]) == ["q0", "q1", "q2"]


@pytest.mark.parametrize("name", ["with blank", "[x] (1)", "ü🙂", "a*b", "100%"])
def test_a_folder_may_have_any_name(make_row: MakeRow, tmp_path: Path, name: str) -> None:
    write_data_set(tmp_path / name / "set", {"one": [make_row()]}, features())
    assert len(read_config(tmp_path / name / "set", "one", IMAGE_COLUMNS)) == 1


def test_a_changed_file_is_read_anew(make_row: MakeRow, tmp_path: Path) -> None:
    for name in ("first", "other"):
        write_data_set(tmp_path / "set", {"one": [make_row(name)]}, features())
        assert list(read_config(tmp_path / "set", "one", IMAGE_COLUMNS)["id"]) == [name]


def test_a_config_that_is_streamed_is_never_in_memory_as_a_whole(
    plain_row: MakeRow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 500_000
    monkeypatch.setattr("spotdiff.data.write.BYTES_A_GROUP", 2 * size)
    rows = [
        plain_row(str(number), image_1={"bytes": random.Random(0).randbytes(size), "path": None})
        for number in range(60)
    ]
    write_data_set(tmp_path / "set", {"one": rows}, features())
    before = pyarrow.total_allocated_bytes()
    held = []
    for _ in stream_rows(tmp_path / "set", "one"):
        held.append(pyarrow.total_allocated_bytes() - before)
    assert len(held) == 60
    assert max(held) < 60 * size / 2
