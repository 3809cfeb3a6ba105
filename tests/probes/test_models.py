"""A model's label in the store: the same for the same model, another one for whatever may change its texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotdiff.probes.models import Model

ARGUMENTS = "pretrained=Qwen/Qwen3-VL-8B-Instruct,max_pixels=1000,device_map=auto"


def test_a_label_begins_with_the_name_of_the_weights() -> None:
    assert Model.of("qwen3_vl", ARGUMENTS).label.startswith("Qwen3-VL-8B-Instruct-")
    assert Model.of("openai", "model_version=gpt-4o").label.startswith("gpt-4o-")
    assert Model.of("vllm", "model=/models/some thing/").label.startswith("some-thing-")
    assert Model.of("spotdiff_baseline").label.startswith("spotdiff_baseline-")


@pytest.mark.parametrize(
    "same",
    [
        "device_map=auto,max_pixels=1000,pretrained=Qwen/Qwen3-VL-8B-Instruct",
        " pretrained = Qwen/Qwen3-VL-8B-Instruct, max_pixels=1000,device_map=auto,",
        ARGUMENTS + ",chunk=4,batch_size=4,timeout=3,num_concurrent=9",
        ARGUMENTS + ",api_key=sk-0123456789abcdef",
    ],
)
def test_order_pace_and_keys_do_not_matter(same: str) -> None:
    assert Model.of("qwen3_vl", same).label == Model.of("qwen3_vl", ARGUMENTS).label


@pytest.mark.parametrize("other", [ARGUMENTS + ",attn=eager", ARGUMENTS.replace("1000", "1001"), ""])
def test_other_arguments_or_another_kind_of_model_have_another_label(other: str) -> None:
    assert Model.of("qwen3_vl", other).label != Model.of("qwen3_vl", ARGUMENTS).label
    assert Model.of("qwen2_5_vl", ARGUMENTS).label != Model.of("qwen3_vl", ARGUMENTS).label


def test_weights_that_were_trained_on_in_their_folder_have_another_label(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"12345678")
    before = Model.of("qwen3_vl", f"pretrained={tmp_path}").label
    assert Model.of("qwen3_vl", f"pretrained={tmp_path}").label == before
    (tmp_path / "model.safetensors").write_bytes(b"12345679")
    assert Model.of("qwen3_vl", f"pretrained={tmp_path}").label != before


def test_arguments_may_come_as_a_mapping_too() -> None:
    assert Model.of("m", {"a": 1, "b": "x=y"}).label == Model.of("m", "b=x=y,a=1").label


def test_no_secret_is_told() -> None:
    model = Model.of("openai", "model_version=m,api_key=verysecretvalue,base_url=http://me:verysecretvalue@host/v1")
    assert "verysecretvalue" not in model.label + str(model)
