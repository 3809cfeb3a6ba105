"""Runs of lmms-eval with a journal that are ended with SIGKILL while a slow server is being asked, and taken up again.

What must not be asked again is told by the order in which questions arrive: a model that gets its questions in chunks
has the first of a chunk sent only when the replies of the chunk before are on disk.
"""

from __future__ import annotations

import hashlib
import io
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_runs import COMMAND, LIMIT, Finished
from PIL import Image
from pixel_server import PixelServer, Request

from spotdiff.benchmarks.m4bench.schema import features
from spotdiff.data.write import write_data_set
from spotdiff.journal.lines import read_file

TASK = "m4bench_state_invariance"
QUESTIONS = 200
CHUNK = 8
SECONDS = 0.02
"""What the server takes for a reply."""

Asked = tuple[str, tuple[str, ...]]
"""Text and digests of the images of a question."""


def prepare(folder: Path, questions: int = QUESTIONS) -> Path:
    """A folder for SPOTDIFF_DATA with questions that differ in their pixels alone."""
    drawn = random.Random(0)

    def picture() -> dict[str, Any]:
        stream = io.BytesIO()
        Image.frombytes("RGB", (32, 32), drawn.randbytes(32 * 32 * 3)).save(stream, "PNG")
        return {"bytes": stream.getvalue(), "path": None}

    rows = [
        {
            "id": f"q{number}",
            "question": "Whether these two pictures show same object? ",
            "visual_prompt": "",
            "visual_prompt_boxes": [],
            "options": ["No", "Yes"],
            "option_boxes": [[], []],
            "answer": drawn.choice("AB"),
            "category": "",
            "pair": f"pair {number}",
            "image_sizes": [],
            "image_1": picture(),
            "image_2": picture(),
        }
        for number in range(questions)
    ]
    write_data_set(folder / "m4bench", {"state_invariance": rows}, features())
    return folder


class HashReader:
    """Answers slowly, by a hash of all that it gets, and calls `when` with the number of questions before it does."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.when: Callable[[int], None] = lambda number: None
        self._seconds = seconds
        self._count = 0
        self._lock = threading.Lock()

    def answer_parts(self, parts: Sequence[str | Image.Image]) -> str:
        with self._lock:
            self._count += 1
            self.when(self._count)
        time.sleep(self._seconds)
        # A simple model gets all of the text first.
        digest = hashlib.sha256("\n".join(part for part in parts if isinstance(part, str)).encode())
        for part in parts:
            digest.update(b"" if isinstance(part, str) else part.tobytes())
        return "The answer is " + "AB"[digest.digest()[0] % 2]


def openai_arguments(url: str) -> str:
    """Four questions at a time."""
    return f"model_version=hash,base_url={url},api_key=none,timeout=60,max_retries=1,num_concurrent=4"


@dataclass
class Runs:
    """Runs of one command line, ended or not. once: questions that must not arrive any more."""

    server: PixelServer
    reader: HashReader
    data: Path
    folder: Path
    arguments: str
    command: Sequence[str] = (COMMAND,)
    environment: Mapping[str, str] = field(default_factory=dict)
    once: set[Asked] = field(default_factory=set)
    _begun: int = 0

    def killed(self, after: int, victim: Callable[[subprocess.Popen[bytes]], int] | None = None) -> None:
        """Start a run and end it when so many questions have arrived.

        victim: the process to end, given the one that was started; by default that one. Others are waited for.
        """
        before = len(self.server.requests)
        due = self.reader._count + after
        ready = threading.Event()
        self.reader.when = lambda number: ready.set() if number == due else None
        with self._started() as process:
            try:
                if not ready.wait(LIMIT):
                    raise AssertionError(f"{after} questions never arrived:\n{self._log()}")
                os.kill(victim(process) if victim else process.pid, signal.SIGKILL)
                assert process.wait(LIMIT) != 0
            finally:
                process.kill()
        self._settle()
        self._note(before)

    def finished(self, command: Sequence[str] | None = None) -> Finished:
        """A run that nobody ends."""
        before = len(self.server.requests)
        self.reader.when = lambda number: None
        with self._started(command) as process:
            try:
                code = process.wait(LIMIT)
            finally:
                process.kill()
        self._note(before)
        return Finished(code, self._log(), self._place())

    def _started(self, command: Sequence[str] | None = None) -> subprocess.Popen[bytes]:
        self._begun += 1
        place = self._place()
        place.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SPOTDIFF_")}
        ours = {"SPOTDIFF_DATA": str(self.data), "SPOTDIFF_MEDIA_CACHE": str(self.folder / "cache")}
        asked = ["--model_args", self.arguments, "--tasks", TASK, "--output_path", str(place), "--log_samples"]
        model = ["--model", "spotdiff_journal" if "journal=" in self.arguments else "openai"]
        with (place / "log").open("wb") as log:
            return subprocess.Popen(
                [*(command or self.command), *model, *asked],
                env={**kept, "HF_HUB_OFFLINE": "1", **ours, **self.environment},
                cwd=place,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _place(self) -> Path:
        return self.folder / f"run-{self._begun}"

    def _log(self) -> str:
        return (self._place() / "log").read_text(errors="replace")

    def _settle(self) -> None:
        """Until the server has noted what it was answering."""
        deadline = time.monotonic() + 60
        while len(self.server.requests) < self.reader._count and time.monotonic() < deadline:
            time.sleep(0.01)

    def _note(self, before: int) -> None:
        """None of those from before has come again; those of finished chunks are not to come again from now on."""
        arrived = self.server.requests[before:]
        again = [request.number for request in arrived if asked(request) in self.once]
        assert not again, f"questions of finished chunks were asked again, as the requests {again}"
        by_rank: dict[str, list[Asked]] = {}
        for request in arrived:
            by_rank.setdefault(request.json.get("user", ""), []).append(asked(request))
        for own in by_rank.values():
            self.once.update(own[: (len(own) - 1) // CHUNK * CHUNK])


def asked(request: Request) -> Asked:
    return request.text, request.images


def answers(done: Finished) -> dict[str, tuple[str, ...]]:
    """Letters by question id."""
    return {name: row.letters for name, row in done.scored().items()}


def kept(journal: Path) -> int:
    """Replies on disk."""
    return sum(len(read_file(file).replies) for file in journal.glob("*"))


def kill_and_resume(folder: Path, kills: int, seed: int) -> tuple[Finished, Runs]:
    """A run that is ended so many times, at questions that the seed draws, and then not ended."""
    drawn = random.Random(seed)
    reader = HashReader()
    journal = folder / "journal"
    with PixelServer(reader=reader) as server:
        arguments = f"model=openai,journal={journal},chunk={CHUNK},{openai_arguments(server.url)}"
        runs = Runs(server, reader, folder / "data", folder / "journaled", arguments)
        for _ in range(kills):
            runs.killed(drawn.randint(1, min(QUESTIONS // kills + CHUNK, QUESTIONS - kept(journal))))
        return runs.finished(), runs


def undisturbed(folder: Path) -> Finished:
    """The same questions, asked without a journal, of a server that answers alike."""
    reader = HashReader(seconds=0)
    with PixelServer(reader=reader) as server:
        return Runs(server, reader, folder / "data", folder / "undisturbed", openai_arguments(server.url)).finished()
