"""Where the images of the official release lie: in base64 within a TSV, or in files of their own."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol
from urllib.parse import unquote

from spotdiff.errors import DataError

_TURNED = range(5, 9)
"""EXIF orientations that exchange width and height."""

_MAY_TELL = {"exif", "xmp", "XML:com.adobe.xmp", "Raw profile type exif"}
"""What Pillow knows of a PNG that can hold an orientation. Without any, it would decode all pixels to look for more."""


class Source(Protocol):
    """An image that is read when it is needed. size: width, height, upright."""

    @property
    def size(self) -> tuple[int, int]: ...

    @property
    def digest(self) -> str:
        """The same for the same image."""

    def read(self) -> bytes:
        """The encoded image. Raises DataError."""


@dataclass(frozen=True)
class Embedded:
    """An image in base64, `length` bytes of a file from byte `start` on. digest: SHA-256 of the encoded image."""

    path: Path
    start: int
    length: int
    size: tuple[int, int]
    digest: str

    @classmethod
    def of(cls, path: Path, start: int, text: bytes) -> Embedded:
        """text: the image in base64, which stands at byte `start`. Raises ValueError saying what is wrong with it."""
        encoded = _decoded(text)
        return cls(path, start, len(text), upright_size(io.BytesIO(encoded)), _digest(encoded))

    def read(self) -> bytes:
        try:
            with self.path.open("rb") as stream:
                stream.seek(self.start)
                encoded = _decoded(stream.read(self.length))
        except (OSError, ValueError) as error:
            raise DataError(f"{self.path}, byte {self.start}: the image cannot be read any more ({error})") from error
        if _digest(encoded) != self.digest:
            raise DataError(f"{self.path}, byte {self.start}: the file has changed while it was read")
        return encoded


@dataclass(frozen=True)
class Stored:
    """An image in a file of its own."""

    path: Path
    size: tuple[int, int]

    @classmethod
    def of(cls, path: Path) -> Stored:
        """Raises ValueError saying what is wrong with it."""
        try:
            with path.open("rb") as stream:
                return cls(path, upright_size(stream))
        except OSError as error:
            raise ValueError(f"cannot be read ({error.strerror})") from error

    @property
    def digest(self) -> str:
        return str(self.path)

    def read(self) -> bytes:
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise DataError(f"{self.path} cannot be read ({error.strerror}). Fetch it again") from error


def _digest(encoded: bytes) -> str:
    return hashlib.sha256(encoded).hexdigest()


def _decoded(text: bytes) -> bytes:
    try:
        return base64.b64decode(b"".join(text.split()), validate=True)
    except binascii.Error as error:
        raise ValueError(f"no base64 ({error})") from error


def upright_size(stream: IO[bytes]) -> tuple[int, int]:
    """Width and height as a viewer shows the image, from its header. Raises ValueError when there is no image."""
    from PIL import Image

    try:
        with Image.open(stream) as image:
            unturned = image.format == "PNG" and not _MAY_TELL & set(image.info)
            orientation = 1 if unturned else image.getexif().get(0x0112, 1)
            width, height = image.size
    except Exception as error:  # Decoders raise nearly every kind on a broken file.
        raise ValueError(f"no image ({error})") from error
    return (height, width) if orientation in _TURNED else (width, height)


def released_name(name: str) -> str:
    """A path in the words of the release's own files, which start at M4Bench/data; its TSVs start with an address."""
    path = unquote(name) if name.startswith(("http://", "https://")) else name
    below = re.search(r"(?:^|/)data/(.+)", path)
    return f"M4Bench/data/{below[1]}" if below else path


def stored(folder: Path, name: str) -> Path | None:
    """The file of an image that the release calls `name`, in a folder that holds the release or its data folder."""
    below = released_name(name).removeprefix("M4Bench/data/")
    places = (folder / name, folder / "data" / below, folder / below, folder / "M4Bench" / "data" / below)
    try:
        return next((place for place in places if place.is_file()), None)
    except OSError:
        # A name that no file can have.
        return None
