"""What is odd about a data set and no fault of it: worth knowing before its scores are believed."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.data.store import stream_rows
from spotdiff.evaluation import SETTING_COLUMN, Evaluation
from spotdiff.question import LETTERS, Question
from spotdiff.reporting import listed
from spotdiff.tasks import Benchmark, Task

if TYPE_CHECKING:
    from PIL import Image as PILImage

_SIDE = 32
_ALIKE = 2
"""Two images are nearly the same where no cell of a 32 x 32 grid differs by more than this in brightness, 0 to 255."""

_CRITICAL = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52}
"""Degrees of freedom -> chi-square that a balanced data set exceeds once in 1,000."""

_OURS = {"README.md", "missing_views.csv"}

Row = Mapping[str, Any]


def oddities(benchmark: Benchmark, folder: Path, tasks: Iterable[Task]) -> Iterator[str]:
    """A line for each oddity, with questions and fields. Decodes the images of options once more.

    tasks: one for each config, whose rows and images are whole.
    """
    named: set[str] = set()
    for task in tasks:
        evaluation = Evaluation.of(task)
        # How boxes are written does not matter here, and no model's name tells it.
        evaluation = replace(evaluation, settings=replace(evaluation.settings, box_family="pixels"))
        for setting in task.settings:
            seen = _Seen(benchmark, setting.config)
            for row in stream_rows(folder, setting.config):
                seen.take(row, evaluation.question({**row, SETTING_COLUMN: setting.name}))
                named.update(benchmark.videos_of(row))
            yield from seen.oddities()
    yield from _unnamed(folder, named)


class _Seen:
    """What is kept of the questions of one config, which go by one after the other."""

    def __init__(self, benchmark: Benchmark, config: str) -> None:
        self._benchmark, self._config = benchmark, config
        self._same: list[str] = []
        self._alike: list[str] = []
        self._letters: dict[int, Counter[str]] = {}
        """Number of options -> letters that are right, over questions with one right letter."""
        self._by_name: dict[str, Counter[str]] = {}
        """File names as they are stored with the images of a question, digits aside -> right letters."""

    def take(self, row: Row, asked: Question) -> None:
        if _repeats(asked):
            self._same.append(asked.id)
        self._alike += [f"{asked.id}, field options ({letters})" for letters in _nearly_same(asked)]
        if len(asked.gold) == 1:
            self._letters.setdefault(len(asked.options), Counter()).update(asked.gold)
        name = _names(row, self._benchmark)
        if name:
            self._by_name.setdefault(name, Counter()).update(asked.gold[:1])

    def oddities(self) -> Iterator[str]:
        if self._same:
            yield f"{listed(self._same)}, field options: two options say the same"
        if self._alike:
            yield f"{listed(self._alike)}: two options show nearly the same image"
        for options, found in self._letters.items():
            yield from self._unbalanced(options, found)
        yield from self._told_by_names()

    def _unbalanced(self, options: int, found: Counter[str]) -> Iterator[str]:
        expected = found.total() / options
        letters = LETTERS[:options]
        chi_square = sum((found[letter] - expected) ** 2 / expected for letter in letters)
        if chi_square > _CRITICAL.get(options - 1, float("inf")):
            shown = ", ".join(f"{letter} {found[letter]}" for letter in letters)
            yield f"{self._config}, field answer: right letters are not balanced ({options} options: {shown})"

    def _told_by_names(self) -> Iterator[str]:
        """File names that are stored, and whether they tell the right letter better than the most frequent one does."""
        if not self._by_name:
            return
        fields = ", ".join(self._benchmark.image_columns)
        yield f"{self._config}, fields {fields}: file names are stored with the images; no model sees them"
        shared = [found for found in self._by_name.values() if found.total() > 1]
        told = sum(found.most_common(1)[0][1] for found in shared)
        total = sum(found.total() for found in shared)
        base = sum(shared, Counter()).most_common(1)[0][1] / total if total else 1.0
        if total and told / total > max(0.9, (1 + base) / 2):
            yield f"{self._config}, fields {fields}: file names tell the right letter in {told} of {total} questions"


def _repeats(asked: Question) -> bool:
    told = [(option.text.strip().casefold(), option.boxes) for option in asked.options if option.text is not None]
    return len(set(told)) < len(told)


def _nearly_same(asked: Question) -> Iterator[str]:
    """Pairs of letters, such as `A, C`."""
    small = {option.letter: _small(option.image.open()) for option in asked.options if option.image is not None}
    for (first, ours), (second, theirs) in itertools.combinations(small.items(), 2):
        if max(abs(one - other) for one, other in zip(ours, theirs, strict=True)) <= _ALIKE:
            yield f"{first}, {second}"


def _small(image: PILImage.Image) -> bytes:
    return image.convert("L").resize((_SIDE, _SIDE)).tobytes()


def _names(row: Row, benchmark: Benchmark) -> str:
    stored = (row.get(column) for column in benchmark.image_columns)
    names = (str(value.get("path") or "") for value in stored if isinstance(value, Mapping))
    return " ".join(re.sub(r"\d+", "", name) for name in names).strip()


def _unnamed(folder: Path, named: set[str]) -> Iterator[str]:
    files = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file())
    others = [
        str(path)
        for path in files
        if path.suffix != ".parquet"
        and path.name not in _OURS
        and not any(part.startswith(".") for part in path.parts)
        and path.as_posix() not in named
    ]
    if others:
        yield f"{listed(others)}: no row names these files"
