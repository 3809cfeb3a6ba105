"""Small real mp4 files whose every frame carries its number in blocks that any codec and any resize keeps readable."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from PIL import Image

_COLUMNS, _ROWS = 7, 4
_BITS = 12
_UPRIGHT = (1, 0, 1, 1)
"""The left column, from the top. It reads otherwise in every mirrored or turned picture."""

Pixels = npt.NDArray[np.uint8]


def numbered(number: int, width: int, height: int) -> Pixels:
    """height x width x 3: the number in 12 bits, most significant first, above the same bits inverted."""
    bits = [(number >> place) & 1 for place in reversed(range(_BITS))]
    cells = np.array([*bits, *(1 - bit for bit in bits)]).reshape(_ROWS, _COLUMNS - 1)
    cells = np.column_stack([_UPRIGHT, cells])
    rows = np.arange(height) * _ROWS // height
    columns = np.arange(width) * _COLUMNS // width
    grey = (16 + 224 * cells[rows][:, columns]).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def number_in(image: Image.Image) -> int:
    """The number that `numbered` drew. ValueError when a block is grey, or the picture is mirrored, turned or mixed."""
    grey = np.asarray(image.convert("L"), dtype=float)
    height, width = grey.shape
    cells = np.empty((_ROWS, _COLUMNS), dtype=int)
    for row, column in np.ndindex(_ROWS, _COLUMNS):
        top, bottom = (int(height * (row + part) / _ROWS) for part in (0.3, 0.7))
        left, right = (int(width * (column + part) / _COLUMNS) for part in (0.3, 0.7))
        level = grey[top : max(bottom, top + 1), left : max(right, left + 1)].mean()
        if 80 < level < 176:
            raise ValueError(f"block {row}, {column} is grey: {level:.0f}")
        cells[row, column] = level > 128
    bits = cells[:, 1:].reshape(2, _BITS)
    if tuple(cells[:, 0]) != _UPRIGHT or not np.array_equal(bits[0], 1 - bits[1]):
        raise ValueError(f"no upright number in {cells.tolist()}")
    return int("".join(str(bit) for bit in bits[0]), 2)


def numbers_in(images: Sequence[Image.Image]) -> list[int]:
    return [number_in(image) for image in images]


def write_video(
    path: Path,
    frames: int | Sequence[Pixels],
    *,
    size: tuple[int, int] = (56, 32),
    codec: str = "libx264",
    rate: Fraction = Fraction(3),
    ticks: Sequence[int] | None = None,
    key_every: int = 12,
    b_frames: int = 2,
    pixel_format: str = "yuv420p",
    colours: tuple[int, int] | None = None,
    options: dict[str, str] | None = None,
    container: dict[str, str] | None = None,
) -> Path:
    """A video of so many numbered frames, or of the given pictures.

    ticks: presentation time of each frame in units of 1 / (1000 rate) seconds; default: one frame after 1000.
    colours: matrix and range as FFmpeg numbers them (matrix 1 is BT.709, 5 and 6 are BT.601; range 1 limited, 2 full).
    """
    pictures = [numbered(number, *size) for number in range(frames)] if isinstance(frames, int) else frames
    with av.open(str(path), "w", options=container or {}) as output:
        speed = {"preset": "ultrafast", "tune": "psnr"} if codec == "libx264" else {}
        stream: Any = output.add_stream(codec, rate=rate, options={**speed, "bf": str(b_frames), **(options or {})})
        stream.height, stream.width = (pictures[0].shape if pictures else (size[1], size[0]))[:2]
        stream.pix_fmt = pixel_format
        stream.codec_context.gop_size = key_every
        stream.codec_context.time_base = 1 / (1000 * rate)
        if codec == "mpeg4":
            stream.codec_context.qmin, stream.codec_context.qmax = 1, 3
        if colours:
            stream.codec_context.colorspace, stream.codec_context.color_range = colours
        output.start_encoding()
        for index, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            if colours:
                frame = frame.reformat(format=pixel_format, dst_colorspace=colours[0], dst_color_range=colours[1])
            frame.pts = ticks[index] if ticks else 1000 * index
            frame.time_base = 1 / (1000 * rate)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


def _box(data: bytes | bytearray, *names: str) -> int:
    """Offset of the content of the mp4 box at the end of the path of names, first of its kind at each level."""
    start = 0
    for depth, name in enumerate(names):
        start += 8 * bool(depth)
        size, kind = struct.unpack_from(">I4s", data, start)
        while kind != name.encode():
            start += size
            size, kind = struct.unpack_from(">I4s", data, start)
    return start + 8


def turn(path: Path, matrix: tuple[int, int, int, int]) -> Path:
    """Give the file the display matrix a, b, c, d: a stored pixel (x, y) is shown at (ax + cy, bx + dy)."""
    data = bytearray(path.read_bytes())
    a, b, c, d = (65536 * value for value in matrix)
    struct.pack_into(">9i", data, _box(data, "moov", "trak", "tkhd") + 40, a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(data)
    return path


TURNS = {0: (1, 0, 0, 1), 90: (0, 1, -1, 0), 180: (-1, 0, 0, -1), 270: (0, -1, 1, 0)}
"""Degrees clockwise by which the stored picture is turned for display -> matrix."""


def edit(path: Path, first: int, shown: int, frame_seconds: Fraction = Fraction(1, 3)) -> Path:
    """Make the edit list show so many frames from the first one on, though the file holds more on either side."""
    data = bytearray(path.read_bytes())
    scale = struct.unpack_from(">I", data, _box(data, "moov", "mvhd") + 12)[0]
    ticks = struct.unpack_from(">I", data, _box(data, "moov", "trak", "mdia", "mdhd") + 12)[0]
    entry = _box(data, "moov", "trak", "edts", "elst") + 8
    before = struct.unpack_from(">i", data, entry + 4)[0]
    struct.pack_into(
        ">Ii", data, entry, round(shown * frame_seconds * scale), before + round(first * frame_seconds * ticks)
    )
    path.write_bytes(data)
    return path


def packets_of(path: Path) -> list[Any]:
    with av.open(str(path)) as container:
        return [packet for packet in container.demux(video=0) if packet.size]


def copy_packets(
    source: Path, target: Path, contents: dict[int, bytes | None], container: dict[str, str] | None = None
) -> Path:
    """The same stream in a new file; some packets, in stored order, with other content, or left out (None)."""
    with av.open(str(source)) as old, av.open(str(target), "w", options=container or {}) as new:
        stream = new.add_stream_from_template(old.streams.video[0], opaque=True)
        for index, packet in enumerate(packet for packet in old.demux(video=0) if packet.size):
            content = contents.get(index, bytes(packet))
            if content is None:
                continue
            copied = av.Packet(content)
            copied.pts, copied.dts, copied.time_base = packet.pts, packet.dts, packet.time_base
            copied.is_keyframe, copied.stream = packet.is_keyframe, stream
            new.mux(copied)
    return target


_TIME_BITS = 12


def not_coded(picture: bytes) -> bytes:
    """The head of an MPEG-4 picture, and that nothing follows (vop_coded = 0, ISO 14496-2); time in 1/3000 s."""
    head = f"{int.from_bytes(picture[4:12], 'big'):064b}"
    seconds = head.index("0", 2) + 1
    coded = seconds + 1 + _TIME_BITS + 1
    short = head[:coded] + "00"
    short += "1" * (-len(short) % 8)
    return picture[:4] + int(short, 2).to_bytes(len(short) // 8, "big")
