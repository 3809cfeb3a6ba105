"""The tables of EgoExo-Next, against the paper's own rows and numbers counted by hand."""

import csv
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.benchmarks import egoexo_next
from spotdiff.benchmarks.egoexo_next.breakdowns import BREAKDOWNS
from spotdiff.benchmarks.egoexo_next.comparison import comparison
from spotdiff.benchmarks.egoexo_next.schema import EGO2EXO, MATCH, SCENES, SUBTASKS
from spotdiff.benchmarks.egoexo_next.tables import CELLS, NEXT_STATE, average, cells, table
from spotdiff.scoring import Scored
from spotdiff.tasks import Table

FOLDER = Path(egoexo_next.__file__).parent
NUMBERS = itertools.count()

ALL = {"ego": 607, "match_ego2exo": 302, "match_exo2ego": 302, "exo": 665, "ego2exo": 627}


def published(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


TABLE_1 = {row["model"]: row for row in published("published.csv")}
FIGURES = [f"{subtask} {scene}" for subtask, scene in CELLS]


def scored(
    subtask: str,
    scene: str,
    score: float,
    *,
    direction: str = "",
    name: str | None = None,
    letter: str = "A",
    gold: str | None = None,
    kinds: Sequence[str] = (),
    future: str = "",
    source: str = "Ego4D",
    group: str = "",
    outcome: str = "parsed",
) -> Scored:
    setting = f"match_{direction}" if direction else subtask
    return Scored(
        id=f"{setting}/{name or next(NUMBERS)}",
        score=score,
        chance=0.25,
        letters=(letter,) if outcome == "parsed" else (),
        gold=(gold or (letter if score == 1 else "D"),),
        outcome=outcome,
        cluster=name or f"clip {next(NUMBERS)}",
        options=4,
        groups={
            "setting": setting,
            "subtask": subtask,
            "direction": direction or (),
            "scene": scene,
            "source": source,
            "future": future or (),
            "kinds": tuple(kinds),
            "group": group or (),
        },
    )


def of_model(row: Mapping[str, str]) -> list[Scored]:
    """One answer for each setting, with the published accuracy as its score; both directions alike."""
    found = []
    for subtask, scene in CELLS:
        for direction in ("ego2exo", "exo2ego") if subtask == MATCH else ("",):
            found.append(scored(subtask, scene, float(row[f"{subtask} {scene}"]) / 100, direction=direction))
    return found


def lines(found: Table) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in found.rows}


def further(rows: Sequence[Scored], title: str) -> Table:
    return {entry.title: entry for entry in table(rows, "t", ALL).further}[title]


# --- the paper's rows ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [name for name, row in TABLE_1.items() if row["average"]])
def test_the_average_of_every_published_row_is_the_mean_of_its_eight_settings(model: str) -> None:
    row = TABLE_1[model]
    mean = average(cells(of_model(row))).mean
    assert mean is not None
    # 98.545 and 32.925 lie on the edge.
    assert abs(100 * mean - float(row["average"])) < 0.005 + 1e-9
    assert lines(table(of_model(row), "t", ALL))["acc"][:8] == tuple(f"{float(row[name]):.1f}" for name in FIGURES)


def test_the_average_of_two_models_is_the_published_one() -> None:
    for model, wanted in {"GPT-5.2": "43.16", "Gemini-3.1-Pro": "43.81"}.items():
        mean = average(cells(of_model(TABLE_1[model]))).mean
        assert mean is not None
        assert f"{100 * mean:.2f}" == wanted


def test_the_blocks_of_the_controls_average_their_own_settings() -> None:
    found = cells(of_model(TABLE_1["GPT-5.2"]))
    temporal, across = average(found, NEXT_STATE).mean, average(found, (MATCH, EGO2EXO)).mean
    assert temporal is not None
    assert across is not None
    assert f"{100 * temporal:.2f}" == "44.91"
    assert f"{100 * across:.2f}" == "34.91"


def test_the_full_rows_of_table_2_follow_from_table_1() -> None:
    rows = {(row["block"], row["setting"]): row for row in published("published_controls.csv")}
    blocks = {
        ("S1, S2, S3, S4", "Full Input"): SUBTASKS,
        ("S1, S3, S4", "Full Sequence"): NEXT_STATE,
        ("S2, S4", "Full Observation"): (MATCH, EGO2EXO),
    }
    models = [name for name in rows["S2, S4", "Full Observation"] if name in TABLE_1]
    assert len(models) == 5
    for key, subtasks in blocks.items():
        for model in models:
            mean = average(cells(of_model(TABLE_1[model])), subtasks).mean
            assert mean is not None
            assert abs(100 * mean - float(rows[key][model])) < 0.0051


def test_averages_of_table_2_and_5_are_means_over_models() -> None:
    for row in published("published_controls.csv") + published("published_diagnosis.csv"):
        values = [float(row[name]) for name in row if name in TABLE_1]
        assert len(values) == 5
        assert abs(sum(values) / 5 - float(row["average"])) < 0.0051


def test_averages_of_table_3_are_means_over_questions() -> None:
    counts = {"S1": 607, "S3": 665, "S4": 627}
    for row in published("published_similarity.csv"):
        over_questions = sum(float(row[name]) * count for name, count in counts.items()) / sum(counts.values())
        assert abs(over_questions - float(row["by subtask"])) < 0.0051
        assert abs(sum(float(row[number]) for number in "1234") / 4 - float(row["by future candidates"])) < 0.0051


# --- the average --------------------------------------------------------------------------------------------------

ANSWERS = st.lists(
    st.tuples(
        st.sampled_from(["ego", "exo", "ego2exo", "match ego2exo", "match exo2ego"]),
        st.sampled_from(SCENES),
        st.booleans(),
    ),
    max_size=60,
)


@given(ANSWERS)
def test_the_average_agrees_with_counting(drawn: list[tuple[str, str, bool]]) -> None:
    rows = [
        scored(name.split()[0], scene, float(right), direction=name.partition(" ")[2]) for name, scene, right in drawn
    ]
    shares: dict[tuple[str, str], list[bool]] = {}
    for name, scene, right in drawn:
        shares.setdefault((name, scene), []).append(right)
    means = {key: sum(values) / len(values) for key, values in shares.items()}
    if len(means) < 10:
        assert average(cells(rows)).mean is None
        return
    by_setting = [
        (means[f"{subtask} ego2exo", scene] + means[f"{subtask} exo2ego", scene]) / 2
        if subtask == "match"
        else means[subtask, scene]
        for subtask in ("ego", "match", "exo", "ego2exo")
        for scene in SCENES
    ]
    assert average(cells(rows)).mean == pytest.approx(sum(by_setting) / 8)


def test_a_part_is_never_called_the_average() -> None:
    rows = [scored("ego", "indoor", 1), scored("ego", "outdoor", 0)]
    found = table(rows, "t", {"ego": 607})
    assert lines(found)["acc"] == ("100.0", "0.0", *["-"] * 6, "-")
    assert found.notes[0] == (
        "Coverage: 2 of 607 questions. Mean over 2 of the 8 settings: 50.0; the paper's average is over all 8."
    )


def test_one_direction_alone_is_no_accuracy_of_subtask_2() -> None:
    rows = [scored("match", scene, 1, direction="ego2exo") for scene in SCENES]
    assert lines(table(rows, "t", {"match_ego2exo": 302}))["acc"][2:4] == ("-", "-")
    by_direction = further(rows, "Subtask 2 by direction")
    assert by_direction.rows == (("ego to exo", "100.0", "100.0", "100.0", "2"),)


def test_without_answers_there_is_still_a_table() -> None:
    found = table([], "t", ALL)
    assert found.further == ()
    assert "Coverage: 0 of 2503 questions." in found.notes


# --- what the table is broken down by -----------------------------------------------------------------------------


def test_numbers_of_future_candidates_are_averaged_over_questions() -> None:
    rows = [scored("ego", "indoor", 1, future="1"), scored("exo", "indoor", 0, future="1"),
            scored("exo", "outdoor", 1, future="4"), scored("exo", "outdoor", 1, future="4"),
            scored("match", "indoor", 1, direction="ego2exo")]  # fmt: skip
    assert further(rows, "By number of future candidates, mean over questions").rows == (
        ("S1", "100.0", "-", "-", "-", "100.0"),
        ("S3", "0.0", "-", "-", "100.0", "66.7"),
        ("all", "50.0", "-", "-", "100.0", "75.0"),
        ("questions", "2", "0", "0", "2", "4"),
    )


def test_kinds_of_chosen_options_stand_beside_those_of_a_guess() -> None:
    kinds = ("past", "target", "later", "past")
    rows = [scored("ego", "indoor", float(letter == "B"), letter=letter, kinds=kinds) for letter in "BACA"]
    rows.append(scored("ego", "indoor", 0, kinds=kinds, outcome="none"))
    found = further(rows, "What the chosen option shows")
    assert found.head == ("%", "target", "later future", "past", "another moment", "unread", "questions")
    assert found.rows == (
        ("S1", "20.0", "20.0", "40.0", "0.0", "20.0", "5"),
        ("S1, a guess", "25.0", "25.0", "50.0", "0.0", "-", ""),
    )


def test_slots_that_are_chosen_stand_beside_those_that_are_right() -> None:
    rows = [scored("ego", "indoor", 1, letter="A"), scored("ego", "indoor", 0, letter="A"),
            scored("ego", "indoor", 0, letter="B")]  # fmt: skip
    found = further(rows, "By option slot")
    assert lines(found)["A"] == ("66.7", "33.3", "100.0")
    assert lines(found)["D"] == ("0.0", "66.7", "0.0")


def test_sources_are_averaged_over_questions() -> None:
    rows = [scored("ego", "indoor", 1, source="WEAR"), scored("exo", "indoor", 0, source="WEAR"),
            scored("exo", "indoor", 1, source="Ego4D")]  # fmt: skip
    found = lines(further(rows, "By source, mean over questions"))
    assert {name: (row[0], row[-1]) for name, row in found.items()} == {"Ego4D": ("100.0", "1"), "WEAR": ("50.0", "2")}


# --- matched groups -----------------------------------------------------------------------------------------------


def group(name: str, ego: float, match: float, exo: float, ego2exo: float) -> list[Scored]:
    return [
        scored("ego", "indoor", ego, group=name, name=f"{name} 1"),
        scored("match", "indoor", match, direction="ego2exo", group=name, name=f"{name} 2"),
        scored("exo", "indoor", exo, group=name, name=f"{name} 3"),
        scored("ego2exo", "indoor", ego2exo, group=name, name=f"{name} 4"),
    ]


CONDITIONAL = "Subtask 4 on the matched groups"
GIVEN = "S4 given S1, S2 (ego to exo), S3 right"


@given(st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=20))
def test_the_conditional_accuracy_agrees_with_counting(drawn: list[tuple[bool, bool, bool, bool]]) -> None:
    rows = [row for number, members in enumerate(drawn) for row in group(f"g{number}", *map(float, members))]
    found = lines(further(rows, CONDITIONAL))
    kept = [last for *given, last in drawn if all(given)]
    assert found[GIVEN][0] == (f"{100 * sum(kept) / len(kept):.1f}" if kept else "-")
    assert found[GIVEN][-1] == str(len(kept))
    assert found["S4"][0] == f"{100 * sum(last for *_, last in drawn) / len(drawn):.1f}"


def test_a_group_that_lacks_an_answer_is_named_and_left_out() -> None:
    rows = group("g1", 1, 1, 1, 1) + group("g2", 1, 1, 1, 0)[:3]
    found = further(rows, CONDITIONAL)
    assert lines(found)["S4"][::2] == ("100.0", "1")
    assert found.notes == ("1 matched groups were asked in all four subtasks. 1 lack an answer and are left out: g2",)


def test_no_condition_without_all_four_subtasks() -> None:
    titles = [entry.title for entry in table(group("g1", 1, 1, 1, 1)[1:], "t", ALL).further]
    assert CONDITIONAL not in titles


# --- controls beside the full input -------------------------------------------------------------------------------


def both(share: float, *subtasks: str, prefix: str = "q", gold: str = "A") -> list[Scored]:
    """Four answers for each setting, this share of them right."""
    return [
        scored(
            subtask, scene, float(number < 4 * share), direction=direction, name=f"{prefix}{scene}{number}", gold=gold
        )
        for subtask in subtasks
        for scene in SCENES
        for direction in (("ego2exo", "exo2ego") if subtask == MATCH else ("",))
        for number in range(4)
    ]


def test_controls_stand_beside_the_full_input_with_paired_differences() -> None:
    (found,) = comparison(
        {
            "egoexo_next": both(0.75, *SUBTASKS),
            "egoexo_next_candidate_only": both(0.25, *SUBTASKS),
            "egoexo_next_last_frame": both(0.5, *NEXT_STATE),
            "egoexo_next_mismatched": both(0.25, MATCH, EGO2EXO),
        },
        "model",
    )
    assert [(row[0], row[1], row[3], row[5]) for row in found.rows] == [
        ("Shortcuts: S1-S4: Full Input", "75.0", "-", "40"),
        ("Shortcuts: S1-S4: Candidate Only", "25.0", "-50.0", "40"),
        ("Order of time: S1, S3, S4: Full Sequence", "75.0", "-", "24"),
        ("Order of time: S1, S3, S4: Last Frame Only", "50.0", "-25.0", "24"),
        ("Cross-view: S2, S4: Full Observation", "75.0", "-", "24"),
        ("Cross-view: S2, S4: Mismatched Observation", "25.0", "-50.0", "24"),
    ]


def test_questions_with_captions_stand_beside_those_without() -> None:
    (found,) = comparison(
        {"egoexo_next": both(0.5, *SUBTASKS), "egoexo_next_captioned": both(0.75, *SUBTASKS)},
        "model",
    )
    assert [(row[0], row[1], row[3], row[5]) for row in found.rows] == [
        ("Captions: S1-S4: Image Only", "50.0", "-", "40"),
        ("Captions: S1-S4: Image + Caption", "75.0", "+25.0", "40"),
    ]


def test_other_questions_are_not_compared() -> None:
    (found,) = comparison(
        {
            "egoexo_next": both(0.75, *SUBTASKS),
            "egoexo_next_shuffled": both(0.25, *NEXT_STATE, prefix="other"),
        },
        "model",
    )
    assert found.rows[1][3:5] == ("other questions", "-")


def test_the_same_questions_with_options_in_another_order_are_not_compared() -> None:
    families = {
        "egoexo_next": both(0.75, *SUBTASKS),
        "egoexo_next_shuffled": both(0.25, *NEXT_STATE, gold="B"),
    }
    (found,) = comparison(families, "model")
    assert found.rows[1][3:5] == ("other questions", "-")


def test_a_control_without_the_full_input_stands_alone() -> None:
    (found,) = comparison({"egoexo_next_mini_shuffled": both(0.25, *NEXT_STATE)}, "model")
    assert found.title == "model, egoexo_next_mini: controls"
    assert found.rows[0][:2] == ("Order of time: S1, S3, S4: Shuffled Sequence", "25.0")


def test_what_helps_subtask_4_stands_beside_the_matched_subset() -> None:
    (found,) = comparison(
        {
            "egoexo_next": both(0.25, *SUBTASKS),
            "egoexo_next_matched": both(0.5, "ego", EGO2EXO),
            "egoexo_next_plus_both": both(1, EGO2EXO),
        },
        "model",
    )
    assert [(row[0], row[1], row[3], row[5]) for row in found.rows] == [
        ("Original Subtask 4", "50.0", "-", "8"),
        ("+ Both", "100.0", "+50.0", "8"),
    ]


def test_a_full_run_alone_has_nothing_to_be_compared_with() -> None:
    assert comparison({"egoexo_next": both(0.5, *SUBTASKS)}, "model") == []


# --- averages over the subtasks of Tables 2 and 5 -----------------------------------------------------------------

AVERAGES = next(one for one in BREAKDOWNS if one.name == "averages")


def test_the_published_averages_are_those_of_tables_2_and_5() -> None:
    rows = {row.model: row.values for row in AVERAGES.published()}
    assert rows["GPT-5.2"] == pytest.approx({"S1, S2, S3, S4": 0.4316, "S1, S3, S4": 0.4491, "S2, S4": 0.3491})
    assert rows["Gemini-3.1-Pro, Candidate Only"] == pytest.approx({"S1, S2, S3, S4": 0.2675})
    assert rows["RoboBrain, Mismatched Observation"] == pytest.approx({"S2, S4": 0.263})
    assert rows["Qwen3-VL-32B, + Both"] == pytest.approx({"S4": 0.549})
    assert len(rows) == 5 * (1 + 4 + 4)
    assert set().union(*rows.values()) == set(AVERAGES.columns)


@given(st.lists(st.sampled_from([*CELLS, ("none", "none")]), max_size=3), st.randoms())
def test_an_average_weighs_settings_and_directions_alike_and_needs_all_of_them(
    left_out: list[tuple[str, str]], random: Random
) -> None:
    rows = [
        scored(subtask, scene, float(random.random() < 0.5), direction=direction)
        for subtask, scene in CELLS
        if (subtask, scene) not in left_out
        for direction in (("ego2exo", "exo2ego") if subtask == MATCH else ("",))
        for _ in range(random.randint(1, 4))
    ]
    found = AVERAGES.measure(rows, "score") if rows else {}
    for name, subtasks in (("S1, S2, S3, S4", SUBTASKS), ("S1, S3, S4", NEXT_STATE), ("S2, S4", (MATCH, EGO2EXO))):
        wanted = [cell for cell in CELLS if cell[0] in subtasks]
        if set(wanted) & set(left_out):
            assert name not in found
        else:
            assert found[name].mean == pytest.approx(by_hand(rows, wanted))


def by_hand(rows: Sequence[Scored], cells: Sequence[tuple[str, str]]) -> float:
    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    of_cells = []
    for cell in cells:
        own = [row for row in rows if (row.groups["subtask"], row.groups["scene"]) == cell]
        directions = {row.groups["direction"] for row in own}
        of_cells.append(mean([mean([r.score for r in own if r.groups["direction"] == d]) for d in directions]))
    return mean(of_cells)
