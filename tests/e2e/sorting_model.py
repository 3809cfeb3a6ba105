"""`python sorting_model.py NOTES ARGUMENTS`: `lmms-eval ARGUMENTS`, where the chat model `sorting` sorts its requests.

It does so as most chat models of lmms-eval do, by the text of the prompt. NOTES becomes a JSON file: `asked`, for each
question in the order in which the model took them its number and the sum of its pixels; `decoded`, for each video that
was decoded the name of the thread that did it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from lmms_eval import utils
from lmms_eval.api.instance import Instance
from pixel_model import PixelModel

from spotdiff.media import clips, prefetch

NOTES = "SORTING_MODEL_NOTES"


class SortingModel(PixelModel):
    """Takes questions in the order of their texts, and answers when what comes next has been prepared."""

    def generate_until(self, requests: list[Instance]) -> list[str]:
        order = utils.Collator(
            [request.args for request in requests], lambda args: (args[0], args[0]), lambda args: args[2], grouping=True
        )
        by_number = {request.args[3]: request for request in requests}
        asked = []
        for ((_, _, _, number, _, _),) in order.get_batched(n=1):
            asked.append((number, self._read(by_number[number])["sum"]))
            while prefetch._worker._plan is not None:
                threading.Event().wait(0.01)
        Path(os.environ[NOTES]).write_text(json.dumps({"asked": asked, "decoded": _decoded}))
        replies: list[str] = order.get_original(["A"] * len(requests))
        return replies


_decoded: list[str] = []


def _note_decoding() -> None:
    decode = clips._decoded

    def noted(*arguments: Any) -> Any:
        _decoded.append(threading.current_thread().name)
        return decode(*arguments)

    clips._decoded = noted


def main() -> None:
    os.environ[NOTES] = sys.argv.pop(1)
    _note_decoding()
    from lmms_eval.__main__ import cli_evaluate
    from lmms_eval.models import MODEL_REGISTRY_V2
    from lmms_eval.models.registry_v2 import ModelManifest

    MODEL_REGISTRY_V2.register_manifest(ModelManifest("sorting", chat_class_path="sorting_model.SortingModel"))
    cli_evaluate()


if __name__ == "__main__":
    # The framework imports this file by its name: one list of what was decoded, not two.
    sys.modules["sorting_model"] = sys.modules["__main__"]
    main()
