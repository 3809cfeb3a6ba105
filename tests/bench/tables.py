"""Data sets: what preparing one takes, and reading its questions, beside VLMEvalKit's way with the same release.

The release is made here: M4Bench's State_Invariance and State_Comparison as TSVs, two JPEG images of a megapixel a row.
Both sides read from files that were just written, so from the system's cache.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import io
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from process import in_process
from rows import Options, Row

ROWS = 1800
SIDE = 1024
PARTS = {
    "State_Invariance": "Whether these two pictures show same object? ",
    "State_Comparison": "Whether these two pictures show the same state of the object? ",
}
COLUMNS = ["id", "question", "options", "answer", "category", "pair"]

DRAWN = 24
"""Pictures that are drawn; each image of the release is one of them with bytes of its own behind its end."""


def measure(options: Options) -> list[Row]:
    """Seconds to read all questions, and the peak memory of preparing against that of VLMEvalKit's reading."""
    rows = max(2, ROWS * min(options.questions, 1000) // 1000)
    with tempfile.TemporaryDirectory(prefix="spotdiff-bench-") as place:
        folder = Path(place)
        size = _write_release(folder / "release", rows, 64 if options.tiny else SIDE)
        prepared = in_process(prepare, folder)
        runs = [
            (in_process(read_prepared, folder, number), in_process(read_tsv, folder)) for number in range(options.runs)
        ]
    mine, theirs = zip(*runs, strict=True)
    assert {run.result[1] for run in (*mine, *theirs)} == {rows}
    seconds = [float(statistics.median(run.result[0] for run in side)) for side in (mine, theirs)]
    peak = float(statistics.median(run.peak_mb for run in theirs))
    note = (
        f"{rows} questions, {size / 1e6:.0f} MB of TSV; datasets.load_dataset of the question columns, nothing cached"
    )
    return [
        Row("questions, read", *seconds, "s", options.runs, f"{note}; other: VLMEvalKit's load of the TSVs"),
        Row(
            "release, peak memory",
            prepared.peak_mb,
            peak,
            "MB",
            1,
            f"ours: the whole of prepare, with every image decoded, {prepared.result:.0f} s; other: VLMEvalKit's load",
        ),
    ]


def _write_release(folder: Path, rows: int, side: int) -> int:
    from PIL import Image

    folder.mkdir()
    drawn = []
    for _ in range(DRAWN):
        image = Image.frombytes("RGB", (side // 4, side // 4), os.urandom(3 * (side // 4) ** 2)).resize((side, side))
        stream = io.BytesIO()
        image.save(stream, "JPEG", quality=90)
        drawn.append(stream.getvalue())
    number = 0
    for part, question in PARTS.items():
        with (folder / f"{part}.tsv").open("w", newline="") as file:
            table = csv.writer(file, delimiter="\t", lineterminator="\n")
            table.writerow(["index", "image1", "image2", "image1_path", "image2_path", "query", "response"])
            for index in range(rows // 2 if part == "State_Comparison" else rows - rows // 2):
                images = [drawn[(number + k) % DRAWN] + f"{number} {k}".encode() for k in range(2)]
                encoded = [base64.b64encode(image).decode() for image in images]
                paths = [f"{part}/{number}_{k}.jpg" for k in range(2)]
                table.writerow([index, *encoded, *paths, f"{question}\nA. No\nB. Yes", "AB"[number % 2]])
                number += 1
    return sum(path.stat().st_size for path in folder.iterdir())


def prepare(folder: Path) -> float:
    """Seconds that `spotdiff data prepare` takes."""
    os.environ |= {"SPOTDIFF_DATA": str(folder / "data"), "SPOTDIFF_MEDIA_CACHE": str(folder / "media")}
    os.environ["HF_DATASETS_CACHE"] = str(folder / "cache")
    from spotdiff.cli import main

    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        code = main(["data", "prepare", "m4bench", "--from", str(folder / "release")])
    assert code == 0
    return time.perf_counter() - start


def read_prepared(folder: Path, number: int) -> tuple[float, int]:
    """Seconds, and the number of questions."""
    os.environ["HF_DATASETS_CACHE"] = str(folder / f"cache-{number}")
    import datasets

    datasets.disable_progress_bars()
    start = time.perf_counter()
    found: list[Any] = []
    for config in ("state_invariance", "state_comparison"):
        found += datasets.load_dataset(
            str(folder / "data" / "m4bench"), config, split="test", columns=COLUMNS
        ).to_list()
    return time.perf_counter() - start, len(found)


def read_tsv(folder: Path) -> tuple[float, int]:
    """Seconds, and the number of questions."""
    from vlmeval.smp import load

    start = time.perf_counter()
    found: list[Any] = []
    for part in PARTS:
        table = load(str(folder / "release" / f"{part}.tsv"))
        found += table[["index", "query", "response"]].to_dict("records")
    return time.perf_counter() - start, len(found)
