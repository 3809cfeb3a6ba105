"""The images of a release: in the cells of its tables, as bytes or as text, or in files that the cells name."""

from __future__ import annotations

import base64
import filecmp
import os
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from spotdiff.benchmarks.egoexo_next.release_words import shown
from spotdiff.errors import DataError


def is_image(cell: Any) -> bool:
    """Whether an object is an image in the form of the Hub, not several by letter."""
    return isinstance(cell, Mapping) and not {"bytes", "path"}.isdisjoint(cell)


@dataclass(frozen=True)
class Images:
    """The images that the cells of a table hold or name.

    folder: of the release; no path leads out of it. bases: folders within it that a path may start from.
    """

    folder: Path
    bases: tuple[PurePosixPath, ...]

    def fault(self, cell: Any) -> str | None:
        """What is wrong with an image, without decoding it."""
        try:
            found = self._found(cell)
            if isinstance(found, Path) and not (os.access(found, os.R_OK) and found.stat().st_size):
                return f"{found} is empty or cannot be read"
        except (OSError, ValueError) as error:
            return str(error)
        return None

    def encoded(self, cell: Any) -> bytes:
        """The image as it is stored. Raises DataError."""
        try:
            found = self._found(cell)
            return found.read_bytes() if isinstance(found, Path) else found
        except (OSError, ValueError) as error:
            raise DataError(f"An image cannot be read any more: {error}. Prepare the data again") from error

    def _found(self, cell: Any) -> bytes | Path:
        """Raises ValueError saying what is wrong."""
        value = (cell.get("bytes") or cell.get("path")) if is_image(cell) else cell
        if not value:
            raise ValueError("there is no image")
        if isinstance(value, bytes):
            return value
        if not isinstance(value, str):
            raise ValueError(f"{shown(value)} is neither an image nor the path of one")
        return _embedded(value) or self._file(value)

    def _file(self, path: str) -> Path:
        if "://" in path:
            raise ValueError(f"{shown(path)} is an address; images are read from files alone")
        if len(path) > _LONGEST:
            raise ValueError(f"{shown(path)} is neither base64 nor a path")
        places = {PurePosixPath(os.path.normpath(base / path)) for base in self.bases}
        inside = [place for place in places if not place.is_absolute() and ".." not in place.parts]
        if not inside:
            raise ValueError(f"{shown(path)} leads out of {self.folder}")
        found = [self.folder / place for place in sorted(inside) if (self.folder / place).is_file()]
        if not found:
            raise ValueError(f"there is no file {' or '.join(str(self.folder / place) for place in sorted(inside))}")
        if not all(filecmp.cmp(found[0], other, shallow=False) for other in found[1:]):
            raise ValueError(f"{shown(path)} may be {' or '.join(map(str, found))}")
        return found[0]


_LONGEST = 4096
"""Characters of a path."""

_DATA_URL = re.compile(r"data:[^,]*,")
_BASE64 = (string.ascii_letters + string.digits + "+/=" + string.whitespace).encode()
_SHORTEST = 64
"""Characters of an image. A shorter text is a path, and so is one with a point in it."""


def _embedded(text: str) -> bytes | None:
    """The image in a text, None where it is a path. Raises ValueError where the text is damaged."""
    url = _DATA_URL.match(text)
    if url is not None and not url[0].endswith(";base64,"):
        raise ValueError(f"{shown(url[0])} is not base64")
    content = text[url.end() if url else 0 :]
    if url is None and (len(text) < _SHORTEST or not text.isascii() or text.encode().translate(None, _BASE64)):
        return None
    try:
        found = base64.b64decode("".join(content.split()), validate=True)
    except ValueError as error:
        raise ValueError(f"this is not base64 ({error})") from error
    if not found:
        raise ValueError("there is no image")
    return found
