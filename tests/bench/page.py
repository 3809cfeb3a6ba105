"""`python tests/bench/page.py`: size and time of a report's page, and how fast a browser filters its questions.

Ten runs of all of M3-Verse with a prompt for each question and replies of many lengths, then three runs of 5,000
questions in Chromium. Replies are words drawn at random, which compress worse than what models write.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from process import in_process
from report import QUESTIONS, _sample

HERE = Path(__file__).parent
WORDS = HERE.parents[1] / "README.md"

FILTERS = """
const form = document.getElementById('filters');
const times = {};
for (const [label, name, value] of arguments[0]) {
  form.reset();
  form[name].value = value;
  const start = performance.now();
  form[name].dispatchEvent(new Event('input', {bubbles: true}));
  times[label] = [performance.now() - start, document.getElementById('count').textContent];
}
return times;
"""

CASES = (
    ("all questions", "result", ""),
    ("task", "family", "0"),
    ("run", "run", "1"),
    ("wrong", "result", "wrong"),
    ("runs differ", "agreement", "differ"),
    ("category", "group", "2"),
    ("first search", "text", "answer"),
    ("search", "text", "benchmark"),
    ("search for nothing", "text", "no such text"),
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="spotdiff-bench-") as place:
        folder = Path(place)
        for longest in (60, 600):
            write_logs(folder / f"ten-{longest}", 10, QUESTIONS, longest)
            found = in_process(write, folder / f"ten-{longest}", folder)
            seconds, size = found.result
            print(
                f"10 runs x 3,484 questions, replies of up to {longest} words: built in {seconds[0]:.1f} s, page in ",
                end="",
            )
            print(f"{seconds[1]:.1f} s, {found.peak_mb:.0f} MB of memory, report.html {size / 1e6:.1f} MB")
        write_logs(folder / "three", 3, {"sim": 4000, "real": 1000}, 60)
        in_process(write, folder / "three", folder)
        filter_times(folder / "report.html")


def write(runs: Path, folder: Path) -> tuple[tuple[float, float], int]:
    """Seconds to read and average the logs, seconds to write the page, and its size in bytes."""
    start = time.perf_counter()
    from spotdiff.runs.build import build
    from spotdiff.runs.page import write_page

    report = build(sorted(runs.iterdir()))
    built = time.perf_counter()
    file = write_page(report, folder)
    return (built - start, time.perf_counter() - built), file.stat().st_size


def write_logs(folder: Path, runs: int, questions: Mapping[str, int], longest: int) -> None:
    drawn = random.Random(0)
    words = WORDS.read_text(encoding="utf-8").split()
    prompts = {setting: [_text(drawn, words, 90) for _ in range(size)] for setting, size in questions.items()}
    for run in range(runs):
        (folder / f"run-{run}").mkdir(parents=True)
        config = {"model": "qwen3_vl", "model_args": f"pretrained=model-{run}"}
        (folder / f"run-{run}" / "20260101_000000_results.json").write_text(json.dumps({"config": config}))
        for setting, size in questions.items():
            name = f"m3verse_{setting}"
            lines = []
            for number in range(size):
                line = json.loads(_sample(drawn, name, setting, number))
                line["filtered_resps"] = _text(drawn, words, drawn.randrange(1, longest))
                lines.append(json.dumps({**line, "input": prompts[setting][number]}))
            (folder / f"run-{run}" / f"20260101_000000_samples_{name}.jsonl").write_text("\n".join(lines) + "\n")


def _text(drawn: random.Random, words: list[str], count: int) -> str:
    return " ".join(drawn.choices(words, k=count))


def filter_times(file: Path, repeats: int = 5) -> None:
    """Milliseconds from a changed filter to the list and the question that it leaves, the median of some repeats."""
    sys.path.insert(0, str(HERE.parent / "e2e"))
    from chromium import chromium, lacking, open_report

    if lacking():
        print(f"filters: not measured, {lacking()}")
        return
    with chromium() as driver:
        start = time.perf_counter()
        open_report(driver, file)
        print(f"opened in {time.perf_counter() - start:.1f} s, {file.stat().st_size / 1e6:.1f} MB")
        runs = [driver.execute_script(FILTERS, CASES) for _ in range(repeats)]
    for label, (first, count) in runs[0].items():
        middle = statistics.median(run[label][0] for run in runs)
        print(f"{label}: {middle:.0f} ms ({first:.0f} ms the first time), {count}")


if __name__ == "__main__":
    main()
