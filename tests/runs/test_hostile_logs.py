"""Logs, results and names that nobody means to write, and folders that hold more than a report."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from written_logs import answer, write_lmms_eval

from spotdiff.runs.build import build
from spotdiff.runs.write import write_report

HALF = "state_invariance"


def answers(count: int) -> list[dict[str, Any]]:
    return [answer(number, right=number % 2 == 0) for number in range(count)]


def test_hostile_names_are_text_in_markdown_and_no_formula_in_a_spreadsheet(tmp_path: Path) -> None:
    run = write_lmms_eval(tmp_path / "a", answers(20))
    name = "=1+1 <b>|`x` [y](z)\r\nnext \\| *w*"
    write_report(build([run], {run: name}), tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| =1+1 \\<b>\\|\\`x\\` \\[y](z) next \\\\\\| \\*w\\*, acc " in text
    assert "<b>" not in text.replace("\\<b>", "")
    with (tmp_path / "out" / "tables" / "m4bench_settings.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["run"] for row in rows if row["kind"] == "run"} == {f"'{name}"}
    stored = pyarrow.parquet.read_table(tmp_path / "out" / "answers.parquet")
    assert set(stored["run"].to_pylist()) == {name}


def test_numbers_below_0_stay_numbers_in_a_spreadsheet(tmp_path: Path) -> None:
    worse, better = (
        write_lmms_eval(tmp_path / name, [answer(number, right=number < right) for number in range(40)], model=name)
        for name, right in (("worse", 8), ("better", 36))
    )
    write_report(build([worse, better]), tmp_path / "out")
    with (tmp_path / "out" / "tables" / "comparisons.csv").open(newline="") as stream:
        assert all(float(row["difference"]) < 0 for row in csv.DictReader(stream))


@pytest.mark.parametrize(
    "change",
    [
        *({"id": 5}, {"cluster": 7}, {"cluster": ["a"]}, {"letters": [1]}, {"gold": [None]}, {"failure": []}),
        *({"options": 1.5}, {"total": 0}, {"total": float("inf")}, {"version": float("inf")}),
        *({"groups": {"setting": HALF, "category": [1]}}, {"groups": {"setting": HALF, "category": [["x"]]}}),
    ],
    ids=str,
)
def test_a_record_with_a_field_of_another_kind_is_a_fault_and_the_rest_is_reported(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    run = write_lmms_eval(tmp_path / "a", [*answers(20), answer(30) | change])
    report = build([run])
    write_report(report, tmp_path / "out")
    (fault,) = report.runs[0].faults
    assert "line 21 is no scored answer" in fault
    assert len(report.answers) == 20
    assert report.runs[0].incomplete


@pytest.mark.parametrize("line", ["[" * 100_000, '{"a": ' + "9" * 5000 + "}"], ids=["nested", "digits"])
def test_a_line_that_the_parser_of_json_gives_up_on_is_a_fault(tmp_path: Path, line: str) -> None:
    run = write_lmms_eval(tmp_path / "a", answers(20))
    with next(run.glob("*_samples_*.jsonl")).open("a") as stream:
        stream.write(f"{line}\n")
    report = build([run])
    (fault,) = report.runs[0].faults
    assert "line 21 is not JSON" in fault
    assert len(report.answers) == 20


@pytest.mark.parametrize(
    "results",
    [
        {"config": {"model": "m", "model_args": ["pretrained=x", "api_key=hidden-1234"]}},
        {"config": {"model": "m"}, "configs": {f"m4bench_{HALF}": {"metadata": {"settings": "all", "version": []}}}},
        {"config": [1], "configs": 5, "versions": "x", "n-samples": [], "date": {}},
    ],
    ids=["arguments", "settings", "everything"],
)
def test_results_of_another_shape_cost_no_report(tmp_path: Path, results: dict[str, Any]) -> None:
    run = write_lmms_eval(tmp_path / "a", answers(20), **results)
    report = build([run])
    write_report(report, tmp_path / "out")
    assert len(report.answers) == 20
    assert "hidden-1234" not in (tmp_path / "out" / "report.html").read_text()


def test_folders_of_one_name_without_results_are_told_to_be_taken_for_one_run(tmp_path: Path) -> None:
    parts = (HALF, "state_comparison")
    runs = [write_lmms_eval(tmp_path / part / "out", [answer(1, setting=part)]) for part in parts]
    assert not any("taken for one run" in said for said in build(runs).warnings)
    for run in runs:
        next(run.glob("*_results.json")).unlink()
    report = build(runs)
    assert [run.label for run in report.runs] == ["out"]
    (said,) = (said for said in report.warnings if "taken for one run" in said)
    assert all(str(run) in said for run in runs)
    apart = build(runs, {runs[0]: "first"})
    assert [run.label for run in apart.runs] == ["first", "out"]
    assert not any("taken for one run" in said for said in apart.warnings)


def test_a_report_may_be_written_where_one_was_killed(tmp_path: Path) -> None:
    report, out = build([write_lmms_eval(tmp_path / "a", answers(20))]), tmp_path / "out"
    (out / ".new-killed").mkdir(parents=True)
    write_report(report, out)
    assert (out / "report.md").is_file()


def test_a_linked_folder_of_tables_gives_way_and_what_it_led_to_stays(tmp_path: Path) -> None:
    report, out = build([write_lmms_eval(tmp_path / "a", answers(20))]), tmp_path / "out"
    write_report(report, out)
    (out / "tables").rename(tmp_path / "kept")
    (out / "tables").symlink_to(tmp_path / "kept")
    write_report(report, out)
    assert not (out / "tables").is_symlink()
    assert (tmp_path / "kept" / "coverage.csv").read_bytes() == (out / "tables" / "coverage.csv").read_bytes()
