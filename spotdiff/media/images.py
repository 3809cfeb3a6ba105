"""Decoding, composing and naming of still images."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.errors import DataError
from spotdiff.question import Box

if TYPE_CHECKING:
    from PIL import Image as PILImage

_DRAWN = (255, 0, 0)


def open_image(value: Any, where: str) -> PILImage.Image:
    """The image as RGB, upright (EXIF orientation applied), as models receive it.

    value: a PIL image, encoded bytes, a path, or a dict with `bytes` or `path` (the undecoded form of `datasets`).
    where: names the row and field in errors; it is never shown to a model.
    Raises DataError when there is no image or it cannot be decoded to its last row.
    """
    from PIL import Image, ImageOps

    encoded = _encoded(value)
    if encoded is None:
        raise DataError(
            f"{where}: the image is missing. Prepare the data with its images, or run a model that needs none"
        )
    try:
        image = encoded if isinstance(encoded, Image.Image) else Image.open(encoded)
        image.load()
        return ImageOps.exif_transpose(image).convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{where}: the image cannot be decoded ({error}). Fetch the file again") from error


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


def save_by_digest(image: PILImage.Image, folder: Path) -> Path:
    """Write the image as PNG, named by the digest of its pixels, whole or not at all; return the path."""
    import os
    import tempfile

    target = folder / f"{pixel_digest(image)}.png"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            image.save(file, format="PNG")
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def side_by_side(images: Sequence[PILImage.Image]) -> PILImage.Image:
    """The images in one row, from left to right, tops aligned, not resized; black below a lower one."""
    from PIL import Image

    canvas = Image.new("RGB", (sum(image.width for image in images), max(image.height for image in images)))
    left = 0
    for image in images:
        canvas.paste(image, (left, 0))
        left += image.width
    return canvas


def draw_box(image: PILImage.Image, box: Box) -> PILImage.Image:
    """A copy of the image with a red frame on the box, 1/150 of the longer side wide, at least 2 pixels."""
    from PIL import ImageDraw

    marked = image.copy()
    width = max(2, round(max(image.size) / 150))
    ImageDraw.Draw(marked).rectangle(box, outline=_DRAWN, width=width)
    return marked
