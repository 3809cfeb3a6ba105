"""From an official release to the canonical folder that all tasks read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from spotdiff.data.write import write_data_set
from spotdiff.errors import DataError, SettingError
from spotdiff.settings import load_settings


def prepare(name: str, source: Path, *, images: bool = True) -> Path:
    """Read the release of a data set in `source` and write it below the data folder, whole or not at all.

    images: embed the images; questions alone are enough for models that look at none.
    Returns the folder. Raises SpotdiffError on an unknown name, or naming what is wrong in the release.
    """
    if name not in _READERS:
        raise SettingError(f"There is no data set {name!r} to prepare. Known: {', '.join(_READERS)}")
    if not source.is_dir():
        raise DataError(f"There is no folder {source}")
    folder = load_settings().data / name
    rows, features = _READERS[name](source, images)
    write_data_set(folder, rows, features)
    return folder


def _m4bench(source: Path, images: bool) -> tuple[Mapping[str, list[dict[str, Any]]], Any]:
    from spotdiff.benchmarks.m4bench.questions import read_questions
    from spotdiff.benchmarks.m4bench.schema import features

    return read_questions(source, images=images), features()


_READERS: Mapping[str, Callable[[Path, bool], tuple[Mapping[str, list[dict[str, Any]]], Any]]] = {"m4bench": _m4bench}
