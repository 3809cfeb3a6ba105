"""Finding the texts that a task rests on, or saying which are missing, and how they come to be there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spotdiff.errors import DataError, SettingError
from spotdiff.probes.stages import Stage, Wanted
from spotdiff.probes.store import FAILED, StoredText, TextKey, Texts, counted, read_texts
from spotdiff.settings import Settings


@dataclass(frozen=True)
class Gathered:
    """label: of the model whose texts these are. texts: those that are there. missing: those that are not."""

    label: str
    texts: Mapping[TextKey, StoredText]
    missing: tuple[Wanted, ...]


def gather(
    stage: Stage,
    wanted: Callable[[str], Sequence[Wanted]],
    settings: Settings,
    setting: str,
) -> Gathered:
    """The texts of a stage that are wanted.

    wanted(label) gives them for the model of this label. setting: name of the setting that says whose texts are read,
    needed where several models have made some of these.
    Raises DataError where one is missing and `probe_partial` is off, or all are; SettingError where it is open whose
    texts are meant.
    """
    store = read_texts(settings.probes, stage.kind)
    label = _label(store, wanted, getattr(settings, setting), setting, stage)
    asked = wanted(label)
    own = store.by_model.get(label, {})
    found = {one.key: own[one.key] for one in asked if one.key in own and own[one.key].outcome != FAILED}
    missing = tuple(one for one in asked if one.key not in found)
    if missing and (not found or not settings.probe_partial):
        raise DataError(_what_is_missing(stage, store, label, asked, missing, settings.probes))
    _say(stage, store, label, found, missing)
    return Gathered(label, found, missing)


def _say(
    stage: Stage, store: Texts, label: str, found: Mapping[TextKey, StoredText], missing: Collection[Wanted]
) -> None:
    counts = counted(found.values()) | {
        "edited": sum(text.edited for text in found.values()),
        "missing": len({one.key for one in missing}),
    }
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    print(f"spotdiff: texts of {stage.name} by {label}: {told}", file=sys.stderr)
    for path, lines in store.damaged.items():
        print(f"spotdiff: {path}: {lines} line(s) cannot be read and are left out", file=sys.stderr)


def _label(
    store: Texts, wanted: Callable[[str], Sequence[Wanted]], chosen: str | None, setting: str, stage: Stage
) -> str:
    if chosen is not None:
        # A name alone will do where it is the name of one.
        fitting = [label for label in store.by_model if label == chosen or label.rpartition("-")[0] == chosen]
        if chosen in fitting or not fitting:
            return chosen
        if len(fitting) == 1:
            return fitting[0]
        raise SettingError(
            f"SPOTDIFF_{setting.upper()}={chosen} may be {' or '.join(sorted(fitting))}: name one of them"
        )
    counts = {label: _there(own, wanted(label)) for label, own in store.by_model.items()}
    counts = {label: count for label, count in counts.items() if count}
    if len(counts) > 1:
        total = {label: len({one.key for one in wanted(label)}) for label in counts}
        known = ", ".join(f"{label} ({counts[label]} of {total[label]})" for label in sorted(counts))
        raise SettingError(
            f"Several models have made {stage.unit.removesuffix('s')} texts of {stage.name}: {known}. Set "
            f"SPOTDIFF_{setting.upper()} to the one to read"
        )
    return next(iter(counts), "")


def _there(own: Mapping[TextKey, StoredText], wanted: Sequence[Wanted]) -> int:
    return len({one.key for one in wanted if one.key in own and own[one.key].outcome != FAILED})


def _what_is_missing(
    stage: Stage, store: Texts, label: str, asked: Sequence[Wanted], missing: Collection[Wanted], folder: Path
) -> str:
    of = f" by {label}" if label else ""
    total, left = len({one.key for one in asked}), len({one.key for one in missing})
    said = f"{left} of {total} texts{of} that {stage.name} makes, one for each of the {stage.unit}, are not in {folder}"
    remarks = [*_of_other_prompts(store, missing), *_of_other_media(store, missing)]
    if failed := _failed(store, label, missing):
        remarks.append(f"{failed} were asked for and failed")
    hint = f" ({'; '.join(remarks)})" if remarks else ""
    return (
        f"{said}{hint}. Make them: python -m lmms_eval_tasks --model MODEL --model_args ARGUMENTS --tasks {stage.name}"
        ". To go on without some, set SPOTDIFF_PROBE_PARTIAL=1: the result then says how many questions lack any"
    )


def _of_other_prompts(store: Texts, missing: Collection[Wanted]) -> list[str]:
    places = {(one.key.media, one.key.part, one.key.source) for one in missing}
    prompts = {one.key.prompt for one in missing}
    others = [
        text
        for text in store.all()
        if text.key.prompt not in prompts and (text.key.media, text.key.part, text.key.source) in places
    ]
    return [f"{len(others)} were made by another wording of the prompt and are not used"] if others else []


def _of_other_media(store: Texts, missing: Collection[Wanted]) -> list[str]:
    """Texts of files that had the same name and another content."""
    places = {(one.about, one.key.part): one.key.media for one in missing}
    others = [
        text
        for text in store.all()
        if (media := places.get((text.about, text.key.part))) is not None and media != text.key.media
    ]
    if not others:
        return []
    revisions = ", ".join(sorted({text.data for text in others}))
    return [f"{len(others)} are of another revision of the data ({revisions}), whose media differ, and are not used"]


def _failed(store: Texts, label: str, missing: Collection[Wanted]) -> int:
    own = store.by_model.get(label, {})
    return sum(one.key in own for one in missing)
