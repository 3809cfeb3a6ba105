"""Rows of M3-Verse about scenes with two videos each."""

from __future__ import annotations

from typing import Any


def scene_row(scene: str, number: int = 1, **changes: Any) -> dict[str, Any]:
    """A canonical row of Sim; keywords replace its fields."""
    return {
        "id": f"{scene}-{number}",
        "scene": scene,
        "state": "inter",
        "category": "object_change",
        "subcategory": "old_receptacle",
        "question": "Where?",
        "options": ["Here", "There"],
        "answer": ["A"],
        "hallucination": False,
        "capabilities": ["reasoning"],
        "video_before": f"videos/sim/{scene}/state_0.mp4",
        "video_after": f"videos/sim/{scene}/state_1.mp4",
        **changes,
    }
