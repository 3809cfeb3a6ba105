"""Text-Oracle of M3-Verse: videos put into words, and questions answered from these (Wei et al., 5.1, Figs. 19 to 21).

Clips of a video are captioned, the captions of a video summarised, and questions answered from the summaries of both
videos, or from the captions themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.benchmarks.m3verse.clips import Clip, clips_of, seconds
from spotdiff.benchmarks.m3verse.protocol import ORACLE, frame_size
from spotdiff.benchmarks.m3verse.schema import VIDEO_COLUMNS
from spotdiff.data.store import locate
from spotdiff.errors import DataError
from spotdiff.media.clips import content_digest
from spotdiff.media.sampling import Sampling
from spotdiff.names import joined, normalised
from spotdiff.probes.gather import Gathered, gather
from spotdiff.probes.stages import Item, Stage, Wanted, stages, text_digest
from spotdiff.probes.store import StoredText, TextKey
from spotdiff.question import Part, Text, Video
from spotdiff.settings import Settings
from spotdiff.tasks import Setting, Task, filled

if TYPE_CHECKING:
    from datasets import Dataset

    from spotdiff.evaluation import Evaluation

CAPTION_PROMPT = """This is a video clip segment from a video.
Total video duration: {total}
This video clip segment duration time: {timestamps}
Please describe the video content in detail.
Focus on the environment spatial layout, objects, including their spatial layout, detailed information, and the flow of the video.
Please describe in clear and concise language."""  # noqa: E501

SUMMARY_PROMPT = """Please synthesize the following descriptions of different segments of a video into a single, coherent, and detailed overall caption for the entire video.
Segment Descriptions:
{captions}
Focus on the environment spatial layout, objects, including their spatial layout, detailed information, and the flow of the video.
Please describe in clear and concise language."""  # noqa: E501

CAPTIONS, SUMMARIES = "m3verse_captions", "m3verse_summaries"
"""Kinds of texts in the store."""

CLIP_FRAMES = 50
MANY_CLIP_FRAMES = 100
MANY_CLIP_FRAMES_MODELS = ("qwen3_vl",)
"""Families that the paper shows 100 frames of each clip."""


@dataclass(frozen=True)
class Filmed:
    """A distinct video: a file that holds it, its name in the data set, the digest of its content, its clips."""

    path: Path
    name: str
    digest: str
    clips: tuple[Clip, ...]


@dataclass(frozen=True)
class Cutting:
    """How videos are cut and shown to a model: frames in a clip, frames of it that are shown, and their size."""

    length: int
    shown: int
    size: tuple[int, int]

    @classmethod
    def of(cls, settings: Settings, label: str) -> Cutting:
        """label: of the model that writes captions, whose name decides where the settings do not."""
        many = normalised(label).startswith(MANY_CLIP_FRAMES_MODELS)
        shown = settings.clip_frames or (MANY_CLIP_FRAMES if many else CLIP_FRAMES)
        return cls(settings.clip_length, shown, frame_size(settings, label))

    @property
    def told(self) -> str:
        return f"{self.length} frames a clip, {self.shown} shown, {self.size[0]}x{self.size[1]}"

    def sampling(self, clip: Clip) -> Sampling:
        return Sampling(self.shown, size=self.size, span=(clip.first, clip.last))


def oracle_stages(parts: Mapping[str, Task]) -> tuple[Stage, ...]:
    """Both stages of each part of the benchmark. parts: name -> a task that asks all of its questions."""
    found = []
    for part, task in parts.items():
        name = joined("m3verse", part, "oracle")
        found.append(Stage(f"{name}_captions", task, CAPTIONS, CAPTION_PROMPT, 512, "clips", _captions))
        found.append(Stage(f"{name}_summaries", task, SUMMARIES, SUMMARY_PROMPT, 1024, "videos", _summaries, False))
    return tuple(found)


def _captions(stage: Stage, evaluation: Evaluation, label: str) -> list[Item]:
    """A text for each clip of each distinct video."""
    cutting = Cutting.of(evaluation.settings, label)
    return [
        Item(_wanted_caption(stage, filmed, clip, cutting), _shown(filmed, clip, cutting))
        for filmed in _films(evaluation)
        for clip in filmed.clips
    ]


def _shown(filmed: Filmed, clip: Clip, cutting: Cutting) -> tuple[Part, ...]:
    prompt = filled(CAPTION_PROMPT, total=seconds(clip.total), timestamps=clip.timestamps)
    return Video(filmed.path, cutting.sampling(clip)), Text(f"\n{prompt}")


def _wanted_caption(stage: Stage, filmed: Filmed, clip: Clip, cutting: Cutting) -> Wanted:
    part = f"frames {clip.first}-{clip.last}, {cutting.shown} shown, {cutting.size[0]}x{cutting.size[1]}"
    key = TextKey(CAPTIONS, stage.prompt_version, filmed.digest, part)
    return Wanted(key, filmed.name)


def _summaries(stage: Stage, evaluation: Evaluation, label: str) -> list[Item]:
    """A text for each distinct video that has captions. Raises SpotdiffError where captions are missing."""
    films = _films(evaluation)
    captions = _gathered_captions(stage.task, films, evaluation.settings)
    items = []
    for filmed in films:
        listed, missing = _listed(captions, filmed, evaluation.settings, stage.task)
        if listed:
            wanted = _wanted_summary(stage, filmed, listed, captions.label, evaluation.settings)
            items.append(Item(wanted, (Text(filled(SUMMARY_PROMPT, captions=listed)),), missing))
    return items


def _wanted_summary(stage: Stage, filmed: Filmed, listed: str, label: str, settings: Settings) -> Wanted:
    told = Cutting.of(settings, label).told
    return Wanted(TextKey(SUMMARIES, stage.prompt_version, filmed.digest, told, text_digest(listed)), filmed.name)


def _gathered_captions(task: Task, films: Sequence[Filmed], settings: Settings) -> Gathered:
    stage = _stage(task, "captions")

    def wanted(label: str) -> list[Wanted]:
        cutting = Cutting.of(settings, label)
        return [_wanted_caption(stage, filmed, clip, cutting) for filmed in films for clip in filmed.clips]

    return gather(stage, wanted, settings, "probe_captions")


def _stage(task: Task, kind: str) -> Stage:
    """The stage that makes what a task rests on."""
    (setting,) = task.settings
    return stages()[joined("m3verse", setting.config, "oracle", kind)]


def _listed(captions: Gathered, filmed: Filmed, settings: Settings, task: Task) -> tuple[str, int]:
    """The captions of a video, each with its time, one after the other; and how many are missing."""
    stage, cutting = _stage(task, "captions"), Cutting.of(settings, captions.label)
    found: list[tuple[Clip, StoredText | None]] = [
        (clip, captions.texts.get(_wanted_caption(stage, filmed, clip, cutting).key)) for clip in filmed.clips
    ]
    lines = [f"[{clip.timestamps}] {text.text}" for clip, text in found if text is not None]
    return "\n".join(lines), sum(text is None for _, text in found)


def oracle_texts(evaluation: Evaluation, setting: Setting, rows: Dataset) -> list[tuple[tuple[str, str], int]]:
    """What is told of both videos of each row, and how many of the texts below it are missing."""
    settings = evaluation.settings
    task = Task(evaluation.task.name, "m3verse", evaluation.task.data, (setting,))
    films = _films_of(rows, locate(task.data, settings), settings)
    captions = _gathered_captions(task, films, settings)
    told = {filmed.digest: _listed(captions, filmed, settings, task) for filmed in films}
    if setting.options["variant"] == ORACLE:
        told = _told_by_summaries(task, films, told, captions.label, settings)
    digests = {filmed.name: filmed.digest for filmed in _named(rows, locate(task.data, settings), settings)}
    both = [[told[digests[row[column]]] for column in VIDEO_COLUMNS] for row in rows.select_columns([*VIDEO_COLUMNS])]
    return [((before, after), one + other) for (before, one), (after, other) in both]


def _told_by_summaries(
    task: Task, films: Sequence[Filmed], listed: Mapping[str, tuple[str, int]], label: str, settings: Settings
) -> dict[str, tuple[str, int]]:
    """Digest of a video -> its summary, and how many captions it lacks; one that has none lacks itself."""
    stage = _stage(task, "summaries")
    keys = {
        filmed.digest: _wanted_summary(stage, filmed, listed[filmed.digest][0], label, settings) for filmed in films
    }
    found = gather(stage, lambda _: list(keys.values()), settings, "probe_summaries").texts
    told = {}
    for digest, wanted in keys.items():
        text = found.get(wanted.key)
        told[digest] = (text.text, text.missing) if text is not None else ("", 1)
    return told


def _films(evaluation: Evaluation) -> list[Filmed]:
    """Every distinct video of a task, by content, in the order of its questions."""
    rows = evaluation.rows()
    return _films_of(rows, locate(evaluation.task.data, evaluation.settings), evaluation.settings)


def _films_of(rows: Dataset, folder: Path, settings: Settings) -> list[Filmed]:
    return list({filmed.digest: filmed for filmed in reversed(_named(rows, folder, settings))}.values())[::-1]


def _named(rows: Dataset, folder: Path, settings: Settings) -> list[Filmed]:
    """Every video that rows name, once a name."""
    names = dict.fromkeys(name for row in rows.select_columns([*VIDEO_COLUMNS]) for name in _names(row))
    return [_filmed(folder, name, settings.clip_length) for name in names]


def _names(row: Mapping[str, Any]) -> Iterator[str]:
    return (row[column] for column in VIDEO_COLUMNS)


def _filmed(folder: Path, name: str, length: int) -> Filmed:
    path = folder / name
    if not path.is_file():
        raise DataError(
            f"{path}: there is no such video, and texts of videos are found by what these hold. Prepare the data with "
            "their videos"
        )
    digest = content_digest(path)
    return Filmed(path, name, digest, tuple(clips_of(_times(path, digest), length)))


@lru_cache(maxsize=10_000)
def _times(path: Path, digest: str) -> tuple[float, ...]:
    """When each frame is shown. digest: of the content, which the file may change."""
    from spotdiff.media.video import probe

    return probe(path).times
