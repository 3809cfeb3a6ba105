"""Text of a prompt that remembers its question."""

from __future__ import annotations

from dataclasses import replace

from spotdiff.question import Question, Text


class Prompt(str):
    """A text part as a model sees it, and for models without weights the question it belongs to.

    question: without its images, so that a prompt can be sent to another process.
    """

    question: Question

    def __new__(cls, text: str, question: Question) -> Prompt:
        self = super().__new__(cls, text)
        self.question = replace(question, parts=tuple(part for part in question.parts if isinstance(part, Text)))
        return self

    def __getnewargs__(self) -> tuple[str, Question]:  # type: ignore[override]
        return str(self), self.question
