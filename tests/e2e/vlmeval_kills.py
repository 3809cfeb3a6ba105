"""Kills `vlmeval run` at random moments, and gives the same command again until it ends."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from many_questions import KIT_DATA, LetterReader, number_in, write_questions
from pixel_server import Fault, PixelServer

from spotdiff.runs.read import read_runs

LIMIT = 600
"""Seconds after which a run counts as hanging."""

SECONDS = 0.05
"""How long the server takes for an answer."""


@dataclass(frozen=True)
class Report:
    """What became of a run that was killed again and again.

    kept: how many replies the checkpoint held at each kill. lost: numbers of questions whose reply a checkpoint held,
    and that were asked again all the same. letters: by number of the question, as scored in the end. undisturbed: the
    same of a run that nobody killed. asked: calls that the server got in all.
    """

    kept: tuple[int, ...]
    lost: tuple[int, ...]
    letters: Mapping[int, tuple[str, ...]]
    undisturbed: Mapping[int, tuple[str, ...]]
    asked: int


def kills(folder: Path, times: int, seed: int = 0, questions: int = 200) -> Report:
    """Kill a run this many times, with SIGKILL, at moments that the seed decides, and let the last one end.

    folder: an empty one. Raises AssertionError when a run ends otherwise than it should.
    """
    drawn = random.Random(seed)
    settings = write_questions(folder, questions)
    kept: list[int] = []
    lost: set[int] = set()
    with PixelServer(reader=LetterReader(), fault=lambda number: Fault(seconds=SECONDS)) as server:
        outputs = folder / "killed"
        for number in range(times):
            left = questions - len(_replies(outputs))
            # The last run finds something to do, and a kill may come before the first reply.
            until = len(server.requests) + drawn.randrange(max(1, 2 * left // (times - number + 1)))
            known, before = _replies(outputs), len(server.requests)
            process = _started(server.url, outputs, folder, settings)
            _wait(process, server, until, drawn.random() * 4 * SECONDS)
            assert process.poll() is None, "the run ended before it was killed, see log.txt"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            lost |= known & {number_in(request.text) for request in server.requests[before:]}
            kept.append(len(_replies(outputs)))
        known, before = _replies(outputs), len(server.requests)
        _ended(_started(server.url, outputs, folder, settings))
        lost |= known & {number_in(request.text) for request in server.requests[before:]}
        asked = len(server.requests)
        _ended(_started(server.url, folder / "undisturbed", folder, settings))
    letters, undisturbed = _letters(outputs), _letters(folder / "undisturbed")
    return Report(tuple(kept), tuple(sorted(lost)), letters, undisturbed, asked)


def _started(url: str, outputs: Path, folder: Path, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    # A group of its own, so that whatever it starts is killed with it.
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(
            [
                sys.executable, "-m", "vlmeval_ext", "run", "--data", KIT_DATA, "--model", "reader", "--base-url", url,
                "--retry", "2", "--api-nproc", "4", "--work-dir", str(outputs),
            ],
            env={**os.environ, **settings},
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip


def _wait(process: subprocess.Popen[bytes], server: PixelServer, requests: int, seconds: float) -> None:
    """Until the server has had this many requests, or the run has ended, and so many seconds more."""
    begun = time.monotonic()
    while len(server.requests) < requests and process.poll() is None:
        assert time.monotonic() < begun + LIMIT, "the run hangs"
        time.sleep(0.01)
    time.sleep(seconds)


def _ended(process: subprocess.Popen[bytes]) -> None:
    assert process.wait(LIMIT) == 0, "the run failed, see log.txt"


def _replies(outputs: Path) -> set[int]:
    """Numbers of the questions whose replies are stored; what cannot be read raises.

    A file is not stored before it is moved out of the folder in which it is written.
    """
    found: set[int] = set()
    for file in _stored(outputs, "*.pkl"):
        found |= {number_in(index) for index in pickle.loads(file.read_bytes())}
    for file in _stored(outputs, f"*_{KIT_DATA}.tsv"):
        found |= {number_in(line) for line in file.read_text().splitlines()[1:] if "/q" in line}
    return found


def _stored(outputs: Path, pattern: str) -> list[Path]:
    return [file for file in outputs.rglob(pattern) if file.parent.suffix != ".tmp"]


def _letters(outputs: Path) -> dict[int, tuple[str, ...]]:
    (run,) = read_runs(outputs)
    return {number_in(row.id): row.letters for rows in run.scored.values() for row in rows}


def soak(times: int, seed: int) -> str:
    """What a run that was killed this many times has to show. Raises AssertionError where a reply was lost."""
    with tempfile.TemporaryDirectory() as folder:
        report = kills(Path(folder), times, seed)
    assert not report.lost, f"asked again although they were stored: {report.lost}"
    assert report.letters == report.undisturbed
    return f"{len(report.letters)} questions, replies kept at each kill {report.kept}, {report.asked} calls in all"
