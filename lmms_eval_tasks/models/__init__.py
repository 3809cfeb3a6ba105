"""Models for lmms-eval: answers that need no model, similarity of images, and a journal around any other model."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmms_eval.models.registry_v2 import ModelManifest


def manifests() -> "list[ModelManifest]":
    """Return the models that lmms-eval lists beside its own (entry-point group `lmms_eval.models`)."""
    from lmms_eval.models.registry_v2 import ModelManifest

    module = "lmms_eval_tasks.models"
    return [
        ModelManifest(model_id="spotdiff_baseline", chat_class_path=f"{module}.answering.Baseline"),
        ModelManifest(
            model_id="spotdiff_journal",
            chat_class_path=f"{module}.journal.JournaledModel",
            simple_class_path=f"{module}.journal.SimpleJournaledModel",
        ),
        ModelManifest(model_id="spotdiff_replay", chat_class_path=f"{module}.answering.Replay"),
        ModelManifest(model_id="spotdiff_similarity", chat_class_path=f"{module}.similarity.Similarity"),
    ]
