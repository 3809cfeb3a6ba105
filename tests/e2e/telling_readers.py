"""Readers of a probe's stages: one tells what it sees in words, the others know nothing but these words.

What is told of a frame is one line of JSON, all that the eye of the video reader sees in it. A picture is told by its
pixels, so that one who reads the words may look at it with the eye that it needs.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Protocol

from PIL import Image
from pixel_eye import CannotTell
from video_eye import Sighting, View, look
from video_reader import CANNOT_TELL, Seen, Videos, _chosen, _taken_apart, _truths

Part = str | Image.Image

FRAME = re.compile(r"^(?:\[[^\]]*\] )?frame (\{.*\})$", re.MULTILINE)
_CONTEXT = re.compile(r"Context: First video \(before\):(.*)\nSecond video \(after\):(.*?)\nQuestion:", re.DOTALL)
_PICTURE = re.compile(r"picture (\w+=*)\.")


class Reader(Protocol):
    def answer_parts(self, parts: Sequence[Part]) -> str: ...


class VideoTeller:
    """All three stages of the Text-Oracle: captions from frames, summaries and answers from words."""

    def answer_parts(self, parts: Sequence[Part]) -> str:
        text = "\n".join(part for part in parts if isinstance(part, str))
        if "This is a video clip segment from a video." in text:
            return "\n".join(_told(part) for part in parts if not isinstance(part, str))
        if "Segment Descriptions:" in text:
            return "In all: " + "\n".join(["", *(f"frame {found}" for found in FRAME.findall(text))])
        try:
            return self._answer(text)
        except CannotTell:
            return CANNOT_TELL

    def _answer(self, text: str) -> str:
        found = _CONTEXT.search(text)
        if found is None:
            raise CannotTell("no context")
        return "".join(letters_told([_views(told) for told in found.groups()], text))


def letters_told(views: Sequence[Sequence[View]], text: str) -> list[str]:
    """The letters that follow from what both videos show, one after the other. text: holds question and options."""
    seen = [Seen(frames) if frames else None for frames in views]
    asked = _taken_apart(text + "\nThere are more than one correct option")
    return _chosen(asked, _truths(asked, Videos(*seen)))


def _told(image: Image.Image) -> str:
    view = look(image)
    if view is None:
        raise CannotTell("no room is seen")
    return f"frame {json.dumps(asdict(view))}"


def _views(told: str) -> list[View]:
    return [_view(json.loads(line)) for line in FRAME.findall(told)]


def _view(values: dict[str, object]) -> View:
    things = tuple(Sighting(**{**thing, "wall": tuple(thing["wall"])}) for thing in values["things"])  # type: ignore[attr-defined]
    return View(tuple(values["wall"]), things)  # type: ignore[arg-type]


class PictureTeller:
    """Tells a picture by its pixels; answers by one who looks at pictures that were told."""

    def __init__(self, reader: Reader, is_caption: Callable[[str], bool]) -> None:
        """is_caption: whether a prompt asks for a caption."""
        self._reader = reader
        self._is_caption = is_caption

    def answer_parts(self, parts: Sequence[Part]) -> str:
        text = "\n".join(part for part in parts if isinstance(part, str))
        if self._is_caption(text):
            (image,) = (part for part in parts if not isinstance(part, str))
            return f"picture {_encoded(image)}."
        return self._reader.answer_parts(shown(parts))


def shown(parts: Sequence[Part]) -> list[Part]:
    """The parts with every picture that is told in a text put in its place.

    One that is told as the caption of a picture takes the place of that picture, which is not looked at.
    """
    found: list[Part] = []
    for part in parts:
        for piece in _split(part) if isinstance(part, str) else [part]:
            before = found[-1] if found else ""
            if not isinstance(piece, str) and isinstance(before, str) and before.endswith("Caption: "):
                found[-2:] = [piece]
            else:
                found.append(piece)
    return found


def _split(text: str) -> list[Part]:
    pieces = _PICTURE.split(text)
    return [_decoded(piece) if place % 2 else piece for place, piece in enumerate(pieces)]


def _encoded(image: Image.Image) -> str:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return base64.b32encode(stream.getvalue()).decode()


def _decoded(text: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b32decode(text))).convert("RGB")
