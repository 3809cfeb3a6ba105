"""M3-Verse in both frameworks, against a server that answers from the frames it receives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import lmms_runs
import pytest
import vlmeval_runs
from pixel_server import PixelServer
from video_reader import VideoReader

from spotdiff.scoring import Scored, by_group

pytestmark = pytest.mark.e2e

FRAMES = "10"
"""Of each video: a request of 2 x 200 frames would hold 110 MB."""


SETTINGS = {"SPOTDIFF_FRAMES": FRAMES}


def through_lmms_eval(server: PixelServer, task: str, folder: Path) -> dict[str, Scored]:
    return lmms_runs.ask_server(server.url, task, folder, SETTINGS).scored()


def through_vlmevalkit(server: PixelServer, data: str, folder: Path) -> dict[str, Scored]:
    return vlmeval_runs.ask_server(server.url, data, folder=folder, settings=SETTINGS)


def shares(rows: Iterable[Scored], key: str = "state") -> Mapping[str, float]:
    return {name: estimate.mean or 0.0 for name, estimate in by_group(rows, key).items()}


def test_both_frameworks_show_the_same_frames_and_a_server_that_looks_at_them_is_always_right(tmp_path: Path) -> None:
    with PixelServer(reader=VideoReader()) as server:
        first = through_lmms_eval(server, "m3verse_mini", tmp_path / "lmms_eval")
        asked = {request.text: request for request in server.requests}
    with PixelServer(reader=VideoReader()) as other:
        second = through_vlmevalkit(other, "M3Verse_Mini", tmp_path / "vlmevalkit")
    assert {row.id for row in first.values() if row.score != 1} == set()
    assert {row.id for row in second.values() if row.score != 1} == set()
    assert set(first) == set(second)
    assert {len(row.gold) > 1 for row in first.values()} == {True, False}
    for request in other.requests:
        assert request.text in asked
        assert len(request.images) == len(asked[request.text].images) == 2 * int(FRAMES)
        assert set(request.image_sizes) == {(448, 448)}
    for request in (*asked.values(), *other.requests):
        assert re.search(r"state_\d|scene_|\.mp4|/tmp", request.text) is None


@pytest.mark.parametrize("variant", ["single_stream"])
def test_a_joined_stream_with_markers_keeps_every_answer(tmp_path: Path, variant: str) -> None:
    with PixelServer(reader=VideoReader()) as server:
        scored = through_lmms_eval(server, f"m3verse_mini_{variant}", tmp_path)
    assert {row.id for row in scored.values() if row.score != 1} == set()


def test_without_videos_the_server_has_nothing_to_go_by(tmp_path: Path) -> None:
    with PixelServer(reader=VideoReader()) as server:
        scored = through_lmms_eval(server, "m3verse_mini_blind", tmp_path)
    assert all(request.images == () for request in server.requests)
    assert max(shares(scored.values()).values()) <= 0.4


def test_one_video_answers_questions_about_it_and_leaves_changes_at_chance(tmp_path: Path) -> None:
    with PixelServer(reader=VideoReader()) as server:
        scored = through_lmms_eval(server, "m3verse_mini_before_only", tmp_path)
    found = shares(scored.values())
    assert found["inter"] <= 0.4
    assert found["intra"] >= 0.5
    assert {len(request.images) for request in server.requests} == {int(FRAMES)}


def test_videos_in_the_other_order_change_the_answers(tmp_path: Path) -> None:
    with PixelServer(reader=VideoReader()) as server:
        scored = through_lmms_eval(server, "m3verse_mini_swapped", tmp_path)
    found = shares(scored.values())
    assert found["intra"] <= 0.4
    assert found["inter"] < 1
