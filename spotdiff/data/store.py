"""Finding and reading prepared data sets.

A prepared data set is a folder that is a valid Hub repository: `<config>/*.parquet`, split `test`.
"""

from __future__ import annotations

import glob
import hashlib
import importlib.resources
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.errors import DataError
from spotdiff.settings import Settings
from spotdiff.tasks import benchmarks

if TYPE_CHECKING:
    from datasets import Dataset

MINI = "_mini"


def locate(data: str, settings: Settings) -> Path:
    """The folder of a data set; a shipped one (`<benchmark>_mini`) lies in the package.

    A prepared folder comes first; without one, the repository that `settings.hub` names is fetched from the Hub, once
    in a process. Raises DataError.
    """
    if data.removesuffix(MINI) not in benchmarks():
        known = [name + end for name in benchmarks() for end in ("", MINI)]
        raise DataError(f"There is no data set {data!r}. Known: {', '.join(known)}")
    if data.endswith(MINI):
        return Path(str(importlib.resources.files(f"spotdiff.benchmarks.{data.removesuffix(MINI)}"))) / "mini"
    folder = settings.data / data
    if folder.is_dir():
        return folder
    if settings.hub is None:
        raise DataError(
            f"The data set {data} is not prepared: there is no folder {folder}. "
            f"Run `spotdiff data prepare {data} --from FOLDER`, or set SPOTDIFF_DATA to the folder that holds {data}/, "
            f"or SPOTDIFF_HUB to a namespace of the Hub that has a repository {data}. "
            f"`{data}{MINI}` runs without any data"
        )
    from spotdiff.data.hub import fetch, is_repository_id

    repository = settings.hub if is_repository_id(settings.hub) else f"{settings.hub}/{data}"
    return fetch(repository, settings.hub_revision, settings.media_cache / "checked")


def commit(data: str, settings: Settings) -> str | None:
    """The commit of a data set that comes from the Hub, None for one that is prepared or shipped. Raises DataError."""
    if data.endswith(MINI) or (settings.data / data).is_dir() or settings.hub is None:
        return None
    return locate(data, settings).name


def parquet_files(folder: Path, config: str) -> list[Path]:
    """The files of one config, in order. Raises DataError when there are none."""
    files = sorted((folder / config).glob("*.parquet"))
    if not files:
        raise DataError(f"{folder} holds no data for {config}: no file {config}/*.parquet. Prepare the data set again")
    return files


def read_config(folder: Path, config: str, image_columns: tuple[str, ...]) -> Dataset:
    """All rows of one config, images undecoded (`{"bytes", "path"}`). Raises DataError when a file is broken."""
    import datasets

    files = parquet_files(folder, config)
    try:
        # `datasets` takes the names of files for patterns.
        names = [glob.escape(str(file)) for file in files]
        rows = datasets.load_dataset("parquet", data_files={"test": names}, split="test")
        for column in [name for name in image_columns if name in rows.column_names]:
            rows = rows.cast_column(column, datasets.Image(decode=False))
        return rows
    except (OSError, ValueError, NotImplementedError, datasets.exceptions.DatasetGenerationError) as error:
        cause = error.__cause__ or error
        raise DataError(f"{folder / config}: the data cannot be read ({cause}). Prepare the data set again") from error


def without_columns(rows: Dataset, columns: Iterable[str]) -> Dataset:
    """The rows without these columns, as far as they have them. No other cell is read for it."""
    return rows.remove_columns([name for name in columns if name in rows.column_names])


_BATCH = 8
"""Rows with all their images that are held at once as a config is read through."""


def stream_rows(folder: Path, config: str) -> Iterator[dict[str, Any]]:
    """All rows of one config, one after the other, images undecoded; a few rows are in memory at a time.

    Raises DataError when a file is broken.
    """
    import pyarrow
    from pyarrow.parquet import ParquetFile

    for path in parquet_files(folder, config):
        try:
            # Read ahead, the whole file would stay in memory.
            with ParquetFile(path, pre_buffer=False) as file:
                for batch in file.iter_batches(_BATCH):
                    yield from batch.to_pylist()
        except (OSError, pyarrow.ArrowException) as error:
            raise DataError(f"{path}: the data cannot be read ({error}). Prepare the data set again") from error


_END = 1 << 16
"""Bytes at each end: room for the footer of a parquet file, with the bounds and sizes of every column chunk."""


def digest_of_ends(files: Sequence[Path]) -> str:
    """16 hex digits that change with the content of files, without reading all of it: names, sizes and both ends."""
    digest = hashlib.sha256()
    for file in files:
        size = file.stat().st_size
        with file.open("rb") as stream:
            digest.update(f"{file.name} {size} ".encode() + stream.read(_END))
            stream.seek(max(_END, size - _END))
            digest.update(stream.read())
    return digest.hexdigest()[:16]
