"""The `spotdiff` command."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spotdiff import __version__
from spotdiff.probes.options import add_probe


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code is 0, 1 where a check found faults, 2 for anything a user must put right.

    130 after Ctrl-C.
    """
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        print("spotdiff: interrupted. Run the command again", file=sys.stderr)
        return 130


def _run(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    from spotdiff.errors import SpotdiffError

    try:
        return int(options.run(options))
    except SpotdiffError as error:
        from spotdiff.secrets import without_secrets

        print(f"spotdiff: {without_secrets(str(error))}", file=sys.stderr)
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
    report.add_argument("--out", type=Path, metavar="DIR", help="write a whole report there instead of printing tables")
    report.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="RUN=NAME",
        help="what to call the model of a run in the report (with --out); once for each run",
    )
    report.add_argument(
        "--force", action="store_true", help="report different versions of a task together (with --out); marked"
    )
    report.add_argument(
        "--thumbnails",
        type=float,
        default=0.0,
        metavar="MEGABYTES",
        help="small pictures of what the models saw, in the page of the report (with --out), at most so many megabytes",
    )
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
    warm = data.add_parser("warm", help="decode the videos of a task ahead of time, for runs that start many at once")
    warm.add_argument("name", help="task or group, such as m3verse or mvvbench_panel")
    chosen = warm.add_mutually_exclusive_group()
    chosen.add_argument(
        "--frames", type=_above_zero(int), metavar="N", help="so many of each video; default: the task's own choice"
    )
    chosen.add_argument("--fps", type=_above_zero(float), metavar="RATE", help="so many a second")
    warm.add_argument("--size", type=_frame_size, metavar="WxH", help="of the frames, such as 448x448 or 448")
    warm.add_argument("--jobs", type=_above_zero(int), metavar="N", help="processes; default: half of the processors")
    warm.set_defaults(run=_warm)
    where = data.add_parser("where", help="print the folder of a prepared data set")
    where.add_argument("name")
    where.set_defaults(run=_where)

    add_probe(commands)

    doctor = commands.add_parser(
        "doctor", help="examine the installation: versions, frameworks, data, GPU, decoders, room; with remedies"
    )
    doctor.add_argument("--json", action="store_true", help="for scripts: one JSON object")
    doctor.set_defaults(run=_doctor)
    return parser


def _tasks(options: argparse.Namespace) -> int:
    from spotdiff.probes.stages import stage_groups, stages
    from spotdiff.tasks import vlmeval_tasks

    rows = [(task.name, name, str(task.expected or "mini")) for name, task in vlmeval_tasks().items()]
    rows += [(name, "-", "texts") for name in (*stages(), *stage_groups())]
    width = max(len(row[0]) for row in rows), max(len(row[1]) for row in rows)
    print(f"{'lmms-eval':<{width[0]}}  {'VLMEvalKit':<{width[1]}}  questions")
    for ours, theirs, count in rows:
        print(f"{ours:<{width[0]}}  {theirs:<{width[1]}}  {count}")
    return 0


def _report(options: argparse.Namespace) -> int:
    from spotdiff.errors import SettingError

    if options.out is not None:
        return _write_report(options)
    if options.name or options.force or options.thumbnails:
        raise SettingError("--name, --force and --thumbnails belong to a report that is written: add --out DIR")
    from spotdiff.runs.combine import comparisons, joined, means
    from spotdiff.runs.read import read_runs

    runs = joined([run for path in options.runs for run in read_runs(path)])
    if options.mean:
        runs = means(runs)
    for table in [*(table for run in runs for table in run.tables()), *comparisons(runs)]:
        print(f"\n{table.markdown()}")
    return 0


def _write_report(options: argparse.Namespace) -> int:
    from spotdiff.errors import SettingError
    from spotdiff.runs.build import build
    from spotdiff.runs.write import write_report

    if options.mean:
        raise SettingError("--mean prints tables; a written report has every run: leave --mean or --out out")
    pairs = [entry.rpartition("=") for entry in options.name]
    if any(not run or not name.strip() for run, _, name in pairs):
        raise SettingError("--name takes RUN=NAME, where RUN is one of the runs")
    if not 0 <= options.thumbnails < float("inf"):
        raise SettingError(f"--thumbnails takes a number of megabytes, 0 or more, not {options.thumbnails}")
    report = build(options.runs, {Path(run): name.strip() for run, _, name in pairs}, force=options.force)
    for warning in report.warnings:
        print(f"spotdiff: {warning}", file=sys.stderr)
    write_report(report, options.out, options.thumbnails)
    print(f"The report is in {options.out}")
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


def _above_zero(kind: type[int] | type[float]) -> Callable[[str], Any]:
    def convert(text: str) -> int | float:
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError("a number above 0" if kind is float else "a whole number above 0")
        return value

    return convert


def _frame_size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    try:
        size = int(width), int(height or width)
    except ValueError:
        size = (0, 0)
    if min(size) < 1:
        raise argparse.ArgumentTypeError("width x height in pixels, such as 448x448, or one number for both")
    return size


def _warm(options: argparse.Namespace) -> int:
    from spotdiff.data.warm import warm

    found = warm(options.name, options.frames, options.fps, options.size, options.jobs)
    for fault in found.faulty:
        print(fault)
    print(f"{options.name}: {found}")
    return 130 if found.left else int(bool(found.faulty))


def _where(options: argparse.Namespace) -> int:
    from spotdiff.data.store import locate
    from spotdiff.settings import load_settings

    print(locate(options.name, load_settings()))
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from spotdiff.doctor import Mark, as_json, as_text, examine

    found = examine()
    print(as_json(found) if options.json else as_text(found))
    return 1 if any(finding.mark is Mark.fault for findings in found.values() for finding in findings) else 0
