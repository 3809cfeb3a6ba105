"""Runs lmms-eval as a user does, and reads what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotdiff.runs.read import read_runs
from spotdiff.scoring import Scored

COMMAND = str(Path(sys.executable).with_name("lmms-eval"))

LIMIT = 600
"""Seconds after which a run counts as hanging."""


@dataclass(frozen=True)
class Finished:
    """A finished run: exit code, all it printed, and the folder of its logs."""

    code: int
    output: str
    folder: Path

    def scored(self) -> dict[str, Scored]:
        """The scored answers by question id. A failed run exits with 0: its output is the error."""
        assert list(self.folder.rglob("*_samples_*.jsonl")), self.output[-5000:]
        (run,) = read_runs(self.folder)
        return {row.id: row for rows in run.scored.values() for row in rows}

    def results(self) -> dict[str, Any]:
        (path,) = self.folder.rglob("*_results.json")
        loaded: dict[str, Any] = json.loads(path.read_text())
        return loaded

    def samples(self) -> list[dict[str, Any]]:
        """All sample logs, every line."""
        files = sorted(self.folder.rglob("*_samples_*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def run(*arguments: str, folder: Path, settings: Mapping[str, str] | None = None) -> Finished:
    """`lmms-eval ARGUMENTS` with sample logs in `folder`. settings: SPOTDIFF_ variables, in place of the caller's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPOTDIFF_")}
    environment = {**kept, "HF_HUB_OFFLINE": "1", "SPOTDIFF_MEDIA_CACHE": str(folder / "cache"), **(settings or {})}
    done = subprocess.run(
        [COMMAND, *arguments, "--output_path", str(folder), "--log_samples"],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    return Finished(done.returncode, done.stdout, folder)


def ask_server(url: str, task: str, folder: Path, settings: Mapping[str, str] | None = None) -> Finished:
    """A finished run of the model behind `url` on a task or a group."""
    folder.mkdir(exist_ok=True)
    arguments = f"model_version=reader,base_url={url},api_key=none,max_retries=1,timeout=60"
    return run("--model", "openai", "--model_args", arguments, "--tasks", task, folder=folder, settings=settings)
