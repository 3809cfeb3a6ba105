"""Python and packages: what is installed, what does not go together, and which `vlmeval` command is run."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from spotdiff.doctor.findings import Finding, Mark
from spotdiff.doctor.rules import RULES

EXTRAS = {"lmms-eval": "lmms", "ms-vlmeval": "vlmeval"}
"""Package of a framework -> the extra of spotdiff that brings it, in versions that were tested."""

_SHOWN = (
    "spotdiff",
    *EXTRAS,
    "torch",
    "torchvision",
    "transformers",
    "datasets",
    "huggingface_hub",
    "pyarrow",
    "numpy",
    "pillow",
    "av",
    "decord",
    "torchcodec",
    "filelock",
    "antlr4-python3-runtime",
)
_NEEDY = ("torchvision", "transformers", "datasets")
"""Packages whose own requirements are looked at, beside those of spotdiff and the frameworks."""

_REINSTALL = "pip install --force-reinstall --no-deps spotdiff"


def version(package: str) -> str | None:
    """The installed version, None where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check() -> Iterator[Finding]:
    yield _python()
    # Of one package the worst alone is told: what a rule says tells more than a bare requirement.
    bad = {canonicalize_name(package): finding for package, finding in (*_unmet(), *_ruled(Mark.warning, Mark.fault))}
    for package in _SHOWN:
        if (found := version(package)) and canonicalize_name(package) not in bad:
            yield Finding(Mark.ok, f"{package} {found}")
    for package, extra in EXTRAS.items():
        if version(package) is None:
            yield Finding(Mark.note, f"{package} is not installed", f"pip install 'spotdiff[{extra}]'")
    yield from bad.values()
    yield from (finding for _, finding in _ruled(Mark.note))
    yield from _command()


def _python() -> Finding:
    wanted = metadata.metadata("spotdiff")["Requires-Python"]
    mark = Mark.ok if SpecifierSet(wanted).contains(platform.python_version(), prereleases=True) else Mark.fault
    remedy = "" if mark is Mark.ok else f"make an environment with a Python that fits {wanted}"
    return Finding(mark, f"Python {platform.python_version()} ({sys.executable})", remedy)


def _ruled(*marks: Mark) -> Iterator[tuple[str, Finding]]:
    """Package -> what the rules with one of these marks say of it, the worst last."""
    for rule in sorted((rule for rule in RULES if rule.mark in marks), key=lambda rule: marks.index(rule.mark)):
        found = version(rule.package)
        if found and version(rule.beside) and SpecifierSet(rule.versions).contains(found, prereleases=True):
            yield rule.package, Finding(rule.mark, f"{rule.package} {found}: {rule.consequence}", rule.remedy)


def _unmet() -> Iterator[tuple[str, Finding]]:
    """Requirements of packages that others do not meet, as their metadata state them."""
    for package in (*_NEEDY, *EXTRAS):
        yield from _unmet_by(package, "", Mark.warning)
    for package, extra in EXTRAS.items():
        if version(package):
            yield from _unmet_by("spotdiff", extra, Mark.warning)
    yield from _unmet_by("spotdiff", "", Mark.fault)


def _unmet_by(package: str, extra: str, mark: Mark) -> Iterator[tuple[str, Finding]]:
    """extra: only what this extra adds."""
    for wanted in map(Requirement, metadata.requires(package) or () if version(package) else ()):
        with_it, without_it = (not wanted.marker or wanted.marker.evaluate({"extra": name}) for name in (extra, ""))
        if not with_it or (extra and without_it):
            continue
        found = version(wanted.name)
        if found is None or not wanted.specifier.contains(found, prereleases=True):
            has = f"{wanted.name} {found}" if found else f"{wanted.name} is not installed"
            asks = f"{package}[{extra}] was tested with" if extra else f"{package} asks for"
            plain = f"{wanted.name}{wanted.specifier}"
            yield wanted.name, Finding(mark, f"{has}: {asks} {plain}", f"pip install '{plain}'")


def _command() -> Iterator[Finding]:
    """The `vlmeval` command is ours; others have one of that name too."""
    owners = {entry.dist.name for entry in metadata.entry_points(group="console_scripts", name="vlmeval") if entry.dist}
    others = sorted(owners - {"spotdiff"})
    if others:
        yield Finding(
            Mark.warning,
            f"the command `vlmeval` is also one of {', '.join(others)}: the one installed last is run",
            f"{_REINSTALL}, or call `python -m vlmeval_ext`",
        )
    first, own = shutil.which("vlmeval"), Path(sys.executable).with_name("vlmeval")
    if first and own.exists() and Path(first).resolve() != own.resolve():
        yield Finding(
            Mark.warning,
            f"`vlmeval` runs {first}, which belongs to another environment",
            f"put {own.parent} first in PATH, or call {own}",
        )
