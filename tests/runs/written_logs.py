"""Logs of runs as both frameworks write them, for tests that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]

TOTALS = {"state_invariance": 219, "state_comparison": 208, "spatial_perception": 230, "spatial_perception_vp": 230}


def answer(number: int = 1, *, right: bool = True, setting: str = "state_invariance", **changes: Any) -> Record:
    """The record of an answer to M4Bench; keywords replace its fields."""
    return {
        "id": f"{setting}/{number}",
        "task": f"m4bench_{setting}",
        "version": 1,
        "total": TOTALS[setting],
        "score": float(right),
        "chance": 0.5,
        "letters": ["A" if right else "B"],
        "gold": ["A"],
        "outcome": "parsed",
        "failure": "",
        "rule": "bare",
        "conflict": False,
        "options": 2,
        "cluster": f"pair {number // 2}",
        "groups": {"setting": setting, "category": "none"},
        "extra": {"acc_release": float(right)},
        **changes,
    }


def m3verse(number: int, *, right: bool, variant: str = "", part: str = "sim", **changes: Any) -> Record:
    """The record of an answer to M3-Verse, in a variant such as `_blind`."""
    groups = {
        "setting": part,
        "state": "intra" if number % 2 else "inter",
        "capability": ["spatial understanding"],
        "kind": "factual",
        "choice": "one",
        "subcategory": "intra object_color",
    }
    own = {"task": f"m3verse_{part}{variant}", "id": f"{part}/{number}", "total": 2932, "groups": groups, "extra": {}}
    return {**answer(number, right=right), **own, "cluster": f"scene {number // 3}", **changes}


def write_lmms_eval(
    folder: Path, records: Sequence[Record], *, model: str = "qwen", stamp: str = "20260101_000000", **results: Any
) -> Path:
    """Sample logs, one for each task, and the results beside them. results: replace fields of those."""
    folder.mkdir(parents=True, exist_ok=True)
    by_task: dict[str, list[Record]] = {}
    for record in records:
        by_task.setdefault(record["task"], []).append(record)
    for task, own in by_task.items():
        samples = [
            {
                "doc_id": number,
                "filtered_resps": f"reply to {record['id']}",
                "input": f"ask {record['id']}",
                "acc": record,
            }
            for number, record in enumerate(own)
            for name in (record["id"],)
        ]
        (folder / f"{stamp}_samples_{task}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in samples))
    config = {"model": "qwen3_vl", "model_args": f"pretrained=org/{model},api_key=hidden-1234"}
    (folder / f"{stamp}_results.json").write_text(json.dumps({"config": config, **results}))
    return folder


def write_vlmevalkit(
    folder: Path, records: Sequence[Record], *, model: str = "qwen", data: str = "M4Bench", replies: Mapping[str, str]
) -> Path:
    """Scored answers with predictions beside them, as TSV."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({**record, "task": data}) + "\n" for record in records]
    (folder / f"{model}_{data}_scored.jsonl").write_text("".join(lines))
    rows = ["index\tprediction", *(f'"{name}@0123abcd"\t"{reply}"' for name, reply in replies.items())]
    (folder / f"{model}_{data}.tsv").write_text("\n".join(rows) + "\n")
    return folder
