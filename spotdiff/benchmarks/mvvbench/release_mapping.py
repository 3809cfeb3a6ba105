"""Reads MVVBench's video_mapping.csv: which file of which data set each view of a sample is."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from spotdiff.benchmarks.mvvbench.release_words import name_fault, path_fault, source_of
from spotdiff.benchmarks.mvvbench.schema import SOURCES
from spotdiff.data.lines import lines_of
from spotdiff.errors import DataError, Problem

MAPPING = "video_mapping.csv"
HIGHEST_VIEW = 9999

_COLUMNS = ("sample_name", "view", "dataset", "source_rel_path", "source_file")
_RELATIVE = "Give a path relative to the data set's folder, with /"

_Line = Mapping[str, str]


@dataclass
class VideoMapping:
    """source: sample -> one of SOURCES. places: sample -> number of a view -> where its file may lie in the folder of
    its data set, in the order in which it is looked for. samples: all that are named, in lines with a fault too.
    """

    source: dict[str, str] = field(default_factory=dict)
    places: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict)
    samples: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


def target(sample: str, view: int) -> str:
    """The name of a view's file in MVVBench."""
    return f"{sample}_view{view}.mp4"


def read_mapping(path: Path) -> VideoMapping:
    """The whole table, with the faults of its lines. Raises DataError when it cannot be read as a table."""
    mapping = VideoMapping()
    first: dict[tuple[str, int] | str, str] = {}
    for place, line in _lines(path, mapping.problems):
        sample, view = line["sample_name"], _view(line["view"])
        mapping.samples.add(sample)
        source = source_of(line["dataset"])
        faults = [*_faults(line, view, source), *_contradictions(sample, view, source, mapping, first)]
        row = f"{sample}, view {line['view']}"
        mapping.problems += [Problem(place, row, name, message, remedy) for name, message, remedy in faults]
        if view is not None and source is not None and not faults:
            mapping.source[sample] = source
            mapping.places.setdefault(sample, {})[view] = _places(line)
            number = place.rpartition(", ")[2]
            first[sample, view] = number
            first.setdefault(sample, number)
    if not mapping.samples and not mapping.problems:
        raise DataError(f"{path} maps no view. Fetch it again")
    return mapping


def _lines(path: Path, problems: list[Problem]) -> Iterator[tuple[str, _Line]]:
    """Place and columns of each line; what cannot be taken apart is added to the problems."""
    lines = lines_of(path)
    place, head = next(lines, (str(path), ""))
    names = _cells(head)
    lacking = [name for name in _COLUMNS if names is None or name not in names]
    if names is None or lacking or len(set(names)) < len(names):
        found = "lacks " + ", ".join(lacking) if lacking else "names a column twice"
        raise DataError(f"{place}: the head of the table {found}. Its columns are target, {', '.join(_COLUMNS)}")
    for place, content in lines:
        cells = _cells(content)
        if cells is None or len(cells) != len(names):
            message = "this is not a value for each column of the head"
            problems.append(Problem(place, "?", "all", message, "Quote values that hold a comma"))
        else:
            yield place, dict(zip(names, cells, strict=True))


def _cells(line: str) -> list[str] | None:
    """The values of one line, None where quotes are open at its end."""
    try:
        return next(csv.reader([line], strict=True), None)
    except csv.Error:
        return None


def _view(text: str) -> int | None:
    number = re.fullmatch(r"[0-9]{1,4}", text.strip())
    return int(number[0]) if number else None


def _places(line: _Line) -> tuple[str, ...]:
    """Below the folder `source_rel_path`, or `source_rel_path` itself where that ends with the file already."""
    path, file = PurePosixPath(line["source_rel_path"]), PurePosixPath(line["source_file"])
    itself = [path] if path.parts[-len(file.parts) :] == file.parts else []
    return tuple(map(str, (path / file, *itself)))


_Fault = tuple[str, str, str]


def _faults(line: _Line, view: int | None, source: str | None) -> Iterator[_Fault]:
    """What is wrong with a line by itself."""
    sample = line["sample_name"]
    if fault := name_fault(sample):
        yield "sample_name", f"{sample!r} {fault}", "Name samples as files are named"
    if view is None:
        yield "view", f"{line['view']!r} is not a whole number from 0 to {HIGHEST_VIEW}", "Give the view's number"
    if source is None:
        yield "dataset", f"{line['dataset']!r} is unknown", f"Use one of: {', '.join(SOURCES)}"
    for name in ("source_rel_path", "source_file"):
        if fault := path_fault(line[name]):
            yield name, f"{line[name]!r} {fault}", _RELATIVE
    if view is not None and "target" in line and line["target"] != target(sample, view):
        message = f"{line['target']!r} is not the file of sample {sample!r}, view {view}"
        yield "target", message, f"It is {target(sample, view)}"


def _contradictions(
    sample: str,
    view: int | None,
    source: str | None,
    mapping: VideoMapping,
    first: Mapping[tuple[str, int] | str, str],
) -> Iterator[_Fault]:
    """What is wrong with a line beside those before it. first: the line of each view and of each sample."""
    if view is not None and (sample, view) in first:
        yield "view", f"the view stands in {first[sample, view]} already", "Leave one line for each view"
    known = mapping.source.get(sample)
    if source and known and source != known:
        yield "dataset", f"the sample is of {known} in {first[sample]}, here of {source}", "Name one data set"
