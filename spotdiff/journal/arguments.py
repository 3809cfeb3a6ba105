"""Which arguments of a model change its replies."""

from __future__ import annotations

import re

NO_MATTER = re.compile(
    "chunk|batch_size|max_batch_size|device|timeout|max_retries|retry_backoff_s|num_concurrent|num_cpus|adaptive_.*|prefix_.*"
)
"""Arguments that say where, how fast and how patiently is asked. They change no answer; README.md names them."""
