"""Writes a mini data set: its card, and a parquet file for each config."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasets import Features

IMAGES = ("visual-question-answering",)
VIDEOS = (*IMAGES, "video-text-to-text")
"""Task categories of the Hub."""


def card(title: str, categories: Sequence[str], configs: Iterable[str], words: str) -> str:
    """The data card: a YAML header that tells `datasets` where each config lies, and a few words for people."""
    tasks = "\n".join(f"- {category}" for category in categories)
    entries = "\n".join(
        f"- config_name: {name}\n  data_files:\n  - split: test\n    path: {name}/test.parquet" for name in configs
    )
    return f"""---
license: cc0-1.0
pretty_name: {title}
language:
- en
task_categories:
{tasks}
size_categories:
- n<1K
configs:
{entries}
---

# {title}

{words}"""


def write_tables(
    folder: Path, card: str, configs: Mapping[str, Sequence[Mapping[str, Any]]], features: Features, **options: Any
) -> None:
    """Write card and tables into the folder, which is made if need be; files of the same names are replaced.

    options: of `pyarrow.parquet.write_table`.
    """
    from datasets import Dataset
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(card, encoding="utf-8")
    for name, rows in configs.items():
        (folder / name).mkdir(exist_ok=True)
        table = Dataset.from_list([dict(row) for row in rows], features=features).with_format("arrow")[:]
        parquet.write_table(table, folder / name / "test.parquet", **options)


def write_images(
    folder: Path, card: str, configs: Mapping[str, Sequence[Mapping[str, Any]]], features: Features, row_group: int
) -> None:
    """The same for rows that hold images; row_group: rows in one."""
    # Statistics and dictionaries would repeat whole images.
    write_tables(
        folder, card, configs, features, row_group_size=row_group, write_statistics=False, use_dictionary=False
    )
