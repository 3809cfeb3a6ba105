"""The mini data of M4Bench: valid, balanced, reproducible, and of no use to one who sees no image."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

from spotdiff.benchmarks.m4bench.mini import CONFIGS, FOLDER, card, write

pytestmark = pytest.mark.slow

Row = dict[str, Any]

NAMES = [
    "state_invariance",
    "state_comparison",
    "detailed_difference_synthetic",
    "detailed_difference_natural",
    "spatial_perception",
    "instance_comparison",
]
BOXED = NAMES[2:]
PROMPTED = NAMES[4:]

REGION = "Which of the following region is the difference between figure 1 and figure 2"
QUESTIONS = {
    "state_invariance": r"Whether these two pictures show same object\? ",
    "state_comparison": r"Whether the [a-z_]+ in the first image and the second image are in the same state\? ",
    "detailed_difference_synthetic": REGION + r" \?",
    "detailed_difference_natural": REGION + r"\?",
    "spatial_perception": r"Which of the following options are semantic corresponding part\?",
    "instance_comparison": r"Which option shows a part pair that is semantic aligned but different\?",
}
FIGURES = "<bbox> in figure 1 and <bbox> in figure 2"
IMAGES = "<bbox> in image-1 and <bbox> in image-2"


def read(folder: Path) -> dict[str, list[Row]]:
    return {name: pq.read_table(folder / name / "test.parquet").to_pylist() for name in NAMES}


ROWS = read(FOLDER)
ALL = [(name, row) for name in NAMES for row in ROWS[name]]


def picture(row: Row, number: int) -> Image.Image:
    image = Image.open(io.BytesIO(row[f"image_{number}"]["bytes"]))
    image.load()
    return image


def boxes(row: Row) -> list[tuple[int, list[int]]]:
    """Number of the image, and box, for every box of a row."""
    lists = [row["visual_prompt_boxes"], *row["option_boxes"]]
    return [(number, box) for pair in lists for number, box in enumerate(pair)]


def test_there_is_one_config_for_each_part_of_the_benchmark_in_its_order() -> None:
    assert list(CONFIGS) == NAMES
    assert re.findall(r"config_name: (\w+)", card()) == NAMES
    assert all(6 <= len(rows) <= 8 for rows in ROWS.values())


def test_the_whole_folder_is_smaller_than_half_a_megabyte() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 500_000


@pytest.mark.parametrize("name", NAMES)
def test_questions_are_worded_as_in_the_released_data(name: str) -> None:
    assert all(re.fullmatch(QUESTIONS[name], row["question"]) for row in ROWS[name])


@pytest.mark.parametrize("name", NAMES)
def test_options_are_worded_as_in_the_released_data(name: str) -> None:
    expected = {
        "state_invariance": [["Yes", "No"], ["No", "Yes"]],
        "state_comparison": [["Yes", "No"], ["No", "Yes"]],
        "spatial_perception": [[IMAGES] * 4],
    }.get(name, [[FIGURES] * 3 + ["No difference."]])
    assert all(row["options"] in expected for row in ROWS[name])
    assert all(options in [row["options"] for row in ROWS[name]] for options in expected)


def test_visual_prompts_are_worded_as_in_the_released_data() -> None:
    wording = {
        "spatial_perception": "<bbox> in image-1 and <bbox> in image-2 are {}. ",
        "instance_comparison": "<bbox> in image1 and <bbox> in image2 are {}. ",
    }
    for name, row in ALL:
        expected = wording[name].format(row["category"]) if name in PROMPTED else ""
        assert row["visual_prompt"] == expected
        assert len(row["visual_prompt_boxes"]) == expected.count("<bbox>")


def test_every_mark_has_its_box_and_every_box_lies_inside_its_image() -> None:
    for _, row in ALL:
        assert [text.count("<bbox>") for text in row["options"]] == [len(pair) for pair in row["option_boxes"]]
        for number, (x1, y1, x2, y2) in boxes(row):
            width, height = row["image_sizes"][number]
            assert 0 <= x1 < x2 <= width
            assert 0 <= y1 < y2 <= height


def test_stated_sizes_are_those_of_the_pixels() -> None:
    for _, row in ALL:
        assert row["image_sizes"] == [list(picture(row, number).size) for number in (1, 2)]
        assert all(160 <= side <= 320 for size in row["image_sizes"] for side in size)


def test_only_the_two_figures_of_a_detailed_difference_have_one_size() -> None:
    for name, row in ALL:
        (width_1, height_1), (width_2, height_2) = row["image_sizes"]
        if name.startswith("detailed_difference"):
            assert (width_1, height_1) == (width_2, height_2)
        else:
            assert width_1 != width_2
            assert height_1 != height_2


def test_both_figures_of_a_detailed_difference_are_equal_outside_the_right_region_and_differ_in_it() -> None:
    for name in ("detailed_difference_synthetic", "detailed_difference_natural"):
        for row in ROWS[name]:
            x1, y1, x2, y2 = row["option_boxes"]["ABC".index(row["answer"])][0]
            first, second = (picture(row, number) for number in (1, 2))
            assert first.crop((x1, y1, x2, y2)).tobytes() != second.crop((x1, y1, x2, y2)).tobytes()
            for image in (first, second):
                image.paste((0, 0, 0), (x1 - 3, y1 - 3, x2 + 3, y2 + 3))
            assert first.tobytes() == second.tobytes()


def test_boxes_of_a_detailed_difference_are_the_same_in_both_figures() -> None:
    for name in ("detailed_difference_synthetic", "detailed_difference_natural"):
        assert all(pair[0] == pair[1] for row in ROWS[name] for pair in row["option_boxes"] if pair)


def test_right_letters_are_balanced() -> None:
    letters = {name: Counter(row["answer"] for row in rows) for name, rows in ROWS.items()}
    assert letters == {
        "state_invariance": {"A": 4, "B": 4},
        "state_comparison": {"A": 4, "B": 4},
        "detailed_difference_synthetic": {"A": 2, "B": 2, "C": 2},
        "detailed_difference_natural": {"A": 2, "B": 2, "C": 2},
        "spatial_perception": {"A": 2, "B": 2, "C": 2, "D": 2},
        "instance_comparison": {"A": 1, "B": 1, "C": 1, "D": 3},
    }


@pytest.mark.parametrize("name", ["state_invariance", "state_comparison"])
def test_yes_and_no_are_right_equally_often_at_either_letter(name: str) -> None:
    right = Counter((row["answer"], row["options"]["AB".index(row["answer"])]) for row in ROWS[name])
    assert right == {(letter, word): 2 for letter in "AB" for word in ("Yes", "No")}


def areas(row: Row) -> list[int]:
    """Of each option: both boxes together, 0 where it has none."""
    return [sum((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in pair) for pair in row["option_boxes"]]


def first_letter(row: Row) -> int:
    return 0


def last_letter(row: Row) -> int:
    return len(row["options"]) - 1


def largest_box(row: Row) -> int:
    return areas(row).index(max(areas(row)))


def smallest_box(row: Row) -> int:
    return areas(row).index(min(area for area in areas(row) if area > 0 or not any(areas(row))))


def always_yes(row: Row) -> int:
    return row["options"].index("Yes") if "Yes" in row["options"] else 0


def always_no(row: Row) -> int:
    return row["options"].index("No") if "No" in row["options"] else last_letter(row)


def most_frequent_box(row: Row) -> int:
    """The option whose boxes stand in most options."""
    counts = Counter(str(box) for pair in row["option_boxes"] for box in enumerate(pair))
    popularity = [sum(counts[str(box)] for box in enumerate(pair)) for pair in row["option_boxes"]]
    return popularity.index(max(popularity))


@pytest.mark.parametrize(
    "policy",
    [first_letter, last_letter, largest_box, smallest_box, always_yes, always_no, most_frequent_box],
)
def test_an_answer_that_sees_no_image_stays_near_chance(policy: Callable[[Row], int]) -> None:
    shares = {
        name: sum("ABCD"[policy(row)] == row["answer"] for row in rows) / len(rows) for name, rows in ROWS.items()
    }
    chance = sum(1 / len(ROWS[name][0]["options"]) for name in NAMES) / len(NAMES)
    assert sum(shares.values()) / len(shares) == pytest.approx(chance, abs=0.08)
    assert max(shares.values()) <= 0.5


def test_neither_names_nor_image_files_tell_the_answer() -> None:
    for name, row in ALL:
        assert re.fullmatch(rf"mini_{name}_\d+", row["id"])
        assert re.fullmatch(rf"{name}_pair_\d+", row["pair"])
        for number in (1, 2):
            assert row[f"image_{number}"]["path"] is None
            assert picture(row, number).info == {}


def test_ids_are_unique_and_a_pair_names_two_images() -> None:
    for rows in ROWS.values():
        assert len({row["id"] for row in rows}) == len(rows)
        images = {row["pair"]: (row["image_1"]["bytes"], row["image_2"]["bytes"]) for row in rows}
        assert all(images[row["pair"]] == (row["image_1"]["bytes"], row["image_2"]["bytes"]) for row in rows)
        assert len(set(images.values())) == len(images)


def test_some_pictures_are_asked_about_twice() -> None:
    assert len({row["pair"] for row in ROWS["spatial_perception"]}) < len(ROWS["spatial_perception"])


@pytest.mark.parametrize("name", NAMES)
def test_drawing_again_gives_the_committed_rows_and_pixels(name: str) -> None:
    drawn = [asdict(row) for row in CONFIGS[name]()]
    assert [plain(row) for row in drawn] == [plain(row) for row in ROWS[name]]


def plain(row: Row) -> Row:
    """A row that compares by value: lists for tuples, decoded pixels for files."""
    images = {f"image_{number}": picture(row, number) for number in (1, 2)}
    pixels = {column: (image.size, image.mode, image.tobytes()) for column, image in images.items()}
    return {key: listed(value) for key, value in row.items() if key not in images} | pixels


def listed(value: Any) -> Any:
    return [listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def test_the_written_folder_loads_with_datasets_config_by_config(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    write(tmp_path / "mini")
    assert read(tmp_path / "mini") == ROWS
    assert (tmp_path / "mini" / "README.md").read_text("utf-8") == (FOLDER / "README.md").read_text("utf-8")
    for name in NAMES:
        loaded = datasets.load_dataset(str(tmp_path / "mini"), name, split="test", cache_dir=str(tmp_path / "cache"))
        assert loaded["id"][:] == [row["id"] for row in ROWS[name]]
        assert isinstance(loaded[0]["image_1"], Image.Image)
        assert loaded[0]["image_sizes"] == ROWS[name][0]["image_sizes"]


@pytest.mark.parametrize("name", NAMES)
def test_files_have_the_columns_and_types_of_the_schema_in_small_row_groups(name: str) -> None:
    file = pq.ParquetFile(FOLDER / name / "test.parquet")
    box = "list<element: int32>"
    types = {field.name: str(field.type) for field in file.schema_arrow}
    assert {key: re.sub(r"\b(item|element): ", "element: ", kind) for key, kind in types.items()} == {
        "id": "string",
        "question": "string",
        "visual_prompt": "string",
        "visual_prompt_boxes": f"list<element: {box}>",
        "options": "list<element: string>",
        "option_boxes": f"list<element: list<element: {box}>>",
        "answer": "string",
        "category": "string",
        "pair": "string",
        "image_sizes": f"list<element: {box}>",
        "image_1": "struct<bytes: binary, path: string>",
        "image_2": "struct<bytes: binary, path: string>",
    }
    assert all(file.metadata.row_group(index).num_rows <= 4 for index in range(file.num_row_groups))


@pytest.mark.parametrize("name", BOXED)
def test_boxes_of_an_option_are_large_enough_to_see(name: str) -> None:
    assert min(min(x2 - x1, y2 - y1) for row in ROWS[name] for _, (x1, y1, x2, y2) in boxes(row)) >= 8
