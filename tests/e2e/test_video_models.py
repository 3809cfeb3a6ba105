"""Two videos of 200 frames each through the model classes of lmms-eval, with random weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from lmms_runs import LIMIT, Finished
from tiny_models import build_internvl, build_qwen2_5_vl, build_qwen3_vl
from video_scenes import SECOND, write_scenes

pytestmark = pytest.mark.e2e

FRAMES = 200
IN_FILE = 220
SMALL = "min_pixels=1024,max_pixels=16384"
"""For Qwen: each frame of 448 x 448 is made small before the model gets it, 112 or 128 pixels wide."""

PATCHES = {"qwen2_5_vl": 28, "qwen3_vl": 32, "internvl_hf": 112}
"""Side of a patch in pixels. These make TOKENS tokens of a frame, or of two frames that share a token."""

TOKENS = 4


@dataclass(frozen=True)
class Watched:
    """A run of one question: what lmms-eval wrote, the frames' numbers and the prompt that the model got."""

    done: Finished
    numbers: Sequence[int]
    prompt: str
    peak_mb: float


def ask(model: str, build: Callable[[Path, int], Path], folder: Path, arguments: str = "", **settings: str) -> Watched:
    """One question of two videos, through lmms-eval's class `model`, on the CPU."""
    from tokenizers import Tokenizer

    weights = build(folder / "model", PATCHES[model])
    logs = folder / "logs"
    logs.mkdir()
    told = ",".join(filter(None, (f"pretrained={weights},device=cpu,device_map=cpu", arguments)))
    done = _run("--model", model, "--model_args", told, folder=logs, settings=_settings(folder, settings))
    assert done.code == 0, done.output
    noted = json.loads((logs / "notes.json").read_text())
    (call,) = noted["calls"]
    prompt = Tokenizer.from_file(str(weights / "tokenizer.json")).decode(call["prompt"], skip_special_tokens=False)
    print(f"{model} {arguments} {settings}: peak of resident memory {noted['peak_mb']:.0f} MB")
    return Watched(done, call["numbers"], prompt, noted["peak_mb"])


def _settings(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    data = write_scenes(folder / "data", scenes=1, questions=1, frames=IN_FILE)
    return {**data, **{f"SPOTDIFF_{name.upper()}": value for name, value in more.items()}}


def _run(*arguments: str, folder: Path, settings: Mapping[str, str]) -> Finished:
    script = str(Path(__file__).with_name("watched_run.py"))
    limits = ("--limit", "1", "--gen_kwargs", "max_new_tokens=4")
    logs = ("--output_path", str(folder), "--log_samples")
    done = subprocess.run(
        [sys.executable, script, str(folder / "notes.json"), *arguments, "--tasks", "m3verse_sim", *limits, *logs],
        env={**os.environ, **settings, "HF_HUB_OFFLINE": "1", "SPOTDIFF_MEDIA_CACHE": str(folder / "cache")},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )
    return Finished(done.returncode, done.stdout, folder)


def expected_numbers(count: int = FRAMES) -> list[int]:
    """What the frames of both videos show when each gives `count` of them, evenly spread, both ends included."""
    first = np.linspace(0, IN_FILE - 1, count).round().astype(int).tolist()
    return [*first, *(SECOND + number for number in first)]


@pytest.mark.parametrize(
    ("model", "build", "arguments", "settings"),
    [
        ("qwen2_5_vl", build_qwen2_5_vl, SMALL, {}),
        ("qwen3_vl", build_qwen3_vl, SMALL, {}),
        ("internvl_hf", build_internvl, "", {"frames": str(FRAMES)}),
        ("internvl_hf", build_internvl, f"num_frames={FRAMES}", {"frames": str(FRAMES), "video_form": "frames"}),
    ],
    ids=["qwen2_5_vl", "qwen3_vl", "internvl_hf", "internvl_hf_told_how_many"],
)
def test_every_frame_of_both_videos_reaches_the_model_in_order(
    tmp_path: Path, model: str, build: Callable[[Path, int], Path], arguments: str, settings: dict[str, str]
) -> None:
    watched = ask(model, build, tmp_path, arguments, **settings)
    assert watched.numbers == expected_numbers()
    assert len(watched.done.scored()) == 1
    (metrics,) = watched.done.results()["results"].values()
    assert metrics["coverage,none"] == pytest.approx(1 / 2932)
    assert "in generating" not in watched.done.output
    assert_each_video_has_its_place(watched.prompt, frames_a_token=1 if model == "internvl_hf" else 2)


def assert_each_video_has_its_place(prompt: str, frames_a_token: int) -> None:
    """All tokens of the first video stand after its name and before the second one's."""
    pad = "<IMG_CONTEXT>" if "<IMG_CONTEXT>" in prompt else "<|video_pad|>"
    before, rest = prompt.split("This is the first video: ")
    first, rest = rest.split("This is the second video: ")
    second, question = rest.split("Question: ")
    tokens = FRAMES // frames_a_token * TOKENS
    assert [part.count(pad) for part in (before, first, second, question)] == [0, tokens, tokens, 0]


def test_internvl_hf_thins_out_a_list_of_frames_unless_it_is_told_their_number(tmp_path: Path) -> None:
    """Why it gets images by default. It takes 32 frames of each list, whatever its length, and says nothing."""
    watched = ask("internvl_hf", build_internvl, tmp_path, frames=str(FRAMES), video_form="frames")
    assert len(watched.numbers) == 2 * 32
    assert set(watched.numbers) < set(expected_numbers())
