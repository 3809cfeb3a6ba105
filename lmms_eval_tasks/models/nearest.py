"""The option that looks most like the last observation: cosines between vectors of single images.

The training-free baselines of EgoExo-Next (Li et al., section 4.4, Table 3) encode the last observation and each option
on its own, and choose the option of the highest cosine.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.models.encoders import Encoder
from spotdiff.errors import SettingError
from spotdiff.media.images import pixel_digest
from spotdiff.question import Image, Question

T = TypeVar("T")
R = TypeVar("R")

BATCH_SIZE = 16
"""On a CPU larger ones take more memory and no less time."""

_WORKERS = min(4, os.cpu_count() or 1)


class Nearest:
    """Answers questions whose options are images with the letter of the one nearest to the reference.

    Images are opened in threads ahead of the encoder, which gets `batch_size` at a time, across questions. An image is
    encoded once, however often it comes again: vectors are kept by the digest of the pixels, over calls too. Pixels are
    held of some `2 * batch_size` images, in the size that the encoder takes.
    """

    def __init__(self, encoder: Encoder, batch_size: int = BATCH_SIZE) -> None:
        """Raises SettingError for a batch of no image."""
        if batch_size < 1:
            raise SettingError(f"batch_size={batch_size}: give the number of images that are encoded at a time")
        self._encoder = encoder
        self.batch_size = batch_size
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def letters(self, questions: Iterable[Question]) -> list[str]:
        """The letters, in order. Raises DataError when an image cannot be opened.

        questions: those that `check_fit` accepts; each is taken when it is its turn, and only its reference and options
        are opened.
        """
        asked: list[list[str]] = []
        digests = iter(self._encode_all(_noted(questions, asked)))
        return [letters[nearest([self._vectors[next(digests)] for _ in range(len(letters) + 1)])] for letters in asked]

    def _encode_all(self, images: Iterable[Image]) -> list[str]:
        """Digests of all images, in order, once each has its vector."""
        digests: list[str] = []
        batch: dict[str, Any] = {}
        for digest, prepared in _ahead(self._read, images, self.batch_size):
            digests.append(digest)
            if digest not in self._vectors:
                batch.setdefault(digest, prepared)
            if len(batch) == self.batch_size:
                self._encode(batch)
                batch = {}
        self._encode(batch)
        return digests

    def _read(self, image: Image) -> tuple[str, Any]:
        """Digest, and the image as the encoder takes it, None where its vector is known."""
        opened = image.open()
        digest = pixel_digest(opened)
        return digest, None if digest in self._vectors else self._encoder.prepare(opened)

    def _encode(self, batch: dict[str, Any]) -> None:
        if batch:
            self._vectors |= zip(batch, self._encoder.encode(list(batch.values())), strict=True)


def _noted(questions: Iterable[Question], asked: list[list[str]]) -> Iterator[Image]:
    """The images of each question, reference first; the letters of its options go to `asked`."""
    for question in questions:
        asked.append([option.letter for option in question.options])
        yield from _compared(question)


def _compared(question: Question) -> list[Image]:
    """Its reference and its options. Raises SettingError when one of them is no image."""
    reason = _misfit(question)
    if reason:
        raise SettingError(f"question {question.id} {reason}")
    return [image for image in (question.reference, *(option.image for option in question.options)) if image]


def _ahead(work: Callable[[T], R], items: Iterable[T], ahead: int) -> Iterator[R]:
    """`map`, in threads, in order, up to `ahead` items before the one that is taken."""
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(_WORKERS) as pool:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def nearest(vectors: Sequence[NDArray[np.float32]]) -> int:
    """Index of the option whose cosine with the reference is highest, the first of several.

    vectors: of the reference, then of each option, all (d,). A zero vector has the cosine 0 with all others.
    """
    reference, *options = (_unit(vector) for vector in vectors)
    cosines = [float(reference @ option) for option in options]
    return cosines.index(max(cosines))


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float64]:
    exact = vector.astype(np.float64)
    length = float(np.linalg.norm(exact))
    return exact / length if length > 0 else exact


def check_fit(questions: Iterable[tuple[str, Question]]) -> None:
    """Raise SettingError unless each question (with its task's name) has options and a reference that are images."""
    unfit: dict[str, str] = {}
    for task, question in questions:
        reason = _misfit(question)
        if reason:
            unfit.setdefault(task, f"{task} {reason} (question {question.id})")
    if unfit:
        raise SettingError(
            f"{'; '.join(unfit.values())}. spotdiff_similarity fits tasks whose options are images and that show one "
            "image to compare them with, such as a last observation"
        )


def _misfit(question: Question) -> str | None:
    if not question.options or any(option.image is None for option in question.options):
        return "has options that are no images"
    return "has no single observation to compare its options with" if question.reference is None else None
