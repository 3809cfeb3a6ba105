"""The published table as it is shipped."""

import csv
from pathlib import Path

import pytest

from spotdiff.benchmarks import m3verse
from spotdiff.benchmarks.m3verse.tables import COLUMNS

with (Path(m3verse.__file__).with_name("published.csv")).open(encoding="utf-8", newline="") as stream:
    READER = csv.DictReader(stream)
    HEAD, ROWS = list(READER.fieldnames or ()), list(READER)

FIGURES = HEAD[4:]


def test_figures_are_those_of_our_own_table_in_its_order() -> None:
    assert HEAD[:4] == ["model", "size", "scope", "frames"]
    assert [title for title, _ in COLUMNS[:11]] == FIGURES


def test_all_rows_of_the_papers_table_are_there_once() -> None:
    assert len(ROWS) == len({(row["model"], row["size"]) for row in ROWS}) == 24
    assert [row["size"] for row in ROWS if row["model"] == "Qwen3"] == ["0.6B", "1.4B", "4B", "8B", "14B", "32B"]


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['model']} {row['size']}" for row in ROWS])
def test_figures_are_percentages_with_two_decimals(row: dict[str, str]) -> None:
    assert None not in row
    for title in FIGURES:
        assert 0 < float(row[title]) < 100
        assert len(row[title].partition(".")[2]) == 2


def test_rows_about_sim_alone_are_told_from_pooled_ones() -> None:
    by_scope = {row["scope"] for row in ROWS}
    assert by_scope == {"sim", "pooled"}
    assert {row["model"] for row in ROWS if row["scope"] == "sim"} == {"Human", "GPT-5", "Qwen3-VL-235B-A22B"}


def test_frames_stand_where_the_paper_states_them() -> None:
    frames = {row["model"]: row["frames"] for row in ROWS}
    few = {name for name, number in frames.items() if number == "60"}
    assert few == {f"InternVL3.5-{size}B" for size in (2, 4, 8)} | {"InternVideo2.5-8B", "VideoLLaMA3-7B"}
    assert (frames["Gemini-2.5-pro"], frames["Qwen3-VL-235B-A22B"]) == ("2 fps", "1 fps")
    assert {name for name, number in frames.items() if not number} == {"Human", "Random", "Qwen3"}
    assert set(frames.values()) == {"", "60", "200", "1 fps", "2 fps"}


# Copied by hand, figure by figure, from the paper's Table 2.
@pytest.mark.parametrize(
    ("model", "size", "figures"),
    [
        ("Human", "", (89.75, 90.42, 83.39, 91.98, 90.89, 87.91, 89.29, 88.26, 90.06, 92.25, 88.79)),
        ("Random", "", (24.14, 22.52, 21.76, 22.61, 22.39, 22.67, 25.66, 24.72, 26.27, 22.93, 25.54)),
        ("Qwen3", "32B", (32.97, 34.37, 33.92, 41.66, 34.58, 36.52, 30.82, 34.62, 29.43, 29.21, 30.75)),
        ("Gemini-2.5-pro", "", (47.58, 53.21, 55.39, 44.65, 58.25, 48.83, 41.83, 44.91, 42.03, 43.88, 36.08)),
        ("GPT-5", "", (45.14, 45.20, 46.82, 46.58, 51.20, 38.27, 45.29, 46.81, 46.65, 46.51, 42.37)),
        ("Qwen3-VL-8B", "8B", (39.07, 44.50, 42.96, 42.01, 47.20, 43.86, 33.93, 33.30, 35.26, 33.83, 33.15)),
    ],
)
def test_some_rows_are_as_printed(model: str, size: str, figures: tuple[float, ...]) -> None:
    (row,) = (row for row in ROWS if (row["model"], row["size"]) == (model, size))
    assert tuple(float(row[title]) for title in FIGURES) == figures


with (Path(m3verse.__file__).with_name("published_oracle.csv")).open(encoding="utf-8", newline="") as stream:
    ORACLE_READER = csv.DictReader(stream)
    ORACLE_HEAD, ORACLE_ROWS = list(ORACLE_READER.fieldnames or ()), list(ORACLE_READER)


def test_tables_6_and_7_are_there_with_the_columns_of_table_2() -> None:
    assert ["table", "model", "context", "clip", "answers", *FIGURES] == ORACLE_HEAD
    assert [sum(row["table"] == number for row in ORACLE_ROWS) for number in "67"] == [13, 14]
    assert all(0 < float(row[name]) < 100 for row in ORACLE_ROWS for name in FIGURES)


def test_rows_that_both_tables_repeat_hold_the_same_figures() -> None:
    found: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for row in ORACLE_ROWS:
        key = tuple(row[name] for name in ("model", "context", "clip", "answers"))
        found.setdefault(key, set()).add(tuple(row[name] for name in FIGURES))
    assert len(found) == 27 - 4
    assert {len(figures) for figures in found.values()} == {1}


def test_reports_set_each_kind_of_context_beside_its_own_table() -> None:
    by_name = {breakdown.name: breakdown for breakdown in m3verse.BENCHMARK.breakdowns}
    assert len(by_name["oracle"].published()) == 13
    assert len(by_name["oracle_raw"].published()) == 14
    notes = [row.note for row in by_name["oracle_raw"].published() if row.values["overall"] == 0.3715]
    assert notes == ["from captions, clips of 50 frames, answers by Qwen3-32B"]
