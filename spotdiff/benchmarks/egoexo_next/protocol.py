"""EgoExo-Next: a row and a setting become a question (Li et al., Appendix C.1, C.2 and Fig. 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spotdiff.benchmarks.egoexo_next.controls import shuffled_order
from spotdiff.benchmarks.egoexo_next.schema import (
    DIRECTIONS,
    EGO,
    EGO2EXO,
    EXO,
    KINDS,
    LATER,
    MATCH,
    OPTION_COLUMNS,
    ORACLE_COLUMNS,
    SCENES,
    SUBTASKS,
    TARGET,
    TEXT_COLUMNS,
    TO_EXO,
    observations,
)
from spotdiff.benchmarks.rows import Fault, empty_texts, row_problems
from spotdiff.errors import DataError, Problem
from spotdiff.media.images import open_image
from spotdiff.question import LETTERS, Image, Option, Part, Question, Text, shuffled
from spotdiff.settings import Settings
from spotdiff.tasks import DONOR_ROW, FROM_TEXTS, TEXTS_COLUMN, inputs_of

if TYPE_CHECKING:
    from spotdiff.tasks import Setting

_VIEWS = {"ego": ("Ego-centric", "egocentric"), "exo": ("Exo-centric", "exocentric")}
"""View -> as labels and as sentences name it."""

# The dashes of both templates are the paper's (RUF001 takes an en dash for a mistyped hyphen).
_NEXT_STATE = (
    "Question: Given 4 temporally ordered observation frames from {source}, which {candidate} shows the subsequent "
    "visual state following the observation sequence?\n"
    "The four images above are temporally ordered observations from an {view} camera in an {scene} environment. "
    "Options A–D show candidate visual states sampled from the same action trajectory {described}\n"  # noqa: RUF001
    "Observe how the action progresses across the observation frames—track {cues}—then select the candidate that "
    "depicts the subsequent state following the observation sequence.\n"
    "Only output one letter: A, B, C, or D."
)
_NEXT_STATE_WORDS = {
    EGO: {
        "source": "an egocentric action video",
        "candidate": "image",
        "view": "egocentric",
        "described": "from the same egocentric perspective.",
    },
    EXO: {
        "source": "an exocentric action video",
        "candidate": "image",
        "view": "exocentric",
        "described": "from the same exocentric perspective.",
    },
    EGO2EXO: {
        "source": "an egocentric video",
        "candidate": "exocentric-view image",
        "view": "egocentric",
        "described": "from an exocentric perspective. "
        "The exocentric view captures the same action from an external camera angle.",
    },
}
_CUES = {
    "indoor": "hands, manipulated objects, contact, and object configuration",
    "outdoor": "body pose, limb motion, position, and spatial layout",
}
"""Ours: the paper names visual cues for both scenes and prints neither."""

_MATCHING = (
    "Question: Which {candidate} image corresponds to the {query} image at the same time?\n"
    "The image above is a keyframe from the {query} perspective in an {scene} environment. "
    "Options A–D each show a candidate image from the {candidate} perspective.\n"  # noqa: RUF001
    "Observe the query frame carefully and compare the visible action, human pose, object configuration, spatial "
    "layout, and other cross-view cues. Select the candidate image that depicts the same moment from the corresponding "
    "{candidate} perspective.\n"
    "Only output one letter: A, B, C, or D."
)

_ORACLE_LABELS = {"current_exo": "Exo-centric current state:", "next_ego": "Ego-centric next state:"}
"""Ours: the paper gives these images and prints no label for them."""


def question(row: Mapping[str, Any], setting: Setting, settings: Settings, model: str | None) -> Question:
    """The question of a row that `problems` found no fault in. Images may be absent as long as they are not opened.

    The prompt is the same under every control: only observations are left out, put in another order or exchanged for
    those of another row (`row[DONOR_ROW]()`), each with its label.
    Raises DataError when the row belongs to another subtask than the setting.
    """
    key = f"{setting.name}/{row['id']}"
    subtask, seen, asked = row["subtask"], *_views(row)
    if (subtask, row["direction"]) != (setting.options["subtask"], setting.options.get("direction", "")):
        raise DataError(f"question {key}: its row belongs to subtask {subtask!r}. Prepare the data again")
    observed = [_image(row, column, key, borrowed=True) for column in observations(subtask)]
    images = tuple(_image(row, column, key) for column in OPTION_COLUMNS)
    kinds = dict(zip(map(id, images), row["option_kinds"], strict=False))
    options = tuple(Option(letter, None, image=image) for letter, image in zip(LETTERS, images, strict=False))
    gold: tuple[str, ...] = (row["answer"],)
    if settings.shuffle_seed is not None:
        options, gold = shuffled(options, gold, settings.shuffle_seed, key)
    shown = _shown(observed, setting.options.get("control"), settings.control_seed, key)
    oracles = [(_ORACLE_LABELS[column], _image(row, column, key)) for column in setting.options.get("oracles", ())]
    labelled = [*((f"{_VIEWS[seen][0]} keyframe {number}:", image) for number, image in shown), *oracles]
    offered = [(f"{_VIEWS[asked][0]} option {option.letter}:", option.image) for option in options if option.image]
    captioned = bool(setting.options.get(FROM_TEXTS))
    captions = dict(zip(map(id, images), row.get(TEXTS_COLUMN) or (), strict=False)) if captioned else {}
    return Question(
        id=key,
        setting=setting.name,
        parts=(*_parts([*labelled, *offered], captions), Text(f"\n{_prompt(row)}")),
        options=options,
        gold=gold,
        cluster=row["clip"],
        groups={
            "setting": setting.name,
            "subtask": subtask,
            "direction": row["direction"] or (),
            "scene": row["scene"],
            "source": row["source"],
            "future": str(row["future_candidates"]) if row["future_candidates"] else (),
            "kinds": tuple(kinds[id(option.image)] for option in options) if kinds else (),
            "group": row["group"] or (),
            **(inputs_of(row) if captioned else {}),
        },
        reference=shown[-1][1] if shown and not oracles else None,
    )


def _views(row: Mapping[str, Any]) -> tuple[str, str]:
    """The view that is observed and the view of the options, `ego` or `exo`."""
    if row["subtask"] == MATCH:
        return ("ego", "exo") if row["direction"] == TO_EXO else ("exo", "ego")
    return ("exo" if row["subtask"] == EXO else "ego"), ("ego" if row["subtask"] == EGO else "exo")


def _shown(observed: Sequence[Image], control: str | None, seed: int, key: str) -> list[tuple[int, Image]]:
    """The observations that the model gets, each with the number in its label."""
    numbered = list(enumerate(observed, start=1))
    if control == "candidate_only":
        return []
    if control == "last_frame":
        return numbered[-1:]
    if control == "shuffled":
        order = shuffled_order(len(observed), seed, key)
        return [(number, observed[place]) for (number, _), place in zip(numbered, order, strict=True)]
    return numbered


def _image(row: Mapping[str, Any], column: str, key: str, *, borrowed: bool = False) -> Image:
    lend = row.get(DONOR_ROW) if borrowed else None
    return Image(lambda: open_image((lend() if lend else row).get(column), f"question {key}, {column}"))


def _parts(labelled: Sequence[tuple[str, Image]], captions: Mapping[int, str]) -> list[Part]:
    """Each image after its label, and before its caption where it has one; both begin a new line.

    captions: by the `id` of the image's object.
    """
    parts: list[Part] = []
    for label, image in labelled:
        parts += [Text(f"\n{label}" if parts else label), image]
        if caption := captions.get(id(image)):
            parts.append(Text(f"\nCaption: {caption}"))
    return parts


def _prompt(row: Mapping[str, Any]) -> str:
    subtask, scene = row["subtask"], row["scene"]
    if subtask == MATCH:
        query, candidate = (_VIEWS[view][1] for view in _views(row))
        return _MATCHING.format(query=query, candidate=candidate, scene=scene)
    return _NEXT_STATE.format(**_NEXT_STATE_WORDS[subtask], scene=scene, cues=_CUES[scene])


def needed_images(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that must hold an image in this row."""
    oracles = ORACLE_COLUMNS if row.get("group") and row.get("subtask") == EGO2EXO else ()
    return (*observations(str(row.get("subtask"))), *oracles, *OPTION_COLUMNS)


def pixel_warnings(row: Mapping[str, Any], file: str) -> list[str]:
    """Options whose files are equal byte for byte: a model cannot tell them apart."""
    stored = {column: (row.get(column) or {}).get("bytes") for column in OPTION_COLUMNS}
    pairs = [
        (first, second)
        for number, first in enumerate(OPTION_COLUMNS)
        for second in OPTION_COLUMNS[number + 1 :]
        if stored[first] and stored[first] == stored[second]
    ]
    return [f"{file}, question {row['id']}: {first} and {second} hold the same image" for first, second in pairs]


def problems(row: Mapping[str, Any], file: str) -> list[Problem]:
    """All faults of one row, images aside."""
    place = str(row.get("id") or "?")
    return row_problems(row, file, place, TEXT_COLUMNS, _faults)


def _faults(row: Mapping[str, Any]) -> Iterator[Fault]:
    yield from empty_texts(row, "id", "clip", "source")
    yield from _known("subtask", row["subtask"], SUBTASKS)
    yield from _known("scene", row["scene"], SCENES)
    yield from _known("direction", row["direction"], DIRECTIONS if row["subtask"] == MATCH else ("",))
    yield from _known("answer", row["answer"], tuple(LETTERS[: len(OPTION_COLUMNS)]))
    yield from _kind_problems(row)


def _known(name: str, value: str, known: Sequence[str]) -> list[Fault]:
    remedy = f"Use {' or '.join(known)}" if any(known) else "Leave it empty outside subtask 2"
    return [] if value in known else [(name, f"{value!r} is unknown", remedy)]


def _kind_problems(row: Mapping[str, Any]) -> list[Fault]:
    kinds, futures = row["option_kinds"], row["future_candidates"]
    if not 0 <= futures <= len(OPTION_COLUMNS):
        return [("future_candidates", f"{futures} of four options", "Give 1 to 4, or 0 where it is not known")]
    if not kinds:
        return []
    if len(kinds) != len(OPTION_COLUMNS) or any(kind not in KINDS for kind in kinds):
        return [("option_kinds", f"{kinds} is no list of four kinds", f"Use {', '.join(KINDS)}, or leave it empty")]
    targets = [letter for letter, kind in zip(LETTERS, kinds, strict=False) if kind == TARGET]
    if targets != [row["answer"]]:
        message = f"the target is {', '.join(targets) or 'missing'}, the answer {row['answer']}"
        return [("option_kinds", message, "Mark the right option, and it alone, as target")]
    later = sum(kind in (TARGET, LATER) for kind in kinds)
    if row["subtask"] != MATCH and futures not in (0, later):
        return [("future_candidates", f"{futures}, but option_kinds names {later}", "Correct one of the two")]
    return []
