"""lmms-eval as a user runs it, on the shipped questions, against servers and models that look at what they get."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from lmms_runs import Finished, run
from pixel_server import FAULTS, Fault, PixelServer, always, with_images_reversed
from tiny_models import build_qwen3_vl

from spotdiff.scoring import Scored

pytestmark = pytest.mark.e2e

BOXED = {
    "detailed_difference_synthetic",
    "detailed_difference_natural",
    "spatial_perception",
    "spatial_perception_vp",
    "instance_comparison",
    "instance_comparison_vp",
}
PLACED = {setting for setting in BOXED if not setting.startswith("detailed")}
"""Settings whose boxes differ from image to image."""


def ask(server: PixelServer, folder: Path, tasks: str = "m4bench_mini", **settings: str) -> Finished:
    arguments = f"model_version=pixel-reader,base_url={server.url},api_key=none,max_retries=2,retry_backoff_s=0"
    named = {f"SPOTDIFF_{name.upper()}": value for name, value in settings.items()}
    return run("--model", "openai", "--model_args", arguments, "--tasks", tasks, folder=folder, settings=named)


def shares(rows: Iterable[Scored]) -> dict[str, float]:
    """Share of right answers by setting."""
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for row in rows:
        asked[str(row.groups["setting"])] += 1
        right[str(row.groups["setting"])] += row.score == 1
    return {setting: right[setting] / asked[setting] for setting in asked}


def test_a_server_that_looks_at_the_pixels_answers_every_question(tmp_path: Path) -> None:
    with PixelServer(box_family="qwen3_vl") as server:
        done = ask(server, tmp_path, box_family="qwen3_vl")
    assert done.code == 0, done.output
    scored = done.scored()
    assert {row.id for row in scored.values() if row.score != 1} == set()
    assert len(server.requests) == len(scored)
    assert done.results()["results"]["m4bench_mini"]["acc,none"] == 1.0
    assert done.results()["results"]["m4bench_mini"]["coverage,none"] == 1.0
    assert_nothing_but_the_question_is_sent(server)


def assert_nothing_but_the_question_is_sent(server: PixelServer) -> None:
    """No path, file name or id of the data is on the wire: pixels come as data URLs, the text is the prompt."""
    for request in server.requests:
        parts = request.json["messages"][-1]["content"]
        assert {part["type"] for part in parts} == {"text", "image_url"}
        assert all(part["image_url"]["url"].startswith("data:image/") for part in parts if part["type"] == "image_url")
        assert re.search(r"\.(png|jpe?g|parquet)|mini|/", request.text.replace("/box", "")) is None, request.text


def test_boxes_in_the_format_of_another_family_are_not_understood(tmp_path: Path) -> None:
    with PixelServer(box_family="qwen2_vl") as server:
        done = ask(server, tmp_path, box_family="pixels")
    found = shares(done.scored().values())
    assert {setting for setting in found if found[setting] > 0.3} == set(found) - BOXED


class _Swapping(PixelServer):
    """Sees the images of each request in reverse order."""

    def handle(self, body: bytes) -> Fault:
        return super().handle(with_images_reversed(body))


def test_two_images_in_the_wrong_order_are_noticed(tmp_path: Path) -> None:
    with _Swapping(box_family="pixels") as server:
        done = ask(server, tmp_path, box_family="pixels")
    found = shares(done.scored().values())
    assert max(found[setting] for setting in PLACED) <= 0.3


def test_the_variants_keep_every_answer(tmp_path: Path) -> None:
    """Each changes how a question is asked, not what is right: the image order, the layout, how a box is shown."""
    for variant in ({"layout": "concat"}, {"swap": "1", "shuffle_seed": "7"}, {"visual_prompt": "drawn"}):
        folder = tmp_path / "_".join(variant)
        folder.mkdir()
        with PixelServer(box_family="pixels") as server:
            done = ask(server, folder, box_family="pixels", **variant)
        assert done.code == 0, done.output
        assert {row.id for row in done.scored().values() if row.score != 1} == set(), variant
        assert {len(request.images) for request in server.requests} == {1 if "layout" in variant else 2}


def test_a_tiny_qwen3_vl_runs_through_its_own_model_class(tmp_path: Path) -> None:
    model = build_qwen3_vl(tmp_path / "model")
    arguments = f"pretrained={model},device=cpu,device_map=cpu,min_pixels=1024,max_pixels=16384"
    limits = ("--limit", "1", "--gen_kwargs", "max_new_tokens=4")
    (tmp_path / "logs").mkdir()
    done = run(
        "--model", "qwen3_vl", "--model_args", arguments, "--tasks", "m4bench_mini", *limits, folder=tmp_path / "logs"
    )
    assert done.code == 0, done.output
    assert len(done.scored()) == 8
    boxes = [sample["input"] for sample in done.samples() if "in image-1" in sample["input"]]
    assert boxes
    assert all(int(number) <= 1000 for text in boxes for number in re.findall(r"\d+(?=[,\]])", text))


@pytest.mark.parametrize("fault", ["html", "500", "empty"])
def test_a_server_that_fails_is_counted_and_never_scored(tmp_path: Path, fault: str) -> None:
    with PixelServer(box_family="pixels", fault=always(FAULTS[fault])) as server:
        done = ask(server, tmp_path, tasks="m4bench_mini_state_invariance", box_family="pixels")
    scored = done.scored()
    outcomes = {row.outcome for row in scored.values()}
    assert outcomes == ({"empty"} if fault == "empty" else {"error"})
    assert all(row.score == 0 for row in scored.values())
    kind = {"html": "bad reply", "500": "server error", "empty": "empty"}[fault]
    assert f"{len(scored)} asked, 0 answered, {len(scored)} failed ({kind} {len(scored)}), 0 unparsed" in done.output


def test_a_server_that_is_down_is_counted_and_never_scored(tmp_path: Path) -> None:
    with PixelServer(box_family="pixels") as server:
        pass
    done = ask(server, tmp_path, tasks="m4bench_mini_state_invariance", box_family="pixels")
    assert {row.outcome for row in done.scored().values()} == {"error"}
    assert "8 failed (no connection 8)" in done.output


def test_boxes_for_a_model_of_unknown_family_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with PixelServer() as server:
        done = ask(server, tmp_path)
    assert done.code != 0
    assert server.requests == []
    assert "SPOTDIFF_BOX_FAMILY" in done.output
    assert "qwen2_5_vl" in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"SPOTDIFF_LAYOUT": "side"}, "layout must be one of separate, concat, not 'side'"),
        ({"SPOTDIFF_BOX_FAMILY": "qwen9"}, "Unknown box family 'qwen9'"),
        ({"SPOTDIFF_DATA": "/nowhere"}, "spotdiff data prepare m4bench --from FOLDER"),
    ],
)
def test_bad_input_ends_with_one_message_and_no_traceback(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    task = "m4bench_spatial_perception" if "SPOTDIFF_DATA" in settings else "m4bench_mini_spatial_perception"
    done = run("--model", "spotdiff_baseline", "--tasks", task, folder=tmp_path, settings=settings)
    assert done.code == 2, done.output
    assert said in done.output
    assert "Traceback" not in done.output


def test_a_misspelt_task_ends_with_the_closest_names(tmp_path: Path) -> None:
    done = run("--model", "spotdiff_baseline", "--tasks", "m4bench_conact", folder=tmp_path)
    assert done.code == 2, done.output
    assert "Did you mean m4bench_concat" in done.output
    assert "Traceback" not in done.output


def test_baselines_are_scored_without_a_model(tmp_path: Path) -> None:
    done = run("--model", "spotdiff_baseline", "--model_args", "policy=b", "--tasks", "m4bench_mini", folder=tmp_path)
    scored = done.scored()
    assert {row.letters for row in scored.values()} == {("B",)}
    assert all(row.score == (row.gold == ("B",)) for row in scored.values())
    again = tmp_path / "again"
    again.mkdir()
    replayed = run(
        "--model", "spotdiff_replay", "--model_args", f"path={tmp_path}", "--tasks", "m4bench_mini", folder=again,
        settings={"SPOTDIFF_BOX_FAMILY": "pixels"},
    )  # fmt: skip
    assert replayed.scored() == scored
