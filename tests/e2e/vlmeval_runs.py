"""Runs `vlmeval run` as a user does, against a server, and reads what it wrote."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from spotdiff.runs.read import read_runs
from spotdiff.scoring import Scored

COMMAND = str(Path(sys.executable).with_name("vlmeval"))

LIMIT = 600
"""Seconds after which a run counts as hanging."""


def ask_server(url: str, *data: str, folder: Path, settings: Mapping[str, str] | None = None) -> dict[str, Scored]:
    """The scored answers of a model behind `url` to these data sets, by question id."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [
            COMMAND,
            "run",
            "--data",
            *data,
            "--model",
            "reader",
            "--base-url",
            url,
            "--work-dir",
            str(folder),
            "--retry",
            "1",
        ],
        env={**os.environ, "SPOTDIFF_MEDIA_CACHE": str(folder / "media"), **(settings or {})},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return {row.id: row for one in read_runs(folder) for rows in one.scored.values() for row in rows}
