from __future__ import annotations

import argparse
import json
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vlmeval_ext.outcome import Outcome, Run

NOW = datetime.now().astimezone()


def outcome_of(entry: dict[str, Any] | None, folder: Path, *, infers_only: bool = False, **known: Any) -> Outcome:
    file = folder / "status.json"
    if entry is not None:
        entry = {"updated_at": (NOW + timedelta(seconds=5)).isoformat(), **entry}
        file.write_text(json.dumps({"datasets": {"M4Bench": entry}}))
    (outcome,) = Run({"GPT4o": file}, ("M4Bench",), infers_only, (), NOW, **known).outcomes()
    return outcome


def test_figures_are_a_success_and_the_primary_one_is_shown(tmp_path: Path) -> None:
    entry = {"status": "done", "metrics": {"acc": 0.39227, "parsed": 1.0}, "primary_metric": "acc"}
    assert outcome_of(entry, tmp_path) == Outcome("GPT4o", "M4Bench", failed=False, text="acc = 0.3923")


def test_an_error_is_a_failure_even_beside_figures_of_an_earlier_run(tmp_path: Path) -> None:
    entry = {"status": "done", "metrics": {"acc": 0.5}, "error_message": "no such file"}
    assert outcome_of(entry, tmp_path) == Outcome("GPT4o", "M4Bench", failed=True, text="no such file")


def test_an_empty_error_message_is_an_error(tmp_path: Path) -> None:
    assert outcome_of({"status": "done", "metrics": {"acc": 0.5}, "error_message": ""}, tmp_path).failed


@pytest.mark.parametrize("entry", [{"status": "done"}, {"status": "done", "metrics": {}}])
def test_no_figures_are_a_failure(entry: dict[str, Any], tmp_path: Path) -> None:
    assert outcome_of(entry, tmp_path).failed


@pytest.mark.parametrize("stage", ["pending", "infer", "eval"])
def test_a_data_set_that_stopped_on_the_way_is_a_failure(stage: str, tmp_path: Path) -> None:
    outcome = outcome_of({"status": stage, "metrics": {"acc": 0.5}}, tmp_path)
    assert outcome.failed
    assert stage in outcome.text


def test_what_an_earlier_run_recorded_does_not_count(tmp_path: Path) -> None:
    old = (NOW - timedelta(seconds=1)).isoformat()
    assert outcome_of({"status": "done", "metrics": {"acc": 0.5}, "updated_at": old}, tmp_path).failed


def test_nothing_recorded_is_a_failure(tmp_path: Path) -> None:
    assert outcome_of(None, tmp_path).failed
    (tmp_path / "status.json").write_text("{}")
    (outcome,) = Run({"GPT4o": tmp_path / "status.json"}, ("M4Bench",), False, (), NOW).outcomes()
    assert outcome.failed


def test_replies_without_figures_are_what_inference_alone_was_asked_for(tmp_path: Path) -> None:
    entry = {"status": "done", "skip_reason": "mode_infer"}
    assert not outcome_of(entry, tmp_path, infers_only=True).failed
    assert outcome_of(entry, tmp_path).failed


@pytest.mark.parametrize(
    ("reason", "failed"),
    [
        ("external_submission_required", False),
        ("test_split_without_ground_truth", False),
        ("invalid_dataset", True),
        ("evaluate_returned_none", True),
        ("No infer result found", True),
        ("Incomplete infer result", True),
        ("no_inference_tasks_generated", True),
        ("a reason of a later version", True),
    ],
)
def test_a_skipped_data_set_fails_unless_it_has_no_score_by_nature(reason: str, failed: bool, tmp_path: Path) -> None:
    # Figures of an earlier run stay in the file.
    assert outcome_of({"status": "done", "skip_reason": reason, "metrics": {"acc": 1.0}}, tmp_path).failed is failed


def test_every_model_and_data_set_is_reported_in_the_order_given(tmp_path: Path) -> None:
    files = {name: tmp_path / name / "status.json" for name in ("b", "a")}
    outcomes = Run(files, ("Y", "X"), False, (), NOW).outcomes()
    assert [(outcome.model, outcome.data) for outcome in outcomes] == [("b", "Y"), ("b", "X"), ("a", "Y"), ("a", "X")]


def framework() -> Any:
    def get_pred_file_path(folder: str, model: str, data: str, use_env_format: bool) -> str:
        return f"{folder}/{model}_{data}.tsv"

    return SimpleNamespace(build_eval_id=lambda: "T1", get_pred_file_path=get_pred_file_path, load=None)


def arguments(folder: Path, **given: Any) -> argparse.Namespace:
    usual = {"config": None, "data": ["M4Bench"], "model": ["GPT4o"], "api_mode": False, "mode": "all", "reuse": False}
    return argparse.Namespace(**{**usual, "work_dir": str(folder), **given})


def test_status_lies_with_the_model_and_in_api_mode_with_the_run(tmp_path: Path) -> None:
    local = Run.of(arguments(tmp_path), framework())
    assert local.status_files == {"GPT4o": tmp_path / "GPT4o/status.json"}
    remote = Run.of(arguments(tmp_path, api_mode=True, model=["org/it"]), framework())
    assert remote.status_files == {"org/it": tmp_path / "org--it/T1/status.json"}


def test_vlmevalkits_variable_for_the_work_folder_wins_as_it_does_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MMEVAL_ROOT", str(tmp_path / "root"))
    assert Run.of(arguments(tmp_path), framework()).status_files == {"GPT4o": tmp_path / "root/GPT4o/status.json"}


@pytest.mark.parametrize(("given", "noted"), [({}, True), ({"reuse": True}, False), ({"mode": "eval"}, False)])
def test_replies_that_are_used_again_without_being_asked_for_are_noted(
    given: dict[str, Any], noted: bool, tmp_path: Path
) -> None:
    stored = tmp_path / "GPT4o/GPT4o_M4Bench.tsv"
    stored.parent.mkdir()
    stored.touch()
    run = Run.of(arguments(tmp_path, data=["M4Bench", "M4Bench_Mini"], **given), framework())
    assert run.stored_predictions == ((stored,) if noted else ())


COUNTS = {"acc": 0.5, "questions": 8, "outcome/parsed": 4, "outcome/none": 1, "outcome/error": 2, "outcome/empty": 1}
FAILURES = {"failure/time-out": 2, "failure/empty": 1}


def test_failed_requests_fail_the_run_unless_they_are_wanted_as_they_are(tmp_path: Path) -> None:
    metrics = {**COUNTS, **FAILURES}
    outcome = outcome_of({"status": "done", "metrics": metrics}, tmp_path)
    assert outcome.failed
    assert outcome.text.startswith("3 of 8 requests failed")
    assert str(outcome).endswith("8 asked, 5 answered, 3 failed (time-out 2, empty 1), 1 unparsed (none 1)")
    assert not outcome_of({"status": "done", "metrics": COUNTS}, tmp_path).failed
    assert not outcome_of({"status": "done", "metrics": metrics}, tmp_path, keeps_failed=True).failed


@pytest.mark.parametrize(("allowed", "failed"), [(0.0, True), (0.37, True), (0.375, False), (1.0, False)])
def test_a_share_of_failures_can_be_allowed(allowed: float, failed: bool, tmp_path: Path) -> None:
    entry = {"status": "done", "metrics": {**COUNTS, **FAILURES}}
    assert outcome_of(entry, tmp_path, allowed=allowed).failed is failed
    assert outcome_of(entry, tmp_path, allowed=allowed, keeps_failed=True).failed is failed


@pytest.mark.parametrize("allowed", [0.0, 0.5])
def test_failures_count_where_replies_are_stored_and_not_scored(allowed: float, tmp_path: Path) -> None:
    file = tmp_path / "GPT4o_M4Bench.tsv"
    file.write_text("index\tprediction\na\tB\nb\tFailed to obtain answer via API. [rate limit] HTTP 429\nc\tC\nd\tD\n")
    entry = {"status": "done", "skip_reason": "mode_infer"}
    outcome = outcome_of(entry, tmp_path, infers_only=True, allowed=allowed, predictions={("GPT4o", "M4Bench"): file})
    assert outcome.failed is (allowed == 0)
    assert str(outcome.tally) == "4 asked, 3 answered, 1 failed (rate limit 1)"


def test_in_api_mode_failed_requests_are_asked_again_with_reuse_alone(tmp_path: Path) -> None:
    entry = {"status": "done", "metrics": {**COUNTS, **FAILURES}}
    assert outcome_of(entry, tmp_path).text.endswith("the same command asks these again")
    assert outcome_of(entry, tmp_path, reuses=False).text.endswith("the same command with --reuse asks these again")
