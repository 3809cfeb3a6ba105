"""Scoring a file of predictions: records, table and figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from spotdiff import __version__
from spotdiff.runs.provenance import installed_version
from spotdiff.runs.records import to_record
from spotdiff.scoring import PARSED, Scored, balanced_mean, outcomes, value_of, weighted_mean
from spotdiff.tasks import INPUTS, PARTIAL
from vlmeval_ext.files import write_whole
from vlmeval_ext.loading import Loaded
from vlmeval_ext.predictions import read_predictions

FAILURE = "failure/"
"""Begins the name of a figure that counts failures of one class."""


def score(loaded: Loaded, asked: Sequence[str], predictions: Path, models: Sequence[str]) -> dict[str, float]:
    """Score the replies: write `<stem>_scored.jsonl` and `<stem>_table.md` beside them, print the table.

    asked: indices of the questions that were asked. The right letters are those of our own data, never of the file.
    models: whose replies these are.
    Returns plain numbers, see `figures`. Raises ReplyFileError unless the file holds one reply to each question.
    """
    evaluation = loaded.evaluation
    replies = read_predictions(predictions, asked)
    expected = evaluation.expected(loaded.rows)
    records: list[str] = []
    by_setting: dict[str, list[Scored]] = {}
    for index, question in loaded.questions():
        if index in replies:
            answer = evaluation.answer(question, replies[index])
            total, version = expected[question.setting], evaluation.benchmark.version
            records.append(json.dumps(to_record(answer, evaluation.task.vlmeval_name, total, version)))
            by_setting.setdefault(question.setting, []).append(answer.scored)
    table = evaluation.table([row for rows in by_setting.values() for row in rows], expected).markdown()
    told = {
        "models": list(models),
        "version": evaluation.benchmark.version,
        "spotdiff": __version__,
        "framework": installed_version("ms-vlmeval"),
        "settings": evaluation.settings.changed(),
        "data": evaluation.data_digest(),
        "revision": evaluation.data_revision(),
    }
    write_whole(predictions.with_name(f"{predictions.stem}_scored.jsonl"), "\n".join([*records, ""]))
    write_whole(predictions.with_name(f"{predictions.stem}_table.md"), f"{table}\n\n{json.dumps(told, default=str)}\n")
    print(f"\n{table}\n", flush=True)
    weights = {setting.name: setting.weight for setting in evaluation.task.settings}
    if evaluation.benchmark.pooled:
        weights = {name: len(rows) for name, rows in by_setting.items()}
    return figures(by_setting, expected, weights, balanced=evaluation.benchmark.balanced)


def figures(
    by_setting: Mapping[str, Sequence[Scored]],
    expected: Mapping[str, int],
    weights: Mapping[str, float] | None = None,
    *,
    balanced: str | None = None,
) -> dict[str, float]:
    """What VLMEvalKit stores: shares between 0 and 1, as in our lmms-eval tasks, and counts.

    `acc` (and every further metric, `parsed`, `failed`, `chance`) is the mean over the settings by weight, left out
    unless all of them were asked; `<setting>/acc` is that of one setting, where there are several. `acc_answered` is
    `acc` over the questions that did not fail, left out where none is left. `coverage` is the share of the complete
    task's questions that was asked, with all texts that a question rests on; `outcome/<name>` and, for failures,
    `failure/<class>` count replies.

    by_setting: the scored answers of the settings that were asked. expected: complete number of questions by setting.
    weights: of the settings, by default all alike. balanced: a group whose values weigh the same in the
    mean of one setting.
    """
    shares = {setting: _shares(rows, balanced) for setting, rows in by_setting.items()}
    found: dict[str, float] = {}
    if shares and set(shares) == set(expected):
        names = [name for name in next(iter(shares.values())) if all(name in entry for entry in shares.values())]
        told = [1 if weights is None else weights[name] for name in by_setting]
        found |= {name: weighted_mean([entry[name] for entry in shares.values()], told) for name in names}
    if len(expected) > 1:
        found |= {f"{setting}/{name}": value for setting, entry in shares.items() for name, value in entry.items()}
    rows = [row for entry in by_setting.values() for row in entry]
    whole = sum(row.groups.get(INPUTS) != PARTIAL for row in rows)
    found |= {"questions": len(rows), "coverage": whole / sum(expected.values())}
    found |= {f"outcome/{name}": count for name, count in outcomes(rows).items() if count}
    return found | {
        f"{FAILURE}{name}": count for name, count in Counter(row.failure for row in rows if row.failed).items()
    }


def _shares(rows: Sequence[Scored], balanced: str | None) -> dict[str, float]:
    values: dict[str, Callable[[Scored], float]] = {
        "acc": lambda row: row.score,
        **{name: partial(value_of, metric=name) for name in rows[0].extra},
        "parsed": lambda row: float(row.outcome == PARSED),
        "failed": lambda row: float(row.failed),
        "chance": lambda row: row.chance,
    }
    shares = {name: _mean(rows, value, balanced) for name, value in values.items()}
    answered = [row for row in rows if not row.failed]
    return shares | ({"acc_answered": _mean(answered, values["acc"], balanced)} if answered else {})


def _mean(rows: Sequence[Scored], value: Callable[[Scored], float], balanced: str | None) -> float:
    return balanced_mean(map(value, rows), (row.groups[balanced] if balanced else None for row in rows))
