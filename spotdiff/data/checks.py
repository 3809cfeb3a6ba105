"""What is checked before the first question is asked. All faults come in one message."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.data.store import digest_of_ends, without_columns
from spotdiff.errors import DataError, Problem
from spotdiff.media.images import open_image

if TYPE_CHECKING:
    from datasets import Dataset

    from spotdiff.settings import Settings
    from spotdiff.tasks import Benchmark


@dataclass(frozen=True)
class MediaSummary:
    """How much media a set of rows holds: number of images or videos, and their size as stored, in bytes.

    frames: of a single video. warnings: what is odd about them.
    """

    images: int
    stored_bytes: int
    frames: int = 0
    warnings: tuple[str, ...] = ()


def check_rows(benchmark: Benchmark, rows: Dataset, file: str) -> list[Problem]:
    """Faults of the rows themselves: missing columns, duplicate ids, and what the benchmark's own rules find."""
    texts = without_columns(rows, benchmark.image_columns)
    if "id" not in texts.column_names:
        return [
            Problem(
                file,
                "all",
                "id",
                f"there is no column id among {', '.join(texts.column_names)}",
                "Prepare the data again",
            )
        ]
    if len(rows) == 0:
        return [Problem(file, "all", "id", "there are no rows", "Prepare the data again")]
    ids = Counter(texts["id"])
    found = [
        Problem(file, str(name), "id", f"appears {count} times", "Ids must be unique")
        for name, count in ids.items()
        if count > 1
    ]
    return found + [problem for row in texts for problem in benchmark.problems(row, file)]


def check_media(
    benchmark: Benchmark, rows: Iterable[Mapping[str, Any]], file: str, stamp: Stamp
) -> tuple[MediaSummary, list[Problem]]:
    """Decode every image once, to its last row, unless the files were found whole before and are unchanged.

    rows: with undecoded images; not iterated over where nothing has to be decoded.
    """
    known = stamp.read()
    if known is not None:
        return known, []
    images = stored = 0
    found: list[Problem] = []
    warnings: list[str] = []
    for row in rows:
        sizes: dict[str, tuple[int, int]] = {}
        for column in benchmark.needed_images(row) if benchmark.needed_images else benchmark.image_columns:
            encoded, problem = _decoded_size(row, column, file, sizes)
            images += 1
            stored += encoded
            found += problem
        found += benchmark.pixel_problems(row, sizes, file)
        warnings += benchmark.pixel_warnings(row, file)
    summary = MediaSummary(images, stored, warnings=tuple(warnings))
    if not found:
        stamp.write(summary)
    return summary, found


def check_videos(videos: Mapping[Path, str], settings: Settings) -> tuple[dict[Path, MediaSummary], list[Problem]]:
    """Decode every video, once and to its end, unless it was found whole before and is unchanged.

    videos: path -> a question that shows it, named in faults. Each video is decoded in a process of its own, several at
    a time, and counts as broken after `settings.video_timeout` seconds.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        outcomes = dict(zip(videos, pool.map(lambda path: _checked_video(path, settings), videos), strict=True))
    found = [
        Problem(str(path), videos[path], "video", *outcome)
        for path, outcome in outcomes.items()
        if isinstance(outcome, tuple)
    ]
    return {path: outcome for path, outcome in outcomes.items() if isinstance(outcome, MediaSummary)}, found


def _checked_video(path: Path, settings: Settings) -> MediaSummary | tuple[str, str]:
    """What a video holds, or what is wrong with it and how to mend it."""
    if path.is_dir() or not path.exists():
        return "there is no such file", "Prepare the data with its videos"
    stamp = Stamp(settings.media_cache / "checked", [path])
    known = stamp.read()
    if known is not None:
        return known
    from spotdiff.media.video import verify

    try:
        info = verify(path, settings.video_timeout)
    except DataError as error:
        message, _, remedy = str(error).removeprefix(f"{path}: ").partition(". ")
        return message, remedy
    summary = MediaSummary(1, path.stat().st_size, info.frames)
    stamp.write(summary)
    return summary


def _decoded_size(
    row: Mapping[str, Any], column: str, file: str, sizes: dict[str, tuple[int, int]]
) -> tuple[int, list[Problem]]:
    value = row.get(column)
    try:
        sizes[column] = open_image(value, column).size
    except DataError as error:
        message, _, remedy = str(error).removeprefix(f"{column}: ").partition(". ")
        return 0, [Problem(file, str(row.get("id")), column, message, remedy)]
    return len(value["bytes"]) if isinstance(value, dict) and value.get("bytes") else 0, []


class Stamp:
    """Remembers that the media in some files were found whole, while names, sizes, times and ends stay the same."""

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        # Not where they lie: data are checked before they are put in their place.
        # A pipe would block whoever reads it.
        state = [(digest_of_ends([file]) if file.is_file() else "", file.stat().st_mtime_ns) for file in files]
        name = hashlib.sha256(json.dumps(state).encode()).hexdigest()
        self._path = folder / f"{name}.json"

    def read(self) -> MediaSummary | None:
        try:
            known = json.loads(self._path.read_text(encoding="utf-8"))
            return MediaSummary(**{**known, "warnings": tuple(known.get("warnings", ()))})
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def write(self, summary: MediaSummary) -> None:
        """Best effort: without a stamp the next run only checks again."""
        temporary = self._path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(asdict(summary)), encoding="utf-8")
            os.replace(temporary, self._path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()


def raise_problems(problems: Iterable[Problem], what: str, outcome: str = "no question was asked") -> None:
    """Raise one DataError with all problems, if there are any, saying what was not done for them."""
    found = list(_distinct(problems))
    if found:
        raise DataError(f"{what}: {len(found)} fault{'s' if len(found) > 1 else ''} in the data; {outcome}.", found)


def _distinct(problems: Iterable[Problem]) -> Iterator[Problem]:
    return iter(dict.fromkeys(problems))
