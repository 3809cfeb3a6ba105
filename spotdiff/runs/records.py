"""One scored answer as a plain record, the same in the logs of both frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spotdiff.evaluation import Answer
from spotdiff.scoring import Scored


def to_record(answer: Answer, task: str, total: int, version: int | None = None) -> dict[str, Any]:
    """The record, in plain JSON values, of an answer; its setting has `total` questions when complete.

    version: of the benchmark's protocol.
    """
    scored, reading, verdict = answer.scored, answer.reading, answer.verdict
    record: dict[str, Any] = {
        "id": scored.id,
        "task": task,
        **({} if version is None else {"version": version}),
        "total": total,
        "score": scored.score,
        "chance": scored.chance,
        "letters": list(scored.letters),
        "gold": list(scored.gold),
        "outcome": scored.outcome,
        "failure": scored.failure,
        "rule": reading.rule,
        "conflict": reading.conflict,
        "options": scored.options,
        "cluster": scored.cluster,
        "groups": {name: value if isinstance(value, str) else list(value) for name, value in scored.groups.items()},
        "extra": dict(scored.extra),
    }
    if verdict is not None:
        record["judge"] = {"letters": list(verdict.letters), "said": verdict.said, "error": verdict.error}
    return record


def from_record(record: Mapping[str, Any]) -> Scored:
    """The scored answer of a record. Raises KeyError, ValueError or TypeError when the record is not one of ours."""
    scored = Scored(
        id=record["id"],
        score=record["score"],
        chance=record["chance"],
        letters=tuple(record["letters"]),
        gold=tuple(record["gold"]),
        outcome=record["outcome"],
        cluster=record["cluster"],
        options=record["options"],
        groups={name: value if isinstance(value, str) else tuple(value) for name, value in record["groups"].items()},
        extra=record["extra"],
        failure=record.get("failure", ""),
    )
    _require_types(scored)
    return scored


def _require_types(scored: Scored) -> None:
    """Tables sort and count by these fields, and a file may hold anything."""
    texts = {
        "id": (scored.id,),
        "cluster": (scored.cluster,),
        "failure": (scored.failure,),
        "letters": scored.letters,
        "gold": scored.gold,
        **{f"group {name}": (value,) if isinstance(value, str) else value for name, value in scored.groups.items()},
    }
    for name, values in texts.items():
        if not all(isinstance(value, str) for value in values):
            raise ValueError(f"{name} must be text, got {values!r}")
    if type(scored.options) is not int:
        raise ValueError(f"options must be a whole number, got {scored.options!r}")
