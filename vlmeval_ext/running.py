"""`vlmeval run`: VLMEvalKit's own run, checked before it starts, with an exit code that tells the truth."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType

from _spotdiff_hook import is_off
from spotdiff.errors import SpotdiffError
from vlmeval_ext import names
from vlmeval_ext.command import DONE, FAILED, MISUSED
from vlmeval_ext.invocation import Invocation
from vlmeval_ext.outcome import Outcome, Run


def run(words: Sequence[str]) -> int:
    """Run VLMEvalKit with its own arguments and return the exit code.

    Raises SpotdiffError when VLMEvalKit cannot be imported or our data sets cannot be registered.
    """
    told = Invocation.of(words)
    faults = names.early_faults(told)
    if faults:
        return _refused(faults)
    own = [name for name in told.data if name in names.ours()]
    if own:
        # Tables of xlsx, the default, turn a reply such as `=B` into a formula and cut a long one.
        os.environ.setdefault("PRED_FORMAT", "tsv")
    unusable = [outcome for name in own if (outcome := _checked(name, told)) is not None]
    if unusable:
        return _report(unusable, "nothing was run, ")
    return _run(import_framework(), words)


def import_framework() -> ModuleType:
    """The module `vlmeval.run`, with our data sets in place. Raises SpotdiffError when that cannot be had."""
    try:
        import vlmeval.dataset
        import vlmeval.run
    except ImportError as error:
        raise SpotdiffError(
            f"VLMEvalKit cannot be imported ({error}). Install it with: pip install 'spotdiff[vlmeval]'"
        ) from error
    if not is_off():
        try:
            from vlmeval_ext.registration import add_data_sets, add_models

            add_data_sets(vlmeval.dataset)
            add_models(vlmeval.config)
        except Exception as error:
            raise SpotdiffError(f"The data sets of spotdiff could not be registered: {error!r}") from error
    framework: ModuleType = vlmeval.run
    return framework


def _checked(name: str, told: Invocation) -> Outcome | None:
    """What is wrong with a data set of ours: better said now than after hours of another one. None: nothing is."""
    from vlmeval_ext.loading import load

    print(f"vlmeval run: checking the data of {name}", file=sys.stderr, flush=True)
    try:
        # The data set says the same again when VLMEvalKit builds it.
        with contextlib.redirect_stderr(io.StringIO()):
            load(name, told.asked, media=told.needs_media)
    except SpotdiffError as error:
        return Outcome(", ".join(told.models), name, failed=True, text=str(error))
    return None


def _run(framework: ModuleType, words: Sequence[str]) -> int:
    # VLMEvalKit reads its arguments from here, and stores them in status.json.
    sys.argv = [sys.argv[0], *words]
    arguments = framework.parse_args()
    faults = names.faults(arguments, framework)
    if faults:
        return _refused(faults)
    started = Run.of(arguments, framework)
    for path in started.stored_predictions:
        print(f"vlmeval run: replies in {path} are used again; remove the file to ask anew", file=sys.stderr)
    try:
        framework.main()
    except Exception:
        traceback.print_exc()
        return _report(started.outcomes(), "the run broke off, see above, ", broken=True)
    # Only the first of several processes records anything.
    return DONE if int(os.environ.get("RANK", "0")) else _report(started.outcomes())


def _refused(faults: Sequence[str]) -> int:
    print("".join(f"vlmeval: {fault}\n" for fault in faults), end="", file=sys.stderr)
    return MISUSED


def _report(outcomes: Sequence[Outcome], what: str = "", *, broken: bool = False) -> int:
    failed = sum(outcome.failed for outcome in outcomes)
    bad = broken or bool(failed)
    lines = [f"vlmeval run: {what}{failed} of {len(outcomes)} failed", *(f"  {outcome}" for outcome in outcomes)]
    print("\n".join(lines), file=sys.stderr if bad else sys.stdout, flush=True)
    return FAILED if bad else DONE
