"""What a model is called in the store of texts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from spotdiff.journal.arguments import NO_MATTER, digest_of_files
from spotdiff.secrets import is_secret, without_secrets

_NAMED_BY = ("model_version", "pretrained", "model_name", "model")
"""Arguments by which models of lmms-eval are told which weights they run, or which of a server's models is asked."""


@dataclass(frozen=True)
class Model:
    """A model of lmms-eval. word: what stands behind `--model`. arguments: name -> value, without secrets."""

    word: str
    arguments: Mapping[str, str]

    @classmethod
    def of(cls, word: str, arguments: str | Mapping[str, object] | None = None) -> Model:
        """arguments: as `--model_args` takes them (`a=b,c=d`), or as a mapping."""
        pairs = arguments.items() if isinstance(arguments, Mapping) else _pairs(arguments or "")
        return cls(word, {str(name): without_secrets(str(value)) for name, value in pairs if not is_secret(str(name))})

    @property
    def name(self) -> str:
        """The name of the weights, or of a server's model: the end of its path."""
        named = next((self.arguments[name] for name in _NAMED_BY if self.arguments.get(name)), self.word)
        return re.sub(r"[^\w.-]+", "-", named.rstrip("/").rpartition("/")[2]) or "model"

    @cached_property
    def label(self) -> str:
        """Its name and 6 hex digits that change with whatever may change its texts, files of local weights too:
        `Qwen3-VL-8B-Instruct-4f0a91`."""
        matter = sorted((name, value) for name, value in self.arguments.items() if not NO_MATTER.fullmatch(name))
        files = [digest for _, value in matter if (digest := digest_of_files(value))]
        digest = hashlib.sha256(json.dumps([self.word, matter, *files]).encode()).hexdigest()
        return f"{self.name}-{digest[:6]}"


def _pairs(arguments: str) -> list[tuple[str, str]]:
    """The value keeps further equals signs. What has none is a name alone."""
    parts = (part.partition("=") for part in arguments.split(",") if part.strip())
    return [(name.strip(), value.strip().strip("\"'")) for name, _, value in parts]
