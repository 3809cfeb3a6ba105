"""A model of lmms-eval that looks at no text: it takes the option that looks most like the last observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmms_eval.api.instance import Instance
from lmms_eval.utils import simple_parse_args_string
from tqdm import tqdm  # type: ignore[import-untyped]

from lmms_eval_tasks.adapter import question_of, reported
from lmms_eval_tasks.models.answering import Answering
from lmms_eval_tasks.models.encoders import encoder_of
from lmms_eval_tasks.models.nearest import BATCH_SIZE, Nearest, check_fit
from spotdiff.errors import SettingError
from spotdiff.question import Question


class Similarity(Answering):
    """`--model spotdiff_similarity --model_args encoder=...`: see lmms_eval_tasks.models.nearest.

    encoder: `pixels`, or a checkpoint, see lmms_eval_tasks.models.encoders. batch_size: images at a time, 16 unless
    given; it changes the speed alone. device: of the encoder, by default a GPU where there is one.
    """

    def __init__(
        self, encoder: str = "", batch_size: int | str = BATCH_SIZE, device: str | None = None, **unknown: object
    ) -> None:
        super().__init__()
        if unknown:
            reported(_refuse)(unknown)
        self._nearest = reported(_nearest)(str(encoder), batch_size, None if device is None else str(device))

    @classmethod
    def create_from_arg_string(cls, arg_string: str, additional_config: Mapping[str, Any] | None = None) -> Similarity:
        """What `--model_args` names comes before `--batch_size` and `--device`; lmms-eval fails where both name it."""
        beside = {name: value for name, value in (additional_config or {}).items() if value is not None}
        # A number where nobody asked for a size, text where somebody did.
        if beside.get("batch_size") == 1:
            del beside["batch_size"]
        return cls(**{**beside, **simple_parse_args_string(arg_string)})

    def generate_until(self, requests: list[Instance]) -> list[str]:
        return reported(self._letters)(requests)

    def _letters(self, requests: list[Instance]) -> list[str]:
        check_fit(self._whole(request) for request in requests)
        shown = tqdm(requests, desc="spotdiff: comparing images", disable=self.rank != 0)
        return self._nearest.letters(question for _, question in map(self._whole, shown))

    def _whole(self, request: Instance) -> tuple[str, Question]:
        """Task and question, with the row's encoded images: to be dropped as soon as it is answered."""
        _, _, _, doc_id, name, split = request.args
        return name, question_of(self.task_dict[name][split][doc_id])


def _refuse(unknown: Mapping[str, object]) -> None:
    raise SettingError(f"spotdiff_similarity takes encoder, batch_size and device, not {', '.join(unknown)}")


def _nearest(encoder: str, batch_size: int | str, device: str | None) -> Nearest:
    try:
        size = int(str(batch_size))
    except ValueError:
        raise SettingError(f"batch_size={batch_size} is no whole number") from None
    return Nearest(encoder_of(encoder, device), size)
