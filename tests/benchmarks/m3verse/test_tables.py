"""The tables of M3-Verse, against numbers computed by hand."""

import itertools

import pytest

from spotdiff.benchmarks.m3verse.tables import table
from spotdiff.scoring import Scored
from spotdiff.tasks import Table

SU, TU, AR, RS = ("spatial understanding", "temporal understanding", "attribute recognition", "reasoning")
BOTH = {"sim": 2932, "real": 552}
NUMBERS = itertools.count()


def scored(
    score: float,
    state: str,
    *capabilities: str,
    part: str = "sim",
    scene: str = "a",
    right: int = 1,
    hallucination: bool = False,
    options: int = 4,
    outcome: str = "parsed",
    **extra: float,
) -> Scored:
    return Scored(
        id=f"{part}/{next(NUMBERS)}",
        score=score,
        chance=1 / options,
        letters=("A",) if outcome == "parsed" else (),
        gold=tuple("ABCD"[:right]) if score else tuple("BCD"[:right]),
        outcome=outcome,
        cluster=f"{part}/{scene}",
        options=options,
        groups={
            "setting": part,
            "state": state,
            "capability": capabilities,
            "kind": "hallucination" if hallucination else "factual",
            "choice": "several" if right > 1 else "one",
            "subcategory": f"{state} {capabilities[0]}",
        },
        extra=extra,
    )


SIM = [
    scored(1, "intra", SU),
    scored(0, "intra", SU, TU, scene="b"),
    scored(0.5, "intra", TU, RS, right=2, scene="b", options=5),
    scored(1, "intra", AR, hallucination=True),
    scored(1, "inter", SU, TU, AR, RS, options=2),
    scored(0, "inter", SU, hallucination=True, scene="b"),
    scored(0.25, "inter", RS, right=4, options=5),
    scored(0, "inter", RS, outcome="none", scene="b"),
]


def line(found: Table, name: str) -> dict[str, str]:
    (cells,) = (row for row in found.rows if row[0] == name)
    return dict(zip(found.head, cells, strict=True))


def test_a_question_counts_in_each_of_its_capabilities_and_every_average_is_over_questions() -> None:
    found = line(table(SIM, "t", {"sim": 2932}), "Sim acc")
    assert found == {
        "%": "Sim acc",
        "overall": "46.9",  # 3.75 of 8
        "intra avg": "62.5",  # 1, 0, 0.5, 1
        "intra S.U.": "50.0",  # 1, 0
        "intra T.U.": "25.0",  # 0, 0.5
        "intra A.R.": "100.0",
        "intra Rs": "50.0",
        "inter avg": "31.2",  # 1, 0, 0.25, 0 give 31.25, printed to the even digit
        "inter S.U.": "50.0",  # 1, 0
        "inter T.U.": "100.0",
        "inter A.R.": "100.0",
        "inter Rs": "41.7",  # 1, 0.25, 0
        "factual": "45.8",  # 2.75 of 6
        "hallucination": "50.0",  # 1, 0
        "one right": "50.0",  # 1, 0, 1, 1, 0, 0
        "several right": "37.5",  # 0.5, 0.25
    }


def test_numbers_of_questions_chance_and_intervals_stand_below() -> None:
    found = table(SIM, "t", {"sim": 2932})
    questions = line(found, "Sim questions")
    assert [questions[name] for name in ("overall", "intra avg", "intra S.U.", "inter Rs")] == ["8", "4", "2", "3"]
    assert (questions["hallucination"], questions["several right"]) == ("2", "2")
    chances = line(found, "Sim chance")
    assert chances["overall"] == "26.9"  # (5 / 4 + 2 / 5 + 1 / 2) / 8
    assert chances["several right"] == "20.0"
    # Scenes a and b have residuals 3.25 - 4 * 0.46875 and 0.5 - 4 * 0.46875: +-1.375. The standard error is
    # sqrt(2 * 2 * 1.375 ** 2) / 8 = 0.34375, and t(1) = 12.706.
    intervals = line(found, "Sim 95 % interval, +-")
    assert intervals["overall"] == "436.8"
    assert intervals["intra A.R."] == "-"  # one scene


def test_questions_of_one_scene_are_not_taken_for_independent() -> None:
    # Scenes of two questions each, both right or both wrong: as sure as one question a scene.
    twice = [scored(scene % 2, "intra", SU, scene=str(scene)) for scene in range(10) for _ in range(2)]
    once = [scored(scene % 2, "intra", SU, scene=str(scene)) for scene in range(10)]
    name = "Sim 95 % interval, +-"
    assert line(table(twice, "t", {"sim": 1}), name)["overall"] == line(table(once, "t", {"sim": 1}), name)["overall"]


def test_parts_stand_apart_and_pooled_over_all_their_questions() -> None:
    real = [scored(1, "intra", SU, part="real"), scored(1, "inter", TU, part="real", scene="b")]
    found = table([*SIM, *real], "t", BOTH)
    assert line(found, "Sim acc") == line(table(SIM, "t", {"sim": 2932}), "Sim acc")
    assert line(found, "Real acc")["overall"] == "100.0"
    assert line(found, "Real acc")["intra T.U."] == "-"
    assert line(found, "Real questions")["intra T.U."] == "0"
    pooled = line(found, "pooled acc")
    assert pooled["overall"] == "57.5"  # 5.75 of 10, not the mean of 46.875 and 100
    assert pooled["intra S.U."] == "66.7"
    assert line(found, "pooled questions")["overall"] == "10"
    assert found.notes[0] == "Coverage: 10 of 3484 questions."


def test_one_part_alone_is_not_called_pooled() -> None:
    found = table(SIM, "t", BOTH)
    assert {row[0].split()[0] for row in found.rows} == {"Sim"}
    assert found.notes[0] == "Coverage: 8 of 3484 questions."


def test_subcategories_have_a_table_of_their_own() -> None:
    (further,) = table(SIM, "t", {"sim": 2932}).further
    assert further.title == "t, by subcategory"
    assert [row[0] for row in further.rows] == sorted({str(row.groups["subcategory"]) for row in SIM})
    found = {row[0]: row[1:] for row in further.rows}
    assert found[f"intra {SU}"][0] == "50.0"
    assert found[f"inter {RS}"] == ("12.5", "158.8", "22.5", "2")  # +-0.125 by scene: 0.125 * 12.706


def test_a_further_metric_has_a_line_over_the_questions_that_have_it() -> None:
    rows = [scored(0, "intra", SU, acc_judged=1.0), scored(1, "intra", SU, scene="b")]
    found = line(table(rows, "t", {"sim": 2}), "Sim acc_judged")
    assert (found["overall"], found["inter avg"]) == ("100.0", "-")


def test_unread_replies_are_told_below() -> None:
    notes = table(SIM, "t", {"sim": 2932}).notes
    assert notes[1].startswith("Replies: 7 of 8 parsed. The others score 0: none 1.")


@pytest.mark.parametrize("rows", [[], SIM])
def test_a_table_prints_with_all_cells_aligned(rows: list[Scored]) -> None:
    text = table(rows, "Some title", BOTH).markdown().split("\n\n**")[0].splitlines()
    assert text[0] == "**Some title**"
    body = [row for row in text if row.startswith("|")]
    assert len({len(row) for row in body}) == 1
    assert {row.count("|") for row in body} == {17}


def test_a_table_of_nothing_is_still_a_table() -> None:
    found = table([], "t", BOTH)
    assert (found.rows, found.further) == ((), ())
    assert found.notes == ("Coverage: 0 of 3484 questions.", "No question was scored.")
