"""Nearest images: each distinct image encoded once, in batches, beside image after image as the questions come.

Both sides compare the last observation of a question with its four options, as section 4.4 of the EgoExo-Next paper
says, and start with a loaded model. Images are files of 640 x 480, three quarters JPEG, one quarter PNG.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from process import Finished, in_process
from rows import Options, Row

if TYPE_CHECKING:
    from PIL import Image as PILImage

    from spotdiff.question import Image, Question

WIDTH, HEIGHT = 640, 480

OF_A_CLIP = 4
"""Questions of one clip, one after the other."""

STEP = 2
"""Frames by which the observations of a clip's next question lie later."""

OBSERVED = (0, 1, 2, 3)
OPTIONS = (2, 4, 6, 8)
"""Frames after the first observation: one of the past, the next state, two later ones."""

SAMPLE = 10
"""One of so many clips is given to the other side, whose time grows evenly with the questions."""


@dataclass(frozen=True)
class Asked:
    """The files of one question's images, in order of time, and of its options."""

    observations: tuple[Path, ...]
    options: tuple[Path, ...]


def measure(options: Options) -> list[Row]:
    """Questions a second, and the peak memory of the process."""
    with tempfile.TemporaryDirectory(prefix="spotdiff-bench-") as place:
        folder = Path(place)
        model = _save_vit(folder / "vit", options.tiny)
        asked = write_questions(folder / "images", options.questions)
        sample = _sample(asked)
        # In turn, so that a machine that is busy for a while slows both.
        runs = [(in_process(ours, model, asked), in_process(other, model, sample)) for _ in range(options.runs)]
    mine, theirs = zip(*runs, strict=True)
    note = (
        f"{_described(asked)}; the other way answered {len(sample)} of the questions, "
        f"{_agreement(mine[0], theirs[0], asked, sample)} of them as ours did"
    )
    return [
        Row("similarity, speed", _rate(mine), _rate(theirs), "questions/s", options.runs, note),
        Row(
            "similarity, peak memory",
            _peak(mine),
            _peak(theirs),
            "MB",
            options.runs,
            "interpreter, torch and model included",
        ),
    ]


def _rate(runs: Sequence[Finished]) -> float:
    return float(statistics.median(len(run.result.letters) / run.result.seconds for run in runs))


def _peak(runs: Sequence[Finished]) -> float:
    return statistics.median(run.peak_mb for run in runs)


def _described(asked: Sequence[Asked]) -> str:
    compared = [file for question in asked for file in (question.observations[-1], *question.options)]
    shown = sum(len(question.observations) + len(question.options) for question in asked)
    images = f"{len(compared)} of them compared, {len(set(compared))} of those distinct"
    return f"{len(asked)} questions with {shown} images, {images}"


def _agreement(mine: Finished, theirs: Finished, asked: Sequence[Asked], sample: Sequence[Asked]) -> int:
    """How many questions of the sample both sides gave the same answer to."""
    letters = dict(zip(asked, mine.result.letters, strict=True))
    return sum(letters[question] == letter for question, letter in zip(sample, theirs.result.letters, strict=True))


# --- both sides ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answered:
    """The answers, and the seconds they took once the model was loaded."""

    letters: list[str]
    seconds: float


def ours(model: Path, asked: Sequence[Asked]) -> Answered:
    from lmms_eval_tasks.models.encoders import encoder_of
    from lmms_eval_tasks.models.nearest import Nearest

    nearest = Nearest(encoder_of(str(model)))
    start = time.perf_counter()
    letters = nearest.letters(_question(question) for question in asked)
    return Answered(letters, time.perf_counter() - start)


def other(model: Path, asked: Sequence[Asked]) -> Answered:
    """Every image of every question on its own, with `transformers` alone."""
    import torch
    from PIL import Image
    from transformers import AutoModel, ViTImageProcessor

    processor: Any = ViTImageProcessor.from_pretrained(model)
    vit: Any = AutoModel.from_pretrained(model, add_pooling_layer=False).eval()
    vit.to("cuda" if torch.cuda.is_available() else "cpu")

    def vector(file: Path) -> Any:
        inputs = processor(images=Image.open(file).convert("RGB"), return_tensors="pt").to(vit.device)
        return vit(**inputs).last_hidden_state[0, 0]

    start = time.perf_counter()
    letters = []
    with torch.inference_mode():
        for question in asked:
            reference = vector(question.observations[-1])
            cosines = [torch.cosine_similarity(reference, vector(file), dim=0).item() for file in question.options]
            letters.append("ABCD"[cosines.index(max(cosines))])
    return Answered(letters, time.perf_counter() - start)


def _question(asked: Asked) -> Question:
    from spotdiff.question import LETTERS, Option, Question

    observed = [_image(file) for file in asked.observations]
    options = tuple(
        Option(letter, None, image=_image(file)) for letter, file in zip(LETTERS, asked.options, strict=False)
    )
    shown = (*observed, *(option.image for option in options if option.image))
    return Question("q", "s", shown, options, ("A",), "c", reference=observed[-1])


def _image(file: Path) -> Image:
    from spotdiff.media.images import open_image
    from spotdiff.question import Image

    return Image(lambda: open_image(file, file.name))


# --- what they are asked ------------------------------------------------------------------------------------------


def write_questions(folder: Path, count: int) -> list[Asked]:
    """Draw the frames of as many clips as the questions need, each once, and return the questions in order."""
    folder.mkdir()
    asked = []
    for number in range(count):
        clip, place = divmod(number, OF_A_CLIP)
        first = place * STEP
        observations, options = (
            tuple(_file(folder, clip, first + step) for step in steps) for steps in (OBSERVED, OPTIONS)
        )
        # The right option is not always the same one.
        turn = number % len(options)
        asked.append(Asked(observations, options[turn:] + options[:turn]))
    for file in {file for question in asked for file in (*question.observations, *question.options)}:
        clip, frame = map(int, file.stem.split("_"))
        _frame(clip, frame).save(file, quality=90)
    return asked


def _file(folder: Path, clip: int, frame: int) -> Path:
    return folder / f"{clip}_{frame}.{'png' if clip % 4 == 3 else 'jpg'}"


def _frame(clip: int, frame: int) -> PILImage.Image:
    """A coarse scene that belongs to the clip, with an object that moves from frame to frame, and noise."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(clip)
    scene = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
    pixels = np.asarray(scene.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC), np.int16)
    noisy = pixels + np.random.default_rng((clip, frame)).integers(-4, 5, pixels.shape, dtype=np.int16)
    left, top = 20 + 35 * frame, 40 + 20 * frame
    noisy[top : top + 120, left : left + 120] = rng.integers(0, 256, 3)
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


def _sample(asked: Sequence[Asked]) -> list[Asked]:
    """Every tenth clip, and all questions of it."""
    return [question for number, question in enumerate(asked) if number // OF_A_CLIP % SAMPLE == 0]


def _save_vit(folder: Path, tiny: bool) -> Path:
    """A ViT of the size of DINO's small one (ViT-S/16, 22 million parameters), untrained. tiny: far smaller."""
    import torch
    from transformers import ViTConfig, ViTImageProcessor, ViTModel

    size: dict[str, Any] = {
        "hidden_size": 384,
        "num_hidden_layers": 12,
        "num_attention_heads": 6,
        "intermediate_size": 1536,
    }
    if tiny:
        size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(0)
    ViTModel(ViTConfig(**size), add_pooling_layer=False).save_pretrained(folder)
    ViTImageProcessor().save_pretrained(folder)
    return folder
