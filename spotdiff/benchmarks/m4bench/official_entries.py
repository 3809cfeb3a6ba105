"""A question as one of the official forms gives it, whichever, and the canonical rows that come of such questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spotdiff.benchmarks.m4bench.official_images import Source, released_name
from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS, pair_of
from spotdiff.errors import Problem

Boxes = Sequence[Sequence[int]]
Images = tuple[Source, Source]

STATES = ("state_invariance", "state_comparison")
"""Configs without boxes. The release's code puts a blank behind their questions, which its prompts therefore have."""

DIFFERENCES = ("detailed_difference_synthetic", "detailed_difference_natural")

DETAILED_DIFFERENCE = "detailed_difference"
"""The part that holds both configs of DIFFERENCES."""

_PARTS = {
    **{name: name for name in (*STATES, DETAILED_DIFFERENCE, "spatial_perception", "instance_comparison")},
    # Names of older versions, which the release's code and its published outputs still use.
    "object_states": "state_comparison",
    "part_attribute": "instance_comparison",
}

_HINTS = {DIFFERENCES[0]: ("ddgi_imgs", "generated"), DIFFERENCES[1]: ("ddni_imgs", "nature", "natural")}
"""Parts of the release's folder and file names."""

_WORDINGS = {
    "state_invariance": r"Whether these two pictures show same object\? ",
    "state_comparison": r"Whether the .+ in the first image and the second image are in the same state\? ",
    DIFFERENCES[0]: r"Which of the following region is the difference between figure 1 and figure 2 \?",
    DIFFERENCES[1]: r"Which of the following region is the difference between figure 1 and figure 2\?",
    "spatial_perception": r"Which of the following options are semantic corresponding part\?",
    "instance_comparison": r"Which option shows a part pair that is semantic aligned but different\?",
}
"""Config -> its question in the published prompts."""

_OPTIONS = {
    "states": r"Yes|No",
    "spatial_perception": r"<bbox> in image-1 and <bbox> in image-2",
    "others": r"<bbox> in figure 1 and <bbox> in figure 2|No difference\.",
}


class Fault(Exception):
    """What is wrong with one field of a question, and how to mend it."""

    def __init__(self, field: str, message: str, remedy: str = "Fetch the file again") -> None:
        super().__init__(message)
        self._told = (field, message, remedy)

    def problem(self, file: str, row: str) -> Problem:
        return Problem(file, row, *self._told)


@dataclass(frozen=True)
class Entry:
    """A question with marks for its boxes.

    file: it was read from. names: of its images, as released. sizes: width, height of both images, where they are
    known. inexact: edges of boxes that are one of several pixels which the text can mean.
    """

    file: str
    id: str
    config: str
    question: str
    options: Sequence[str]
    option_boxes: Sequence[Boxes]
    answer: str
    names: tuple[str, str]
    visual_prompt: str = ""
    visual_prompt_boxes: Boxes = ()
    sizes: Sequence[tuple[int, int]] = ()
    images: Images | None = None
    inexact: int = 0

    @property
    def has_boxes(self) -> bool:
        return bool(self.visual_prompt_boxes) or any(self.option_boxes)

    def row(self) -> dict[str, Any]:
        """The canonical row without its images."""
        category = re.search(r" are (.+)\. $", self.visual_prompt)
        return {
            "id": self.id,
            "question": self.question,
            "visual_prompt": self.visual_prompt,
            "visual_prompt_boxes": [list(box) for box in self.visual_prompt_boxes],
            "options": list(self.options),
            "option_boxes": [[list(box) for box in boxes] for boxes in self.option_boxes],
            "answer": self.answer,
            "category": category[1] if category else "",
            "pair": pair_of(map(released_name, self.names)),
            "image_sizes": [list(size) for size in self.sizes] if self.has_boxes else [],
        }

    def is_worded_as_published(self) -> bool:
        kind = "states" if self.config in STATES else self.config
        options = _OPTIONS.get(kind, _OPTIONS["others"])
        asked = re.fullmatch(_WORDINGS[self.config], self.question)
        return bool(asked) and all(re.fullmatch(options, option) for option in self.options)


class Rows:
    """The canonical rows of some questions; the images of a row are read when it is taken, as they are stored.

    texts: the rows without their images. images: of each row, or None where its image columns are to be None.
    """

    def __init__(self, texts: Sequence[Mapping[str, Any]], images: Sequence[Images | None]) -> None:
        self.texts = texts
        self._images = images

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Raises DataError when an image cannot be read any more."""
        for text, sources in zip(self.texts, self._images, strict=True):
            images = [{"bytes": source.read(), "path": None} for source in sources] if sources else [None, None]
            yield {**text, **dict(zip(IMAGE_COLUMNS, images, strict=True))}


def part_of(*names: str) -> str | None:
    """The part of the release that the last of these file and folder names tells, in lower case."""
    known = [_PARTS[name.lower()] for name in names if name.lower() in _PARTS]
    return known[-1] if known else None


def config_of(part: str, question: str, *names: str) -> str:
    """The config of a question of a part. names: of its images and its file. Raises Fault where nothing tells it."""
    if part != DETAILED_DIFFERENCE:
        return part
    told = {config for config, hints in _HINTS.items() for name in names for hint in hints if hint in name.lower()}
    if not told:
        told = {config for config in DIFFERENCES if re.fullmatch(_WORDINGS[config], question)}
    if len(told) != 1:
        raise Fault(
            "images",
            "neither the images' paths nor the question tell whether the pictures are synthetic or natural",
            "Keep the release's paths, with DDGI_imgs or DDNI_imgs in them",
        )
    return told.pop()
