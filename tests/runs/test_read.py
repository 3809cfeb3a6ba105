"""Logs of both frameworks, read into runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from spotdiff.errors import SpotdiffError
from spotdiff.runs.read import read_runs
from spotdiff.scoring import Scored, overall

Record = dict[str, Any]


def record(setting: str = "state_invariance", number: int = 1, right: bool = True, **changes: Any) -> Record:
    return {
        "id": f"{setting}/{number}",
        "task": f"m4bench_{setting}",
        "total": 219,
        "score": float(right),
        "chance": 0.5,
        "letters": ["A"],
        "gold": ["A"] if right else ["B"],
        "outcome": "parsed",
        "rule": "bare",
        "conflict": False,
        "options": 2,
        "cluster": f"c{number}",
        "groups": {"setting": setting, "category": "none"},
        "extra": {"acc_release": 1.0},
        **changes,
    }


def sample(entry: Record, number: int = 0, reply: str = "A") -> Record:
    return {
        "doc_id": number,
        "target": "A",
        "resps": [[reply]],
        "filtered_resps": [reply],
        "acc": entry,
        "parsed": {"score": 1.0},
    }


def write(file: Path, rows: list[Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    # As lmms-eval writes: without escapes.
    file.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
    return file


def names(path: Path) -> list[str]:
    return [str(Path(run.name).relative_to(path)) for run in read_runs(path)]


def ids(rows: list[Scored]) -> list[str]:
    return [row.id for row in rows]


def test_sample_logs_of_lmms_eval_are_one_run_for_each_time_stamp(tmp_path: Path) -> None:
    folder = tmp_path / "model__name"
    for stamp in ("20260101_000000", "20260102_000000"):
        write(folder / f"{stamp}_samples_m4bench_state_invariance.jsonl", [sample(record())])
        write(folder / f"{stamp}_samples_m4bench_state_comparison.jsonl", [sample(record("state_comparison"))])
        (folder / f"{stamp}_results.json").write_text("{}")
    runs = read_runs(tmp_path)
    assert names(tmp_path) == ["model__name/20260101_000000", "model__name/20260102_000000"]
    for run in runs:
        assert sorted(ids(run.scored["m4bench"])) == ["state_comparison/1", "state_invariance/1"]
        assert run.expected == {"m4bench": {"state_invariance": 219, "state_comparison": 219}}


def test_scored_answers_of_vlmevalkit_are_one_run_for_each_data_set(tmp_path: Path) -> None:
    for model in ("a", "b"):
        write(
            tmp_path / model / "T20260101" / "x_scored.jsonl",
            [record(task="M4Bench"), record(number=2, task="M4Bench")],
        )
    assert names(tmp_path) == ["a/T20260101/x", "b/T20260101/x"]
    assert [ids(run.scored["m4bench"]) for run in read_runs(tmp_path)] == [
        ["state_invariance/1", "state_invariance/2"]
    ] * 2


def test_files_that_vlmevalkit_links_from_the_folder_above_count_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a" / "T20260101" / "x_scored.jsonl", [record(task="M4Bench")])
    (tmp_path / "a" / "x_scored.jsonl").symlink_to(file)
    assert names(tmp_path) == ["a/T20260101/x"]


def test_a_link_that_lost_the_file_it_led_to_costs_nothing_where_the_file_is_there(tmp_path: Path) -> None:
    write(tmp_path / "a" / "T20260101" / "x_scored.jsonl", [record(task="M4Bench")])
    (tmp_path / "a" / "x_scored.jsonl").symlink_to(tmp_path / "before it was moved" / "x_scored.jsonl")
    assert names(tmp_path) == ["a/T20260101/x"]


def test_logs_that_are_links_to_another_place_are_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "store" / "1f2e", [record(task="M4Bench")])
    runs = tmp_path / "runs"
    runs.mkdir()
    for name in ("x_scored.jsonl", "y_scored.jsonl"):
        (runs / name).symlink_to(file)
    assert names(runs) == ["x"]


def test_linked_folders_are_entered_once_and_links_in_a_circle_end(tmp_path: Path) -> None:
    write(tmp_path / "store" / "x_scored.jsonl", [record(task="M4Bench")])
    write(tmp_path / "runs" / "own" / "y_scored.jsonl", [record(task="M4Bench")])
    for name, target in (("a", "store"), ("again", "store"), ("own again", "runs/own"), ("circle", ".")):
        (tmp_path / "runs" / name).symlink_to(tmp_path / target)
    (tmp_path / "store" / "back").symlink_to(tmp_path / "runs")
    assert [Path(name).name for name in names(tmp_path / "runs")] == ["x", "y"]


def test_a_log_that_is_a_link_to_nothing_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "x_scored.jsonl", [record(task="M4Bench")])
    (tmp_path / "y_scored.jsonl").symlink_to(tmp_path / "not fetched")
    with pytest.raises(SpotdiffError, match=r"y_scored\.jsonl cannot be read"):
        read_runs(tmp_path)


def test_a_single_file_is_a_run(tmp_path: Path) -> None:
    file = write(tmp_path / "any name.jsonl", [record()])
    assert len(read_runs(file)) == 1


def test_what_was_scored_comes_back(tmp_path: Path) -> None:
    write(
        tmp_path / "x_scored.jsonl", [record(right=True), record(number=2, right=False), record(number=3, right=False)]
    )
    (run,) = read_runs(tmp_path)
    assert overall(run.scored["m4bench"]).mean == pytest.approx(1 / 3)
    assert overall(run.scored["m4bench"], "acc_release").mean == 1.0


def test_ways_of_asking_that_share_no_table_are_kept_apart(tmp_path: Path) -> None:
    names = ["m4bench_state_invariance", "m4bench_state_invariance_concat", "m4bench_mini_state_invariance"]
    for name in names:
        write(tmp_path / f"20260101_samples_{name}.jsonl", [sample(record(task=name))])
    (run,) = read_runs(tmp_path)
    assert set(run.scored) == {"m4bench", "m4bench_concat", "m4bench_mini"}
    assert {len(rows) for rows in run.scored.values()} == {1}
    titles = sorted(table.title for table in run.tables())
    assert titles == [f"M4Bench ({family}), {run.name}" for family in sorted(run.scored)]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_a_reply_with_a_separator_of_lines_does_not_break_its_log(tmp_path: Path, separator: str) -> None:
    write(
        tmp_path / "20260101_samples_m4bench_state_invariance.jsonl", [sample(record(), reply=f"A{separator}because")]
    )
    assert len(read_runs(tmp_path)[0].scored["m4bench"]) == 1


def test_ids_may_hold_anything(tmp_path: Path) -> None:
    odd = ["a/b/c", "ü🙂", "\u2028", " ", "../..", '"', "\\"]
    write(tmp_path / "x_scored.jsonl", [record(id=name) for name in odd])
    assert ids(read_runs(tmp_path)[0].scored["m4bench"]) == odd


def test_logs_of_other_tasks_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "20260101_samples_mmmu.jsonl", [{"doc_id": 1, "acc": 1.0}, {"doc_id": 2, "mmmu_acc": {"id": 1}}])
    write(tmp_path / "20260101_samples_m4bench_state_invariance.jsonl", [sample(record())])
    write(tmp_path / "other" / "z_scored.jsonl", [{"index": 1, "hit": 1}, 5, [1], None, "text"])
    assert len(read_runs(tmp_path)) == 1


def test_blank_lines_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "x_scored.jsonl").write_text("\n" + json.dumps(record()) + "\r\n\n")
    assert len(read_runs(tmp_path)[0].scored["m4bench"]) == 1


def test_a_file_that_both_frameworks_could_have_named_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "20260101_samples_x_scored.jsonl", [record()])
    assert len(read_runs(tmp_path)[0].scored["m4bench"]) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "x", "outc', "line 2 is not JSON"),
        (json.dumps({"outcome": "parsed"}), "line 2 is no scored answer of this version of spotdiff"),
        (json.dumps(record(number=2, outcome="fine")), "line 2 is no scored answer"),
        (json.dumps(record(number=2, groups=[])), "line 2 is no scored answer"),
        (json.dumps(record(number=2, groups={})), "line 2 is no scored answer"),
        (json.dumps(record(number=2, letters=None)), "line 2 is no scored answer"),
        (json.dumps(record(number=2, total="many")), "line 2 is no scored answer"),
        (json.dumps(record(number=2, task="m4bench_old")), "line 2 is no scored answer"),
        (json.dumps(record(number=2, task=5)), "line 2 is no scored answer"),
        (json.dumps(record(number=2, task="m4bench_state_comparison")), "line 2 is no scored answer"),
        (json.dumps(record()), "line 2: question state_invariance/1 was answered before in the same run"),
    ],
)
def test_a_broken_log_is_an_error_with_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "x_scored.jsonl").write_text(json.dumps(record()) + "\n" + line)
    with pytest.raises(SpotdiffError) as caught:
        read_runs(tmp_path)
    assert f"{tmp_path / 'x_scored.jsonl'}, {message}" in str(caught.value)


def test_a_log_of_another_encoding_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x_scored.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(SpotdiffError, match="cannot be read"):
        read_runs(tmp_path)


def test_a_folder_without_logs_is_an_error_that_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(SpotdiffError, match="--log_samples"):
        read_runs(tmp_path)
    (tmp_path / "x_scored.jsonl").write_text("")
    with pytest.raises(SpotdiffError, match="--log_samples"):
        read_runs(tmp_path)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpotdiffError, match="There is no folder"):
        read_runs(tmp_path / "nowhere")
