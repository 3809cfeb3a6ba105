"""Between lmms-eval and the core: a document becomes messages, a reply becomes metrics.

Every task of every benchmark uses these functions; a YAML only names its documents.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

from lmms_eval_tasks.ordering import ScenePrompt
from spotdiff.errors import SettingError, SpotdiffError
from spotdiff.evaluation import MEDIA_FREE_MODELS, SETTING_COLUMN, TASK_COLUMN, Evaluation
from spotdiff.failures import Tally, advice
from spotdiff.media.clips import link_by_digest
from spotdiff.media.forms import Form
from spotdiff.media.prefetch import Ahead, clips_of
from spotdiff.question import Image, Question, Shown, Text, Video
from spotdiff.runs.records import to_record
from spotdiff.scoring import PARSED, Scored, balanced_mean
from spotdiff.tasks import INPUTS, PARTIAL, task

P = ParamSpec("P")
R = TypeVar("R")

LOAD_COLUMN = "load"
"""Column of every document: which loading of its task it belongs to. One process may load a task several times, for
another model or under other settings."""

STRATUM = "stratum"
"""Key of a metric's item: its value in the group that the benchmark balances."""


@dataclass
class _Load:
    """One loading of a task.

    totals: complete number of questions by setting. seen_whole: its media were checked. ahead: the questions of this
    process, as lmms-eval asked for their texts. scenes: cluster -> its number, in the order of the questions.
    """

    evaluation: Evaluation
    totals: Mapping[str, int]
    seen_whole: bool = False
    ahead: Ahead = field(default_factory=Ahead)
    scenes: dict[str, int] = field(default_factory=dict)


TALLIES: list[tuple[str, Tally]] = []
"""Tasks whose results were put together in this process, in that order, with what became of their questions."""

_loads: dict[int, _Load] = {}
_numbers = itertools.count()


_IMAGES_ONLY: tuple[Form, ...] = ("images",)


class ModelWords(dict[Any, Any]):
    """Hands the `--model` word to the task functions.

    lmms-eval gives a task function only `lmms_eval_specific_kwargs[<word>]`, or nothing where the word is no key. So
    this mapping has every key.
    """

    def __contains__(self, word: object) -> bool:
        return True

    def __getitem__(self, word: Any) -> dict[str, Any]:
        return {"model": word if isinstance(word, str) or word is None else type(word).__name__}

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
    number = next(_numbers)
    _loads[number] = _Load(evaluation, evaluation.expected(rows))
    return rows.add_column(LOAD_COLUMN, [number] * len(rows))


@reported
def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The text of the prompt. lmms-eval calls it for document 0 as it loads a task: before anything is asked."""
    load = _load_of(doc)
    _attend(load, (lmms_eval_specific_kwargs or {}).get("model"))
    question = load.evaluation.question(doc)
    clips = clips_of(question, whole=load.evaluation.video_form() != "path")
    if not clips:
        return question.prompt
    load.ahead.expect(question.id, clips)
    return ScenePrompt(question.prompt, doc[TASK_COLUMN], load.scenes.setdefault(question.cluster, len(load.scenes)))


def _attend(load: _Load, model: str | None) -> None:
    """Note the model's name and, unless the model looks at none, check the media once after loading."""
    if load.evaluation.model != model:
        load.evaluation = replace(load.evaluation, model=model)
    if model not in MEDIA_FREE_MODELS and not load.seen_whole:
        load.evaluation.check_media()
        load.seen_whole = True


def question_of(doc: Mapping[str, Any]) -> Question:
    """The question of a document. Raises SpotdiffError for a document that is not ours."""
    return _load_of(doc).evaluation.question(doc)


def _load_of(doc: Mapping[str, Any]) -> _Load:
    load = _loads.get(doc.get(LOAD_COLUMN, -1))
    if load is None:
        raise SpotdiffError("This model answers the tasks of spotdiff only; the document has another shape")
    return load


def doc_to_messages(
    doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """One user turn with all parts in order; media are decoded here. A new list each call: some models change it."""
    load = _load_of(doc)
    question = load.evaluation.question(doc)
    content = [content_of(part, load.evaluation) for part in load.evaluation.shown(question)]
    load.ahead.asked(question.id)
    return [{"role": "user", "content": content}]


def content_of(part: Shown, evaluation: Evaluation) -> dict[str, Any]:
    """A part in the form of a chat message; a video in the form that the model takes."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Image):
        return {"type": "image", "url": part.open()}
    if evaluation.video_form() == "frames":
        return {"type": "video", "url": part.frames()}
    return {"type": "video", "url": str(link_by_digest(part.path, evaluation.settings.media_cache / "videos"))}


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The images alone, in order, for models without a chat form.

    Raises SettingError where there are videos, unless they are to be given as images: of two videos most such models
    drop the second or mix both.
    """
    load = _load_of(doc)
    evaluation = load.evaluation
    question = evaluation.question(doc)
    given_as_images = evaluation.settings.video_form == "images"
    if any(isinstance(part, Video) for part in question.parts) and not given_as_images:
        raise SettingError(
            "This model has no chat form in lmms-eval and cannot tell two videos apart. Take a chat model, or set "
            "SPOTDIFF_VIDEO_FORM=images to give every frame as an image, without the words between: many such models "
            "use the first image alone"
        )
    images = [part.open() for part in evaluation.shown(question, _IMAGES_ONLY) if isinstance(part, Image)]
    load.ahead.asked(question.id)
    return images


def doc_to_target(doc: Mapping[str, Any]) -> str:
    return ", ".join(question_of(doc).gold)


def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, dict[str, Any]]:
    """Every metric of one document; `acc` carries the whole record of the answer into the sample log.

    Pure, and it never raises: lmms-eval calls it in threads and retries what raises.
    """
    name = doc[TASK_COLUMN]
    load = _load_of(doc)
    answer = load.evaluation.answer(load.evaluation.question(doc), results[0])
    scored = answer.scored
    record = to_record(answer, name, load.totals[doc[SETTING_COLUMN]], load.evaluation.benchmark.version)
    balanced = load.evaluation.benchmark.balanced
    shared = {"cluster": record["cluster"], **({STRATUM: record["groups"][balanced]} if balanced else {})}
    record = {**record, **shared}
    became = {"outcome": scored.outcome, "failure": scored.failure, "task": name}
    return {
        "acc": record,
        # Without a score lmms-eval leaves an item out of the standard error too.
        "acc_answered": {**({} if scored.failed else {"score": scored.score}), **shared},
        **{metric: {"score": value, **shared} for metric, value in scored.extra.items()},
        "parsed": {"score": float(scored.outcome == PARSED), **shared},
        "failed": {"score": float(scored.failed), **became, **shared},
        "chance": {"score": scored.chance, **shared},
        "coverage": {"score": _asked_whole(scored), "total": sum(load.totals.values()), **shared},
    }


def _asked_whole(scored: Scored) -> float:
    """1 unless texts are missing that the question rests on."""
    return float(scored.groups.get(INPUTS) != PARTIAL)


def mean(items: list[Mapping[str, Any]]) -> float:
    """Mean over questions; where the benchmark balances a group, the mean over the means of its values."""
    return balanced_mean((item["score"] for item in items), (item.get(STRATUM) for item in items))


def answered_mean(items: list[Mapping[str, Any]]) -> float:
    """The same over the questions that did not fail; NaN where all of them did."""
    answered = [item for item in items if "score" in item]
    return mean(answered) if answered else math.nan


def failed(items: list[Mapping[str, Any]]) -> float:
    """Share of replies that are failures. What became of all is said at the end of the log, and kept in `TALLIES`."""
    tally = Tally.of((item["outcome"], item["failure"]) for item in items)
    name = items[0]["task"]
    TALLIES.append((name, tally))
    print(f"spotdiff: {name}: {tally}", file=sys.stderr)
    if advised := advice(tally):
        print(f"spotdiff: {name}: {advised}", file=sys.stderr)
    return mean(items)


def coverage(items: list[Mapping[str, Any]]) -> float:
    """Share of the complete task's questions that was asked, with all texts that a question rests on."""
    return float(sum(item["score"] for item in items) / items[0]["total"])
