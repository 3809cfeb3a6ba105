"""Runs one side of a measurement in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Finished:
    """result: what the function returned. peak_mb: peak resident memory of its process, in 10**6 bytes (Linux)."""

    result: Any
    peak_mb: float


def in_process(function: Callable[..., Any], *arguments: Any) -> Finished:
    """Call a function of a module in a new interpreter. Raises RuntimeError when it fails; its traceback is printed."""
    # Threads that spin while they wait make small batches ten times slower as soon as another process takes a core.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        return Finished(*ours.recv())
    except EOFError:
        raise RuntimeError(f"{function.__name__} failed") from None
    finally:
        process.join()


def _call(answer: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    result = function(*arguments)
    answer.send((result, _peak_mb()))


def _peak_mb() -> float:
    # The peak that `resource` gives counts the parent's memory from before the interpreter was replaced.
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6
