"""Randomly initialised vision models of real architectures, saved as `from_pretrained` wants them.

Their weights are large, so that images which differ get vectors that point apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

SIDE = 32
"""Of the square that they see, in pixels."""

_LAYERS: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": SIDE,
    "patch_size": 8,
}
_TEXT: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 1,
}
_SPREAD: dict[str, Any] = {"initializer_range": 0.3}
_SQUEEZED: dict[str, Any] = {"size": {"height": SIDE, "width": SIDE}}
_CROPPED: dict[str, Any] = {
    "size": {"shortest_edge": SIDE + 4},
    "crop_size": {"height": SIDE, "width": SIDE},
}


def _clip() -> tuple[Any, Any]:
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    vision = {**_LAYERS, "initializer_factor": 20.0}
    config = CLIPConfig(text_config=_TEXT, vision_config=vision, projection_dim=24, initializer_factor=20.0)
    return CLIPModel(config), CLIPImageProcessor(**_CROPPED)


def _siglip() -> tuple[Any, Any]:
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel

    return SiglipModel(SiglipConfig(text_config=_TEXT, vision_config=_LAYERS)), SiglipImageProcessor(**_SQUEEZED)


def _vit() -> tuple[Any, Any]:
    from transformers import ViTConfig, ViTImageProcessor, ViTModel

    # As DINO's checkpoints are.
    return ViTModel(ViTConfig(**_LAYERS, **_SPREAD), add_pooling_layer=False), ViTImageProcessor(**_SQUEEZED)


def _dinov2() -> tuple[Any, Any]:
    from transformers import BitImageProcessor, Dinov2Config, Dinov2Model

    return Dinov2Model(Dinov2Config(**_LAYERS, **_SPREAD)), BitImageProcessor(**_CROPPED)


def _dinov2_with_registers() -> tuple[Any, Any]:
    from transformers import BitImageProcessor, Dinov2WithRegistersConfig, Dinov2WithRegistersModel

    return Dinov2WithRegistersModel(Dinov2WithRegistersConfig(**_LAYERS, **_SPREAD)), BitImageProcessor(**_CROPPED)


def _dinov3_vit() -> tuple[Any, Any]:
    from transformers import DINOv3ViTConfig, DINOv3ViTModel, ViTImageProcessor

    # Its own processor has another name in other versions.
    return DINOv3ViTModel(DINOv3ViTConfig(**_LAYERS, **_SPREAD)), ViTImageProcessor(**_SQUEEZED)


BUILDERS: Mapping[str, Callable[[], tuple[Any, Any]]] = {
    "clip": _clip,
    "siglip": _siglip,
    "vit": _vit,
    "dinov2": _dinov2,
    "dinov2_with_registers": _dinov2_with_registers,
    "dinov3_vit": _dinov3_vit,
}
"""`model_type` -> model and image processor."""


def build_encoder(kind: str, folder: Path) -> Path:
    """Save a model of this kind with its image processor to `folder`; return the folder."""
    import torch

    torch.manual_seed(0)
    model, processor = BUILDERS[kind]()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
