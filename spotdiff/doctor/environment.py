"""Settings in force, and the environment variables that change what a run does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from spotdiff.doctor.findings import Finding, Mark
from spotdiff.errors import SettingError
from spotdiff.secrets import is_secret
from spotdiff.settings import FILE_NAME, JUDGE_KEY, load_settings

_SECRETS = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "LMDEPLOY_API_KEY", "HF_TOKEN", JUDGE_KEY)

_VARIABLES = {
    "HF_HOME": "cache of the Hub",
    "HF_HUB_OFFLINE": "whether the Hub is asked",
    "HF_DATASETS_OFFLINE": "whether the Hub is asked for data",
    "HF_ENDPOINT": "address of the Hub",
    "OPENAI_API_BASE": "server of lmms-eval's `openai` without base_url",
    "LMDEPLOY_API_BASE": "server of VLMEvalKit without --base-url",
    "LMUData": "data folder of VLMEvalKit",
    "MMEVAL_ROOT": "goes before --work-dir of VLMEvalKit",
    "PRED_FORMAT": "form of VLMEvalKit's predictions",
    "FORCE_QWENVL_VIDEO_READER": "decoder of qwen_vl_utils",
    "LMMS_EVAL_PLUGINS": "does nothing for tasks",
    "LMMS_IMAGE_ENCODE_FORMAT": "form of images that lmms-eval sends",
    "CUDA_VISIBLE_DEVICES": "GPUs in use",
    "HTTP_PROXY": "proxy",
    "HTTPS_PROXY": "proxy",
    "NO_PROXY": "hosts without proxy",
    "TMPDIR": "temporary files",
}


def check_settings() -> Iterator[Finding]:
    file = Path.cwd() / FILE_NAME
    try:
        changed = load_settings().changed()
    except SettingError as error:
        yield Finding(Mark.fault, str(error), "mend the setting that is named; `spotdiff` lists them in its README")
        return
    yield Finding(Mark.ok, f"{file} is read" if file.exists() else f"there is no {FILE_NAME} in {Path.cwd()}")
    for name, value in changed.items():
        yield Finding(Mark.ok, f"{name} = {value}")
    if not changed:
        yield Finding(Mark.ok, "all settings have their defaults")


def check_variables() -> Iterator[Finding]:
    for name, meaning in _VARIABLES.items():
        if value := os.environ.get(name) or os.environ.get(name.lower()):
            yield Finding(Mark.note, f"{name} = {'(set)' if is_secret(name) else value} ({meaning})")
    for name in _SECRETS:
        yield Finding(Mark.note, f"{name} is {'set' if os.environ.get(name) else 'not set'}")
    if os.environ.get("LMDEPLOY_API_KEY"):
        yield Finding(Mark.note, "LMDEPLOY_API_KEY goes before --key of `vlmeval run`")
