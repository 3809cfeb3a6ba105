"""Randomly initialised models of real architectures, small enough to build in a test and to run on a CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>")
_PADS = ("<|image_pad|>", "<|video_pad|>")
_INTERNVL = {
    "start_image_token": "<img>",
    "end_image_token": "</img>",
    "context_image_token": "<IMG_CONTEXT>",
    "video_token": "<video>",
}


def _chat_template(image: str, video: str) -> str:
    return (
        "{% for message in messages %}<|im_start|>{{ message.role }}\n"
        "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
        f"{{% if part.type == 'image' %}}{image}{{% elif part.type == 'video' %}}{video}"
        "{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )


_QWEN_TEMPLATE = _chat_template(*(f"<|vision_start|>{pad}<|vision_end|>" for pad in _PADS))
_INTERNVL_TEMPLATE = _chat_template("<IMG_CONTEXT>\n", "<video>\n")


def build_qwen2_5_vl(folder: Path, patch: int = 14) -> Path:
    """Save a Qwen2.5-VL of about 100,000 parameters with its processor to `folder`, as `from_pretrained` wants it.

    patch: side of a patch in pixels; one token stands for 2 x 2 patches of 2 frames. Large patches make few tokens.
    """
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    tokenizer = _byte_tokenizer(_QWEN_TEMPLATE, _PADS)
    patches: dict[str, Any] = {"patch_size": patch, "temporal_patch_size": 2, "merge_size": 2}
    Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessorPil(**patches),
        video_processor=Qwen2VLVideoProcessor(**patches),
        tokenizer=tokenizer,
        chat_template=_QWEN_TEMPLATE,
    ).save_pretrained(folder)

    torch.manual_seed(0)
    config = Qwen2_5_VLConfig(
        text_config=_qwen_text(tokenizer),
        vision_config={
            **_QWEN_VISION,
            "patch_size": patch,
            "window_size": 8 * patch,
            "fullatt_block_indexes": [1],
        },
        **_qwen_ids(tokenizer),
    )
    Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    return folder


def build_qwen3_vl(folder: Path, patch: int = 16) -> Path:
    """Save a Qwen3-VL of about 100,000 parameters with its processor to `folder`, as `from_pretrained` wants it.

    patch: side of a patch in pixels; one token stands for 2 x 2 patches of 2 frames. Large patches make few tokens.
    """
    import torch
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
    from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

    tokenizer = _byte_tokenizer(_QWEN_TEMPLATE, _PADS)
    patches: dict[str, Any] = {"patch_size": patch, "temporal_patch_size": 2, "merge_size": 2}
    size = {"shortest_edge": 32 * 32, "longest_edge": 128 * 128}
    Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessorPil(**patches, size=size),
        video_processor=Qwen3VLVideoProcessor(**patches),
        tokenizer=tokenizer,
        chat_template=_QWEN_TEMPLATE,
    ).save_pretrained(folder)

    torch.manual_seed(0)
    config = Qwen3VLConfig(
        text_config=_qwen_text(tokenizer),
        vision_config={
            **_QWEN_VISION,
            "patch_size": patch,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        **_qwen_ids(tokenizer),
    )
    Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    return folder


_QWEN_VISION = {
    "depth": 2,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_heads": 2,
    "out_hidden_size": 32,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}


def _qwen_text(tokenizer: Any) -> dict[str, Any]:
    return {
        **_text(tokenizer),
        "head_dim": 16,
        "rope_parameters": {"rope_type": "default", "mrope_section": [4, 2, 2], "rope_theta": 10000.0},
    }


def _text(tokenizer: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "bos_token_id": None,
        "eos_token_id": tokenizer.convert_tokens_to_ids("<|im_end|>"),
    }


def _qwen_ids(tokenizer: Any) -> dict[str, int]:
    names = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    return {key: tokenizer.convert_tokens_to_ids(name) for key, name in names.items()}


def build_internvl(folder: Path, patch: int = 112) -> Path:
    """Save an InternVL in the form of `transformers`, with its processor, to `folder`.

    It sees pictures of 448 x 448. patch: side of a patch in pixels; one token stands for 2 x 2 patches of a frame.
    """
    import torch
    from transformers import InternVLConfig, InternVLForConditionalGeneration, InternVLProcessor
    from transformers.models.got_ocr2.image_processing_got_ocr2 import GotOcr2ImageProcessor
    from transformers.models.internvl.video_processing_internvl import InternVLVideoProcessor

    side = 448
    tokens = (side // patch // 2) ** 2
    tokenizer = _byte_tokenizer(_INTERNVL_TEMPLATE, tuple(_INTERNVL.values()), _INTERNVL)
    size = {"height": side, "width": side}
    InternVLProcessor(
        image_processor=GotOcr2ImageProcessor(size=size),
        video_processor=InternVLVideoProcessor(size=size),
        tokenizer=tokenizer,
        image_seq_length=tokens,
        chat_template=_INTERNVL_TEMPLATE,
    ).save_pretrained(folder)

    torch.manual_seed(0)
    config = InternVLConfig(
        text_config={"model_type": "qwen2", **_text(tokenizer)},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": [side, side],
            "patch_size": [patch, patch],
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=tokens,
    )
    InternVLForConditionalGeneration(config).save_pretrained(folder)
    return folder


def _byte_tokenizer(chat_template: str, pads: Sequence[str], roles: Mapping[str, str] | None = None) -> Any:
    """A tokenizer that knows the 256 bytes and the special words, and merges nothing.

    roles: attribute of the tokenizer -> special word, as some processors look for them.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import Qwen2Tokenizer

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(name, special=True) for name in (*_SPECIAL, *pads)])
    named: dict[str, Any] = {"extra_special_tokens": dict(roles)} if roles else {}
    tokenizer = Qwen2Tokenizer(
        tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|endoftext|>", unk_token=None, **named
    )
    tokenizer.chat_template = chat_template
    return tokenizer
