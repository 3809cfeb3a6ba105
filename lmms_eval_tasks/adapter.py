"""Between lmms-eval and the core: a document becomes messages, a reply becomes metrics.

Every task of every benchmark uses these functions; a YAML only names its documents.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from spotdiff.errors import SpotdiffError
from spotdiff.evaluation import MEDIA_FREE_MODELS, SETTING_COLUMN, TASK_COLUMN, Evaluation
from spotdiff.question import Image, Question, Text
from spotdiff.runs.records import to_record
from spotdiff.scoring import PARSED
from spotdiff.tasks import task

P = ParamSpec("P")
R = TypeVar("R")

_loaded: dict[str, Evaluation] = {}
"""The evaluation of each task that is loaded in this process, by task name. A document names its task."""

_totals: dict[str, dict[str, int]] = {}
"""Complete number of questions of each loaded task, by setting."""


_seen_whole: set[str] = set()
"""Loaded tasks whose images were checked."""


class ModelWords(dict[Any, Any]):
    """Hands the `--model` word to the task functions.

    lmms-eval gives a task function only `lmms_eval_specific_kwargs[<word>]`, or nothing where the word is no key. So
    this mapping has every key.
    """

    def __contains__(self, word: object) -> bool:
        return True

    def __getitem__(self, word: Any) -> dict[str, Any]:
        return {"model": word if isinstance(word, str) else None}

    def __deepcopy__(self, memo: object) -> ModelWords:
        return self


MODEL_WORDS = ModelWords()


def reported(function: Callable[P, R]) -> Callable[P, R]:
    """Under the command line, end the run with the message of a SpotdiffError and exit code 2.

    lmms-eval prints a traceback for any exception and exits with 0. The Python API gets the exception as it is.
    """

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except SpotdiffError as error:
            if "lmms_eval.__main__" not in sys.modules and _main_module() != "lmms_eval.__main__":
                raise
            sys.stdout.flush()
            print(f"\nspotdiff: {error}", file=sys.stderr)
            raise SystemExit(2) from None

    return wrapped


def _main_module() -> str | None:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec.name if spec is not None else None


def load_documents(name: str) -> Any:
    """The rows of a task, as a `datasets.Dataset`. Images are checked once the model is known, see `_attend`."""
    evaluation = Evaluation.of(task(name))
    rows = evaluation.rows()
    _loaded[name] = evaluation
    _seen_whole.discard(name)
    _totals[name] = evaluation.expected(rows)
    return rows


@reported
def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The text of the prompt. lmms-eval calls it for document 0 as it loads a task: before anything is asked."""
    _attend(doc[TASK_COLUMN], (lmms_eval_specific_kwargs or {}).get("model"))
    return question_of(doc).prompt


def _attend(name: str, model: str | None) -> None:
    """Note the model's name and, unless the model looks at none, check the images once after loading."""
    if _loaded[name].model != model:
        _loaded[name] = replace(_loaded[name], model=model)
    if model not in MEDIA_FREE_MODELS and name not in _seen_whole:
        _loaded[name].check_media()
        _seen_whole.add(name)


def question_of(doc: Mapping[str, Any]) -> Question:
    """The question of a document. Raises SpotdiffError for a document that is not ours."""
    name = doc.get(TASK_COLUMN)
    if name not in _loaded:
        raise SpotdiffError("This model answers the tasks of spotdiff only; the document has another shape")
    return _loaded[str(name)].question(doc)


def doc_to_messages(
    doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """One user turn with all parts in order; images are decoded here. A new list each call: some models change it."""
    content = []
    for part in question_of(doc).parts:
        if isinstance(part, Image):
            content.append({"type": "image", "url": part.open()})
        elif isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
    return [{"role": "user", "content": content}]


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The images alone, in order, for models without a chat form."""
    return [image.open() for image in question_of(doc).images()]


def doc_to_target(doc: Mapping[str, Any]) -> str:
    return ", ".join(question_of(doc).gold)


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, dict[str, Any]]:
    """Every metric of one document; `acc` carries the whole record of the answer into the sample log.

    Pure, and it never raises: lmms-eval calls it in threads and retries what raises.
    """
    name = doc[TASK_COLUMN]
    answer = _loaded[name].answer(question_of(doc), results[0])
    record = to_record(answer, name, _totals[name][doc[SETTING_COLUMN]])
    shared = {"cluster": record["cluster"]}
    return {
        "acc": record,
        **{metric: {"score": value, **shared} for metric, value in answer.scored.extra.items()},
        "parsed": {
            "score": float(answer.scored.outcome == PARSED),
            "outcome": answer.scored.outcome,
            "task": name,
            **shared,
        },
        "chance": {"score": answer.scored.chance, **shared},
        "coverage": {"score": 1.0, "total": sum(_totals[name].values()), **shared},
    }


def mean(items: list[Mapping[str, Any]]) -> float:
    """Mean over questions."""
    return sum(float(item["score"]) for item in items) / len(items)


def parsed(items: list[Mapping[str, Any]]) -> float:
    """Share of replies that were read. What became of the others is said once more at the end of the run's log."""
    unread = Counter(item["outcome"] for item in items if item["outcome"] != PARSED)
    if unread:
        said = ", ".join(f"{outcome} {count}" for outcome, count in unread.most_common())
        total = unread.total()
        print(f"spotdiff: {items[0]['task']}: {total} of {len(items)} replies score 0 unread: {said}", file=sys.stderr)
    return mean(items)


def coverage(items: list[Mapping[str, Any]]) -> float:
    """Share of the complete task's questions that was asked."""
    return len(items) / int(items[0]["total"])
