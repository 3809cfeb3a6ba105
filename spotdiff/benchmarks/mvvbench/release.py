"""Reads the release form of MVVBench, and the videos of the user's own copies of the three data sets behind it.

The release holds `all_questions.json` and `video_mapping.csv` (or the same as .gz), in its folder or one level below,
and no video. `all_questions.json` is an object, sample -> list of questions with the fields `views`, `question`,
`choices`, `correct_answer`, `category`, `static_or_dynamic`, and, where they are known, `gt_answer_text`,
`timestamp_start` and `timestamp_end`. `video_mapping.csv` says which file of which data set a view is.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spotdiff.benchmarks.mvvbench.protocol import problems
from spotdiff.benchmarks.mvvbench.release_mapping import HIGHEST_VIEW, MAPPING, VideoMapping, read_mapping, target
from spotdiff.benchmarks.mvvbench.release_videos import Missing, Videos
from spotdiff.benchmarks.mvvbench.release_words import UNKNOWN_TIME, known_as, name_fault, seconds
from spotdiff.benchmarks.mvvbench.schema import CATEGORIES, MOTION
from spotdiff.data.checks import raise_problems
from spotdiff.data.lines import text_of
from spotdiff.errors import DataError, Problem
from spotdiff.question import LETTERS, without_letters

QUESTIONS = "all_questions.json"

Row = dict[str, Any]

_OUTCOME = "nothing was prepared"
_TIMES = ("timestamp_start", "timestamp_end")

_RELEASED = {
    "options": "choices",
    "answer": "correct_answer",
    "motion": "static_or_dynamic",
    "start": _TIMES[0],
    "end": _TIMES[1],
}
"""Our columns that the release calls otherwise."""


@dataclass(frozen=True)
class Release:
    """rows: of the canonical schema. files: place in the data set's folder -> video. missing: views that were looked
    for and are not there.
    """

    rows: list[Row]
    files: Mapping[str, Path] = field(default_factory=dict)
    missing: Sequence[Missing] = ()


def read_release(folder: Path, videos: Mapping[str, Path] | None = None, *, all_views: bool = False) -> Release:
    """The questions, and the videos that they need as far as they are there.

    videos: name of a data set, one of SOURCES, -> the user's folder of it. Without any, no video is looked for.
    all_views: look for all views of each sample, not only for those that a question shows.
    Videos are not decoded: their frames are told by their packets. Raises DataError with every fault of both files,
    naming file, question or line, and field; and when there is none, with every fault of the videos, and every time
    that lies outside of them.
    """
    mapping = read_mapping(_found(folder, MAPPING))
    read = _Questions(_found(folder, QUESTIONS), mapping)
    raise_problems([*mapping.problems, *read.problems], str(folder), _OUTCOME)
    if not videos:
        return Release(read.rows)
    found = Videos(videos, mapping, read.rows, all_views=all_views)
    rows = [found.completed(row) for row in read.rows]
    outside = [fault for row in rows for fault in _row_problems(row, read.file)]
    raise_problems([*found.problems, *outside], str(folder), _OUTCOME)
    return Release(rows, found.files, found.missing)


def _found(folder: Path, name: str) -> Path:
    """The file of this name, compressed or not. Raises DataError unless there is one."""
    places = (folder, *sorted(entry for entry in folder.iterdir() if entry.is_dir()))
    files = [place / file for place in places for file in (name, f"{name}.gz") if (place / file).is_file()]
    if not files:
        raise DataError(f"{folder} holds no {name} or {name}.gz, nor does a folder in it")
    if len(files) > 1:
        raise DataError(f"{files[0]} and {files[1]} are both there. Leave one of them")
    return files[0]


class _Questions:
    """All questions as rows, without lengths of videos, and what is wrong with them."""

    def __init__(self, path: Path, mapping: VideoMapping) -> None:
        self.rows: list[Row] = []
        self.problems: list[Problem] = []
        self.file = str(path)
        self._mapping = mapping
        self._asked: dict[tuple[Any, ...], str] = {}
        for sample, entries in _samples(path).items():
            self._take(sample, entries)
        if not self.rows and not self.problems:
            raise DataError(f"{path} holds no questions")

    def _take(self, sample: str, entries: object) -> None:
        found = list(_sample_faults(sample, entries, self._mapping))
        self.problems += [Problem(self.file, f"sample {sample}", "sample", *fault) for fault in found]
        if not isinstance(entries, list) or found:
            return
        rows = [row for number, entry in enumerate(entries, start=1) if (row := self._row(sample, number, entry))]
        views = _views(sample, rows, self._mapping)
        self.rows += [_with_views(row, views) for row in rows]
        self.problems += [fault for row in rows for fault in _row_problems(_with_views(row, views), self.file)]

    def _row(self, sample: str, number: int, entry: Any) -> Row | None:
        """The row without its views' files, None where a field is missing or of another type."""
        place = f"{sample}-{number} (sample {sample})"
        faults = list(_shape_faults(entry))
        row = None if faults else _row(sample, number, entry, self._mapping)
        if row:
            faults = [*_value_faults(entry), *self._repeated(row)]
        self.problems += [Problem(self.file, place, *fault) for fault in faults]
        return row

    def _repeated(self, row: Row) -> Iterator[_Fault]:
        asked = (row["sample"], *row["views"], row["question"], *row["options"])
        if asked in self._asked:
            yield "question", f"it is that of {self._asked[asked]} again", "Leave one of them"
        self._asked.setdefault(asked, row["id"])


_Fault = tuple[str, str, str]


def _samples(path: Path) -> Mapping[str, object]:
    """Sample -> its list of questions, both unchecked."""
    try:
        samples = json.loads(text_of(path), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON as it should be ({error}). Fetch it again") from error
    if not isinstance(samples, dict):
        raise DataError(f"{path} holds no object of samples with their questions. Fetch it again")
    return samples


def _without_repeats(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """The object of these names and values; of two with one name the first would be lost."""
    repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if repeated:
        raise ValueError(f"{repeated[0]!r} stands twice in one object")
    return dict(pairs)


def _sample_faults(sample: str, entries: object, mapping: VideoMapping) -> Iterator[tuple[str, str]]:
    if fault := name_fault(sample):
        yield f"{sample!r} {fault}", "Name samples as files are named"
    elif sample not in mapping.samples:
        yield f"no line of {MAPPING} names it, so that its data set is not known", "Fetch both files again"
    if not isinstance(entries, list):
        yield "its value is not a list of questions", "Fetch the file again"


# --- one question -------------------------------------------------------------------------------------------------


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_written(value: object) -> bool:
    """Answers of counting questions may be numbers."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _are_views(value: object) -> bool:
    return isinstance(value, list) and all(type(view) is int and 0 <= view <= HIGHEST_VIEW for view in value)


def _are_choices(value: object) -> bool:
    return (
        isinstance(value, dict) and sorted(value) == [*LETTERS[: len(value)]] and all(map(_is_written, value.values()))
    )


_TEXT = (_is_text, "It holds text")
_SHAPES = {
    "views": (_are_views, f"It is a list of whole numbers from 0 to {HIGHEST_VIEW}"),
    "question": _TEXT,
    "choices": (_are_choices, "It holds a text for each letter, A, B and so on, without a gap"),
    "correct_answer": _TEXT,
    "category": _TEXT,
    "static_or_dynamic": _TEXT,
}


def _shape_faults(entry: object) -> Iterator[_Fault]:
    """Fields that are missing or of another type."""
    if not isinstance(entry, dict):
        yield "all", "this is not an object", "Fetch the file again"
        return
    for name, (fits, wanted) in _SHAPES.items():
        if name not in entry:
            yield name, "is missing", wanted
        elif not fits(entry[name]):
            yield name, f"{entry[name]!r} does not fit", wanted


def _row(sample: str, number: int, entry: Mapping[str, Any], mapping: VideoMapping) -> Row:
    start, end = (seconds(entry.get(name)) for name in _TIMES)
    return {
        "id": f"{sample}-{number}",
        "sample": sample,
        "source": mapping.source.get(sample, ""),
        "category": known_as(entry["category"], CATEGORIES),
        "motion": known_as(entry["static_or_dynamic"], MOTION),
        "question": entry["question"],
        "options": without_letters([str(entry["choices"][letter]) for letter in sorted(entry["choices"])]),
        "answer": _letter(entry),
        "views": entry["views"],
        "start": UNKNOWN_TIME if start is None or end is None else start,
        "end": UNKNOWN_TIME if start is None or end is None else end,
    }


def _views(sample: str, rows: Sequence[Row], mapping: VideoMapping) -> list[int]:
    """All views of a sample: those of the mapping, and those that a question shows all the same."""
    return sorted({*mapping.places.get(sample, ()), *(view for row in rows for view in row["views"])})


def _with_views(row: Row, numbers: Sequence[int]) -> Row:
    videos = [f"videos/{target(row['sample'], number)}" for number in numbers]
    nothing: Row = {"view_frames": [0] * len(numbers), "view_seconds": [0.0] * len(numbers)}
    return {**row, "view_numbers": list(numbers), "view_videos": videos, **nothing}


def _value_faults(entry: Mapping[str, Any]) -> Iterator[_Fault]:
    """What is wrong with values of the release that a row does not show any more."""
    letter, told = _letter(entry), entry.get("gt_answer_text")
    right = entry["choices"].get(letter)
    if told not in (None, "") and right is not None and not _same(told, right, letter):
        yield "gt_answer_text", f"{told!r} is not the text of {letter}, {right!r}", "Correct the text or the letter"
    times = [None if entry.get(name) == "" else entry.get(name) for name in _TIMES]
    if times == [None, None]:
        return
    for name, time in zip(_TIMES, times, strict=True):
        if seconds(time) is None:
            wanted = "Give both times in seconds from the start, or as mm:ss or hh:mm:ss, or neither"
            yield name, f"{time!r} is no time" if time is not None else "is missing beside the other one", wanted


def _letter(entry: Mapping[str, Any]) -> str:
    """The right letter, bare: `b`, ` B`, `B.` and `(B)` are B."""
    told = str(entry["correct_answer"])
    bare = told.strip(" .():")
    return bare.upper() if len(bare) == 1 else told


def _same(told: object, right: object, letter: str) -> bool:
    """Whether a text is that of the right option, or its letter, but for case, blanks, the letter and a full stop."""
    one, other = (_plain(text, letter) for text in (told, right))
    return one in (other, letter.casefold())


def _plain(text: object, letter: str) -> str:
    bare = re.sub(rf"^\(?{letter}[.):]\s", "", str(text).strip())
    return "".join(bare.split()).casefold().rstrip(".")


def _row_problems(row: Row, file: str) -> list[Problem]:
    found = [replace(problem, field=_RELEASED.get(problem.field, problem.field)) for problem in problems(row, file)]
    # That of a sample whose data set is unknown is a fault of its lines in the mapping.
    return [problem for problem in found if row["source"] or problem.field != "source"]
