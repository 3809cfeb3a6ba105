"""Questions that share a scene come together in models that sort their requests by the text of the prompt."""

from __future__ import annotations

from typing import Any


class ScenePrompt(str):
    """The text of a prompt, sorted by its task and the number of its scene before its own words.

    Many chat models of lmms-eval sort by this text, which mixes scenes, as the same is asked of each. The text itself,
    in the log and for models that send it, is the prompt and nothing else. Two prompts of one wording and different
    scenes are not equal: tuples are sorted by their first items that differ.
    """

    __slots__ = ("_place",)
    _place: tuple[str, int]

    def __new__(cls, text: str, task: str, scene: int) -> ScenePrompt:
        made = super().__new__(cls, text)
        made._place = (task, scene)
        return made

    def __reduce__(self) -> tuple[type[ScenePrompt], tuple[str, str, int]]:
        return ScenePrompt, (str(self), *self._place)

    def __radd__(self, before: str) -> ScenePrompt:
        """lmms-eval puts a description in front, an empty one for these tasks."""
        return ScenePrompt(f"{before}{self!s}", *self._place)

    def _key(self) -> tuple[tuple[str, int], str]:
        return self._place, str(self)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ScenePrompt) else str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return self._key() < other._key() if isinstance(other, ScenePrompt) else str.__lt__(self, other)

    __hash__ = str.__hash__
