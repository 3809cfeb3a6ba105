"""The `vlmeval` command. What it needs of VLMEvalKit is imported once the arguments have been found good."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from _spotdiff_hook import OFF_SWITCH, is_off
from spotdiff.errors import SpotdiffError
from spotdiff.secrets import masked_output
from vlmeval_ext import names

HELP = """\
usage: vlmeval run --data NAME [NAME ..] --model NAME [NAME ..] [OPTION ..]
       vlmeval run --config FILE [OPTION ..]
       vlmeval replay --data NAME --path FILE [--model NAME] [--name NAME] [--work-dir FOLDER]
       vlmeval list [--all]

run     Run VLMEvalKit with all of its options; `python -m vlmeval --help` lists them.
        What failed, and why, is printed at the end, with the number of questions asked, answered, failed, unparsed.
        --max-failures SHARE: share of a data set's questions that may fail, from 0 (the default) to 1.
replay  Score stored replies as if a model had just given them.
        --path: a file or folder of replies, see the README. --model: whose replies to take, where it holds several.
        --name: what to call the model, default: its name in the file. The run is stored as NAME_replay.
list    List the data sets of spotdiff, or with --all every data set of VLMEvalKit.

Exit code 0: everything was run and scored; 1: something was not, or too much failed; 2: the arguments cannot be used;
130: interrupted.
Models are listed by `vlmutil mlist all`.
"""

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130


@masked_output()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. arguments: without the program's name, default `sys.argv[1:]`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        print("vlmeval: interrupted", file=sys.stderr)
        return INTERRUPTED
    except SpotdiffError as error:
        print(f"vlmeval: {error}", file=sys.stderr)
        return FAILED


def _dispatch(words: list[str]) -> int:
    command, rest = words[0] if words else "--help", words[1:]
    if command == "run" and not {"-h", "--help"} & set(rest):
        from vlmeval_ext.running import run

        return run(rest)
    if command == "replay":
        from vlmeval_ext.replaying import replay

        return replay(rest)
    if command == "list" and rest in ([], ["--all"]):
        return _list(every=bool(rest))
    if command in ("-h", "--help") or {"-h", "--help"} & set(rest):
        print(HELP, end="")
        return DONE
    print(f"vlmeval: there is no command {' '.join(words)!r}\n\n{HELP}", end="", file=sys.stderr)
    return MISUSED


def _list(*, every: bool) -> int:
    if every:
        from vlmeval_ext.running import import_framework

        found = names.of_framework(import_framework())
    else:
        found = names.ours()
    if is_off():
        print(f"vlmeval: {OFF_SWITCH} is set, the data sets of spotdiff are off", file=sys.stderr)
    print("".join(f"{name}\n" for name in found), end="")
    return DONE
