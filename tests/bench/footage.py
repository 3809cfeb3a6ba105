"""Videos shaped like those of the benchmarks: a camera that moves over a detailed scene, with noise of its sensor."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

_MARGIN = 256
"""Pixels by which the scene is larger than the picture, so that the camera can move."""

_NOISE = 3.0
"""Standard deviation of the sensor's noise, of 255: 5 Mbit/s of H.264, 3 of MPEG-4. With 5.0 it is 21 Mbit/s of H.264,
nearly all of it noise, whose decoding alone takes longer than a model that thinks for 0.5 s a question."""


def write_footage(path: Path, codec: str, seed: int, frames: int, size: tuple[int, int], rate: int = 30) -> Path:
    """A video of so many frames. codec: libx264 or mpeg4. size: width and height in pixels."""
    import av
    import numpy

    width, height = size
    scene = _scene(seed, width + _MARGIN, height + _MARGIN)
    draw = numpy.random.default_rng(seed)
    grain = draw.normal(0, _NOISE, (height + 64, width + 64, 1)).astype(numpy.int16)
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream(codec, rate=Fraction(rate), options=_OPTIONS[codec])
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.gop_size = 8 * rate
        if codec == "mpeg4":
            stream.bit_rate = 3_000_000
        for number in range(frames):
            down, right = (int(_MARGIN / 2 * (1 + numpy.sin(number / turn))) for turn in (47, 71))
            top, left = draw.integers(0, 64, 2)
            seen = scene[down : down + height, right : right + width] + grain[top:, left:][:height, :width]
            picture = seen.clip(0, 255).astype(numpy.uint8)
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                output.mux(packet)
        output.mux(stream.encode(None))
    return path


_OPTIONS = {"libx264": {"preset": "veryfast", "crf": "18"}, "mpeg4": {}}


def _scene(seed: int, width: int, height: int) -> numpy.ndarray[Any, numpy.dtype[numpy.int16]]:
    """height x width x 3: noise at every scale, coarser ones stronger, as in photographs, and flat objects on it."""
    import numpy
    from PIL import Image

    draw = numpy.random.default_rng(seed)
    pixels = numpy.full((height, width, 3), 128.0)
    cells = 4
    while cells < width:
        coarse = draw.normal(0, 1, (max(1, cells * height // width), cells, 3)).astype(numpy.float32)
        for channel in range(3):
            layer = Image.fromarray(coarse[:, :, channel]).resize((width, height), Image.Resampling.BICUBIC)
            pixels[:, :, channel] += numpy.asarray(layer) * 110 / cells**0.6
        cells *= 2
    for _ in range(24):
        top, left = draw.integers(0, height), draw.integers(0, width)
        tall, wide = draw.integers(30, 200, 2)
        pixels[top : top + tall, left : left + wide] += draw.normal(0, 50, 3)
    return pixels.clip(0, 255).astype(numpy.int16)


def copy_footage(source: Path, target: Path, number: int) -> Path:
    """The same video in a file of other content: a box that readers skip holds the number."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    with target.open("ab") as file:
        file.write((16).to_bytes(4, "big") + b"free" + number.to_bytes(8, "big"))
    return target
