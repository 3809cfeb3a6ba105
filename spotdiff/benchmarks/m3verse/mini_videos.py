"""Writes frames as a small mp4 file."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image as PILImage

_TICK = Fraction(1, 1000)
_OPTIONS = {"crf": "21", "preset": "slower", "tune": "animation", "threads": "1"}
"""One thread, so that one build of the encoder always gives the same bytes."""


def write_mp4(path: Path, frames: Sequence[PILImage.Image], starts: Sequence[int]) -> None:
    """H.264 in an mp4 file. starts: when each frame is shown first, then when the last one ends, in milliseconds."""
    import av

    with av.open(str(path), "w", format="mp4", options={"fflags": "+bitexact"}) as output:
        rate = Fraction(1000 * len(frames), starts[-1]).limit_denominator(1000)
        stream: Any = output.add_stream("libx264", rate=rate, options=_OPTIONS)
        stream.width, stream.height = frames[0].size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = _TICK
        for image, start, end in zip(frames, starts, starts[1:], strict=False):
            frame = av.VideoFrame.from_image(image)
            frame.pts, frame.time_base, frame.duration = start, _TICK, end - start
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
