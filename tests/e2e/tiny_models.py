"""Randomly initialised models of real architectures, small enough to build in a test and to run on a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>")
_PADS = ("<|image_pad|>", "<|video_pad|>")

_CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif part.type == 'video' %}<|vision_start|><|video_pad|><|vision_end|>"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build_qwen3_vl(folder: Path) -> Path:
    """Save a Qwen3-VL of about 100,000 parameters with its processor to `folder`, as `from_pretrained` wants it."""
    import torch
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
    from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

    tokenizer = _byte_tokenizer()
    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in (*_SPECIAL, *_PADS)}
    patches: dict[str, Any] = {"patch_size": 16, "temporal_patch_size": 2, "merge_size": 2}
    size = {"shortest_edge": 32 * 32, "longest_edge": 128 * 128}
    Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessorPil(**patches, size=size),
        video_processor=Qwen3VLVideoProcessor(**patches),
        tokenizer=tokenizer,
        chat_template=_CHAT_TEMPLATE,
    ).save_pretrained(folder)

    torch.manual_seed(0)
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 16,
            "rope_parameters": {"rope_type": "default", "mrope_section": [4, 2, 2], "rope_theta": 10000.0},
            "eos_token_id": ids["<|im_end|>"],
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "out_hidden_size": 32,
            "patch_size": 16,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    return folder


def _byte_tokenizer() -> Any:
    """A tokenizer that knows the 256 bytes and the special words, and merges nothing."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import Qwen2Tokenizer

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(name, special=True) for name in (*_SPECIAL, *_PADS)])
    tokenizer = Qwen2Tokenizer(tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|endoftext|>", unk_token=None)
    tokenizer.chat_template = _CHAT_TEMPLATE
    return tokenizer
