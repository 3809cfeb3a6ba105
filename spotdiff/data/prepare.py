"""From an official release to the canonical folder that all tasks read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.data.cards import CARD, card
from spotdiff.data.write import write_data_set
from spotdiff.errors import DataError, SettingError
from spotdiff.settings import Settings, load_settings

if TYPE_CHECKING:
    from datasets import Features

    from spotdiff.tasks import Table


@dataclass(frozen=True)
class _Content:
    """Config -> rows, their columns, files by their place in the data set's folder, and what is said of the rows.

    texts: content of further files. complete: whether media that are not there are a fault of the release.
    """

    configs: Mapping[str, Iterable[Mapping[str, Any]]]
    features: Features
    files: Mapping[str, Path] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    counts: Table | None = None
    complete: bool = True


@dataclass(frozen=True)
class _Order:
    """What `prepare` was asked for besides the data set and its folder."""

    images: bool = True
    mapping: Path | None = None
    videos_from: Sequence[str] = ()
    all_views: bool = False


@dataclass(frozen=True)
class _Release:
    """How a release is read.

    read(folder, order) gives its content. missing: what is said where no folder was named and none can be fetched.
    repository: on the Hub. mapped: whether a mapping can say how the release calls its fields. elsewhere: whether it
    has no videos of its own, but names those of others.
    """

    read: Callable[[Path, _Order], _Content]
    missing: str
    repository: str | None = None
    mapped: bool = False
    elsewhere: bool = False


def prepare(
    name: str,
    source: Path | str | None,
    *,
    images: bool = True,
    mapping: Path | None = None,
    videos_from: Sequence[str] = (),
    all_views: bool = False,
) -> Path:
    """Read the release of a data set and write it below the data folder, whole or not at all.

    source: a folder, or a data set repository of the Hub (`ORG/NAME`); by default the official one is fetched.
    images: take images and videos along; questions alone are enough for models that look at none.
    mapping: a file that says how the release calls its fields, for a data set whose form is not fixed.
    videos_from: `DATASET=DIR`, the folders of other data sets that hold the videos, for a release that has none; videos
    that are not there are counted and listed. all_views: take videos along that no question shows.
    Prints what was read where the paper's numbers are known. Returns the folder. Raises SpotdiffError on an unknown
    name, or naming what is wrong in the release.
    """
    if name not in _RELEASES:
        raise SettingError(f"There is no data set {name!r} to prepare. Known: {', '.join(_RELEASES)}")
    if mapping is not None and not _RELEASES[name].mapped:
        others = ", ".join(other for other, release in _RELEASES.items() if release.mapped)
        raise SettingError(f"The fields of {name} have fixed names: --fields is for {others} alone")
    if (videos_from or all_views) and not _RELEASES[name].elsewhere:
        others = ", ".join(other for other, release in _RELEASES.items() if release.elsewhere)
        raise SettingError(f"{name} takes no videos of other data sets: --videos-from and --all-views are for {others}")
    if all_views and not videos_from:
        raise SettingError("--all-views takes more videos along: say where they are by --videos-from DATASET=DIR")
    settings = load_settings()
    folder = settings.data / name
    release = _folder_of(name, source, settings)
    content = _RELEASES[name].read(release, _Order(images, mapping, videos_from, all_views))
    if content.counts is not None:
        print(f"{content.counts.markdown()}\n", flush=True)
    texts = {CARD: card(name, content.configs), **content.texts}
    verify = partial(_check, name, content.configs) if images and content.complete else None
    write_data_set(folder, content.configs, content.features, content.files, texts, verify)
    return folder


def _folder_of(name: str, source: Path | str | None, settings: Settings) -> Path:
    """Where the release is, fetched from the Hub where it is no folder. Raises DataError."""
    if source is not None and Path(source).is_dir():
        return Path(source)
    from spotdiff.data.hub import fetch, is_repository_id

    if source is not None and not is_repository_id(str(source)):
        raise DataError(f"There is no folder {source}")
    repository = _RELEASES[name].repository if source is None else str(source)
    by_hand = f"{_RELEASES[name].missing}. Name the folder of the release: data prepare {name} --from DIR"
    if repository is None:
        raise DataError(by_hand)
    try:
        folder = fetch(repository, None, settings.media_cache / "checked")
    except DataError as error:
        no_folder = by_hand if source is None else f"There is no folder {source}, so the Hub was asked"
        raise DataError(f"{no_folder}. {error}") from error
    print(f"{repository} was read at its commit {folder.name}", flush=True)
    return folder


def _check(name: str, configs: Collection[str], place: Path) -> None:
    """Decode all media once, so that the first run need not. Raises DataError.

    place: folder that holds that of the data set.
    """
    from spotdiff.data.check import first_tasks
    from spotdiff.evaluation import Evaluation
    from spotdiff.tasks import benchmarks

    for task in first_tasks(benchmarks()[name], name, configs):
        evaluation = Evaluation.of(task)
        replace(evaluation, settings=replace(evaluation.settings, data=place)).check_media(
            outcome="nothing was prepared"
        )


def _egoexo_next(source: Path, order: _Order) -> _Content:
    from spotdiff.benchmarks.egoexo_next.release import read_release
    from spotdiff.benchmarks.egoexo_next.release_counts import counts
    from spotdiff.benchmarks.egoexo_next.release_fields import Fields, load_fields
    from spotdiff.benchmarks.egoexo_next.schema import features

    fields = load_fields(order.mapping) if order.mapping else Fields()
    questions = read_release(source, fields, images=order.images)
    return _Content(questions, features(), counts=counts({name: rows.texts for name, rows in questions.items()}))


def _m4bench(source: Path, order: _Order) -> _Content:
    from spotdiff.benchmarks.m4bench.official import counts, read_official
    from spotdiff.benchmarks.m4bench.schema import features

    release = read_official(source, images=order.images)
    return _Content(release.rows, features(), counts=counts(release))


def _m3verse(source: Path, order: _Order) -> _Content:
    from spotdiff.benchmarks.m3verse.release import read_release
    from spotdiff.benchmarks.m3verse.schema import features

    rows, files = read_release(source, videos=order.images)
    return _Content(rows, features(), files)


def _mvvbench(source: Path, order: _Order) -> _Content:
    from spotdiff.benchmarks.mvvbench.release import read_release
    from spotdiff.benchmarks.mvvbench.release_counts import counts
    from spotdiff.benchmarks.mvvbench.release_videos import MISSING_FILE, missing_table, video_folders
    from spotdiff.benchmarks.mvvbench.schema import CONFIG, features

    folders = video_folders(order.videos_from)
    release = read_release(source, folders if order.images else None, all_views=order.all_views)
    table = counts(release.rows)
    if not folders or not order.images:
        return _Content({CONFIG: release.rows}, features(), counts=table, complete=False)
    missing = (
        f"{len(release.missing):,} views are missing: {MISSING_FILE} in the data set's folder says which, and why."
    )
    decode = (
        "Videos are linked undecoded: `spotdiff data check mvvbench` decodes each to its end, as the first run would."
    )
    return _Content(
        {CONFIG: release.rows},
        features(),
        release.files,
        {MISSING_FILE: missing_table(release.missing)},
        replace(table, notes=(*table.notes, missing if release.missing else "No view is missing.", decode)),
        complete=False,
    )


_RELEASES: Mapping[str, _Release] = {
    "egoexo_next": _Release(
        _egoexo_next,
        "There is no folder to read EgoExo-Next from. Fetch it from the Hub: "
        "hf download yutongli2024/EgoExo-Next --repo-type dataset --local-dir DIR",
        "yutongli2024/EgoExo-Next",
        mapped=True,
    ),
    "m4bench": _Release(
        _m4bench,
        "There is no folder to read M4Bench from. Fetch it from the Hub: "
        "hf download Anonymous8976/M4Bench --repo-type dataset --local-dir DIR",
        "Anonymous8976/M4Bench",
    ),
    "m3verse": _Release(
        _m3verse, "There is no public repository of M3-Verse's questions and videos that we know of to fetch"
    ),
    "mvvbench": _Release(
        _mvvbench,
        "There is no folder to read MVVBench from. Fetch its annotations from the Hub: "
        "hf download everex/MVVBench --repo-type dataset --local-dir DIR. Its videos are those of Ego-Exo4D, CMU "
        "Panoptic and MMPTRACK, which their owners hand out under their own licences: --videos-from DATASET=DIR",
        "everex/MVVBench",
        elsewhere=True,
    ),
}
