"""The controls of Table 2 that need a choice: another order of the frames, the frames of another sample.

Both are pure functions of a seed and of ids, drawn by hashes: the same on every machine and in every version of Python,
whatever the order of the rows or the number of workers.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from spotdiff.draws import drawn, drawn_below
from spotdiff.errors import DataError


def shuffled_order(count: int, seed: int, key: str) -> tuple[int, ...]:
    """An order of `count` (two or more) frames, never the given one; each other order is equally likely."""
    orders = list(itertools.permutations(range(count)))[1:]
    return orders[drawn_below(len(orders), seed, key)]


def donors(rows: Iterable[Mapping[str, Any]], seed: int) -> dict[str, str]:
    """Id of each row -> id of the row whose observations it gets, of the same source and scene, never itself.

    Within a source and scene every row lends once. It lends to a row of another clip, unless more than half of those
    rows are of one clip. A row that is alone in its source and scene gets another source's of the same scene.

    rows: one subtask (and direction), with `id`, `clip`, `scene` and `source`.
    Raises DataError when a scene has one row alone.
    """
    rows = sorted(rows, key=lambda row: (drawn(seed, row["clip"]), drawn(seed, row["id"])))
    by_split: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        by_split.setdefault((row["scene"], row["source"]), []).append(row)
    chosen: dict[str, str] = {}
    for (scene, _), split in by_split.items():
        if len(split) > 1:
            chosen |= _turned(split)
        else:
            chosen |= _from_other_sources(split[0], [row for row in rows if row["scene"] == scene], seed)
    return chosen


def _turned(split: list[Mapping[str, Any]]) -> dict[str, str]:
    """Turn the ring of rows, in which each clip is one arc, by the length of the longest arc."""
    longest = max(Counter(row["clip"] for row in split).values())
    step = longest if 2 * longest <= len(split) else max(1, len(split) // 2)
    return {row["id"]: split[(place + step) % len(split)]["id"] for place, row in enumerate(split)}


def _from_other_sources(row: Mapping[str, Any], of_scene: list[Mapping[str, Any]], seed: int) -> dict[str, str]:
    others = [other for other in of_scene if other["id"] != row["id"]]
    if not others:
        raise DataError(
            f"question {row['id']}: it is the only one of its subtask that is {row['scene']}, so that no other "
            "observation can take the place of its own. Prepare the whole data set"
        )
    fitting = [other for other in others if other["clip"] != row["clip"]] or others
    return {row["id"]: fitting[drawn_below(len(fitting), seed, row["id"])]["id"]}
