"""`spotdiff doctor`: what is wrong with an installation, and what to do about it.

No framework is imported in this process: each is asked in one of its own, all at the same time, with a time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from spotdiff.doctor import data, environment, machine, media, plugins, versions
from spotdiff.doctor.findings import Finding, Mark, as_json, as_text

__all__ = ["Finding", "Mark", "as_json", "as_text", "examine"]

_CHECKS: dict[str, Callable[[], Iterable[Finding]]] = {
    "Versions": versions.check,
    "lmms-eval": plugins.check_lmms_eval,
    "VLMEvalKit": plugins.check_vlmevalkit,
    "Settings": environment.check_settings,
    "Data": data.check,
    "GPU": machine.check_gpu,
    "Video": media.check,
    "Folders": machine.check_folders,
    "Environment": environment.check_variables,
}


def examine() -> dict[str, list[Finding]]:
    """All findings by group. Takes as long as the slowest framework does to be imported, a minute at most."""
    with ThreadPoolExecutor(len(_CHECKS)) as pool:
        return dict(zip(_CHECKS, pool.map(_found, _CHECKS.values()), strict=True))


def _found(check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What a check finds, up to where it breaks: an installation that is broken enough breaks anything."""
    found: list[Finding] = []
    try:
        for finding in check():
            found.append(finding)
    except Exception as error:
        found.append(Finding(Mark.fault, f"could not be examined any further: {type(error).__name__}: {error}"))
    return found
