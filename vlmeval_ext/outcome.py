"""What became of each model and data set of a run, read from VLMEvalKit's `status.json`.

VLMEvalKit reports every failure in its log only and exits with 0.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

_UNSCORED_BY_NATURE = {
    "official_submission_only_mmmu_test": "to be submitted for scoring",
    "official_submission_only_mmt_bench": "to be submitted for scoring",
    "external_submission_required": "to be submitted for scoring",
    "test_split_without_ground_truth": "this split has no public answers",
    "evaluation_not_supported_for_dataset": "VLMEvalKit has no scoring for it",
    "mmbench_evaluation_requires_official_server": "scored on the official server only",
}
"""Reasons of VLMEvalKit not to score a data set that are no failure of the run."""

_FAILURES = {
    "invalid_dataset": "the data set could not be built",
    "evaluate_returned_none": "scoring gave no result",
    "No infer result found": "there are no stored predictions to score",
    "Incomplete infer result": "some replies are missing, or failed requests (--keep-failed scores these as 0)",
}


@dataclass(frozen=True)
class Outcome:
    """What became of one data set with one model."""

    model: str
    data: str
    failed: bool
    text: str

    def __str__(self) -> str:
        return f"{'FAILED' if self.failed else 'done'}  {self.model} on {self.data}: {self.text}"


@dataclass(frozen=True)
class Run:
    """One run of VLMEvalKit, as far as it is needed to find what it recorded.

    status_files: model -> its status.json. data: names of the data sets. stored_predictions: files of an earlier run
    whose replies VLMEvalKit will use again, as it does without `--reuse` too. started: in local time, with its zone.
    keeps_failed: failed requests are wanted as they are (`--keep-failed`, or nothing is asked).
    """

    status_files: Mapping[str, Path]
    data: tuple[str, ...]
    infers_only: bool
    stored_predictions: tuple[Path, ...]
    started: datetime
    keeps_failed: bool = False

    @classmethod
    def of(cls, arguments: argparse.Namespace, framework: ModuleType) -> Run:
        """The run that VLMEvalKit is about to make, which starts now.

        framework: the module `vlmeval.run`; its next run gets an id that is fixed here, as the id is part of a path.
        """
        run_id = framework.build_eval_id()
        framework.build_eval_id = lambda: run_id  # type: ignore[attr-defined]
        models, data = arguments.model, arguments.data
        if arguments.config is not None:
            config = framework.load(arguments.config)
            models, data = list(config["model"]), list(config["data"])
        folders = {name: _folder(name, arguments, run_id) for name in models}
        asks = arguments.mode != "eval" and not arguments.reuse
        predictions = [
            Path(framework.get_pred_file_path(str(folder), name, one, use_env_format=True))
            for name, folder in folders.items()
            for one in data
        ]
        return cls(
            status_files={name: folder / "status.json" for name, folder in folders.items()},
            data=tuple(data),
            infers_only=arguments.mode == "infer",
            stored_predictions=tuple(path for path in predictions if asks and path.exists()),
            started=datetime.now().astimezone(),
            keeps_failed=arguments.mode == "eval" or getattr(arguments, "keep_failed", False),
        )

    def outcomes(self) -> list[Outcome]:
        """One for every data set of every model, in the order in which they were given."""
        return [
            Outcome(model, name, *self._judge(entries.get(name)))
            for model, entries in ((model, _entries(file)) for model, file in self.status_files.items())
            for name in self.data
        ]

    def _judge(self, entry: Mapping[str, Any] | None) -> tuple[bool, str]:
        """Whether the data set failed, and why or with what result."""
        if entry is None or datetime.fromisoformat(entry["updated_at"]) < self.started:
            return True, "nothing was recorded in this run, see the log above"
        if "error_message" in entry:
            return True, entry["error_message"]
        if entry.get("status") != "done":
            return True, f"it stopped in the stage {entry.get('status')!r}, see the log above"
        reason = entry.get("skip_reason")
        if reason == "mode_infer" and self.infers_only:
            return False, "replies stored, not scored"
        if reason is not None:
            return reason not in _UNSCORED_BY_NATURE, {**_UNSCORED_BY_NATURE, **_FAILURES}.get(reason, reason)
        metrics = entry.get("metrics", {})
        if not metrics:
            return True, "scoring gave no figures"
        errors = metrics.get("outcome/error", 0)
        if errors and not self.keeps_failed:
            asked = metrics.get("questions", errors)
            return True, f"{errors:g} of {asked:g} requests failed and score 0; the same command asks these again"
        return False, _figures(metrics, entry.get("primary_metric"))


def _folder(model: str, arguments: argparse.Namespace, run_id: str) -> Path:
    """Where VLMEvalKit keeps what it records of a model."""
    if arguments.api_mode:
        return Path(arguments.work_dir, model.replace("/", "--"), run_id)
    return Path(os.environ.get("MMEVAL_ROOT", arguments.work_dir), model)


def _entries(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """Data set -> its entry; empty if the file is not there."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    entries: Mapping[str, Mapping[str, Any]] = content.get("datasets", {})
    return entries


def _figures(metrics: Mapping[str, float], primary: str | list[str] | None) -> str:
    names = [primary] if isinstance(primary, str) else primary or []
    shown = [f"{name} = {metrics[name]:.4g}" for name in names if name in metrics]
    said = ", ".join(shown) or f"{len(metrics)} figures"
    coverage = metrics.get("coverage", 1)
    return said if coverage == 1 else f"{said}, over {coverage:.1%} of the questions"
