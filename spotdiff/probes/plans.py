"""Probes: which stages each one has, and running them one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spotdiff.errors import SettingError, SpotdiffError
from spotdiff.evaluation import Evaluation
from spotdiff.probes.models import Model
from spotdiff.probes.stages import stages_of
from spotdiff.secrets import without_secrets
from spotdiff.settings import load_settings
from spotdiff.tasks import task

CAPTIONS, SUMMARIES, ANSWERS = ROLES = ("captions", "summaries", "answers")


@dataclass(frozen=True)
class Probe:
    """data: names of the data sets or parts that it can ask, the first one by default. steps: role -> what follows the
    name of the data in that of the task, in order; the last one answers. raw: the same without summaries, where the
    probe knows that."""

    data: tuple[str, ...]
    steps: Mapping[str, str]
    raw: Mapping[str, str] | None = None


PROBES: Mapping[str, Probe] = {
    "m3verse-oracle": Probe(
        ("m3verse_sim", "m3verse_real", "m3verse", "m3verse_mini"),
        {CAPTIONS: "oracle_captions", SUMMARIES: "oracle_summaries", ANSWERS: "oracle"},
        {CAPTIONS: "oracle_captions", ANSWERS: "oracle_raw"},
    ),
    "m4bench-captions": Probe(
        ("m4bench", "m4bench_mini"),
        {CAPTIONS: "captions", ANSWERS: "captioned"},
    ),
    "egoexo-next-captions": Probe(
        ("egoexo_next", "egoexo_next_mini"),
        {CAPTIONS: "captions", ANSWERS: "captioned"},
    ),
}


@dataclass(frozen=True)
class Chosen:
    """A model and its arguments as the user gave them, secrets among them."""

    word: str
    arguments: str = field(default="", repr=False)

    @property
    def label(self) -> str:
        return Model.of(self.word, self.arguments).label


@dataclass(frozen=True)
class Plan:
    """data: what is asked. steps: role -> name of the task, in order. models: by role. out: folder of logs and of the
    journal. until: the last role that is run. arguments: further ones of lmms-eval, for every step."""

    data: str
    steps: Mapping[str, str]
    models: Mapping[str, Chosen]
    out: Path
    until: str = ANSWERS
    arguments: Sequence[str] = ()


def plan(
    probe: str,
    data: str | None,
    models: Mapping[str, Chosen | None],
    out: Path,
    *,
    raw: bool = False,
    until: str | None = None,
    arguments: Sequence[str] = (),
) -> Plan:
    """The plan of a probe. models: by role; a role without one has the model that writes captions.

    Raises SettingError.
    """
    known = PROBES[probe]
    name = data or known.data[0]
    if name not in known.data:
        raise SettingError(f"{probe} asks {', '.join(known.data)}, not {name}")
    steps = (known.raw or known.steps) if raw else known.steps
    captions = models[CAPTIONS]
    if captions is None:
        raise SettingError("--caption-model names the model that writes captions: give one of lmms-eval")
    if until is not None and until not in steps:
        raise SettingError(f"--until takes {', '.join(steps)}")
    if "," in str(out.expanduser().absolute()):
        raise SettingError(f"{out.expanduser().absolute()}: a comma ends an argument of a model. Name another --out")
    return Plan(
        name,
        {role: f"{name}_{suffix}" for role, suffix in steps.items()},
        {role: models.get(role) or captions for role in steps},
        out.expanduser().absolute(),
        until or ANSWERS,
        arguments,
    )


def run(plan: Plan) -> int:
    """Run all steps, those whose texts are all there left out; the exit code of the first that fails, else 0.

    Taken up again, it goes on where it stood: finished stages have their texts, and replies of an unfinished one are
    kept in a journal.

    Raises SpotdiffError, before any model is called, where the questions at its end could not be asked.
    """
    if plan.until == ANSWERS:
        _see_that_all_can_be_asked(plan)
    for role in (CAPTIONS, SUMMARIES):
        # Later steps, and the count of what is missing, read the texts of these models.
        if role in plan.models:
            os.environ[f"SPOTDIFF_PROBE_{role.upper()}"] = plan.models[role].label
    partial = load_settings().probe_partial
    for role, name in plan.steps.items():
        if role != ANSWERS and not _missing(name, plan.models[role].label):
            print(f"spotdiff: {name}: all texts by {plan.models[role].label} are there", file=sys.stderr)
        elif code := _called(plan, role, name):
            print(f"spotdiff: {name} failed (exit code {code}). The same command goes on from there", file=sys.stderr)
            return code
        elif role != ANSWERS and not partial and (left := _missing(name, plan.models[role].label)):
            raise SpotdiffError(f"{name}: {left} texts are still missing. The same command asks for them again")
        if role == plan.until:
            break
    return 0


def _see_that_all_can_be_asked(plan: Plan) -> None:
    """With the images or videos in the texts' place: their questions need the same settings."""
    evaluation = Evaluation.of(task(plan.data), plan.models[ANSWERS].word)
    for row in evaluation.rows():
        evaluation.question(row)


def _missing(name: str, label: str) -> int:
    return sum(stage.missing(label) for stage in stages_of(name))


def _called(plan: Plan, role: str, task: str) -> int:
    """Call lmms-eval for one step, its replies kept in a journal."""
    model = plan.models[role]
    given = f",{model.arguments}" if model.arguments else ""
    command = [
        *(sys.executable, "-m", "lmms_eval_tasks"),
        *("--model", "spotdiff_journal"),
        *("--model_args", f"model={model.word},journal={plan.out / 'journal'}{given}"),
        *("--tasks", task),
        *("--output_path", str(plan.out / task)),
        "--log_samples",
        *plan.arguments,
    ]
    print(f"spotdiff: {without_secrets(' '.join(command))}", file=sys.stderr, flush=True)
    code = subprocess.run(command).returncode
    # As a shell tells of a process that was ended by a signal.
    return code if code >= 0 else 128 - code
