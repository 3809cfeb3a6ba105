"""Runs on the shipped questions, logged as lmms-eval logs them, without a framework: seconds, not minutes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from spotdiff.evaluation import Evaluation
from spotdiff.question import Question
from spotdiff.runs.records import to_record
from spotdiff.tasks import benchmarks, task

Replier = Callable[[Question], str | None]

STAMP = "20260101_000000"

HOSTILE = (
    "</script><script>document.title = 'broken'</script>",
    "<img src=x onerror=\"document.title = 'broken'\"> & &lt;b&gt; <!-- ",
    "first\u2028second\u2029third \u202eright to left\x00\x07",
    "half of a pair: \ud83d. {{ 7 * 7 }} ${7 * 7} $x_1$ %s",
    "again and again " * 640 + "The answer is (B).",
)
"""What a page must show as it is; the last one is 10 kB long."""


def right(question: Question) -> str:
    return ", ".join(question.gold)


def always(letter: str) -> Replier:
    return lambda question: letter


def mixed(step: int) -> Replier:
    """Right, wrong, unread or hostile, by a sum over the question's id."""

    def reply(question: Question) -> str | None:
        number = sum(map(ord, question.id)) * step
        replies = [right(question), right(question), question.options[-1].letter, "I cannot tell.", ""]
        return replies[number % 5] if number % 7 else HOSTILE[number // 7 % len(HOSTILE)]

    return reply


def write_run(folder: Path, name: str, tasks: Sequence[str], reply: Replier, *, skip: int = 0) -> Path:
    """Logs and results of one run; returns its folder. skip: questions left out of each task, from its end."""
    run = folder / name
    run.mkdir(parents=True)
    configs = {}
    for member in [one for wanted in tasks for one in _members(wanted)]:
        evaluation = Evaluation.of(task(member), "spotdiff_baseline")
        rows = evaluation.rows()
        totals = evaluation.expected(rows)
        lines = []
        for number, row in enumerate(rows.select(range(len(rows) - skip))):
            question = evaluation.question(row)
            said = reply(question)
            record = to_record(evaluation.answer(question, said), member, totals[question.setting])
            lines.append({"doc_id": number, "input": question.prompt, "filtered_resps": said, "acc": record})
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (run / f"{STAMP}_samples_{member}.jsonl").write_text(text, encoding="utf-8")
        configs[member] = {"metadata": {"version": 1, "spotdiff": "0", "data": evaluation.data_digest()}}
    results = {
        "lmms_eval_version": "0.7.3",
        "config": {"model": "spotdiff_baseline", "model_args": f"pretrained=org/{name}", "random_seed": 0},
        "configs": configs,
    }
    (run / f"{STAMP}_results.json").write_text(json.dumps(results), encoding="utf-8")
    return run


def _members(name: str) -> Sequence[str]:
    """The tasks of a group, or the task itself."""
    return next((benchmark.groups[name] for benchmark in benchmarks().values() if name in benchmark.groups), (name,))
