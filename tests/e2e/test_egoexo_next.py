"""EgoExo-Next in both frameworks, against servers that answer from the images they receive."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from statistics import fmean

import lmms_runs
import pytest
import vlmeval_runs
from pixel_server import PixelServer
from state_reader import LastFrameReader, OptionsOnlyReader, StateReader

from spotdiff.benchmarks.egoexo_next.tables import average, cells
from spotdiff.cli import main
from spotdiff.scoring import Scored, overall

pytestmark = pytest.mark.e2e


SETTINGS = ("ego", "match_ego2exo", "match_exo2ego", "exo", "ego2exo")


def right(rows: Collection[Scored]) -> int:
    return sum(row.score == 1 for row in rows)


def near_chance(rows: Collection[Scored]) -> bool:
    """Whether the number of right answers lies in the central 99 % of a binomial distribution with p = 1/4."""
    from scipy.stats import binom

    low, high = binom.interval(0.99, len(rows), 0.25)
    return bool(low <= right(rows) <= high)


def test_both_frameworks_send_the_same_and_a_server_that_looks_is_always_right(tmp_path: Path) -> None:
    with PixelServer(reader=StateReader()) as server:
        done = lmms_runs.ask_server(server.url, "egoexo_next_mini", tmp_path / "lmms_eval")
        asked = sorted(server.requests, key=lambda request: (request.text, request.images))
    first = done.scored()
    with PixelServer(reader=StateReader()) as other:
        second = vlmeval_runs.ask_server(other.url, "EgoExo_Next_Mini", folder=tmp_path / "vlmevalkit")
    assert {row.id for row in first.values() if row.score != 1} == set()
    assert {row.id for row in second.values() if row.score != 1} == set()
    assert set(first) == set(second)
    again = sorted(other.requests, key=lambda request: (request.text, request.images))
    assert [request.text for request in again] == [request.text for request in asked]
    assert sorted(len(request.images) for request in again) == sorted(len(request.images) for request in asked)
    assert {len(request.images) for request in again} == {5, 8}
    for request in (*asked, *again):
        assert re.search(r"\.png|/tmp|mini", request.text) is None
    assert done.results()["results"]["egoexo_next_mini"]["acc,none"] == 1


def test_the_group_of_lmms_eval_has_the_papers_average(tmp_path: Path) -> None:
    done = lmms_runs.run(
        *("--model", "spotdiff_baseline", "--model_args", "policy=random,seed=5", "--tasks", "egoexo_next_mini"),
        folder=tmp_path,
    )
    rows = list(done.scored().values())
    found = done.results()["results"]["egoexo_next_mini"]["acc,none"]
    assert found == pytest.approx(average(cells(rows)).mean)
    # Neither the mean over questions nor that over tasks.
    by_task = [overall([row for row in rows if row.groups["setting"] == name]).mean for name in SETTINGS]
    assert found != pytest.approx(fmean(by_task))


def test_a_server_that_looks_at_options_alone_is_near_chance_without_observations(tmp_path: Path) -> None:
    with PixelServer(reader=OptionsOnlyReader()) as server:
        scored = lmms_runs.ask_server(server.url, "egoexo_next_mini_candidate_only", tmp_path).scored()
    assert {len(request.images) for request in server.requests} == {4}
    assert near_chance(scored.values())


def test_a_server_that_uses_the_last_frame_alone_loses_where_the_order_is_needed(tmp_path: Path) -> None:
    with PixelServer(reader=LastFrameReader()) as server:
        scored = lmms_runs.ask_server(server.url, "egoexo_next_mini_ego,egoexo_next_mini_exo", tmp_path).scored()
    assert near_chance(scored.values())


def test_controls_take_from_a_server_that_looks_what_they_take_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with PixelServer(reader=StateReader()) as server:
        full = lmms_runs.ask_server(server.url, "egoexo_next_mini", tmp_path / "full").scored()
        mismatched = lmms_runs.ask_server(server.url, "egoexo_next_mini_mismatched", tmp_path / "mismatched").scored()
        shuffled = lmms_runs.ask_server(server.url, "egoexo_next_mini_shuffled", tmp_path / "shuffled").scored()
    assert near_chance(mismatched.values())
    assert right(shuffled.values()) < right([full[name] for name in shuffled])
    assert main(["report", *(str(tmp_path / name) for name in ("full", "mismatched", "shuffled"))]) == 0
    said = capsys.readouterr().out
    assert "egoexo_next_mini: controls" in said
    assert "Mismatched Observation" in said


def test_the_diagnosis_runs_and_says_what_follows_from_right_components(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = ",".join(f"egoexo_next_mini_{name}" for name in ("matched", "plus_exo", "plus_ego", "plus_both"))
    with PixelServer(reader=StateReader()) as server:
        done = lmms_runs.ask_server(server.url, tasks, tmp_path)
    assert {len(request.images) for request in server.requests} == {5, 8, 9, 10}
    assert done.code == 0
    assert main(["report", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "S4 given S1, S2 (ego to exo), S3 right" in said
    assert re.search(r"\+ Both +\| 100.0", said)


@pytest.mark.parametrize("data", ["EgoExo_Next_Mini_Shuffled", "EgoExo_Next_Mini_Plus_Both"])
def test_controls_and_diagnosis_run_in_vlmevalkit(tmp_path: Path, data: str) -> None:
    with PixelServer(reader=StateReader()) as server:
        scored = vlmeval_runs.ask_server(server.url, data, folder=tmp_path)
    assert scored
    if data.endswith("Both"):
        assert {row.score for row in scored.values()} == {1.0}
