"""A recognisable key, given in each way that a user may choose, is in nothing that a run of a framework leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pixel_server import Fault, PixelServer, first

pytestmark = pytest.mark.e2e

KEY, OTHER = "x9Recognisable7Key5Of3Nobody", "y8Recognisable6Key4InThe2Environment"
"""What is given among the arguments and in the environment; neither has the shape of a known service's keys."""

_SAID = f"Wrong key {KEY} or {OTHER}, ask for another one"
REFUSED = Fault(401, body=f'{{"error": {{"message": "{_SAID}", "code": null}}}}'.encode())
MASKED = "Wrong key ... or ..., ask for another one"


def finished(program: str, *words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name(program)), *words],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "SPOTDIFF_MEDIA_CACHE": str(folder / "media"), **environment},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )


def places_of_keys(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*"):
        content = str(file).encode() + (file.read_bytes() if file.is_file() else b"")
        if KEY.encode() in content or OTHER.encode() in content:
            yield str(file.relative_to(folder))


def test_no_key_that_lmms_eval_was_given_is_left_anywhere(tmp_path: Path) -> None:
    with PixelServer(box_family="pixels", fault=first(1, REFUSED)) as server:
        arguments = (
            f"model_version=reader,base_url={server.url},timeout=60,max_retries=1,num_concurrent=1,api_key={KEY}"
        )
        words = ("--model_args", arguments, "--tasks", "m4bench_mini_state_comparison", "--limit", "3")
        kept = ("--output_path", str(tmp_path / "runs"), "--log_samples", "--use_cache", str(tmp_path / "replies"))
        done = finished("lmms-eval", "--model", "openai", *words, *kept, folder=tmp_path, OPENAI_API_KEY=OTHER)
    (samples,) = tmp_path.rglob("*_samples_*.jsonl")
    assert MASKED in samples.read_text()
    assert "api_key=..." in done.stdout
    assert KEY not in done.stdout
    assert OTHER not in done.stdout
    assert list(places_of_keys(tmp_path)) == []


def test_no_key_that_vlmevalkit_was_given_is_left_anywhere(tmp_path: Path) -> None:
    data = ("--data", "M4Bench_Mini_State_Comparison", "--limit", "3")
    with PixelServer(box_family="pixels", fault=first(1, REFUSED)) as server:
        model = ("--model", "reader", "--base-url", server.url, "--key", KEY, "--retry", "1", "--verbose")
        done = finished("vlmeval", "run", *data, *model, folder=tmp_path, LMDEPLOY_API_KEY=OTHER)
    (status,) = {file.resolve() for file in tmp_path.rglob("status.json")}
    words = json.loads(status.read_text())["argv"]
    assert words[words.index("--key") + 1] == "..."
    assert MASKED in done.stdout
    assert KEY not in done.stdout
    assert OTHER not in done.stdout
    assert list(places_of_keys(tmp_path)) == []
