"""The questions of a TSV of the official release: its prompts, taken apart again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from spotdiff.benchmarks.m4bench.official_entries import STATES, Entry, Fault, config_of
from spotdiff.benchmarks.m4bench.official_images import Source, Stored, stored
from spotdiff.benchmarks.m4bench.official_text import letter_of, recover, split_prompt, split_query
from spotdiff.benchmarks.m4bench.official_tsv import IMAGES, Record
from spotdiff.errors import Problem


@dataclass
class Asked:
    """Questions, what is wrong with others, and what is to be said of all."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def asked_in(records: Sequence[Record], part: str, folder: Path) -> Asked:
    """The questions of the TSV of a part. folder: of the release, where images are that the TSV does not hold.

    A question that the TSV holds without and with a visual prompt becomes one. Its id is the index of the first.
    """
    asked = Asked()
    tail = _common_tail(records)
    if tail:
        asked.notes.append(f"{records[0].file.name}: behind the options, each prompt says {tail!r}, which is left out.")
    for record in records:
        try:
            asked.entries.append(_entry(record, part, folder, tail))
        except Fault as fault:
            asked.problems.append(fault.problem(str(record.file), record.index))
    asked.entries = _joined(asked)
    return asked


def _common_tail(records: Sequence[Record]) -> str:
    """What all prompts say behind the line of their last option, if there are several and they say the same."""
    tails = set()
    for record in records:
        try:
            _, line, behind = split_query(record.query)[1][-1].partition("\n")
        except Fault:
            return ""
        tails.add(line + behind)
    return tails.pop() if len(tails) == 1 and len(records) > 1 else ""


def _entry(record: Record, part: str, folder: Path, tail: str) -> Entry:
    question, options = split_query(record.query.removesuffix(tail))
    config = config_of(part, question, *record.names)
    images = _source(record, 0, folder), _source(record, 1, folder)
    sizes = [image.size for image in images]
    asked = recover(question, sizes, "query")
    texts = [recover(option, sizes, "query") for option in options]
    visual, plain = split_prompt(asked.template, "query") if asked.boxes else ("", asked.template)
    return Entry(
        str(record.file),
        record.index,
        config,
        f"{plain.rstrip(' ')} " if config in STATES else plain,
        [text.template for text in texts],
        [text.boxes for text in texts],
        letter_of(record.response, options, "response"),
        record.names,
        visual,
        asked.boxes,
        sizes,
        images,
        sum(found.inexact for found in (asked, *texts)),
    )


def _source(record: Record, number: int, folder: Path) -> Source:
    image = record.images[number]
    if image:
        return image
    path = stored(folder, record.names[number])
    if path is None:
        raise Fault(IMAGES[number], "is empty, and the folder does not hold the file either")
    try:
        return Stored.of(path)
    except ValueError as error:
        raise Fault(IMAGES[number], f"{path}: {error}") from error


def _joined(asked: Asked) -> list[Entry]:
    """Both forms of a question in one entry; where there are both, a question that lacks one is a fault."""
    plain = [entry for entry in asked.entries if not entry.visual_prompt]
    prompted = defaultdict(list)
    for entry in asked.entries:
        if entry.visual_prompt:
            prompted[_same(entry)].append(entry)
    if not plain or not prompted:
        return asked.entries
    joined = []
    for entry in plain:
        others = prompted[_same(entry)]
        if others:
            other = others.pop(0)
            inexact = entry.inexact + other.inexact
            joined.append(replace(other, id=entry.id, inexact=inexact))
        else:
            asked.problems.append(_lonely(entry, "with"))
    asked.problems += [_lonely(entry, "without") for others in prompted.values() for entry in others]
    return joined


def _same(entry: Entry) -> tuple[object, ...]:
    """What both forms of a question share."""
    images = [image.digest for image in entry.images or ()]
    return entry.config, entry.question, *entry.options, str(entry.option_boxes), entry.answer, *images


def _lonely(entry: Entry, lacking: str) -> Problem:
    message = f"there are questions without and with a visual prompt, and this one is not there {lacking} it"
    return Problem(entry.file, entry.id, "query", message, "Give both forms of each question, or one form of all")
