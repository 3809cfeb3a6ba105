"""Decoders of video: whether they work, whether they agree, and what those of the frameworks lack."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spotdiff.doctor.findings import Finding, Mark
from spotdiff.doctor.processes import Unanswered, ask_python
from spotdiff.doctor.versions import version

if TYPE_CHECKING:
    from spotdiff.media.video import Decoder

_PYAV = """
import av
answer({name: ".".join(map(str, number)) for name, number in av.library_versions.items()})
"""
_DECODE = """
from spotdiff.doctor.media import decoded
answer(decoded({decoder!r}))
"""
_TORCHCODEC = """
import torchcodec.decoders
answer(True)
"""
_TORCHVISION = """
import torchvision.io
answer(hasattr(torchvision.io, "read_video"))
"""
_DECORD_READS = "set FORCE_QWENVL_VIDEO_READER=decord"


def check() -> Iterator[Finding]:
    try:
        libraries = ask_python(_PYAV)
    except Unanswered as failure:
        yield Finding(Mark.fault, f"PyAV cannot be imported: {failure}", "pip install --force-reinstall 'av>=15'")
        return
    yield Finding(
        Mark.ok, f"PyAV {version('av')} with {', '.join(f'{name} {number}' for name, number in libraries.items())}"
    )
    yield _compared()
    yield _ffmpeg()
    yield from _of_frameworks()


def _compared() -> Finding:
    try:
        ours = ask_python(_DECODE.format(decoder="pyav"))
    except Unanswered as failure:
        mark = Mark.fault if failure.in_time else Mark.warning
        return Finding(mark, f"PyAV cannot decode a video made just now: {failure}", "pip install --force-reinstall av")
    if version("decord") is None:
        return Finding(Mark.note, "decord is not installed (it has no wheel for every platform): PyAV decodes alone")
    try:
        theirs = ask_python(_DECODE.format(decoder="decord"))
    except Unanswered as failure:
        remedy = "pip install --force-reinstall decord; PyAV decodes without it"
        return Finding(Mark.warning, f"decord cannot decode a video made just now: {failure}", remedy)
    if ours != theirs:
        remedy = "pip install --force-reinstall av decord"
        return Finding(Mark.warning, "PyAV and decord decode a video made just now differently", remedy)
    return Finding(Mark.ok, f"PyAV and decord decode a video made just now to the same {len(ours)} frames")


def _ffmpeg() -> Finding:
    path = shutil.which("ffmpeg")
    if path:
        return Finding(Mark.ok, f"FFmpeg is in {path}; spotdiff itself uses the one within PyAV")
    return Finding(Mark.note, "there is no ffmpeg command; spotdiff itself uses the FFmpeg within PyAV")


def _of_frameworks() -> Iterator[Finding]:
    """What matters where a model reads video files itself (`video_form = path`), as Qwen's do by qwen_vl_utils."""
    if version("torchcodec") and (failure := _failure(_TORCHCODEC)):
        yield Finding(
            Mark.warning,
            f"torchcodec cannot be imported, and qwen_vl_utils with it where it reads videos: {failure}",
            f"install FFmpeg, or pip uninstall torchcodec, or {_DECORD_READS}",
        )
    if version("torchvision") and version("qwen-vl-utils") and not version("torchcodec") and not version("decord"):
        try:
            reads = ask_python(_TORCHVISION)
        except Unanswered as failure:
            yield Finding(Mark.warning, f"torchvision: {failure}", "pip install --force-reinstall torch torchvision")
            return
        if not reads:
            text = "torchvision has no read_video any more, and nothing else is there for qwen_vl_utils to read videos"
            yield Finding(Mark.warning, text, f"pip install decord, and {_DECORD_READS}")


def _failure(code: str) -> str:
    try:
        ask_python(code)
    except Unanswered as failure:
        return str(failure)
    return ""


def decoded(decoder: Decoder) -> list[str]:
    """Digests of the frames of a small video, which is made first, as this decoder gives them.

    Raises SpotdiffError, or whatever a broken decoder raises.
    """
    from spotdiff.errors import SpotdiffError
    from spotdiff.media.images import pixel_digest
    from spotdiff.media.sampling import Sampling
    from spotdiff.media.video import read_clip

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        clip = read_clip(path, Sampling(count=_write(path), size=None), decoder)
    if clip.decoder != decoder:
        raise SpotdiffError(f"{decoder} cannot open it")
    return [pixel_digest(frame) for frame in clip.frames]


def _write(path: Path) -> int:
    """A bar that moves across a grey picture, encoded by what every FFmpeg has; the number of frames."""
    import av
    import numpy as np

    width, height, frames = 64, 48, 12
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(frames):
            picture = np.full((height, width, 3), 90, np.uint8)
            picture[:, number * 5 : number * 5 + 6] = (220, 40, 20 * number)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return frames
