"""Orders and donors: never the own ones, and the same everywhere."""

import itertools
import json
import random
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.benchmarks.egoexo_next.controls import donors, shuffled_order
from spotdiff.errors import DataError

Row = dict[str, Any]

SEEDS = st.integers(0, 2**31)


def row(number: int, clip: str, scene: str = "indoor", source: str = "Ego4D") -> Row:
    return {"id": f"q{number}", "clip": clip, "scene": scene, "source": source}


ROWS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from(["indoor", "outdoor"]), st.sampled_from(["x", "y"])),
    min_size=2,
    max_size=30,
).map(lambda drawn: [row(number, *each) for number, each in enumerate(drawn)])


@given(SEEDS, st.text())
def test_an_order_is_a_permutation_and_never_the_given_one(seed: int, key: str) -> None:
    order = shuffled_order(4, seed, key)
    assert sorted(order) == [0, 1, 2, 3]
    assert order != (0, 1, 2, 3)


def test_each_other_order_is_drawn_about_equally_often() -> None:
    counts = Counter(shuffled_order(4, 0, f"question {number}") for number in range(23 * 200))
    assert set(counts) == set(itertools.permutations(range(4))) - {(0, 1, 2, 3)}
    # 200 expected each; five standard deviations.
    assert all(abs(count - 200) < 70 for count in counts.values())


@given(ROWS, SEEDS, st.randoms())
def test_donors_are_of_the_same_source_and_scene_and_never_the_row_itself(
    rows: list[Row], seed: int, shuffler: random.Random
) -> None:
    splits = Counter((entry["scene"], entry["source"]) for entry in rows)
    scenes = Counter(entry["scene"] for entry in rows)
    if any(count == 1 for count in scenes.values()):
        with pytest.raises(DataError, match="is the only one of its subtask"):
            donors(rows, seed)
        return
    found = donors(rows, seed)
    by_id = {entry["id"]: entry for entry in rows}
    assert set(found) == set(by_id)
    for entry in rows:
        donor = by_id[found[entry["id"]]]
        assert donor is not entry
        assert donor["scene"] == entry["scene"]
        if splits[entry["scene"], entry["source"]] > 1:
            assert donor["source"] == entry["source"]
    lent = Counter(name for asked, name in found.items() if splits[by_id[asked]["scene"], by_id[asked]["source"]] > 1)
    assert set(lent.values()) <= {1}
    mixed = list(rows)
    shuffler.shuffle(mixed)
    assert donors(mixed, seed) == found


@given(ROWS, SEEDS)
def test_a_donor_is_of_another_clip_unless_one_clip_has_more_than_half_of_the_rows(rows: list[Row], seed: int) -> None:
    rows = [{**entry, "scene": "indoor", "source": "x"} for entry in rows]
    longest = max(Counter(entry["clip"] for entry in rows).values())
    clips = {entry["id"]: entry["clip"] for entry in rows}
    same = [name for name, donor in donors(rows, seed).items() if clips[name] == clips[donor]]
    assert not same or 2 * longest > len(rows)


def test_another_seed_chooses_other_donors() -> None:
    rows = [row(number, f"clip {number}") for number in range(20)]
    assert donors(rows, 0) != donors(rows, 1)


def test_a_row_alone_in_its_source_gets_another_clips_observations_of_its_scene() -> None:
    rows = [row(1, "a", source="x"), row(2, "a", source="y"), row(3, "b", source="y"), row(4, "c", "outdoor"),
            row(5, "d", "outdoor")]  # fmt: skip
    assert donors(rows, 3)["q1"] == "q3"


def test_orders_and_donors_are_the_same_in_another_process_with_another_hash_seed() -> None:
    rows = [row(number, f"clip {number % 7}", source="xy"[number % 2]) for number in range(30)]
    script = (
        "import json, sys\n"
        "from spotdiff.benchmarks.egoexo_next.controls import donors, shuffled_order\n"
        "print(json.dumps([donors(json.load(sys.stdin), 5), shuffled_order(4, 5, 'ego/q')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(rows),
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [donors(rows, 5), list(shuffled_order(4, 5, "ego/q"))]
