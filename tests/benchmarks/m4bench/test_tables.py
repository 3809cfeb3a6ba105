"""The table of M4Bench, against numbers computed by hand."""

import pytest

from spotdiff.benchmarks.m4bench.tables import SETTINGS, table
from spotdiff.scoring import Scored
from spotdiff.tasks import Table

EXPECTED = {setting.name: setting.questions for setting in SETTINGS}


def scored(setting: str, number: int, right: bool, outcome: str = "parsed", **extra: float) -> Scored:
    return Scored(
        id=f"{setting}/{number}",
        score=float(right),
        chance=0.25,
        letters=("A",) if outcome == "parsed" else (),
        gold=("A",) if right else ("B",),
        outcome=outcome,
        cluster=f"{setting}/{number}",
        options=4,
        groups={"setting": setting, "category": "none"},
        extra=extra,
    )


def some(setting: str, right: int, wrong: int, **extra: float) -> list[Scored]:
    return [scored(setting, number, number < right, "parsed", **extra) for number in range(right + wrong)]


def line(found: Table, name: str) -> dict[str, str]:
    (cells,) = (row for row in found.rows if row[0] == name)
    return dict(zip(found.head, cells, strict=True))


ALL = [row for place, setting in enumerate(SETTINGS) for row in some(setting.name, place + 1, 7 - place)]
"""1 of 8 right in the first setting, 2 of 8 in the second, ... all of the last."""


def test_each_setting_has_its_share_and_the_mean_is_unweighted() -> None:
    rows = [*ALL, *some("state_invariance_", 0, 0)]
    rows += [scored("state_invariance", number, True) for number in range(8, 100)]
    found = line(table(rows, "t", EXPECTED), "acc")
    assert found["SI"] == "93.0"  # 1 + 92 of 100
    assert [found[s.title] for s in SETTINGS[1:]] == ["25.0", "37.5", "50.0", "62.5", "75.0", "87.5", "100.0"]
    assert found["mean"] == "66.3"  # (93 + 25 + 37.5 + 50 + 62.5 + 75 + 87.5 + 100) / 8 = 66.3125


def test_a_table_says_how_sure_each_share_is() -> None:
    found = line(table(ALL, "t", EXPECTED), "95 % interval, +-")
    # 1 of 8: s = sqrt(8/7 * 1/8 * 7/8) = 0.3536, standard error 0.125, t(7) = 2.3646.
    assert found["SI"] == "29.6"
    assert found["IC-vp"] == "-"  # all right: no variation


def test_with_a_setting_missing_the_mean_is_given_by_the_papers_convention_in_the_notes() -> None:
    found = table(some("state_invariance", 3, 1) + some("state_comparison", 1, 1), "t", EXPECTED)
    assert line(found, "acc") == {
        "%": "acc",
        "SI": "75.0",
        "SC": "50.0",
        **dict.fromkeys(["DD-S", "DD-N", "SP", "SP-vp", "IC", "IC-vp"], "-"),
        "mean": "-",
    }
    assert found.notes[0] == (
        "Coverage: 2/8 settings, 6 of 1811 questions. Mean over the settings that were run: 62.5;"
        " by the paper's convention, a missing setting counting as 0: 15.6."
    )


def test_a_model_that_ran_two_settings_shows_the_mean_of_the_paper() -> None:
    # 74.3 and 74.5 give 18.6, the mean that the paper prints for such a model.
    rows = some("state_invariance", 743, 257) + some("state_comparison", 745, 255)
    assert "counting as 0: 18.6." in table(rows, "t", EXPECTED).notes[0]


def test_complete_results_have_no_other_mean() -> None:
    assert table(ALL, "t", EXPECTED).notes[0] == "Coverage: 8/8 settings, 64 of 1811 questions."


def test_chance_parsed_and_number_of_questions_stand_in_the_table() -> None:
    rows = [*some("state_invariance", 1, 2), scored("state_invariance", 9, False, outcome="none")]
    found = table(rows, "t", EXPECTED)
    assert line(found, "parsed")["SI"] == "75.0"
    assert line(found, "chance")["SI"] == "25.0"
    assert line(found, "questions")["SI"] == "4"
    assert line(found, "questions")["SC"] == "0"
    assert line(found, "questions")["mean"] == "4"
    assert "3 of 4 parsed" in found.notes[1]
    assert "none 1" in found.notes[1]
    assert "acc 25.0 over all, 33.3 over the parsed" in found.notes[1]


def test_further_metrics_have_a_line_of_their_own() -> None:
    rows = [row for s in SETTINGS for row in some(s.name, 1, 1, acc_release=0.5)]
    found = table(rows, "t", EXPECTED)
    assert line(found, "acc_release")["SI"] == "50.0"
    assert line(found, "acc_release")["mean"] == "50.0"


def test_a_metric_that_only_some_settings_have_leaves_the_others_open() -> None:
    rows = some("state_invariance", 1, 1, acc_judged=1.0) + some("state_comparison", 1, 1)
    rows += [scored("detailed_difference_natural", 0, True, acc_judged=1.0)]
    rows += [scored("detailed_difference_natural", 1, True)]
    found = line(table(rows, "t", EXPECTED), "acc_judged")
    assert (found["SI"], found["SC"], found["DD-N"], found["mean"]) == ("100.0", "-", "-", "-")


def test_letters_are_shown_predicted_against_gold() -> None:
    assert (
        "Letters, predicted/gold in %: A 100.0/50.0, B 0.0/50.0, C 0.0/0.0, D 0.0/0.0."
        in table(some("state_invariance", 1, 1), "t", EXPECTED).notes
    )


def test_a_table_of_nothing_is_still_a_table() -> None:
    found = table([], "t", EXPECTED)
    assert set(line(found, "acc").values()) == {"acc", "-"}
    assert found.notes == ("Coverage: 0/8 settings, 0 of 1811 questions.", "No question was scored.")


@pytest.mark.parametrize("rows", [[], ALL])
def test_a_table_prints_with_all_cells_aligned(rows: list[Scored]) -> None:
    text = table(rows, "Some title", EXPECTED).markdown().splitlines()
    assert text[0] == "**Some title**"
    body = [row for row in text if row.startswith("|")]
    assert len({len(row) for row in body}) == 1
    assert {row.count("|") for row in body} == {11}
    assert set(body[1]) <= set("|- ")
