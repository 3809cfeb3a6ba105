"""Encoders of single images: their pixels, or a vision model of `transformers`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spotdiff.errors import SettingError

if TYPE_CHECKING:
    from PIL import Image as PILImage

Vectors = NDArray[np.float32]
"""One row an image."""

PIXELS = "pixels"

CELLS = 32
"""Rows and columns of cells that PixelEncoder divides an image into."""


class Encoder(Protocol):
    """Turns images into vectors in two steps, so that the first can run in threads ahead of the second."""

    def prepare(self, image: PILImage.Image) -> Any:
        """What `encode` needs of an RGB image: an array of a fixed size, however large the image."""

    def encode(self, prepared: Sequence[Any]) -> Vectors:
        """The vectors of one or more prepared images, in order, not normalised."""


def encoder_of(name: str, device: str | None = None) -> Encoder:
    """The encoder of this name: `pixels`, or the Hub id or folder of a checkpoint.

    device: where a checkpoint runs, such as `cpu` or `cuda:1`; by default on a GPU where there is one.
    Raises SettingError when it cannot be loaded.
    """
    if not name:
        raise SettingError(f"spotdiff_similarity needs --model_args encoder=ENCODER. {_accepted()}")
    return PixelEncoder() if name == PIXELS else VisionEncoder(name, device)


class PixelEncoder:
    """The mean colours of 32 x 32 cells, less the mean of them all: the cosine of two images is their correlation."""

    def prepare(self, image: PILImage.Image) -> Vectors:
        from PIL import Image

        cells = np.asarray(image.resize((CELLS, CELLS), Image.Resampling.BOX), dtype=np.float32).ravel()
        centred: Vectors = cells - cells.mean()
        return centred

    def encode(self, prepared: Sequence[Any]) -> Vectors:
        return np.stack(prepared)


def _pooled(model: Any, pixels: Any) -> Any:
    found = model.get_image_features(pixel_values=pixels)
    # The features themselves up to transformers 4, since then an object that holds them.
    return getattr(found, "pooler_output", found)


def _class_token(model: Any, pixels: Any) -> Any:
    return model(pixel_values=pixels).last_hidden_state[:, 0]


_FEATURES: Mapping[str, Callable[[Any, Any], Any]] = {
    "clip": _pooled,
    "siglip": _pooled,
    "vit": _class_token,
    "dinov2": _class_token,
    "dinov2_with_registers": _class_token,
    "dinov3_vit": _class_token,
}
"""`model_type` of a checkpoint -> its vector of an image, see VisionEncoder."""

_LOADED_WITH: Mapping[str, Mapping[str, Any]] = {"vit": {"add_pooling_layer": False}}
"""`model_type` -> arguments of its model. The checkpoints of DINO have no pooler, and its output is not used."""


class VisionEncoder:
    """A checkpoint of CLIP, SigLIP, ViT (DINO is one), DINOv2 or DINOv3, with the preprocessing that belongs to it.

    Its vector of an image is the one that each was trained to compare images by, or nearest to it. CLIP: the image
    features in the space shared with text, after the projection. SigLIP: the output of its attention pooling, its
    shared space. DINO, DINOv2, DINOv3, ViT: the class token of the last layer after the final norm, which their authors
    use for nearest neighbours; the head that DINO is trained with is part of no checkpoint.

    Many checkpoints, CLIP's among them, cut an image to its middle square. Runs in float32.
    """

    def __init__(self, name: str, device: str | None = None) -> None:
        """name: Hub id or folder. Raises SettingError, see `encoder_of`."""
        self._name = name
        kind = _kind(name)
        if kind not in _FEATURES:
            raise SettingError(f"encoder={name} is a checkpoint of {kind!r}. {_accepted()}")
        self._features = _FEATURES[kind]
        self._processor, model = _load(name, kind)
        self._device, self._model = _placed(model.float().eval(), device)

    def prepare(self, image: PILImage.Image) -> Any:
        """Tensor of 3 x height x width in float32."""
        return self._processor(images=image, return_tensors="pt")["pixel_values"][0]

    def encode(self, prepared: Sequence[Any]) -> Vectors:
        """Raises SettingError when a vector holds what is no finite number: broken weights."""
        import torch

        # Convolutions take shorter floats by default, and whichever algorithm is the fastest at the moment.
        exact = torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)
        with torch.inference_mode(), exact:
            found = self._features(self._model, torch.stack(list(prepared)).to(self._device))
        # A copy: the class tokens alone would keep all tokens of the layer.
        vectors: Vectors = np.array(found.cpu().numpy())
        if not np.isfinite(vectors).all():
            raise SettingError(f"encoder={self._name} gives vectors that are not finite: its weights are broken")
        return vectors


def _kind(name: str) -> str:
    from transformers import AutoConfig

    try:
        return str(AutoConfig.from_pretrained(name, trust_remote_code=False).model_type)
    except Exception as error:  # Those of the Hub, of files and of JSON.
        raise SettingError(f"encoder={name}: no checkpoint was found ({_reason(error)}). {_accepted()}") from error


def _load(name: str, kind: str) -> tuple[Any, Any]:
    """Processor and model. Raises SettingError, also where weights are missing: they would be drawn at random."""
    from transformers import AutoImageProcessor, AutoModel

    processors: Any = AutoImageProcessor  # Typed in part, and not in every version.
    try:
        processor = processors.from_pretrained(name, trust_remote_code=False)
        model, found = AutoModel.from_pretrained(
            name, trust_remote_code=False, output_loading_info=True, **_LOADED_WITH.get(kind, {})
        )
    except Exception as error:  # Each format of weights has errors of its own.
        raise SettingError(f"encoder={name}: the checkpoint cannot be loaded ({_reason(error)})") from error
    missing = sorted(found["missing_keys"])
    if missing:
        raise SettingError(f"encoder={name}: the checkpoint lacks {len(missing)} weights, such as {missing[0]}")
    return processor, model


def _placed(model: Any, device: str | None) -> tuple[Any, Any]:
    """The device and the model on it. Raises SettingError when there is no such device."""
    import torch

    name = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda":
        # Each process of a machine takes a GPU of its own.
        name = f"cuda:{int(os.environ.get('LOCAL_RANK', 0)) % max(1, torch.cuda.device_count())}"
    try:
        return torch.device(name), model.to(name)
    except (RuntimeError, AssertionError) as error:
        raise SettingError(f"device={device} cannot be used ({_reason(error)}). Name another, such as cpu") from error


def _accepted() -> str:
    return (
        f"ENCODER is {PIXELS!r}, or the Hub id or folder of a checkpoint, with its preprocessor_config.json, of one of "
        f"{', '.join(_FEATURES)} (DINO is a vit)"
    )


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
