"""Data sets that come from a Hub: loaded by their id, asked in both frameworks, and again from the cache alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import lmms_runs
import pytest
from hub_server import REPO, HubServer, serving_the_mini_of_m4bench
from PIL import Image

from spotdiff.benchmarks.m4bench.schema import IMAGE_COLUMNS
from spotdiff.data.store import locate, read_config
from spotdiff.media.images import open_image, pixel_digest
from spotdiff.settings import Settings

pytestmark = pytest.mark.e2e

MINI = locate("m4bench_mini", Settings())
TASK = "m4bench_state_invariance"
OFFICIAL = "Anonymous8976/M4Bench"
MAIN = "import sys; from spotdiff.cli import main; sys.exit(main())"

LOAD = """
import json, sys
import datasets
from spotdiff.media.images import pixel_digest
rows = datasets.load_dataset(sys.argv[1], sys.argv[2], split="test", streaming=bool(sys.argv[3:]))
print("ROWS", json.dumps([[row["id"], pixel_digest(row["image_1"]), pixel_digest(row["image_2"])] for row in rows]))
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HubServer]:
    """Has the shipped questions of M4Bench as if they were the whole data set."""
    with serving_the_mini_of_m4bench(tmp_path / "served") as running:
        yield running


@pytest.fixture
def client(server: HubServer, tmp_path: Path) -> dict[str, str]:
    """Settings of a client, with caches of its own."""
    own = server.environment(tmp_path / "client", HF_HUB_CACHE=str(tmp_path / "client/hub"), SPOTDIFF_HUB="ORG")
    own["HF_DATASETS_CACHE"] = str(tmp_path / "client/datasets")
    names = ("HF_", "SPOTDIFF_")
    return {name: value for name, value in own.items() if name.startswith(names)} | {"HF_HUB_OFFLINE": "0"}


def python(code: str, *arguments: str, client: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **client, "PYTHONPATH": os.getcwd()},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def loaded(*arguments: str, client: Mapping[str, str], folder: Path) -> list[list[str]]:
    done = python(LOAD, *arguments, client=client, folder=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("ROWS ")]
    found: list[list[str]] = json.loads(line.removeprefix("ROWS "))
    return found


def test_a_data_set_is_loaded_by_its_id_and_again_without_the_server(
    server: HubServer, client: dict[str, str], tmp_path: Path
) -> None:
    rows = read_config(MINI, "state_invariance", IMAGE_COLUMNS)
    wanted = [[row["id"], *(pixel_digest(open_image(row[name], name)) for name in IMAGE_COLUMNS)] for row in rows]
    assert loaded(REPO, "state_invariance", client=client, folder=tmp_path) == wanted
    assert loaded(REPO, "state_invariance", "streaming", client=client, folder=tmp_path) == wanted
    server.__exit__()
    offline = {**client, "HF_HUB_OFFLINE": "1"}
    assert loaded(REPO, "state_invariance", client=offline, folder=tmp_path) == wanted


def run_lmms(folder: Path, client: Mapping[str, str]) -> lmms_runs.Finished:
    folder.mkdir()
    arguments = ("--model", "spotdiff_baseline", "--model_args", "policy=random", "--tasks", TASK)
    return lmms_runs.run(*arguments, folder=folder, settings=client)


def run_vlmeval(folder: Path, client: Mapping[str, str]) -> dict[str, object]:
    """What the table of a run says beside the scores."""
    folder.mkdir()
    command = [str(Path(sys.executable).with_name("vlmeval")), "run", "--data", "M4Bench_State_Invariance"]
    done = subprocess.run(
        [*command, "--model", "spotdiff_baseline_random", "--work-dir", str(folder)],
        env={**os.environ, **client},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    table = sorted(folder.rglob("*_table.md"))[0]
    told: dict[str, object] = json.loads(table.read_text().strip().splitlines()[-1])
    return told


def test_both_frameworks_run_from_the_hub_and_again_without_the_server_and_record_the_commit(
    server: HubServer, client: dict[str, str], tmp_path: Path
) -> None:
    server.tags["v1-pinned"] = server.commit(REPO)
    client = {**client, "SPOTDIFF_HUB_REVISION": "v1-pinned"}
    first = run_lmms(tmp_path / "online", client)
    names = set(read_config(MINI, "state_invariance", IMAGE_COLUMNS)["id"])
    assert {name.split("/")[-1] for name in first.scored()} == names
    metadata = first.results()["configs"][TASK]["metadata"]
    assert metadata["revision"] == server.commit(REPO)
    assert metadata["settings"]["hub"] == "ORG"
    assert metadata["settings"]["hub_revision"] == "v1-pinned"
    assert run_vlmeval(tmp_path / "vlmeval", client)["revision"] == server.commit(REPO)

    server.__exit__()
    again = run_lmms(tmp_path / "offline", {**client, "HF_HUB_OFFLINE": "1"})
    assert again.scored() == first.scored()
    assert again.results()["configs"][TASK]["metadata"]["revision"] == metadata["revision"]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("missing", "does not exist, or you have no access to it"),
        ("gated", "is gated: accept its terms on its page"),
        ("cut", "the connection to the Hub failed"),
        ("forged", "came with another content than the Hub states"),
        ("revision", "has no revision 'v9'"),
    ],
)
def test_a_repository_that_cannot_be_had_is_one_message(
    server: HubServer, client: dict[str, str], tmp_path: Path, fault: str, message: str
) -> None:
    file = "state_invariance/test.parquet"
    if fault == "missing":
        server.repositories.clear()
    elif fault == "gated":
        server.faults.gated.add(REPO)
    elif fault == "cut":
        server.faults.cut[file] = 1000
    elif fault == "forged":
        server.faults.forged.add(file)
    else:
        client = {**client, "SPOTDIFF_HUB_REVISION": "v9"}
    done = python(MAIN, "data", "where", "m4bench", client=client, folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_run_whose_data_cannot_be_had_says_why(server: HubServer, client: dict[str, str], tmp_path: Path) -> None:
    server.faults.gated.add(REPO)
    done = run_lmms(tmp_path / "run", client)
    assert "is gated: accept its terms on its page" in done.output
    assert not list(done.folder.rglob("*_results.json"))


# --- official releases --------------------------------------------------------------------------------------------


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """One question, as M4Bench's own repository holds it."""
    folder = tmp_path / "release"
    part = folder / "data" / "State_Invariance"
    (part / "imgs").mkdir(parents=True)
    for number in (1, 2):
        Image.new("RGB", (40 + number, 30), (9, number, 7)).save(part / "imgs" / f"{number}.png")
    asked = {
        "id": "q1",
        "question": "Whether these two pictures show same object?",
        "options": ["Yes", "No"],
        "answer": "B",
        "image": [f"M4Bench/data/State_Invariance/imgs/{number}.png" for number in (1, 2)],
    }
    (part / "instruction.json").write_text(json.dumps([asked]))
    return folder


@pytest.mark.parametrize("named", [(), ("--from", "ORG/copy")])
def test_a_release_is_prepared_from_the_hub(
    server: HubServer, client: dict[str, str], release: Path, tmp_path: Path, named: tuple[str, ...]
) -> None:
    repository = named[-1] if named else OFFICIAL
    server.repositories[repository] = release
    done = python(MAIN, "data", "prepare", "m4bench", *named, client=client, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{repository} was read at its commit {server.commit(repository)}" in done.stdout
    (row,) = read_config(Path(client["SPOTDIFF_DATA"]) / "m4bench", "state_invariance", IMAGE_COLUMNS)
    assert (row["id"], row["answer"], row["options"]) == ("q1", "B", ["Yes", "No"])
    stored = release / "data" / "State_Invariance" / "imgs"
    for number, column in enumerate(IMAGE_COLUMNS, start=1):
        assert pixel_digest(open_image(row[column], column)) == pixel_digest(Image.open(stored / f"{number}.png"))


def test_a_release_that_cannot_be_had_is_said_to_be_fetched_by_hand(client: dict[str, str], tmp_path: Path) -> None:
    done = python(MAIN, "data", "prepare", "m4bench", client=client, folder=tmp_path)
    assert done.returncode == 2
    assert f"hf download {OFFICIAL} --repo-type dataset --local-dir DIR" in done.stderr
    assert "does not exist, or you have no access to it" in done.stderr
    done = python(MAIN, "data", "prepare", "m4bench", "--from", "ORG/none", client=client, folder=tmp_path)
    assert done.returncode == 2
    assert "There is no folder ORG/none, so the Hub was asked" in done.stderr
