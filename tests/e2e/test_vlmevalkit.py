"""VLMEvalKit as a user runs it: through our command, in a process of its own."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pixel_server import FAULTS, Fault, PixelServer, always, with_images_reversed

from spotdiff.baselines import answer_with
from spotdiff.evaluation import Evaluation
from spotdiff.runs.records import from_record
from spotdiff.tasks import task

ROOT = Path(__file__).parent.parent.parent

pytestmark = pytest.mark.e2e


def vlmeval(*words: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """`vlmeval WORDS` in a folder. settings: environment variables beside the caller's own."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    environment |= {"SPOTDIFF_MEDIA_CACHE": str(folder / "media"), **settings}
    command = [sys.executable, "-m", "vlmeval_ext", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)


def scored(folder: Path, model: str, data: str) -> list[dict[str, Any]]:
    file = folder / "outputs" / model / f"{model}_{data}_scored.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_run_is_scored_as_the_core_scores_the_same_answers(tmp_path: Path) -> None:
    model = "spotdiff_baseline_shortcut"
    done = vlmeval("run", "--data", "M4Bench_Mini", "--model", model, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    evaluation = Evaluation.of(task("M4Bench_Mini"), model)
    reply = answer_with("shortcut", "m4bench")
    questions = [evaluation.question(row) for row in evaluation.rows()]
    expected = [evaluation.answer(question, reply(question)).scored for question in questions]
    assert [from_record(record) for record in scored(tmp_path, model, "M4Bench_Mini")] == expected
    assert "**M4Bench, " in done.stdout
    assert f"done  {model} on M4Bench_Mini: acc = " in done.stdout


def test_a_data_set_that_fails_is_named_with_its_cause_and_the_others_are_scored(tmp_path: Path) -> None:
    # Policy c does not fit a question with two options.
    model, fits, fails = "spotdiff_baseline_c", "M4Bench_Mini_Spatial_Perception", "M4Bench_Mini_State_Invariance"
    done = vlmeval("run", "--data", fails, fits, "--model", model, "--limit", "5", folder=tmp_path)
    assert done.returncode == 1
    assert "1 of 2 failed" in done.stderr
    assert f"FAILED  {model} on {fails}: policy c does not fit question" in done.stderr
    assert f"done  {model} on {fits}: acc = " in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert [record["letters"] for record in scored(tmp_path, model, fits)] == [["C"]] * 5


def test_a_model_behind_a_server_gets_images_and_boxes_that_can_be_answered_by_looking(tmp_path: Path) -> None:
    model = "qwen3-vl-served"
    with PixelServer(box_family="qwen3_vl") as server:
        words = ["run", "--data", "M4Bench_Mini", "--model", model, "--base-url", server.url]
        done = vlmeval(*words, folder=tmp_path, SPOTDIFF_BOX_FAMILY="qwen3_vl")
        requests = server.requests
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    records = scored(tmp_path, model, "M4Bench_Mini")
    assert len(records) == len(requests) > 0
    assert {record["score"] for record in records} == {1}
    for request in requests:
        # Names in the data tell the answer.
        assert not any(word in request.body for word in (b".png", b".jpg", b"m4bench", b"M4Bench", b"/tmp", b"_pair_"))


class _Swapping(PixelServer):
    """Sees the images of each request in reverse order."""

    def handle(self, body: bytes) -> Fault:
        return super().handle(with_images_reversed(body))


def test_images_in_the_wrong_order_are_noticed(tmp_path: Path) -> None:
    data = ["M4Bench_Mini_Spatial_Perception", "M4Bench_Mini_Instance_Comparison_VP"]
    with _Swapping(box_family="pixels") as server:
        words = ["run", "--data", *data, "--model", "served", "--base-url", server.url]
        done = vlmeval(*words, folder=tmp_path, SPOTDIFF_BOX_FAMILY="pixels")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    records = [record for name in data for record in scored(tmp_path, "served", name)]
    assert sum(record["score"] for record in records) <= 0.2 * len(records)


def test_a_server_that_answers_with_an_error_page_fails_the_run(tmp_path: Path) -> None:
    data = "M4Bench_Mini_State_Comparison"
    with PixelServer(box_family="pixels", fault=always(FAULTS["html"])) as server:
        words = ["run", "--data", data, "--model", "served", "--base-url", server.url, "--retry", "1", "--limit", "3"]
        done = vlmeval(*words, folder=tmp_path)
    assert done.returncode == 1
    assert f"FAILED  served on {data}: 3 of 3 requests failed" in done.stderr
    assert {record["outcome"] for record in scored(tmp_path, "served", data)} == {"error"}


def test_published_replies_score_as_published_where_no_judge_took_part(
    replay_data: Path, replay_data_folder: Path, tmp_path: Path
) -> None:
    file = replay_data / "replay.jsonl.gz"
    words = ["replay", "--data", "M4Bench", "--path", str(file), "--model", "GPT-4o"]
    done = vlmeval(*words, folder=tmp_path, SPOTDIFF_DATA=str(replay_data_folder))
    assert done.returncode == 0, done.stderr
    records = scored(tmp_path, "GPT-4o_replay", "M4Bench")
    assert len(records) == 1811
    published = json.loads((replay_data / "published_scores.json").read_text())["GPT-4o"]
    for setting, name in (("state_invariance", "State_Invariance"), ("state_comparison", "State_Comparison")):
        scores = [record["score"] for record in records if record["groups"]["setting"] == setting]
        assert sum(scores) / len(scores) == pytest.approx(published[name]["score"])


def test_a_replay_names_every_missing_reply_and_writes_nothing(
    replay_data: Path, replay_data_folder: Path, tmp_path: Path
) -> None:
    with gzip.open(replay_data / "replay.jsonl.gz", "rt", encoding="utf-8") as stream:
        lines = [line for line in stream if '"model": "GPT-4o"' in line]
    rows = [json.loads(line) for line in lines]
    gone = [row["id"] for row in rows if row["task"] == "State_Invariance"][3:6]
    kept = [line for row, line in zip(rows, lines, strict=True) if row["id"] not in gone]
    (tmp_path / "replies.jsonl").write_text("".join(kept), encoding="utf-8")
    words = ["replay", "--data", "M4Bench_State_Invariance", "--path", "replies.jsonl", "--name", "gpt-4o"]
    done = vlmeval(*words, folder=tmp_path, SPOTDIFF_DATA=str(replay_data_folder))
    assert done.returncode == 1
    assert all(f"state_invariance/{name}" in done.stderr for name in gone)
    assert not (tmp_path / "outputs").exists()
