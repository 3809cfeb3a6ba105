"""Combinations of versions that are known to be bad. A new one is one entry."""

from __future__ import annotations

from dataclasses import dataclass

from spotdiff.doctor.findings import Mark


@dataclass(frozen=True)
class Rule:
    """versions of a package (a version specifier) that are bad where another one is installed.

    consequence: completes the sentence "PACKAGE VERSION: ...".
    """

    package: str
    versions: str
    beside: str
    mark: Mark
    consequence: str
    remedy: str


RULES = (
    Rule(
        "filelock",
        ">=4.3",
        beside="lmms-eval",
        mark=Mark.fault,
        consequence="every run of lmms-eval fails with it",
        remedy="pip install 'filelock<4.3'",
    ),
    Rule(
        "antlr4-python3-runtime",
        "!=4.11.1",
        beside="ms-vlmeval",
        mark=Mark.fault,
        consequence="VLMEvalKit cannot be imported with it (installing lmms-eval by itself brings it)",
        remedy="pip install antlr4-python3-runtime==4.11.1",
    ),
    Rule(
        "transformers",
        "==5.24.*",
        beside="lmms-eval",
        mark=Mark.note,
        consequence="`--model huggingface` of lmms-eval does not work with it; a model's own class does (qwen3_vl)",
        remedy="",
    ),
    Rule(
        "vlmeval",
        ">=0",
        beside="ms-vlmeval",
        mark=Mark.warning,
        consequence="provides the module `vlmeval`, and so does ms-vlmeval: which one is imported is chance",
        remedy="pip uninstall -y vlmeval && pip install --force-reinstall --no-deps ms-vlmeval==0.0.20",
    ),
)
