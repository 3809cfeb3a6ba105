"""What an installation brings, in fresh environments that borrow everything else from the one that runs the tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCES = ("spotdiff", "lmms_eval_tasks", "vlmeval_ext", "hf_cards", "_spotdiff_hook.py", "_spotdiff_hook.pth")
CARDS = "hf_cards"
PACKAGING = ("pyproject.toml", "README.md", "LICENSE")

PROBE = """\
task: spotdiff_probe
dataset_path: json
output_type: generate_until
test_split: test
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment. site: its own site-packages."""

    folder: Path
    site: Path

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        cleared = {
            name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPOTDIFF_NO_REGISTER")
        }
        command = [str(self.folder / "bin/python"), *words]
        settings = {**cleared, "HF_HUB_OFFLINE": "1", **environment}
        return subprocess.run(command, cwd=self.folder, env=settings, capture_output=True, text=True, timeout=280)

    def output(self, *words: str, **environment: str) -> str:
        done = self.run(*words, **environment)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def pip(self, *words: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", str(self.folder / "bin/python"), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stdout + done.stderr

    def install(self, *what: str) -> None:
        self.pip("install", "--no-index", "--no-deps", "--no-build-isolation", *what)

    def files(self) -> set[str]:
        """Everything in site-packages and among the scripts, compiled files aside."""
        entries = [*self.site.rglob("*"), *(self.folder / "bin").iterdir()]
        return {str(entry) for entry in entries if "__pycache__" not in entry.parts}


@pytest.fixture(scope="module")
def borrowed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Links to all that is installed here, without spotdiff and without `.pth` files."""
    folder = tmp_path_factory.mktemp("borrowed")
    for name in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(name).iterdir():
            ours = entry.name.lstrip("_").startswith("spotdiff") or entry.name in SOURCES
            if not ours and entry.suffix != ".pth":
                (folder / entry.name).symlink_to(entry)
    return folder


@pytest.fixture(scope="module")
def new_environment(borrowed: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Environment]:
    def create() -> Environment:
        folder = tmp_path_factory.mktemp("environment")
        venv.create(folder, with_pip=False, symlinks=True)
        site = Path(sysconfig.get_path("purelib", "posix_prefix", {"base": str(folder), "platbase": str(folder)}))
        (site / "borrowed.pth").write_text(f"{borrowed}\n")
        return Environment(folder, site)

    return create


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is packaged, with one more task in it."""
    folder = tmp_path_factory.mktemp("sources")
    for name in (*SOURCES, *PACKAGING):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    probe = folder / "lmms_eval_tasks/probe/spotdiff_probe.yaml"
    probe.parent.mkdir()
    probe.write_text(PROBE)
    return folder


@pytest.fixture(scope="module")
def wheel(sources: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", "dist"]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return next((sources / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def from_wheel(wheel: Path, new_environment: Callable[[], Environment]) -> Environment:
    environment = new_environment()
    environment.install(str(wheel))
    return environment


@pytest.fixture(scope="module")
def editable(sources: Path, new_environment: Callable[[], Environment]) -> Environment:
    environment = new_environment()
    environment.install("--editable", str(sources))
    return environment


@pytest.fixture(params=["from_wheel", "editable"])
def installed(request: pytest.FixtureRequest) -> Environment:
    environment: Environment = request.getfixturevalue(request.param)
    return environment


LOADED = "import sys; print(*sorted(sys.modules))"
HOOKED = "import sys; print(any(type(finder).__module__ == '_spotdiff_hook' for finder in sys.meta_path))"


def test_an_interpreter_starts_with_the_hook_and_no_other_module_more(
    installed: Environment, new_environment: Callable[[], Environment]
) -> None:
    without = set(new_environment().output("-c", LOADED).split())
    assert set(installed.output("-c", LOADED).split()) - without == {"_spotdiff_hook"}


def test_the_hook_is_armed_unless_the_variable_turns_it_off(installed: Environment) -> None:
    assert installed.output("-c", HOOKED) == "True\n"
    assert installed.output("-c", HOOKED, SPOTDIFF_NO_REGISTER="1") == "False\n"


def test_a_deleted_checkout_disturbs_no_interpreter(
    sources: Path, new_environment: Callable[[], Environment], tmp_path: Path
) -> None:
    checkout = shutil.copytree(sources, tmp_path / "checkout")
    environment = new_environment()
    environment.install("--editable", str(checkout))
    assert environment.output("-c", HOOKED) == "True\n"
    shutil.rmtree(checkout)
    done = environment.run("-c", HOOKED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


@pytest.mark.parametrize("way", ["wheel", "editable"])
def test_uninstalling_leaves_nothing(
    way: str, wheel: Path, sources: Path, new_environment: Callable[[], Environment]
) -> None:
    environment = new_environment()
    before = environment.files()
    environment.install(*([str(wheel)] if way == "wheel" else ["--editable", str(sources)]))
    assert {Path(name).name for name in environment.files() - before} >= {"_spotdiff_hook.pth", "vlmeval", "spotdiff"}
    environment.pip("uninstall", "--yes", "spotdiff")
    assert environment.files() == before
    assert environment.output("-c", HOOKED) == "False\n"


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel: Path, sources: Path) -> None:
    packed = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {file for name in SOURCES for file in [sources / name, *(sources / name).rglob("*")] if file.is_file()}
    places = {str(file.relative_to(sources)) for file in files if "__pycache__" not in file.parts}
    assert packed == {f"spotdiff/{place}" if place.startswith(f"{CARDS}/") else place for place in places}


@pytest.mark.parametrize("name", sorted(path.parent.name for path in (ROOT / CARDS).glob("*/README.md")))
def test_an_installation_has_the_cards_of_the_data_sets(name: str, installed: Environment) -> None:
    code = f"from spotdiff.data.cards import card; print(card({name!r}), end='')"
    assert installed.output("-c", code) == (ROOT / CARDS / name / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["--help"], ["list"], ["run", "--data", "M4Bench_Mni", "--model", "GPT4o"]])
def test_help_list_and_wrong_names_come_without_a_framework(words: list[str], from_wheel: Environment) -> None:
    code = (
        "import sys; from vlmeval_ext.command import main; main(sys.argv[1:])\n"
        "print('HEAVY', sorted({'numpy', 'torch', 'vlmeval', 'lmms_eval', 'datasets', 'pandas'} & set(sys.modules)))"
    )
    assert from_wheel.output("-c", code, *words).endswith("HEAVY []\n")


@pytest.mark.e2e
def test_lmms_eval_lists_our_tasks_after_an_installation_from_a_wheel(from_wheel: Environment) -> None:
    code = (
        "import sys; from lmms_eval.cli.dispatch import main; from lmms_eval.tui.discovery import discover_tasks\n"
        "print('OFFERED', 'spotdiff_probe' in dict(discover_tasks()))\n"
        "sys.argv = ['lmms-eval', 'tasks', 'subtasks']; main()"
    )
    listed = from_wheel.output("-c", code)
    assert "OFFERED True" in listed
    assert "spotdiff_probe" in listed.split("OFFERED True")[1]


@pytest.mark.e2e
def test_lmms_eval_as_a_module_lists_our_tasks_after_an_editable_installation(editable: Environment) -> None:
    assert "spotdiff_probe" in editable.output("-m", "lmms_eval", "--tasks", "list")


@pytest.mark.e2e
def test_vlmevalkit_as_a_module_runs_our_data_set_with_our_model(from_wheel: Environment) -> None:
    words = ["--data", "M4Bench_Mini", "--model", "spotdiff_baseline", "--work-dir", "out"]
    from_wheel.output("-m", "vlmeval", *words)
    scored = from_wheel.folder / "out/spotdiff_baseline/spotdiff_baseline_M4Bench_Mini_scored.jsonl"
    assert {json.loads(line)["task"] for line in scored.read_text().splitlines()} == {"M4Bench_Mini"}
