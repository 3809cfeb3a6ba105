"""From an official release to the canonical folder that all tasks read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.data.write import write_data_set
from spotdiff.errors import DataError, SettingError
from spotdiff.settings import load_settings

if TYPE_CHECKING:
    from datasets import Features


@dataclass(frozen=True)
class _Content:
    """Config -> rows, their columns, and files by their place in the data set's folder."""

    configs: Mapping[str, Sequence[Mapping[str, Any]]]
    features: Features
    files: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class _Release:
    """How a release is read.

    read(folder, media) gives its content. missing: what is said where no folder was named.
    """

    read: Callable[[Path, bool], _Content]
    missing: str


def prepare(name: str, source: Path | None, *, images: bool = True) -> Path:
    """Read the release of a data set in `source` and write it below the data folder, whole or not at all.

    images: take images and videos along; questions alone are enough for models that look at none.
    Returns the folder. Raises SpotdiffError on an unknown name, or naming what is wrong in the release.
    """
    if name not in _RELEASES:
        raise SettingError(f"There is no data set {name!r} to prepare. Known: {', '.join(_RELEASES)}")
    if source is None:
        raise DataError(f"{_RELEASES[name].missing}. Name the folder of the release: data prepare {name} --from DIR")
    if not source.is_dir():
        raise DataError(f"There is no folder {source}")
    folder = load_settings().data / name
    content = _RELEASES[name].read(source, images)
    write_data_set(folder, content.configs, content.features, content.files)
    if images:
        _check(name, folder)
    return folder


def _check(name: str, folder: Path) -> None:
    """Decode all media once, so that the first run need not. Raises DataError: the data are there, but not whole."""
    from spotdiff.evaluation import Evaluation
    from spotdiff.tasks import benchmarks

    checked: set[str] = set()
    for task in benchmarks()[name].tasks:
        configs = {setting.config for setting in task.settings}
        if task.data == name and not configs <= checked and all((folder / config).is_dir() for config in configs):
            Evaluation.of(task).check_media()
            checked |= configs


def _m4bench(source: Path, images: bool) -> _Content:
    from spotdiff.benchmarks.m4bench.questions import read_questions
    from spotdiff.benchmarks.m4bench.schema import features

    return _Content(read_questions(source, images=images), features())


def _m3verse(source: Path, videos: bool) -> _Content:
    from spotdiff.benchmarks.m3verse.release import read_release
    from spotdiff.benchmarks.m3verse.schema import features

    rows, files = read_release(source, videos=videos)
    return _Content(rows, features(), files)


_RELEASES: Mapping[str, _Release] = {
    "m4bench": _Release(_m4bench, "There is no folder to read M4Bench from"),
    "m3verse": _Release(
        _m3verse, "There is no public repository of M3-Verse's questions and videos that we know of to fetch"
    ),
}
