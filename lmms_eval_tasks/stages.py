"""Stages of a probe in lmms-eval: what a stage asks becomes messages, a reply becomes a text in the store.

As in `adapter`, every stage uses these functions, and a YAML only names its documents.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval_tasks.adapter import LOAD_COLUMN, TALLIES, content_of, reported
from lmms_eval_tasks.models.journal_word import WORD
from lmms_eval_tasks.ordering import ScenePrompt
from spotdiff.errors import SettingError, SpotdiffError
from spotdiff.evaluation import TASK_COLUMN, Evaluation
from spotdiff.failures import Tally, advice
from spotdiff.media.forms import Form
from spotdiff.media.prefetch import Ahead, clips_of
from spotdiff.probes.models import Model
from spotdiff.probes.stages import Item, Stage, stages
from spotdiff.probes.store import EMPTY, FAILED, MADE, REFUSED, StoredText, Writer, outcome_of
from spotdiff.question import Image, Video

ITEM_COLUMN = "item"
"""Column of a document: its number among what the stage asks."""

_IMAGES_ONLY: tuple[Form, ...] = ("images",)
_CLIP_FORMS: tuple[Form, ...] = ("frames", "images")
"""A file holds the whole video, and a clip is a part of it."""


@dataclass
class _Load:
    """One loading of a stage. looked: its media were checked."""

    stage: Stage
    evaluation: Evaluation
    model: Model
    items: Sequence[Item]
    writer: Writer
    data: str
    looked: bool = False
    ahead: Ahead = field(default_factory=Ahead)


_loads: dict[int, _Load] = {}
_numbers = itertools.count()


def load_documents(name: str) -> Any:
    """One document for each text that a stage makes, as a `datasets.Dataset`."""
    import datasets

    stage = stages()[name]
    evaluation = stage.evaluation()
    model, asked = _asked_model()
    items = stage.items(stage, evaluation, model.label)
    if not items:
        raise SpotdiffError(f"{name}: there is nothing to be asked")
    print(f"spotdiff: {name}: {len(items)} {stage.unit}, kept as texts by {model.label}", file=sys.stderr)
    data = evaluation.data_digest()
    told = {
        "stage": name,
        "model": model.word,
        "arguments": dict(model.arguments),
        "generation": {"max_new_tokens": evaluation.settings.max_new_tokens or stage.max_new_tokens, "given": asked},
        "prompt": stage.template,
        "data": data,
        "revision": evaluation.data_revision(),
        "settings": evaluation.settings.changed(),
    }
    number = next(_numbers)
    writer = Writer(evaluation.settings.probes, stage.kind, model.label, told)
    _loads[number] = _Load(stage, evaluation, model, items, writer, data)
    return datasets.Dataset.from_list(
        [
            {TASK_COLUMN: name, LOAD_COLUMN: number, ITEM_COLUMN: place, "about": item.wanted.about}
            for place, item in enumerate(items)
        ]
    )


def _asked_model() -> tuple[Model, str]:
    """The model that lmms-eval is about to ask, and what it was told of generation.

    lmms-eval tells a task neither its arguments nor, while it loads documents, its name: they are read from the call
    that loads them. Whatever way lmms-eval was started (command line, file of runs, Python), that is the same one.
    """
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "simple_evaluate" and frame.f_globals.get("__name__") == "lmms_eval.evaluator":
            values = frame.f_locals
            return _behind_journal(values.get("model"), values.get("model_args")), str(values.get("gen_kwargs") or "")
        frame = frame.f_back
    raise SpotdiffError("A stage of a probe is run by lmms-eval itself: `lmms-eval --tasks ...`, or simple_evaluate")


def _behind_journal(word: Any, arguments: Any) -> Model:
    """Texts belong to the model that writes them, whether its replies are kept or not."""
    if not isinstance(word, str):
        return Model.of(type(word).__name__)
    if word != WORD or not isinstance(arguments, str):
        return Model.of(word, arguments)
    from lmms_eval_tasks.models.journal_arguments import Wrapped

    wrapped = Wrapped.of(arguments)
    return Model.of(wrapped.model, wrapped.arguments)


def _load_of(doc: Mapping[str, Any]) -> _Load:
    return _loads[doc[LOAD_COLUMN]]


def _item_of(doc: Mapping[str, Any]) -> Item:
    item: Item = _load_of(doc).items[doc[ITEM_COLUMN]]
    return item


@reported
def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The text of the prompt. lmms-eval calls it for document 0 as it loads a task: before anything is asked."""
    load, item = _load_of(doc), _item_of(doc)
    if not load.looked:
        _look(load, (lmms_eval_specific_kwargs or {}).get("model"))
    load.ahead.expect(doc[ITEM_COLUMN], clips_of(item, whole=True))
    return ScenePrompt(item.prompt, load.stage.name, doc[ITEM_COLUMN])


def _look(load: _Load, model: str | None) -> None:
    """Check the media once, now that the form in which the model takes them is known."""
    load.evaluation = Evaluation(load.evaluation.task, load.evaluation.settings, model)
    if load.stage.shows_media:
        if load.evaluation.settings.video_form == "path" and load.evaluation.benchmark.video_columns:
            raise SettingError("A clip is a part of a file: SPOTDIFF_VIDEO_FORM=path cannot show it. Leave it unset")
        load.evaluation.check_media()
    load.looked = True


@reported
def doc_to_messages(
    doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """One user turn with all parts in order; media are decoded here."""
    load = _load_of(doc)
    content = [content_of(part, load.evaluation) for part in load.evaluation.shown(_item_of(doc), _CLIP_FORMS)]
    load.ahead.asked(doc[ITEM_COLUMN])
    return [{"role": "user", "content": content}]


@reported
def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The images alone, in order, for models without a chat form.

    Raises SettingError for a clip that is not to be given as images: most such models cannot take a list of frames.
    """
    load, item = _load_of(doc), _item_of(doc)
    if any(isinstance(part, Video) for part in item.parts) and load.evaluation.settings.video_form != "images":
        raise SettingError(
            "This model has no chat form in lmms-eval and takes no list of frames. Take a chat model, or set "
            "SPOTDIFF_VIDEO_FORM=images to give every frame as an image"
        )
    images = [part.open() for part in load.evaluation.shown(item, _IMAGES_ONLY) if isinstance(part, Image)]
    load.ahead.asked(doc[ITEM_COLUMN])
    return images


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """There is no right text."""
    return ""


@reported
def process_results(doc: Mapping[str, Any], results: list[str]) -> dict[str, dict[str, Any]]:
    """Store the text of one document, and say what became of it. Raises SettingError where it cannot be stored."""
    load, item = _load_of(doc), _item_of(doc)
    outcome, failure = outcome_of(results[0])
    text = StoredText(
        key=item.wanted.key,
        model=load.model.label,
        text=results[0] if outcome in (MADE, REFUSED) else "",
        outcome=outcome,
        failure=failure,
        missing=item.missing,
        about=item.wanted.about,
        data=load.data,
    )
    load.writer.add(text)
    became = {"outcome": outcome, "failure": failure, "task": doc[TASK_COLUMN]}
    return {
        **{name: {"score": float(outcome == name)} for name in (MADE, EMPTY, REFUSED)},
        FAILED: {"score": float(outcome == FAILED), **became},
        "coverage": {"score": 1.0, "total": len(load.items)},
    }


def mean(items: list[Mapping[str, Any]]) -> float:
    return float(sum(item["score"] for item in items) / len(items))


def failed(items: list[Mapping[str, Any]]) -> float:
    """Share of texts that failed. What became of all is said at the end of the log, and kept in `adapter.TALLIES`."""
    name = items[0]["task"]
    tally = Tally(len(items), Counter(item["failure"] for item in items if item["failure"]), None)
    TALLIES.append((name, tally))
    counts = Counter(item["outcome"] for item in items)
    kept = ", ".join(f"{counts[outcome]} {outcome}" for outcome in (EMPTY, REFUSED) if counts[outcome])
    print(f"spotdiff: {name}: {tally}{f'; kept as they are: {kept}' if kept else ''}", file=sys.stderr)
    if advised := advice(tally):
        print(f"spotdiff: {name}: {advised}", file=sys.stderr)
    return mean(items)
