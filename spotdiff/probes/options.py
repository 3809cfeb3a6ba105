"""`spotdiff probe`: its words and options, and what each of them calls."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

_NAMES = {
    "m3verse-oracle": "Text-Oracle of M3-Verse: captions of clips, their summaries, answers from these",
    "m4bench-captions": "caption test of M4Bench: captions stand in place of the images",
    "egoexo-next-captions": "caption augmentation of EgoExo-Next: a caption after each option image",
}
"""Probe -> what it is. All else stands in `plans`, which `--help` does without."""


def add_probe(commands: Any) -> None:
    """Add the command to the parser of `spotdiff`."""
    probe = commands.add_parser("probe", help="put pictures into words first: run the stages of a probe, correct texts")
    words = probe.add_subparsers(required=True, metavar="COMMAND")
    for name, about in _NAMES.items():
        _add_run(words.add_parser(name, help=about, description=about), name)
    listing = words.add_parser("list", help="count the texts that are there, by kind and model")
    listing.set_defaults(run=_list)
    export = words.add_parser("export", help="write the texts of a stage into a table, to correct them by hand")
    export.add_argument("stage", help="such as egoexo_next_captions")
    export.add_argument("--out", type=Path, required=True, metavar="FILE", help="its name ends with .csv or .jsonl")
    export.add_argument("--model", metavar="LABEL", help="whose texts, where several models have made some")
    export.set_defaults(run=_export)
    taken = words.add_parser("import", help="take in a table of texts that people have corrected")
    taken.add_argument("file", type=Path)
    taken.set_defaults(run=_import)


def _add_run(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument("--data", metavar="NAME", help="what is asked, such as its _mini set")
    oracle = name == "m3verse-oracle"
    roles = {"caption": "writes captions", "summary": "summarises captions", "answer": "answers the questions"}
    for role, does in roles.items():
        if role == "summary" and not oracle:
            continue
        default = "" if role == "caption" else "; default: the one that writes captions"
        parser.add_argument(
            f"--{role}-model",
            metavar="MODEL",
            required=role == "caption",
            help=f"model of lmms-eval that {does}{default}",
        )
        parser.add_argument(
            f"--{role}-args", metavar="ARGS", default="", help="its arguments, as --model_args takes them"
        )
    if oracle:
        parser.add_argument("--raw", action="store_true", help="answer from the captions, without summaries")
    parser.add_argument("--until", metavar="STEP", help="stop after captions, or after summaries")
    parser.add_argument(
        "--out", type=Path, default=Path("runs", name), metavar="DIR", help="logs and journal; default: %(default)s"
    )
    parser.add_argument(
        "arguments", nargs="*", metavar="-- ARGUMENTS", help="further ones of lmms-eval, for every step"
    )
    parser.set_defaults(run=_run, probe=name)


def _run(options: argparse.Namespace) -> int:
    from spotdiff.errors import SettingError
    from spotdiff.probes.plans import ANSWERS, CAPTIONS, SUMMARIES, Chosen, plan, run

    def asked(role: str) -> Chosen | None:
        word, arguments = getattr(options, f"{role}_model", None), getattr(options, f"{role}_args", "")
        if word is None and arguments:
            raise SettingError(f"--{role}-args belong to a model: name it with --{role}-model")
        return None if word is None else Chosen(word, arguments)

    made = plan(
        options.probe,
        options.data,
        {CAPTIONS: asked("caption"), SUMMARIES: asked("summary"), ANSWERS: asked("answer")},
        options.out,
        raw=getattr(options, "raw", False),
        until=options.until,
        arguments=options.arguments,
    )
    code = run(made)
    if not code and made.until == ANSWERS:
        print(f"The answers are in {made.out}: spotdiff report {made.out}")
    return code


def _export(options: argparse.Namespace) -> int:
    from spotdiff.probes.exchange import export

    print(f"{export(options.stage, options.out, options.model)} texts are in {options.out}")
    return 0


def _import(options: argparse.Namespace) -> int:
    from spotdiff.probes.exchange import take_in

    print(f"{take_in(options.file)} texts were changed and are kept as edited ones")
    return 0


def _list(options: argparse.Namespace) -> int:
    from spotdiff.probes.exchange import listing

    rows = listing()
    if len(rows) == 1:
        print("There are no texts yet")
        return 0
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0
