"""GPUs, and folders: room, and whether they can be written."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spotdiff.doctor.findings import Finding, Mark
from spotdiff.doctor.processes import Unanswered, ask_python, run
from spotdiff.doctor.versions import version
from spotdiff.errors import SettingError
from spotdiff.settings import Settings, load_settings

_ROOM = 2 * 10**9
"""Bytes. Less is soon used up by frames, logs and predictions of one run."""

_TORCH = """
import torch
cuda = torch.cuda
there = cuda.is_available()
properties = [cuda.get_device_properties(number) for number in range(cuda.device_count())] if there else []
devices = [[each.name, each.total_memory] for each in properties]
answer({"built": torch.version.cuda or torch.version.hip, "devices": devices})
"""


def check_gpu() -> Iterator[Finding]:
    seen = _nvidia()
    for line in seen:
        yield Finding(Mark.ok, line)
    if not seen:
        yield Finding(Mark.note, "nvidia-smi shows no GPU: local models run on the CPU, served ones are not concerned")
    if version("torch") is None:
        return
    try:
        found = ask_python(_TORCH)
    except Unanswered as failure:
        mark = Mark.fault if failure.in_time else Mark.warning
        yield Finding(mark, f"torch cannot be imported: {failure}", "pip install --force-reinstall torch torchvision")
        return
    yield _torch(found, bool(seen))


def _nvidia() -> list[str]:
    query = "--query-gpu=name,memory.total,memory.used,driver_version"
    try:
        lines = run(["nvidia-smi", query, "--format=csv,noheader"], limit=20).splitlines()
    except Unanswered:
        return []
    return [f"{name}, {total} ({used} in use), driver {driver}" for name, total, used, driver in map(_cells, lines)]


def _cells(line: str) -> list[str]:
    return ([cell.strip() for cell in line.split(",")] + ["unknown"] * 4)[:4]


def _torch(found: dict[str, Any], has_gpu: bool) -> Finding:
    built = f"torch is built for {'CUDA ' + found['built'] if found['built'] else 'the CPU alone'}"
    if found["devices"]:
        each = ", ".join(f"{name} ({memory / 2**30:.0f} GiB)" for name, memory in found["devices"])
        return Finding(Mark.ok, f"{built} and sees {each}")
    if not has_gpu:
        return Finding(Mark.ok, built)
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return Finding(Mark.warning, f"{built}; CUDA_VISIBLE_DEVICES hides the GPU", "unset CUDA_VISIBLE_DEVICES")
    remedy = "install a torch built for a CUDA that the driver knows, or update the driver: https://pytorch.org"
    return Finding(Mark.warning, f"{built} and sees no GPU, though there is one", remedy)


def check_folders() -> Iterator[Finding]:
    hub = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    folders = {"HF_HOME": ("cache of the Hub", Path(hub).expanduser()), "TMPDIR": ("temporary", _temporary())}
    try:
        settings = load_settings()
    except SettingError:
        settings = Settings()
    folders["SPOTDIFF_DATA"] = ("data", settings.data)
    folders["SPOTDIFF_MEDIA_CACHE"] = ("media cache", settings.media_cache)
    for variable, (what, folder) in folders.items():
        # Data that are prepared are only read.
        mark = Mark.warning if variable == "SPOTDIFF_DATA" and folder.is_dir() else Mark.fault
        yield _folder(what, folder, f"set {variable} to another folder", mark)


def _temporary() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except OSError:  # None of the usual ones can be written.
        return Path(os.environ.get("TMPDIR", "/tmp"))


def _folder(what: str, folder: Path, elsewhere: str, unwritable: Mark) -> Finding:
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    said = f"{what}: {folder}" + ("" if there == folder else " (not made yet)")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
        free = shutil.disk_usage(there).free
    except OSError as error:
        return Finding(unwritable, f"{said} cannot be written ({error.strerror})", f"make it writable, or {elsewhere}")
    mark = Mark.ok if free >= _ROOM else Mark.warning
    return Finding(mark, f"{said}, {free / 1e9:,.1f} GB free", "" if mark is Mark.ok else f"make room, or {elsewhere}")
