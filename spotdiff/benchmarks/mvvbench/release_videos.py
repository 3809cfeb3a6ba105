"""The videos of MVVBench in the user's own copies of the data sets that they come from."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from spotdiff.benchmarks.mvvbench.release_mapping import MAPPING, VideoMapping, target
from spotdiff.benchmarks.mvvbench.release_words import source_of
from spotdiff.benchmarks.mvvbench.schema import SOURCES
from spotdiff.errors import DataError, Problem, SettingError
from spotdiff.media.video import probe

MISSING_FILE = "missing_views.csv"

Row = Mapping[str, Any]

_View = tuple[str, int]
"""Sample and number."""


@dataclass(frozen=True)
class Missing:
    """A view that is not there. dataset: one of SOURCES. questions: how many show it. reason: names no folder of the
    user's.
    """

    sample: str
    view: int
    dataset: str
    target: str
    questions: int
    reason: str


@dataclass(frozen=True)
class _Length:
    frames: int
    seconds: float


def video_folders(texts: Iterable[str]) -> dict[str, Path]:
    """Data set, one of SOURCES, -> the user's folder of it, from texts `DATASET=DIR`. Raises SettingError."""
    folders: dict[str, Path] = {}
    for text in texts:
        name, equals, place = text.partition("=")
        source = source_of(name)
        if not equals or not place:
            raise SettingError(f"--videos-from {text}: name a data set and its folder, as in {SOURCES[0]}=DIR")
        if source is None:
            raise SettingError(f"--videos-from {text}: there is no data set {name!r}. Known: {', '.join(SOURCES)}")
        if source in folders:
            raise SettingError(f"--videos-from names {source} twice: {folders[source]} and {place}")
        folders[source] = Path(place).expanduser()
        if not folders[source].is_dir():
            raise SettingError(f"--videos-from {text}: there is no folder {folders[source]}")
    return folders


def missing_table(missing: Sequence[Missing]) -> str:
    """The content of a CSV file, a line for each view."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [item.name for item in fields(Missing)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(asdict, missing))
    return text.getvalue()


class Videos:
    """Those of the views that are taken along: where they lie, how long they are, and which are missing.

    files: place in the data set's folder -> the user's file. problems: of files that are there and no video.
    """

    def __init__(
        self, folders: Mapping[str, Path], mapping: VideoMapping, rows: Sequence[Row], *, all_views: bool
    ) -> None:
        self._folders, self._mapping = folders, mapping
        self.missing: list[Missing] = []
        sources: dict[_View, Path] = {}
        shown = Counter((row["sample"], view) for row in rows for view in row["views"])
        taken = {(row["sample"], view) for row in rows for view in row["view_numbers" if all_views else "views"]}
        for view in sorted(taken):
            found = self._file(*view)
            if isinstance(found, Path):
                sources[view] = found
            else:
                self.missing.append(Missing(*view, mapping.source[view[0]], target(*view), shown[view], found))
        self._lengths, self.problems = _probed(sources)
        self.files = {f"videos/{target(*view)}": path for view, path in sources.items()}

    def _file(self, sample: str, view: int) -> Path | str:
        """The user's file of a view, or why there is none."""
        source = self._mapping.source[sample]
        places = self._mapping.places[sample].get(view)
        if places is None:
            return f"not in {MAPPING}"
        if source not in self._folders:
            return f"no --videos-from for {source}"
        candidates = [self._folders[source] / place for place in places]
        return next(filter(os.path.isfile, candidates), f"no such file: {' or '.join(places)}")

    def completed(self, row: Row) -> dict[str, Any]:
        """The row with the lengths of those of its views that are there."""
        nothing = _Length(0, 0.0)
        lengths = [self._lengths.get((row["sample"], view), nothing) for view in row["view_numbers"]]
        return {
            **row,
            "view_frames": [length.frames for length in lengths],
            "view_seconds": [length.seconds for length in lengths],
        }


def _probed(sources: dict[_View, Path]) -> tuple[dict[_View, _Length], list[Problem]]:
    """The lengths of all videos; each file is looked at once, several at a time."""
    first = {path: view for view, path in reversed(sources.items())}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        outcomes = dict(zip(first, _counted(pool.map(_outcome, first), len(first)), strict=True))
    found = [
        Problem(str(path), f"{first[path][0]}, view {first[path][1]}", "video", *outcome)
        for path, outcome in outcomes.items()
        if not isinstance(outcome, _Length)
    ]
    lengths = {view: outcome for view, path in sources.items() if isinstance(outcome := outcomes[path], _Length)}
    return lengths, found


def _outcome(path: Path) -> _Length | tuple[str, str]:
    """How long a video is, or what is wrong with it and how to mend it."""
    try:
        info = probe(path)
    except DataError as error:
        message, _, remedy = str(error).removeprefix(f"{path}: ").partition(". ")
        return message, remedy
    except OSError as error:
        return f"the file cannot be read ({error.strerror})", "Correct its permissions"
    return _Length(info.frames, info.times[-1])


def _counted(outcomes: Iterable[Any], total: int) -> Iterable[Any]:
    """The same, with a line on stderr that tells how many there were; on a terminal it is kept up to date."""
    for number, outcome in enumerate(outcomes, start=1):
        if number == total or sys.stderr.isatty():
            end = "\n" if number == total else "\r"
            print(f"spotdiff: {number:,} of {total:,} videos looked at", end=end, file=sys.stderr, flush=True)
        yield outcome
