"""Asks a Python process of its own, or a program: what is broken in there breaks nothing here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

LIMIT = 50.0
"""Seconds. A framework takes 10 to 20 to be imported, and all are imported at once."""

_MARK = "spotdiff-doctor:"
_PREAMBLE = f"""
import json
def answer(value):
    print("\\n{_MARK}" + json.dumps(value), flush=True)
"""


class Unanswered(Exception):
    """Why there is no answer, in a line. in_time: the process ended of its own accord."""

    def __init__(self, message: str, *, in_time: bool = True) -> None:
        super().__init__(message)
        self.in_time = in_time


def ask_python(code: str, limit: float = LIMIT) -> Any:
    """What the code hands to `answer(value)`, as it comes back from JSON. Raises Unanswered."""
    # No module of the working folder stands in for an installed one, and nobody is asked over the network.
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        printed = run([sys.executable, "-c", _PREAMBLE + code], limit, environment, folder)
    answers = [line for line in printed.splitlines() if line.startswith(_MARK)]
    if not answers:
        raise Unanswered("it ended without an answer")
    return json.loads(answers[-1].removeprefix(_MARK))


def run(
    command: Sequence[str], limit: float, environment: dict[str, str] | None = None, folder: str | None = None
) -> str:
    """What a command prints. Raises Unanswered when it fails or takes longer than so many seconds."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise Unanswered(f"no answer within {limit:g} seconds", in_time=False) from None
    except OSError as error:
        raise Unanswered(str(error)) from error
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise Unanswered(_last_error(done.stderr.splitlines()) or (lines or [f"exit code {done.returncode}"])[-1])
    return done.stdout


def _last_error(lines: Sequence[str]) -> str:
    """The line of a traceback that names the error; what follows it may be a library's advice over many lines."""
    for line in reversed(lines):
        name, colon, _ = line.partition(":")
        if colon and name.rpartition(".")[2].endswith(("Error", "Exception", "Interrupt")) and " " not in name:
            return line.strip()
    return ""
