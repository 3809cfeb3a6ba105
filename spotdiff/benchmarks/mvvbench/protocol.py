"""MVVBench: a row and a setting become a question.

Our source describes the settings and prints no prompt: all wording here is ours. Frames are taken at the same instants
in every view, as the views are synchronised and may differ in frame rate and length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.benchmarks.mvvbench.schema import CATEGORIES, MOTION, SOURCES, TEXT_COLUMNS
from spotdiff.benchmarks.rows import Fault, empty_texts, paths_outside, row_problems
from spotdiff.errors import DataError, Problem, SettingError
from spotdiff.media.sampling import Sampling, even_instants
from spotdiff.question import LETTERS, Option, Panel, Part, Question, Text, Video, shuffled
from spotdiff.settings import Settings

if TYPE_CHECKING:
    from spotdiff.tasks import Setting

DIRECT = "direct"
CHAINS = ("cot", "m3cot", "mv_cot")
VARIANTS = (DIRECT, "text_only", "all_views", "window", *CHAINS, "panel")

FRAMES = 8
PANEL_FRAMES = 4
SIZE = (448, 448)
PANEL_SIZE = (224, 224)
"""Width and height, of a frame and of a cell of the panel."""

MOST_OPTIONS = 4

VIEWS = ("one view", "two views", "more views")
"""What tables call questions by the number of their views."""

TOLERANCE = 1.0
"""Seconds by which a window may end after the clip: annotations come in whole seconds."""

SLACK = 0.1
"""Seconds by which it may begin after the last frame, which is shown a little longer than its time says."""

_DIRECT = "Answer with the letter of the right option only."

_LAST_LINE = (
    "End with a line that holds the answer alone, in the form `Answer: X`, where X is the letter of the right option."
)

_INSTRUCTIONS: Mapping[str, str] = {
    "cot": f"Think step by step before you answer. {_LAST_LINE}",
    "m3cot": (
        "Think step by step and build scene graphs (objects with their attributes, and the relations between them) "
        "before you answer.\n"
        "Scene graph 1: begin with the first view, then complete it with what the other views add.\n"
        "Scene graph 2: begin with the last view, then complete it with what the other views add.\n"
        "Scene graph 3: take all views together from the start.\n"
        "Then merge the three scene graphs into one, settle where they disagree, and answer from it. "
        f"{_LAST_LINE}"
    ),
    "mv_cot": (
        "Think in three stages before you answer.\n"
        "Stage 1, each view alone: go through the views by their labels, one after the other. Say for each what "
        "happens in it and in which state its objects and people are, without using any other view.\n"
        "Stage 2, cross-reference: all views show the same scene at the same time, seen from different positions. "
        "Find which people and objects of one view are those of another one, and how the views lie to each other. "
        "What is on the left in one view may be on the right in another.\n"
        "Stage 3, options: go through the options one by one, weigh each against the evidence of all views and of the "
        f"whole time, and decide. {_LAST_LINE}"
    ),
}
"""The chains. `m3cot` follows Lee et al. (E3VQA, 2025): three scene graphs from complementary starting points."""


def question(row: Mapping[str, Any], setting: Setting, settings: Settings, model: str | None) -> Question:
    """The question of a row that `problems` found no fault in. No video is opened before its frames are asked for.

    Raises DataError when the setting needs a window and the row has none, SettingError for files in place of frames:
    a model that reads files itself would not take the same instants of each view.
    """
    if settings.video_form == "path":
        raise SettingError(
            "video_form=path leaves the choice of frames to the model, which then are not those of the same instants "
            "in every view. Take images or frames"
        )
    key = f"{setting.name}/{row['id']}"
    variant = str(setting.options["variant"])
    options = tuple(Option(letter, text) for letter, text in zip(LETTERS, row["options"], strict=False))
    gold: tuple[str, ...] = (row["answer"],)
    if settings.shuffle_seed is not None:
        options, gold = shuffled(options, gold, settings.shuffle_seed, key)
    shown = _shown(row, variant, settings, key)
    return Question(
        id=key,
        setting=setting.name,
        parts=(*shown, Text(("\n" if shown else "") + _prompt(row["question"], options, variant))),
        options=options,
        gold=gold,
        cluster=row["sample"],
        chain_of_thought=variant in CHAINS,
        groups={
            "setting": setting.name,
            "category": row["category"],
            "motion": row["motion"],
            "views": VIEWS[min(len(row["views"]), len(VIEWS)) - 1],
            "source": row["source"],
        },
    )


def _prompt(asked: str, options: Sequence[Option], variant: str) -> str:
    listed = "\n".join(f"{option.letter}. {option.text}" for option in options)
    return f"Question: {asked}\nOptions:\n{listed}\n{_INSTRUCTIONS.get(variant, _DIRECT)}"


def _shown(row: Mapping[str, Any], variant: str, settings: Settings, key: str) -> tuple[Part, ...]:
    """All that comes before the question: each view after its label, or the panel after what explains it."""
    if variant == "text_only":
        return ()
    videos = _videos(row, variant, settings, key)
    if variant == "panel":
        explained = (
            "The image is a grid of frames: each row is one view "
            f"({', '.join(f'View {number}' for number in range(len(videos)))}, from top to bottom), each column one "
            "moment, in order of time from left to right.\n"
        )
        return (Text(explained), Panel(tuple(videos)))
    parts: list[Part] = []
    for number, video in enumerate(videos):
        parts += [Text(f"{chr(10) * bool(parts)}View {number}:"), video]
    return tuple(parts)


def _videos(row: Mapping[str, Any], variant: str, settings: Settings, key: str) -> list[Video]:
    """The views in the order of their labels: those of the question, and with `all_views` the others after them."""
    listed = list(row["view_numbers"])
    others = [number for number in listed if number not in row["views"]] if variant == "all_views" else []
    places = [listed.index(number) for number in (*row["views"], *others)]
    shortest = min(row["view_seconds"][place] for place in places)
    start, end = _span(row, variant, shortest, key)
    interval = max(row["view_seconds"][place] / max(1, row["view_frames"][place] - 1) for place in places)
    instants = _on_frames(_instants(start, end, variant, settings), interval, shortest)
    sampling = Sampling(instants=instants, size=settings.frame_size or (PANEL_SIZE if variant == "panel" else SIZE))
    return [Video(Path(row["view_videos"][place]), sampling, stated=row["view_frames"][place]) for place in places]


def _span(row: Mapping[str, Any], variant: str, shortest: float, key: str) -> tuple[float, float]:
    """The part of the clip that is shown, in seconds; every view has frames there."""
    if variant != "window":
        return 0.0, shortest
    if row["end"] < 0:
        raise DataError(f"question {key}: the data name no time window for it, which this task shows alone")
    return min(row["start"], shortest), min(row["end"], shortest)


def _instants(start: float, end: float, variant: str, settings: Settings) -> tuple[float, ...]:
    if end <= start:
        return (start,)
    if settings.fps is not None and variant != "panel":
        return tuple(start + number / settings.fps for number in range(floor((end - start) * settings.fps + 1e-6) + 1))
    count = settings.frames or (PANEL_FRAMES if variant == "panel" else FRAMES)
    return even_instants(start, end, count)


def _on_frames(instants: Sequence[float], interval: float, shortest: float) -> tuple[float, ...]:
    """Each instant moved to the nearest frame of the slowest view (of two the earlier), each frame at most once.

    The frames of the other views are then within half of their own interval of that frame. interval: between two
    frames of the slowest view, in seconds. shortest: time of the last frame that every view has.
    """
    if interval <= 0:
        return tuple(dict.fromkeys(instants))
    last = floor(shortest / interval + 1e-6)
    return tuple(dict.fromkeys(min(ceil(instant / interval - 0.5 - 1e-6), last) * interval for instant in instants))


def problems(row: Mapping[str, Any], file: str) -> list[Problem]:
    """All faults of one row, videos aside."""
    place = f"{row.get('id') or '?'} (sample {row.get('sample') or '?'})"
    return row_problems(row, file, place, TEXT_COLUMNS, _faults)


def _faults(row: Mapping[str, Any]) -> Iterator[Fault]:
    yield from empty_texts(row, "id", "sample", "question")
    yield from _known("category", row["category"], CATEGORIES)
    yield from _known("motion", row["motion"], MOTION)
    yield from _known("source", row["source"], SOURCES)
    yield from _option_problems(row)
    yield from _view_problems(row)
    yield from _window_problems(row)


def _known(name: str, value: str, known: Sequence[str] | Mapping[str, int]) -> list[Fault]:
    return [] if value in known else [(name, f"{value!r} is unknown", f"Use one of: {', '.join(known)}")]


def _option_problems(row: Mapping[str, Any]) -> list[Fault]:
    options = row["options"]
    if not 2 <= len(options) <= MOST_OPTIONS:
        return [("options", f"{len(options)} options", "A question needs 2 to 4")]
    if any(not isinstance(option, str) or not option.strip() for option in options):
        return [("options", "an option is empty", "Give every option a text")]
    if len({option.strip().casefold() for option in options}) < len(options):
        return [("options", "two options say the same", "Give every option a text of its own")]
    letters = LETTERS[: len(options)]
    if row["answer"] not in list(letters):
        return [("answer", f"{row['answer']!r} is none of the options", f"Use {', '.join(letters)}")]
    return []


def _view_problems(row: Mapping[str, Any]) -> list[Fault]:
    views, listed = row["views"], row["view_numbers"]
    if not views or len(set(views)) < len(views):
        return [("views", f"{views} is empty or names a view twice", "Name one view or more, each once")]
    lacking = [number for number in views if number not in listed]
    if lacking:
        return [("views", f"view {lacking[0]} is none of the sample's: {listed}", "Name views of the sample")]
    columns = ("view_videos", "view_frames", "view_seconds")
    uneven = [name for name in columns if len(row[name]) != len(listed)]
    if uneven:
        return [(uneven[0], f"{len(row[uneven[0]])} entries for {len(listed)} views", "Give one for each view")]
    return list(paths_outside("view_videos", row["view_videos"]))


def _window_problems(row: Mapping[str, Any]) -> list[Fault]:
    start, end = row["start"], row["end"]
    if start == end == -1:
        return []
    if not 0 <= start <= end:
        return [("start", f"the window from {start} to {end} s is reversed or before the clip", "Correct it")]
    lengths = dict(zip(row["view_numbers"], row["view_seconds"], strict=False))
    known = [lengths[number] for number in row["views"] if lengths.get(number)]
    if known and (start > min(known) + SLACK or end > min(known) + TOLERANCE):
        return [("end", f"the window from {start} to {end} s leaves the clip of {min(known):.2f} s", "Correct it")]
    return []
