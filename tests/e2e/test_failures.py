"""A server that fails one question in ten, asked by both frameworks: every failure is counted, none is an answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from failing_server import KINDS, TIMEOUT, FailingServer, planned
from many_questions import KIT_DATA, LMMS_TASK, letter_for, number_in, write_questions
from pixel_server import Fault, PixelServer
from vlmeval_kills import kills

from spotdiff.runs.read import read_runs
from spotdiff.scoring import Scored

pytestmark = pytest.mark.e2e

QUESTIONS = 200

LIMIT = 600
"""Seconds after which a run counts as hanging."""


@dataclass(frozen=True)
class Ended:
    """A run: exit code, all it printed, its scored answers by number of the question, and the server it asked."""

    code: int
    output: str
    scored: Mapping[int, Scored]
    server: FailingServer

    def failures(self) -> dict[str, int]:
        return dict(Counter(row.failure for row in self.scored.values() if row.failed))


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return write_questions(tmp_path_factory.mktemp("many"), QUESTIONS)


def run(*words: str, folder: Path, settings: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """`python -m WORDS` in a folder."""
    return subprocess.run(
        [sys.executable, "-m", *words],
        env={**os.environ, "HF_HUB_OFFLINE": "1", **settings},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )


def scored(folder: Path) -> dict[int, Scored]:
    (one,) = read_runs(folder)
    return {number_in(row.id): row for rows in one.scored.values() for row in rows}


@pytest.fixture(scope="module")
def asked_by_lmms_eval(tmp_path_factory: pytest.TempPathFactory, settings: Mapping[str, str]) -> Ended:
    folder = tmp_path_factory.mktemp("lmms")
    with FailingServer() as server:
        model = (
            f"model_version=m,base_url={server.url},api_key=none,timeout={TIMEOUT},max_retries=2,retry_backoff_s=0.1"
        )
        words = ["--model", "async_openai", "--model_args", f"{model},num_cpus=8", "--tasks", LMMS_TASK]
        words += ["--output_path", str(folder), "--log_samples"]
        done = run("lmms_eval_tasks", *words, folder=folder, settings=settings)
    assert list(folder.rglob("*_samples_*.jsonl")), done.stdout[-5000:]
    return Ended(done.returncode, done.stdout, scored(folder), server)


def kit_config(server: PixelServer, folder: Path) -> list[str]:
    model = {"class": "GPT4V", "model": "m", "api_base": f"{server.url}/chat/completions", "key": "none"}
    model |= {"retry": 3, "wait": 0.05, "timeout": TIMEOUT / 1.1}  # type: ignore[dict-item]
    config = folder / "config.json"
    config.write_text(json.dumps({"model": {"reader": model}, "data": {KIT_DATA: {}}}))
    return ["vlmeval_ext", "run", "--config", str(config), "--api-nproc", "16", "--work-dir", str(folder / "outputs")]


@pytest.fixture(scope="module")
def asked_by_vlmevalkit(
    tmp_path_factory: pytest.TempPathFactory, settings: Mapping[str, str]
) -> Iterator[tuple[Ended, Path]]:
    """Its folder as well, while the server is still there."""
    folder = tmp_path_factory.mktemp("kit")
    with FailingServer() as server:
        done = run(*kit_config(server, folder), folder=folder, settings=settings)
        assert list(folder.rglob("*_scored.jsonl")), done.stdout[-5000:]
        yield Ended(done.returncode, done.stdout, scored(folder), server), folder


@pytest.fixture(params=["lmms_eval", "vlmevalkit"])
def ended(request: pytest.FixtureRequest) -> Ended:
    if request.param == "lmms_eval":
        found: Ended = request.getfixturevalue("asked_by_lmms_eval")
    else:
        found, _ = request.getfixturevalue("asked_by_vlmevalkit")
    return found


def test_the_server_fails_one_question_in_ten_in_every_way() -> None:
    faults = [planned(number) for number in range(QUESTIONS)]
    assert {fault for fault in faults if fault[0]} == {(kind, always) for kind in KINDS for always in (True, False)}
    assert sum(kind is not None for kind, _ in faults) == QUESTIONS // 10


def test_every_failure_is_counted_in_its_class(ended: Ended) -> None:
    assert set(ended.server.calls) == {*KINDS, "html", "fine"}
    assert ended.server.calls["html"] == 1
    assert ended.failures() == ended.server.failed()
    assert len(ended.scored) == QUESTIONS


def test_nothing_but_an_answer_scores(ended: Ended) -> None:
    prompts = {number_in(request.text): request.text for request in ended.server.requests}
    for number, row in ended.scored.items():
        if ended.server.last[number] in KINDS:
            assert (row.score, row.letters) == (0, ()), row
        else:
            assert row.letters == (letter_for(prompts[number]),)


def test_a_failure_that_passes_is_asked_again_and_answered(ended: Ended) -> None:
    again = {
        number
        for number in range(QUESTIONS)
        if planned(number) in {(kind, False) for kind in ("500", "429", "slow", "cut")}
    }
    assert again
    assert all(ended.scored[number].outcome == "parsed" for number in again)
    assert all(ended.server.attempts[number] > 1 for number in again)


def test_the_run_ends_with_exit_code_1_and_the_counts_as_its_last_lines(ended: Ended) -> None:
    assert ended.code == 1
    failed = sum(ended.server.failed().values())
    last = ended.output.rstrip().splitlines()[-2:]
    assert f"{QUESTIONS} asked, {QUESTIONS - failed} answered, {failed} failed (" in last[1]
    assert all(f"{kind} {count}" in last[1] for kind, count in ended.server.failed().items())
    assert last[1].endswith("0 unparsed")
    assert "FAILED" in " ".join(last)


def test_lmms_eval_shows_the_accuracy_without_failures_beside_that_over_all(asked_by_lmms_eval: Ended) -> None:
    rows = asked_by_lmms_eval.scored.values()
    right = sum(row.score for row in rows)
    answered = sum(not row.failed for row in rows)
    shown = [line.split("|") for line in asked_by_lmms_eval.output.splitlines()]
    values = {cells[4].strip(): cells[6].strip() for cells in shown if len(cells) > 8}
    assert values["acc"] == f"{right / QUESTIONS:.4f}"
    assert values["acc_answered"] == f"{right / answered:.4f}"
    assert values["failed"] == f"{1 - answered / QUESTIONS:.4f}"


def test_the_same_command_asks_failed_questions_again_and_no_other(
    asked_by_vlmevalkit: tuple[Ended, Path], settings: Mapping[str, str]
) -> None:
    first, folder = asked_by_vlmevalkit
    failed = {number for number, row in first.scored.items() if row.failed}
    before = Counter(first.server.attempts)
    first.server.failing = False
    done = run(*kit_config(first.server, folder), folder=folder, settings=settings)
    assert done.returncode == 0, done.stdout[-3000:]
    assert set(first.server.attempts - before) == failed
    rows = scored(folder)
    assert all(row.outcome == "parsed" for row in rows.values())
    assert {n: rows[n].letters for n in rows if n not in failed} == {
        n: row.letters for n, row in first.scored.items() if n not in failed
    }
    assert f"{QUESTIONS} asked, {QUESTIONS} answered, 0 failed, 0 unparsed" in done.stdout


def _slow(number: int) -> Fault:
    return Fault(seconds=0.5)


@pytest.mark.parametrize("module", ["lmms_eval_tasks", "vlmeval_ext"])
def test_an_interrupt_ends_the_run_at_once_with_exit_code_130(
    module: str, tmp_path: Path, settings: Mapping[str, str]
) -> None:
    with PixelServer(fault=_slow) as server:
        if module == "lmms_eval_tasks":
            model = f"model_version=m,base_url={server.url},api_key=none,max_retries=1"
            words = [module, "--model", "openai", "--model_args", model, "--tasks", LMMS_TASK]
        else:
            words = kit_config(server, tmp_path)
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            env={**os.environ, "HF_HUB_OFFLINE": "1", **settings},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        begun = time.monotonic()
        while not server.requests and time.monotonic() < begun + LIMIT:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=LIMIT)
        answered = len(server.requests)
    assert process.returncode == 130, output[-3000:]
    assert 0 < answered < QUESTIONS / 2
    assert "interrupted" in output


def test_a_run_that_is_killed_three_times_asks_nothing_twice_that_was_stored(tmp_path: Path) -> None:
    report = kills(tmp_path, times=3, seed=1, questions=QUESTIONS)
    assert report.lost == ()
    assert 0 < report.kept[-1] < QUESTIONS
    assert list(report.kept) == sorted(report.kept)
    assert report.letters == report.undisturbed
    assert len(report.letters) == QUESTIONS
    # Only what was under way at a kill may be asked again: four requests at once, and those that were not stored yet.
    assert report.asked <= QUESTIONS + 3 * 16
