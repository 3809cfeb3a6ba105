"""Frames of a video: which ones, decoded exactly, or an error that says what is wrong with the file.

Two decoders can read a video. PyAV is the default; decord is tried where PyAV cannot open a file, never where it finds
a fault. Measured with PyAV 15.1 (FFmpeg 7.1) and decord 0.6.0 (FFmpeg 4.1) on files with frame numbers burnt in:

    file                                                  PyAV                 decord by itself
    H.264, HEVC, MPEG-4; CFR, VFR; B-frames; odd sizes    exact                exact, the same pixels
    rotation by 90, 180, 270 degrees                      exact (by our hand)  exact, the same pixels
    mirrored                                              exact (by our hand)  wrong: turned instead
    edit list that leaves frames out                      exact (21 frames)    49 frames, 28 of them repeated
    MPEG-4 with a packet that is not coded                exact                the last frame twice
    MPEG-TS                                               exact                the first 12 frames missing
    mp4 cut between two frames                            a shorter video      a shorter video
    mp4 cut within a frame                                error                error
    200 bytes zeroed (H.264, MPEG-4; 60 files each)       59, 60 are errors    6, 4 are errors
    one bit flipped (H.264, MPEG-4; 100 files each)       32, 78 are errors    none is an error
    CPU seconds (H.264, MPEG-4; 1024x768, 506 frames,     5.8, 3.2             11.0, 7.1
    200 of them kept at 448x448)

Decord is therefore made to fail where it would repeat a frame, and a file cut short is found by the sizes that it
states. Pixels of both are equal to the last bit on all files above, on real footage, on 10-bit, BT.709, BT.2020 and
full-range video (the same part of FFmpeg converts colours in both), so that the tests allow no difference. A flipped
bit that leaves a decodable file is beyond either decoder: digests of the files find it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from spotdiff.media import _decord, _pyav
from spotdiff.media._decoded import (
    CannotOpen,
    Decoded,
    Keep,
    Kept,
    VideoInfo,
    check_not_cut,
    check_regular,
    fault,
    keep_nothing,
)
from spotdiff.media._limited import decode_within
from spotdiff.media.sampling import Sampling, even_indices, indices_at_fps

if TYPE_CHECKING:
    from PIL import Image as PILImage

__all__ = [
    "Clip",
    "Decoder",
    "Sampling",
    "VideoInfo",
    "decode_whole",
    "decoder_version",
    "even_indices",
    "indices_at_fps",
    "probe",
    "read_clip",
    "read_clip_as",
    "read_frames",
    "verify",
]

Decoder = Literal["pyav", "decord"]

_RULES = 1
"""To be raised with every change of ours to which frames are taken, how they are turned, coloured or resized: stored
frames are known by it."""

_Result = TypeVar("_Result")


class _Backend(Protocol):
    def version(self) -> str: ...
    def scan(self, path: Path) -> VideoInfo | None: ...
    def decode(
        self, path: Path, wanted: Collection[int], size: tuple[int, int] | None, keep: Keep[Kept]
    ) -> Decoded[Kept]: ...


_BACKENDS: dict[Decoder, _Backend] = {"pyav": _pyav, "decord": _decord}


@dataclass(frozen=True)
class Clip(Generic[Kept]):
    """Frames taken from a video.

    indices: their places among the frames that decoding yields, never falling. times: when each is shown, in seconds
    after the first frame of the video. frames: RGB, upright, of the size asked for, or what was kept of them. decoder:
    which one gave them.
    """

    info: VideoInfo
    indices: tuple[int, ...]
    times: tuple[float, ...]
    frames: tuple[Kept, ...]
    decoder: Decoder


def probe(path: str | os.PathLike[str]) -> VideoInfo:
    """The number of frames that decoding yields, their times, the size of the upright picture, and the codec.

    H.264, HEVC and MPEG-4 in mp4 or mov are told by their packets, with one frame decoded, where nothing in them makes
    that unsure; anything else is decoded to its end. Damage within packets is found by `read_clip` and `verify` only.
    Raises DataError.
    """
    file = _checked(path)
    return _first_to_open(file, "pyav", lambda _, backend: _info(file, backend))


def read_clip(path: str | os.PathLike[str], sampling: Sampling, decoder: Decoder = "pyav") -> Clip[PILImage.Image]:
    """The frames that the sampling names, resized by antialiased bicubic interpolation without keeping the aspect.

    The file is decoded once, in order, to its end; only the frames taken are converted and held. Should decoding yield
    other frames than the packets promised, they are chosen anew and the file is decoded again.

    decoder: the one that is tried first; the other is tried where it cannot open the file.
    Raises DataError for a file that is missing, cut short, damaged or without frames. Nothing here ends a decoder that
    hangs: pipes and devices are refused, and `verify` finds files that hang beforehand, in a process of their own.
    """
    return read_clip_as(path, sampling, lambda image: image, decoder)


def read_clip_as(
    path: str | os.PathLike[str], sampling: Sampling, keep: Keep[Kept], decoder: Decoder = "pyav"
) -> Clip[Kept]:
    """`read_clip` that holds what `keep` makes of each frame, and no frame longer than that takes."""
    file = _checked(path)
    return _first_to_open(file, decoder, lambda name, backend: _read(file, sampling, name, backend, keep))


def read_frames(path: str | os.PathLike[str], sampling: Sampling) -> list[PILImage.Image]:
    """The frames of `read_clip` alone."""
    return list(read_clip(path, sampling).frames)


def verify(path: str | os.PathLike[str], timeout: float = 60.0) -> VideoInfo:
    """Decode every frame once, in a process of its own that is ended after so many seconds.

    Safe to call from many threads: each call waits for its own process. Any path is accepted, a pipe as well: whatever
    blocks ends with the time. Raises DataError for every fault, a crash or a hang of the decoder among them.
    """
    return decode_within(Path(path), timeout)


def decode_whole(path: Path) -> VideoInfo:
    """Decode every frame in this process. Raises DataError."""
    check_not_cut(path)
    return _first_to_open(path, "pyav", lambda _, backend: backend.decode(path, (), None, keep_nothing).info)


def decoder_version(decoder: Decoder = "pyav") -> str:
    """What decides the pixels besides the file and the sampling, for the keys of stored frames."""
    import PIL

    return f"{_BACKENDS[decoder].version()} pillow {PIL.__version__} bicubic {platform.machine()} rules {_RULES}"


def _checked(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    check_regular(file)
    check_not_cut(file)
    return file


def _first_to_open(path: Path, first: Decoder, action: Callable[[Decoder, _Backend], _Result]) -> _Result:
    reasons = []
    for name in sorted(_BACKENDS, key=lambda name: name != first):
        try:
            return action(name, _BACKENDS[name])
        except CannotOpen as error:
            reasons.append(str(error))
    raise fault(path, f"this is no video that can be opened ({'; '.join(reasons)})")


def _info(path: Path, backend: _Backend) -> VideoInfo:
    return backend.scan(path) or backend.decode(path, (), None, keep_nothing).info


def _read(path: Path, sampling: Sampling, name: Decoder, backend: _Backend, keep: Keep[Kept]) -> Clip[Kept]:
    info = _info(path, backend)
    for _ in range(2):
        indices = sampling.indices(info.times)
        decoded = backend.decode(path, frozenset(indices), sampling.size, keep)
        info = decoded.info
        if sampling.indices(info.times) == indices:
            if not indices:
                raise fault(path, f"the video has {info.frames} frames, and none of those that are asked for")
            times = tuple(info.times[index] for index in indices)
            kept = dict(zip(sorted(set(indices)), decoded.kept, strict=True))
            return Clip(info, tuple(indices), times, tuple(kept[index] for index in indices), name)
    raise fault(path, "decoding it twice gives different frames")
