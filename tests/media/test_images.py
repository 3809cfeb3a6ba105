"""Images as models receive them, and their names."""

import contextlib
import hashlib
import io
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from spotdiff.errors import DataError, SettingError
from spotdiff.media.images import draw_box, open_image, pixel_digest, save_by_digest, side_by_side

Make = Callable[[tuple[int, int], int], Image.Image]
Encode = Callable[..., bytes]


def array(image: Image.Image) -> "np.ndarray[tuple[int, ...], np.dtype[np.int_]]":
    return np.asarray(image, dtype=int)


# --- decoding -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_is_forked_off_while_another_thread_decodes_opens_images(tmp_path: Path) -> None:
    Image.new("RGB", (3, 2)).save(tmp_path / "x.png")
    program = f"""
import os, signal
from spotdiff.media import images
with images._decoding:
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if images.open_image({str(tmp_path / "x.png")!r}, "x").size == (3, 2) else 1)
    assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize("form", ["bytes", "dict of bytes", "path", "dict of a path", "text", "image"])
def test_every_form_of_an_image_opens_to_the_same_pixels(
    make_image: Make, encode: Encode, tmp_path: Path, form: str
) -> None:
    original = make_image((9, 5), 1)
    data = encode(original)
    path = tmp_path / "x.png"
    path.write_bytes(data)
    value = {
        "bytes": data,
        "dict of bytes": {"bytes": data, "path": None},
        "path": path,
        "dict of a path": {"bytes": None, "path": str(path)},
        "text": str(path),
        "image": original,
    }[form]
    found = open_image(value, "here")
    assert found.mode == "RGB"
    assert (array(found) == array(original)).all()


def test_opening_leaves_the_image_that_was_passed_alone(make_image: Make) -> None:
    original = make_image((4, 3), 1)
    found = open_image(original, "here")
    found.putpixel((0, 0), (1, 2, 3))
    assert original.getpixel((0, 0)) != (1, 2, 3)


def test_an_opaque_image_with_alpha_keeps_its_colours(make_image: Make, encode: Encode) -> None:
    original = make_image((9, 5), 2)
    with_alpha = original.copy()
    with_alpha.putalpha(255)
    assert (array(open_image(encode(with_alpha), "here")) == array(original)).all()


def test_a_palette_is_looked_up(encode: Encode) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putpixel((1, 0), 1)
    assert array(open_image(encode(image), "here")).tolist() == [[[10, 20, 30], [200, 100, 50]]]


@pytest.mark.parametrize(("mode", "value", "grey"), [("L", 77, 77), ("LA", (77, 255), 77), ("1", 1, 255)])
def test_grey_becomes_equal_red_green_and_blue(encode: Encode, mode: str, value: object, grey: int) -> None:
    found = open_image(encode(Image.new(mode, (2, 2), value)), "here")  # type: ignore[arg-type]
    assert found.getpixel((1, 1)) == (grey, grey, grey)


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_16_bits_keep_their_brightness(encode: Encode, form: str) -> None:
    values = np.array([[0, 255, 256, 32768, 65535]], dtype=np.uint16)
    found = array(open_image(encode(Image.fromarray(values), form), "here"))[0, :, 0]
    assert abs(found - values[0] / 257).max() <= 1


ROTATIONS = {2: "ba", 3: "dc", 4: "cd", 5: "ac", 6: "ca", 7: "db", 8: "bd"}
"""EXIF orientation -> the upper row as it must be seen, of an image stored as ab over cd."""


@pytest.mark.parametrize("orientation", ROTATIONS)
@pytest.mark.parametrize("form", ["PNG", "TIFF", "WEBP"])
def test_an_image_is_turned_upright(encode: Encode, orientation: int, form: str) -> None:
    colours = {"a": (255, 0, 0), "b": (0, 255, 0), "c": (0, 0, 255), "d": (255, 255, 0)}
    stored = Image.new("RGB", (2, 2))
    for place, name in zip([(0, 0), (1, 0), (0, 1), (1, 1)], "abcd", strict=True):
        stored.putpixel(place, colours[name])
    exif = Image.Exif()
    exif[0x0112] = orientation
    more = {"lossless": True} if form == "WEBP" else {}
    found = open_image(encode(stored, form, exif=exif, **more), "here")
    assert [found.getpixel((x, 0)) for x in (0, 1)] == [colours[name] for name in ROTATIONS[orientation]]


def test_turning_exchanges_width_and_height(make_image: Make, encode: Encode) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert open_image(encode(make_image((30, 10), 1), "JPEG", exif=exif), "here").size == (10, 30)


@pytest.mark.parametrize("value", [None, b"", "", {}, {"bytes": None, "path": None}, {"bytes": b"", "path": ""}])
def test_no_image_is_an_error_that_says_where(value: object) -> None:
    with pytest.raises(DataError, match=r"^row 3, image_1: the image is missing\. "):
        open_image(value, "row 3, image_1")


def test_something_else_than_an_image_is_an_error_without_addresses_of_memory() -> None:
    with pytest.raises(DataError, match=r"^w: the image cannot be decoded \(no known image format\)\. "):
        open_image(b"<html>not found</html>", "w")


@pytest.mark.parametrize("value", ["no/such/file.png", 5, 2.5, ["x"]])
def test_what_cannot_be_opened_is_an_error_that_says_where(value: object) -> None:
    with pytest.raises(DataError, match=r"^w: "):
        open_image(value, "w")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "BMP"])
@pytest.mark.parametrize("lenient", [False, True])
def test_a_cut_file_is_an_error_even_where_the_process_tolerates_them(
    make_image: Make, encode: Encode, monkeypatch: pytest.MonkeyPatch, form: str, lenient: bool
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", lenient)
    data = encode(make_image((64, 64), 1), form)
    for share in (0.2, 0.5, 0.9):
        with pytest.raises(DataError, match="cannot be decoded"):
            open_image(data[: int(share * len(data))], "w")
    assert ImageFile.LOAD_TRUNCATED_IMAGES is lenient


def test_an_image_that_would_fill_the_memory_is_an_error(encode: Encode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(DataError, match="decompression bomb"):
        open_image(encode(Image.new("L", (100, 100))), "w")


@settings(max_examples=150, deadline=None)
@given(data=st.data(), form=st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "BMP", "PPM"]))
def test_a_damaged_file_gives_an_image_or_a_data_error(data: st.DataObject, form: str) -> None:
    buffer = io.BytesIO()
    Image.linear_gradient("L").resize((12, 9)).save(buffer, form)
    damaged = bytearray(buffer.getvalue())
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), max_size=8)):
        damaged[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DataError):
        assert open_image(bytes(damaged), "w").mode == "RGB"


# --- names --------------------------------------------------------------------------------------------------------


def test_a_digest_is_that_of_size_and_pixels() -> None:
    image = Image.new("RGB", (2, 1), (1, 2, 3))
    assert pixel_digest(image) == hashlib.sha256(b"2x1:" + bytes([1, 2, 3, 1, 2, 3])).hexdigest()


def test_a_digest_is_the_same_in_another_process(make_image: Make, encode: Encode, tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(encode(make_image((31, 17), 4)))
    code = "import sys; from spotdiff.media.images import *; print(pixel_digest(open_image(sys.argv[1], '')))"
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONHASHSEED": "99"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == pixel_digest(make_image((31, 17), 4))


def test_a_digest_tells_sizes_and_pixels_apart_and_not_encodings(make_image: Make, encode: Encode) -> None:
    image = make_image((6, 4), 1)
    flat = Image.new("RGB", (6, 4))
    assert pixel_digest(flat) != pixel_digest(Image.new("RGB", (4, 6)))
    assert pixel_digest(flat) != pixel_digest(Image.new("RGB", (24, 1)))
    assert pixel_digest(image) != pixel_digest(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT))
    for form in ("PNG", "BMP", "TIFF"):
        assert pixel_digest(open_image(encode(image, form), "w")) == pixel_digest(image)


def test_a_stored_image_is_named_by_its_pixels_and_holds_them(make_image: Make, tmp_path: Path) -> None:
    image = make_image((20, 30), 3)
    path = save_by_digest(image, tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / f"{pixel_digest(image)}.png"
    assert pixel_digest(open_image(path, "w")) == pixel_digest(image)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_stored_image_is_not_written_again(make_image: Make, tmp_path: Path) -> None:
    path = save_by_digest(make_image((5, 5), 3), tmp_path)
    path.write_bytes(b"as it was")
    assert save_by_digest(make_image((5, 5), 3), tmp_path) == path
    assert path.read_bytes() == b"as it was"


def test_an_image_that_cannot_be_written_whole_leaves_nothing(
    make_image: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Image.Image, file: io.BytesIO, **_: object) -> None:
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Image.Image, "save", broken)
    with pytest.raises(SettingError, match=r"disk full.*SPOTDIFF_MEDIA_CACHE"):
        save_by_digest(make_image((5, 5), 3), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_leaves_nothing(make_image: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Image.Image, file: io.BytesIO, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Image.Image, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_by_digest(make_image((5, 5), 3), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_set(make_image: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="SPOTDIFF_MEDIA_CACHE"):
        save_by_digest(make_image((5, 5), 3), tmp_path / "file" / "folder")


STORING = """
import sys
from pathlib import Path
from PIL import Image
from spotdiff.media.images import open_image, pixel_digest, save_by_digest

sys.stdin.readline()
for shade in range(30):
    path = save_by_digest(Image.new("RGB", (300, 300), (shade, 0, 0)), Path(sys.argv[1]))
    assert path.name == pixel_digest(open_image(path, "w")) + ".png"  # whoever sees the file sees all of it
"""


def test_several_processes_may_store_the_same_images_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STORING, str(tmp_path / "folder")]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [process.communicate("go\n", timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outputs
    assert len(list((tmp_path / "folder").iterdir())) == 30


def test_a_stored_image_is_a_plain_file(make_image: Make, tmp_path: Path) -> None:
    assert stat.S_ISREG(save_by_digest(make_image((5, 5), 3), tmp_path).lstat().st_mode)


# --- composing ----------------------------------------------------------------------------------------------------


def test_side_by_side_keeps_every_pixel_and_fills_with_black(make_image: Make) -> None:
    images = [make_image(size, seed) for seed, size in enumerate([(5, 9), (7, 3), (2, 6)])]
    found = array(side_by_side(images))
    assert found.shape == (9, 14, 3)
    left = 0
    for image in images:
        assert (found[: image.height, left : left + image.width] == array(image)).all()
        assert (found[image.height :, left : left + image.width] == 0).all()
        left += image.width


@st.composite
def images_with_a_box(draw: st.DrawFn) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
    width, height = draw(st.integers(1, 900)), draw(st.integers(1, 60))
    x1, y1 = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    return (width, height), (x1, y1, draw(st.integers(x1 + 1, width)), draw(st.integers(y1 + 1, height)))


@settings(max_examples=200, deadline=None)
@given(images_with_a_box())
def test_a_drawn_box_colours_the_pixels_near_its_edge_and_no_other(
    case: tuple[tuple[int, int], tuple[int, int, int, int]],
) -> None:
    (width, height), (x1, y1, x2, y2) = case
    original = Image.new("RGB", (width, height), (9, 9, 9))
    found = array(draw_box(original, (x1, y1, x2, y2)))
    line = max(2, round(max(width, height) / 150))
    y, x = np.mgrid[:height, :width]
    inside = (x >= x1) & (x < x2) & (y >= y1) & (y < y2)
    near_the_edge = (x - x1 < line) | (x2 - x <= line) | (y - y1 < line) | (y2 - y <= line)
    red = (found == (255, 0, 0)).all(axis=2)
    assert (red == (inside & near_the_edge)).all()
    assert (found[~red] == 9).all()
    assert (array(original) == 9).all()
