"""lmms-eval's own command line, called so that its exit code tells the truth.

lmms-eval itself prints a traceback for a run that failed, and exits with 0.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spotdiff.errors import SettingError, SpotdiffError
from spotdiff.failures import OPTION, Tally, failure_of, take_share
from spotdiff.secrets import masked_output
from spotdiff.tasks import tasks

NAME = "lmms_eval_tasks"

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130

_LISTS = ("list", "list_groups", "list_tags", "list_subtasks")
"""What `--tasks` may ask for beside tasks; lmms-eval prints it and ends."""

HELP = f"""\
usage: python -m {NAME} [{OPTION} SHARE] ARGUMENTS of lmms-eval

Runs lmms-eval with these arguments. The last lines say what became of each task.
{OPTION} SHARE: share of the questions of a task of spotdiff that may fail, from 0 (the default) to 1.
Exit code 0: every task has results; 1: a task has none, or too much failed; 2: the arguments or the data cannot be
used; 130: interrupted. With several processes, that of the first one counts, which alone prints.

What follows is the help of lmms-eval.
"""


@dataclass
class Runs:
    """What lmms-eval was asked to run; a file of `--config` can hold several runs.

    results: of each run that went through, None in a process that only helps the first one, and beside them what became
    of the questions of our tasks. errors: of each that did not.
    """

    results: list[tuple[Mapping[str, Any] | None, Mapping[str, Tally]]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)

    def watched(self, run_one: Callable[..., Any]) -> Callable[..., Any]:
        """`cli_evaluate_single` of lmms-eval, whose errors go no further than its caller."""

        from lmms_eval_tasks.adapter import TALLIES

        def watched(arguments: Any) -> Any:
            before = len(TALLIES)
            try:
                found = run_one(arguments)
            except Exception as error:
                self.errors.append(error)
                raise
            except SystemExit as ended:
                raise SystemExit(ended.code or _meant(arguments.tasks)) from None
            results, samples = found
            # With `--predict_only` replies are stored, and nothing is scored.
            self.results.append((results, _unread(samples or {}) | dict(TALLIES[before:])))
            return found

        return watched


def _meant(tasks: str | None) -> int:
    """Exit code of a run that ended as if all were well: as it does without tasks, or where a model or task exits."""
    if tasks is None:
        return MISUSED
    return DONE if tasks in _LISTS else FAILED


def _unread(samples: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Tally]:
    """Of the replies of our tasks, as lmms-eval logs them."""
    from spotdiff.runs.logs import reply_of

    replies = {name: [reply_of(sample) for sample in samples[name]] for name in samples if name in tasks()}
    return {name: Tally(len(own), Counter(filter(None, map(failure_of, own))), None) for name, own in replies.items()}


@masked_output()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run lmms-eval and return the exit code. arguments: without the program's name, default `sys.argv[1:]`."""
    try:
        allowed, words = take_share(list(sys.argv[1:] if arguments is None else arguments))
        if {"-h", "--help"} & set(words):
            print(HELP, flush=True)
        runs = _run(words)
    except KeyboardInterrupt:
        print(f"{NAME}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except SpotdiffError as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return MISUSED if isinstance(error, SettingError) else FAILED
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else DONE if ended.code is None else FAILED
    except Exception:
        traceback.print_exc()
        return FAILED
    return _report(runs, allowed or 0.0)


def _run(words: Sequence[str]) -> Runs:
    try:
        import lmms_eval.__main__ as framework
        from lmms_eval.cli.dispatch import main as lmms_eval
    except ImportError as error:
        raise SpotdiffError(
            f"lmms-eval cannot be imported ({error}). Install it with: pip install 'spotdiff[lmms]'"
        ) from error
    runs = Runs()
    framework.cli_evaluate_single = runs.watched(framework.cli_evaluate_single)
    sys.argv = ["lmms-eval", *words]
    lmms_eval()
    return runs


def _report(runs: Runs, allowed: float) -> int:
    """Say what became of each task, where this is the first of several processes, and return the exit code."""
    if int(os.environ.get("RANK", "0")):
        return FAILED if runs.errors else DONE
    judged = [
        line for results, known in runs.results if results is not None for line in outcomes(results, known, allowed)
    ]
    judged += [(False, f"the run broke off: {type(error).__name__}: {error}") for error in runs.errors]
    if not judged:
        # Lists of tasks or models, and other commands of lmms-eval.
        return DONE
    failed = sum(not good for good, _ in judged)
    lines = [f"{'done  ' if good else 'FAILED'}  {text}" for good, text in judged]
    said = "\n".join([f"{NAME}: {failed} of {len(judged)} failed", *(f"  {line}" for line in lines)])
    print(said, file=sys.stderr if failed else sys.stdout, flush=True)
    return FAILED if failed else DONE


def outcomes(results: Mapping[str, Any], tallies: Mapping[str, Tally], allowed: float) -> Iterator[tuple[bool, str]]:
    """Whether each task of a run is good, and what to say of it.

    results: as `simple_evaluate` of lmms-eval returns them. tallies: of tasks of ours.
    """
    for name in results["configs"]:
        if not _has_results(results["results"].get(name, {})):
            yield False, f"{name}: no results, see the log above"
        elif name not in tallies:
            yield True, name
        else:
            tally = tallies[name]
            yield not tally.exceeds(allowed), f"{name}: {tally}"


def _has_results(metrics: Mapping[str, Any]) -> bool:
    """Whether there is a metric (`acc,none`), beside standard errors and the number of samples, that is not NaN.

    One that is no number belongs to a task whose replies are scored elsewhere, on a server of its own.
    """
    # NaN alone differs from itself.
    return any(value == value for name, value in metrics.items() if "," in name and "_stderr" not in name)
