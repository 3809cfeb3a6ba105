"""What a benchmark asks, in one form for every framework.

A row of data and a variant become a `Question`; an adapter turns its parts, in order, into the messages of its
framework. Nothing here knows a framework, and no pixel is decoded before `Image.open` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from spotdiff.draws import drawn
from spotdiff.media.sampling import Sampling

if TYPE_CHECKING:
    from PIL import Image as PILImage

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Box = tuple[int, int, int, int]
"""x1, y1, x2, y2 in pixels of the image as it is stored, x to the right, y down."""


@dataclass(frozen=True)
class Text:
    """A piece of the prompt, sent as it is."""

    text: str


@dataclass(frozen=True)
class Image:
    """One image of the prompt.

    `open` decodes it, as RGB, upright; it raises `spotdiff.errors.DataError` when the pixels are not there.
    """

    open: Callable[[], PILImage.Image] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Video:
    """One video of the prompt: a file and which of its frames are shown.

    as_images: the frames are given one by one, whatever form the model takes videos in.
    stated: frames that the data set says the file has, where the sampling rests on that; else None.
    """

    path: Path
    sampling: Sampling
    as_images: bool = False
    stated: int | None = None

    def frames(self) -> list[PILImage.Image]:
        """The frames, RGB, upright, in order. Raises DataError when the file cannot be decoded."""
        from spotdiff.media.clips import frames_of

        return frames_of(self.path, self.sampling)


@dataclass(frozen=True)
class Panel:
    """One image of the prompt that is a grid: a row for each video, a column for each frame taken of it.

    Videos with fewer frames than others leave their row black at its end.
    """

    videos: tuple[Video, ...]

    def image(self) -> PILImage.Image:
        """The grid, without gaps. Raises DataError when a file cannot be decoded."""
        from spotdiff.media.images import grid

        return grid([video.frames() for video in self.videos])


Shown = Text | Image | Video
"""What an adapter has to hand over."""

Part = Shown | Panel


class Asked(Protocol):
    """Whatever is put to a model."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """What the model receives, in order."""


@dataclass(frozen=True)
class Option:
    """One answer to choose: letter, text as the model reads it (None for an image), boxes in pixels.

    image: where the option is one; the same object stands among the parts of its question.
    """

    letter: str
    text: str | None
    boxes: tuple[Box, ...] = ()
    image: Image | None = None


@dataclass(frozen=True)
class Question:
    """One question as it is asked.

    id: unique within its task, `<setting>/<id of the row>`.
    parts: what the model receives, in order.
    gold: the right letters, in option order.
    several: whether the prompt asks for every right letter rather than one.
    cluster: answers to questions of one cluster share media and are not independent (standard errors are clustered by
    it). groups: what the tables break down by; a value may be several, the question then counts in each.
    reference: the one of its images that options which are images are measured against; None where there is no such.
    """

    id: str
    setting: str
    parts: tuple[Part, ...]
    options: tuple[Option, ...]
    gold: tuple[str, ...]
    cluster: str
    several: bool = False
    chain_of_thought: bool = False
    groups: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    reference: Image | None = None

    @property
    def option_texts(self) -> dict[str, str | None]:
        """Letter -> text, as the reply parser wants it."""
        return {option.letter: option.text for option in self.options}

    @property
    def prompt(self) -> str:
        """All text of the prompt, joined by line breaks: for logs, and for models without a chat form."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    def images(self) -> tuple[Image, ...]:
        return tuple(part for part in self.parts if isinstance(part, Image))


def shuffled(
    options: tuple[Option, ...], gold: tuple[str, ...], seed: int, key: str
) -> tuple[tuple[Option, ...], tuple[str, ...]]:
    """Options in an order that is a pure function of (seed, key), with the letters dealt out anew; gold follows.

    A hash orders them, not a random generator, so that the order is the same in every version of Python.
    """
    order = sorted(options, key=lambda option: drawn(seed, f"{key}/{option.letter}"))
    letters = [option.letter for option in options]
    renamed = {old.letter: new for old, new in zip(order, letters, strict=True)}
    mixed = tuple(replace(option, letter=renamed[option.letter]) for option in order)
    return mixed, tuple(sorted(renamed[letter] for letter in gold))


def without_letters(options: Sequence[str]) -> list[str]:
    """The texts; letters are cut off only where every option carries its own, as a text may begin like one."""
    prefixes = [f"{letter}. " for letter in LETTERS[: len(options)]]
    if len(prefixes) == len(options) and all(map(str.startswith, options, prefixes)):
        return [option[len(prefix) :] for option, prefix in zip(options, prefixes, strict=True)]
    return list(options)
