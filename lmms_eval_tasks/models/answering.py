"""Models of lmms-eval that need no weights: they see the question itself, not its messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms

from lmms_eval_tasks.adapter import question_of, reported
from spotdiff.baselines import answer_with
from spotdiff.data.store import without_columns
from spotdiff.question import Question
from spotdiff.replay import load_replies
from spotdiff.tasks import benchmarks, task


class Answering(lmms):  # type: ignore[misc]
    """Answers each question with a text. Runs over ranks like any model."""

    is_simple = False
    device = torch.device("cpu")
    """Where lmms-eval gathers the answers of several ranks."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[tuple[str, str], Any] = {}
        """(task, split) -> its rows without images."""

    def generate_until(self, requests: list[Instance]) -> list[str]:
        return reported(self._answers)([self._asked(request) for request in requests])

    def _asked(self, request: Instance) -> tuple[str, Question]:
        _, _, _, doc_id, name, split = request.args
        if (name, split) not in self._texts:
            # Whole rows are not read: the image columns of a large data set would be fetched for nothing.
            rows = self.task_dict[name][split]
            pixels = benchmarks()[task(name).benchmark].image_columns
            self._texts[name, split] = without_columns(rows, pixels)
        return name, question_of(self._texts[name, split][doc_id])

    def _answers(self, asked: list[tuple[str, Question]]) -> list[str]:
        raise NotImplementedError

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        raise NotImplementedError("this model answers questions; it has no likelihoods")

    def generate_until_multi_round(self, requests: list[Instance]) -> list[str]:
        raise NotImplementedError("this model answers one turn")


class Baseline(Answering):
    """`--model spotdiff_baseline --model_args policy=...,seed=...`: an image-blind policy, see spotdiff.baselines."""

    def __init__(self, policy: str = "random", seed: int = 0, batch_size: int = 1, device: str | None = None) -> None:
        super().__init__()
        self._policy = str(policy)
        self._seed = int(seed)

    def _answers(self, asked: list[tuple[str, Question]]) -> list[str]:
        answer: dict[str, Callable[[Question], str]] = {}
        for name, _ in asked:
            if name not in answer:
                answer[name] = answer_with(self._policy, task(name).benchmark, self._seed)
        return [answer[name](question) for name, question in asked]


class Replay(Answering):
    """`--model spotdiff_replay --model_args path=...,model=...`: replies of an earlier run, see spotdiff.replay."""

    def __init__(
        self, path: str = "", model: str | None = None, batch_size: int = 1, device: str | None = None
    ) -> None:
        super().__init__()
        self._replies = reported(load_replies)(str(path), None if model is None else str(model))

    def _answers(self, asked: list[tuple[str, Question]]) -> list[str]:
        self._replies.check(question for _, question in asked)
        return [self._replies.by_id[question.id] for _, question in asked]
