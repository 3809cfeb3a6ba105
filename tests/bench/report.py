"""Reports: ten runs of all of M3-Verse, one of each of eight models and two of controls, from logs to files."""

from __future__ import annotations

import contextlib
import io
import json
import random
import statistics
import tempfile
import time
from pathlib import Path

from process import in_process
from rows import Options, Row

QUESTIONS = {"sim": 2932, "real": 552}
SCENES = {"sim": 200, "real": 50}
RUNS = {f"model-{number}": "" for number in range(8)} | {"blind": "_blind", "swapped": "_swapped"}
LIMIT_SECONDS, LIMIT_MB = 20.0, 1000.0

STATES = ("intra", "inter")
CAPABILITIES = ("spatial understanding", "temporal understanding", "attribute recognition", "reasoning")


def measure(options: Options) -> list[Row]:
    """Seconds from the command to the last file, and its peak memory, each beside the most that they may be."""
    part = 0.01 if options.tiny else 1.0
    with tempfile.TemporaryDirectory(prefix="spotdiff-bench-") as place:
        folder = Path(place)
        count = write_logs(folder / "runs", part)
        found = [in_process(report, folder, number) for number in range(options.runs)]
    note = f"{len(RUNS)} runs, {count} answers with prompts and replies; other: the limit"
    seconds = float(statistics.median(run.result for run in found))
    memory = float(statistics.median(run.peak_mb for run in found))
    return [
        Row("report, time", seconds, LIMIT_SECONDS, "s", options.runs, note),
        Row("report, peak memory", memory, LIMIT_MB, "MB", options.runs, note),
    ]


def report(folder: Path, number: int) -> float:
    """Seconds that `spotdiff report` takes with the import of all it needs."""
    start = time.perf_counter()
    from spotdiff.cli import main

    with contextlib.redirect_stdout(io.StringIO()):
        code = main(["report", *map(str, sorted((folder / "runs").iterdir())), "--out", str(folder / f"out-{number}")])
    assert code == 0
    return time.perf_counter() - start


def write_logs(folder: Path, part: float) -> int:
    """Sample logs as lmms-eval writes them; the number of answers."""
    drawn = random.Random(0)
    count = 0
    for run, variant in RUNS.items():
        model = run if not variant else "model-0"
        (folder / run).mkdir(parents=True)
        config = {"model": "qwen3_vl", "model_args": f"pretrained={model}"}
        (folder / run / "20260101_000000_results.json").write_text(json.dumps({"config": config}))
        for setting, size in QUESTIONS.items():
            name = f"m3verse_{setting}{variant}"
            lines = [_sample(drawn, name, setting, number) for number in range(max(2, int(size * part)))]
            (folder / run / f"20260101_000000_samples_{name}.jsonl").write_text("\n".join(lines) + "\n")
            count += len(lines)
    return count


def _sample(drawn: random.Random, task: str, setting: str, number: int) -> str:
    gold = "ABCDE"[number % 5]
    letter = gold if drawn.random() < 0.4 else drawn.choice("ABCDE")
    record = {
        "id": f"{setting}/scene_{number % SCENES[setting]}-{number}",
        "task": task,
        "version": 1,
        "total": QUESTIONS[setting],
        "score": float(letter == gold),
        "chance": 0.2,
        "letters": [letter],
        "gold": [gold],
        "outcome": "parsed",
        "rule": "bare",
        "conflict": False,
        "options": 5,
        "cluster": f"{setting}/scene_{number % SCENES[setting]}",
        "groups": {
            "setting": setting,
            "state": STATES[number % 2],
            "capability": [CAPABILITIES[number % 4], CAPABILITIES[number % 3]],
            "kind": "hallucination" if number % 7 == 0 else "factual",
            "choice": "several" if number % 5 == 0 else "one",
            "subcategory": f"{STATES[number % 2]} kind_{number % 40}",
        },
        "extra": {},
    }
    prompt = "Your task is to answer questions based on the provided videos and options. " * 12
    return json.dumps({"doc_id": number, "target": gold, "filtered_resps": letter, "acc": record, "input": prompt})
