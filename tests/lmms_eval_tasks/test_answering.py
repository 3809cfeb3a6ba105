"""The models that need no weights, as lmms-eval asks them."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lmms_eval_tasks import adapter, documents
from spotdiff.errors import ReplyFileError, SettingError

pytestmark = pytest.mark.framework

MakeRow = Callable[..., dict[str, Any]]
NAME = "m4bench_spatial_perception"


def asked(model: Any, rows: Any) -> list[str]:
    """The model's replies to all documents of the task."""
    model.task_dict[NAME] = {"test": rows}
    adapter.doc_to_text(rows[0], {"model": "spotdiff_baseline"})
    requests = [SimpleNamespace(args=("", {}, None, number, NAME, "test")) for number in range(len(rows))]
    return list(model.generate_until(requests))


@pytest.fixture
def rows(make_row: MakeRow, data_folder: Callable[..., Path]) -> Any:
    data_folder(spatial_perception=[make_row("a", image_1=None), make_row("b/c", image_2=None)])
    return getattr(documents, NAME)(None)


def test_a_baseline_answers_by_its_policy(rows: Any) -> None:
    from lmms_eval_tasks.models.answering import Baseline

    assert asked(Baseline(policy="d"), rows) == ["D", "D"]
    assert asked(Baseline(policy="largest_box"), rows) == ["B", "B"]
    assert asked(Baseline(seed="3"), rows) == asked(Baseline(policy="random", seed=3), rows)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", ["largest", 7, "e"])
def test_a_policy_that_cannot_be_used_is_an_error(rows: Any, policy: Any) -> None:
    from lmms_eval_tasks.models.answering import Baseline

    with pytest.raises(SettingError, match="policy"):
        asked(Baseline(policy=policy), rows)


def test_a_replay_answers_with_the_stored_replies(rows: Any, tmp_path: Path) -> None:
    from lmms_eval_tasks.models.answering import Replay

    stored = [{"id": f"spatial_perception/{name}", "reply": f"reply to {name}"} for name in ("b/c", "a", "more")]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, stored)))
    assert asked(Replay(path=str(tmp_path)), rows) == ["reply to a", "reply to b/c"]


def test_a_replay_that_lacks_replies_names_them_all(rows: Any, tmp_path: Path) -> None:
    from lmms_eval_tasks.models.answering import Replay

    (tmp_path / "x.jsonl").write_text('{"id": "spatial_perception/z", "reply": "A"}')
    with pytest.raises(ReplyFileError, match="2 questions: spatial_perception/a, spatial_perception/b/c"):
        asked(Replay(path=str(tmp_path)), rows)


def test_a_replay_without_a_path_is_an_error() -> None:
    from lmms_eval_tasks.models.answering import Replay

    with pytest.raises(ReplyFileError, match="path="):
        Replay()


def test_the_models_are_listed_for_lmms_eval() -> None:
    from lmms_eval_tasks.models import manifests

    listed = [entry.model_id for entry in manifests()]
    assert listed == ["spotdiff_baseline", "spotdiff_journal", "spotdiff_replay", "spotdiff_similarity"]
