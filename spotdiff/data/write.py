"""Writing a canonical data set: a new folder beside the old one, exchanged for it when it is complete."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.data.replace import replacing
from spotdiff.errors import SettingError

if TYPE_CHECKING:
    from datasets import Features

ROWS_A_GROUP = 50
BYTES_A_GROUP = 32_000_000
"""A row group ends before the row whose images would bring it above this, unless that row is its first."""


def write_data_set(
    folder: Path,
    configs: Mapping[str, Iterable[Mapping[str, Any]]],
    features: Features,
    files: Mapping[str, Path] | None = None,
    texts: Mapping[str, str] | None = None,
    verify: Callable[[Path], None] | None = None,
) -> None:
    """Write `<config>/test.parquet` for each config. An old folder stays as it is until the new one is whole.

    configs: their rows are taken one after the other, and no more than a row group of them is held at a time.
    files: place in the folder -> a file that is put there, as a hard link or, where none can be made, as a copy.
    texts: place in the folder -> content of a further file, written in UTF-8.
    verify: called with the folder that holds the new one, of the same name, before it takes the old one's place; what
    it raises leaves the old one where it is.
    Raises SettingError when the folder cannot be written.
    """
    folder = folder.resolve()
    try:
        _write(folder, configs, features, files or {}, texts or {}, verify)
    except OSError as error:
        raise SettingError(
            f"{folder} cannot be written ({error}). Set SPOTDIFF_DATA to a folder with enough room"
        ) from error


def _write(
    folder: Path,
    configs: Mapping[str, Iterable[Mapping[str, Any]]],
    features: Features,
    files: Mapping[str, Path],
    texts: Mapping[str, str],
    verify: Callable[[Path], None] | None,
) -> None:
    import datasets
    from tqdm import tqdm  # type: ignore[import-untyped]

    # Whoever reads the data set next, in this process, needs none either.
    datasets.disable_progress_bars()
    with replacing(folder) as new:
        for config, rows in configs.items():
            (new / config).mkdir()
            # None where nobody watches.
            shown = tqdm(rows, f"spotdiff: {folder.name}, {config}", unit=" questions", disable=None)
            _write_rows(new / config / "test.parquet", shown, features)
        for place, source in files.items():
            _link_or_copy(source.resolve(), new / place)
        for place, content in texts.items():
            (new / place).write_text(content, encoding="utf-8")
        if verify is not None:
            verify(new.parent)


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]], features: Features) -> None:
    from pyarrow import Table
    from pyarrow.parquet import ParquetWriter

    # With its metadata, by which `datasets` knows images from plain bytes.
    schema = features.arrow_schema
    digest = hashlib.sha256()
    with ParquetWriter(path, schema) as writer:
        for group in _groups(rows, schema.names):
            writer.write_table(Table.from_pylist(group, schema))
            for value in (row[name] for row in group for name in schema.names):
                encoded = value.get("bytes") if isinstance(value, Mapping) else None
                digest.update(encoded if encoded is not None else repr(value).encode())
                digest.update(b"\0")
        # In the footer, so that what tells data sets apart by the ends of their files sees all of the content.
        writer.add_key_value_metadata({"spotdiff_content": digest.hexdigest()})


def _groups(rows: Iterable[Mapping[str, Any]], columns: Collection[str]) -> Iterator[list[Mapping[str, Any]]]:
    group: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        if set(row) != set(columns):
            # Else what is missing would be written as empty.
            raise ValueError(f"a row has the columns {', '.join(row)}, not {', '.join(columns)}")
        more = sum(len(value.get("bytes") or b"") for value in row.values() if isinstance(value, Mapping))
        if group and (len(group) == ROWS_A_GROUP or size + more > BYTES_A_GROUP):
            yield group
            group, size = [], 0
        group.append(row)
        size += more
    if group:
        yield group


def _link_or_copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
