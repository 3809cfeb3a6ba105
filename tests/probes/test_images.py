"""Captions of images: what is asked once, and where captions stand in the questions of M4Bench and EgoExo-Next."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image as PILImage
from told_texts import items, tell

from spotdiff.benchmarks.egoexo_next.captions import CAPTION_PROMPT as EGOEXO_PROMPT
from spotdiff.benchmarks.egoexo_next.schema import OPTION_COLUMNS
from spotdiff.benchmarks.m4bench.captions import CAPTION_PROMPT as M4BENCH_PROMPT
from spotdiff.errors import DataError
from spotdiff.evaluation import Evaluation
from spotdiff.media.images import pixel_digest
from spotdiff.probes.stages import Item
from spotdiff.question import Image, Question, Text
from spotdiff.tasks import benchmarks, task

FIGURE_7 = """A <Perspective> view of <Scene> in a <Setting>. The image shows <Situation> involving <Objects>, with
<Background> visible in the scene."""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_PROBES", str(tmp_path / "probes"))


def questions(name: str) -> list[tuple[dict[str, Any], Question]]:
    evaluation = Evaluation.of(task(name))
    return [(row, evaluation.question(row)) for row in evaluation.rows()]


def digest(cell: dict[str, Any]) -> str:
    return pixel_digest(PILImage.open(io.BytesIO(cell["bytes"])).convert("RGB"))


def mini(benchmark: str, columns: Sequence[str], parts: Callable[[str], bool] = lambda name: True) -> list[str]:
    """Digests of all images in these columns of a shipped data set, read without the code under test."""
    folder = Path(str(__import__(f"spotdiff.benchmarks.{benchmark}", fromlist=["x"]).__file__)).with_name("mini")
    files = [file for file in sorted(folder.glob("*/test.parquet")) if parts(file.parent.name)]
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    return [digest(row[column]) for row in rows for column in columns]


def opened(item: Item) -> str:
    (image,) = (part for part in item.parts if isinstance(part, Image))
    return pixel_digest(image.open())


def test_each_distinct_image_of_m4bench_is_described_once() -> None:
    asked = items("m4bench_mini_captions")
    digests = [item.wanted.key.media for item in asked]
    assert sorted(digests) == sorted(set(mini("m4bench", ("image_1", "image_2"))))
    assert [opened(item) for item in asked[:20]] == digests[:20]
    assert {item.prompt for item in asked} == {f"\n{M4BENCH_PROMPT}"}


def test_each_distinct_option_of_egoexo_next_is_described_once_and_no_observation() -> None:
    asked = items("egoexo_next_mini_captions")
    digests = [item.wanted.key.media for item in asked]
    wanted = set(mini("egoexo_next", OPTION_COLUMNS, lambda name: not name.startswith("matched")))
    assert sorted(digests) == sorted(wanted)
    assert [opened(item) for item in asked[:20]] == digests[:20]
    assert {item.prompt for item in asked} == {f"\n{EGOEXO_PROMPT}"}


def test_the_caption_prompt_of_egoexo_next_holds_the_template_of_figure_7() -> None:
    assert " ".join(FIGURE_7.split()) in " ".join(EGOEXO_PROMPT.split())


def test_captions_stand_in_place_of_the_images_of_m4bench_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_BOX_FAMILY", "qwen3_vl")
    tell("m4bench_mini_captions")
    direct = {question.id: question for _, question in questions("m4bench_mini_instance_comparison")}
    for row, question in questions("m4bench_mini_instance_comparison_captioned"):
        first, second = (digest(row[column]) for column in ("image_1", "image_2"))
        told = f"Image 1: <{first}>\nImage 2: <{second}>\n"
        assert question.parts == (Text(told + direct[question.id].prompt),)
        assert question.groups["inputs"] == "whole"


def test_with_the_images_in_the_other_order_captions_are_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tell("m4bench_mini_captions")
    monkeypatch.setenv("SPOTDIFF_SWAP", "1")
    row, question = questions("m4bench_mini_state_invariance_captioned")[0]
    assert question.prompt.startswith(f"Image 1: <{digest(row['image_2'])}>\nImage 2: <{digest(row['image_1'])}>\n")


@pytest.mark.parametrize("seed", [None, "3"])
def test_a_caption_follows_its_option_image_and_nothing_else_changes(
    seed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed:
        monkeypatch.setenv("SPOTDIFF_SHUFFLE_SEED", seed)
    tell("egoexo_next_mini_captions")
    for setting in ("ego", "match_ego2exo", "ego2exo"):
        direct = {question.id: question for _, question in questions(f"egoexo_next_mini_{setting}")}
        for _, question in questions(f"egoexo_next_mini_{setting}_captioned"):
            options = {id(option.image): option for option in question.options}
            captions = [
                place for place, part in enumerate(question.parts) if "\nCaption: " in getattr(part, "text", "")
            ]
            assert len(captions) == 4
            for place in captions:
                label, image, caption = question.parts[place - 2 : place + 1]
                assert isinstance(label, Text)
                assert isinstance(image, Image)
                assert label.text.endswith(f"option {options[id(image)].letter}:")
                assert caption == Text(f"\nCaption: <{pixel_digest(image.open())}>")
            others = [part for place, part in enumerate(question.parts) if place not in captions]
            told = [part.text if isinstance(part, Text) else pixel_digest(part.open()) for part in others]  # type: ignore[union-attr]
            was = [p.text if isinstance(p, Text) else pixel_digest(p.open()) for p in direct[question.id].parts]  # type: ignore[union-attr]
            assert told == was


def test_a_missing_caption_is_refused_and_when_asked_for_its_questions_are_marked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left_out = items("egoexo_next_mini_captions")[0].wanted.key.media
    tell("egoexo_next_mini_captions", leave_out=[0])
    with pytest.raises(DataError, match=r"^1 of .*--tasks egoexo_next_mini_captions"):
        questions("egoexo_next_mini_ego_captioned")
    monkeypatch.setenv("SPOTDIFF_PROBE_PARTIAL", "1")
    found = questions("egoexo_next_mini_ego_captioned")
    lacking = {row["id"] for row, _ in found if left_out in [digest(row[column]) for column in OPTION_COLUMNS]}
    assert lacking
    assert {row["id"] for row, question in found if question.groups["inputs"] == "partial"} == lacking


def test_every_benchmark_that_has_final_tasks_of_probes_has_them_in_both_frameworks() -> None:
    for name in ("M3Verse_Mini_Oracle", "M3Verse_Oracle_Raw", "M4Bench_Captioned", "EgoExo_Next_Mini_Captioned"):
        assert task(name).settings
    assert {name for name, benchmark in benchmarks().items() if benchmark.stages} == {
        "m3verse",
        "m4bench",
        "egoexo_next",
    }
