"""From a released table to the canonical folder."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spotdiff.benchmarks.m4bench.questions import read_questions
from spotdiff.data.prepare import prepare
from spotdiff.errors import DataError, SettingError
from spotdiff.evaluation import Evaluation
from spotdiff.media.images import open_image, pixel_digest
from spotdiff.tasks import task

Make = Callable[[tuple[int, int], int], Image.Image]
Line = dict[str, Any]

PLAIN, PROMPTED = "Spatial_Perception_WithOut_Visual_Prompt", "Spatial_Perception_With_Visual_Prompt"


def yes_or_no(**changes: Any) -> Line:
    return {
        "task": "State_Invariance",
        "id": "s1",
        "question": "Whether these two pictures show same object? ",
        "options": {"B": "Yes", "A": "No"},
        "answer": "B",
        "images": ["imgs/same/1.png", "imgs/same/2.png"],
        **changes,
    }


def with_boxes(released: str = PLAIN, **changes: Any) -> Line:
    prompt = "<bbox> in image-1 and <bbox> in image-2 are Which things. " if released == PROMPTED else ""
    return {
        "task": released,
        "id": "p/1",
        "question": "text with numbers in it",
        "question_template": f"{prompt}Which of the following options?",
        "question_boxes": [[1, 1, 5, 5], [2, 2, 9, 9]] if prompt else [],
        "options": {"A": "x", "B": "none"},
        "option_templates": {"A": "<bbox> and <bbox>", "B": "none"},
        "option_boxes": {"A": [[0, 0, 3, 3], [0, 0, 4, 4]]},
        "answer": "A",
        "images": ["a.png", "b.png"],
        "image_sizes": [[10, 8], [12, 9]],
        "image_size_exact": [True, True],
        **({"category": "things"} if prompt else {}),
        **changes,
    }


@pytest.fixture
def release(tmp_path: Path, make_image: Make) -> Callable[..., Path]:
    """A released table with these lines, and its images."""

    def write(*lines: Line | str, name: str = "questions.jsonl") -> Path:
        folder = tmp_path / "release"
        (folder / "imgs" / "same").mkdir(parents=True, exist_ok=True)
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n"
        data = text.encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        for number, place in enumerate(["imgs/same/1.png", "imgs/same/2.png"]):
            make_image((5, 5), number).save(folder / place)
        make_image((10, 8), 3).save(folder / "a.png")
        make_image((12, 9), 4).save(folder / "b.png")
        return folder

    return write


@pytest.mark.parametrize("name", ["questions.jsonl", "questions.jsonl.gz"])
def test_a_line_becomes_a_row(release: Callable[..., Path], name: str) -> None:
    folder = release(yes_or_no(), name=name)
    (row,) = read_questions(folder)["state_invariance"]
    assert row["pair"] != ""
    assert {key: value for key, value in row.items() if key not in ("pair", "image_1", "image_2")} == {
        "id": "s1",
        "question": "Whether these two pictures show same object? ",
        "visual_prompt": "",
        "visual_prompt_boxes": [],
        "options": ["No", "Yes"],
        "option_boxes": [[], []],
        "answer": "B",
        "category": "",
        "image_sizes": [],
    }
    assert row["image_1"] == {"bytes": (folder / "imgs/same/1.png").read_bytes(), "path": None}


def test_both_forms_of_a_question_become_one_row_in_either_order(release: Callable[..., Path]) -> None:
    rows = [
        list(read_questions(release(*lines))["spatial_perception"])
        for lines in ([with_boxes(), with_boxes(PROMPTED)], [with_boxes(PROMPTED), with_boxes()])
    ]
    assert rows[0] == rows[1]
    (row,) = rows[0]
    assert row["visual_prompt"] == "<bbox> in image-1 and <bbox> in image-2 are Which things. "
    assert row["visual_prompt_boxes"] == [[1, 1, 5, 5], [2, 2, 9, 9]]
    assert row["question"] == "Which of the following options?"
    assert row["option_boxes"] == [[[0, 0, 3, 3], [0, 0, 4, 4]], []]
    assert row["category"] == "things"


def test_only_configs_with_questions_are_written(release: Callable[..., Path]) -> None:
    assert list(read_questions(release(yes_or_no()))) == ["state_invariance"]


def test_without_images_the_columns_are_empty(release: Callable[..., Path]) -> None:
    (row,) = read_questions(release(yes_or_no(images=["gone/1.png", "gone/2.png"])), images=False)["state_invariance"]
    assert row["image_1"] is row["image_2"] is None


def test_the_same_two_images_are_one_pair_in_either_order(release: Callable[..., Path]) -> None:
    lines = [
        yes_or_no(),
        yes_or_no(id="s2", images=yes_or_no()["images"][::-1]),
        yes_or_no(id="s3", images=["a.png", "b.png"]),
    ]
    pairs = [row["pair"] for row in read_questions(release(*lines))["state_invariance"]]
    assert pairs[0] == pairs[1] != pairs[2]


def test_no_path_of_the_release_is_left(release: Callable[..., Path]) -> None:
    (row,) = read_questions(release(yes_or_no()))["state_invariance"]
    assert not any(
        "same" in str(value) for name, value in row.items() if name not in ("question", "image_1", "image_2")
    )


def test_an_inferred_size_gives_way_to_that_of_the_image(release: Callable[..., Path]) -> None:
    sizes: Line = {"image_sizes": [[11, 8], [12, 10]], "image_size_exact": [False, True]}
    lines = [with_boxes(**sizes), with_boxes(PROMPTED, **sizes)]
    (row,) = read_questions(release(*lines))["spatial_perception"]
    assert row["image_sizes"] == [[10, 8], [12, 10]]
    (row,) = read_questions(release(*lines), images=False)["spatial_perception"]
    assert row["image_sizes"] == [[11, 8], [12, 10]]


def test_an_inferred_size_far_from_that_of_the_image_stays_for_the_check_to_find(release: Callable[..., Path]) -> None:
    sizes: Line = {"image_sizes": [[30, 8], [12, 9]], "image_size_exact": [False, True]}
    (row,) = read_questions(release(with_boxes(**sizes), with_boxes(PROMPTED, **sizes)))["spatial_perception"]
    assert row["image_sizes"] == [[30, 8], [12, 9]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        ("[]", "line 2 is not an object"),
        ("7", "line 2 is not an object"),
        ({"task": "State_Invariance"}, "line 2: field id, question, options, answer, images is missing"),
        (yes_or_no(task="State"), "line 2, field task: unknown setting 'State'. Known: State_Invariance"),
        (yes_or_no(task=["x"]), "line 2, field task: ['x'] is no text"),
        (yes_or_no(id=7), "line 2, field id: 7 is no text"),
        (yes_or_no(options=["No", "Yes"]), "line 2, field options: ['No', 'Yes'] is no object"),
        (yes_or_no(options={"A": "No", "C": "Yes"}), "line 2, field options: letters A, C are not A, B, C and so on"),
        (yes_or_no(options={"a": "No", "b": "Yes"}), "line 2, field options: letters a, b are not"),
        (yes_or_no(images=["x.png"]), "line 2, field images: ['x.png'] is not two paths"),
        (yes_or_no(images=["x.png", None]), "line 2, field images"),
        (yes_or_no(option_templates={"A": "x"}), "line 2, field option_templates"),
        (yes_or_no(option_boxes={"C": []}), "line 2, field option_boxes"),
        (yes_or_no(option_boxes=[]), "line 2, field option_boxes: [] is no object"),
        (yes_or_no(image_size_exact=[True]), "line 2, field image_size_exact"),
        (yes_or_no(id="first"), "line 2, field id: 'first' appears twice in its setting"),
        (with_boxes(PROMPTED, question_template="What?"), "line 2, field question_template: no sentence before"),
        (with_boxes(PROMPTED, question_template="Which?"), "line 2, field question_template: no sentence before"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error_with_file_line_and_field(
    release: Callable[..., Path], line: Line | str, message: str
) -> None:
    folder = release(yes_or_no(id="first"), line)
    with pytest.raises(DataError) as caught:
        read_questions(folder)
    assert f"questions.jsonl, {message}" in str(caught.value)


def test_a_question_that_comes_a_third_time_is_found(release: Callable[..., Path]) -> None:
    for extra in (with_boxes(), with_boxes(PROMPTED)):
        with pytest.raises(DataError, match="'p/1' appears twice in its setting"):
            read_questions(release(with_boxes(), with_boxes(PROMPTED), extra))


@pytest.mark.parametrize(
    "change", [{"answer": "B"}, {"images": ["b.png", "a.png"]}, {"image_sizes": [[12, 9], [10, 8]]}]
)
def test_two_forms_that_do_not_agree_are_an_error(release: Callable[..., Path], change: Line) -> None:
    with pytest.raises(DataError, match=f"'p/1' differs in .*{next(iter(change))}"):
        read_questions(release(with_boxes(), with_boxes(PROMPTED, **change)))


def test_faults_of_all_questions_come_in_one_error(release: Callable[..., Path]) -> None:
    lines = [
        yes_or_no(id="beyond", answer="C"),
        yes_or_no(id="lost", images=["gone/1.png", "imgs/same"]),
        yes_or_no(id="no image", images=["imgs/same/1.png", "questions.jsonl"]),
        with_boxes(),
        with_boxes(id="half"),
        with_boxes(PROMPTED, option_boxes={"A": [[0, 0, 3, 3], [0, 0, 40, 4]]}),
    ]
    with pytest.raises(DataError) as caught:
        read_questions(
            release(
                *[
                    {**line, "option_boxes": lines[-1]["option_boxes"]} if "question_template" in line else line
                    for line in lines
                ]
            )
        )
    found = [(problem.row, problem.field) for problem in caught.value.problems]
    assert {
        ("beyond", "answer"),
        ("lost", "image_1"),
        ("lost", "image_2"),
        ("no image", "image_2"),
        ("half", "task"),
    } <= set(found)
    assert ("p/1", "option_boxes[0]") in found
    assert "nothing was prepared" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"\x1f\x8b broken", gzip.compress(b"{}" * 500)[:20], gzip.compress(b"\xff\xfe{}")],
    ids=["no gzip", "cut", "another encoding"],
)
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "questions.jsonl.gz").write_bytes(data)
    with pytest.raises(DataError, match=r"questions\.jsonl\.gz cannot be read"):
        read_questions(tmp_path)


def test_a_damaged_compressed_file_is_an_error(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(json.dumps(yes_or_no()).encode()))
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "questions.jsonl.gz").write_bytes(bytes(data))
    with pytest.raises(DataError):
        read_questions(tmp_path)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_table_without_questions_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "questions.jsonl").write_text(text)
    with pytest.raises(DataError, match="holds no questions"):
        read_questions(tmp_path)


def test_a_folder_without_a_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no questions\.jsonl or questions\.jsonl\.gz"):
        read_questions(tmp_path)


# --- the whole way ------------------------------------------------------------------------------------------------


def test_prepared_data_can_be_asked(
    release: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))
    folder = release(with_boxes(), with_boxes(PROMPTED))
    assert prepare("m4bench", folder) == tmp_path / "data" / "m4bench"
    evaluation = Evaluation.of(task("m4bench_spatial_perception_vp"), "GPT-4o")
    (row,) = evaluation.rows()
    evaluation.check_media()
    question = evaluation.question(row)
    assert question.prompt == (
        "[1, 1, 5, 5] in image-1 and [2, 2, 9, 9] in image-2 are Which things. Which of the following options?\n"
        "A. [0, 0, 3, 3] and [0, 0, 4, 4]\nB. none"
    )
    digests = [pixel_digest(image.open()) for image in question.images()]
    assert digests == [pixel_digest(open_image(folder / name, "")) for name in ("a.png", "b.png")]


def test_a_release_with_a_fault_leaves_the_old_data(
    release: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    prepare("m4bench", release(yes_or_no()))
    with pytest.raises(DataError):
        prepare("m4bench", release(yes_or_no(answer="Z")))
    assert len(Evaluation.of(task("m4bench_state_invariance")).rows()) == 1
    assert [entry.name for entry in (tmp_path / "data").iterdir()] == ["m4bench"]


def test_an_unknown_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"There is no data set 'm5bench' to prepare\. Known: .*m4bench"):
        prepare("m5bench", tmp_path)


def test_a_release_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no folder"):
        prepare("m4bench", tmp_path / "nowhere")
