"""From a row of EgoExo-Next to a question, under every control."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from PIL import Image as PILImage

from spotdiff.benchmarks.egoexo_next import BENCHMARK
from spotdiff.benchmarks.egoexo_next.protocol import needed_images, pixel_warnings, problems, question
from spotdiff.benchmarks.egoexo_next.schema import IMAGE_COLUMNS, OPTION_COLUMNS, ORACLE_COLUMNS
from spotdiff.errors import DataError
from spotdiff.question import Image, Question, Text
from spotdiff.settings import Settings
from spotdiff.tasks import DONOR_ROW, Setting, Task, task

Row = dict[str, Any]

# One sentence of the paper a line, however long (E501).
NEXT_STATE = """Question: Given 4 temporally ordered observation frames from <Observation Source>, which <Candidate Image Type> shows the subsequent visual state following the observation sequence?
The four images above are temporally ordered observations from an <Observation Perspective> camera in a <Setting> environment. Options A–D show candidate visual states sampled from the same action trajectory <Candidate View Description>. <Cross-View Instruction>
Observe how the action progresses across the observation frames—track <Visual Cues>—then select the candidate that depicts the subsequent state following the observation sequence.
Only output one letter: A, B, C, or D."""  # noqa: E501
MATCHING = """Question: Which <Candidate View> image corresponds to the <Query View> image at the same time?
The image above is a keyframe from the <Query View> perspective in a <Setting> environment. Options A–D each show a candidate image from the <Candidate View> perspective.
Observe the query frame carefully and compare the visible action, human pose, object configuration, spatial layout, and other cross-view cues. Select the candidate image that depicts the same moment from the corresponding <Candidate View> perspective.
Only output one letter: A, B, C, or D."""  # noqa: E501
"""The templates of the paper, with the dashes that belong there."""

CUES = {
    "indoor": "hands, manipulated objects, contact, and object configuration",
    "outdoor": "body pose, limb motion, position, and spatial layout",
}
WORDS = {
    "ego": ("an egocentric action video", "egocentric", "image", "from the same egocentric perspective", ""),
    "exo": ("an exocentric action video", "exocentric", "image", "from the same exocentric perspective", ""),
    "ego2exo": (
        "an egocentric video",
        "egocentric",
        "exocentric-view image",
        "from an exocentric perspective",
        "The exocentric view captures the same action from an external camera angle.",
    ),
}
NAMES = ("Observation Source", "Observation Perspective", "Candidate Image Type", "Candidate View Description")


def filled(template: str, **words: str) -> str:
    for name, value in words.items():
        template = template.replace(f"<{name.replace('_', ' ')}>", value)
    return template.replace("a indoor", "an indoor").replace("a outdoor", "an outdoor")


def colour(number: int) -> dict[str, Any]:
    """A picture that holds its number."""
    import io

    buffer = io.BytesIO()
    PILImage.new("RGB", (4, 4), (number, number, number)).save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": None}


def number_of(image: Image) -> int:
    return int(image.open().getpixel((0, 0))[0])  # type: ignore[index]


NUMBERS = {column: number for number, column in enumerate(IMAGE_COLUMNS, start=1)}


def make_row(subtask: str = "ego", direction: str = "", **changes: Any) -> Row:
    kinds = ["past", "target", "later", "past"] if subtask != "match" else ["other", "target", "other", "other"]
    row: Row = {
        "id": "q1",
        "clip": "clip 1",
        "subtask": subtask,
        "direction": direction,
        "scene": "indoor",
        "source": "Ego4D",
        "group": "",
        "answer": "B",
        "future_candidates": 0 if subtask == "match" else 2,
        "option_kinds": kinds,
        **{column: colour(number) for column, number in NUMBERS.items()},
    }
    return {**row, **changes}


def ask(row: Row, family: str = "", settings: Settings | None = None) -> Question:
    setting = setting_of(row, family)
    return question(row, setting, settings or Settings(), None)


def setting_of(row: Mapping[str, Any], family: str = "") -> Setting:
    name = f"match_{row['direction']}" if row["subtask"] == "match" else row["subtask"]
    return task(f"egoexo_next_{family}" if family else "egoexo_next").setting(name)


def shown(asked: Question) -> list[tuple[str, int]]:
    """(label, picture) of every image, and the prompt with picture 0."""
    parts = list(asked.parts)
    labels = [part.text.removeprefix("\n") for part in parts if isinstance(part, Text)]
    assert [type(part) for part in parts] == [Text, Image] * (len(labels) - 1) + [Text]
    pictures = [number_of(part) for part in parts if isinstance(part, Image)]
    return list(zip(labels, [*pictures, 0], strict=True))


OBSERVED = ["observation_1", "observation_2", "observation_3", "observation_4"]


def expected_images(seen: str, options: str, observed: list[str]) -> list[tuple[str, int]]:
    return [
        *((f"{seen}-centric keyframe {column[-1]}:", NUMBERS[column]) for column in observed),
        *((f"{options}-centric option {column[-1].upper()}:", NUMBERS[column]) for column in OPTION_COLUMNS),
    ]


# --- the prompt ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scene", ["indoor", "outdoor"])
@pytest.mark.parametrize("subtask", WORDS)
def test_the_prompt_of_the_next_state_is_the_papers_template_after_all_images(subtask: str, scene: str) -> None:
    *images, (prompt, _) = shown(ask(make_row(subtask, scene=scene)))
    source, perspective, candidate, described, cross = WORDS[subtask]
    wanted = filled(
        NEXT_STATE,
        Observation_Source=source,
        Observation_Perspective=perspective,
        Candidate_Image_Type=candidate,
        Candidate_View_Description=described,
        Setting=scene,
        Visual_Cues=CUES[scene],
    )
    wanted = wanted.replace("<Cross-View Instruction>", cross)
    assert prompt == "\n".join(line.rstrip() for line in wanted.split("\n"))
    seen, options = {"ego": ("Ego", "Ego"), "exo": ("Exo", "Exo"), "ego2exo": ("Ego", "Exo")}[subtask]
    assert images == expected_images(seen, options, OBSERVED)


@pytest.mark.parametrize("scene", ["indoor", "outdoor"])
@pytest.mark.parametrize(
    ("direction", "seen", "options", "query", "candidate"),
    [("ego2exo", "Ego", "Exo", "egocentric", "exocentric"), ("exo2ego", "Exo", "Ego", "exocentric", "egocentric")],
)
def test_the_prompt_of_matching_is_the_papers_template_after_one_keyframe(
    scene: str, direction: str, seen: str, options: str, query: str, candidate: str
) -> None:
    *images, (prompt, _) = shown(ask(make_row("match", direction, scene=scene)))
    assert prompt == filled(MATCHING, Query_View=query, Candidate_View=candidate, Setting=scene)
    assert images == expected_images(seen, options, OBSERVED[:1])


def test_no_placeholder_is_left_and_no_text_but_labels_stands_before_the_images() -> None:
    for row in (make_row(), make_row("exo"), make_row("ego2exo"), make_row("match", "ego2exo")):
        asked = ask(row)
        assert "<" not in asked.prompt
        assert "{" not in asked.prompt
        assert asked.prompt.count("Question:") == 1


# --- what a question says about itself ----------------------------------------------------------------------------


def test_a_question_says_what_the_tables_break_down_by() -> None:
    asked = ask(make_row("ego2exo", group="g7", scene="outdoor"))
    assert (asked.id, asked.setting, asked.cluster, asked.gold) == ("ego2exo/q1", "ego2exo", "clip 1", ("B",))
    assert dict(asked.groups) == {
        "setting": "ego2exo",
        "subtask": "ego2exo",
        "direction": (),
        "scene": "outdoor",
        "source": "Ego4D",
        "future": "2",
        "kinds": ("past", "target", "later", "past"),
        "group": "g7",
    }
    assert asked.option_texts == dict.fromkeys("ABCD")
    assert not asked.several
    assert not asked.chain_of_thought


def test_options_are_images_that_are_compared_with_the_last_observation() -> None:
    asked = ask(make_row("ego"))
    assert [number_of(option.image) for option in asked.options if option.image] == [
        NUMBERS[column] for column in OPTION_COLUMNS
    ]
    assert all(option.image in asked.parts for option in asked.options)
    assert asked.reference is not None
    assert number_of(asked.reference) == NUMBERS["observation_4"]
    matching = ask(make_row("match", "exo2ego")).reference
    assert matching is not None
    assert number_of(matching) == NUMBERS["observation_1"]


@pytest.mark.parametrize("seed", range(6))
def test_shuffled_options_keep_image_kind_and_right_answer_together(seed: int) -> None:
    asked = ask(make_row("exo"), settings=Settings(shuffle_seed=seed))
    pictures = dict(shown(asked)[:-1])
    kind_of = dict(zip((NUMBERS[column] for column in OPTION_COLUMNS), make_row()["option_kinds"], strict=True))
    shown_kinds = tuple(kind_of[pictures[f"Exo-centric option {letter}:"]] for letter in "ABCD")
    assert asked.groups["kinds"] == shown_kinds
    assert asked.gold == ("ABCD"[shown_kinds.index("target")],)


def test_images_are_opened_only_when_asked_for() -> None:
    row = {name: value for name, value in make_row().items() if name not in IMAGE_COLUMNS}
    asked = ask(row)
    with pytest.raises(DataError, match="question ego/q1, observation_1: the image is missing"):
        asked.images()[0].open()


def test_a_row_of_another_subtask_is_refused() -> None:
    with pytest.raises(DataError, match=r"question ego/q1: its row belongs to subtask 'exo'. Prepare the data again"):
        question(make_row("exo"), setting_of(make_row("ego")), Settings(), None)


# --- controls -----------------------------------------------------------------------------------------------------


def test_every_control_leaves_prompt_and_options_alone() -> None:
    for family in ("candidate_only", "last_frame", "shuffled"):
        for subtask in WORDS:
            row = make_row(subtask)
            assert shown(ask(row, family))[-5:] == shown(ask(row))[-5:]


def test_candidate_only_shows_options_alone() -> None:
    for row in (make_row("ego2exo"), make_row("match", "exo2ego")):
        asked = ask(row, "candidate_only")
        assert len(asked.images()) == 4
        assert asked.reference is None


def test_last_frame_only_keeps_the_last_observation_under_its_label() -> None:
    assert shown(ask(make_row("ego"), "last_frame"))[0] == ("Ego-centric keyframe 4:", NUMBERS["observation_4"])
    assert len(ask(make_row("ego"), "last_frame").images()) == 5


@pytest.mark.parametrize("number", range(40))
def test_shuffled_observations_are_never_in_their_order(number: int) -> None:
    asked = ask(make_row("exo", id=f"q{number}"), "shuffled")
    labels, pictures = zip(*shown(asked)[:4], strict=True)
    assert labels == tuple(f"Exo-centric keyframe {place}:" for place in (1, 2, 3, 4))
    assert pictures != (1, 2, 3, 4)
    assert sorted(pictures) == [1, 2, 3, 4]
    assert asked.reference is not None
    assert number_of(asked.reference) == pictures[-1]


def test_mismatched_observations_are_those_of_the_donor_and_the_options_are_not() -> None:
    donor = make_row("match", "ego2exo", id="q2", **{column: colour(99) for column in IMAGE_COLUMNS})
    row = {**make_row("match", "ego2exo"), DONOR_ROW: lambda: donor}
    assert [picture for _, picture in shown(ask(row, "mismatched"))] == [
        99,
        *(NUMBERS[column] for column in OPTION_COLUMNS),
        0,
    ]


@pytest.mark.parametrize(
    ("family", "labels"),
    [
        ("plus_exo", {"Exo-centric current state:": "current_exo"}),
        ("plus_ego", {"Ego-centric next state:": "next_ego"}),
        ("plus_both", {"Exo-centric current state:": "current_exo", "Ego-centric next state:": "next_ego"}),
    ],
)
def test_an_oracle_stands_between_observations_and_options(family: str, labels: Mapping[str, str]) -> None:
    row = make_row("ego2exo", group="g")
    plain = shown(ask(row))
    wanted = [*plain[:4], *((label, NUMBERS[column]) for label, column in labels.items()), *plain[4:]]
    assert shown(ask(row, family)) == wanted
    assert ask(row, family).reference is None


def test_the_tasks_are_the_documented_ones() -> None:
    five = ["ego", "match_ego2exo", "match_exo2ego", "exo", "ego2exo"]
    next_state, across = ["ego", "exo", "ego2exo"], ["match_ego2exo", "match_exo2ego", "ego2exo"]
    families = {
        "": five,
        "candidate_only": five,
        "captioned": five,
        "last_frame": next_state,
        "shuffled": next_state,
        "mismatched": across,
        "matched": ["ego", "match_ego2exo", "exo", "ego2exo"],
    }
    singles = ["plus_exo", "plus_ego", "plus_both"]

    def names(data: str) -> set[str]:
        grouped = {
            "_".join(filter(None, (data, name, family))) for family, members in families.items() for name in members
        }
        return grouped | {f"{data}_{name}" for name in singles}

    assert {entry.name for entry in BENCHMARK.tasks} == names("egoexo_next") | names("egoexo_next_mini")
    groups = {
        "_".join(filter(None, (data, family))) for data in ("egoexo_next", "egoexo_next_mini") for family in families
    }
    assert set(BENCHMARK.groups) == groups | {"egoexo_next_match", "egoexo_next_mini_match"}


@pytest.mark.parametrize(
    ("name", "questions"),
    [
        ("egoexo_next", 2503),
        ("egoexo_next_match", 604),
        ("EgoExo_Next_Candidate_Only", 2503),
        ("egoexo_next_last_frame", 1899),
        ("egoexo_next_shuffled", 1899),
        ("egoexo_next_mismatched", 1231),
        ("egoexo_next_matched", 800),
        ("EgoExo_Next_Plus_Both", 200),
        ("EgoExo_Next_Match_Ego2Exo", 302),
    ],
)
def test_tasks_have_the_papers_number_of_questions(name: str, questions: int) -> None:
    found: Task = task(name)
    assert found.expected == questions


# --- what is checked before a model is asked ----------------------------------------------------------------------


def test_a_right_row_has_no_fault() -> None:
    for row in (make_row(), make_row("match", "ego2exo"), make_row(option_kinds=[], future_candidates=0)):
        assert problems(row, "file") == []


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        (lambda row: row.pop("scene"), "scene", "is missing"),
        (lambda row: row.update(id=" "), "id", "is empty"),
        (lambda row: row.update(subtask="five"), "subtask", "'five' is unknown"),
        (lambda row: row.update(scene="Indoor"), "scene", "'Indoor' is unknown"),
        (lambda row: row.update(direction="ego2exo"), "direction", "'ego2exo' is unknown"),
        (lambda row: row.update(answer="E", option_kinds=[]), "answer", "'E' is unknown"),
        (lambda row: row.update(answer="AB", option_kinds=[]), "answer", "'AB' is unknown"),
        (lambda row: row.update(future_candidates=5), "future_candidates", "5 of four options"),
        (lambda row: row.update(future_candidates=3), "future_candidates", "3, but option_kinds names 2"),
        (lambda row: row.update(option_kinds=["target"] * 3), "option_kinds", "is no list of four kinds"),
        (
            lambda row: row.update(option_kinds=["target", "target", "past", "past"]),
            "option_kinds",
            "A, B, the answer B",
        ),
        (lambda row: row.update(answer="A"), "option_kinds", "the target is B, the answer A"),
    ],
)
def test_a_faulty_row_is_named_with_its_field(change: Callable[[Row], object], field: str, message: str) -> None:
    row = make_row()
    change(row)
    found = problems(row, "the file")
    assert [(problem.file, problem.field) for problem in found] == [("the file", field)]
    assert message in found[0].message
    assert found[0].remedy


def test_matching_needs_a_direction() -> None:
    (found,) = problems(make_row("match", ""), "file")
    assert (found.field, found.remedy) == ("direction", "Use ego2exo or exo2ego")


def test_the_images_that_a_row_needs_follow_from_its_subtask() -> None:
    assert needed_images(make_row("match", "ego2exo")) == ("observation_1", *OPTION_COLUMNS)
    assert needed_images(make_row("ego")) == (*OBSERVED, *OPTION_COLUMNS)
    assert needed_images(make_row("ego", group="g")) == (*OBSERVED, *OPTION_COLUMNS)
    assert needed_images(make_row("ego2exo", group="g")) == (*OBSERVED, *ORACLE_COLUMNS, *OPTION_COLUMNS)


def test_equal_options_are_named() -> None:
    row = make_row(option_c=colour(NUMBERS["option_a"]))
    assert pixel_warnings(row, "file") == ["file, question q1: option_a and option_c hold the same image"]
    assert pixel_warnings(make_row(), "file") == []
