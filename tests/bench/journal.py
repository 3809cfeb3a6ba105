"""The journal: what it adds to a run that waits for nothing, and what opening one with many replies takes.

The server answers at once, so that the client of lmms-eval, which needs some milliseconds a question, is all there is
to wait for. Questions are short, with two images of 32 x 32 pixels.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from process import in_process
from rows import Options, Row

ROOT = Path(__file__).resolve().parents[2]
TASK = "m4bench_state_invariance"
STORED = 100_000
REPLY = "The answer is B."


def measure(options: Options) -> list[Row]:
    """Seconds of 2 questions for each that is asked for, and of opening 100 replies for each."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "e2e"), str(ROOT / "tests" / "media")]
    from killed_runs import prepare

    questions, stored = 2 * options.questions, STORED * options.questions // 1000
    with tempfile.TemporaryDirectory(prefix="spotdiff-bench-") as place:
        folder = Path(place)
        prepare(folder / "data", questions)
        with _Server() as url:
            asked = in_process(ask, folder, url, options.runs).result
        _store(folder / "stored", stored)
        opened = in_process(open_stored, folder / "stored", stored, options.runs).result
    ours = f"{stored} replies, each looked up"
    return [
        Row("journal, asking", *asked, "s", options.runs, f"{questions} questions of `openai`; other: no journal"),
        Row("journal, opening", *opened, "s", options.runs, f"{ours}; other: json.loads of each line, nothing else"),
    ]


def ask(folder: Path, url: str, runs: int) -> tuple[float, float]:
    """Medians of the seconds in `generate_until` with a journal and without, one after the other."""
    os.environ |= {"SPOTDIFF_DATA": str(folder / "data"), "SPOTDIFF_MEDIA_CACHE": str(folder / "media")}
    os.environ |= {"HF_DATASETS_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    from lmms_eval.models import get_model
    from lmms_eval.models.model_utils.usage_metrics import reset_usage_metrics

    from lmms_eval_tasks import documents

    rows = getattr(documents, TASK)(None)

    def seconds(name: str, arguments: str, count: int = len(rows)) -> float:
        own = f"model_version=instant,base_url={url},api_key=none"
        model = get_model(name).create_from_arg_string(f"{arguments}{own}")
        model.task_dict[TASK] = {"test": rows}
        requests = [_request(rows, number) for number in range(count)]
        # As at the start of a run: with every reply `openai` adds up all that this process has had.
        reset_usage_metrics()
        start = time.perf_counter()
        replies = model.generate_until(requests)
        taken = time.perf_counter() - start
        assert [reply.text for reply in replies] == [REPLY] * count
        return taken

    seconds("openai", "", min(50, len(rows)))  # The first questions pay for imports.
    pairs = [
        (seconds("spotdiff_journal", f"model=openai,journal={folder / f'journal-{run}'},"), seconds("openai", ""))
        for run in range(runs)
    ]
    return _medians(pairs)


def _request(rows: Any, number: int) -> Any:
    from lmms_eval.api.instance import Instance

    from lmms_eval_tasks import adapter

    text, generation = adapter.doc_to_text(rows[number]), {"max_new_tokens": 16, "temperature": 0}
    metadata = {"task": TASK, "doc_id": number, "repeats": 1}
    return Instance("generate_until", (text, adapter.doc_to_messages, generation, number, TASK, "test"), 0, metadata)


def open_stored(folder: Path, count: int, runs: int) -> tuple[float, float]:
    """Medians of the seconds to open a journal and look up all of its replies, and to parse its lines."""
    from spotdiff.journal import Journal

    def look_up() -> int:
        journal = Journal(folder, {})
        return sum(journal.take(f"{number:064x}") is not None for number in range(count))

    def parse() -> int:
        lines = [json.loads(line) for file in folder.iterdir() for line in file.open("rb")]
        return sum("reply" in line for line in lines)

    def seconds(way: Callable[[], int]) -> float:
        start = time.perf_counter()
        assert way() == count
        return time.perf_counter() - start

    return _medians([(seconds(look_up), seconds(parse)) for _ in range(runs)])


def _medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    ours, others = zip(*pairs, strict=True)
    return float(statistics.median(ours)), float(statistics.median(others))


def _store(folder: Path, count: int) -> None:
    from spotdiff.journal import Journal, Reply

    journal = Journal(folder, {})
    tokens = {"input_tokens": 900, "output_tokens": 5, "reasoning_tokens": 0}
    for start in range(0, count, 32):
        numbers = range(start, min(start + 32, count))
        journal.append([Reply(f"{number:064x}", REPLY, None, tokens, TASK, number) for number in numbers])


class _Server:
    """A server in a process of its own; as a context manager it gives its base URL."""

    def __enter__(self) -> str:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        return f"http://127.0.0.1:{ours.recv()}/v1"

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.join()


def _serve(told: Connection) -> None:
    async def run() -> None:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One completion for each request of a connection, whatever it says."""
    choice = {"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}
    answer: dict[str, Any] = {"id": "0", "object": "chat.completion", "created": 0, "model": "instant"}
    body = json.dumps({**answer, "choices": [choice]}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    try:
        while True:
            asked = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = next(line for line in asked.split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
            writer.write(head + body)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
