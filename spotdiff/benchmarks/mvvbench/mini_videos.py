"""Writes frames as a small mp4 file of a constant frame rate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotdiff.benchmarks.mvvbench.mini_world import SIZE

if TYPE_CHECKING:
    from PIL import Image as PILImage

_OPTIONS = {"crf": "23", "preset": "veryslow", "tune": "animation", "threads": "1"}
"""One thread, so that one build of the encoder always gives the same bytes."""


def write_mp4(path: Path, frames: Iterable[PILImage.Image], rate: int) -> None:
    """H.264 in an mp4 file. rate: frames per second."""
    import av

    with av.open(str(path), "w", format="mp4", options={"fflags": "+bitexact"}) as output:
        stream: Any = output.add_stream("libx264", rate=rate, options=_OPTIONS)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        for image in frames:
            output.mux(stream.encode(av.VideoFrame.from_image(image)))
        output.mux(stream.encode(None))
