"""`python pixel_model.py NOTES ARGUMENTS`: `lmms-eval ARGUMENTS`, where the model `pixel_sum` reads all and keeps none.

NOTES becomes a JSON file with one entry a question: `pixels`, the number of values that were read (three a pixel);
`sum`, of all of them; `before_mb`, `peak_mb` and `after_mb`, the resident memory before this question, its peak during
it, and what is left after it, in 10**6 bytes.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from watched_run import forget_peak, peak_mb

NOTES = "PIXEL_MODEL_NOTES"


class PixelModel(lmms):  # type: ignore[misc]
    """Takes the messages of one question after the other, adds up every pixel, and lets them go."""

    is_simple = False

    def __init__(self, batch_size: int = 1, device: str | None = None) -> None:
        super().__init__()

    def generate_until(self, requests: list[Instance]) -> list[str]:
        entries = [self._read(request) for request in requests]
        Path(os.environ[NOTES]).write_text(json.dumps(entries))
        return ["A"] * len(requests)

    def _read(self, request: Instance) -> dict[str, float]:
        forget_peak()
        before = _resident_mb()
        _, doc_to_messages, _, doc_id, task, split = request.args
        pixels = total = 0
        for picture in _pictures(doc_to_messages(self.task_dict[task][split][doc_id])):
            values = np.asarray(picture)
            pixels += values.size
            total += int(values.sum())
        return {
            "pixels": pixels,
            "sum": total,
            "before_mb": before,
            "peak_mb": peak_mb(),
            "after_mb": _resident_mb(),
        }

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: list[Instance]) -> list[str]:
        raise NotImplementedError


def _pictures(messages: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    for part in messages[0]["content"]:
        if part["type"] == "video":
            yield from part["url"]
        elif part["type"] == "image":
            yield part["url"]


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def main() -> None:
    os.environ[NOTES] = sys.argv.pop(1)
    from lmms_eval.__main__ import cli_evaluate
    from lmms_eval.models import MODEL_REGISTRY_V2
    from lmms_eval.models.registry_v2 import ModelManifest

    MODEL_REGISTRY_V2.register_manifest(ModelManifest("pixel_sum", chat_class_path="pixel_model.PixelModel"))
    cli_evaluate()


if __name__ == "__main__":
    main()
