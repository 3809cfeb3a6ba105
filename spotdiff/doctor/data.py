"""Where data sets lie and whether they are complete: the number of their rows, their images, their videos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotdiff.data.check import papers
from spotdiff.data.store import MINI, locate, parquet_files
from spotdiff.doctor.findings import Finding, Mark
from spotdiff.errors import DataError, SettingError
from spotdiff.settings import Settings, load_settings
from spotdiff.tasks import Benchmark, benchmarks


@dataclass
class _Content:
    """What a data set holds. images, videos: named by its rows, and how many of them are not there."""

    rows: int = 0
    images: int = 0
    images_missing: int = 0
    videos: int = 0
    videos_missing: int = 0


def check() -> Iterator[Finding]:
    try:
        settings = load_settings()
    except SettingError:
        yield Finding(Mark.warning, "not examined: the settings have a fault", "mend the settings first")
        return
    for benchmark in benchmarks().values():
        for name in (benchmark.name, benchmark.name + MINI):
            yield _data_set(benchmark, name, settings)


def _data_set(benchmark: Benchmark, name: str, settings: Settings) -> Finding:
    prepare = f"spotdiff data prepare {name} --from FOLDER"
    if not name.endswith(MINI) and not (settings.data / name).is_dir():
        if settings.hub is not None:
            return Finding(Mark.note, f"{name} comes from {settings.hub} on the Hub when a run first asks for it")
        return Finding(Mark.warning, f"{name} is not prepared: there is no folder {settings.data / name}", prepare)
    folder = locate(name, settings)
    again = "pip install --force-reinstall --no-deps spotdiff" if name.endswith(MINI) else prepare
    try:
        found = _content(benchmark, name, folder)
    except DataError as error:
        return Finding(Mark.fault, f"{name} in {folder}: {error}", again)
    faults = _faults(found, sum(paper or 0 for paper in papers(benchmark, name).values()))
    said = f"{name} in {folder}: {found.rows:,} rows"
    if faults:
        check = f"{again}; `spotdiff data check {name}` names all that is missing"
        only_allowed = settings.allow_missing and faults == [_missing_videos(found)]
        return Finding(Mark.warning if only_allowed else Mark.fault, f"{said}; {'; '.join(faults)}", check)
    bare = [what for what, all_missing in _bare(found).items() if all_missing]
    if bare:
        text = f"{said}, without {' and '.join(bare)}: enough to score stored replies, not to ask a model"
        return Finding(Mark.warning, text, prepare)
    return Finding(Mark.ok, f"{said}, all there; `spotdiff data check {name}` decodes them")


def _bare(found: _Content) -> Mapping[str, bool]:
    return {
        "images": 0 < found.images == found.images_missing,
        "videos": 0 < found.videos == found.videos_missing,
    }


def _faults(found: _Content, paper: int) -> list[str]:
    faults = []
    if paper and paper != found.rows:
        faults.append(f"the paper has {paper:,}")
    if 0 < found.videos_missing < found.videos:
        faults.append(_missing_videos(found))
    return faults


def _missing_videos(found: _Content) -> str:
    return f"{found.videos_missing:,} of {found.videos:,} videos are missing"


def _content(benchmark: Benchmark, name: str, folder: Path) -> _Content:
    """Raises DataError where a file is missing or broken."""
    import pyarrow

    content = _Content()
    videos: set[str] = set()
    for config in papers(benchmark, name):
        for file in parquet_files(folder, config):
            try:
                _add(content, videos, benchmark, file)
            except (OSError, pyarrow.ArrowException, KeyError, TypeError) as error:
                raise DataError(f"{file} cannot be read ({type(error).__name__}: {error})") from error
    content.videos = len(videos)
    content.videos_missing = sum(not (folder / video).is_file() for video in videos)
    return content


def _add(content: _Content, videos: set[str], benchmark: Benchmark, path: Path) -> None:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        content.rows += file.metadata.num_rows
        if benchmark.video_columns:
            for row in file.read(columns=list(benchmark.video_columns)).to_pylist():
                videos.update(benchmark.videos_of(row))
        for column, missing in _empty_images(file.metadata, benchmark.image_columns):
            content.images += column
            content.images_missing += missing


def _empty_images(metadata: Any, columns: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """For each chunk of a column with pixels: its rows, and how many of them have none. Reads no pixel."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for index in range(group.num_columns):
            chunk = group.column(index)
            name, _, part = chunk.path_in_schema.partition(".")
            if name in columns and part == "bytes" and chunk.statistics is not None:
                yield chunk.num_values, chunk.statistics.null_count or 0
