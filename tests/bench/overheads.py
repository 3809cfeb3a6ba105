"""What spotdiff adds to the start of an interpreter and of lmms-eval, and what reading and scoring replies takes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from process import in_process
from rows import Options, Row

STARTS = 20
REPLIES = ("B", "The answer is B.", "(B)", "Let me look.\nThe cup has moved.\nAnswer: B", "I cannot tell.", "**B. No**")


def measure(options: Options) -> list[Row]:
    hook = Path(__file__).parents[2] / "_spotdiff_hook.pth"
    rows = [_interpreter(hook, options)]
    off, on = {"SPOTDIFF_NO_REGISTER": "1"}, {"SPOTDIFF_NO_REGISTER": "0"}
    index = "pass" if options.tiny else "from lmms_eval.tasks import TaskManager; TaskManager()"
    mine, theirs = _alternately([sys.executable, "-c", index], (on, off), options.runs)
    note = "import and index of all tasks, with its own registration; other: with SPOTDIFF_NO_REGISTER=1"
    rows.append(Row("lmms-eval, start", mine, theirs, "s", options.runs, note))
    replies = 60 if options.tiny else 1000
    scored = [(in_process(ours, replies), in_process(other, replies)) for _ in range(options.runs)]
    own, his = (float(statistics.median(run.result for run in side)) for side in zip(*scored, strict=True))
    note = f"{replies} replies, read and scored; other: VLMEvalKit's can_infer, which reads alone"
    return [*rows, Row("1,000 replies, read and scored", own, his, "s per 1,000", options.runs, note)]


def _interpreter(hook: Path, options: Options) -> Row:
    """Starts with the .pth file as an installation has it, beside those with an empty folder."""
    with tempfile.TemporaryDirectory(prefix="spotdiff-bench-") as place:
        pairs = []
        for name, content in (("with", hook.read_text()), ("without", "")):
            folder = Path(place, name)
            folder.mkdir()
            (folder / "hook.pth").write_text(content)
            # Its module is found, and compiled, on both sides.
            code = f"import sys, site; sys.path.insert(0, {str(hook.parent)!r}); site.addsitedir({str(folder)!r})"
            pairs.append([sys.executable, "-S", "-c", code])
        times: dict[int, list[float]] = {0: [], 1: []}
        for _ in range(STARTS * options.runs):
            for side, command in enumerate(pairs):
                times[side].append(_seconds(command, {}))
    mine, theirs = (1000 * statistics.median(side) for side in times.values())
    return Row("interpreter, start", mine, theirs, "ms", STARTS * options.runs, "other: without spotdiff's .pth file")


def _alternately(command: Sequence[str], environments: Sequence[Mapping[str, str]], runs: int) -> tuple[float, float]:
    times = [[_seconds(command, environment) for environment in environments] for _ in range(runs)]
    first, second = (float(statistics.median(side)) for side in zip(*times, strict=True))
    return first, second


def _seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True)
    return time.perf_counter() - start


def ours(replies: int) -> float:
    """Seconds for 1,000 replies: read, scored, and put into the record of the log."""
    from spotdiff.evaluation import Evaluation
    from spotdiff.tasks import task

    evaluation = Evaluation.of(task("m4bench_mini"), "qwen3_vl")
    questions = [evaluation.question(row) for row in evaluation.rows()]
    start = time.perf_counter()
    for number in range(replies):
        evaluation.answer(questions[number % len(questions)], REPLIES[number % len(REPLIES)])
    return (time.perf_counter() - start) * 1000 / replies


def other(replies: int) -> float:
    from vlmeval.utils.matching_util import can_infer

    choices = {"A": "Yes", "B": "No"}
    start = time.perf_counter()
    for number in range(replies):
        can_infer(REPLIES[number % len(REPLIES)], dict(choices))
    return (time.perf_counter() - start) * 1000 / replies
