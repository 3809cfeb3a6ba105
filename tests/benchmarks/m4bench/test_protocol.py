"""From a row of M4Bench to a question, in every variant."""

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st
from PIL import Image

from spotdiff.benchmarks.m4bench import BENCHMARK
from spotdiff.benchmarks.m4bench.protocol import BOX_NOTE, LETTERS, Variant, pixel_problems, problems, question
from spotdiff.benchmarks.m4bench.tables import SETTINGS
from spotdiff.errors import DataError, SettingError
from spotdiff.media.images import pixel_digest
from spotdiff.question import Image as ImagePart
from spotdiff.question import Question, Text
from spotdiff.settings import Settings

Row = dict[str, Any]
MakeRow = Callable[..., Row]

SETTING = {setting.name: setting for setting in SETTINGS}
PLAIN, PROMPTED = SETTING["spatial_perception"], SETTING["spatial_perception_vp"]
PIXELS = Settings(box_family="pixels")


def asked(row: Row, setting: Any = PLAIN, model: str | None = None, **changes: Any) -> Question:
    return question(row, setting, Settings(**{"box_family": "pixels", **changes}), model)


def digests(asked: Question) -> list[str]:
    return [pixel_digest(image.open()) for image in asked.images()]


def pixels(image: Image.Image) -> "np.ndarray[Any, Any]":
    return np.asarray(image, dtype=int)


# --- the plain question -------------------------------------------------------------------------------------------


def test_a_question_is_both_images_and_then_one_text(make_row: MakeRow) -> None:
    parts = asked(make_row()).parts
    assert [type(part) for part in parts] == [ImagePart, ImagePart, Text]


def test_the_text_is_question_and_options_one_a_line(make_row: MakeRow) -> None:
    assert asked(make_row()).prompt == (
        "Which of the following options are semantic corresponding part?\n"
        "A. [0, 0, 10, 10] in image-1 and [5, 5, 25, 45] in image-2\n"
        "B. [20, 10, 64, 48] in image-1 and [0, 40, 50, 80] in image-2\n"
        "C. [3, 7, 33, 17] in image-1 and [11, 2, 44, 9] in image-2\n"
        "D. No difference."
    )


def test_a_visual_prompt_stands_before_the_question(make_row: MakeRow) -> None:
    plain, prompted = asked(make_row()), asked(make_row(), PROMPTED)
    assert prompted.prompt == "[4, 5, 40, 30] in image-1 and [10, 20, 50, 80] in image-2 are bottle. " + plain.prompt
    assert digests(plain) == digests(prompted)


def test_a_question_carries_what_scoring_needs(make_row: MakeRow) -> None:
    found = asked(make_row("a/b ü"), PROMPTED)
    assert found.id == "spatial_perception_vp/a/b ü"
    assert found.gold == ("B",)
    assert found.cluster == "pair of a/b ü"
    assert found.groups == {"setting": "spatial_perception_vp", "category": "bottle"}
    assert [option.boxes for option in found.options][1] == ((20, 10, 64, 48), (0, 40, 50, 80))


def test_the_name_of_the_model_decides_how_boxes_are_written(make_row: MakeRow) -> None:
    by_model = question(make_row(), PLAIN, Settings(), "InternVL2_5-8B")
    assert by_model.prompt == asked(make_row(), box_family="internvl").prompt
    assert by_model.prompt != asked(make_row()).prompt


def test_boxes_for_a_model_of_unknown_family_are_an_error(make_row: MakeRow) -> None:
    with pytest.raises(SettingError, match="SPOTDIFF_BOX_FAMILY"):
        question(make_row(), PLAIN, Settings(), "openai")


def test_a_question_without_boxes_needs_no_family(plain_row: MakeRow) -> None:
    found = question(plain_row(), SETTING["state_invariance"], Settings(), None)
    assert found.prompt == "Whether these two pictures show same object? \nA. No\nB. Yes"


def test_a_setting_with_a_visual_prompt_refuses_a_row_without_one(make_row: MakeRow) -> None:
    row = make_row(visual_prompt="", visual_prompt_boxes=[])
    for how in ("text", "drawn"):
        with pytest.raises(DataError, match=r"spatial_perception_vp/q1: .* no visual prompt"):
            asked(row, PROMPTED, visual_prompt=how)


def test_a_missing_image_names_the_question_and_the_column_when_it_is_opened(make_row: MakeRow) -> None:
    first, second = asked({**make_row(), "image_2": None}).images()
    assert first.open().size == (64, 48)
    with pytest.raises(DataError, match="question spatial_perception/q1, image_2: the image is missing"):
        second.open()


# --- swapped images -----------------------------------------------------------------------------------------------


def exchanged(row: Row) -> Row:
    """The row that somebody would have written who called the second image the first."""
    return {
        **row,
        "image_1": row["image_2"],
        "image_2": row["image_1"],
        "image_sizes": row["image_sizes"][::-1],
        "visual_prompt_boxes": row["visual_prompt_boxes"][::-1],
        "option_boxes": [boxes[::-1] for boxes in row["option_boxes"]],
    }


@pytest.mark.parametrize("setting", [PLAIN, PROMPTED])
@pytest.mark.parametrize("family", ["pixels", "qwen2_vl", "qwen2_5_vl"])
@pytest.mark.parametrize("layout", ["separate", "concat"])
@pytest.mark.parametrize("how", ["text", "drawn"])
def test_swapped_is_the_question_about_the_exchanged_images(
    make_row: MakeRow, setting: Any, family: str, layout: str, how: str
) -> None:
    variant = {"box_family": family, "layout": layout, "visual_prompt": how}
    swapped = asked(make_row(), setting, swap=True, **variant)
    written = asked(exchanged(make_row()), setting, **variant)
    assert swapped.prompt == written.prompt
    assert digests(swapped) == digests(written)
    assert (swapped.id, swapped.gold, swapped.cluster) == (written.id, written.gold, written.cluster)


def test_after_a_swap_each_mention_of_an_image_names_a_box_of_that_image(make_row: MakeRow) -> None:
    row = make_row()
    swapped = asked(row, PROMPTED, swap=True)
    mentions = re.findall(r"(\[[\d, ]+\]) in image-(\d)", swapped.prompt)
    pairs = [row["visual_prompt_boxes"], *(boxes for boxes in row["option_boxes"] if boxes)]
    assert len(mentions) == 2 * len(pairs)
    for (written, number), (pair, place) in zip(mentions, itertools.product(pairs, (0, 1)), strict=True):
        original = 1 - place  # what is called image-1 now was image 2 in the row
        assert int(number) == place + 1
        assert json.loads(written) == pair[original]
    assert digests(swapped) == digests(asked(row))[::-1]


def test_swap_leaves_a_question_without_boxes_as_it_reads(plain_row: MakeRow) -> None:
    setting = SETTING["state_invariance"]
    assert asked(plain_row(), setting, swap=True).prompt == asked(plain_row(), setting).prompt


# --- shuffled options ---------------------------------------------------------------------------------------------


def test_a_shuffle_deals_the_same_options_out_anew_and_the_right_answer_follows(make_row: MakeRow) -> None:
    plain = asked(make_row())
    orders = set()
    for seed in range(40):
        mixed = asked(make_row(), shuffle_seed=seed)
        assert [option.letter for option in mixed.options] == list("ABCD")
        assert sorted(option.text or "" for option in mixed.options) == sorted(o.text or "" for o in plain.options)
        assert {(o.text, o.boxes) for o in mixed.options} == {(o.text, o.boxes) for o in plain.options}
        (right,) = (option.text for option in mixed.options if (option.letter,) == mixed.gold)
        assert right == plain.option_texts["B"]
        assert mixed.prompt.splitlines()[1:] == [f"{option.letter}. {option.text}" for option in mixed.options]
        orders.add(tuple(option.text for option in mixed.options))
    assert len(orders) > 10


# The letters sorted by what `sha256sum` prints for `<seed>/spatial_perception/<id>/<letter>`.
RECORDED = {(0, "q1"): "DCAB", (1, "q1"): "DCBA", (7, "q1"): "DCAB", (0, "q2"): "CDBA"}


def order(row: Row, seed: int) -> str:
    """The old letters in their new order."""
    old = {boxes: letter for letter, boxes in zip(LETTERS, (o.boxes for o in asked(row).options), strict=False)}
    return "".join(old[option.boxes] for option in asked(row, shuffle_seed=seed).options)


@pytest.mark.parametrize(("seed", "name"), RECORDED)
def test_a_shuffle_is_the_one_that_was_recorded(make_row: MakeRow, seed: int, name: str) -> None:
    assert order(make_row(name), seed) == RECORDED[seed, name]


def test_a_shuffle_is_the_same_in_every_process() -> None:
    code = (
        "from spotdiff.question import Option, shuffled\n"
        "options = tuple(Option(letter, letter) for letter in 'ABCDEFGH')\n"
        "for seed in range(20):\n"
        "    print(seed, *[o.text for o in shuffled(options, ('C',), seed, 'setting/ü')[0]])"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(seen) == 1


# --- drawn boxes --------------------------------------------------------------------------------------------------


def test_a_drawn_prompt_changes_pixels_on_the_frame_of_the_box_only(make_row: MakeRow) -> None:
    row = make_row()
    before = [pixels(image.open()) for image in asked(row, PROMPTED).images()]
    after = [pixels(image.open()) for image in asked(row, PROMPTED, visual_prompt="drawn").images()]
    for old, new, (x1, y1, x2, y2) in zip(before, after, row["visual_prompt_boxes"], strict=True):
        frame = np.zeros(old.shape[:2], dtype=bool)
        frame[y1:y2, x1:x2] = True
        frame[y1 + 2 : y2 - 2, x1 + 2 : x2 - 2] = False
        assert (new[frame] == (255, 0, 0)).all()
        assert (new[~frame] == old[~frame]).all()


def test_a_drawn_prompt_speaks_of_the_red_box_and_writes_no_box_for_it(make_row: MakeRow) -> None:
    found = asked(make_row(), PROMPTED, visual_prompt="drawn").prompt
    plain = asked(make_row()).prompt
    assert found == "The red box in image-1 and the red box in image-2 are bottle. " + plain


def test_drawing_leaves_a_setting_without_visual_prompt_alone(make_row: MakeRow) -> None:
    assert digests(asked(make_row(), visual_prompt="drawn")) == digests(asked(make_row()))
    assert asked(make_row(), visual_prompt="drawn").prompt == asked(make_row()).prompt


# --- one image ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("how", ["text", "drawn"])
def test_concat_puts_both_images_side_by_side_unchanged(make_row: MakeRow, swap: bool, how: str) -> None:
    parts = [image.open() for image in asked(make_row(), PROMPTED, swap=swap, visual_prompt=how).images()]
    (joined,) = asked(make_row(), PROMPTED, layout="concat", swap=swap, visual_prompt=how).images()
    canvas = joined.open()
    assert canvas.size == (114, 80)
    left, right = (pixels(part) for part in parts)
    whole = pixels(canvas)
    assert (whole[: left.shape[0], : left.shape[1]] == left).all()
    assert (whole[: right.shape[0], left.shape[1] :] == right).all()
    low = 0 if left.shape[0] < right.shape[0] else 1
    below = whole[48:, : left.shape[1]] if low == 0 else whole[48:, left.shape[1] :]
    assert (below == 0).all()


# --- the note -----------------------------------------------------------------------------------------------------


def test_a_box_note_stands_first_where_boxes_are_written(make_row: MakeRow, plain_row: MakeRow) -> None:
    assert asked(make_row(), box_note=True).prompt == BOX_NOTE + asked(make_row()).prompt
    assert asked(make_row(), PROMPTED, box_note=True).prompt == BOX_NOTE + asked(make_row(), PROMPTED).prompt
    assert asked(plain_row(), box_note=True).prompt == asked(plain_row()).prompt


def test_a_box_note_is_left_out_where_the_boxes_are_drawn(make_row: MakeRow) -> None:
    row = make_row(options=["left", "right"], option_boxes=[[], []], answer="A")
    drawn = asked(row, PROMPTED, visual_prompt="drawn")
    assert asked(row, PROMPTED, visual_prompt="drawn", box_note=True).prompt == drawn.prompt
    assert asked(row, box_note=True).prompt == asked(row).prompt


def test_a_box_note_about_pixels_is_refused_for_a_family_that_writes_no_pixels(make_row: MakeRow) -> None:
    with pytest.raises(SettingError, match="box_note"):
        asked(make_row(), box_note=True, box_family="qwen2_vl")


# --- all variants -------------------------------------------------------------------------------------------------

VARIANTS = st.fixed_dictionaries(
    {
        "layout": st.sampled_from(["separate", "concat"]),
        "visual_prompt": st.sampled_from(["text", "drawn"]),
        "box_note": st.booleans(),
        "shuffle_seed": st.none() | st.integers(0, 99),
        "swap": st.booleans(),
    }
)


@effort(max_examples=60, deadline=None)
@given(changes=VARIANTS, setting=st.sampled_from([PLAIN, PROMPTED]))
def test_no_variant_changes_what_the_right_answer_says(
    make_row: MakeRow, changes: Mapping[str, Any], setting: Any
) -> None:
    row = make_row()
    found = asked(row, setting, **changes)
    (right,) = (option for option in found.options if (option.letter,) == found.gold)
    assert right.boxes == tuple(map(tuple, row["option_boxes"][1]))
    assert found.id == f"{setting.name}/q1"
    assert len(found.images()) == (1 if changes["layout"] == "concat" else 2)
    assert asked(row, setting, **changes).prompt == found.prompt


def test_a_variant_is_read_from_the_settings() -> None:
    settings = Settings(layout="concat", visual_prompt="drawn", box_note=True, shuffle_seed=3, swap=True)
    everything = Variant(prompted=True, drawn=True, joined=True, swapped=True, seed=3, note=True)
    assert Variant.of(PROMPTED, settings) == everything
    assert Variant.of(PLAIN, Settings()) == Variant()
    assert not Variant.of(PLAIN, settings).drawn


# --- faults of rows -----------------------------------------------------------------------------------------------


def test_rows_without_fault_have_no_problems(make_row: MakeRow, plain_row: MakeRow) -> None:
    assert problems(make_row(), "f") == problems(plain_row(), "f") == []


@pytest.mark.parametrize("options", [2, 26])
def test_two_to_26_options_are_allowed(plain_row: MakeRow, options: int) -> None:
    texts = [f"option {number}" for number in range(options)]
    row = plain_row(options=texts, option_boxes=[[]] * options, answer=LETTERS[options - 1])
    assert problems(row, "f") == []
    assert asked(row).options[-1].letter == LETTERS[options - 1]


BOXES = [[[0, 0, 10, 10], [5, 5, 25, 45]], [[20, 10, 64, 48], [0, 40, 50, 80]], [[3, 7, 33, 17], [11, 2, 44, 9]], []]


def with_box(box: list[Any]) -> list[Any]:
    return [[box, BOXES[0][1]], *BOXES[1:]]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"answer": "E"}, "answer", "'E' is none of the 4 options"),
        ({"answer": "b"}, "answer", "'b'"),
        ({"answer": ""}, "answer", "''"),
        ({"answer": "AB"}, "answer", "'AB'"),
        ({"answer": None}, "answer", "is missing"),
        ({"options": ["x"], "option_boxes": [[]], "answer": "A"}, "options", "1 options"),
        ({"options": ["x"] * 27, "option_boxes": [[]] * 27, "answer": "A"}, "options", "27 options"),
        ({"options": [], "option_boxes": [], "answer": "A"}, "options", "0 options"),
        ({"options": [None, "x"], "option_boxes": [[], []], "answer": "A"}, "options", "another type"),
        ({"options": ["", "x"], "option_boxes": [[], []], "answer": "A"}, "options", "is empty"),
        ({"options": "ABCD"}, "options", "another type"),
        ({"option_boxes": BOXES[:3]}, "option_boxes", "boxes for 3 of 4 options"),
        ({"option_boxes": [None, *BOXES[1:]]}, "option_boxes", "another type"),
        ({"option_boxes": [[], *BOXES[1:]]}, "options[0]", "2 marks <bbox> for 0 boxes"),
        ({"option_boxes": [*BOXES[:3], [[0, 0, 1, 1]]]}, "options[3]", "0 marks <bbox> for 1 boxes"),
        ({"visual_prompt": "<bbox> is a bottle. "}, "visual_prompt", "1 marks <bbox> for 2 boxes"),
        ({"visual_prompt": "<bbox> is one. ", "visual_prompt_boxes": [[0, 0, 1, 1]]}, "visual_prompt", "1 marks"),
        ({"option_boxes": with_box([0, 0, 65, 10])}, "option_boxes[0]", "does not lie inside image 1, which is 64x48"),
        ({"option_boxes": with_box([0, 0, 10, 49])}, "option_boxes[0]", "does not lie inside image 1"),
        ({"option_boxes": with_box([-1, 0, 10, 10])}, "option_boxes[0]", "does not lie inside image 1"),
        ({"option_boxes": with_box([10, 0, 10, 10])}, "option_boxes[0]", "does not lie inside image 1"),
        ({"option_boxes": with_box([0, 0, 10])}, "option_boxes[0]", "does not lie inside image 1"),
        ({"option_boxes": with_box([0, 0, 10, None])}, "option_boxes", "another type"),
        ({"option_boxes": with_box([0.5, 0, 10, 10])}, "option_boxes", "another type"),
        ({"visual_prompt_boxes": [[4, 5, 40, 30], [10, 20, 51, 80]]}, "visual_prompt_boxes", "inside image 2"),
        ({"image_sizes": []}, "image_sizes", "[] is not the width and height"),
        ({"image_sizes": [[64, 48]]}, "image_sizes", "is not the width and height"),
        ({"image_sizes": [[64, 48], [50]]}, "image_sizes", "is not the width and height"),
        ({"image_sizes": [[64, 48], [0, 80]]}, "image_sizes", "is not the width and height"),
        ({"image_sizes": [[64, 48], [None, 80]]}, "image_sizes", "another type"),
        ({"id": None}, "id", "is missing"),
        ({"id": 7}, "id", "another type"),
        ({"id": " "}, "id", "is empty"),
        ({"question": ""}, "question", "is empty"),
        ({"pair": ""}, "pair", "is empty"),
        ({"category": None}, "category", "is missing"),
    ],
)
def test_a_fault_of_a_row_is_named_with_file_row_and_field(
    make_row: MakeRow, changes: Row, field: str, message: str
) -> None:
    row = make_row(**changes)
    (problem,) = problems(row, "some file")
    assert (problem.file, problem.row, problem.field) == ("some file", str(row["id"] or "?"), field)
    assert message in problem.message
    assert problem.remedy


def test_every_missing_column_is_named(make_row: MakeRow) -> None:
    row = {name: value for name, value in make_row().items() if name not in ("options", "pair", "image_1")}
    assert [problem.field for problem in problems(row, "f")] == ["options", "pair"]


def test_all_faults_of_a_row_are_found_at_once(make_row: MakeRow) -> None:
    row = make_row(answer="Z", visual_prompt="no mark", option_boxes=with_box([0, 0, 99, 99]))
    assert [problem.field for problem in problems(row, "f")] == ["answer", "visual_prompt", "option_boxes[0]"]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99) | st.text(max_size=3) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)


@effort(deadline=None)
@given(data=st.data())
def test_a_row_is_either_faulty_or_can_be_asked(make_row: MakeRow, data: st.DataObject) -> None:
    row = make_row()
    for column in data.draw(st.lists(st.sampled_from([name for name in row if "image_1" not in name]), max_size=2)):
        row[column] = data.draw(ANYTHING)
    if problems(row, "f"):
        return
    found = question(row, PLAIN, PIXELS, None)
    assert set(found.gold) <= set(found.option_texts)


def test_images_of_another_size_than_the_row_says_are_faults(make_row: MakeRow) -> None:
    sizes = {"image_1": (64, 48), "image_2": (80, 50)}
    (problem,) = pixel_problems(make_row(), sizes, "f")
    assert (problem.row, problem.field) == ("q1", "image_2")
    assert "80x50" in problem.message
    assert "(50, 80)" in problem.message


def test_rows_that_state_no_size_take_any_image(plain_row: MakeRow) -> None:
    assert pixel_problems(plain_row(), {"image_1": (1, 1), "image_2": (2, 2)}, "f") == []


# --- second metric ------------------------------------------------------------------------------------------------


def test_acc_release_reads_the_reply_by_the_rules_of_the_release(make_row: MakeRow) -> None:
    found = asked(make_row())
    assert BENCHMARK.metrics(found, "(B)") == {"acc_release": 1.0}
    assert BENCHMARK.metrics(found, "Answer: C.") == {"acc_release": 0.0}
    assert BENCHMARK.metrics(found, "[20, 10, 64, 48] in image-1 and [0, 40, 50, 80] in image-2") == {
        "acc_release": 1.0
    }
    assert BENCHMARK.metrics(found, "") == {"acc_release": 0.0}
