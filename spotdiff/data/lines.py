"""Reading the texts of a release, compressed or not: whole, or line by line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from spotdiff.errors import DataError


def text_of(path: Path) -> str:
    """The text of a file, compressed or not. Raises DataError when there is none, or it cannot be read."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            return stream.read().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise DataError(f"There is no file {path}") from error
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}. Fetch it again") from error


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """The place and the text of each line that is not blank. Raises DataError when the file cannot be read."""
    # Not splitlines: U+2028 and its like may stand in a JSON text.
    for number, content in enumerate(text_of(path).split("\n"), start=1):
        if content.strip():
            yield f"{path}, line {number}", content
