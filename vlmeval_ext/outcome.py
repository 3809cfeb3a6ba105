"""What became of each model and data set of a run, read from VLMEvalKit's `status.json`.

VLMEvalKit reports every failure in its log only and exits with 0.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

from spotdiff.errors import ReplyFileError
from spotdiff.failures import Tally, failure_of
from spotdiff.scoring import FAILED, PARSED
from vlmeval_ext.names import ours
from vlmeval_ext.predictions import read_rows
from vlmeval_ext.results import FAILURE

_OUTCOME = "outcome/"

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
    """What became of one data set with one model. tally: of its questions, where it is one of ours."""

    model: str
    data: str
    failed: bool
    text: str
    tally: Tally | None = None

    def __str__(self) -> str:
        counts = "" if self.tally is None else f"\n          {self.tally}"
        return f"{'FAILED' if self.failed else 'done'}  {self.model} on {self.data}: {self.text}{counts}"


@dataclass(frozen=True)
class Run:
    """One run of VLMEvalKit, as far as it is needed to find what it recorded.

    status_files: model -> its status.json. data: names of the data sets. stored_predictions: files of an earlier run
    whose replies VLMEvalKit will use again, as it does without `--reuse` too. started: in local time, with its zone.
    keeps_failed: failed requests are wanted as they are (`--keep-failed`, or nothing is asked). predictions: model and
    data set -> its file of replies. allowed: share of the questions that may fail (`--max-failures`), by default none,
    or all where they are wanted as they are. reuses: replies are asked for anew unless `--reuse` is given.
    """

    status_files: Mapping[str, Path]
    data: tuple[str, ...]
    infers_only: bool
    stored_predictions: tuple[Path, ...]
    started: datetime
    keeps_failed: bool = False
    predictions: Mapping[tuple[str, str], Path] = field(default_factory=dict)
    allowed: float | None = None
    reuses: bool = True

    @classmethod
    def of(cls, arguments: argparse.Namespace, framework: ModuleType, allowed: float | None = None) -> Run:
        """The run that VLMEvalKit is about to make, which starts now.

        allowed: see the class. framework: the module `vlmeval.run`; its next run gets an id that is fixed here, as the
        id is part of a path.
        """
        run_id = framework.build_eval_id()
        framework.build_eval_id = lambda: run_id  # type: ignore[attr-defined]
        models, data = arguments.model, arguments.data
        if arguments.config is not None:
            config = framework.load(arguments.config)
            models, data = list(config["model"]), list(config["data"])
        folders = {name: _folder(name, arguments, run_id) for name in models}
        asks = arguments.mode != "eval" and not arguments.reuse
        predictions = {
            (name, one): Path(
                framework.get_pred_file_path(str(folder), _file_name(name, arguments), one, use_env_format=True)
            )
            for name, folder in folders.items()
            for one in data
        }
        return cls(
            status_files={name: folder / "status.json" for name, folder in folders.items()},
            data=tuple(data),
            infers_only=arguments.mode == "infer",
            stored_predictions=tuple(path for path in predictions.values() if asks and path.exists()),
            started=datetime.now().astimezone(),
            keeps_failed=arguments.mode == "eval" or getattr(arguments, "keep_failed", False),
            predictions=predictions,
            allowed=allowed,
            reuses=not arguments.api_mode,
        )

    def outcomes(self) -> list[Outcome]:
        """One for every data set of every model, in the order in which they were given."""
        return [
            self._outcome(model, name, entries.get(name))
            for model, entries in ((model, _entries(file)) for model, file in self.status_files.items())
            for name in self.data
        ]

    def _outcome(self, model: str, name: str, entry: Mapping[str, Any] | None) -> Outcome:
        failed, text = self._judge(entry)
        if failed or entry is None:
            return Outcome(model, name, failed, text)
        tally = _tally(entry.get("metrics", {}))
        if "skip_reason" in entry:
            tally = _stored(self.predictions.get((model, name))) if name in ours() else None
        share = (1.0 if self.keeps_failed else 0.0) if self.allowed is None else self.allowed
        if tally is None or not tally.exceeds(share):
            return Outcome(model, name, failed, text, tally)
        again = "the same command" if self.reuses else "the same command with --reuse"
        said = f"{tally.failures} of {tally.asked} requests failed and score 0; {again} asks these again"
        return Outcome(model, name, True, said, tally)

    def _judge(self, entry: Mapping[str, Any] | None) -> tuple[bool, str]:
        """Whether the data set failed as a whole, and why or with what result."""
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
        return False, _figures(metrics, entry.get("primary_metric"))


def _tally(metrics: Mapping[str, float]) -> Tally | None:
    """Of the figures of a data set of ours, see `vlmeval_ext.results.figures`; None for another one's."""
    if not any(name.startswith(_OUTCOME) for name in metrics):
        return None
    counts = {name.removeprefix(_OUTCOME): int(n) for name, n in metrics.items() if name.startswith(_OUTCOME)}
    failed = {name.removeprefix(FAILURE): int(n) for name, n in metrics.items() if name.startswith(FAILURE)}
    unparsed = {name: n for name, n in counts.items() if name != PARSED and name not in FAILED}
    return Tally(sum(counts.values()), failed, unparsed)


def _stored(predictions: Path | None) -> Tally | None:
    """Of replies that were not read; None where they cannot be found."""
    if predictions is None:
        return None
    try:
        rows = read_rows(predictions)
    except ReplyFileError:
        return None
    return Tally(len(rows), Counter(kind for _, reply in rows if (kind := failure_of(reply))), None)


def _file_name(model: str, arguments: argparse.Namespace) -> str:
    """What VLMEvalKit calls a model in names of files."""
    return model.replace("/", "--") if arguments.api_mode else model


def _folder(model: str, arguments: argparse.Namespace, run_id: str) -> Path:
    """Where VLMEvalKit keeps what it records of a model."""
    if arguments.api_mode:
        return Path(arguments.work_dir, _file_name(model, arguments), run_id)
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
