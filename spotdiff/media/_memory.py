"""What the memory allocator does with freed frames."""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any


def give_back_freed() -> None:
    """Have freed memory returned to the system, where the allocator is glibc's; elsewhere do nothing.

    glibc keeps what was freed below memory that is still in use, and each thread has a heap of its own, so that a
    process that decodes in two threads would keep as much again as it holds. Takes 5 ms for some hundred megabytes.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@lru_cache(maxsize=1)
def _malloc_trim() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
