"""`--model spotdiff_journal --model_args model=...,journal=...,...`: any model, with its replies kept as they come."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_eval.api.model import lmms

from lmms_eval_tasks.adapter import reported
from lmms_eval_tasks.models.journal_arguments import CHUNK, Wrapped, identity, told
from lmms_eval_tasks.models.journal_asking import Asking
from lmms_eval_tasks.models.journal_word import WORD, load_tasks_for
from spotdiff.errors import SettingError
from spotdiff.journal import Journal

_IN_STEP = ("FSDP", "DEEPSPEED", "MEGATRON")
"""Kinds of distribution in which one rank waits for the next call of another."""


class JournaledModel(lmms):  # type: ignore[misc]
    """Never an object: what is created is the model itself, whose `generate_until` asks only what is not yet kept.

    So lmms-eval finds all that it looks for in a model: its form (chat or simple), ranks, device, chat template, ...
    """

    is_simple = False
    _force_simple = False

    @classmethod
    def create_from_arg_string(cls, arg_string: str, additional_config: Mapping[str, Any] | None = None) -> Any:
        """The model that `model=` names, made of all arguments but `model`, `journal` and `chunk`.

        Under the command line the run ends here where the arguments or the folder cannot be used.
        """
        return reported(cls._create)(arg_string, dict(additional_config or {}))

    @classmethod
    def _create(cls, arg_string: str, additional_config: dict[str, Any]) -> Any:
        wrapped = Wrapped.of(arg_string)
        _check_name(wrapped.model)
        # Before the model is loaded: it may take minutes, and the folder may be read-only.
        journal = Journal(Path(wrapped.journal).expanduser(), told(wrapped))

        from lmms_eval.models import MODEL_REGISTRY_V2, get_model

        load_tasks_for(wrapped.model)
        inner = get_model(wrapped.model, cls._force_simple).create_from_arg_string(wrapped.arguments, additional_config)
        _check_distribution(inner)
        name = MODEL_REGISTRY_V2.get_manifest(wrapped.model).model_id
        asking = Asking(inner, journal, identity(name, inner.is_simple, wrapped.arguments), wrapped.chunk or CHUNK)
        inner.generate_until = asking.generate_until
        for kind in ("loglikelihood", "generate_until_multi_round", "generate_visual_cot"):
            setattr(inner, kind, _refusal(kind))
        return inner


class SimpleJournaledModel(JournaledModel):
    """The same under `--force_simple`."""

    is_simple = True
    _force_simple = True


def _check_name(name: str) -> None:
    from lmms_eval.models import MODEL_REGISTRY_V2

    known = MODEL_REGISTRY_V2.list_model_names()
    if name == WORD or name not in known:
        close = ", ".join(difflib.get_close_matches(name, [one for one in known if one != WORD])) or "lmms-eval models"
        raise SettingError(f"model={name} is no model that {WORD} can ask. See: {close}")


def _check_distribution(inner: Any) -> None:
    """Ranks have different numbers of questions left; those that compute together would wait for ever."""
    accelerator = getattr(inner, "accelerator", None)
    kind = str(getattr(accelerator, "distributed_type", "")).upper()
    if getattr(accelerator, "num_processes", 1) > 1 and any(name in kind for name in _IN_STEP):
        raise SettingError(
            f"{WORD} asks each rank what is left to it, and the ranks of {kind.rpartition('.')[2]} compute together. "
            "Run the model in one process, or each rank with a model of its own"
        )


def _refusal(kind: str) -> Any:
    def refuse(requests: Any) -> Any:
        raise SettingError(
            f"{WORD} keeps replies to single questions (generate_until), and this task asks for {kind}. Run it without"
        )

    return reported(refuse)
