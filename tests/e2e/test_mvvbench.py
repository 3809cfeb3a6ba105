"""MVVBench in both frameworks, against a server that answers from the frames it receives."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path

import lmms_runs
import pytest
import vlmeval_runs
from pixel_server import PixelServer
from view_reader import ViewReader

from spotdiff.runs.read import read_runs
from spotdiff.scoring import Scored

pytestmark = pytest.mark.e2e


def wrong(rows: Collection[Scored]) -> set[str]:
    return {row.id for row in rows if row.score != 1}


def near_chance(rows: Collection[Scored]) -> bool:
    """Whether the mean lies in the central 99 % of what guesses reach, by the normal distribution."""
    spread = sum(row.chance * (1 - row.chance) for row in rows) ** 0.5
    return abs(sum(row.score - row.chance for row in rows)) <= 2.58 * spread + 0.5


def test_both_frameworks_show_the_same_frames_and_a_server_that_looks_at_them_is_always_right(tmp_path: Path) -> None:
    with PixelServer(reader=ViewReader()) as server:
        first = lmms_runs.ask_server(server.url, "mvvbench_mini", tmp_path / "lmms_eval").scored()
    with PixelServer(reader=ViewReader()) as other:
        second = vlmeval_runs.ask_server(other.url, "MVVBench_Mini", folder=tmp_path / "vlmevalkit")
    assert wrong(first.values()) == set()
    assert wrong(second.values()) == set()
    assert set(first) == set(second)
    asked = {request.text: len(request.images) for request in server.requests}
    assert {request.text: len(request.images) for request in other.requests} == asked
    assert set(asked.values()) == {16, 24}
    for text in asked:
        assert re.search(r"_view\d|\.mp4|/tmp|/videos", text) is None


@pytest.mark.parametrize("variant", ["all_views", "window", "panel"])
def test_every_setting_that_shows_the_views_keeps_every_answer(tmp_path: Path, variant: str) -> None:
    with PixelServer(reader=ViewReader()) as server:
        ours = lmms_runs.ask_server(server.url, f"mvvbench_mini_{variant}", tmp_path / "lmms_eval").scored()
        theirs = vlmeval_runs.ask_server(server.url, f"MVVBench_Mini_{variant.title()}", folder=tmp_path / "vlmevalkit")
    assert wrong(ours.values()) == wrong(theirs.values()) == set()
    assert set(ours) == set(theirs)
    if variant == "panel":
        assert {request.image_sizes for request in server.requests} == {((896, 448),), ((896, 672),)}


def test_a_chain_of_thought_with_blank_lines_and_a_list_of_options_is_read_from_its_end(tmp_path: Path) -> None:
    with PixelServer(reader=ViewReader()) as server:
        ours = lmms_runs.ask_server(server.url, "mvvbench_mini_mv_cot", tmp_path / "lmms_eval").scored()
        theirs = vlmeval_runs.ask_server(server.url, "MVVBench_Mini_MV_CoT", folder=tmp_path / "vlmevalkit")
    assert wrong(ours.values()) == wrong(theirs.values()) == set()
    replies = [request.reply or "" for request in server.requests]
    assert all("\n\n" in reply and re.search(r"^A\. ", reply, re.MULTILINE) for reply in replies)
    limits = {
        request.json.get("max_tokens") or request.json.get("max_completion_tokens") for request in server.requests
    }
    assert 1024 in limits


def test_without_views_the_server_has_nothing_to_go_by(tmp_path: Path) -> None:
    with PixelServer(reader=ViewReader()) as server:
        scored = lmms_runs.ask_server(server.url, "mvvbench_mini_text_only", tmp_path).scored()
    assert all(request.images == () for request in server.requests)
    assert near_chance(scored.values())


def test_missing_views_stop_a_run_unless_a_part_is_asked_for(tmp_path: Path) -> None:
    mini = Path(str(files("spotdiff.benchmarks.mvvbench"))) / "mini"
    data = tmp_path / "data" / "mvvbench"
    shutil.copytree(mini, data)
    gone = sorted((data / "videos").glob("*.mp4"))[0]
    gone.unlink()
    settings = {"SPOTDIFF_DATA": str(tmp_path / "data")}
    with PixelServer(reader=ViewReader()) as server:
        refused = lmms_runs.ask_server(server.url, "mvvbench", tmp_path / "refused", settings)
        assert refused.code == 2
        assert gone.name in refused.output
        assert server.requests == []
        part = lmms_runs.ask_server(
            server.url, "mvvbench", tmp_path / "part", {**settings, "SPOTDIFF_ALLOW_MISSING": "1"}
        )
    scored = part.scored()
    assert wrong(scored.values()) == set()
    assert len(scored) > 0
    (run,) = read_runs(tmp_path / "part")
    (table,) = run.tables()
    assert table.title.endswith(f", {len(scored)} of 1323 questions")
    assert "overall" not in table.markdown()
