"""Boxes as each model family writes them, against hand-computed values and the families' own definitions."""

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spotdiff.benchmarks.m4bench import boxes
from spotdiff.benchmarks.m4bench.boxes import (
    FAMILIES,
    BoxFamily,
    choose_family,
    families,
    family_of_model,
    fill,
    normalised,
    resized,
)
from spotdiff.errors import SettingError
from spotdiff.settings import load_settings

SIDE = st.integers(1, 5000)


@st.composite
def boxes_in_images(draw: st.DrawFn) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    width, height = draw(SIDE), draw(SIDE)
    x1, y1 = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    return (x1, y1, draw(st.integers(x1 + 1, width)), draw(st.integers(y1 + 1, height))), (width, height)


def numbers(text: str) -> list[int]:
    """The four coordinates of a written box: the last four numbers, as a tag may hold one of its own."""
    return [int(number) for number in re.findall(r"\d+", text)][-4:]


@pytest.mark.parametrize(
    ("family", "written"),
    [
        ("qwen2_vl", "<|box_start|>(157,122),(500,500)<|box_end|>"),
        ("internvl", "<box>[[158, 123, 500, 500]]</box>"),
        ("deepseek_vl2", "<|det|>[[157, 122, 499, 499]]<|/det|>"),
        ("pixels", "[101, 59, 320, 240]"),
        ("qwen2_5_vl", "[102, 59, 322, 238]"),
        ("qwen2_5_vl_lmms_eval", "[102, 59, 322, 238]"),
        ("qwen2_5_vl_vlmevalkit", "[186, 107, 588, 434]"),
        ("qwen3_vl", "[158, 123, 500, 500]"),
    ],
)
def test_each_family_writes_a_box_as_computed_by_hand(family: str, written: str) -> None:
    # Of 1000: 157.8, 122.9, 500, 500. Of 999: 157.7, 122.8, 499.5, 499.5. Of 644x476: 101.6, 58.5, 322, 238.
    # VLMEvalKit enlarges to at least 1,003,520 pixels. Of 1176x868: 185.6, 106.7, 588, 434.
    assert FAMILIES[family].write((101, 59, 320, 240), (640, 480)) == written


def test_every_built_in_family_has_a_hand_computed_value() -> None:
    resized = {"qwen2_5_vl", "qwen2_5_vl_lmms_eval", "qwen2_5_vl_vlmevalkit"}
    assert set(FAMILIES) == {"qwen2_vl", "internvl", "deepseek_vl2", "pixels", "qwen3_vl", *resized}


@given(boxes_in_images())
def test_the_release_formats_follow_the_formulas_of_the_release(case: tuple[tuple[int, ...], tuple[int, int]]) -> None:
    box, (w, h) = case
    x1, y1, x2, y2 = box
    floored = [int(x1 * (1000 / w)), int(y1 * (1000 / h)), int(x2 * (1000 / w)), int(y2 * (1000 / h))]
    rounded = [round((x1 / w) * 1000), round((y1 / h) * 1000), round((x2 / w) * 1000), round((y2 / h) * 1000)]
    of_999 = [int(x1 * (999 / w)), int(y1 * (999 / h)), int(x2 * (999 / w)), int(y2 * (999 / h))]
    assert numbers(FAMILIES["qwen2_vl"].write(box, (w, h))) == floored  # type: ignore[arg-type]
    assert numbers(FAMILIES["internvl"].write(box, (w, h))) == rounded  # type: ignore[arg-type]
    assert FAMILIES["deepseek_vl2"].write(box, (w, h)) == f"<|det|>[{of_999}]<|/det|>"  # type: ignore[arg-type]
    assert FAMILIES["pixels"].write(box, (w, h)) == str(list(box))  # type: ignore[arg-type]


@given(boxes_in_images(), st.sampled_from(sorted(FAMILIES)))
def test_coordinates_stay_in_range_and_in_order(case: tuple[Any, tuple[int, int]], name: str) -> None:
    box, size = case
    family = FAMILIES[name]
    x1, y1, x2, y2 = numbers(family.write(box, size))
    if family.scale == "resized":
        width, height = (side - 1 for side in resized(*size, family.patch, family.min_pixels, family.max_pixels))
    else:
        width, height = size if family.scale == "pixels" else (int(family.scale), int(family.scale))
    assert 0 <= x1 <= x2 <= width
    assert 0 <= y1 <= y2 <= height


@given(boxes_in_images(), st.sampled_from(sorted(FAMILIES)))
def test_a_written_coordinate_is_within_one_step_of_the_exact_one(case: tuple[Any, tuple[int, int]], name: str) -> None:
    box, size = case
    family = FAMILIES[name]
    if family.scale == "resized":
        extents = resized(*size, family.patch, family.min_pixels, family.max_pixels)
    else:
        extents = size if family.scale == "pixels" else (int(family.scale), int(family.scale))
    for i, written in enumerate(numbers(family.write(box, size))):
        exact = Fraction(box[i] * extents[i % 2], size[i % 2])
        assert abs(written - exact) <= 1


# --- the resize of Qwen2.5-VL -------------------------------------------------------------------------------------


def multiple_nearest(side: int, patch: int) -> int:
    """By trying all; a tie goes to the even multiple, and nothing is below one patch."""
    return patch * min(range(1, side // patch + 3), key=lambda k: (abs(k * patch - side), k % 2))


def by_search(width: int, height: int, patch: int, low: int, high: int) -> tuple[int, int]:
    """The definition, in whole numbers: a side scaled by sqrt(bound / area) is s with s^2 * area = side^2 * bound.

    Above the upper bound the largest multiple that is not above s, at least one patch; below the lower one the smallest
    that is not below it.
    """
    nearest = multiple_nearest(width, patch), multiple_nearest(height, patch)
    if low <= nearest[0] * nearest[1] <= high:
        return nearest
    above = nearest[0] * nearest[1] > high
    bound = high if above else low
    found = []
    for side in (width, height):
        k = 1
        while (k * patch) ** 2 * width * height < side**2 * bound:
            k += 1
        # Where a multiple is met exactly, the square root in floating point may fall to either side of it.
        assume((k * patch) ** 2 * width * height != side**2 * bound)
        found.append(max(1, k - 1) * patch if above else k * patch)
    return found[0], found[1]


@given(st.integers(1, 400), st.integers(1, 400), st.sampled_from([4, 14, 28]), st.integers(1, 40), st.integers(1, 40))
def test_the_resize_is_the_one_that_a_search_finds(width: int, height: int, patch: int, low: int, more: int) -> None:
    smallest = low * patch * patch
    largest = smallest + more * patch * patch
    assert resized(width, height, patch, smallest, largest) == by_search(width, height, patch, smallest, largest)


@given(st.integers(1, 8000), st.integers(1, 8000))
def test_a_resized_image_has_whole_patches_and_an_area_within_the_bounds(width: int, height: int) -> None:
    new_width, new_height = resized(width, height, 28, 3136, 12845056)
    assert new_width % 28 == new_height % 28 == 0
    assert new_width * new_height >= 3136
    # A side that cannot become smaller than one patch may lift a very long image above the bound.
    assert new_width * new_height <= 12845056 or 28 in (new_width, new_height)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((224, 224), (224, 224)),
        ((640, 480), (644, 476)),
        ((1024, 1024), (1036, 1036)),
        ((1, 1), (56, 56)),
        ((20, 2000), (28, 1988)),
        ((8000, 6000), (4116, 3080)),
        ((42, 70), (56, 56)),  # 1.5 and 2.5 patches: both to the even number
    ],
)
def test_known_sizes_are_resized_as_qwen2_5_vl_does(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert resized(*size, 28, 3136, 12845056) == expected


@pytest.mark.framework
def test_the_resize_agrees_with_that_of_transformers() -> None:
    smart_resize = pytest.importorskip("transformers.models.qwen2_vl.image_processing_qwen2_vl").smart_resize
    for width in (28, 29, 42, 100, 224, 333, 640, 1280, 4096, 9999):
        for height in (28, 41, 56, 70, 84, 480, 641, 3000, 5599):
            if max(width, height) < 200 * min(width, height):
                expected = smart_resize(height, width, factor=28, min_pixels=3136, max_pixels=12845056)
                assert resized(width, height, 28, 3136, 12845056) == tuple(reversed(expected)), (width, height)


def test_a_box_that_ends_at_the_edge_of_a_resized_image_ends_at_its_last_pixel() -> None:
    assert FAMILIES["qwen2_5_vl"].write((0, 0, 640, 480), (640, 480)) == "[0, 0, 643, 475]"


# --- families of the user -----------------------------------------------------------------------------------------


def test_a_family_in_spotdiff_toml_is_used_for_its_models(tmp_path: Path) -> None:
    (tmp_path / "spotdiff.toml").write_text(
        "[box_families.my_model]\n"
        'template = "<b>{x1} {y1} {x2} {y2}</b>"\nscale = 100\nrounding = "round"\nmodels = ["My.Model"]\n'
    )
    table = families(load_settings(environment={}, folder=tmp_path).box_families)
    family = choose_family(None, "my-model/7B", table)
    assert family.write((101, 59, 320, 240), (640, 480)) == "<b>16 12 50 50</b>"


def test_the_example_of_the_documentation_is_a_family(tmp_path: Path) -> None:
    lines = [line for line in (boxes.__doc__ or "").splitlines() if line.startswith("    ")]
    (tmp_path / "spotdiff.toml").write_text("\n".join(line.strip() for line in lines))
    table = families(load_settings(environment={}, folder=tmp_path).box_families)
    expected = BoxFamily("<box>({x1},{y1}),({x2},{y2})</box>", 1000, "floor", ("my_model",))
    assert table["my_model"] == expected


def test_a_family_of_the_user_wins_over_a_built_in_one() -> None:
    mine = {"template": "{x1} {y1} {x2} {y2}", "scale": 1}
    assert families({"qwen3_vl": mine})["qwen3_vl"] == BoxFamily("{x1} {y1} {x2} {y2}", 1)
    for name in ("a_first_in_the_alphabet", "z_last"):
        table = families({name: {**mine, "models": ["qwen3_vl"]}})
        assert family_of_model("Qwen3-VL-8B", table) == name


ENTRY: Mapping[str, Any] = {"template": "{x1},{y1},{x2},{y2}", "scale": 1000}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"colour": "red"}, "unknown field colour"),
        ({"template": "{x1},{y1},{x2},{z}"}, "template"),
        ({"template": "{x1},{y1},{x2}"}, "template"),
        ({"template": "{},{},{},{}"}, "template"),
        ({"template": "{x1[0]},{y1},{x2},{y2}"}, "template"),
        ({"template": "{x1},{y1},{x2},{y2"}, "template"),
        ({"template": 5}, "template"),
        ({"scale": "pixel"}, "scale"),
        ({"scale": 0}, "scale"),
        ({"scale": True}, "scale"),
        ({"scale": 99.5}, "scale"),
        ({"scale": [1]}, "scale"),
        ({"rounding": "up"}, "rounding"),
        ({"rounding": []}, "rounding"),
        ({"models": "my_model"}, "models"),
        ({"models": [""]}, "models"),
        ({"models": ["-"]}, "models"),
        ({"models": [3]}, "models"),
        ({"models": 3}, "models"),
        ({"patch": 0}, "patch"),
        ({"min_pixels": "many"}, "min_pixels"),
        ({"max_pixels": -1}, "max_pixels"),
        ({"min_pixels": 20, "max_pixels": 10}, "min_pixels"),
    ],
)
def test_a_family_that_cannot_be_used_is_refused_by_name_and_field(change: Mapping[str, Any], named: str) -> None:
    with pytest.raises(SettingError, match=rf"box_families\.mine: .*{named}"):
        families({"mine": {**ENTRY, **change}})


@pytest.mark.parametrize("field", ["template", "scale"])
def test_a_family_needs_a_template_and_a_scale(field: str) -> None:
    with pytest.raises(SettingError, match=rf"box_families\.mine: field {field} is missing"):
        families({"mine": {name: value for name, value in ENTRY.items() if name != field}})


# --- which family -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("Qwen2-VL-7B-Instruct", "qwen2_vl"),
        ("qwen2_5_vl", "qwen2_5_vl_lmms_eval"),
        ("Qwen2.5-VL-72B-Instruct", "qwen2_5_vl_vlmevalkit"),
        ("qwen3_vl", "qwen3_vl"),
        ("Qwen3-VL-8B-Instruct", "qwen3_vl"),
        ("InternVL2_5-8B", "internvl"),
        ("internvl_hf", "internvl"),
        ("Mini-InternVL-Chat-4B-V1-5", "internvl"),
        ("deepseek_vl2_tiny", "deepseek_vl2"),
        ("GPT-4o", "pixels"),
        ("GPT4o_20240806", "pixels"),
        ("GeminiPro1-5", "pixels"),
        ("spotdiff_baseline", "pixels"),
        ("openai", None),
        ("vllm", None),
        ("MiniCPM-V-2_6", None),
        ("spotdiff_replay", None),
        ("", None),
        (None, None),
    ],
)
def test_the_name_of_a_model_tells_its_family_or_none(model: str | None, family: str | None) -> None:
    assert family_of_model(model, FAMILIES) == family


def test_a_model_of_unknown_family_is_an_error_that_lists_the_choices() -> None:
    with pytest.raises(SettingError) as caught:
        choose_family(None, "openai", FAMILIES)
    assert "SPOTDIFF_BOX_FAMILY" in str(caught.value)
    assert all(name in str(caught.value) for name in FAMILIES)


def test_an_unknown_family_is_an_error_that_lists_the_choices() -> None:
    with pytest.raises(SettingError, match=r"Unknown box family 'qwen4'.*internvl"):
        choose_family("qwen4", "Qwen3-VL-8B", FAMILIES)


def test_a_family_that_was_asked_for_wins_over_the_name_of_the_model() -> None:
    assert choose_family("internvl", "Qwen3-VL-8B", FAMILIES) is FAMILIES["internvl"]


@given(st.text())
def test_a_normalised_name_holds_letters_digits_and_single_underscores(name: str) -> None:
    assert re.fullmatch(r"(?:[a-z0-9]+(?:_[a-z0-9]+)*)?", normalised(name))


def test_a_template_is_filled_in_order() -> None:
    assert fill("<b> and <b>!", ["1", "<b>"], "<b>") == "1 and <b>!"
    assert fill("none", [], "<b>") == "none"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_template_with_another_number_of_boxes_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"2 marks <b> for {count} boxes"):
        fill("<b> and <b>", ["x"] * count, "<b>")
