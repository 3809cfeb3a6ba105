"""Decoding by PyAV, that is by FFmpeg's own libraries."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spotdiff.media._decoded import REENCODE, CannotOpen, Decoded, InThreads, Keep, Kept, VideoInfo, fault, reason

if TYPE_CHECKING:
    from PIL import Image as PILImage

_LIBRARIES = ("libavformat", "libavcodec", "libavutil", "libswscale")
"""Those that decide which frames there are, and their pixels."""

_FULL_RANGE = 2
_RGB_MATRIX = 5

_TRANSPOSE = {
    (0, 1, -1, 0): "ROTATE_270",
    (-1, 0, 0, -1): "ROTATE_180",
    (0, -1, 1, 0): "ROTATE_90",
    (-1, 0, 0, 1): "FLIP_LEFT_RIGHT",
    (1, 0, 0, -1): "FLIP_TOP_BOTTOM",
    (0, 1, 1, 0): "TRANSPOSE",
    (0, -1, -1, 0): "TRANSVERSE",
}
"""Signs of a, b, c, d of the display matrix (ISO 14496-12: x' = ax + cy, y' = bx + dy) -> Pillow's name of it, which
counts degrees counter-clockwise. Any other matrix leaves the picture as it is stored, as players do."""

_SMALLEST = {"h264": 1, "hevc": 1, "mpeg4": 20}
"""Codecs whose packets give one frame each, and the bytes that a packet needs for that: one of MPEG-4 may say in fewer
that nothing is coded, and then gives no frame."""


class _Packet(NamedTuple):
    pts: int | None
    size: int
    discarded: bool


def version() -> str:
    """What decides the pixels: the same string, the same pixels."""
    import av

    libraries = (f"{name} {'.'.join(map(str, av.library_versions[name]))}" for name in _LIBRARIES)
    return f"pyav {av.__version__} {' '.join(libraries)}"


def scan(path: Path) -> VideoInfo | None:
    """What decoding will yield, from the packets alone, or None where they do not tell.

    Only the first frame is decoded. Damage inside packets is not seen here; `decode` sees it.
    """
    packets: list[_Packet] = []
    first = None
    with _opened(path) as (container, stream):
        if "mov" not in container.format.name:
            return None
        for packet in container.demux(stream):
            first = first or next(iter(packet.decode()), None)
            if packet.size:
                packets.append(_Packet(packet.pts, packet.size, packet.is_discard))
        shown = sorted(packet.pts for packet in packets if packet.pts is not None and not packet.discarded)
        if first is None or not shown or first.pts != shown[0] or not _one_frame_each(stream, packets):
            return None
        return _info(stream, first, shown)


def _one_frame_each(stream: Any, packets: Sequence[_Packet]) -> bool:
    smallest = _SMALLEST.get(stream.codec_context.name)
    if smallest is None or len({packet.pts for packet in packets}) < len(packets):
        return False
    return all(packet.pts is not None and packet.size >= smallest for packet in packets)


def decode(path: Path, wanted: Collection[int], size: tuple[int, int] | None, keep: Keep[Kept]) -> Decoded[Kept]:
    """Decode the whole file once, in order, and keep the wanted frames.

    Raises CannotOpen; DataError when there is no video or no frame in it, or any part of it is damaged.
    """
    times: list[int | None] = []
    first = None
    with _opened(path) as (container, stream), InThreads(lambda frame: keep(_picture(frame, size))) as converted:
        stream.thread_type = "AUTO"
        for packet in container.demux(stream):
            frames = packet.decode()
            if packet.is_corrupt or any(frame.is_corrupt for frame in frames):
                raise fault(path, f"the video is damaged at about frame {len(times)}", REENCODE)
            for frame in frames:
                first = first or frame
                if len(times) in wanted:
                    converted.add(frame)
                times.append(frame.pts)
        if first is None:
            raise fault(path, "the video has no frame")
        return Decoded(_info(stream, first, times), converted.kept())


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    try:
        import av
    except ImportError as error:
        raise CannotOpen("PyAV is not installed") from error
    try:
        container = av.open(str(path.absolute()), metadata_errors="replace")
    except (av.FFmpegError, OSError, ValueError) as error:
        raise CannotOpen(f"PyAV: {reason(error)}") from error
    with container:
        if not container.streams.video:
            raise fault(path, "there is no video in the file", "Fetch the file again, or name the right one")
        try:
            yield container, container.streams.video[0]
        except av.FFmpegError as error:
            raise fault(path, f"the video is damaged ({reason(error)})", REENCODE) from error


def _info(stream: Any, first: Any, pts: Sequence[int | None]) -> VideoInfo:
    width, height = first.width, first.height
    if _transposition(first) in {"ROTATE_90", "ROTATE_270", "TRANSPOSE", "TRANSVERSE"}:
        width, height = height, width
    return VideoInfo(stream.codec_context.name, width, height, _times(stream, pts))


def _times(stream: Any, pts: Sequence[int | None]) -> tuple[float, ...]:
    """Seconds after the first frame; at the stated rate where time stamps are missing or go back."""
    known = [value for value in pts if value is not None]
    if len(known) < len(pts) or any(later < earlier for earlier, later in pairwise(known)):
        rate = stream.average_rate or stream.guessed_rate or Fraction(25)
        return tuple(float(index / rate) for index in range(len(pts)))
    return tuple(float((value - known[0]) * stream.time_base) for value in known)


def _picture(frame: Any, size: tuple[int, int] | None) -> PILImage.Image:
    from PIL import Image

    # Left to itself, PyAV takes every video for BT.601.
    full = frame.color_range == _FULL_RANGE or frame.format.name.startswith("yuvj")
    rgb = frame.reformat(
        format="rgb24",
        src_colorspace=frame.colorspace,
        dst_colorspace=_RGB_MATRIX,
        src_color_range=_FULL_RANGE if full else 1,
    )
    image = Image.fromarray(rgb.to_ndarray())
    name = _transposition(frame)
    if name:
        image = image.transpose(Image.Transpose[name])
    return image if size in (None, image.size) else image.resize(size, Image.Resampling.BICUBIC)


def _transposition(frame: Any) -> str | None:
    from av.sidedata.sidedata import SideDataContainer

    # Not `frame.side_data`, which makes a frame refer to itself: 2 MB each until the garbage collector finds them.
    data = SideDataContainer(frame).get("DISPLAYMATRIX")  # type: ignore[call-arg]
    if data is None:
        return None
    a, b, _, c, d = struct.unpack("=9i", bytes(data))[:5]
    a, b, c, d = ((value > 0) - (value < 0) for value in (a, b, c, d))
    return _TRANSPOSE.get((a, b, c, d))
