"""lmms-eval with a journal, ended with SIGKILL again and again: see tests/e2e/killed_runs.py."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from killed_runs import QUESTIONS, answers, kill_and_resume, prepare, undisturbed


def soak(times: int, seed: int) -> str:
    """A run of 200 questions that is ended so many times; its letters are those of an undisturbed run."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory(prefix="spotdiff-soak-") as place:
        folder = Path(place)
        os.environ["HF_DATASETS_CACHE"] = str(folder / "datasets")
        prepare(folder / "data")
        expected = answers(undisturbed(folder))
        done, runs = kill_and_resume(folder, times, seed)
        assert len(expected) == QUESTIONS
        assert answers(done) == expected, done.output[-3000:]
        return (
            f"{times} kills, {len(runs.server.requests)} questions asked for {QUESTIONS} replies, none of a finished "
            "chunk asked twice, all letters as in an undisturbed run"
        )
