"""The arguments of `spotdiff_journal`: its own, and those of the model that it asks."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from lmms_eval.utils import simple_parse_args_string

from lmms_eval_tasks.models.journal_word import WORD
from spotdiff.errors import SettingError
from spotdiff.journal.arguments import NO_MATTER, digest_of_files
from spotdiff.secrets import is_secret, without_secrets

CHUNK = 32
"""Questions that the model gets at a time."""

_ENVIRONMENT = (
    "LMMS_IMAGE_ENCODE_FORMAT",
    "LMMS_IMAGE_JPEG_QUALITY",
    "LMMS_VIDEO_DECODE_BACKEND",
    "FORCE_QWENVL_VIDEO_READER",
    "OPENAI_API_BASE",
    "OPENAI_BASE_URL",
    "OPENAI_API_URL",
    "AZURE_OPENAI_API_BASE",
    "AZURE_ENDPOINT",
    "ANTHROPIC_API_URL",
    "API_TYPE",
)
"""Variables by which lmms-eval and its models change what is sent, or to whom."""


@dataclass(frozen=True)
class Wrapped:
    """What `--model_args` says. arguments: those that are left for the model, as they were given."""

    model: str
    journal: str
    chunk: int
    arguments: str

    @classmethod
    def of(cls, arg_string: str) -> Wrapped:
        """The first `model=` is ours; a further one belongs to the model. Raises SettingError."""
        model, rest = _taken(arg_string, "model")
        journal, rest = _taken(rest, "journal")
        chunk, rest = _taken(rest, "chunk")
        if not model or not journal:
            raise SettingError(
                f"{WORD} takes --model_args model=NAME,journal=FOLDER,ARGUMENTS: a model of lmms-eval, the folder of "
                "its replies, and the model's own arguments"
            )
        if chunk and not (chunk.isdecimal() and int(chunk)):
            raise SettingError(f"chunk={chunk}: give the number of questions that the model gets at a time")
        return cls(model, journal, int(chunk or CHUNK), rest)


def _taken(arguments: str, name: str) -> tuple[str, str]:
    """The value of the first argument of this name, empty where there is none, and the others."""
    found = re.search(rf"(?:^|(?<=,))\s*{name}=([^,]*)(?:,|$)", arguments)
    if found is None:
        return "", arguments
    rest = arguments[: found.start()] + arguments[found.end() :]
    return found[1].strip().strip("\"'"), rest.rstrip(",")


def told(wrapped: Wrapped) -> dict[str, Any]:
    """What a file of the journal says of its run, without secrets."""
    return {
        "model": wrapped.model,
        "arguments": without_secrets(wrapped.arguments),
        "environment": _environment(),
        "rank": int(os.environ.get("RANK", 0)),
        "versions": {"lmms-eval": version("lmms-eval")},
    }


def identity(model: str, is_simple: bool, arguments: str) -> str:
    """The model as keys of replies know it: all that may change an answer and is said beside the question."""
    parsed = simple_parse_args_string(arguments)
    matter = {name: one for name, one in parsed.items() if not is_secret(name) and not NO_MATTER.fullmatch(name)}
    named = {name: without_secrets(value) if isinstance(value, str) else value for name, value in matter.items()}
    files = {name: digest for name, value in matter.items() if (digest := digest_of_files(value))}
    return json.dumps([model, is_simple, named, files, _environment()], sort_keys=True, default=str)


def _environment() -> dict[str, str]:
    return {name: without_secrets(os.environ[name]) for name in _ENVIRONMENT if name in os.environ}
