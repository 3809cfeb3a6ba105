"""Uploading a prepared data set: what goes up, what stays here, and what is refused before anything is sent."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
from hub_server import REPO, TOKEN, HubServer

from spotdiff.cli import main
from spotdiff.data.publish import publish
from spotdiff.data.store import locate
from spotdiff.errors import DataError, SettingError
from spotdiff.settings import Settings

MakeRow = Callable[..., dict[str, Any]]
_MAIN = "import sys; from spotdiff.cli import main; sys.exit(main())"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HubServer]:
    with HubServer({}, tmp_path / "hub") as running:
        yield running


@pytest.fixture
def prepared(data_folder: Callable[..., Path], plain_row: MakeRow) -> Path:
    """The data set m4bench with two configs."""
    return data_folder(
        state_invariance=[plain_row("q1"), plain_row("q2")],
        state_comparison=[plain_row("q3", options=["Same", "Other"])],
    )


def command(server: HubServer, folder: Path, *arguments: str, token: str = TOKEN) -> dict[str, Any]:
    """`spotdiff data publish NAME --repo ORG/NAME ARGUMENTS` with the data set in `folder`, which is called NAME."""
    environment = server.environment(
        folder.parent.parent / "client",
        SPOTDIFF_DATA=str(folder.parent),
        HF_TOKEN=token,
        # The local server takes files over HTTP alone.
        HF_HUB_DISABLE_XET="1",
        PYTHONPATH=os.getcwd(),
    )
    return {
        "args": [
            sys.executable,
            "-c",
            _MAIN,
            "data",
            "publish",
            folder.name,
            "--repo",
            f"ORG/{folder.name}",
            *arguments,
        ],
        "env": {name: value for name, value in environment.items() if value},
        "text": True,
    }


def upload(server: HubServer, folder: Path, *arguments: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    return subprocess.run(**command(server, folder, *arguments, token=token), capture_output=True, timeout=120)


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


# --- against a server ---------------------------------------------------------------------------------------------


def test_all_of_the_data_set_goes_up_and_is_tagged_with_its_version(server: HubServer, prepared: Path) -> None:
    done = upload(server, prepared)
    assert done.returncode == 0, done.stderr
    assert contents(server.repositories[REPO]) == contents(prepared)
    assert set(contents(prepared)) == {
        "README.md",
        "state_invariance/test.parquet",
        "state_comparison/test.parquet",
    }
    (tag,) = server.tags
    assert re.fullmatch(r"v\d+-[0-9a-f]{8}", tag)
    assert server.tags[tag] == server.commit(REPO)
    assert done.stdout.splitlines()[-1] == f"m4bench is at {REPO}, revision {tag}"


def test_what_went_up_is_a_data_set_that_datasets_can_load(server: HubServer, prepared: Path) -> None:
    assert upload(server, prepared).returncode == 0
    rows = datasets.load_dataset(str(server.repositories[REPO]), "state_invariance", split="test")
    assert list(rows["id"]) == ["q1", "q2"]
    assert rows[0]["image_1"].size == (64, 48)


def test_the_same_data_again_change_nothing_and_other_data_get_another_tag(
    server: HubServer, prepared: Path, data_folder: Callable[..., Path], plain_row: MakeRow
) -> None:
    assert upload(server, prepared).returncode == 0
    tags, commit = dict(server.tags), server.commit(REPO)
    again = upload(server, prepared)
    assert again.returncode == 0, again.stderr
    assert (server.tags, server.commit(REPO)) == (tags, commit)
    data_folder(state_invariance=[plain_row("other")])
    assert upload(server, prepared).returncode == 0
    assert len(server.tags) == 2


def test_data_that_are_gone_here_are_gone_there_and_other_files_stay(
    server: HubServer, prepared: Path, data_folder: Callable[..., Path], plain_row: MakeRow
) -> None:
    assert upload(server, prepared).returncode == 0
    (server.repositories[REPO] / "notes.parquet").write_text("of the owners")
    data_folder(state_invariance=[plain_row("q1")])
    assert upload(server, prepared).returncode == 0
    assert set(contents(server.repositories[REPO])) == {"README.md", "notes.parquet", "state_invariance/test.parquet"}


def test_no_video_of_mvvbench_arrives(server: HubServer, tmp_path: Path) -> None:
    shutil.copytree(locate("mvvbench_mini", Settings()), tmp_path / "data" / "mvvbench")
    done = upload(server, tmp_path / "data" / "mvvbench")
    assert done.returncode == 0, done.stderr
    assert set(contents(server.repositories["ORG/mvvbench"])) == {"README.md", "questions/test.parquet"}


def sent(server: HubServer) -> list[str]:
    """Digests of the files stored apart that clients sent, with the number of each part."""
    return [request.split("/", 2)[2] for request in server.requests if request.startswith("PUT /objects/")]


def test_large_files_go_up_in_parts(tmp_path: Path, prepared: Path) -> None:
    with HubServer({}, tmp_path / "hub", part_size=10_000) as server:
        done = upload(server, prepared)
        assert done.returncode == 0, done.stderr
        assert contents(server.repositories[REPO]) == contents(prepared)
        sizes = [path.stat().st_size for path in prepared.glob("*/*.parquet")]
        assert len(sent(server)) == sum(-(-size // 10_000) for size in sizes) > 2


def test_an_upload_that_was_killed_goes_on_with_what_is_lacking(server: HubServer, prepared: Path) -> None:
    server.faults.stuck = 1
    killed = subprocess.Popen(**command(server, prepared), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(sent(server)) < 2:
        assert killed.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    server.faults.stuck = None
    server.faults.freed.set()
    assert not contents(server.repositories[REPO])
    arrived, lacking = server.stored(), sent(server)
    server.requests.clear()
    done = upload(server, prepared)
    assert done.returncode == 0, done.stderr
    assert len(arrived) == 1
    assert sent(server) == [digest for digest in lacking if digest not in arrived]
    assert contents(server.repositories[REPO]) == contents(prepared)
    assert len(server.tags) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_one_message_with_what_to_do(server: HubServer, prepared: Path, status: int) -> None:
    server.faults.refused = status
    done = upload(server, prepared)
    assert done.returncode == 2
    assert f"{REPO} may not be written by you ({status}): log in by `hf auth login`" in done.stderr
    assert "Traceback" not in done.stderr
    assert REPO not in server.repositories


def test_without_a_token_it_is_said_how_to_log_in(server: HubServer, prepared: Path) -> None:
    done = upload(server, prepared, token="")
    assert done.returncode == 2
    assert "hf auth login" in done.stderr


@pytest.mark.parametrize("refused", [0, 401, 403, 500])
def test_the_token_is_never_shown(server: HubServer, prepared: Path, refused: int) -> None:
    server.faults.refused = refused
    done = upload(server, prepared)
    assert TOKEN not in done.stdout + done.stderr
    assert done.returncode == (2 if refused else 0)


def test_a_server_that_is_not_there_is_one_message(prepared: Path, tmp_path: Path) -> None:
    with HubServer({}) as stopped:
        pass
    done = upload(stopped, prepared)
    assert done.returncode == 2
    assert "the connection to the Hub failed" in done.stderr
    assert "Traceback" not in done.stderr


# --- before anything is sent --------------------------------------------------------------------------------------


def test_a_dry_run_lists_files_and_sizes_and_asks_no_server(
    server: HubServer, prepared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = upload(server, prepared, "--dry-run", token="")
    assert done.returncode == 0, done.stderr
    assert server.requests == []
    for name, content in contents(prepared).items():
        assert re.search(rf"^ +{len(content):,}  {re.escape(name)}$", done.stdout, re.MULTILINE)
    assert "would go" in done.stdout


def test_a_dry_run_names_the_tag_that_an_upload_sets(server: HubServer, prepared: Path) -> None:
    said = upload(server, prepared, "--dry-run").stdout
    assert upload(server, prepared).returncode == 0
    (tag,) = server.tags
    assert f"as revision {tag}" in said


def test_no_video_of_mvvbench_goes_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    shutil.copytree(locate("mvvbench_mini", Settings()), tmp_path / "mvvbench")
    videos = list((tmp_path / "mvvbench").rglob("*.mp4"))
    assert videos
    publish("mvvbench", "ORG/mvvbench", dry_run=True)
    going, staying = capsys.readouterr().out.split("These stay here:")
    assert ".mp4" not in going
    assert "Its videos never go up: they belong to Ego-Exo4D, CMU Panoptic and MMPTRACK" in going
    assert all(path.relative_to(tmp_path / "mvvbench").as_posix() in staying for path in videos)


def test_rows_with_faults_are_refused(data_folder: Callable[..., Path], plain_row: MakeRow) -> None:
    data_folder(state_invariance=[plain_row("q1"), plain_row("q1"), plain_row("q2", answer="Z")])
    with pytest.raises(DataError, match="nothing was uploaded") as caught:
        publish("m4bench", REPO, dry_run=True)
    assert {(problem.row, problem.field) for problem in caught.value.problems} >= {("q1", "id"), ("q2", "answer")}


def test_an_image_that_cannot_be_decoded_is_refused(data_folder: Callable[..., Path], plain_row: MakeRow) -> None:
    data_folder(state_invariance=[plain_row("q1", image_1={"bytes": b"no image", "path": None})])
    with pytest.raises(DataError, match="image_1"):
        publish("m4bench", REPO, dry_run=True)


def test_data_that_are_not_prepared_are_refused_even_where_the_hub_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    monkeypatch.setenv("SPOTDIFF_HUB", "ORG")
    with pytest.raises(DataError, match="is not prepared"):
        publish("m4bench", REPO, dry_run=True)


@pytest.mark.parametrize(("name", "repo"), [("m5bench", REPO), ("m4bench_mini", REPO), ("m4bench", "m4bench")])
def test_names_that_cannot_be_used_are_refused(prepared: Path, name: str, repo: str) -> None:
    with pytest.raises(SettingError):
        publish(name, repo, dry_run=True)


def test_the_command_passes_everything_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []
    monkeypatch.setattr(
        "spotdiff.data.publish.publish",
        lambda name, repo, *, private, dry_run: seen.append((name, repo, private, dry_run)),
    )
    assert main(["data", "publish", "m4bench", "--repo", REPO, "--private"]) == 0
    assert main(["data", "publish", "m4bench", "--repo", REPO, "--dry-run"]) == 0
    assert seen == [("m4bench", REPO, True, False), ("m4bench", REPO, False, True)]
