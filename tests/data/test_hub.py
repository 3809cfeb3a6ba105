"""Repositories of the Hub: what is fetched, and what is said when it cannot be had. Clients run in processes."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hub_server import REPO, TOKEN, HubServer, serving_the_mini_of_m4bench

from spotdiff.data import hub
from spotdiff.data.store import commit, locate
from spotdiff.errors import DataError
from spotdiff.settings import Settings

MINI = locate("m4bench_mini", Settings())
FILE = "state_invariance/test.parquet"

FETCH = """
import sys
from pathlib import Path
from spotdiff.data.hub import fetch
from spotdiff.errors import DataError
repo, revision, stamps = sys.argv[1:]
try:
    print("FETCHED", fetch(repo, revision or None, Path(stamps)))
except DataError as error:
    print("REFUSED", error)
"""

Client = Callable[..., str]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HubServer]:
    with serving_the_mini_of_m4bench(tmp_path / "served") as running:
        yield running


@pytest.fixture
def fetch(server: HubServer, tmp_path: Path) -> Client:
    """fetch(repository, revision, **environment) in a process of its own -> its last word: FETCHED or REFUSED."""

    def asked(repository: str = REPO, revision: str = "", **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", FETCH, repository, revision, str(tmp_path / "stamps")],
            env=server.environment(tmp_path / "client", PYTHONPATH=os.getcwd(), **environment),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

    return asked


def fetched(said: str) -> Path:
    assert said.startswith("FETCHED "), said
    return Path(said.removeprefix("FETCHED "))


def downloads(server: HubServer) -> list[str]:
    return [request for request in server.requests if request.startswith("GET /datasets/")]


def test_a_repository_comes_whole_and_its_folder_is_called_like_the_commit(server: HubServer, fetch: Client) -> None:
    folder = fetched(fetch())
    served = server.repositories[REPO]
    names = sorted(path.relative_to(served) for path in served.rglob("*") if path.is_file())
    assert sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file()) == names
    assert all((folder / name).read_bytes() == (served / name).read_bytes() for name in names)
    assert folder.name == server.commit(REPO)


def test_what_is_there_is_not_fetched_again(server: HubServer, fetch: Client) -> None:
    first = fetch()
    before = len(downloads(server))
    assert fetch() == first
    assert len(downloads(server)) == before


def test_what_was_fetched_can_be_used_without_a_connection(server: HubServer, fetch: Client) -> None:
    first = fetch()
    asked = len(server.requests)
    assert fetch(HF_HUB_OFFLINE="1") == first
    assert len(server.requests) == asked


def test_an_older_commit_stays_to_be_had(server: HubServer, fetch: Client) -> None:
    first = fetched(fetch())
    (server.repositories[REPO] / "more.txt").write_text("new")
    assert fetched(fetch()).name == server.commit(REPO) != first.name
    assert fetch(revision=first.name) == f"FETCHED {first}"


@pytest.mark.parametrize(
    ("repository", "revision", "message"),
    [
        ("ORG/none", "", "The data set repository ORG/none does not exist, or you have no access to it"),
        (REPO, "v9", "has no revision 'v9'"),
        ("ORG/m4bench/x", "", "write it as ORG/NAME"),
    ],
)
def test_what_is_not_there_is_said(fetch: Client, repository: str, revision: str, message: str) -> None:
    said = fetch(repository, revision)
    assert said.startswith("REFUSED ")
    assert message in said


def test_a_gated_repository_is_said_to_want_an_agreement(server: HubServer, fetch: Client) -> None:
    server.faults.gated.add(REPO)
    said = fetch()
    assert f"is gated: accept its terms on its page, https://huggingface.co/datasets/{REPO}" in said
    assert "hf auth login" in said


def test_a_token_is_never_repeated(fetch: Client) -> None:
    for repository in ("ORG/none", "a b/c"):
        assert TOKEN not in fetch(repository, HF_TOKEN=TOKEN)


def test_a_connection_that_is_cut_once_does_no_harm(server: HubServer, fetch: Client) -> None:
    server.faults.cut[FILE] = 1
    folder = fetched(fetch())
    assert (folder / FILE).read_bytes() == (server.repositories[REPO] / FILE).read_bytes()


def test_a_connection_that_is_cut_again_and_again_is_an_error_and_a_further_run_fetches_the_rest(
    server: HubServer, fetch: Client
) -> None:
    server.faults.cut[FILE] = 1000
    said = fetch()
    assert "the connection to the Hub failed" in said
    assert "Run again" in said
    server.faults.cut.clear()
    before = len(downloads(server))
    folder = fetched(fetch())
    assert {request.split("/", 6)[-1] for request in downloads(server)[before:]} <= {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    }
    assert (folder / FILE).read_bytes() == (server.repositories[REPO] / FILE).read_bytes()


def test_a_file_with_another_content_than_stated_is_refused_each_time_until_it_is_mended(
    server: HubServer, fetch: Client
) -> None:
    server.faults.forged.add(FILE)
    for _ in range(2):
        said = fetch()
        assert f"{REPO}: {FILE} came with another content than the Hub states" in said
    assert said.startswith("REFUSED")
    assert "not in the cache, or not whole" in fetch(HF_HUB_OFFLINE="1")
    server.faults.forged.clear()
    assert (fetched(fetch()) / FILE).is_file()


def test_a_file_that_was_changed_in_the_cache_is_found(fetch: Client) -> None:
    folder = fetched(fetch())
    blob = (folder / FILE).resolve()
    blob.write_bytes(b"x" * blob.stat().st_size)
    assert "came with another content" in fetch()
    assert fetched(fetch()) == folder


def test_without_a_connection_what_is_not_in_the_cache_is_an_error(fetch: Client) -> None:
    assert "is not in the cache, or not whole, and HF_HUB_OFFLINE is set" in fetch(HF_HUB_OFFLINE="1")


def test_a_server_that_is_not_there_is_an_error(fetch: Client) -> None:
    said = fetch(HF_ENDPOINT="http://127.0.0.1:9")
    assert "the connection to the Hub failed (ConnectError: " in said or "Connection refused" in said


def test_a_full_disk_is_said_to_be_full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    def full(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", full)
    with pytest.raises(DataError, match=r"ORG/full does not fit on the disk: make room, or set HF_HOME"):
        hub.fetch("ORG/full", None, tmp_path)


# --- finding data -------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str | None]]:
    """What is fetched, without a server."""
    calls: list[tuple[str, str | None]] = []

    def fetch(repo: str, revision: str | None, stamps: Path) -> Path:
        calls.append((repo, revision))
        return tmp_path / "snapshots" / "c0ffee"

    monkeypatch.setattr(hub, "fetch", fetch)
    return calls


@pytest.mark.parametrize(
    ("name", "repository"), [("ORG", "ORG/m4bench"), ("ORG/other", "ORG/other"), ("a.b-c_d", "a.b-c_d/m4bench")]
)
def test_a_namespace_has_repositories_called_like_the_data_sets(
    asked: list[tuple[str, str | None]], tmp_path: Path, name: str, repository: str
) -> None:
    settings = Settings(data=tmp_path, hub=name, hub_revision="v1")
    assert locate("m4bench", settings) == tmp_path / "snapshots" / "c0ffee"
    assert commit("m4bench", settings) == "c0ffee"
    assert set(asked) == {(repository, "v1")}


def test_prepared_and_shipped_data_come_before_the_hub(asked: list[tuple[str, str | None]], tmp_path: Path) -> None:
    (tmp_path / "m4bench").mkdir()
    settings = Settings(data=tmp_path, hub="ORG")
    assert locate("m4bench", settings) == tmp_path / "m4bench"
    assert locate("m4bench_mini", settings) == MINI
    assert commit("m4bench", settings) is commit("m4bench_mini", settings) is None
    assert asked == []


def test_without_a_repository_the_error_says_how_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="SPOTDIFF_HUB"):
        locate("m4bench", Settings(data=tmp_path))


def test_a_process_asks_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    calls: list[str] = []

    def snapshot(repo: str, **_: object) -> str:
        calls.append(repo)
        (tmp_path / "snapshot").mkdir(exist_ok=True)
        return str(tmp_path / "snapshot")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    settings = Settings(data=tmp_path, media_cache=tmp_path / "media", hub="once")
    for _ in range(3):
        locate("m4bench", settings)
    assert calls == ["once/m4bench"]
