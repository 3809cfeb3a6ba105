"""A digest of all that a message says and shows: it changes with any letter and any pixel, and with nothing else."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.errors import SettingError
from spotdiff.media.clips import content_digest

if TYPE_CHECKING:
    from PIL import Image as PILImage


def message_digest(message: Any) -> str:
    """64 hex digits.

    message: lists and mappings of texts, numbers, images, arrays, bytes. Images count by mode, size and pixels, files
    of media by their content. A file is one that `media` names: any text within a `media`, or within a mapping whose
    `type` is not `text`. What stands behind a URL is not looked at. Raises SettingError for other objects.
    """
    digest = hashlib.sha256()
    _add(digest, message, media=False)
    return digest.hexdigest()


class Media(list[Any]):
    """Images, arrays and names of files, where no mapping says so."""


def _add(digest: hashlib._Hash, value: Any, media: bool) -> None:
    # What is frequent comes first: this is called for each part of each message.
    if isinstance(value, str):
        _add_text(digest, value, media)
    elif isinstance(value, (list, tuple)):
        _begin(digest, "list", len(value))
        media = media or isinstance(value, Media)
        for item in value:
            _add(digest, item, media)
    elif isinstance(value, Mapping):
        media = media or value.get("type", "text") != "text"
        _begin(digest, "mapping", len(value))
        for name in sorted(value, key=str):
            _add_text(digest, str(name), media=False)
            _add(digest, value[name], media and name != "type")
    elif value is None or isinstance(value, (bool, int, float)):
        _add_bytes(digest, type(value).__name__, repr(value).encode())
    elif isinstance(value, (bytes, bytearray)):
        _add_bytes(digest, "bytes", value)
    elif isinstance(value, os.PathLike):
        _add_text(digest, os.fspath(value), media)
    else:
        _add_pixels(digest, value)


def _add_text(digest: hashlib._Hash, text: str, media: bool) -> None:
    if media and os.path.isfile(path := text.removeprefix("file://")):
        _add_bytes(digest, "file", content_digest(Path(path)).encode())
    else:
        _add_bytes(digest, "text", text.encode("utf-8", "surrogatepass"))


def _add_pixels(digest: hashlib._Hash, value: Any) -> None:
    import numpy as np
    from PIL import Image

    if isinstance(value, Image.Image):
        image = _without_palette(value)
        _add_bytes(digest, f"image {image.mode} {image.width}x{image.height}", image.tobytes())
        return
    array = np.asarray(value) if hasattr(value, "__array__") else None
    if array is None or array.dtype.hasobject:
        raise SettingError(
            f"a message holds {type(value).__module__}.{type(value).__name__}, which cannot be compared between runs. "
            "Run this task without spotdiff_journal"
        )
    _add_bytes(digest, f"array {array.dtype.str} {array.shape}", array.tobytes())


def _without_palette(image: PILImage.Image) -> PILImage.Image:
    """The same colours; the pixels of an image with a palette are mere numbers."""
    return image.convert("RGBA") if image.mode == "P" else image


def _begin(digest: hashlib._Hash, kind: str, length: int) -> None:
    # With the length of all that follows, two messages never give the same bytes.
    digest.update(f"{kind} {length}\n".encode())


def _add_bytes(digest: hashlib._Hash, kind: str, content: bytes | bytearray) -> None:
    _begin(digest, kind, len(content))
    digest.update(content)
