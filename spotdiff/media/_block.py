"""Memory for frames and what is made of them, in large pieces that go back to the system with the last user of each.

From the allocator's heap, of which each thread has one, they would come among passing pictures several times as large,
and leave holes there: 200 MB were measured where two videos are decoded at once.
"""

from __future__ import annotations

import contextlib
import mmap
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from PIL import Image as PILImage

    Pixels = numpy.ndarray[Any, numpy.dtype[numpy.uint8]]

_PIECE = 1 << 25
"""Bytes; those that nobody has written take no memory."""


class Pieces:
    """Memory that several threads take, one part after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = memoryview(b"")

    def take(self, count: int) -> memoryview:
        """So many bytes, to be written."""
        with self._lock:
            if len(self._left) < count:
                self._left = memoryview(_mapped(max(_PIECE, count)))
            taken, self._left = self._left[:count], self._left[count:]
        return taken

    def copy(self, content: bytes) -> memoryview:
        taken = self.take(len(content))
        taken[:] = content
        return taken

    def copy_image(self, frame: PILImage.Image) -> PILImage.Image:
        """The same picture (RGB). It is copied once more as soon as something is drawn on it."""
        import numpy

        width, height = frame.size
        taken = numpy.frombuffer(self.take(height * width * 4), numpy.uint8).reshape(height, width, 4)
        fill(taken, numpy.asarray(frame))
        return image_at(taken)


def _mapped(count: int) -> mmap.mmap:
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, count)
    # By default it would be shared with processes that are forked off.
    memory = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # A third of the time that it takes to read a clip is the kernel's for small pages; numpy does the same.
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def empty_frames(count: int, size: tuple[int, int]) -> Pixels:
    """count x height x width x 4, in a piece of their own."""
    import numpy

    width, height = size
    return numpy.frombuffer(_mapped(count * height * width * 4), numpy.uint8).reshape(count, height, width, 4)


def fill(target: Pixels, colours: Pixels) -> None:
    """Write RGB pixels (... x 3) as Pillow holds them (... x 4)."""
    # Channel by channel: twice as fast as all three at once.
    for channel in range(3):
        target[..., channel] = colours[..., channel]
    target[..., 3] = 255


def image_at(pixels: Pixels) -> PILImage.Image:
    """An RGB image that lies where these pixels (height x width x 4) lie: Pillow gives a pixel of RGB four bytes."""
    import pyarrow
    from PIL import Image

    height, width, channels = pixels.shape
    values = pyarrow.Array.from_buffers(pyarrow.uint8(), pixels.size, [None, pyarrow.py_buffer(pixels)])
    return Image.fromarrow(pyarrow.FixedSizeListArray.from_arrays(values, channels), "RGB", (width, height))
