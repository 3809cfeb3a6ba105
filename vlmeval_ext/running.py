"""`vlmeval run`: VLMEvalKit's own run, checked before it starts, with an exit code that tells the truth."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from types import FrameType, ModuleType

from _spotdiff_hook import is_off
from spotdiff.errors import SettingError, SpotdiffError
from spotdiff.failures import take_share
from vlmeval_ext import names
from vlmeval_ext.command import DONE, FAILED, MISUSED
from vlmeval_ext.invocation import Invocation
from vlmeval_ext.outcome import Outcome, Run
from vlmeval_ext.secrets import keep_secrets


def run(words: Sequence[str]) -> int:
    """Run VLMEvalKit with its own arguments, and `--max-failures`, and return the exit code.

    Raises SpotdiffError when VLMEvalKit cannot be imported or our data sets cannot be registered.
    """
    try:
        allowed, words = take_share(words)
    except SettingError as error:
        return _refused([str(error)])
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
    return _run(import_framework(), words, allowed)


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
            import vlmeval.inference
            import vlmeval.inference_api

            from vlmeval_ext import registration

            registration.add_data_sets(vlmeval.dataset)
            registration.add_models(vlmeval.config)
            registration.guard_inference(vlmeval.inference)
            registration.guard_api_inference(vlmeval.inference_api)
            vlmeval.run.infer_data_job = vlmeval.inference.infer_data_job
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


def _run(framework: ModuleType, words: Sequence[str], allowed: float | None) -> int:
    from vlmeval.smp import status_report

    keep_secrets(status_report)
    # VLMEvalKit reads its arguments from here, and stores them in status.json.
    sys.argv = [sys.argv[0], *words]
    arguments = framework.parse_args()
    faults = names.faults(arguments, framework)
    if faults:
        return _refused(faults)
    started = Run.of(arguments, framework, allowed)
    for path in started.stored_predictions:
        print(f"vlmeval run: replies in {path} are used again; remove the file to ask anew", file=sys.stderr)
    with interrupts() as seen:
        try:
            framework.main()
        except Exception:
            traceback.print_exc()
            return _report(started.outcomes(), "the run broke off, see above, ", broken=True)
    if seen:
        # In API mode VLMEvalKit ends as if nothing had been.
        raise KeyboardInterrupt
    # Only the first of several processes records anything.
    return DONE if int(os.environ.get("RANK", "0")) else _report(started.outcomes())


@contextlib.contextmanager
def interrupts() -> Iterator[list[int]]:
    """Note interrupts of the user, and let no more be asked: VLMEvalKit would first work off its whole queue."""
    from vlmeval_ext.guard import stopping

    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        stopping.set()
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


def _refused(faults: Sequence[str]) -> int:
    print("".join(f"vlmeval: {fault}\n" for fault in faults), end="", file=sys.stderr)
    return MISUSED


def _report(outcomes: Sequence[Outcome], what: str = "", *, broken: bool = False) -> int:
    failed = sum(outcome.failed for outcome in outcomes)
    bad = broken or bool(failed)
    lines = [f"vlmeval run: {what}{failed} of {len(outcomes)} failed", *(f"  {outcome}" for outcome in outcomes)]
    print("\n".join(lines), file=sys.stderr if bad else sys.stdout, flush=True)
    return FAILED if bad else DONE
