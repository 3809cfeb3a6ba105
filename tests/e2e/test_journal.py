"""Runs of lmms-eval with a journal, ended with SIGKILL and taken up again by the same command."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pupil_model
import pytest
from killed_runs import CHUNK, QUESTIONS, HashReader, Runs, answers, kill_and_resume, prepare, undisturbed
from lmms_runs import Finished
from pixel_server import PixelServer

from spotdiff.journal.lines import read_file

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("killed")
    prepare(place / "data")
    return place


@pytest.fixture(scope="module")
def whole(folder: Path) -> Iterator[Future[Finished]]:
    """The run that nobody ends, beside the others."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(undisturbed, folder)


def test_a_run_that_was_killed_three_times_asks_no_finished_chunk_again_and_ends_as_an_undisturbed_one(
    folder: Path, whole: Future[Finished]
) -> None:
    done, runs = kill_and_resume(folder, kills=3, seed=7)
    assert done.code == 0, done.output[-3000:]
    assert len(answers(done)) == QUESTIONS
    assert answers(done) == answers(whole.result())
    # Of each run that was ended, a chunk that was being asked and one that was being written at most.
    assert QUESTIONS <= len(runs.server.requests) <= QUESTIONS + 3 * 2 * CHUNK
    assert "asked for now" in done.output


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def process_of_rank(journal: Path, rank: int) -> int:
    headers = [json.loads(file.read_bytes().splitlines()[0])["run"] for file in journal.iterdir()]
    (process,) = {header["process"] for header in headers if header["rank"] == rank}
    return int(process)


def test_two_ranks_of_which_one_is_killed_are_completed_by_one_from_the_replies_of_both(
    folder: Path, whole: Future[Finished]
) -> None:
    pupil_model.install(folder / "plugin")
    paths = os.pathsep.join([str(folder / "plugin"), str(Path(__file__).parent)])
    journal = folder / "journal-of-ranks"
    ranks = ("torch.distributed.run", "--nproc_per_node=2", f"--master_port={free_port()}", "-m", "lmms_eval")
    reader = HashReader()
    with PixelServer(reader=reader) as server:
        arguments = f"model=pupil,journal={journal},chunk={CHUNK},url={server.url}"
        runs = Runs(
            server,
            reader,
            folder / "data",
            folder / "ranks",
            arguments,
            (sys.executable, "-m", *ranks),
            {"PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""},
        )

        def rank_one(_: subprocess.Popen[bytes]) -> int:
            return process_of_rank(journal, 1)

        runs.killed(75, rank_one)
        kept = [len(read_file(file).replies) for file in journal.iterdir()]
        assert len(kept) == 2
        assert min(kept) >= CHUNK
        done = runs.finished((sys.executable, "-m", "lmms_eval"))
        assert f"{sum(kept)} answers are kept" in done.output
        assert f"{QUESTIONS - sum(kept)} of them asked for now" in done.output
    assert answers(done) == answers(whole.result())
