"""Which columns of a table hold which field, and reading them.

A column may be named as `meta.scene`, the entry `scene` in the column `meta` (in each object where that is a list of
them), and as `images[-4:]`, the last four of a list.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from spotdiff.benchmarks.egoexo_next.release_files import Record
from spotdiff.benchmarks.egoexo_next.release_images import is_image
from spotdiff.benchmarks.egoexo_next.release_words import CHOICES, fold, shown, written
from spotdiff.question import LETTERS

NUMBERED = "#"
"""In a mapping, as the column of `id`: the name of the table and the number of the record."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "qid", "sample_id", "item_id", "uid"),
    "subtask": ("subtask", "subtask_id", "subtask_name", "task", "task_type", "question_type"),
    "direction": ("direction", "match_direction", "matching_direction", "view_direction"),
    "scene": ("scene", "scene_type", "setting", "environment"),
    "source": ("source", "data_source", "source_dataset", "dataset"),
    "clip": ("clip", "clip_id", "clip_name", "action_clip", "segment_id"),
    "group": ("group", "group_id", "matched_group", "matched_group_id"),
    "answer": (
        *("answer", "gold", "label", "correct", "gt", "ground_truth", "correct_answer", "gold_answer"),
        *("correct_option", "answer_letter", "answer_index", "answer_idx", "correct_index", "correct_idx"),
    ),
    "option_kinds": ("option_kinds", "option_types", "candidate_kinds", "candidate_types"),
    "future_candidates": ("future_candidates", "num_future_candidates", "num_future", "future_count", "n_future"),
    "observations": (
        *("observations", "observation", "observation_frames", "observation_images", "obs", "obs_frames"),
        *("frames", "keyframes", "input_frames", "input_images", "query", "query_image", "query_frame"),
    ),
    "options": ("options", "option_images", "candidates", "candidate_images", "candidate_frames", "choices"),
    "current_exo": ("current_exo", "exo_current", "oracle_current_exo"),
    "next_ego": ("next_ego", "ego_next", "next_state_ego", "oracle_next_ego"),
}
"""Field -> names of columns that hold it, where no mapping says otherwise; case and punctuation do not matter."""

_FAMILIES: Mapping[str, str] = {
    "observations": r"((?:observation|observed|obs|input|query|key)?(?:frame|image)?|observation|obs)(\d+)()",
    "options": r"((?:option|candidate|choice|opt)(?:image|img|frame)?|)([a-d]|\d)((?:image|img|frame|path|file)?)",
}
"""Field -> folded names of several columns that hold one image each: what is common, the number or letter, the end."""

NEEDED = ("id", "subtask", "scene", "answer")
NEEDED_IMAGES = ("observations", "options")

_EXAMPLES: Mapping[str, str] = {
    "observations": 'observations = "COLUMN" (a list) or observations = ["COLUMN 1", "COLUMN 2", ...]',
    "options": 'options = "COLUMN" (a list) or options = ["COLUMN A", "COLUMN B", "COLUMN C", "COLUMN D"]',
    "id": f'id = "COLUMN", or id = "{NUMBERED}" to number the questions of each file',
    **{
        name: f'{name} = "COLUMN"; or, below [files."TABLE"], {name} = "{CHOICES[name][0]}"'
        for name in ("subtask", "direction", "scene")
    },
}


class Unclear(Exception):
    """Two columns fit a field."""


def named(columns: Collection[str], name: str, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the columns that a mapping names for a field which a table has, () where it has too few."""
    there = tuple(entry for entry in chosen if entry == NUMBERED or root(entry, columns) is not None)
    # One table of several may lack frames that its subtask does not have; half an id is none.
    return there if there == chosen or name in NEEDED_IMAGES else ()


def guessed(columns: Collection[str], name: str) -> tuple[str, ...]:
    """The columns that hold a field by their names, () where none does. Raises Unclear."""
    fitting: list[tuple[str, ...]] = [(column,) for column in columns if fold(column) in map(fold, NAMES[name])]
    fitting += _families(columns, name)
    if len(fitting) > 1:
        raise Unclear("; ".join(" + ".join(entry) for entry in fitting))
    return fitting[0] if fitting else ()


def _families(columns: Collection[str], name: str) -> list[tuple[str, ...]]:
    """Columns that hold one image each and differ in a number or letter alone, in that order."""
    if name not in _FAMILIES:
        return []
    found: dict[tuple[str, str, bool], dict[str, str]] = {}
    for column in columns:
        match = re.fullmatch(_FAMILIES[name], fold(column))
        if match and (match[1] or match[2].isalpha()):
            family = found.setdefault((match[1], match[3], match[2].isdigit()), {})
            if match[2] in family:
                raise Unclear(f"{family[match[2]]}; {column}")
            family[match[2]] = column
    whole = {"abcd", "1234", "0123", *("01" if name == "observations" else "")}
    return [tuple(entry[key] for key in sorted(entry)) for entry in found.values() if "".join(sorted(entry)) in whole]


def looked_for(name: str) -> str:
    """The names under which a field is looked for, for messages."""
    families = {"observations": ", frame_1 to frame_4 and the like", "options": ", option_a to option_d and the like"}
    return ", ".join(NAMES[name]) + families.get(name, "")


def example(name: str, table: str) -> str:
    """Lines of a mapping that say where a field is."""
    return _EXAMPLES.get(name, f'{name} = "COLUMN"').replace("TABLE", table)


# --- reading a column ---------------------------------------------------------------------------------------------

_SLICE = re.compile(r"(.+)\[(-?\d*):(-?\d*)\]")


def root(name: str, columns: Collection[str]) -> str | None:
    """The column that a name in a mapping begins at, None where the table has none."""
    sliced = _SLICE.fullmatch(name)
    whole = sliced[1] if sliced and name not in columns else name
    return next((entry for entry in (whole, whole.split(".")[0]) if entry in columns), None)


def pick(record: Record, name: str) -> Any:
    """What a record holds under a name of a mapping; None where it holds nothing."""
    if name in record:
        return record[name]
    sliced = _SLICE.fullmatch(name)
    if sliced:
        value = pick(record, sliced[1])
        start, end = (int(bound) if bound else None for bound in sliced.groups()[1:])
        return value[start:end] if isinstance(value, list) else value
    value = record
    for step in name.split("."):
        value = _within(value, step)
    return value


def _within(value: Any, step: str) -> Any:
    if isinstance(value, list):
        return [_within(entry, step) for entry in _by_letter(value)]
    return value.get(step) if isinstance(value, Mapping) else None


_LETTER_NAMES = ("label", "letter", "key", "option", "option_id", "id")


def _by_letter(entries: list[Any]) -> list[Any]:
    """Objects that carry letters of their own, A, B, C and so on, in the order of these; others as they come."""
    wanted = list(LETTERS[: len(entries)])
    for name in _LETTER_NAMES:
        letters = [str(entry.get(name)).strip().upper() if isinstance(entry, Mapping) else "" for entry in entries]
        if sorted(letters) == wanted:
            return [entries[letters.index(letter)] for letter in wanted]
    return entries


def is_empty(value: Any) -> bool:
    """Whether a cell holds nothing; a column of numbers with gaps holds NaN in them."""
    return value is None or value != value or (isinstance(value, (str, bytes, list)) and not value)


def text_of(record: Record, names: tuple[str, ...]) -> str:
    """The text in a column, joined by `-` where there are several; "" where there is none.

    Raises ValueError when a column holds neither text nor a number.
    """
    values = [value for value in (pick(record, name) for name in names) if not is_empty(value)]
    for value in values:
        if not isinstance(value, (str, int, float)):
            raise ValueError(f"{shown(value)} is neither text nor a number")
    return "-".join(written(value).strip() for value in values)


def cells(record: Record, names: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Name and content of each cell of a list: of a list column, of an object by letter, of several columns.

    Raises ValueError where an object has other letters than A, B, C and so on.
    """
    found = []
    for name in names:
        value = pick(record, name)
        if isinstance(value, list):
            found += [(f"{name}[{place}]", entry) for place, entry in enumerate(value)]
        elif isinstance(value, Mapping) and not is_image(value):
            found += [(f"{name}.{key}", value[key]) for key in _letters(value)]
        elif not (len(names) == 1 and is_empty(value)):
            found.append((name, value))
    return found


def _letters(value: Mapping[str, Any]) -> list[str]:
    keys = {fold(key): key for key in value}
    wanted = list(LETTERS[: len(value)].lower())
    if sorted(keys) != wanted:
        raise ValueError(f"its keys {', '.join(map(str, value))} are not A, B, C and so on")
    return [keys[letter] for letter in wanted]
