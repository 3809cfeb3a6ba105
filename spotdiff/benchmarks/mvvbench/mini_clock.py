"""The clock that is burnt into every frame of the mini videos: a strip of white and black cells along its lower edge.

From left to right, each number with its highest bit first: the number of the frame in Gray code (8 cells, of which one
changes from frame to frame), the frame rate in frames per second (5 cells), and the remainder of these 13 bits, read as
one polynomial over two elements, by x^3 + x + 1 after 3 zeros were appended (3 cells). The frame shows the moment
number / rate seconds after the start of the recording.
"""

from __future__ import annotations

CELLS = 16
_NUMBER, _RATE, _CHECK = 8, 5, 3
_POLYNOMIAL = 0b1011


def clock_cells(number: int, rate: int) -> list[bool]:
    """Whether each cell is white. number: of the frame, from 0 to 255. rate: frames per second, from 1 to 31."""
    if not (0 <= number < 1 << _NUMBER and 0 < rate < 1 << _RATE):
        raise ValueError(f"no clock shows frame {number} at {rate} frames per second")
    told = (number ^ number >> 1) << _RATE | rate
    bits = told << _CHECK | _remainder(told << _CHECK)
    return [bool(bits >> place & 1) for place in reversed(range(CELLS))]


def _remainder(bits: int) -> int:
    for place in reversed(range(_CHECK, CELLS)):
        if bits >> place & 1:
            bits ^= _POLYNOMIAL << place - _CHECK
    return bits
