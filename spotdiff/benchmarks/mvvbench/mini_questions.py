"""The questions of the mini data.

They come in families, worded by rule, so that an answer says as little about the next one as its letter does. What
points somebody or something out is seen in one view, what is asked about in another one: whoever sees one of a
question's views alone can think of a world for every option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spotdiff.benchmarks.mvvbench.schema import CATEGORIES, MOTION

IMPLICIT, EXPLICIT, IMPLICIT_DISTANCE, EXPLICIT_DISTANCE, POSE, COUNTING = CATEGORIES
STATIC, DYNAMIC = MOTION


@dataclass(frozen=True)
class Asked:
    """A question about a scene. views: their numbers. window: start and end, in seconds."""

    category: str
    motion: str
    views: tuple[int, ...]
    question: str
    options: tuple[str, ...]
    answer: str
    window: tuple[float, float]


_POSE = "Seen from the camera of View 0, where does the camera of View 1 stand?"
_LEFT, _RIGHT = "On the left of the scene", "On the right of the scene"
_FAR, _SAME = "On the far side of the scene", "On the same side of the scene"

_CONE, _BARREL = "The cone", "The barrel"

QUESTIONS: Mapping[str, Sequence[Asked]] = {
    "hall_01": (
        Asked(
            IMPLICIT,
            STATIC,
            (0, 1),
            "What color is the backpack of the person who wears a purple bib?",
            ("Pink", "Orange", "Green"),
            "A",
            (1.0, 4.0),
        ),
        Asked(
            EXPLICIT,
            STATIC,
            (0, 1),
            "What color is the backpack in View 1 of the person who is farthest to the left in View 0?",
            ("Pink", "Orange", "Green"),
            "B",
            (0.5, 5.0),
        ),
        Asked(
            IMPLICIT_DISTANCE,
            STATIC,
            (1, 0),
            "Which is nearer to the person who wears a red bib, the cone or the barrel?",
            (_CONE, _BARREL),
            "A",
            (2.0, 5.5),
        ),
        Asked(POSE, STATIC, (1, 0), _POSE, (_RIGHT, _LEFT, _SAME, _FAR), "D", (1.5, 4.5)),
    ),
    "hall_02": (
        Asked(
            IMPLICIT,
            STATIC,
            (4, 1),
            "What color is the bib of the person who wears a pink backpack?",
            ("Cyan", "Yellow", "Orange"),
            "B",
            (0.5, 3.0),
        ),
        Asked(
            EXPLICIT,
            STATIC,
            (4, 1),
            "What color is the bib in View 1 of the person who is farthest to the right in View 0?",
            ("Yellow", "Orange", "Cyan"),
            "C",
            (1.0, 4.0),
        ),
        Asked(
            EXPLICIT_DISTANCE,
            STATIC,
            (1, 4),
            "Which is nearer in View 1 to the person who is farthest to the left in View 0, the cone or the barrel?",
            (_CONE, _BARREL),
            "A",
            (1.5, 4.5),
        ),
        Asked(POSE, STATIC, (2, 1), _POSE, (_FAR, _RIGHT, _LEFT, _SAME), "C", (0.5, 4.5)),
    ),
    "hall_03": (
        Asked(
            IMPLICIT,
            DYNAMIC,
            (3, 0, 2),
            "What color is the backpack of the person who is nearest to the cone while the lamp is lit?",
            ("Yellow", "Red", "Cyan"),
            "C",
            (1.3, 2.6),
        ),
        Asked(
            EXPLICIT,
            DYNAMIC,
            (0, 2),
            "While the lamp in View 1 is lit, what color is the bib in View 1 of the person who is nearest to the "
            "barrel in View 0?",
            ("Yellow", "Orange", "Green"),
            "A",
            (1.3, 2.6),
        ),
        Asked(
            IMPLICIT_DISTANCE,
            DYNAMIC,
            (2, 0),
            "While the lamp is lit, which is nearer to the person who wears a yellow bib, the cone or the barrel?",
            (_CONE, _BARREL),
            "B",
            (1.4, 2.7),
        ),
        Asked(POSE, STATIC, (0, 2), _POSE, (_SAME, _RIGHT, _FAR, _LEFT), "B", (0.5, 5.5)),
    ),
    "hall_04": (
        Asked(
            IMPLICIT,
            DYNAMIC,
            (1, 3),
            "What color is the backpack of the person who is nearest to the barrel while the lamp is lit?",
            ("Yellow", "Orange", "Green"),
            "A",
            (3.9, 5.5),
        ),
        Asked(
            EXPLICIT,
            DYNAMIC,
            (3, 1),
            "While the lamp in View 0 is lit, what color is the backpack in View 0 of the person who is nearest to the "
            "cone in View 1?",
            ("Orange", "Green", "Yellow"),
            "B",
            (4.0, 5.5),
        ),
        Asked(
            EXPLICIT_DISTANCE,
            DYNAMIC,
            (3, 1),
            "While the lamp in View 0 is lit, which is nearer in View 1 to the person who wears a yellow backpack in "
            "View 0, the cone or the barrel?",
            (_CONE, _BARREL),
            "B",
            (3.9, 5.4),
        ),
        Asked(POSE, STATIC, (1, 5), _POSE, (_SAME, _LEFT, _RIGHT, _FAR), "A", (1.0, 6.0)),
    ),
    "hall_05": (
        Asked(
            COUNTING,
            STATIC,
            (0, 1),
            "How many different people are seen in View 0 and View 1 together?",
            ("3", "4", "5", "6"),
            "D",
            (1.0, 5.0),
        ),
        Asked(
            COUNTING,
            DYNAMIC,
            (0, 1, 2),
            "How many different people hold up a card at some time in View 0, View 1 and View 2 together?",
            ("2", "3", "4", "5"),
            "C",
            (1.3, 4.7),
        ),
        Asked(
            IMPLICIT_DISTANCE,
            DYNAMIC,
            (0, 1),
            "While the lamp is lit, which is nearer to the person who wears a green shirt, the barrel or the cone?",
            (_BARREL, _CONE),
            "A",
            (3.3, 4.7),
        ),
        Asked(
            EXPLICIT_DISTANCE,
            DYNAMIC,
            (1, 0),
            "While the person in the blue shirt in View 0 holds up a card, which is nearer in View 1 to the person who "
            "wears a green shirt, the barrel or the cone?",
            (_BARREL, _CONE),
            "B",
            (1.3, 2.7),
        ),
    ),
    "hall_06": (
        Asked(
            COUNTING,
            STATIC,
            (3, 4),
            "How many different people are seen in View 0 and View 1 together?",
            ("3", "4", "5", "6"),
            "B",
            (0.5, 4.5),
        ),
        Asked(
            COUNTING,
            DYNAMIC,
            (3, 4, 0),
            "How many different people hold up a card at some time in View 0, View 1 and View 2 together?",
            ("2", "3", "4", "5"),
            "A",
            (1.1, 2.2),
        ),
        Asked(
            IMPLICIT_DISTANCE,
            STATIC,
            (4, 3),
            "Which is nearer to the person who wears a yellow bib, the barrel or the cone?",
            (_BARREL, _CONE),
            "B",
            (1.0, 3.5),
        ),
        Asked(
            EXPLICIT_DISTANCE,
            STATIC,
            (3, 4),
            "Which is nearer in View 1 to the person who is farthest to the right in View 0, the barrel or the cone?",
            (_BARREL, _CONE),
            "A",
            (0.5, 3.0),
        ),
    ),
}
"""By the name of the scene, in the order of their numbers."""
