"""Errors that a user can act on: each message says what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_SHOWN = 20


class SpotdiffError(Exception):
    """Base of all errors that are shown to a user as one message, without a traceback."""


class SettingError(SpotdiffError):
    """A setting, task name or model argument that cannot be used."""


class ReplyFileError(SpotdiffError):
    """A file of stored replies that cannot be used."""


@dataclass(frozen=True)
class Problem:
    """One fault of a data set: where it stands and how to mend it."""

    file: str
    row: str
    field: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}, row {self.row}, field {self.field}: {self.message}. {self.remedy}"


class DataError(SpotdiffError):
    """A data set that must not be scored. Carries every fault that was found, not only the first."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        self.problems = tuple(problems)
        lines = [f"  {problem}" for problem in self.problems[:_SHOWN]]
        if len(self.problems) > _SHOWN:
            lines.append(f"  ... and {len(self.problems) - _SHOWN} more")
        super().__init__("\n".join([message, *lines]))
