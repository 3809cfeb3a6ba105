"""What values, names of files and the mapping of a user mean."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from spotdiff.benchmarks.egoexo_next.release_fields import Fields, load_fields
from spotdiff.benchmarks.egoexo_next.release_words import meaning, source_named, told_by_path
from spotdiff.benchmarks.egoexo_next.schema import SOURCES
from spotdiff.errors import SettingError


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        *(("subtask", value, "ego") for value in (1, "1", 1.0, "Subtask 1", "task_1", "S1", "ego", "Ego Next-State")),
        *(("subtask", value, "match") for value in (2, "subtask2", "Ego-Exo Matching", "Ego↔Exo Matching", "matching")),
        *(("subtask", value, "exo") for value in (3, "Subtask 3: Exo Next-State", "exo_next_state", "EXO")),
        *(("subtask", value, "ego2exo") for value in (4, "Ego-to-Exo Next-State", "Ego→Exo next state", "ego2exo")),
        *(("subtask", value, None) for value in (0, 5, "12", "Subtask 1: Exo Next-State", "EgoExo-Next", "next", True)),
        *(("direction", value, "ego2exo") for value in ("ego2exo", "Ego-to-Exo", "ego -> exo", "Ego → Exo", "E=>X")),
        *(("direction", value, "exo2ego") for value in ("exo2ego", "Exo to Ego", "exo-->ego")),
        *(("direction", value, None) for value in ("ego-exo", "ego<->exo", "Ego↔Exo", "ego", "exo <- ego", 1)),
        *(("scene", value, "indoor") for value in ("indoor", "Indoor", "INDOORS")),
        *(("scene", value, None) for value in ("in", "kitchen", "indoor/outdoor", "室内", "")),
        *(("option_kinds", value, "later") for value in ("later", "Later-Future", "later_state")),
        *(("option_kinds", value, None) for value in ("future", "distractor", "negative")),
        *(("answer", value, "C") for value in ("C", "c", "(C)", "option_c", "Candidate C")),
        *(("answer", value, None) for value in ("E", "AC", 2, "3", True)),
    ],
)
def test_a_value_is_known_in_other_case_and_punctuation_and_not_guessed(
    field: str, value: Any, word: str | None
) -> None:
    assert meaning(field, value, {}) == word


@pytest.mark.parametrize(
    ("value", "word"), [("Innen", "indoor"), ("innen!", "indoor"), ("outdoor", "indoor"), (7, "outdoor"), ("x y", None)]
)
def test_what_a_mapping_says_goes_before_what_is_known(value: Any, word: str | None) -> None:
    own = {"Innen": "indoor", "outdoor": "indoor", "7": "outdoor", "xy": "indoor", "X-Y": "outdoor"}
    assert meaning("scene", value, own) == word


def test_sources_are_written_as_in_the_paper_and_unknown_ones_as_they_are() -> None:
    assert [source_named(name.upper().replace("-", "_")) for name in SOURCES] == list(SOURCES)
    assert source_named("EPIC-Kitchens") == "EPIC-KITCHENS-100"
    assert source_named("Our own") == "Our own"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("subtask2/ego2exo/indoor.json", {"subtask": "match", "direction": "ego2exo", "scene": "indoor"}),
        ("Subtask_4_Outdoor.jsonl.gz", {"subtask": "ego2exo", "scene": "outdoor"}),
        ("task3/test-00000-of-00001.parquet", {"subtask": "exo"}),
        ("s1_indoor.json", {"subtask": "ego", "scene": "indoor"}),
        ("Ego_Next_State.json", {"subtask": "ego"}),
        ("ExoNextState/Indoor.json", {"subtask": "exo", "scene": "indoor"}),
        ("ego-to-exo-next-state.json", {"subtask": "ego2exo", "direction": "ego2exo"}),
        ("ego/data.json", {"subtask": "ego"}),
        ("exo_outdoor.parquet", {"subtask": "exo", "scene": "outdoor"}),
        ("ego2exo/indoor.json", {"subtask": "ego2exo", "direction": "ego2exo", "scene": "indoor"}),
        ("ego_exo_matching/exo2ego.json", {"subtask": "match", "direction": "exo2ego"}),
        ("matching/ego2exo.json", {"subtask": "match", "direction": "ego2exo"}),
        ("match_exo2ego/test.parquet", {"subtask": "match", "direction": "exo2ego"}),
        ("matched_ego2exo/test.parquet", {"subtask": "ego2exo", "direction": "ego2exo", "matched": True}),
        ("matched/subtask1.json", {"subtask": "ego", "matched": True}),
        ("diagnosis_indoor.json", {"scene": "indoor", "matched": True}),
        ("EgoExo-Next/questions.json", {}),
        ("EgoExoNext_indoor.json", {"scene": "indoor"}),
        ("egoexo_next_state.json", {}),
        ("subtask1/subtask2.json", {}),
        ("indoor/outdoor.json", {}),
        ("subtask12.json", {}),
        ("ego_frames.json", {}),
        ("unmatched.json", {}),
        ("indoorsy.json", {}),
    ],
)
def test_names_of_files_and_folders_tell_what_they_say_clearly(path: str, told: dict[str, Any]) -> None:
    assert told_by_path(PurePosixPath(path)) == {"matched": False, **told}


# --- the file of a mapping ----------------------------------------------------------------------------------------

FULL = {
    "id": ["part", "nr"],
    "group": False,
    "answer": "a",
    "answer_base": 1,
    "image_folder": "images/all",
    "values": {"subtask": {"N1": "ego"}, "source": {"w": "WEAR"}, "answer": {"first": "A"}},
    "files": {"a*.json": {"subtask": "N1", "scene": "Indoor", "source": "WEAR", "matched": True, "answer_base": 0}},
}


def test_a_mapping_is_read_with_all_that_it_may_say(tmp_path: Path) -> None:
    path = tmp_path / "fields.json"
    path.write_text(json.dumps(FULL))
    found = load_fields(path)
    assert found == Fields(
        columns={"id": ("part", "nr"), "group": (), "answer": ("a",)},
        values={"subtask": {"N1": "ego"}, "source": {"w": "WEAR"}, "answer": {"first": "A"}},
        files={
            "a*.json": {"subtask": "ego", "scene": "indoor", "source": "WEAR", "matched": True, "answer_base": 0},
        },
        answer_base=1,
        image_folder="images/all",
        path=path,
    )
    assert found.fixed("a/b.json")["scene"] == "indoor"
    assert found.fixed("b/a.json") == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"anwser": "x"}, "there is no field 'anwser'. Did you mean answer?"),
        ({"zzz": "x"}, "there is no field 'zzz'. Known: id, subtask"),
        ({"id": 7}, "id must be the name of a column or a list of names, or false, not 7"),
        ({"id": []}, "id must be the name of a column"),
        ({"id": ["a", ""]}, "id must be the name of a column"),
        ({"group": True}, "group must be the name of a column"),
        ({"id": False}, "id cannot be left out"),
        ({"options": False}, "options cannot be left out"),
        ({"scene": ["a", "b"]}, "scene has one column"),
        ({"answer_base": 2}, "answer_base must be 0 or 1, not 2"),
        ({"answer_base": True}, "answer_base must be 0 or 1"),
        ({"image_folder": "../x"}, "image_folder must be a folder within the release"),
        ({"image_folder": "/x"}, "image_folder must be a folder within the release"),
        ({"values": []}, "values holds tables"),
        ({"values": {"scene": "x"}}, "values holds tables"),
        ({"values": {"id": {"x": "y"}}}, "values: there is no field 'id'"),
        ({"values": {"scene": {"x": "garden"}}}, "values.scene: 'x' must be one of indoor, outdoor, not 'garden'"),
        ({"values": {"source": {"x": ""}}}, "values.source: 'x' must be a text"),
        ({"files": {"a": {"scenes": "indoor"}}}, "files.\"a\": there is no field 'scenes'. Did you mean scene?"),
        ({"files": {"a": {"scene": "garden"}}}, "files.\"a\": scene must be one of indoor, outdoor, not 'garden'"),
        ({"files": {"a": {"source": 7}}}, 'files."a": source must be a text, not 7'),
        ({"files": {"a": {"skip": "yes"}}}, 'files."a": skip must be true or false'),
        ([], "is no mapping of fields: it is not an object"),
    ],
)
def test_what_a_mapping_cannot_say_is_an_error_that_names_it(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "fields.json"
    path.write_text(json.dumps(content))
    with pytest.raises(SettingError) as caught:
        load_fields(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("fields.toml", "id = ", "cannot be read"),
        ("fields.json", "{", "cannot be read"),
        ("fields.yaml", "id: a", "write one as .toml or .json"),
        ("fields.toml", None, "cannot be read"),
    ],
)
def test_a_mapping_that_cannot_be_read_is_an_error(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(SettingError, match=message):
        load_fields(tmp_path / name)
