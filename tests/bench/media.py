"""What a question of EgoExo-Next (8 images) and one of MVVBench (4 views, 8 frames of each) take until a model has it.

Beside them the plain way of a task of lmms-eval: images as `datasets` decodes them, frames by its own loader of videos,
which takes the same time for every question, so that it is measured on some.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from footage import copy_footage, write_footage
from process import in_process
from rows import Options, Row
from similarity import Asked, write_questions

VIEWS = 4
FRAMES = 8
SIZE = (448, 448)
OF_A_SAMPLE = 5
"""Questions on the same views."""

MEASURED = 2
"""Samples that the other side is measured on, with all of their questions."""

CLIP = ((796, 448), 100)
"""Size and frames of a view: the size is that of the smaller release of Ego-Exo4D."""

SMALL_CLIP = ((64, 48), 20)


def measure(options: Options) -> list[Row]:
    images = in_folder(options, images_rows)
    return [*images, *in_folder(options, views_rows)]


def in_folder(options: Options, rows: Any) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="spotdiff-bench-") as place:
        found: list[Row] = rows(Path(place), options)
        return found


def images_rows(folder: Path, options: Options) -> list[Row]:
    asked = write_questions(folder / "images", options.questions)
    write_image_questions(folder, asked)
    runs = [(in_process(our_images, folder), in_process(plain_images, folder)) for _ in range(options.runs)]
    mine, theirs = zip(*runs, strict=True)
    note = f"{len(asked)} questions of 8 images of 640 x 480, one in four a PNG; other: images decoded by datasets"
    return [
        Row("egoexo_next, media", _median(mine), _median(theirs), "s", options.runs, note),
        Row(
            "egoexo_next, peak memory",
            float(statistics.median(run.peak_mb for run in mine)),
            float(statistics.median(run.peak_mb for run in theirs)),
            "MB",
            options.runs,
            "interpreter included",
        ),
    ]


def views_rows(folder: Path, options: Options) -> list[Row]:
    """Half as many questions as of images: cold, then warm, all of them asked of ours."""
    samples = max(1, options.questions // 2 // OF_A_SAMPLE)
    write_view_questions(folder, samples, SMALL_CLIP if options.tiny else CLIP)
    cold, warm, theirs = [], [], []
    measured = min(MEASURED, samples)
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            cold.append(in_process(our_views, folder, Path(cache)))
            warm.append(in_process(our_views, folder, Path(cache)))
        theirs.append(in_process(plain_views, folder, measured))
    other = _median(theirs) / measured * samples
    note = (
        f"{samples * OF_A_SAMPLE} questions on {samples} samples, all asked of ours; other: lmms-eval's read_video, "
        f"resized, measured on {measured * OF_A_SAMPLE}, times all"
    )
    return [
        Row(f"mvvbench, media, {name}", _median(mine), other, "s", options.runs, note)
        for name, mine in (("cold", cold), ("warm", warm))
    ]


def _median(runs: Any) -> float:
    return float(statistics.median(run.result for run in runs))


# --- the sides ----------------------------------------------------------------------------------------------------


def our_images(folder: Path) -> float:
    return _asked("egoexo_next_ego2exo", folder, folder / "cache", "image", 8)


def our_views(folder: Path, cache: Path) -> float:
    return _asked("mvvbench", folder, cache, "video", VIEWS)


def _asked(name: str, folder: Path, cache: Path, kind: str, parts: int) -> float:
    """Seconds for the messages of all questions."""
    os.environ |= {"SPOTDIFF_DATA": str(folder / "data"), "SPOTDIFF_MEDIA_CACHE": str(cache), "HF_HUB_OFFLINE": "1"}
    os.environ["HF_DATASETS_CACHE"] = str(folder / "datasets")
    from lmms_eval_tasks import adapter

    documents = adapter.load_documents(name)
    for document in documents if kind == "video" else [documents[0]]:
        adapter.doc_to_text(document, {"model": "qwen3_vl"})
    start = time.perf_counter()
    for document in documents:
        content = adapter.doc_to_messages(document)[0]["content"]
        assert sum(part["type"] == kind for part in content) == parts
    return time.perf_counter() - start


def plain_images(folder: Path) -> float:
    os.environ["HF_DATASETS_CACHE"] = str(folder / "plain")
    import datasets

    files = [str(file) for file in (folder / "data" / "egoexo_next" / "ego2exo").glob("*.parquet")]
    rows = datasets.load_dataset("parquet", data_files=files, split="train")
    columns = [name for name, kind in rows.features.items() if isinstance(kind, datasets.Image)]
    start = time.perf_counter()
    for row in rows:
        assert len([row[name].convert("RGB") for name in columns if row[name] is not None]) == 8
    return time.perf_counter() - start


def plain_views(folder: Path, samples: int) -> float:
    from lmms_eval.models.model_utils.load_video import read_video
    from PIL import Image

    start = time.perf_counter()
    for sample in range(samples):
        for _ in range(OF_A_SAMPLE):
            held = []
            for view in range(VIEWS):
                path = str(folder / "data" / "mvvbench" / _view(sample, view))
                held += [Image.fromarray(frame).resize(SIZE) for frame in read_video(path, num_frm=FRAMES)]
            assert len(held) == VIEWS * FRAMES
    return time.perf_counter() - start


# --- what they are asked ------------------------------------------------------------------------------------------


def write_image_questions(folder: Path, asked: list[Asked]) -> None:
    from spotdiff.benchmarks.egoexo_next.schema import IMAGE_COLUMNS, OPTION_COLUMNS, features, observations
    from spotdiff.data.write import write_data_set

    def row(number: int, question: Asked) -> dict[str, Any]:
        names = (*observations("ego2exo"), *OPTION_COLUMNS)
        files = dict(zip(names, (*question.observations, *question.options), strict=True))
        return {
            "id": str(number),
            "clip": str(number // 4),
            "subtask": "ego2exo",
            "direction": "",
            "scene": "indoor",
            "source": "EgoHumans",
            "group": "",
            "answer": "ABCD"[number % 4],
            "future_candidates": 0,
            "option_kinds": [],
            **{
                name: {"bytes": files[name].read_bytes(), "path": None} if name in files else None
                for name in IMAGE_COLUMNS
            },
        }

    rows = (row(number, question) for number, question in enumerate(asked))
    write_data_set(folder / "data" / "egoexo_next", {"ego2exo": rows}, features())


def _view(sample: int, view: int) -> str:
    return f"videos/{sample}_{view}.mp4"


def write_view_questions(folder: Path, samples: int, clip: tuple[tuple[int, int], int]) -> None:
    from spotdiff.benchmarks.mvvbench.schema import CONFIG, features
    from spotdiff.data.write import write_data_set

    size, frames = clip
    rows = [
        {
            "id": f"{sample}-{number}",
            "sample": str(sample),
            "source": "Ego-Exo4D",
            "category": "counting",
            "motion": "dynamic",
            "question": f"How many cups are on the table (question {number})?",
            "options": ["one", "two", "three", "four"],
            "answer": "B",
            "views": list(range(VIEWS)),
            "start": -1.0,
            "end": -1.0,
            "view_numbers": list(range(VIEWS)),
            "view_videos": [_view(sample, view) for view in range(VIEWS)],
            "view_frames": [frames] * VIEWS,
            "view_seconds": [(frames - 1) / 30] * VIEWS,
        }
        for sample in range(samples)
        for number in range(OF_A_SAMPLE)
    ]
    write_data_set(folder / "data" / "mvvbench", {CONFIG: rows}, features())
    drawn = write_footage(folder / "view.mp4", "libx264", 0, frames, size)
    for sample in range(samples):
        for view in range(VIEWS):
            copy_footage(drawn, folder / "data" / "mvvbench" / _view(sample, view), VIEWS * sample + view)
