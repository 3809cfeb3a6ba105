"""A prepared data set as a repository of the Hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spotdiff.data.cards import CARD, card
from spotdiff.data.checks import check_rows, raise_problems
from spotdiff.data.hub import is_repository_id, told
from spotdiff.data.store import MINI, digest_of_ends, locate, read_config
from spotdiff.errors import DataError, SettingError
from spotdiff.settings import load_settings
from spotdiff.tasks import Benchmark, benchmarks

_WITHOUT_MEDIA = {"mvvbench": ("Ego-Exo4D, CMU Panoptic and MMPTRACK", (CARD, "*.parquet", "missing_views.csv"))}
"""Data set -> whose media it shows, which must not be handed on, and the patterns of what may go up."""

_LISTED = 100
"""Files of a kind that are listed one by one."""


@dataclass(frozen=True)
class _Upload:
    """What goes up, and what stays here; paths relative to the folder. version: the tag that it gets."""

    folder: Path
    going: Sequence[Path]
    staying: Sequence[Path]
    version: str


def publish(name: str, repo: str, *, private: bool = False, dry_run: bool = False) -> None:
    """Upload the prepared data set `name` to the data set repository `repo` (`ORG/NAME`), and tag it with its version.

    A repository that is not there is made, `private` or public. Parquet files of the benchmark's configs that the data
    set does not have go; other files stay. An upload that is cut off goes on where it stopped when it is started again.
    Of MVVBench no video goes up. dry_run: say what would go up, ask no server.
    Raises SettingError on a name that cannot be used, DataError on data with faults, naming them, and when the Hub
    refuses or cannot be reached.
    """
    if name not in benchmarks():
        hint = " Shipped sets need no repository." if name.endswith(MINI) else ""
        raise SettingError(f"There is no data set {name!r} to publish.{hint} Known: {', '.join(benchmarks())}")
    if not is_repository_id(repo):
        raise SettingError(f"{repo!r} is no name of a repository on the Hub: write it as ORG/NAME")
    folder = locate(name, replace(load_settings(), hub=None))
    configs = sorted(path.parent.name for path in folder.glob("*/*.parquet"))
    _check(benchmarks()[name], name, folder, configs)
    if not (folder / CARD).exists():
        (folder / CARD).write_text(card(name, configs), encoding="utf-8")
    upload = _upload(name, folder)
    _tell(upload, name, repo, "would go" if dry_run else "go")
    if not dry_run:
        _send(upload, name, repo, private=private)
        print(f"{name} is at {repo}, revision {upload.version}")


def _check(benchmark: Benchmark, name: str, folder: Path, configs: Sequence[str]) -> None:
    """Raises DataError on faults of the rows, or of the media that go up."""
    import datasets

    from spotdiff.data.check import first_tasks
    from spotdiff.evaluation import Evaluation

    datasets.disable_progress_bars()
    rows = {config: read_config(folder, config, benchmark.image_columns) for config in dict.fromkeys(configs)}
    if not rows:
        raise DataError(f"{folder} holds no data: no file */*.parquet. Prepare the data set again")
    problems = [
        problem for config, found in rows.items() for problem in check_rows(benchmark, found, str(folder / config))
    ]
    raise_problems(problems, name, "nothing was uploaded")
    if name not in _WITHOUT_MEDIA:
        for task in first_tasks(benchmark, name, configs):
            Evaluation.of(task).check_media()


def _upload(name: str, folder: Path) -> _Upload:
    from huggingface_hub.utils import filter_repo_objects

    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [path.relative_to(folder).as_posix() for path in files]
    going = set(filter_repo_objects(names, allow_patterns=_allowed(name)))
    data = [folder / file for file in names if file in going and file != CARD]
    return _Upload(
        folder,
        [Path(file) for file in names if file in going],
        [Path(file) for file in names if file not in going],
        f"v{benchmarks()[name].version}-{digest_of_ends(data)[:8]}",
    )


def _allowed(name: str) -> list[str] | None:
    return list(_WITHOUT_MEDIA[name][1]) if name in _WITHOUT_MEDIA else None


def _tell(upload: _Upload, name: str, repo: str, go: str) -> None:
    print(f"To {repo}, as revision {upload.version}, {go}:")
    _list(upload, upload.going)
    if name in _WITHOUT_MEDIA:
        print(f"Its videos never go up: they belong to {_WITHOUT_MEDIA[name][0]}. Questions and card alone do.")
    if upload.staying:
        print("These stay here:")
        _list(upload, upload.staying)
    print(f"Whether what goes up may be handed on is for you to see to: the card, {CARD}, says what is known of it.")


def _list(upload: _Upload, files: Sequence[Path]) -> None:
    sizes = {file: (upload.folder / file).stat().st_size for file in files}
    for file in files[:_LISTED]:
        print(f"  {sizes[file]:>15,}  {file.as_posix()}")
    if len(files) > _LISTED:
        print(f"  ... and {len(files) - _LISTED:,} more")
    print(f"  {sum(sizes.values()):>15,}  bytes in {len(files):,} files", flush=True)


def _send(upload: _Upload, name: str, repo: str, *, private: bool) -> None:
    from huggingface_hub import HfApi

    api = HfApi()
    benchmark = benchmarks()[name]
    configs = {setting.config for task in benchmark.tasks for setting in task.settings}
    try:
        api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repo,
            repo_type="dataset",
            folder_path=upload.folder,
            allow_patterns=_allowed(name),
            # Else rows of an older form would be read along.
            delete_patterns=[f"{config}/*.parquet" for config in sorted(configs)],
            commit_message=f"{benchmark.title}, {upload.version}",
        )
        api.create_tag(repo, repo_type="dataset", tag=upload.version, revision=commit.oid, exist_ok=True)
    except Exception as error:
        # Three HTTP clients and a Rust extension may raise errors of their own here, without a common base.
        raise DataError(told(error, repo, writing=True)) from error
