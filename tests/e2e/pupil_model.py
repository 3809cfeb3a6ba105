"""A simple model of lmms-eval that asks a server, one question after the other, on any number of ranks.

The API models of lmms-eval refuse several ranks without a GPU.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import chat
import torch
from lmms_eval.api.model import lmms
from lmms_eval.models.registry_v2 import ModelManifest


class Pupil(lmms):
    """`--model pupil --model_args url=...`: text and images of each question go to the server at this base URL.

    The field `user` of a request is the rank that asks.
    """

    device = torch.device("cpu")

    def __init__(self, url: str, batch_size: int = 1, device: str | None = None) -> None:
        super().__init__()
        self._url = url

    def generate_until(self, requests: list[Any]) -> list[str]:
        return [self._answer(*request.args) for request in requests]

    def _answer(self, context: str, generation: Any, visuals_of: Any, document: int, task: str, split: str) -> str:
        parts = [context, *visuals_of(self.task_dict[task][split][document])]
        asked = {**json.loads(chat.body(parts)), "user": str(self.rank)}
        return chat.ask(self._url, json.dumps(asked).encode())

    def loglikelihood(self, requests: Any) -> Any:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: Any) -> Any:
        raise NotImplementedError


def manifests() -> list[ModelManifest]:
    return [ModelManifest("pupil", simple_class_path="pupil_model.Pupil")]


def install(folder: Path) -> None:
    """Make `folder`, once it is on PYTHONPATH beside this one, announce the model to lmms-eval."""
    described = folder / "pupil-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: pupil\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[lmms_eval.models]\npupil = pupil_model:manifests\n")
