"""The `spotdiff` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from spotdiff import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0, 1 where a check found faults, 2 for anything a user must put right."""
    options = _parser().parse_args(arguments)
    from spotdiff.errors import SpotdiffError

    try:
        return int(options.run(options))
    except SpotdiffError as error:
        print(f"spotdiff: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spotdiff",
        description="Benchmarks of visual comparison for lmms-eval and VLMEvalKit: prepare data, read results.",
    )
    parser.add_argument("--version", action="version", version=f"spotdiff {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    tasks = commands.add_parser("tasks", help="list all tasks, by their names in both frameworks")
    tasks.set_defaults(run=_tasks)

    report = commands.add_parser("report", help="print the tables of finished runs of either framework")
    report.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder that a run wrote")
    report.add_argument("--mean", action="store_true", help="one table for each model: the mean over all its runs")
    report.set_defaults(run=_report)

    data = commands.add_parser("data", help="prepare data sets, check and publish them").add_subparsers(
        required=True, metavar="COMMAND"
    )
    prepare = data.add_parser("prepare", help="turn a released data set into the form that the tasks read")
    prepare.add_argument("name", help="data set, such as m4bench")
    prepare.add_argument(
        "--from",
        dest="source",
        metavar="DIR",
        help="folder of the release, or its repository on the Hub, ORG/NAME; by default the official one is fetched",
    )
    prepare.add_argument(
        "--no-images",
        action="store_true",
        help="questions only, without images and videos: enough to score stored replies",
    )
    prepare.add_argument(
        "--fields",
        type=Path,
        metavar="FILE",
        help="how the release calls its fields, as .toml or .json, for a data set whose form is not fixed",
    )
    prepare.add_argument(
        "--videos-from",
        action="append",
        default=[],
        metavar="DATASET=DIR",
        help="your own copy of a data set that the videos of a release come from; once for each data set",
    )
    prepare.add_argument(
        "--all-views",
        action="store_true",
        help="take all views of each recording along, not only those that a question shows",
    )
    prepare.set_defaults(run=_prepare)
    check = data.add_parser("check", help="count what a prepared data set holds, and name all that is wrong with it")
    check.add_argument("name", help="data set, such as m4bench or m4bench_mini")
    check.set_defaults(run=_check)
    publish = data.add_parser("publish", help="upload a prepared data set to the Hub, with its card and a tag")
    publish.add_argument("name", help="data set, such as m4bench")
    publish.add_argument("--repo", required=True, metavar="ORG/NAME", help="data set repository; made if there is none")
    publish.add_argument("--private", action="store_true", help="make it a private one, where there is none")
    publish.add_argument("--dry-run", action="store_true", help="list what would go up, and ask no server")
    publish.set_defaults(run=_publish)
    where = data.add_parser("where", help="print the folder of a prepared data set")
    where.add_argument("name")
    where.set_defaults(run=_where)
    return parser


def _tasks(options: argparse.Namespace) -> int:
    from spotdiff.tasks import vlmeval_tasks

    rows = [(task.name, name, str(task.expected or "mini")) for name, task in vlmeval_tasks().items()]
    width = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    print(f"{'lmms-eval':<{width[0]}}  {'VLMEvalKit':<{width[1]}}  questions")
    for ours, theirs, count in rows:
        print(f"{ours:<{width[0]}}  {theirs:<{width[1]}}  {count}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from spotdiff.runs.combine import comparisons, joined, means
    from spotdiff.runs.read import read_runs

    runs = joined([run for path in options.runs for run in read_runs(path)])
    if options.mean:
        runs = means(runs)
    for table in [*(table for run in runs for table in run.tables()), *comparisons(runs)]:
        print(f"\n{table.markdown()}")
    return 0


def _prepare(options: argparse.Namespace) -> int:
    from spotdiff.data.prepare import prepare

    folder = prepare(
        options.name,
        options.source,
        images=not options.no_images,
        mapping=options.fields,
        videos_from=options.videos_from,
        all_views=options.all_views,
    )
    print(f"{options.name} is ready in {folder}")
    return 0


def _check(options: argparse.Namespace) -> int:
    from spotdiff.data.check import check

    return 0 if check(options.name) else 1


def _publish(options: argparse.Namespace) -> int:
    from spotdiff.data.publish import publish

    publish(options.name, options.repo, private=options.private, dry_run=options.dry_run)
    return 0


def _where(options: argparse.Namespace) -> int:
    from spotdiff.data.store import locate
    from spotdiff.settings import load_settings

    print(locate(options.name, load_settings()))
    return 0
