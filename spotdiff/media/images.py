"""Decoding, composing and naming of still images."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import struct
import tempfile
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.errors import DataError, SettingError
from spotdiff.question import Box

if TYPE_CHECKING:
    from PIL import Image as PILImage

_DRAWN = (255, 0, 0)
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"

_decoding = threading.Lock()


def _begin_anew() -> None:
    """A process that is forked off has none of the threads that may have held the lock."""
    global _decoding
    _decoding = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def open_image(value: Any, where: str) -> PILImage.Image:
    """The image as RGB, upright (EXIF orientation applied), as models receive it.

    value: a PIL image, encoded bytes, a path, or a dict with `bytes` or `path` (the undecoded form of `datasets`).
    where: names the row and field in errors; it is never shown to a model.
    Raises DataError when there is no image or it cannot be decoded to its last row.
    """
    encoded = _encoded(value)
    if encoded is None:
        raise DataError(
            f"{where}: the image is missing. Prepare the data with its images, or run a model that needs none"
        )
    try:
        return _decoded(encoded)
    except Exception as error:  # Decoders raise nearly every kind on a broken file.
        raise DataError(f"{where}: the image cannot be decoded ({_reason(error)}). Fetch the file again") from error


def _decoded(encoded: Any) -> PILImage.Image:
    from PIL import Image, ImageFile, ImageOps

    with _decoding:
        # lmms-eval sets this for the whole process: a cut file would come out grey below the cut.
        lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, False
        try:
            image = encoded if isinstance(encoded, Image.Image) else Image.open(encoded)
            image.load()
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = lenient
    return _rgb(ImageOps.exif_transpose(image))


def _rgb(image: PILImage.Image) -> PILImage.Image:
    if not image.mode.startswith("I"):
        return image.convert("RGB")
    # 16 bits a pixel: Pillow's own conversion cuts everything above 255 to white.
    return image.convert("I").point(lambda value: value * (1 / 256)).convert("RGB")


def _reason(error: Exception) -> str:
    from PIL import UnidentifiedImageError

    return "no known image format" if isinstance(error, UnidentifiedImageError) else str(error) or type(error).__name__


def _encoded(value: Any) -> Any:
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    if value is None or value == b"" or value == "":
        return None
    return io.BytesIO(value) if isinstance(value, bytes) else value


def pixel_digest(image: PILImage.Image) -> str:
    """A name for the pixels and the size of an image, the same in every process: 64 hex digits."""
    rgb = image if image.mode == "RGB" else image.convert("RGB")
    header = f"{rgb.width}x{rgb.height}:".encode()
    return hashlib.sha256(header + rgb.tobytes()).hexdigest()


def save_by_digest(image: PILImage.Image, folder: Path, *, compressed: bool = True) -> Path:
    """Write the image as PNG, named by the digest of its pixels, whole or not at all; return the path.

    compressed: half the size, for ten times the time to read it.
    Raises SettingError when the folder cannot be written.
    """
    target = folder / f"{pixel_digest(image)}.png"
    try:
        if target.exists():
            # Tells when it was used last, see `spotdiff.media.frame_room`.
            with contextlib.suppress(OSError):
                os.utime(target)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            _write_png(image, target, compressed)
    except OSError as error:
        raise SettingError(f"No image can be stored in {folder} ({error}). Set SPOTDIFF_MEDIA_CACHE") from error
    return target


def _write_png(image: PILImage.Image, target: Path, compressed: bool) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            if compressed:
                # Five times as fast as by default, for files that are a sixth larger.
                image.save(file, format="PNG", compress_level=1)
            else:
                file.write(_plain_png(image))
        # mkstemp keeps others out; a cache may be shared.
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _plain_png(image: PILImage.Image) -> bytes:
    """A PNG of 8-bit RGB (ISO/IEC 15948) with rows as they are, neither filtered nor compressed.

    Pillow filters rows whatever the level of compression, and then takes 2.3 ms to read a frame of 448x448 instead of
    0.5; a JPEG takes 1.0.
    """
    import numpy

    rows = numpy.zeros((image.height, 1 + 3 * image.width), numpy.uint8)  # a row begins with its filter, 0 for none
    rows[:, 1:] = numpy.asarray(image.convert("RGB")).reshape(image.height, -1)
    header = struct.pack(">IIBBBBB", image.width, image.height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 0)), (b"IEND", b""))
    return _PNG_SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def is_sound_png(content: bytes) -> bool:
    """Whether all checksums of a PNG are right, and it is whole: a reader that was told to be lenient does not look."""
    rest = memoryview(content)[len(_PNG_SIGNATURE) :]
    kind = None
    while len(rest) >= 12 and kind != b"IEND":
        end = 8 + int.from_bytes(rest[:4], "big")
        kind = bytes(rest[4:8])
        if rest[end : end + 4] != zlib.crc32(rest[4:end]).to_bytes(4, "big"):
            return False
        rest = rest[end + 4 :]
    return content.startswith(_PNG_SIGNATURE) and kind == b"IEND" and not rest


def side_by_side(images: Sequence[PILImage.Image]) -> PILImage.Image:
    """The images in one row, from left to right, tops aligned, not resized; black below a lower one."""
    from PIL import Image

    canvas = Image.new("RGB", (sum(image.width for image in images), max(image.height for image in images)))
    left = 0
    for image in images:
        canvas.paste(image, (left, 0))
        left += image.width
    return canvas


def grid(rows: Sequence[Sequence[PILImage.Image]]) -> PILImage.Image:
    """Images of one size in rows, from left to right and top to bottom, without gaps; black where a row is shorter."""
    from PIL import Image

    width, height = rows[0][0].size
    canvas = Image.new("RGB", (width * max(map(len, rows)), height * len(rows)))
    for down, row in enumerate(rows):
        for across, image in enumerate(row):
            canvas.paste(image, (across * width, down * height))
    return canvas


def draw_box(image: PILImage.Image, box: Box) -> PILImage.Image:
    """A copy of the image with a red frame just inside the box, 1/150 of the longer side wide, at least 2 pixels."""
    x1, y1, x2, y2 = box
    marked = image.copy()
    # Not by ImageDraw: it colours pixels beyond a box that is thinner than twice the frame.
    across, down = (min(max(2, round(max(image.size) / 150)), side) for side in (x2 - x1, y2 - y1))
    for edge in (
        (x1, y1, x2, y1 + down),
        (x1, y2 - down, x2, y2),
        (x1, y1, x1 + across, y2),
        (x2 - across, y1, x2, y2),
    ):
        marked.paste(_DRAWN, edge)
    return marked
