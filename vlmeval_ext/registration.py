"""Put our data sets and models into VLMEvalKit's tables; called once VLMEvalKit's modules are imported."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from spotdiff.errors import SpotdiffError

_MARK = "_guarded_by_spotdiff"


def add_data_sets(dataset: Any) -> None:
    """Add our data sets to the module `vlmeval.dataset`. Further calls change nothing.

    They come first, so that `M4Bench` is ours and not VLMEvalKit's own, which scores it differently.
    """
    from vlmeval_ext.datasets.image import SpotdiffDataset

    if SpotdiffDataset in dataset.DATASET_CLASSES:
        return
    names = SpotdiffDataset.supported_datasets()
    # All of them before the first change: a version of VLMEvalKit that lacks one is left as it is.
    classes, known, by_name = dataset.DATASET_CLASSES, dataset.SUPPORTED_DATASETS, dataset.supported_video_datasets
    classes.insert(0, SpotdiffDataset)
    known[:0] = [name for name in names if name not in known]
    # `--config` looks up names without a class here, and names of classes among the module's attributes.
    by_name.update({name: partial(SpotdiffDataset, dataset=name) for name in names})
    dataset.SpotdiffDataset = SpotdiffDataset
    for name in names:
        if hasattr(dataset, name):
            setattr(dataset, name, SpotdiffDataset)
    for name in ("vlmeval.run", "vlmeval.inference_api"):
        logging.getLogger(name).addFilter(_without_traceback)


def add_models(config: Any) -> None:
    """Add our models to the module `vlmeval.config`."""
    from vlmeval_ext.models import baselines

    config.supported_VLM.update(baselines())


def guard_inference(inference: Any) -> None:
    """Let runs of our data sets survive a failing question and a kill. Further calls change nothing.

    Other data sets are asked by the model as it is, and later jobs of a run get it back so.
    inference: the module `vlmeval.inference`.
    Raises AttributeError where this version of VLMEvalKit asks its models another way.
    """
    from vlmeval.utils import mp_util

    from vlmeval_ext.checkpoints import forget_failures, keep_whole
    from vlmeval_ext.guard import Guarded, GuardedModels

    job, models = inference.infer_data_job, GuardedModels(inference.supported_VLM)
    if hasattr(job, _MARK):
        return
    keep_whole(inference)
    keep_whole(mp_util)

    @functools.wraps(job)
    def infer_data_job(model: Any, work_dir: str, model_name: str, dataset: Any, *rest: Any, **named: Any) -> Any:
        if not _is_ours(dataset):
            return job(model, work_dir, model_name, dataset, *rest, **named)
        if named.get("retry_failed", True):
            rank, ranks = inference.get_rank_and_world_size()
            unfinished = Path(work_dir, f"{rank}{ranks}_{dataset.dataset_name}.pkl")
            forget_failures(unfinished, inference.load, inference.dump)
        # A name is looked up, and the model built, where there is something to ask.
        guarded = model if isinstance(model, str) else Guarded(model)
        with _replaced(inference, "supported_VLM", models):
            used = job(guarded, work_dir, model_name, dataset, *rest, **named)
        return used.bare if isinstance(used, Guarded) else used

    setattr(infer_data_job, _MARK, True)
    inference.infer_data_job = infer_data_job


def guard_api_inference(inference: Any) -> None:
    """The same for `--api-mode`, where in addition no data set is waited for whose replies can never be complete.

    inference: the module `vlmeval.inference_api`.
    """
    from vlmeval_ext.checkpoints import keep_whole
    from vlmeval_ext.guard import Guarded

    pipeline = inference.APIEvalPipeline
    if hasattr(pipeline, _MARK):
        return
    keep_whole(inference)
    build, load_checkpoint, monitor = pipeline.__init__, pipeline._load_checkpoint, pipeline._monitor_loop

    @functools.wraps(build)
    def __init__(self: Any, dataset_configs: list[Any], *rest: Any, **named: Any) -> None:
        for config in dataset_configs:
            if _is_ours(config.dataset_obj):
                config.model_obj = Guarded(config.model_obj)
        build(self, dataset_configs, *rest, **named)

    @functools.wraps(load_checkpoint)
    def _load_checkpoint(self: Any, dataset_name: str) -> dict[str, Any]:
        kept: dict[str, Any] = load_checkpoint(self, dataset_name)
        data = self.states[dataset_name].dataset_obj
        if not _is_ours(data):
            return kept
        # It is counted how many replies are there, and others than those to these questions would count too.
        asked = {str(index) for index in data.data["index"]}
        return {index: reply for index, reply in kept.items() if index in asked}

    @functools.wraps(monitor)
    async def _monitor_loop(self: Any) -> None:
        if not any(_is_ours(config.dataset_obj) for config in self.states.values()):
            await monitor(self)
            return
        ending = asyncio.create_task(_end_what_waits(self, inference.EvalStatus))
        try:
            await monitor(self)
        finally:
            ending.cancel()

    pipeline.__init__, pipeline._load_checkpoint, pipeline._monitor_loop = __init__, _load_checkpoint, _monitor_loop
    setattr(pipeline, _MARK, True)


async def _end_what_waits(pipeline: Any, states: Any) -> None:
    """Once nothing is asked any more, give up the data sets whose scoring has not begun: it never will."""
    while not pipeline.all_infer_done:
        await asyncio.sleep(0.5)
    await asyncio.sleep(1)
    for name, config in pipeline.states.items():
        if config.eval_status is states.Pending:
            config.eval_status = states.Error
            missing = config.total_samples - config.processed
            said = f"{missing} of {config.total_samples} replies are missing, see the log above"
            pipeline._upsert_dataset_status(name, status="done", error_message=said)


@contextlib.contextmanager
def _replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute of a module has another value in here."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def _is_ours(dataset: Any) -> bool:
    from vlmeval_ext.datasets.image import SpotdiffDataset

    return isinstance(dataset, SpotdiffDataset)


def _without_traceback(record: logging.LogRecord) -> bool:
    """Keep every record; an error that a user can act on stands in its message already."""
    if record.exc_info and isinstance(record.exc_info[1], SpotdiffError):
        # The text may have been made already, to mask it.
        record.exc_info = record.exc_text = None
    return True
