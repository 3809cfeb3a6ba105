"""Keeps API keys out of what VLMEvalKit writes: `status.json` holds the command line, logs hold what servers say."""

from __future__ import annotations

import logging
from typing import Any

from spotdiff.secrets import mask, without_secrets

_MARK = "_holds_no_secret"


def keep_secrets(status_report: Any) -> None:
    """Mask what VLMEvalKit logs and records from now on. Further calls change nothing.

    status_report: the module `vlmeval.smp.status_report`.
    Raises AttributeError where this version of VLMEvalKit writes its records another way.
    """
    write = status_report._dump_run_status_unlocked
    if hasattr(write, _MARK):
        return

    def write_masked(status_file: Any, status: dict[str, Any]) -> None:
        write(status_file, mask(status))

    setattr(write_masked, _MARK, True)
    status_report._dump_run_status_unlocked = write_masked
    make = logging.getLogRecordFactory()

    def make_masked(*arguments: Any, **named: Any) -> logging.LogRecord:
        record = make(*arguments, **named)
        if record.name.partition(".")[0] == "vlmeval":
            _mask(record)
        return record

    logging.setLogRecordFactory(make_masked)


def _mask(record: logging.LogRecord) -> None:
    try:
        record.msg, record.args = without_secrets(record.getMessage()), None
    except (TypeError, ValueError):
        return  # Arguments that do not fit the message: `logging` says so itself, where it is told to.
    if record.exc_info:
        # A formatter takes the text that is there already.
        record.exc_text = without_secrets(logging.Formatter().formatException(record.exc_info))
