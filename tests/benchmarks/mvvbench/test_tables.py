"""The tables of MVVBench, against the published rows and numbers counted by hand."""

import csv
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from spotdiff.benchmarks.mvvbench import tables
from spotdiff.benchmarks.mvvbench.schema import CATEGORIES
from spotdiff.benchmarks.mvvbench.tables import table
from spotdiff.scoring import Scored
from spotdiff.tasks import Table

with Path(tables.__file__).with_name("published.csv").open(encoding="utf-8", newline="") as stream:
    PUBLISHED = {row["model"]: row for row in csv.DictReader(stream)}

NUMBERS = itertools.count()


def scored(
    category: str,
    right: bool,
    *,
    options: int = 4,
    motion: str = "dynamic",
    views: str = "two views",
    source: str = "MMPTRACK",
    outcome: str = "parsed",
) -> Scored:
    number = next(NUMBERS)
    return Scored(
        id=f"questions/{number}",
        score=float(right and outcome == "parsed"),
        chance=1 / options,
        letters=("A",) if outcome == "parsed" else (),
        gold=("A",) if right else ("B",),
        outcome=outcome,
        cluster=f"sample {number}",
        options=options,
        groups={"setting": "questions", "category": category, "motion": motion, "views": views, "source": source},
    )


def lines(found: Table) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in found.rows}


def further(rows: Sequence[Scored], title: str) -> dict[str, tuple[str, ...]]:
    return {entry.title: lines(entry) for entry in table(rows, "t", {"questions": len(rows)}).further}[title]


# --- the published rows -------------------------------------------------------------------------------------------


def right_answers(row: dict[str, str]) -> dict[str, int]:
    return {name: round(float(row[name]) / 100 * count) for name, count in CATEGORIES.items()}


@pytest.mark.parametrize("model", [name for name in PUBLISHED if name != "Random"])
def test_every_published_row_is_possible_and_adds_up_to_its_overall(model: str) -> None:
    row = PUBLISHED[model]
    right = right_answers(row)
    for name, count in CATEGORIES.items():
        assert f"{100 * right[name] / count:.2f}" == row[name]
    assert f"{100 * sum(right.values()) / 1323:.2f}" == row["overall"]
    # The gain is over a chance that is printed rounded.
    assert abs(float(row["overall"]) - float(PUBLISHED["Random"]["overall"]) - float(row["gain"])) < 0.011


@pytest.mark.parametrize("model", ["GPT-5-mini", "Video-LLaVA-7B"])
def test_the_printed_order_of_the_two_faulty_rows_is_impossible(model: str) -> None:
    order = ("implicit attribute", "counting", "explicit attribute", "relative camera pose",
             "implicit relative distance", "explicit relative distance")  # fmt: skip
    printed = dict(zip(CATEGORIES, (PUBLISHED[model][name] for name in order), strict=True))
    right = {name: round(float(printed[name]) / 100 * count) for name, count in CATEGORIES.items()}
    assert any(f"{100 * right[name] / count:.2f}" != printed[name] for name, count in CATEGORIES.items())


def test_our_table_of_a_published_row_is_that_row() -> None:
    row = PUBLISHED["GPT-5-mini"]
    answers = [
        scored(name, number < right_answers(row)[name]) for name, count in CATEGORIES.items() for number in range(count)
    ]
    found = table(answers, "t", {"questions": 1323})
    assert found.head == ("%", *CATEGORIES, "overall")
    assert lines(found)["acc"] == tuple(f"{float(row[name]):.1f}" for name in (*CATEGORIES, "overall"))
    assert lines(found)["questions"] == ("559", "121", "84", "81", "120", "358", "1323")


# --- what the table says ------------------------------------------------------------------------------------------


def test_gain_is_over_the_chance_of_the_same_questions() -> None:
    rows = [scored("counting", True), scored("counting", False), scored("relative camera pose", True, options=2)]
    found = lines(table(rows, "t", {"questions": 3}))
    assert found["chance"][4:] == ("50.0", "25.0", "33.3")
    assert found["gain over chance"][4:] == ("+50.0", "+25.0", "+33.3")
    assert found["acc"][:4] == ("-", "-", "-", "-")


def test_a_part_is_never_called_overall_and_every_table_says_how_much_it_covers() -> None:
    found = table([scored("counting", True)], "MVVBench", {"questions": 1323})
    assert found.head[-1] == "these questions"
    for one in (found, *found.further):
        assert one.title.endswith(", 1 of 1323 questions")
    assert found.notes[0] == (
        "Coverage: 1 of 1323 questions. A part of the benchmark: its figures are not those of the whole."
    )
    assert "overall" not in found.markdown()


def test_chains_that_were_cut_off_score_0_and_are_shown() -> None:
    rows = [scored("counting", True), scored("counting", True, outcome="truncated")]
    found = lines(table(rows, "t", {"questions": 2}))
    assert (found["acc"][-1], found["truncated"][-1]) == ("50.0", "50.0")


def test_motion_views_and_sources_are_told_apart() -> None:
    rows = [scored("counting", True, motion="static"), scored("counting", False, views="more views"),
            scored("counting", True, source="CMU Panoptic")]  # fmt: skip
    assert {name: row[0] for name, row in further(rows, "By motion").items()} == {"static": "100.0", "dynamic": "50.0"}
    assert {name: row[0] for name, row in further(rows, "By views").items()} == {
        "two views": "100.0",
        "more views": "0.0",
    }
    assert {name: row[0] for name, row in further(rows, "By source").items()} == {
        "CMU Panoptic": "100.0",
        "MMPTRACK": "50.0",
    }


def test_without_answers_there_is_still_a_table() -> None:
    assert table([], "t", {"questions": 1323}).further == ()
