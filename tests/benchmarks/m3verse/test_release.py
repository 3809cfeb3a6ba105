"""From the release form of M3-Verse to the canonical folder."""

import gzip
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from spotdiff.benchmarks.m3verse.mini import FOLDER, rows
from spotdiff.benchmarks.m3verse.release import read_release
from spotdiff.data.prepare import prepare
from spotdiff.errors import DataError, SettingError
from spotdiff.evaluation import Evaluation
from spotdiff.question import Video
from spotdiff.tasks import task

pytestmark = pytest.mark.slow

Line = dict[str, Any]
Release = Callable[..., Path]

MINI = [asdict(row) for row in rows()]


def line(**changes: Any) -> Line:
    return {
        "scene_id": "scene_01",
        "question_id": "scene_01-1",
        "state_type": "intra-state",
        "category": "object_info",
        "subcategory": "object_color",
        "generator_name": "color",
        "question": "What color is it?",
        "options": ["A. Red", "B. Blue", "C. No correct option is listed."],
        "answer": ["B"],
        "question_type": "single_choice",
        "hallucination": False,
        "capabilities": ["attribute recognition"],
        **changes,
    }


def as_released(row: Mapping[str, Any], number: int) -> Line:
    """A row of the mini data in the release's form; how letters are written changes from line to line."""
    lettered = [f"{letter}. {text}" for letter, text in zip("ABCDE", row["options"], strict=False)]
    answers = (row["answer"], ",".join(row["answer"]), "".join(row["answer"]), ", ".join(row["answer"]))
    return line(
        scene_id=row["scene"],
        question_id=row["id"],
        state_type={"intra": "intra-state", "inter": "inter-states"}[row["state"]],
        category=row["category"],
        subcategory=row["subcategory"],
        question=row["question"],
        options=lettered if number % 3 else row["options"],
        answer=answers[number % 4],
        question_type="multiple_choice" if len(row["answer"]) > 1 else "single_choice",
        hallucination=row["hallucination"],
        capabilities=row["capabilities"],
    )


LINES = [as_released(row, number) for number, row in enumerate(MINI)]


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """Writes a part with these lines and the mini data's videos; returns its folder."""

    def write(*lines: Line | str, folder: str = "release/sim", table: str = "questions.jsonl") -> Path:
        place = tmp_path / folder
        place.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{entry if isinstance(entry, str) else json.dumps(entry)}\n" for entry in lines)
        (place / table).write_bytes(gzip.compress(text.encode()) if table.endswith(".gz") else text.encode())
        shutil.copytree(FOLDER / "videos", place, dirs_exist_ok=True)
        return place

    return write


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))
    return tmp_path / "data" / "m3verse"


def faults(folder: Path, **options: Any) -> list[tuple[str, str, str]]:
    """Line, field and message of each fault."""
    with pytest.raises(DataError) as caught:
        read_release(folder, **options)
    assert all(problem.remedy for problem in caught.value.problems)
    return [(problem.file.rpartition(", ")[2], problem.field, problem.message) for problem in caught.value.problems]


def relative(row: Mapping[str, Any], part: str) -> Line:
    """A row of the mini data as it is expected in a part."""
    columns = ("video_before", "video_after")
    return {**row, **{name: row[name].replace("videos/", f"videos/{part}/") for name in columns}}


# --- whole releases -----------------------------------------------------------------------------------------------


def test_both_parts_come_back_as_they_were_released(release: Release, data: Path, tmp_path: Path) -> None:
    release(*LINES)
    release(*LINES[::-1], folder="release/real", table="qa.jsonl.gz")
    assert prepare("m3verse", tmp_path / "release") == data
    for part, order in (("sim", MINI), ("real", MINI[::-1])):
        evaluation = Evaluation.of(task(f"m3verse_{part}"))
        found = evaluation.rows()
        assert found.remove_columns(["task", "setting"]).to_list() == [relative(row, part) for row in order]
        evaluation.check_media()
        for row, original in zip(found, order, strict=True):
            asked = evaluation.question(row)
            assert [option.text for option in asked.options] == original["options"]
            assert list(asked.gold) == original["answer"]
            videos = [part.path.read_bytes() for part in asked.parts if isinstance(part, Video)]
            assert videos == [(FOLDER / original[name]).read_bytes() for name in ("video_before", "video_after")]
    both = Evaluation.of(task("m3verse")).rows()
    assert list(both["setting"]) == ["sim"] * len(MINI) + ["real"] * len(MINI)


def test_videos_are_linked_where_they_can_be(release: Release, data: Path) -> None:
    folder = release(*LINES)
    prepare("m3verse", folder.parent)
    assert (data / "videos/sim/scene_02/state_1.mp4").samefile(folder / "scene_02/state_1.mp4")
    assert not (data / "videos/sim/scene_02/state_1.mp4").is_symlink()


def test_videos_are_copied_where_no_link_can_be_made(
    release: Release, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError("another disk")

    monkeypatch.setattr(os, "link", refused)
    folder = release(*LINES)
    prepare("m3verse", folder.parent)
    copy, original = data / "videos/sim/scene_02/state_1.mp4", folder / "scene_02/state_1.mp4"
    assert not copy.samefile(original)
    assert copy.read_bytes() == original.read_bytes()


def test_a_link_in_the_release_is_followed(release: Release, data: Path, tmp_path: Path) -> None:
    folder = release(*LINES)
    video = folder / "scene_01/state_0.mp4"
    video.rename(tmp_path / "blob")
    video.symlink_to(tmp_path / "blob")
    prepare("m3verse", folder.parent)
    taken = data / "videos/sim/scene_01/state_0.mp4"
    assert not taken.is_symlink()
    assert taken.samefile(tmp_path / "blob")


def test_only_videos_that_a_question_shows_are_taken(release: Release, data: Path) -> None:
    prepare("m3verse", release(line()).parent)
    assert {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()} == {
        "README.md",
        "sim/test.parquet",
        "videos/sim/scene_01/state_0.mp4",
        "videos/sim/scene_01/state_1.mp4",
    }


def test_without_videos_the_questions_can_be_read_and_asked_blind(release: Release, data: Path) -> None:
    folder = release(*LINES)
    for scene in folder.glob("scene_*"):
        shutil.rmtree(scene)
    prepare("m3verse", folder.parent, images=False)
    assert not (data / "videos").exists()
    assert len(Evaluation.of(task("m3verse_sim")).rows()) == len(MINI)
    Evaluation.of(task("m3verse_sim_blind")).check_media()
    with pytest.raises(DataError, match="no such file"):
        Evaluation.of(task("m3verse_sim")).check_media()


def test_a_full_disk_leaves_the_old_data_set_and_nothing_else(
    release: Release, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare("m3verse", release(*LINES).parent)
    folder = release(line())

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(SettingError, match=r"No space left on device.*SPOTDIFF_DATA"):
        prepare("m3verse", folder.parent)
    assert len(Evaluation.of(task("m3verse_sim")).rows()) == len(MINI)
    assert [entry.name for entry in data.parent.iterdir()] == ["m3verse"]


def test_without_a_folder_it_is_said_that_there_is_nothing_to_fetch() -> None:
    with pytest.raises(DataError, match=r"no public repository of M3-Verse's .*prepare m3verse --from DIR"):
        prepare("m3verse", None)
    with pytest.raises(DataError, match=r"no folder to read M4Bench from.*prepare m4bench --from DIR"):
        prepare("m4bench", None)


# --- which part ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "table", "part"),
    [
        ("sim", "questions.jsonl", "sim"),
        ("m3verse_real", "qa.jsonl.gz", "real"),
        ("M3-Verse-Sim", "qa.jsonl", "sim"),
        ("M3VerseReal", "qa.jsonl", "real"),
        ("anything", "sim.jsonl", "sim"),
        ("anything", "qa_real_552.jsonl", "real"),
        ("similar", "real.jsonl", "real"),
        ("sim_and_real", "sim.jsonl", "sim"),
    ],
)
def test_a_part_alone_is_told_by_the_name_of_its_folder_or_file(
    release: Release, folder: str, table: str, part: str
) -> None:
    found, files = read_release(release(line(), folder=folder, table=table))
    assert list(found) == [part]
    assert set(files) == {f"videos/{part}/scene_01/state_{number}.mp4" for number in (0, 1)}


def test_the_working_folder_has_a_name_too(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(release(line(), folder="real"))
    assert list(read_release(Path())[0]) == ["real"]


@pytest.mark.parametrize(
    ("folder", "table"),
    [("m3verse", "questions.jsonl"), ("similar", "really.jsonl"), ("sim", "real.jsonl"), ("sim_real", "qa.jsonl")],
)
def test_a_part_that_cannot_be_told_is_an_error_that_says_how_to_name_it(
    release: Release, folder: str, table: str
) -> None:
    with pytest.raises(DataError, match=rf"{table} does not say which part .*such as sim/questions\.jsonl"):
        read_release(release(line(), folder=folder, table=table))


def test_a_folder_without_a_table_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "sim").mkdir()
    with pytest.raises(DataError, match=r"holds no table, \*\.jsonl or \*\.jsonl\.gz"):
        read_release(tmp_path)


def test_two_tables_of_one_part_are_an_error_that_names_both(release: Release) -> None:
    release(line(), table="a.jsonl")
    with pytest.raises(DataError, match=r"a\.jsonl and .*b\.jsonl both name themselves sim"):
        read_release(release(line(), table="b.jsonl").parent)


def test_tables_of_both_parts_beside_the_same_scenes_are_an_error(release: Release) -> None:
    release(line(), folder="release", table="sim.jsonl")
    with pytest.raises(DataError, match="Give each a folder with its own scenes"):
        read_release(release(line(), folder="release", table="real.jsonl"))


# --- letters ------------------------------------------------------------------------------------------------------


def read(folder: Path) -> Line:
    (row,) = read_release(folder)[0]["sim"]
    return row


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (["A. Red", "B. Blue"], ["Red", "Blue"]),
        (["Red", "Blue"], ["Red", "Blue"]),
        (["A. Red", "Blue"], ["A. Red", "Blue"]),
        (["B. Red", "A. Blue"], ["B. Red", "A. Blue"]),
        (["A. Red", "C. Blue"], ["A. Red", "C. Blue"]),
        (["A. B. Smith", "B. A. Miller"], ["B. Smith", "A. Miller"]),
        (["a. Red", "b. Blue"], ["a. Red", "b. Blue"]),
        (["A.Red", "B.Blue"], ["A.Red", "B.Blue"]),
        (["A. Red ", "B.  Blue"], ["Red ", " Blue"]),
    ],
)
def test_letters_are_cut_off_only_where_every_option_has_its_own(
    release: Release, options: list[str], texts: list[str]
) -> None:
    assert read(release(line(options=options)))["options"] == texts


@pytest.mark.parametrize(
    ("answer", "letters"),
    [
        (["B"], ["B"]),
        ("B", ["B"]),
        (" B ", ["B"]),
        (["C", "A"], ["A", "C"]),
        ("A,C", ["A", "C"]),
        ("A, C", ["A", "C"]),
        ("C ,A", ["A", "C"]),
        ("AC", ["A", "C"]),
        ("ABC", ["A", "B", "C"]),
    ],
)
def test_an_answer_is_a_list_or_a_text_of_letters(release: Release, answer: Any, letters: list[str]) -> None:
    kind = "single_choice" if len(letters) == 1 else "multiple_choice"
    assert read(release(line(answer=answer, question_type=kind)))["answer"] == letters


@pytest.mark.parametrize(
    "name", ["Attribute Recognition", "attribute_recognition", "attribute-recognition", " ATTRIBUTE  recognition"]
)
def test_a_capability_is_known_in_other_case_and_with_other_signs_between_its_words(
    release: Release, name: str
) -> None:
    row = read(release(line(capabilities=[name, "reasoning", "attribute recognition"])))
    assert row["capabilities"] == ["attribute recognition", "reasoning"]


# --- faults -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"question_type": "multiple_choice"}, "question_type", "multiple_choice disagrees with the right letters, B"),
        ({"answer": "AB"}, "question_type", "single_choice disagrees with the right letters, A, B"),
        ({"question_type": "choice"}, "question_type", "'choice' is unknown"),
        ({"capabilities": ["attribute recognizing"]}, "capabilities", "'attribute recognizing' is unknown"),
        ({"capabilities": ["attributerecognition"]}, "capabilities", "'attributerecognition' is unknown"),
        ({"capabilities": []}, "capabilities", "there is none"),
        ({"state_type": "inter-state"}, "state_type", "'inter-state' is unknown"),
        ({"state_type": "intra"}, "state_type", "'intra' is unknown"),
        ({"answer": ["D"]}, "answer", "D is none of the 3 options"),
        ({"answer": "a"}, "answer", "a is none of the 3 options"),
        ({"answer": "A. Red"}, "answer", "A. Red is none of the 3 options"),
        ({"answer": []}, "answer", "there is no right option"),
        ({"answer": ""}, "answer", "there is no right option"),
        ({"answer": "BB", "question_type": "multiple_choice"}, "answer", "a letter appears twice"),
        ({"answer": None}, "answer", "None is of another type"),
        ({"answer": [1]}, "answer", "[1] does not hold texts alone"),
        ({"options": {"A": "Red", "B": "Blue"}}, "options", "is of another type"),
        ({"options": ["A. Red"], "answer": "A"}, "options", "1 options"),
        ({"options": ["A. ", "B. Blue"]}, "options", "an option is empty"),
        ({"hallucination": "no"}, "hallucination", "'no' is of another type"),
        ({"question": " "}, "question", "is empty"),
        ({"question_id": ""}, "question_id", "is empty"),
        ({"question_id": 1}, "question_id", "1 is of another type"),
        ({"scene_id": ""}, "scene_id", "is empty"),
        ({"scene_id": "../scene_01"}, "scene_id", "'../scene_01' cannot be the name of a folder"),
        ({"scene_id": ".."}, "scene_id", "cannot be the name of a folder"),
    ],
)
def test_a_fault_is_named_with_file_line_and_field(release: Release, changes: Line, field: str, message: str) -> None:
    folder = release(line(question_id="first"), line(**changes))
    found = [fault for fault in faults(folder) if fault[:2] == ("line 2", field)]
    assert [message in fault[2] for fault in found] == [True]
    assert {fault[0] for fault in faults(folder)} == {"line 2"}


@pytest.mark.parametrize("field", sorted(set(line()) - {"generator_name"}))
def test_a_missing_field_is_named(release: Release, field: str) -> None:
    lacking = {name: value for name, value in line().items() if name != field}
    assert faults(release(lacking)) == [("line 1", field, "is missing")]


@pytest.mark.parametrize("text", ["{", "[]", "7", "not JSON", '"text"'])
def test_a_line_that_is_no_object_is_named_beside_the_others(release: Release, text: str) -> None:
    found = faults(release(text, line(), line(question_id="x", answer="Z")))
    assert [fault[:2] for fault in found] == [("line 1", "all"), ("line 3", "answer")]


def test_fields_that_are_not_read_may_be_missing(release: Release) -> None:
    assert read(release({name: value for name, value in line().items() if name != "generator_name"}))


def test_a_question_that_stands_twice_is_named_with_both_lines(release: Release) -> None:
    (fault,) = faults(release(line(), line(question_id="x"), line(question="Another?")))
    assert fault == ("line 3", "question_id", "'scene_01-1' stands in line 1 already")


def test_the_same_question_may_stand_in_both_parts(release: Release) -> None:
    release(line())
    found, _ = read_release(release(line(), folder="release/real").parent)
    assert [row["id"] for part in found.values() for row in part] == ["scene_01-1"] * 2


def test_a_missing_scene_and_a_missing_video_are_named_once_with_their_first_question(release: Release) -> None:
    lines = [line(question_id=f"{scene}-{n}", scene_id=scene) for scene in ("scene_03", "scene_04") for n in (1, 2)]
    folder = release(*lines)
    shutil.rmtree(folder / "scene_03")
    (folder / "scene_04/state_1.mp4").unlink()
    assert faults(folder) == [
        ("line 1", "scene_id", f"there is no folder {folder / 'scene_03'}"),
        ("line 3", "scene_id", f"there is no video {folder / 'scene_04/state_1.mp4'}"),
    ]
    with pytest.raises(DataError, match=r"row scene_03-1 \(scene scene_03\), .*--no-images"):
        read_release(folder)
    assert len(read_release(folder, videos=False)[0]["sim"]) == 4


def test_faults_of_both_parts_and_of_all_kinds_come_in_one_error(release: Release, data: Path) -> None:
    release(line(answer="Z"), line(state_type="x"), line(question_id="g", scene_id="gone"), "{")
    folder = release(line(capabilities=["x"]), folder="release/real").parent
    with pytest.raises(DataError, match="6 faults in the data; nothing was prepared") as caught:
        prepare("m3verse", folder)
    assert [(Path(p.file.split(", ")[0]).parent.name, p.field) for p in caught.value.problems] == [
        ("sim", "answer"),
        ("sim", "state_type"),
        ("sim", "question_id"),
        ("sim", "all"),
        ("sim", "scene_id"),
        ("real", "capabilities"),
    ]
    assert not data.exists()


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8b broken", gzip.compress(b"{}" * 500)[:20], gzip.compress(b"\xff\xfe{}")],
    ids=["no gzip", "cut", "another encoding"],
)
def test_a_table_that_cannot_be_read_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "sim.jsonl.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"sim\.jsonl\.gz cannot be read"):
        read_release(tmp_path)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_table_without_questions_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "sim.jsonl").write_text(text)
    with pytest.raises(DataError, match="holds no questions"):
        read_release(tmp_path)


def test_line_separators_within_a_text_do_not_end_a_line(release: Release) -> None:
    text = json.dumps(line(question="One\u2028two?"), ensure_ascii=False)
    assert read(release("\ufeff" + text))["question"] == "One\u2028two?"
