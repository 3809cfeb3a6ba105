"""What several tests need: settings of nobody, rows with pixels, a data folder, the published questions and replies."""

import io
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from PIL import Image

from spotdiff.benchmarks.m4bench.questions import read_questions
from spotdiff.benchmarks.m4bench.schema import features
from spotdiff.data.write import write_data_set

# How long an example takes says how busy the machine is, and the first draw of a text builds tables of all characters.
hypothesis.settings.register_profile("spotdiff", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("spotdiff")

_CACHE = tempfile.TemporaryDirectory(prefix="spotdiff-tests-", ignore_cleanup_errors=True)
# Read when `datasets` is imported.
os.environ.setdefault("HF_DATASETS_CACHE", _CACHE.name)
# No test asks the Hub, or finds what its user has fetched from it.
os.environ.update({"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": f"{_CACHE.name}/hub"})
# Nor does one find frames that its user's runs have decoded.
os.environ["XDG_CACHE_HOME"] = f"{_CACHE.name}/cache"

_KEPT = {"SPOTDIFF_REPLAY_DATA", "SPOTDIFF_NO_REGISTER"}

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def settings_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of the person who runs it."""
    for name in [name for name in os.environ if name.startswith("SPOTDIFF_") and name not in _KEPT]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def replay_data() -> Path:
    """Folder with the published M4Bench questions and replies."""
    folder = os.environ.get("SPOTDIFF_REPLAY_DATA")
    if not folder:
        pytest.skip("SPOTDIFF_REPLAY_DATA is not set: no folder with questions.jsonl.gz and replay.jsonl.gz")
    return Path(folder)


@pytest.fixture(scope="session")
def replay_data_folder(replay_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for SPOTDIFF_DATA that holds the published questions, prepared without images."""
    folder = tmp_path_factory.mktemp("replay-data")
    write_data_set(folder / "m4bench", read_questions(replay_data, images=False), features())
    return folder


def encoded(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=form, **options)
    return buffer.getvalue()


def noise(size: tuple[int, int], seed: int) -> Image.Image:
    """An image in which nearly every pixel has a colour of its own."""
    width, height = size
    data = bytes(
        (x * 7 + y * 13 + seed * 101 + channel * 57) % 256
        for y in range(height)
        for x in range(width)
        for channel in range(3)
    )
    return Image.frombytes("RGB", size, data)


@pytest.fixture(scope="session")
def make_image() -> Callable[[tuple[int, int], int], Image.Image]:
    return noise


@pytest.fixture(scope="session")
def encode() -> Callable[..., bytes]:
    return encoded


SIZES = ((64, 48), (50, 80))


@pytest.fixture(scope="session")
def make_row() -> Callable[..., Row]:
    """A canonical row with boxes, a visual prompt and pixels; keywords replace its fields."""

    def make(name: str = "q1", **changes: Any) -> Row:
        pixels = [{"bytes": encoded(noise(size, seed)), "path": None} for seed, size in enumerate(SIZES)]
        row: Row = {
            "id": name,
            "question": "Which of the following options are semantic corresponding part?",
            "visual_prompt": "<bbox> in image-1 and <bbox> in image-2 are bottle. ",
            "visual_prompt_boxes": [[4, 5, 40, 30], [10, 20, 50, 80]],
            "options": [*["<bbox> in image-1 and <bbox> in image-2"] * 3, "No difference."],
            "option_boxes": [
                [[0, 0, 10, 10], [5, 5, 25, 45]],
                [[20, 10, 64, 48], [0, 40, 50, 80]],
                [[3, 7, 33, 17], [11, 2, 44, 9]],
                [],
            ],
            "answer": "B",
            "category": "bottle",
            "pair": f"pair of {name}",
            "image_sizes": [list(size) for size in SIZES],
            "image_1": pixels[0],
            "image_2": pixels[1],
        }
        return {**row, **changes}

    return make


@pytest.fixture(scope="session")
def plain_row(make_row: Callable[..., Row]) -> Callable[..., Row]:
    """A canonical row of a yes-or-no question, without boxes."""

    def make(name: str = "q1", **changes: Any) -> Row:
        plain = {
            "question": "Whether these two pictures show same object? ",
            "visual_prompt": "",
            "visual_prompt_boxes": [],
            "options": ["No", "Yes"],
            "option_boxes": [[], []],
            "category": "",
            "image_sizes": [],
        }
        return make_row(name, **{**plain, **changes})

    return make


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes configs (name -> rows) as the data set m4bench and makes it the one in force; returns its folder."""

    def write(**configs: Sequence[Mapping[str, Any]]) -> Path:
        monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))
        write_data_set(tmp_path / "data" / "m4bench", configs, features())
        return tmp_path / "data" / "m4bench"

    return write
