"""Which arguments of a model change its replies."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from spotdiff.data.store import digest_of_ends

NO_MATTER = re.compile(
    "chunk|batch_size|max_batch_size|device|timeout|max_retries|retry_backoff_s|num_concurrent|num_cpus|adaptive_.*|prefix_.*"
)
"""Arguments that say where, how fast and how patiently is asked. They change no answer; README.md names them."""

_OF_WEIGHTS = ("config.json", "adapter_config.json")
"""Either lies in a folder of weights, as transformers and peft write it."""


def digest_of_files(value: Any) -> str | None:
    """Of a local folder of weights, which training may have changed, or of a file, such as a chat template."""
    if not isinstance(value, str):
        return None
    path = os.path.expanduser(value)
    if os.path.isfile(path):
        return digest_of_ends([Path(path)])
    if not any(os.path.isfile(os.path.join(path, name)) for name in _OF_WEIGHTS):
        return None
    return digest_of_ends(sorted(one for one in Path(path).iterdir() if one.is_file() and os.access(one, os.R_OK)))
