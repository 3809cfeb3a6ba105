"""From the folders of runs to a report."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from spotdiff import __version__
from spotdiff.runs.collect import Collected, collect
from spotdiff.runs.compare import comparisons
from spotdiff.runs.figures import figures
from spotdiff.runs.report import Report
from spotdiff.runs.sheets import sheets
from spotdiff.secrets import without_secrets


def build(paths: Sequence[Path], names: Mapping[Path, str] | None = None, *, force: bool = False) -> Report:
    """The report of the runs below these folders; see `spotdiff.runs.collect.collect`, whose errors it raises."""
    found = collect(paths, names or {}, force=force)
    compared = comparisons(found.answers)
    return Report(
        runs=found.runs,
        answers=found.answers,
        figures=tuple(figures(found.answers)),
        comparisons=tuple(compared),
        sheets=tuple(sheets(found.answers, found.runs, compared)),
        warnings=found.warnings,
        provenance=_provenance(found),
    )


def _provenance(found: Collected) -> dict[str, Any]:
    return {
        "spotdiff": __version__,
        "python": platform.python_version(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": without_secrets(shlex.join(["spotdiff", *sys.argv[1:]])),
        "warnings": list(found.warnings),
        "runs": [
            {
                "name": run.label,
                "model": run.model,
                "framework": run.framework,
                "incomplete": run.incomplete,
                "mixed": list(run.mixed),
                "answered": dict(run.answered),
                "expected": dict(run.expected),
                "logs": list(run.logs),
                "faults": list(run.faults),
                "runs": list(run.provenance),
            }
            for run in found.runs
        ],
    }
