"""The parser and the release's rules on the 5,860 replies that were published with M4Bench.

The replies are no part of this repository. SPOTDIFF_REPLAY_DATA names the folder that holds replay.jsonl.gz. What is
kept here are labels that were given to some of them by reading, without a look at what any parser says.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pytest

from spotdiff.answers import Outcome, Reading, read_reply
from spotdiff.benchmarks.m4bench.release import release_letter

LABELS = Path(__file__).parents[1] / "data" / "m4bench_reply_labels.csv"
FOLDER = os.environ.get("SPOTDIFF_REPLAY_DATA")

pytestmark = pytest.mark.skipif(
    FOLDER is None, reason="SPOTDIFF_REPLAY_DATA names no folder with replay.jsonl.gz, the published replies"
)

SETTINGS = (
    "State_Invariance",
    "State_Comparison",
    "Detailed_Difference_Generated_Images",
    "Detailed_Difference_Natural_Images",
    "Spatial_Perception_WithOut_Visual_Prompt",
    "Spatial_Perception_With_Visual_Prompt",
    "Instance_Comparison_WithOut_Visual_Prompt",
    "Instance_Comparison_With_Visual_Prompt",
)
RELEASE_PERCENT = {
    "GPT-4o": (88.6, 66.8, 32.1, 18.3, 10.9, 26.5, 13.9, 10.4),
    "Qwen2-VL-7B-Instruct": (72.1, 68.8, 60.3, 15.7, 33.9, 33.5, 43.5, 38.3),
    "InternVL2_5-8B": (73.1, 65.4, 4.7, 18.7, 26.5, 33.9, 31.7, 36.5),
}


class Published(NamedTuple):
    """One published reply, with its options as the model saw them and both readings."""

    model: str
    task: str
    id: str
    reply: str
    options: dict[str, str]
    answer: str
    reading: Reading
    release: str | None


def options_of(prompt: str) -> dict[str, str]:
    """The option lines that end a prompt."""
    options: dict[str, str] = {}
    for line in reversed(prompt.split("\n")):
        if not re.match(r"[A-Z]\. ", line):
            break
        options[line[0]] = line[3:]
    return dict(reversed(options.items()))


@pytest.fixture(scope="module")
def published() -> list[Published]:
    with gzip.open(Path(FOLDER or "") / "replay.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    replies = []
    for row in rows:
        options, reply = options_of(row["prompt"]), row["prediction"]
        reading, release = read_reply(reply, options), release_letter(reply, options)
        replies.append(Published(row["model"], row["task"], row["id"], reply, options, row["answer"], reading, release))
    return replies


def test_every_labelled_reply_is_read_as_its_label_says(published: list[Published]) -> None:
    readings = {(each.model, each.task, each.id): each.reading for each in published}
    with LABELS.open(encoding="utf-8", newline="") as rows:
        labels = list(csv.DictReader(rows))
    wrong = []
    for label in labels:
        reading = readings[label["model"], label["task"], label["id"]]
        if ("".join(reading.letters), reading.outcome.value) != (label["letters"], label["outcome"]):
            wrong.append((label, reading))
    assert len(labels) >= 200
    assert not wrong


@pytest.mark.parametrize("model", RELEASE_PERCENT)
def test_the_releases_rules_give_the_scores_of_the_release_without_its_judge(
    published: list[Published], model: str
) -> None:
    right = defaultdict(list)
    for each in published:
        if each.model == model:
            right[each.task].append(each.release == each.answer)
    assert tuple(round(100 * fmean(right[setting]), 1) for setting in SETTINGS) == RELEASE_PERCENT[model]


def test_the_parser_finds_what_the_judge_found_in_the_replies_of_gpt_4o(published: list[Published]) -> None:
    right = defaultdict(list)
    for each in published:
        if each.model == "GPT-4o":
            right[each.task].append(each.reading.letters == (each.answer,))
    assert 100 * fmean(fmean(right[setting]) for setting in SETTINGS) == pytest.approx(39.5, abs=2)


def test_where_the_releases_rules_give_another_letter_the_reply_declares_ours(published: list[Published]) -> None:
    """The rules err where several letters stand in the reply and one option's text is mentioned in passing."""
    differing = [
        each for each in published if each.reading.letters and each.release not in (None, *each.reading.letters)
    ]
    assert 0 < len(differing) < 150
    for each in differing:
        letter = re.escape(each.reading.letters[0])
        named = re.findall(r"(?<![A-Za-z])[A-D](?![A-Za-z])", each.reply)
        assert len(set(named)) > 1
        assert each.release == "D"
        assert re.search(
            rf"(?:answer|option|choice|is|be)\b[\s\S]{{0,40}}(?<![A-Za-z]){letter}(?![A-Za-z])", each.reply
        )


def test_the_release_reads_few_replies_that_the_parser_does_not(published: list[Published]) -> None:
    unread = [each for each in published if each.release is not None and not each.reading.letters]
    assert len(unread) <= 15
    assert {each.reading.outcome for each in unread} <= {Outcome.none, Outcome.ambiguous}


def test_another_options_box_beside_the_letter_is_counted_as_a_conflict(published: list[Published]) -> None:
    conflicts = [each for each in published if each.reading.conflict]
    assert conflicts
    for each in conflicts:
        numbers = set(re.findall(r"\d{2,}", each.reply)) - set(
            re.findall(r"\d{2,}", each.options[each.reading.letters[0]])
        )
        assert numbers or "difference" in each.reply or each.task.startswith("State")
