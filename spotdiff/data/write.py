"""Writing a canonical data set: a new folder beside the old one, exchanged for it when it is complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.errors import SettingError

if TYPE_CHECKING:
    from datasets import Features

ROWS_A_GROUP = 50
"""Rows of two images each: a row group stays near 100 MB for images of a megapixel."""


def write_data_set(
    folder: Path,
    configs: Mapping[str, Sequence[Mapping[str, Any]]],
    features: Features,
    files: Mapping[str, Path] | None = None,
) -> None:
    """Write `<config>/test.parquet` for each config. An old folder stays as it is until the new one is whole.

    files: place in the folder -> a file that is put there, as a hard link or, where none can be made, as a copy.
    Raises SettingError when the folder cannot be written.
    """
    folder = folder.resolve()
    try:
        _write(folder, configs, features, files or {})
    except OSError as error:
        raise SettingError(
            f"{folder} cannot be written ({error}). Set SPOTDIFF_DATA to a folder with enough room"
        ) from error


def _write(
    folder: Path,
    configs: Mapping[str, Sequence[Mapping[str, Any]]],
    features: Features,
    files: Mapping[str, Path],
) -> None:
    import datasets

    datasets.disable_progress_bars()
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for config, rows in configs.items():
            (new / config).mkdir()
            table = datasets.Dataset.from_list([dict(row) for row in rows], features=features)
            table.to_parquet(str(new / config / "test.parquet"), batch_size=ROWS_A_GROUP)
        for place, source in files.items():
            _link_or_copy(source.resolve(), new / place)
        os.chmod(new, 0o755)
        _exchange(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _link_or_copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _exchange(new: Path, folder: Path) -> None:
    """Put `new` in the place of `folder`."""
    if not folder.exists():
        os.replace(new, folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
    os.replace(folder, old / folder.name)
    try:
        os.replace(new, folder)
    except OSError:
        os.replace(old / folder.name, folder)
        old.rmdir()
        raise
    shutil.rmtree(old, ignore_errors=True)
