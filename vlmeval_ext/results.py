"""Scoring a file of predictions: records, table and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from spotdiff import __version__
from spotdiff.runs.records import to_record
from spotdiff.scoring import PARSED, Scored, balanced_mean, outcomes, weighted_mean
from vlmeval_ext.files import write_whole
from vlmeval_ext.loading import Loaded
from vlmeval_ext.predictions import read_predictions


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
            records.append(json.dumps(to_record(answer, evaluation.task.vlmeval_name, expected[question.setting])))
            by_setting.setdefault(question.setting, []).append(answer.scored)
    table = evaluation.table([row for rows in by_setting.values() for row in rows], expected).markdown()
    told = {
        "models": list(models),
        "spotdiff": __version__,
        "settings": evaluation.settings.changed(),
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

    `acc` (and every further metric, `parsed`, `chance`) is the mean over the settings by weight, left out unless all of
    them were asked; `<setting>/acc` is that of one setting, where there are several. `coverage` is the share of the
    complete task's questions that was asked; `outcome/<name>` counts replies.

    by_setting: the scored answers of the settings that were asked. expected: complete number of questions by setting.
    weights: of the settings, by default all alike. balanced: a group whose values weigh the same in the
    mean of one setting.
    """
    shares = {setting: _shares(rows, balanced) for setting, rows in by_setting.items()}
    found: dict[str, float] = {}
    if shares and set(shares) == set(expected):
        names = dict.fromkeys(name for entry in shares.values() for name in entry)
        told = [1 if weights is None else weights[name] for name in by_setting]
        found |= {name: weighted_mean([entry[name] for entry in shares.values()], told) for name in names}
    if len(expected) > 1:
        found |= {f"{setting}/{name}": value for setting, entry in shares.items() for name, value in entry.items()}
    rows = [row for entry in by_setting.values() for row in entry]
    found |= {"questions": len(rows), "coverage": len(rows) / sum(expected.values())}
    return found | {f"outcome/{name}": count for name, count in outcomes(rows).items() if count}


def _shares(rows: Sequence[Scored], balanced: str | None) -> dict[str, float]:
    strata = [row.groups[balanced] if balanced else None for row in rows]
    values: dict[str, list[float]] = {
        "acc": [row.score for row in rows],
        **{name: [row.extra[name] for row in rows] for name in rows[0].extra},
        "parsed": [float(row.outcome == PARSED) for row in rows],
        "chance": [row.chance for row in rows],
    }
    return {name: balanced_mean(of_each, strata) for name, of_each in values.items()}
