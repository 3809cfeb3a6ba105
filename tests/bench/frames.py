"""M3-Verse: two videos of a scene, 200 frames of each at 448 x 448, eleven questions a scene.

Beside it, with the same frames: lmms-eval's own loader, which decodes for each question, and VLMEvalKit's own frame
files. Both take the same time for every question, or for every first and every later question of a scene, so that they
are measured on some of them; the notes say on how many, and how the total was formed.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from footage import copy_footage, write_footage
from process import Finished, in_process
from rows import Options, Row

SCENES = 20
QUESTIONS = 11
"""Of each scene, one after the other."""

CODECS = ("libx264", "mpeg4")
"""Of the scenes in turn."""

SAMPLE = 4
"""Questions that the other sides are measured on, of scenes of both codecs in equal parts."""

THINKING = 0.5
"""Seconds that the model takes for a question."""

MEMORY = 700
"""Megabytes of frames that a process may hold: the default setting."""


@dataclass(frozen=True)
class Shape:
    """Of a video, and of what is taken of it."""

    size: tuple[int, int] = (1024, 768)
    frames: int = 506
    taken: int = 200
    taken_size: tuple[int, int] = (448, 448)


TINY = Shape((64, 48), 12, 4, (28, 28))


@dataclass(frozen=True)
class Asked:
    """seconds: that the media of each question took. total: of all, with the model's own. before_mb, after_mb: resident
    memory before the first question, and the largest after one."""

    seconds: tuple[float, ...]
    total: float
    before_mb: float
    after_mb: float

    @property
    def waited(self) -> float:
        """Percent of the time after the first question's media in which a model would have waited for media."""
        return 100 * sum(self.seconds[1:]) / (self.total - self.seconds[0])


def measure(options: Options) -> list[Row]:
    scenes = max(2, SCENES * min(options.questions, 1000) // 1000)
    shape = TINY if options.tiny else Shape()
    with tempfile.TemporaryDirectory(prefix="spotdiff-bench-") as place:
        folder = Path(place)
        videos = write_scenes(folder, scenes, shape)
        asking = Asking(folder, videos, shape)
        rows = asking.first_touches(options.runs)
        naive = [in_process(lmms_eval_way, sample(videos), shape) for _ in range(options.runs)]
        for name, scattered in (("scene order", False), ("arbitrary order", True)):
            rows += asking.whole(name, scattered, naive, options.runs)
        rows += asking.waits(naive, options.runs, 0.0 if options.tiny else THINKING)
        return rows + asking.in_vlmevalkit(options.runs)


@dataclass(frozen=True)
class Asking:
    """The workload: where its data lie, the two videos of each scene, and what is taken of them."""

    folder: Path
    videos: list[tuple[Path, Path]]
    shape: Shape

    @property
    def questions(self) -> int:
        return QUESTIONS * len(self.videos)

    def whole(self, name: str, scattered: bool, naive: Sequence[Finished], runs: int) -> list[Row]:
        """All questions, through the adapter of lmms-eval, each time with a new store and then with the filled one."""
        found: dict[str, list[Finished]] = {"cold": [], "warm": []}
        for _ in range(runs):
            with tempfile.TemporaryDirectory(dir=self.folder) as cache:
                for state in found.values():
                    state.append(in_process(ours, self.folder, Path(cache), self.shape, scattered, 0.0))
        other = self.questions * _median(run.result for run in naive)
        note = (
            f"{self.questions} questions of {len(self.videos)} scenes, all asked of ours; other: lmms-eval's loader "
            f"(read_video) and resizing, {other / self.questions:.2f} s a question as measured on "
            f"{len(sample(self.videos))}, times all"
        )
        peaks = [
            Row(
                f"m3verse, {name}, {state}, memory",
                max(run.result.after_mb - run.result.before_mb for run in done),
                MEMORY + 300,
                "MB",
                runs,
                "resident, above what the process had before its first question; other: the limit, frame_memory + 300",
            )
            for state, done in found.items()
        ]
        times = [
            Row(f"m3verse, {name}, {state}", _median(run.result.total for run in done), other, "s", runs, note)
            for state, done in found.items()
        ]
        return times + peaks

    def waits(self, naive: Sequence[Finished], runs: int, thinking: float) -> list[Row]:
        """The share of a run, after its first question, in which the model waits for media."""
        found: dict[str, list[Finished]] = {"cold": [], "warm": []}
        for _ in range(runs):
            with tempfile.TemporaryDirectory(dir=self.folder) as cache:
                for state in found.values():
                    state.append(in_process(ours, self.folder, Path(cache), self.shape, False, thinking))
        own = _median(run.result for run in naive)
        note = (
            f"{self.questions} questions in scene order, {thinking} s of sleep for each answer; other: lmms-eval's way"
        )
        shares = {
            state: _median(
                100 * sum(run.result.seconds[1:]) / (run.result.total - run.result.seconds[0]) for run in done
            )
            for state, done in found.items()
        }
        return [
            Row(f"m3verse, wait for media, {state}", share, 100 * own / (own + thinking), "% of the run", runs, note)
            for state, share in shares.items()
        ]

    def first_touches(self, runs: int) -> list[Row]:
        """Until the frames of a new video are in hand and stored, beside decoding, converting and resizing alone."""
        rows = []
        for codec, (path, _) in zip(CODECS, self.videos, strict=False):
            both = []
            for _ in range(runs):
                with tempfile.TemporaryDirectory(dir=self.folder) as cache:
                    both.append((in_process(touch, path, self.shape, Path(cache)), in_process(floor, path, self.shape)))
            mine, least = ([run.result for run in side] for side in zip(*both, strict=True))
            note = f"{path.stat().st_size / 1e6:.1f} MB; other: sequential PyAV with the kept frames alone resized"
            for place, unit in enumerate(("s", "CPU s")):
                pair = (_median(times[place] for times in side) for side in (mine, least))
                rows.append(Row(f"first touch, {codec}, {unit}", *pair, unit, runs, note))
        return rows

    def in_vlmevalkit(self, runs: int) -> list[Row]:
        """Through both frameworks' files: the first question of a scene, and a later one, until pixels are in hand."""
        chosen = sample(self.videos)
        found = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory(dir=self.folder) as cache:
                found.append(
                    (
                        in_process(ours_in_vlmevalkit, self.folder, Path(cache), self.shape, len(chosen)),
                        in_process(vlmevalkit_way, chosen, Path(cache), self.shape),
                    )
                )
        mine, theirs = ([run.result for run in side] for side in zip(*found, strict=True))
        cold, warm = ([_median(times[place] for times in side) for side in (mine, theirs)] for place in (0, 1))
        note = (
            f"measured on the first and one later question of {len(chosen)} scenes, each until all images are opened "
            f"at {self.shape.taken_size}; total: as many first ones as scenes, {QUESTIONS - 1} later ones each"
        )
        totals = [len(self.videos) * (first + (QUESTIONS - 1) * later) for first, later in zip(cold, warm, strict=True)]
        every = [self.questions * later for later in warm]
        return [
            Row("m3verse, VLMEvalKit, cold", *totals, "s", runs, f"{note}; other: its JPEG files of whole frames"),
            Row("m3verse, VLMEvalKit, warm", *every, "s", runs, note),
        ]


def sample(videos: Sequence[tuple[Path, Path]]) -> list[tuple[Path, Path]]:
    return list(videos[:SAMPLE]) if len(videos) >= SAMPLE else list(videos[:2])


def _median(values: Any) -> float:
    return float(statistics.median(values))


# --- the sides ----------------------------------------------------------------------------------------------------


def _settle(folder: Path, cache: Path, shape: Shape) -> None:
    width, height = shape.taken_size
    os.environ |= {
        "SPOTDIFF_DATA": str(folder / "data"),
        "SPOTDIFF_MEDIA_CACHE": str(cache),
        "SPOTDIFF_FRAMES": str(shape.taken),
        "SPOTDIFF_FRAME_SIZE": f"{width}x{height}",
        "SPOTDIFF_FRAME_MEMORY": str(MEMORY),
        "HF_HUB_OFFLINE": "1",
    }


def _import_all() -> None:
    """What a process of either framework has loaded by then."""
    import av  # noqa: F401
    import numpy  # noqa: F401
    import pyarrow  # noqa: F401
    from PIL import Image  # noqa: F401


def ours(folder: Path, cache: Path, shape: Shape, scattered: bool, thinking: float) -> Asked:
    """All questions as a chat model of lmms-eval gets them; frames are held as long as an answer takes."""
    _settle(folder, cache, shape)
    from lmms_eval_tasks import adapter

    rows = adapter.load_documents("m3verse_sim")
    documents = list(rows)
    for document in documents:
        adapter.doc_to_text(document, {"model": "qwen3_vl"})
    _import_all()
    if scattered:
        random.Random(0).shuffle(documents)
    before = _resident_mb()
    seconds, after = [], before
    start = time.perf_counter()
    for document in documents:
        asked = time.perf_counter()
        messages = adapter.doc_to_messages(document)
        seconds.append(time.perf_counter() - asked)
        assert sum(len(part["url"]) for part in messages[0]["content"] if part["type"] == "video") == 2 * shape.taken
        time.sleep(thinking)
        after = max(after, _resident_mb())
    return Asked(tuple(seconds), time.perf_counter() - start, before, after)


def lmms_eval_way(videos: Sequence[tuple[Path, Path]], shape: Shape) -> float:
    """Seconds for a question: the frames of both videos by the loader of its video models, and their size."""
    from lmms_eval.models.model_utils.load_video import read_video

    return _each(videos, lambda path: _resized(read_video(str(path), num_frm=shape.taken), shape))


def _each(videos: Sequence[tuple[Path, Path]], frames: Callable[[Path], list[Any]]) -> float:
    start = time.perf_counter()
    for both in videos:
        held = [frames(path) for path in both]
        assert len({len(images) for images in held}) == 1
    return (time.perf_counter() - start) / len(videos)


def _resized(pictures: Any, shape: Shape) -> list[Any]:
    from PIL import Image

    return [Image.fromarray(pixels).resize(shape.taken_size, Image.Resampling.BICUBIC) for pixels in pictures]


def touch(path: Path, shape: Shape, cache: Path) -> tuple[float, float]:
    """Wall and CPU seconds for the frames of a video that the store does not have."""
    _settle(cache, cache, shape)
    _import_all()
    from spotdiff.media.clips import frames_of
    from spotdiff.media.sampling import Sampling

    start = time.perf_counter(), time.process_time()
    assert len(frames_of(path, Sampling(count=shape.taken, size=shape.taken_size))) == shape.taken
    return time.perf_counter() - start[0], time.process_time() - start[1]


def floor(path: Path, shape: Shape) -> tuple[float, float]:
    """Wall and CPU seconds of what nobody can leave out who decodes with PyAV."""
    import av
    import numpy
    from PIL import Image

    wanted = set(numpy.linspace(0, shape.frames - 1, shape.taken).round().astype(int).tolist())
    start = time.perf_counter(), time.process_time()
    images = []
    with av.open(str(path)) as container:
        container.streams.video[0].thread_type = "AUTO"
        for number, frame in enumerate(container.decode(video=0)):
            if number in wanted:
                picture = Image.fromarray(frame.to_ndarray(format="rgb24"))
                images.append(picture.resize(shape.taken_size, Image.Resampling.BICUBIC))
    assert len(images) == shape.taken
    return time.perf_counter() - start[0], time.process_time() - start[1]


def ours_in_vlmevalkit(folder: Path, cache: Path, shape: Shape, scenes: int) -> tuple[float, float]:
    """Seconds for the first question of a scene, and for a later one."""
    _settle(folder, cache / "ours", shape)
    from vlmeval_ext.datasets.image import SpotdiffDataset

    data = SpotdiffDataset("M3Verse_Sim", model="GPT4o")

    def ask(number: int) -> None:
        files = [part["value"] for part in data.build_prompt(number) if part["type"] == "image"]
        assert len(_opened(files, shape)) == 2 * shape.taken

    return _seconds(ask, [QUESTIONS * scene for scene in range(scenes)], 1)


def vlmevalkit_way(videos: Sequence[tuple[Path, Path]], cache: Path, shape: Shape) -> tuple[float, float]:
    """The same by the frame files of its own data sets of videos."""
    from vlmeval.dataset.video_base import VideoBaseDataset

    class Videos(VideoBaseDataset):  # type: ignore[misc]
        def __init__(self, root: Path) -> None:
            self.frame_root, self.data_root = str(cache / "theirs" / "images"), str(root)
            self.frame_tmpl = "frame-{}-of-{}.jpg"
            self.nframe, self.fps = shape.taken, -1

        def prepare_dataset(self, dataset: str) -> dict[str, str]:
            return {}

        def build_prompt(self, idx: int) -> list[dict[str, str]]:
            return []

        def evaluate(self, eval_file: str, **judge_kwargs: Any) -> dict[str, float]:
            return {}

    root = videos[0][0].parents[1]
    data = Videos(root)

    def ask(number: int) -> None:
        for path in videos[number]:
            files = data.save_video_frames(str(path.relative_to(root).with_suffix("")))
            assert len(_opened(files, shape)) == shape.taken

    return _seconds(ask, range(len(videos)), 0)


def _opened(files: Sequence[str], shape: Shape) -> list[Any]:
    """The images as models open them, in the size that they get."""
    from PIL import Image

    images = [Image.open(file).convert("RGB") for file in files]
    return [image.resize(shape.taken_size, Image.Resampling.BICUBIC) for image in images]


def _seconds(ask: Callable[[int], None], first: Sequence[int], later: int) -> tuple[float, float]:
    """Seconds for each first question, then for each later one, whose number is so much higher."""
    times = []
    for numbers in (first, [number + later for number in first]):
        start = time.perf_counter()
        for number in numbers:
            ask(number)
        times.append((time.perf_counter() - start) / len(numbers))
    return times[0], times[1]


def _resident_mb() -> float:
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1e6


# --- what they are asked ------------------------------------------------------------------------------------------


def write_scenes(folder: Path, scenes: int, shape: Shape) -> list[tuple[Path, Path]]:
    """A prepared data set m3verse below `data`; the two videos of each scene, which differ in content from all others.

    Drawn and encoded once for each codec and state, as encoding takes longest.
    """
    from spotdiff.benchmarks.m3verse.schema import VIDEO_COLUMNS, features
    from spotdiff.data.write import write_data_set

    rows = [_row(scene, number) for scene in range(scenes) for number in range(QUESTIONS)]
    write_data_set(folder / "data" / "m3verse", {"sim": rows}, features())
    drawn = {
        (codec, state): write_footage(folder / f"{codec}-{state}.mp4", codec, state, shape.frames, shape.size)
        for codec in CODECS
        for state in range(2)
    }
    found = []
    for scene in range(scenes):
        both = [folder / "data" / "m3verse" / rows[scene * QUESTIONS][column] for column in VIDEO_COLUMNS]
        for state, path in enumerate(both):
            copy_footage(drawn[CODECS[scene % 2], state], path, 2 * scene + state)
        found.append((both[0], both[1]))
    return found


def _row(scene: int, number: int) -> dict[str, Any]:
    return {
        "id": f"{scene}-{number}",
        "scene": f"scene_{scene:03}",
        "state": "inter",
        "category": "change",
        "subcategory": "number",
        "question": f"Which object was moved (question {number})?",
        "options": ["The chair", "The lamp", "The cup", "The book"],
        "answer": ["B"],
        "hallucination": False,
        "capabilities": ["reasoning"],
        "video_before": f"videos/sim/scene_{scene:03}/state_0.mp4",
        "video_after": f"videos/sim/scene_{scene:03}/state_1.mp4",
    }
