"""Reads the official release of M4Bench (Anonymous8976/M4Bench on the Hub) into canonical rows.

It has five TSVs, of prompts and images in base64, and for each part a folder with `instruction*.json`, which has the
questions with boxes in pixels, and the images. Either is enough; of both, `instruction*.json` says what is asked. A
table `questions.jsonl` (see `questions`) comes before either.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spotdiff.benchmarks.m4bench.official_entries import Entry, Fault, Rows, part_of
from spotdiff.benchmarks.m4bench.official_images import Embedded, Source, Stored, released_name, stored
from spotdiff.benchmarks.m4bench.official_json import read_json
from spotdiff.benchmarks.m4bench.official_queries import asked_in
from spotdiff.benchmarks.m4bench.official_tsv import Record, read_tsv
from spotdiff.benchmarks.m4bench.protocol import pixel_problems, problems
from spotdiff.benchmarks.m4bench.questions import NAMES as TABLES
from spotdiff.benchmarks.m4bench.questions import read_questions
from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS
from spotdiff.benchmarks.m4bench.tables import SETTINGS
from spotdiff.data.checks import raise_problems
from spotdiff.errors import DataError, Problem
from spotdiff.tasks import Table

_JSON = "instruction*.json"


@dataclass(frozen=True)
class Release:
    """rows: config -> rows of the canonical schema. notes: what is to be said of them."""

    rows: Mapping[str, Rows]
    notes: Sequence[str] = ()


def read_official(folder: Path, *, images: bool = True) -> Release:
    """The questions of each part that the folder holds, in the order of its files.

    images: embed the images; without, the image columns are None. Files are read through once, which finds faults; the
    images are read again, one row's at a time, when the rows are taken. Images are not decoded, only their sizes.
    Raises DataError with every fault of all files, naming file, question and field.
    """
    if any((folder / name).is_file() for name in TABLES):
        return Release(read_questions(folder, images=images))
    reading = _Reading(folder, images)
    reading.read()
    raise_problems(reading.problems, str(folder), "nothing was prepared")
    rows = {config: _rows(entries, images=images) for config, entries in reading.entries.items()}
    return Release(rows, tuple(reading.notes()))


def _rows(entries: Sequence[Entry], *, images: bool) -> Rows:
    return Rows([entry.row() for entry in entries], [entry.images if images else None for entry in entries])


def counts(release: Release) -> Table:
    """How many questions of each setting the rows can ask, beside the paper's numbers."""
    body = []
    for setting in SETTINGS:
        rows = release.rows.get(setting.config)
        texts = rows.texts if rows else ()
        asked = sum(bool(row["visual_prompt"]) or not setting.options for row in texts)
        body.append((setting.title, asked, setting.questions))
    body.append(("all", sum(found for _, found, _ in body), sum(paper for _, _, paper in body)))
    lines = tuple((title, f"{found:,}", f"{paper:,}") for title, found, paper in body)
    return Table("M4Bench: questions read", ("setting", "questions", "paper"), lines, tuple(release.notes))


class _Reading:
    """What the files of a folder hold: entries by config, and problems."""

    def __init__(self, folder: Path, images: bool) -> None:
        self.entries: dict[str, list[Entry]] = {}
        self.problems: list[Problem] = []
        self._folder = folder
        self._images = images
        self._said: list[str] = []
        self._files = _Files.of(folder)

    def read(self) -> None:
        records = {part: self._records(path) for part, path in self._files.tsvs.items() if self._is_needed(part)}
        images = _Images(self._folder, records)
        found = defaultdict(list)
        for part, paths in self._files.jsons.items():
            instructions = [entry for path in paths for entry in self._instructions(path, part, images)]
            self.problems += _repeated(instructions)
            for entry in instructions:
                found[entry.config].append(entry)
        for part in records.keys() - self._files.jsons.keys():
            for entry in self._queries(records[part], part):
                found[entry.config].append(entry)
        order = dict.fromkeys(setting.config for setting in SETTINGS)
        self.entries = {config: found[config] for config in order if found[config]}
        for entries in self.entries.values():
            self.problems += _faults(entries)

    def notes(self) -> Iterator[str]:
        yield from self._said
        entries = [entry for found in self.entries.values() for entry in found]
        inexact = sum(bool(entry.inexact) for entry in entries)
        if inexact:
            yield (
                f"Boxes written in parts of a side that has more pixels: in {inexact:,} of {len(entries):,} questions. "
                "Where several pixels fit an edge, the middle one was taken."
            )
        others = [entry for entry in entries if not entry.is_worded_as_published()]
        if others:
            yield (
                f"Not worded as in the published prompts: {len(others):,} of {len(entries):,} questions, the first is "
                f"{others[0].id} of {others[0].config}. Their scores do not compare with published ones."
            )

    def _is_needed(self, part: str) -> bool:
        return self._images or part not in self._files.jsons

    def _records(self, path: Path) -> list[Record]:
        records, faults = read_tsv(path)
        self.problems += faults
        return records

    def _instructions(self, path: Path, part: str, images: _Images) -> Iterator[Entry]:
        entries, faults = read_json(path, part)
        self.problems += faults
        for entry in entries:
            try:
                yield images.given_to(entry, part) if self._images or _lacks_sizes(entry) else entry
            except Fault as fault:
                self.problems.append(fault.problem(entry.file, entry.id))

    def _queries(self, records: Sequence[Record], part: str) -> list[Entry]:
        asked = asked_in(records, part, self._folder)
        self.problems += asked.problems
        self._said += asked.notes
        return asked.entries


def _lacks_sizes(entry: Entry) -> bool:
    return entry.has_boxes and not entry.sizes


def _repeated(entries: Sequence[Entry]) -> Iterator[Problem]:
    for (_, name), count in Counter((entry.config, entry.id) for entry in entries).items():
        if count > 1:
            file = next(entry.file for entry in entries if entry.id == name)
            yield Problem(file, name, "id", f"appears {count} times", "Ids must be unique")


def _faults(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Of the rows that these entries of a config become."""
    for entry in entries:
        row = entry.row()
        faults = problems(row, entry.file)
        yield from faults
        if entry.images and not faults:
            sizes = {column: image.size for column, image in zip(IMAGE_COLUMNS, entry.images, strict=True)}
            yield from pixel_problems(row, sizes, entry.file)


@dataclass(frozen=True)
class _Files:
    """Part of the release -> its files."""

    jsons: Mapping[str, Sequence[Path]]
    tsvs: Mapping[str, Path]

    @classmethod
    def of(cls, folder: Path) -> _Files:
        """Raises DataError when there is none, or when there are several in each other's place."""
        jsons: dict[str, list[Path]] = {}
        for path in _below(folder, _JSON):
            part = part_of(folder.resolve().name, *path.relative_to(folder).parts[:-1])
            if part is None:
                raise DataError(f"{path}: no folder above it is named as a part of M4Bench. Keep the release's names")
            jsons.setdefault(part, []).append(path)
        tsvs = [(part, path) for path in _below(folder, "*.tsv") if (part := part_of(path.stem))]
        if not jsons and not tsvs:
            raise DataError(f"{folder} holds no {' or '.join((*TABLES, _JSON))}, and no TSV of M4Bench")
        named = [(part, path.name, path) for part, paths in jsons.items() for path in paths]
        for one, other in _pairs([*named, *((part, "", path) for part, path in tsvs)]):
            raise DataError(f"{one} and {other} are both there. Name the folder of one of them")
        return cls(jsons, dict(tsvs))


def _below(folder: Path, pattern: str) -> list[Path]:
    """The files of this name in the folder, at any depth, but not in hidden folders, where downloads are kept."""
    found = sorted(folder.rglob(pattern))
    return [path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def _pairs(files: Iterable[tuple[str, str, Path]]) -> Iterator[tuple[Path, Path]]:
    """Files with the same part and name."""
    seen: dict[tuple[str, str], Path] = {}
    for part, name, path in files:
        if (part, name) in seen:
            yield seen[part, name], path
        seen[part, name] = path


class _Images:
    """Finds the images of the release: in the TSVs by their paths or else by the question's id, or as files."""

    def __init__(self, folder: Path, records: Mapping[str, Sequence[Record]]) -> None:
        self._folder = folder
        self._by_index = {(part, record.index): record for part, found in records.items() for record in found}
        self._by_name: dict[str, dict[str, Embedded]] = {}
        for record in self._by_index.values():
            for name, image in zip(record.names, record.images, strict=True):
                if image:
                    self._by_name.setdefault(released_name(name), {})[image.digest] = image

    def given_to(self, entry: Entry, part: str) -> Entry:
        """The entry with its images, and with their sizes if it had none. Raises Fault."""
        images = self._of_same_index(entry, part) or (self._named(entry.names[0]), self._named(entry.names[1]))
        return replace(entry, images=images, sizes=entry.sizes or [image.size for image in images])

    def _named(self, name: str) -> Source:
        known = self._by_name.get(released_name(name), {})
        if len(known) > 1:
            raise Fault("images", f"the TSVs hold {len(known)} different images as {name}")
        for image in known.values():
            return image
        path = stored(self._folder, name)
        if path is None:
            raise Fault("images", f"no TSV and no file holds {name}", "Fetch the images of the release")
        try:
            return Stored.of(path)
        except ValueError as error:
            raise Fault("images", f"{path}: {error}") from error

    def _of_same_index(self, entry: Entry, part: str) -> tuple[Source, Source] | None:
        """The images of the line whose index is the question's id, where the TSV calls its images otherwise."""
        record = self._by_index.get((part, entry.id))
        if record is None or any(released_name(name) in self._by_name for name in entry.names):
            return None
        first, second = record.images
        if first is None or second is None:
            return None
        if record.response.strip() != entry.answer:
            raise Fault("id", f"{record.file} has another right answer under this index")
        return first, second
