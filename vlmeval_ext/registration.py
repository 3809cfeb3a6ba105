"""Put our data sets and models into VLMEvalKit's tables; called once VLMEvalKit's modules are imported."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from spotdiff.errors import SpotdiffError


def add_data_sets(dataset: Any) -> None:
    """Add our data sets to the module `vlmeval.dataset`. Further calls change nothing.

    They come first, so that `M4Bench` is ours and not VLMEvalKit's own, which scores it differently.
    """
    from vlmeval_ext.datasets.image import SpotdiffDataset

    if SpotdiffDataset in dataset.DATASET_CLASSES:
        return
    names = SpotdiffDataset.supported_datasets()
    dataset.DATASET_CLASSES.insert(0, SpotdiffDataset)
    dataset.SUPPORTED_DATASETS[:0] = [name for name in names if name not in dataset.SUPPORTED_DATASETS]
    # `--config` looks up names without a class here, and names of classes among the module's attributes.
    dataset.supported_video_datasets.update({name: partial(SpotdiffDataset, dataset=name) for name in names})
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


def _without_traceback(record: logging.LogRecord) -> bool:
    """Keep every record; an error that a user can act on stands in its message already."""
    if record.exc_info and isinstance(record.exc_info[1], SpotdiffError):
        record.exc_info = None
    return True
