"""What is drawn by a hash: the same in every process, on every machine and in every version of Python."""

from __future__ import annotations

import hashlib


def drawn(seed: int, key: str) -> bytes:
    """32 bytes that are a pure function of (seed, key): to order things by."""
    return hashlib.sha256(f"{seed}/{key}".encode()).digest()


def drawn_below(count: int, seed: int, key: str) -> int:
    """A whole number from 0 to count - 1, each about equally likely over keys."""
    return int.from_bytes(drawn(seed, key)[:8], "big") % count
