"""M3-Verse: two videos of one scene, before and after; single and multiple choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spotdiff.benchmarks.m3verse.oracle import oracle_stages, oracle_texts
from spotdiff.benchmarks.m3verse.protocol import TEXT_VARIANTS, VARIANTS, problems, question
from spotdiff.benchmarks.m3verse.schema import NO_CORRECT_OPTION, VIDEO_COLUMNS
from spotdiff.benchmarks.m3verse.tables import BREAKDOWNS, table
from spotdiff.names import joined
from spotdiff.question import Question
from spotdiff.tasks import FROM_TEXTS, Benchmark, Setting, Task

_PARTS = {"sim": ("Sim", 2932), "real": ("Real", 552), "mini": ("mini", 27)}

_SAMPLINGS: Mapping[str, Mapping[str, Any]] = {
    "200frame": {"frames": 200},
    "60frame": {"frames": 60},
    "1fps": {"fps": 1.0},
    "2fps": {"fps": 2.0},
}


def _task(part: str, suffix: str, variant: str = "direct", own: Mapping[str, Any] | None = None) -> Task:
    title, questions = _PARTS[part]
    name = joined("m3verse", part, suffix)
    data = "m3verse_mini" if part == "mini" else "m3verse"
    options = {"variant": variant, **({FROM_TEXTS: True} if variant in TEXT_VARIANTS else {})}
    setting = Setting(part, title, part, questions, options)
    return Task(name, "m3verse", data, (setting,), own or {}, None if part == "mini" else questions)


_SUFFIXES = {"" if variant == "direct" else variant: variant for variant in (*VARIANTS, *TEXT_VARIANTS)}

_TASKS = (
    *(_task(part, suffix, variant) for part in _PARTS for suffix, variant in _SUFFIXES.items()),
    *(_task(part, suffix, own=own) for part in ("sim", "real") for suffix, own in _SAMPLINGS.items()),
)


_STAGES = oracle_stages({part: _task(part, "") for part in _PARTS})


def _group(suffix: str) -> tuple[str, ...]:
    return tuple(joined("m3verse", part, suffix) for part in ("sim", "real"))


def _no_correct_option(asked: Question) -> Sequence[str]:
    """The option that says so where it is on offer, else the first one."""
    offered = [option.letter for option in asked.options if option.text == NO_CORRECT_OPTION]
    return offered or [asked.options[0].letter]


BENCHMARK = Benchmark(
    name="m3verse",
    title="M3-Verse",
    version=1,
    max_new_tokens=64,
    tasks=_TASKS,
    groups={joined("m3verse", suffix): _group(suffix) for suffix in (*_SUFFIXES, *_SAMPLINGS)},
    question=question,
    problems=problems,
    table=table,
    video_columns=VIDEO_COLUMNS,
    policies={"no_correct_option": _no_correct_option},
    pooled=True,
    breakdowns=BREAKDOWNS,
    stages=_STAGES,
    stage_groups={joined("m3verse", suffix): _group(suffix) for suffix in ("oracle_captions", "oracle_summaries")},
    texts=oracle_texts,
)
