"""`--model spotdiff_similarity` as a user runs it, on the shipped questions of EgoExo-Next."""

from __future__ import annotations

import importlib.resources
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lmms_runs import LIMIT, Finished, run
from PIL import Image as PILImage
from tiny_encoders import build_encoder

pytestmark = pytest.mark.e2e

TASK = "egoexo_next_mini"
SETTINGS = ("ego", "match_ego2exo", "match_exo2ego", "exo", "ego2exo")
OPTIONS = ("option_a", "option_b", "option_c", "option_d")

Vector = Callable[[PILImage.Image], Any]


def compared() -> Iterator[tuple[str, list[PILImage.Image]]]:
    """Id of each question, and its last observation and four options."""
    import pyarrow.parquet

    folder = Path(str(importlib.resources.files("spotdiff.benchmarks.egoexo_next"))) / "mini"
    for setting in SETTINGS:
        for file in sorted((folder / setting).glob("*.parquet")):
            for row in pyarrow.parquet.read_table(file).to_pylist():
                last = "observation_1" if setting.startswith("match") else "observation_4"
                stored = [row[column]["bytes"] for column in (last, *OPTIONS)]
                yield f"{setting}/{row['id']}", [PILImage.open(io.BytesIO(one)).convert("RGB") for one in stored]


def nearest_by(vector: Vector) -> dict[str, str]:
    """Id -> the letter that this vector makes the nearest, image after image."""
    found = {}
    for name, images in compared():
        reference, *options = (np.asarray(vector(image), float) for image in images)
        cosines = [reference @ v / (np.linalg.norm(reference) * np.linalg.norm(v)) for v in options]
        found[name] = "ABCD"[int(np.argmax(cosines))]
    return found


def by_pixels(image: PILImage.Image) -> Any:
    cells = np.asarray(image.resize((32, 32), PILImage.Resampling.BOX), float).ravel()
    return cells - cells.mean()


def by_checkpoint(kind: str, folder: Path) -> Vector:
    import torch
    from transformers import AutoImageProcessor, AutoModel

    processor: Any = AutoImageProcessor.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()

    def vector(image: PILImage.Image) -> Any:
        pixels = processor(images=image, return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            if kind == "clip":
                return model.visual_projection(model.vision_model(pixels).pooler_output)[0].numpy()
            return model(pixels).last_hidden_state[0, 0].numpy()

    return vector


def ask(encoder: object, folder: Path, task: str = TASK) -> Finished:
    folder.mkdir(exist_ok=True)
    return run(
        *("--model", "spotdiff_similarity", "--model_args", f"encoder={encoder}", "--tasks", task), folder=folder
    )


def answers(done: Finished) -> dict[str, str]:
    assert done.code == 0, done.output[-5000:]
    scored = done.scored()
    assert {row.outcome for row in scored.values()} == {"parsed"}
    assert {len(row.letters) for row in scored.values()} == {1}
    return {name: row.letters[0] for name, row in scored.items()}


def test_by_pixels_every_question_gets_the_option_that_correlates_most(tmp_path: Path) -> None:
    expected = nearest_by(by_pixels)
    assert len(set(expected.values())) == 4
    assert answers(ask("pixels", tmp_path)) == expected


@pytest.mark.parametrize("kind", ["clip", "vit"])
def test_by_a_checkpoint_every_question_gets_the_option_of_the_nearest_vector(kind: str, tmp_path: Path) -> None:
    folder = build_encoder(kind, tmp_path / "encoder")
    assert answers(ask(folder, tmp_path / "logs")) == nearest_by(by_checkpoint(kind, folder))


def test_two_processes_give_the_answers_of_one(tmp_path: Path) -> None:
    words = ("--model", "spotdiff_similarity", "--model_args", "encoder=pixels", "--tasks", TASK)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"),
            *("-m", "lmms_eval", *words, "--output_path", str(tmp_path), "--log_samples"),
        ],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "SPOTDIFF_MEDIA_CACHE": str(tmp_path / "cache")},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    assert answers(Finished(done.returncode, done.stdout, tmp_path)) == nearest_by(by_pixels)


def test_a_task_without_an_observation_is_refused(tmp_path: Path) -> None:
    task = f"{TASK}_ego_candidate_only"
    done = ask("pixels", tmp_path, task)
    assert done.code == 2
    assert f"spotdiff: {task} has no single observation to compare its options with" in done.output
    assert "fits tasks whose options are images" in done.output
    assert "Traceback" not in done.output


def test_an_encoder_that_is_not_there_ends_the_run_with_one_message(tmp_path: Path) -> None:
    done = ask("no-such-owner/no-such-model", tmp_path)
    assert done.code == 2
    assert "spotdiff: encoder=no-such-owner/no-such-model: no checkpoint was found" in done.output
    assert "Traceback" not in done.output
