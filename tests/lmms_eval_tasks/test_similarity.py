"""The option that looks most like the reference: vectors, cosines, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as PILImage

from lmms_eval_tasks import adapter, documents
from lmms_eval_tasks.models.encoders import PixelEncoder, VisionEncoder, encoder_of
from lmms_eval_tasks.models.nearest import BATCH_SIZE, Nearest, check_fit, nearest
from spotdiff.errors import DataError, SettingError
from spotdiff.media.images import pixel_digest
from spotdiff.question import LETTERS, Image, Option, Question, Text

framework = pytest.mark.framework


def picture(seed: int, size: tuple[int, int] = (48, 40)) -> PILImage.Image:
    """A smooth image of a few colours."""
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    return PILImage.fromarray(coarse).resize(size, PILImage.Resampling.BICUBIC)


def question(
    reference: PILImage.Image | None, *options: PILImage.Image | None, name: str = "q", letters: str = LETTERS
) -> Question:
    """A question whose images are these; None stands for what is no image."""

    def shown(image: PILImage.Image | None) -> Image | None:
        return None if image is None else Image(lambda: image)

    seen = shown(reference)
    answers = tuple(Option(letter, None, image=shown(image)) for letter, image in zip(letters, options, strict=False))
    parts = (Text("?"), *(image for image in (seen, *(option.image for option in answers)) if image))
    return Question(name, "s", parts, answers, ("A",), "c", reference=seen)


FITTING = question(picture(1), picture(2), picture(3))


def drawn(count: int, distinct: int = 12, seed: int = 5) -> list[tuple[PILImage.Image, ...]]:
    """Reference and four options of each of `count` questions, drawn from `distinct` images."""
    rng = np.random.default_rng(seed)
    images = [picture(number) for number in range(distinct)]
    return [tuple(images[number] for number in rng.choice(distinct, 5, replace=False)) for _ in range(count)]


class Counting:
    """An encoder that notes the digests of the images it is given, and the sizes of its batches."""

    def __init__(self) -> None:
        self.encoded: list[str] = []
        self.batches: list[int] = []

    def prepare(self, image: PILImage.Image) -> tuple[str, Any]:
        return pixel_digest(image), PixelEncoder().prepare(image)

    def encode(self, prepared: Sequence[Any]) -> Any:
        self.batches.append(len(prepared))
        self.encoded += [digest for digest, _ in prepared]
        return np.stack([vector for _, vector in prepared])


# --- pixels -------------------------------------------------------------------------------------------------------


def correlation(first: PILImage.Image, second: PILImage.Image) -> float:
    """Pearson's r of the mean colours of 32 x 32 cells, which divide both images evenly."""

    def cells(image: PILImage.Image) -> Any:
        width, height = image.width // 32, image.height // 32
        return np.asarray(image, float).reshape(32, height, 32, width, 3).mean(axis=(1, 3)).ravel()

    return float(np.corrcoef(cells(first), cells(second))[0, 1])


def test_the_cosine_of_two_images_by_their_pixels_is_the_correlation_of_their_cells() -> None:
    encoder = PixelEncoder()
    images = [picture(seed, size) for seed, size in enumerate([(64, 96), (128, 32), (32, 32), (320, 64)])]
    vectors = encoder.encode([encoder.prepare(image) for image in images]).astype(float)
    assert vectors.shape == (4, 32 * 32 * 3)
    for i, first in enumerate(images):
        for j, second in enumerate(images):
            cosine = vectors[i] @ vectors[j] / np.linalg.norm(vectors[i]) / np.linalg.norm(vectors[j])
            # Means of cells are rounded to whole numbers.
            assert cosine == pytest.approx(correlation(first, second), abs=2e-3)


def test_by_pixels_the_option_that_correlates_most_is_chosen() -> None:
    asked = [tuple(picture(number, (64, 64)) for number in range(5 * q, 5 * q + 5)) for q in range(20)]
    expected = [
        "ABCD"[int(np.argmax([correlation(reference, option) for option in options]))] for reference, *options in asked
    ]
    assert len(set(expected)) == 4
    assert Nearest(PixelEncoder(), 7).letters(question(*images) for images in asked) == expected


# --- which option -------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=2, max_size=6))
def test_the_option_of_the_highest_cosine_is_the_nearest_and_the_first_of_several(found: list[list[int]]) -> None:
    reference, *options = found

    def parts(option: list[int]) -> tuple[int, int]:
        """Dot product and squared length."""
        return sum(a * b for a, b in zip(reference, option, strict=True)), sum(a * a for a in option)

    def above(first: list[int], second: list[int]) -> bool:
        """Whether the first cosine is the higher, in whole numbers: the length of the reference falls out."""
        (dot, length), (other_dot, other_length) = parts(first), parts(second)
        signed = dot * abs(dot) * max(1, other_length)
        return signed > other_dot * abs(other_dot) * max(1, length)

    chosen = nearest([np.array(vector, np.float32) for vector in found])
    best = [option for option in options if not any(above(other, option) for other in options)]
    assert options[chosen] in best
    assert options.index(options[chosen]) == chosen


def test_of_options_that_look_the_same_the_first_is_chosen() -> None:
    near, far = picture(1), picture(2)
    asked = [
        question(near, far, near, near, far),
        question(near, near.copy(), near, far, far),
        question(near, far, far, far, far),
        question(near, far, near, near, letters="DCBA"),
    ]
    assert Nearest(PixelEncoder(), 2).letters(asked) == ["B", "A", "A", "C"]


def test_an_image_without_contrast_is_as_far_from_all_others() -> None:
    grey = PILImage.new("RGB", (40, 40), (90, 90, 90))
    image = picture(1, (40, 40))
    inverted = image.point(lambda value: 255 - value)
    asked = [question(grey, image, picture(2)), question(image, inverted, grey), question(grey, grey, grey)]
    with np.errstate(all="raise"):
        assert Nearest(PixelEncoder(), 4).letters(asked) == ["A", "B", "A"]


# --- batches ------------------------------------------------------------------------------------------------------


def test_each_distinct_image_is_encoded_once_and_in_full_batches() -> None:
    encoder, asked = Counting(), drawn(30)
    model = Nearest(encoder, 5)
    first = model.letters(question(*images) for images in asked)
    assert sorted(encoder.encoded) == sorted({pixel_digest(image) for images in asked for image in images})
    assert encoder.batches == [5, 5, 2]
    # Objects and files may differ where pixels do not, and a second call knows what the first has seen.
    assert model.letters(question(*(image.copy() for image in images)) for images in asked) == first
    assert sum(encoder.batches) == 12


def test_neither_the_size_of_a_batch_nor_the_company_changes_an_answer() -> None:
    asked = [question(*images) for images in drawn(25)]
    alone = [Nearest(PixelEncoder(), 1).letters([one])[0] for one in asked]
    assert len(set(alone)) > 1
    for size in (1, 3, 12, 1000):
        assert Nearest(PixelEncoder(), size).letters(asked) == alone


def test_only_the_reference_and_the_options_are_opened() -> None:
    def never() -> PILImage.Image:
        raise AssertionError("an earlier observation was opened")

    asked = question(picture(1), picture(2), picture(1))
    assert Nearest(PixelEncoder(), 8).letters([replace(asked, parts=(Image(never), *asked.parts))]) == ["B"]


def test_few_images_are_open_at_a_time_however_many_questions_there_are() -> None:
    """Questions are taken as they come, so that at most a batch and what is opened ahead of it are held."""
    taken = 0
    furthest = 0

    def asked() -> Iterator[Question]:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield question(*(picture(5 * number + place) for place in range(5)))

    class Watching(Counting):
        def encode(self, prepared: Sequence[Any]) -> Any:
            nonlocal furthest
            furthest = max(furthest, 5 * taken - len(self.encoded))
            return super().encode(prepared)

    Nearest(Watching(), 10).letters(asked())
    assert taken == 100
    assert 10 <= furthest <= 3 * 10


def test_an_image_that_cannot_be_opened_ends_the_run() -> None:
    def broken() -> PILImage.Image:
        raise DataError("q7, option_b: the image is missing")

    lacking = replace(FITTING, options=(*FITTING.options, Option("C", None, image=Image(broken))))
    with pytest.raises(DataError, match="q7, option_b"):
        Nearest(PixelEncoder(), 8).letters([FITTING, lacking])


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (question(None, picture(1), picture(2)), "no single observation to compare its options with"),
        (question(picture(1), picture(2), None), "options that are no images"),
        (question(picture(1)), "options that are no images"),
    ],
)
def test_a_question_that_does_not_fit_is_refused_with_the_name_of_its_task(asked: Question, reason: str) -> None:
    check_fit([("fits", FITTING)])
    with pytest.raises(
        SettingError, match=rf"^some_task has {reason} \(question q\)\. .*fits tasks whose options"
    ) as e:
        check_fit([("fits", FITTING), ("some_task", asked), ("some_task", asked)])
    assert str(e.value).count("some_task") == 1
    encoder = Counting()
    with pytest.raises(SettingError, match=reason):
        Nearest(encoder, 1).letters([asked])


def test_every_task_that_does_not_fit_is_named() -> None:
    unfit = question(None, picture(1))
    with pytest.raises(SettingError, match=r"first has .*; second has "):
        check_fit([("first", unfit), ("fits", FITTING), ("second", unfit)])


@pytest.mark.parametrize("name", ["", "no/such/folder", "no-such-owner/no-such-model"])
@framework
def test_an_encoder_that_is_not_there_is_one_clear_error(name: str, offline: None) -> None:
    with pytest.raises(SettingError, match=r"encoder=.*'pixels'.*clip.*dinov2") as error:
        encoder_of(name)
    assert name in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_of_no_image_is_an_error(size: int) -> None:
    with pytest.raises(SettingError, match="batch_size"):
        Nearest(PixelEncoder(), size)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


# --- checkpoints --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a checkpoint of this kind, with random weights."""
    made: dict[str, Path] = {}

    def build(kind: str) -> Path:
        from tiny_encoders import build_encoder

        if kind not in made:
            made[kind] = build_encoder(kind, tmp_path_factory.mktemp(kind))
        return made[kind]

    return build


def directly(kind: str, folder: Path) -> Callable[[PILImage.Image], Any]:
    """What the class of this very architecture makes of one image."""
    import torch
    import transformers

    names = {
        "clip": "CLIPModel",
        "siglip": "SiglipVisionModel",
        "vit": "ViTModel",
        "dinov2": "Dinov2Model",
        "dinov2_with_registers": "Dinov2WithRegistersModel",
        "dinov3_vit": "DINOv3ViTModel",
    }
    model = getattr(transformers, names[kind]).from_pretrained(folder).eval()
    processor: Any = transformers.AutoImageProcessor.from_pretrained(folder)

    def vector(image: PILImage.Image) -> Any:
        pixels = processor(images=image, return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            if kind == "clip":
                return model.visual_projection(model.vision_model(pixels).pooler_output)[0].numpy()
            found = model(pixels)
            return (found.pooler_output[0] if kind == "siglip" else found.last_hidden_state[0, 0]).numpy()

    return vector


KINDS = ("clip", "siglip", "vit", "dinov2", "dinov2_with_registers", "dinov3_vit")


@framework
@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_gives_the_vectors_and_answers_of_its_model_asked_image_by_image(
    kind: str, checkpoint: Callable[[str], Path]
) -> None:
    folder = checkpoint(kind)
    asked = drawn(12, distinct=9)
    images = {pixel_digest(image): image for shown in asked for image in shown}
    direct = directly(kind, folder)
    expected = {digest: direct(image) for digest, image in images.items()}
    encoder = encoder_of(str(folder), "cpu")
    found = encoder.encode([encoder.prepare(image) for image in images.values()])
    # A view would keep the tokens of all patches in memory.
    assert found.flags.owndata
    np.testing.assert_allclose(found, np.stack(list(expected.values())), rtol=1e-4, atol=1e-4)
    # Far enough apart that another layer, another token or another image would not pass.
    assert np.abs(found - found[[*range(1, len(found)), 0]]).max(axis=1).min() > 0.05

    def chosen(shown: tuple[PILImage.Image, ...]) -> str:
        reference, *options = (expected[pixel_digest(image)] for image in shown)
        cosines = [reference @ v / np.linalg.norm(reference) / np.linalg.norm(v) for v in options]
        return "ABCD"[int(np.argmax(cosines))]

    answers = [chosen(shown) for shown in asked]
    assert len(set(answers)) > 1
    for size in (1, 4, 50):
        assert Nearest(encoder, size).letters(question(*shown) for shown in asked) == answers


@framework
def test_half_precision_weights_are_run_in_single_precision(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    import shutil

    import torch
    from transformers import ViTModel

    shutil.copytree(checkpoint("vit"), tmp_path / "half")
    ViTModel.from_pretrained(tmp_path / "half", add_pooling_layer=False).half().save_pretrained(tmp_path / "half")
    assert json.loads((tmp_path / "half/config.json").read_text())["dtype"] == "float16"
    encoder = VisionEncoder(str(tmp_path / "half"), "cpu")
    prepared = encoder.prepare(picture(1))
    exact = ViTModel.from_pretrained(tmp_path / "half", dtype=torch.float32, add_pooling_layer=False).double()
    with torch.no_grad():
        expected = exact(prepared[None].double()).last_hidden_state[0, 0].numpy()
    assert np.abs(encoder.encode([prepared])[0] - expected).max() < 1e-4


@framework
def test_a_checkpoint_of_another_architecture_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "resnet"}')
    with pytest.raises(SettingError, match=r"is a checkpoint of 'resnet'\. ENCODER is 'pixels', or .*clip"):
        encoder_of(str(tmp_path))


@framework
@pytest.mark.parametrize("config", [None, "{}", "no JSON", '{"model_type": "unheard_of"}'])
def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: Path, config: str | None) -> None:
    if config:
        (tmp_path / "config.json").write_text(config)
    with pytest.raises(SettingError, match=r"no checkpoint was found .*ENCODER is 'pixels', or .*clip") as error:
        encoder_of(str(tmp_path))
    assert str(tmp_path) in str(error.value)


@framework
@pytest.mark.parametrize("file", ["model.safetensors", "preprocessor_config.json"])
def test_a_checkpoint_that_lacks_a_file_is_refused(
    checkpoint: Callable[[str], Path], tmp_path: Path, file: str
) -> None:
    import shutil

    folder = Path(shutil.copytree(checkpoint("dinov2"), tmp_path / "copy"))
    (folder / file).unlink()
    with pytest.raises(SettingError, match="cannot be loaded"):
        encoder_of(str(folder))
    (folder / file).write_bytes(b"cut")
    with pytest.raises(SettingError, match="cannot be loaded"):
        encoder_of(str(folder))


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> str:
    """Change the weights that are stored in this folder; return its name."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


@framework
@pytest.mark.parametrize(
    ("kind", "name"), [("clip", "visual_projection.weight"), ("dinov2", "layernorm.weight"), ("vit", "layernorm.bias")]
)
def test_weights_that_are_missing_are_an_error_and_not_drawn_at_random(
    checkpoint: Callable[[str], Path], tmp_path: Path, kind: str, name: str
) -> None:
    import shutil

    folder = Path(shutil.copytree(checkpoint(kind), tmp_path / "copy"))
    with pytest.raises(SettingError, match=f"lacks 1 weights, such as {name}"):
        encoder_of(changed(folder, lambda weights: weights.pop(name)))


@framework
def test_weights_that_are_not_finite_are_an_error(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    import shutil

    folder = Path(shutil.copytree(checkpoint("dinov2"), tmp_path / "copy"))
    encoder = encoder_of(changed(folder, lambda weights: weights["layernorm.weight"].fill_(float("nan"))))
    with pytest.raises(SettingError, match="not finite"):
        Nearest(encoder, 4).letters([FITTING])


@framework
@pytest.mark.parametrize("device", ["cdua", "cuda:99"])
def test_a_device_that_is_not_there_is_an_error(checkpoint: Callable[[str], Path], device: str) -> None:
    with pytest.raises(SettingError, match=f"device={device} cannot be used"):
        encoder_of(str(checkpoint("vit")), device)


# --- as lmms-eval asks it -----------------------------------------------------------------------------------------


@framework
def test_the_model_is_listed_for_lmms_eval() -> None:
    from lmms_eval.models import get_model

    from lmms_eval_tasks.models.similarity import Similarity

    assert get_model("spotdiff_similarity") is Similarity


@framework
@pytest.mark.parametrize(
    ("arguments", "beside", "expected"),
    [
        ("encoder=pixels", {"batch_size": 1, "max_batch_size": None, "device": None}, BATCH_SIZE),
        ("encoder=pixels", {"batch_size": "1"}, 1),
        ("encoder=pixels", {"batch_size": "8", "device": "cpu"}, 8),
        ("encoder=pixels,batch_size=4,device=cpu", {"batch_size": 1, "device": "cuda"}, 4),
    ],
)
def test_the_batch_size_comes_from_the_arguments_or_the_command_line(
    arguments: str, beside: dict[str, Any], expected: int
) -> None:
    from lmms_eval_tasks.models.similarity import Similarity

    assert Similarity.create_from_arg_string(arguments, beside)._nearest.batch_size == expected


@framework
@pytest.mark.parametrize("arguments", ["", "encoder=pixels,batch_size=auto", "encoder=pixels,batch_size=0"])
def test_arguments_that_cannot_be_used_are_an_error(arguments: str) -> None:
    from lmms_eval_tasks.models.similarity import Similarity

    with pytest.raises(SettingError, match=r"encoder=|batch_size="):
        Similarity.create_from_arg_string(arguments, {"batch_size": 1})


@framework
def test_a_task_of_other_options_is_refused_before_an_image_is_opened(
    make_row: Callable[..., dict[str, Any]], data_folder: Callable[..., Path]
) -> None:
    from types import SimpleNamespace

    from lmms_eval_tasks.models.similarity import Similarity

    task = "m4bench_state_invariance"
    data_folder(state_invariance=[make_row("a", image_1=None, visual_prompt_boxes=[], visual_prompt="")])
    rows = getattr(documents, task)(None)
    adapter.doc_to_text(rows[0], {"model": "spotdiff_baseline"})
    model = Similarity("pixels")
    model.task_dict[task] = {"test": rows}
    with pytest.raises(SettingError, match=f"^{task} has options that are no images"):
        model.generate_until([SimpleNamespace(args=("", {}, None, 0, task, "test"))])  # type: ignore[list-item]
