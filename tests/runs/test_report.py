"""From logs to a report: what it says, of good runs and of bad ones, and the files it is written to."""

from __future__ import annotations

import csv
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from written_logs import answer, m3verse, write_lmms_eval, write_vlmevalkit

from spotdiff.cli import main
from spotdiff.errors import SpotdiffError
from spotdiff.runs.build import build
from spotdiff.runs.report import Comparison, Line, Report
from spotdiff.runs.write import write_report
from spotdiff.scoring import Scored, overall, paired_difference
from spotdiff.statistics import holm
from spotdiff.tasks import benchmarks

HALF = "state_invariance"


def answers(count: int, share: float, seed: int, make: Callable[..., Any] = answer, **changes: Any) -> list[Any]:
    drawn = random.Random(seed)
    return [make(number, right=drawn.random() < share, **changes) for number in range(count)]


def run_line(report: Report, run: str, metric: str = "acc", variant: str = "full", table: int = 0) -> Line:
    (line,) = (
        one
        for one in report.figures[table].lines
        if (one.kind, one.run, one.metric, one.variant) == ("run", run, metric, variant)
    )
    return line


def compared(report: Report, kind: str = "runs", part: str = "overall", metric: str = "acc") -> list[Comparison]:
    return [one for one in report.comparisons if (one.kind, one.part, one.metric) == (kind, part, metric)]


def rows_of(report: Report, run: str) -> list[Scored]:
    return [one.scored for one in report.answers if one.run == run]


# --- what it says -------------------------------------------------------------------------------------------------


def test_all_runs_are_rows_of_one_table_beside_the_papers_rows_and_chance(tmp_path: Path) -> None:
    for name, share in (("good", 0.9), ("bad", 0.2)):
        write_lmms_eval(tmp_path / name, answers(40, share, 1), model=name)
    report = build([tmp_path / "good", tmp_path / "bad"])
    (table,) = report.figures
    assert [(line.name, line.kind) for line in table.lines] == [
        *((row.model, "published") for row in benchmarks()["m4bench"].breakdowns[0].published()),
        ("Chance", "chance"),
        *((name, "run") for name in ("good", "good", "bad", "bad")),
    ]
    assert table.columns[0] == "SI"
    estimate = overall(rows_of(report, "good"))
    cell = run_line(report, "good").cells["SI"]
    assert (cell.value, cell.stderr, cell.questions, cell.clusters) == (
        estimate.mean,
        estimate.stderr,
        estimate.n,
        estimate.clusters,
    )
    assert (cell.low, cell.high) == estimate.interval()
    assert set(run_line(report, "good").cells) == {"SI"}
    chance = next(line for line in table.lines if line.name == "Chance")
    assert chance.cells["SI"].value == 0.5


def test_a_shipped_set_has_no_published_row(tmp_path: Path) -> None:
    write_lmms_eval(tmp_path, answers(8, 0.5, 1, task=f"m4bench_mini_{HALF}", total=8))
    (table,) = build([tmp_path]).figures
    assert {line.kind for line in table.lines} == {"chance", "run"}


def test_people_and_guesses_of_the_paper_stand_before_its_models(tmp_path: Path) -> None:
    write_lmms_eval(tmp_path, answers(30, 0.5, 1, m3verse))
    table = build([tmp_path]).figures[0]
    assert table.name == "m3verse_sim"
    assert [(line.name, line.kind) for line in table.lines][:2] == [("Human", "human"), ("GPT-5", "published")]
    assert table.lines[0].cells["overall"].value == pytest.approx(0.8975)
    assert table.lines[1].note == "published, 200 frames"


def test_two_runs_are_compared_question_by_question(tmp_path: Path) -> None:
    first, second = answers(60, 0.8, 1), answers(60, 0.4, 2)
    report = build(
        [write_lmms_eval(tmp_path / "a", first, model="a"), write_lmms_eval(tmp_path / "b", second, model="b")]
    )
    (one,) = compared(report)
    known = paired_difference(rows_of(report, "a"), rows_of(report, "b"))
    assert (one.first, one.second, one.settings) == ("a", "b", (HALF,))
    assert one.difference.estimate.mean == pytest.approx(known.mean)
    assert one.difference.estimate.stderr == pytest.approx(known.stderr)
    assert one.difference.degrees == known.clusters - 1
    pairs = list(zip((row["score"] for row in first), (row["score"] for row in second), strict=True))
    assert one.difference.wins == sum(x > y for x, y in pairs)
    assert one.difference.losses == sum(x < y for x, y in pairs)
    assert one.difference.ties == sum(x == y for x, y in pairs)
    assert one.adjusted == one.difference.p


def test_the_overall_difference_weighs_settings_as_the_benchmark_does(tmp_path: Path) -> None:
    both = []
    for seed, name in ((1, "a"), (2, "b")):
        records = answers(60, 0.6, seed) + answers(10, 0.3, seed + 5, setting="state_comparison")
        both.append(write_lmms_eval(tmp_path / name, records, model=name))
    report = build(both)
    parts = {one.part: one.difference.estimate.mean for one in report.comparisons if one.metric == "acc"}
    assert list(parts) == ["overall", HALF, "state_comparison"]
    assert parts["overall"] == pytest.approx(((parts[HALF] or 0) + (parts["state_comparison"] or 0)) / 2)


def test_many_comparisons_are_corrected_together(tmp_path: Path) -> None:
    folders = [
        write_lmms_eval(tmp_path / str(number), answers(50, 0.4 + number / 10, number), model=f"m{number}")
        for number in range(4)
    ]
    found = compared(build(folders))
    assert len(found) == 6
    assert [one.adjusted for one in found] == holm([one.difference.p for one in found])


def test_questions_of_one_run_alone_are_counted_and_named(tmp_path: Path) -> None:
    first = write_lmms_eval(tmp_path / "a", answers(10, 0.5, 1), model="a")
    second = write_lmms_eval(tmp_path / "b", answers(12, 0.5, 2)[2:], model="b")
    report = build([first, second])
    (one,) = compared(report)
    assert one.only_first == (f"{HALF}/0", f"{HALF}/1")
    assert one.only_second == (f"{HALF}/10", f"{HALF}/11")
    assert one.difference.estimate.n == 8
    (sheet,) = (sheet for sheet in report.sheets if sheet.name == "comparisons")
    assert any(f"a alone has 2 questions: {HALF}/0, {HALF}/1" in note for note in sheet.notes)
    (unpaired,) = (sheet for sheet in report.sheets if sheet.name == "unpaired")
    assert [row[-2:] for row in unpaired.rows] == [
        ("first", f"{HALF}/0"),
        ("first", f"{HALF}/1"),
        ("second", f"{HALF}/10"),
        ("second", f"{HALF}/11"),
    ]


def test_questions_with_other_right_letters_are_not_compared_but_named(tmp_path: Path) -> None:
    first = write_lmms_eval(tmp_path / "a", answers(10, 1, 1), model="a")
    moved = [answer(0, right=False, gold=["B"], letters=["A"]), *answers(10, 1, 2)[1:]]
    (one,) = compared(build([first, write_lmms_eval(tmp_path / "b", moved, model="b")]))
    assert (one.differing, one.difference.estimate.n) == ((f"{HALF}/0",), 9)


def test_runs_without_a_common_question_are_compared_over_none(tmp_path: Path) -> None:
    first = write_lmms_eval(tmp_path / "a", answers(3, 1, 1), model="a")
    second = write_lmms_eval(tmp_path / "b", answers(3, 1, 1, setting="state_comparison"), model="b")
    (one,) = compared(build([first, second]))
    assert (one.difference.estimate.n, one.difference.estimate.mean) == (0, None)
    assert (len(one.only_first), len(one.only_second)) == (3, 3)


def test_variants_of_a_model_are_set_against_the_full_input(tmp_path: Path) -> None:
    full, blind = answers(30, 0.9, 1, m3verse), answers(30, 0.3, 2, m3verse, variant="_blind")
    folders = [write_lmms_eval(tmp_path / "full", full), write_lmms_eval(tmp_path / "blind", blind)]
    report = build(folders)
    assert [run.label for run in report.runs] == ["qwen"]
    (one,) = compared(report, "variants")
    assert (one.first, one.first_variant, one.second, one.second_variant) == ("qwen", "blind", "qwen", "full")
    expected = sum(row["score"] for row in blind) - sum(row["score"] for row in full)
    assert one.difference.estimate.mean == pytest.approx(expected / 30)
    assert one.difference.estimate.clusters == 10
    assert run_line(report, "qwen", variant="blind").name == "qwen, blind"


def test_a_visual_prompt_is_set_against_the_same_rows_without_it(tmp_path: Path) -> None:
    records = answers(20, 0.4, 1, setting="spatial_perception")
    records += answers(20, 0.8, 2, setting="spatial_perception_vp")
    (one,) = compared(build([write_lmms_eval(tmp_path, records)]), "variants")
    assert (one.first_variant, one.second_variant) == ("spatial_perception_vp", "spatial_perception")
    assert one.difference.estimate.n == 20


def test_a_guess_weighs_each_letter_as_it_is_offered(tmp_path: Path) -> None:
    report = build([write_lmms_eval(tmp_path, answers(20, 0.5, 1))])
    (sheet,) = (sheet for sheet in report.sheets if sheet.name == "position_bias")
    ((*_, options, questions, parsed, distance, most, share),) = sheet.rows
    assert (options, questions, parsed) == (2, 20, 20)
    chosen = [row.letters[0] for row in rows_of(report, "qwen")]
    assert most == max("AB", key=chosen.count)
    assert share == chosen.count(str(most)) / 20
    assert distance == pytest.approx(chosen.count("B") / 20)


# --- both frameworks ----------------------------------------------------------------------------------------------


def test_the_same_answers_give_the_same_tables_from_logs_of_either_framework(tmp_path: Path) -> None:
    records = answers(20, 0.5, 1) + answers(20, 0.7, 2, setting="spatial_perception_vp")
    replies = {record["id"]: f"reply to {record['id']}" for record in records}
    first = build([write_lmms_eval(tmp_path / "a", records)])
    second = build([write_vlmevalkit(tmp_path / "b", list(reversed(records)), replies=replies)])
    assert first.figures == second.figures
    assert first.sheets == second.sheets
    assert [one.scored for one in first.answers] == [one.scored for one in second.answers]
    assert [one.reply for one in first.answers] == [one.reply for one in second.answers]
    assert [run.framework for run in (*first.runs, *second.runs)] == ["lmms-eval", "VLMEvalKit"]


# --- bad input ----------------------------------------------------------------------------------------------------


def test_a_run_cut_short_is_marked_and_its_coverage_shown(tmp_path: Path) -> None:
    report = build([write_lmms_eval(tmp_path, answers(100, 0.5, 1))])
    assert report.runs[0].incomplete
    assert report.warnings == ("qwen is incomplete: 100 of 219 questions of m4bench",)
    (sheet,) = (sheet for sheet in report.sheets if sheet.name == "coverage")
    assert sheet.rows[0][4:6] == (100, 219)
    assert sheet.rows[0][-1] == "incomplete"


def test_a_whole_run_is_not_marked(tmp_path: Path) -> None:
    report = build([write_lmms_eval(tmp_path, answers(219, 0.5, 1))])
    assert not report.runs[0].incomplete
    assert report.warnings == ()


def test_broken_lines_are_named_and_the_rest_is_used(tmp_path: Path) -> None:
    write_lmms_eval(tmp_path, answers(219, 0.5, 1))
    (log,) = tmp_path.glob("*samples*")
    lines = log.read_bytes().split(b"\n")
    lines[3], lines[7] = lines[3][:40], b"\xff\xfe"
    lines[9] = lines[8]
    log.write_bytes(b"\n".join(lines))
    report = build([tmp_path])
    (run,) = report.runs
    assert len(report.answers) == 216
    assert run.incomplete
    assert [fault.split(": ")[0] for fault in run.faults] == [
        f"{log}, line 4 is not JSON",
        f"{log}, line 8 cannot be read",
        f"{log}, line 10",
    ]
    assert f"qwen is incomplete: 3 lines of its logs cannot be used. {log}, line 4 is not JSON" in report.warnings[0]
    assert report.provenance["runs"][0]["faults"] == list(run.faults)


def test_a_run_without_a_usable_line_is_named_beside_the_others(tmp_path: Path) -> None:
    write_lmms_eval(tmp_path / "good", answers(219, 0.5, 1))
    write_lmms_eval(tmp_path / "bad", answers(2, 0.5, 1))
    (log,) = (tmp_path / "bad").glob("*samples*")
    log.write_text("{\n")
    report = build([tmp_path / "good", tmp_path / "bad"])
    assert len(report.runs) == 1
    assert f"no line can be used. {log}, line 1 is not JSON" in report.warnings[0]
    with pytest.raises(SpotdiffError, match="no line can be used"):
        build([tmp_path / "bad"])


def test_a_log_of_another_task_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "20260101_samples_mmmu_val.jsonl").write_text(json.dumps({"doc_id": 1, "acc": 1.0}))
    with pytest.raises(SpotdiffError, match=r"holds logs of other tasks only \(mmmu_val\), none of spotdiff"):
        build([tmp_path])
    with pytest.raises(SpotdiffError, match="no scored answers of a task of spotdiff"):
        build([tmp_path / "20260101_samples_mmmu_val.jsonl"])
    write_lmms_eval(tmp_path, answers(219, 0.5, 1))
    assert build([tmp_path]).warnings == (f"{tmp_path}: logs of other tasks are passed over: mmmu_val",)


def test_mixed_versions_of_a_task_are_refused_unless_forced_and_then_marked(tmp_path: Path) -> None:
    first = write_lmms_eval(tmp_path / "a", answers(219, 0.5, 1), model="a")
    second = write_lmms_eval(tmp_path / "b", answers(219, 0.5, 1, version=2), model="b")
    with pytest.raises(SpotdiffError, match=r"M4Bench was asked in several versions: 1 by a, 2 by b.*--force"):
        build([first, second])
    report = build([first, second], force=True)
    assert [len(run.mixed) for run in report.runs] == [1, 1]
    assert "several versions: 1 by a, 2 by b; taken together with --force" in report.warnings[0]


def test_a_version_that_only_the_results_tell_counts_too(tmp_path: Path) -> None:
    first = write_lmms_eval(tmp_path / "a", answers(219, 0.5, 1), model="a")
    old = [{name: value for name, value in record.items() if name != "version"} for record in answers(219, 0.5, 1)]
    second = write_lmms_eval(tmp_path / "b", old, model="b", versions={f"m4bench_{HALF}": 3})
    with pytest.raises(SpotdiffError, match="1 by a, 3 by b"):
        build([first, second])


def test_runs_of_one_name_are_numbered_or_named(tmp_path: Path) -> None:
    first = write_lmms_eval(tmp_path / "a", answers(219, 0.5, 1))
    second = write_lmms_eval(tmp_path / "b", answers(219, 0.6, 2))
    report = build([first, second])
    assert [run.label for run in report.runs] == ["qwen", "qwen (2)"]
    assert report.warnings == (
        "2 runs are called qwen: they are numbered in the order given. --name RUN=NAME names them",
    )
    named = build([first, second], {second: "other"})
    assert [run.label for run in named.runs] == ["qwen", "other"]
    assert named.warnings == ()


def test_a_name_for_no_run_is_an_error(tmp_path: Path) -> None:
    first = write_lmms_eval(tmp_path / "a", answers(3, 0.5, 1))
    with pytest.raises(SpotdiffError, match="--name names nowhere, which is none of the runs"):
        build([first], {Path("nowhere"): "x"})


def test_a_log_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    first = write_lmms_eval(tmp_path / "a", answers(219, 0.5, 1))
    report = build([tmp_path, first])
    assert len(report.answers) == 219
    assert "is named more than once, and counted once" in report.warnings[0]


def test_other_data_of_the_same_task_are_told(tmp_path: Path) -> None:
    folders = []
    for name in ("a", "b"):
        configs = {f"m4bench_{HALF}": {"metadata": {"version": 1, "data": f"digest-{name}"}}}
        folders.append(write_lmms_eval(tmp_path / name, answers(219, 0.5, 1), model=name, configs=configs))
    assert build(folders).warnings == (f"m4bench_{HALF} was asked on different data: digest-a, digest-b",)


def test_answers_without_a_stored_reply_are_told(tmp_path: Path) -> None:
    records = answers(219, 0.5, 1)
    replies = {record["id"]: "A" for record in records[2:]}
    report = build([write_vlmevalkit(tmp_path, records, replies=replies)])
    (log,) = tmp_path.glob("*_scored.jsonl")
    assert report.warnings == (f"{log}: 2 of 219 answers have no stored reply to show",)
    (tmp_path / "qwen_M4Bench.tsv").unlink()
    (warning,) = build([tmp_path]).warnings
    assert "no predictions beside it" in warning


# --- files --------------------------------------------------------------------------------------------------------


def test_a_report_is_written_whole(tmp_path: Path) -> None:
    records = answers(219, 0.5, 1)
    first = write_lmms_eval(tmp_path / "a", records, model="a")
    second = write_lmms_eval(tmp_path / "b", answers(219, 0.7, 2), model="b")
    out = tmp_path / "out"
    assert main(["report", str(first), str(second), "--out", str(out), "--name", f"{second}=x|y=z"]) == 2
    assert not out.exists()
    assert main(["report", str(first), str(second), "--out", str(out), "--name", f"{second}=x|y"]) == 0
    parts = ["answers.parquet", "provenance.json", "report.html", "report.md", "tables"]
    assert sorted(path.name for path in out.iterdir()) == parts
    text = (out / "report.md").read_text()
    assert "| x\\|y, acc " in text
    table = pyarrow.parquet.read_table(out / "answers.parquet")
    rows = table.to_pylist()
    assert len(rows) == 438
    found = next(row for row in rows if row["id"] == f"{HALF}/7")
    assert found["reply"] == f"reply to {HALF}/7"
    assert (found["run"], found["variant"], found["setting"], found["group.category"]) == ("a", "full", HALF, ["none"])
    assert found["extra.acc_release"] == records[7]["extra"]["acc_release"]
    assert found["log"].endswith(f"_samples_m4bench_{HALF}.jsonl, line 8")
    assert all(table.schema.field(name).metadata[b"description"] for name in table.column_names)
    with (out / "tables" / "m4bench_settings.csv").open(newline="") as stream:
        cells = list(csv.DictReader(stream))
    (cell,) = (one for one in cells if (one["run"], one["metric"], one["column"]) == ("a", "acc", "SI"))
    assert float(cell["value"]) == pytest.approx(sum(record["score"] for record in records) / 219)
    told = json.loads((out / "provenance.json").read_text())
    assert told["runs"][0]["runs"][0]["command"] == (
        "lmms-eval --model qwen3_vl --model_args pretrained=org/a,api_key=..."
    )
    assert "hidden-1234" not in "".join(path.read_text() for path in out.rglob("*") if path.suffix in (".md", ".json"))


def test_a_new_report_takes_the_place_of_an_old_one_and_of_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_report(build([write_lmms_eval(tmp_path / "a", answers(20, 0.5, 1))]), out)
    (out / "notes.txt").write_text("mine")
    write_report(build([write_lmms_eval(tmp_path / "b", answers(20, 0.5, 1, m3verse))]), out)
    assert (out / "notes.txt").read_text() == "mine"
    assert not (out / "tables" / "m4bench_settings.csv").exists()
    assert (out / "tables" / "m3verse_sim.csv").exists()
    with pytest.raises(SpotdiffError, match="holds no report"):
        write_report(build([tmp_path / "a"]), tmp_path / "a")
    assert not list(tmp_path.rglob(".new-*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="a superuser may write anywhere")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    report = build([write_lmms_eval(tmp_path / "a", answers(20, 0.5, 1))])
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(SpotdiffError, match="cannot be written"):
        write_report(report, tmp_path / "closed" / "out")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--name", "a=b"], "add --out DIR"),
        (["--force"], "add --out DIR"),
        (["--out", "x", "--mean"], "--mean prints tables"),
        (["--out", "x", "--name", "nothing"], "--name takes RUN=NAME"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_lmms_eval(tmp_path / "a", answers(3, 0.5, 1))
    assert main(["report", str(tmp_path / "a"), *words]) == 2
    assert message in capsys.readouterr().err
