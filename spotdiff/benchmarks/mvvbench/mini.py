"""Makes the mini data of MVVBench: drawn recordings of a few scenes by synchronised cameras, and questions about them.

    python -m spotdiff.benchmarks.mvvbench.mini [OUT]

writes a Hub repository (card, one parquet file, videos) into OUT, by default the folder `mini` beside this file. The
same rows and frames come out each time; the bytes of the videos depend on the build of the encoder.

To one who sees no video, every option is as likely as any other: the right ones stand at each letter equally often.
To one who sees one view of a question, every option is still possible, as its clue and what it asks about are in
different views (`mini_questions`). In every frame a clock is burnt in (`mini_clock`), from which a program can tell
whether the frames of different views show the same moment.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from spotdiff.benchmarks import mini_sets
from spotdiff.benchmarks.mvvbench.mini_questions import QUESTIONS, Asked
from spotdiff.benchmarks.mvvbench.mini_scenes import SCENES
from spotdiff.benchmarks.mvvbench.mini_videos import write_mp4
from spotdiff.benchmarks.mvvbench.schema import CONFIG, features

FOLDER = Path(__file__).with_name("mini")


@dataclass(frozen=True)
class Row:
    """One question, with the columns of `schema.features`."""

    id: str
    sample: str
    source: str
    category: str
    motion: str
    question: str
    options: list[str]
    answer: str
    views: list[int]
    start: float
    end: float
    view_numbers: list[int]
    view_videos: list[str]
    view_frames: list[int]
    view_seconds: list[float]


@dataclass(frozen=True)
class _Length:
    """Of a video: its number of frames, and the time of the last one in seconds after the first one."""

    frames: int
    seconds: float


def video(sample: str, view: int) -> str:
    """Where a video lies in the folder."""
    return f"videos/{sample}_view{view}.mp4"


def rows(folder: Path = FOLDER) -> list[Row]:
    """folder: where the videos lie; lengths are read from them."""
    found = []
    for sample, questions in QUESTIONS.items():
        lengths = {view: _length(folder / video(sample, view)) for view in SCENES[sample].views}
        found += [_row(sample, number, asked, lengths) for number, asked in enumerate(questions, start=1)]
    return found


def _length(path: Path) -> _Length:
    from spotdiff.media.video import probe

    times = probe(path).times
    return _Length(len(times), times[-1])


def _row(sample: str, number: int, asked: Asked, lengths: Mapping[int, _Length]) -> Row:
    return Row(
        id=f"{sample}_{number}",
        sample=sample,
        source=SCENES[sample].source,
        category=asked.category,
        motion=asked.motion,
        question=asked.question,
        options=list(asked.options),
        answer=asked.answer,
        views=list(asked.views),
        start=asked.window[0],
        end=asked.window[1],
        view_numbers=list(lengths),
        view_videos=[video(sample, view) for view in lengths],
        view_frames=[length.frames for length in lengths.values()],
        view_seconds=[length.seconds for length in lengths.values()],
    )


def card() -> str:
    """The data card, see `mini_sets.card`."""
    return mini_sets.card("MVVBench mini", mini_sets.VIDEOS, [CONFIG], _WORDS)


_WORDS = """\
A few questions of the kinds that MVVBench asks, about drawn scenes that several cameras record at the same time, to try
a set-up and to test it. They are not part of MVVBench, and a score on them says nothing about a model. A script drew
the videos; they are in the public domain (CC0). The column `source` is filled in for the sake of its form alone.
"""


def write(folder: Path) -> None:
    """Write card, questions and videos into the folder, which is made if need be. Old files are replaced."""
    (folder / "videos").mkdir(parents=True, exist_ok=True)
    for sample, scene in SCENES.items():
        for number, view in scene.views.items():
            write_mp4(folder / video(sample, number), scene.frames(number), view.rate)
    mini_sets.write_tables(folder, card(), {CONFIG: [asdict(row) for row in rows(folder)]}, features())


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
