"""M3-Verse: a row and a setting become a question (Wei et al., Figs. 17 and 18, Appendix B.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.benchmarks.m3verse.schema import CAPABILITIES, INTER, INTRA, VIDEO_COLUMNS
from spotdiff.benchmarks.rows import Fault, empty_texts, paths_outside, row_problems
from spotdiff.errors import Problem
from spotdiff.media.sampling import Sampling
from spotdiff.names import normalised
from spotdiff.question import LETTERS, Option, Part, Question, Text, Video
from spotdiff.settings import Settings
from spotdiff.tasks import FROM_TEXTS, TEXTS_COLUMN, filled, inputs_of

if TYPE_CHECKING:
    from spotdiff.tasks import Setting

INSTRUCTION = "Your task is to answer questions based on the provided videos and options."
FIRST = "This is the first video: "
SECOND = "This is the second video: "
RETURN = (
    "Return ONLY the letter(s) corresponding to the correct option(s) "
    "(e.g., A, B, C, or A,C for multiple correct answers)"
)
ONE = "There is only one correct option for this question."
SEVERAL = "There are more than one correct option for this question."

STREAM = "Both videos are given in one stream."
STREAM_FIRST = "The first video (before): "
STREAM_SECOND = "The second video (after): "
"""Ours: the paper says that text markers tell before from after in a joined stream, and prints none."""

VARIANTS = ("direct", "blind", "single_stream", "before_only", "after_only", "swapped")

ORACLE, ORACLE_RAW = TEXT_VARIANTS = ("oracle", "oracle_raw")
"""Texts in place of the videos: summaries, or the captions that these are made from."""

ANSWER_PROMPT = """Based on the following context information, answer the question:
Context: {context}
Question: {question}
Options: {options_text}
Return ONLY the option letter(s) (e.g., "A", "B", "C"). For multiple correct options, concatenate the letters (e.g., "ABC"). AVOID ANY OTHER OUTPUT CONTENT."""  # noqa: E501
"""Fig. 21."""

CONTEXT_FIRST = "First video (before):"
CONTEXT_SECOND = "Second video (after):"
"""Ours: the paper does not say how the texts of both videos enter the context."""

FRAMES = 200
FEW_FRAMES = 60
FEW_FRAMES_MODELS = ("internvl3_5", "internvl_hf", "internvideo2_5", "videollama3")
"""Families that the paper gives 60 frames a video. `internvl_hf` is how lmms-eval calls them."""

SIZE = (448, 448)
SIZE_OF_VIDEOLLAMA3 = (448, 336)
"""Width and height. The paper writes 336 x 448, read here as height by width: its videos are wider than high."""


def question(row: Mapping[str, Any], setting: Setting, settings: Settings, model: str | None) -> Question:
    """The question of a row that `problems` found no fault in. No video is opened before its frames are asked for.

    model: name of the model, which decides the number and size of frames unless they are set.
    """
    options = tuple(Option(letter, text) for letter, text in zip(LETTERS, row["options"], strict=False))
    gold = tuple(option.letter for option in options if option.letter in row["answer"])
    variant = setting.options["variant"]
    from_texts = bool(setting.options.get(FROM_TEXTS))
    several = len(gold) > 1
    listed = "\n".join(f"{option.letter}. {option.text}" for option in options)
    asked = f"Question: {row['question']}\nOptions:\n{listed}\n{RETURN}\n{SEVERAL if several else ONE}"
    parts: tuple[Part, ...]
    if from_texts:
        parts = (Text(_answer_prompt(row, listed, raw=variant == ORACLE_RAW)),)
    else:
        taken = sampling(settings, model)
        before, after = (Video(Path(row[column]), taken, variant == "single_stream") for column in VIDEO_COLUMNS)
        parts = (
            *_shown(variant, before, after),
            Text(f"\n{asked}" if variant != "blind" else f"{INSTRUCTION}\n{asked}"),
        )
    return Question(
        id=f"{setting.name}/{row['id']}",
        setting=setting.name,
        parts=parts,
        options=options,
        gold=gold,
        # Scenes are numbered anew in each part.
        cluster=f"{setting.name}/{row['scene']}",
        # The prompt of the Text-Oracle does not say how many are right.
        several=several or from_texts,
        groups={
            "setting": setting.name,
            "state": row["state"],
            "capability": tuple(row["capabilities"]),
            "kind": "hallucination" if row["hallucination"] else "factual",
            "choice": "several" if several else "one",
            "subcategory": f"{row['state']} {row['subcategory']}",
            **({"context": variant, **inputs_of(row)} if from_texts else {}),
        },
    )


def _answer_prompt(row: Mapping[str, Any], listed: str, *, raw: bool) -> str:
    """Fig. 21 with the texts of both videos. Without them where the row has none: it is not asked then."""
    first, second = row.get(TEXTS_COLUMN) or ("", "")
    # Captions have lines of their own.
    between = "\n" if raw else " "
    context = f"{CONTEXT_FIRST}{between}{first}\n{CONTEXT_SECOND}{between}{second}"
    return filled(ANSWER_PROMPT, context=context, question=row["question"], options_text=f"\n{listed}")


def _shown(variant: str, before: Video, after: Video) -> tuple[Part, ...]:
    """All that comes before the question."""
    if variant == "blind":
        return ()
    if variant == "before_only":
        return (Text(f"{INSTRUCTION}\n{FIRST}"), before)
    if variant == "after_only":
        return (Text(f"{INSTRUCTION}\n{SECOND}"), after)
    if variant == "single_stream":
        return (Text(f"{INSTRUCTION}\n{STREAM}\n{STREAM_FIRST}"), before, Text(f"\n{STREAM_SECOND}"), after)
    first, second = (after, before) if variant == "swapped" else (before, after)
    return (Text(f"{INSTRUCTION}\n{FIRST}"), first, Text(f"\n{SECOND}"), second)


def frame_size(settings: Settings, model: str | None) -> tuple[int, int]:
    """Width and height that frames are resized to: as set, else as the paper has it for the model's family."""
    of_videollama3 = normalised(model or "").startswith("videollama3")
    return settings.frame_size or (SIZE_OF_VIDEOLLAMA3 if of_videollama3 else SIZE)


def sampling(settings: Settings, model: str | None) -> Sampling:
    """Which frames are taken of each video: as set, else as the paper takes them for the model's family."""
    name, size = normalised(model or ""), frame_size(settings, model)
    if settings.fps is not None:
        return Sampling(fps=settings.fps, size=size)
    return Sampling(settings.frames or (FEW_FRAMES if name.startswith(FEW_FRAMES_MODELS) else FRAMES), size=size)


def problems(row: Mapping[str, Any], file: str) -> list[Problem]:
    """All faults of one row, videos aside."""
    place = f"{row.get('id') or '?'} (scene {row.get('scene') or '?'})"
    return row_problems(row, file, place, _COLUMNS, _faults)


def _faults(row: Mapping[str, Any]) -> Iterator[Fault]:
    yield from empty_texts(row, "id", "scene", "question")
    yield from _option_problems(row["options"])
    yield from _answer_problems(row["answer"], len(row["options"]))
    yield from _kind_problems(row)
    for column in VIDEO_COLUMNS:
        yield from paths_outside(column, [row[column]])


_COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("id", "scene", "state", "category", "subcategory", "question", *VIDEO_COLUMNS), str),
    **dict.fromkeys(("options", "answer", "capabilities"), list),
    "hallucination": bool,
}


def _option_problems(options: Sequence[str]) -> list[Fault]:
    if not 2 <= len(options) <= len(LETTERS):
        return [("options", f"{len(options)} options", "A question needs 2 to 26")]
    if any(not isinstance(option, str) or not option.strip() for option in options):
        return [("options", "an option is empty", "Give every option a text")]
    return []


def _answer_problems(answer: Sequence[str], options: int) -> list[Fault]:
    if not answer:
        return [("answer", "there is no right option", "Give one letter or more")]
    beyond = [letter for letter in answer if letter not in list(LETTERS[:options])]
    if beyond:
        return [("answer", f"{', '.join(map(str, beyond))} is none of the {options} options", "Use letters from A on")]
    return [("answer", "a letter appears twice", "Give each letter once")] if len(set(answer)) < len(answer) else []


def _kind_problems(row: Mapping[str, Any]) -> list[Fault]:
    found = []
    if row["state"] not in (INTRA, INTER):
        found.append(("state", f"{row['state']!r} is unknown", f"Use {INTRA} or {INTER}"))
    if not row["capabilities"]:
        found.append(("capabilities", "there is none", f"Use one or more of: {', '.join(CAPABILITIES)}"))
    unknown = [name for name in row["capabilities"] if name not in CAPABILITIES]
    if unknown:
        message = f"{', '.join(map(repr, unknown))} is unknown"
        found.append(("capabilities", message, f"Use one or more of: {', '.join(CAPABILITIES)}"))
    return found
