"""What a measurement gives, and how all of them are shown."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_PACKAGES = ("spotdiff", "lmms-eval", "ms-vlmeval", "torch", "transformers", "numpy", "pillow", "av", "decord")


@dataclass(frozen=True)
class Options:
    """What the command line asks for. tiny: models of next to no size, which measure nothing."""

    questions: int
    runs: int
    tiny: bool = False


@dataclass(frozen=True)
class Row:
    """One number of ours beside one of the other way, both in `unit`, each the median of `runs` runs."""

    name: str
    ours: float
    other: float
    unit: str
    runs: int
    note: str

    @property
    def ratio(self) -> float:
        """ours / other."""
        return self.ours / self.other


def as_table(rows: Sequence[Row]) -> str:
    """A table of all rows, then the notes, the machine and the versions."""
    head = ("measured", "ours", "other", "ours / other", "unit", "runs")
    body = [
        (row.name, f"{row.ours:.4g}", f"{row.other:.4g}", f"{row.ratio:.2f}", row.unit, str(row.runs)) for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (head, *body)]
    rule = " | ".join("-" * width for width in widths)
    notes = [f"{row.name}: {row.note}" for row in rows if row.note]
    versions = ", ".join(f"{name} {version}" for name, version in _versions().items())
    return "\n".join([*(f"| {line} |" for line in (lines[0], rule, *lines[1:])), "", *notes, _machine(), versions])


def write_json(rows: Sequence[Row], target: Path) -> None:
    """A list with one object a row: its fields, the ratio, the machine and the versions."""
    beside = {"machine": _machine(), "versions": _versions()}
    target.parent.mkdir(parents=True, exist_ok=True)
    entries = [{**asdict(row), "ratio": row.ratio, **beside} for row in rows]
    target.write_text(json.dumps(entries, indent=2) + "\n")


def _machine() -> str:
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{processor or platform.machine()}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
