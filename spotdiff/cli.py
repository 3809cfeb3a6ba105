"""The `spotdiff` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from spotdiff import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0, 2 for anything a user must put right."""
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
    report.set_defaults(run=_report)

    data = commands.add_parser("data", help="prepare data sets").add_subparsers(required=True, metavar="COMMAND")
    prepare = data.add_parser("prepare", help="turn a released data set into the form that the tasks read")
    prepare.add_argument("name", help="data set, such as m4bench")
    prepare.add_argument("--from", dest="source", type=Path, metavar="DIR", help="folder of the release")
    prepare.add_argument(
        "--no-images",
        action="store_true",
        help="questions only, without images and videos: enough to score stored replies",
    )
    prepare.set_defaults(run=_prepare)
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
    from spotdiff.runs.read import read_runs

    for table in [table for path in options.runs for run in read_runs(path) for table in run.tables()]:
        print(f"\n{table.markdown()}")
    return 0


def _prepare(options: argparse.Namespace) -> int:
    from spotdiff.data.prepare import prepare

    folder = prepare(options.name, options.source, images=not options.no_images)
    print(f"{options.name} is ready in {folder}")
    return 0


def _where(options: argparse.Namespace) -> int:
    from spotdiff.data.store import locate
    from spotdiff.settings import load_settings

    print(locate(options.name, load_settings()))
    return 0
