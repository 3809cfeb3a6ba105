"""The hook in processes of their own, with stand-ins for the frameworks: quick, and nothing else in the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

TASKS = '''
class TaskManager:
    """A stand-in: answers with the folders that it would index."""
    def initialize_tasks(self, include_path=None, include_defaults=True):
        return {"paths": include_path, "defaults": include_defaults}
    all_tasks = ["m4bench_mine", "mme"]
    def match_tasks(self, task_list):
        return task_list
'''

DISCOVERY = """
def discover_tasks(include_path=None):
    return [("built_in", "Built in"), (str(include_path), "Included")]
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A folder with a package `lmms_eval` that has the two functions which the hook wraps."""
    for name, text in {"tasks": TASKS, "tui": "", "tui/discovery": DISCOVERY}.items():
        file = tmp_path / "lmms_eval" / (f"{name}.py" if "/" in name else f"{name}/__init__.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "lmms_eval" / "__init__.py").touch()
    return tmp_path


def run(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), str(ROOT)])
    # -S: no installed .pth arms the hook before the test does.
    command = [sys.executable, "-S", "-c", f"import _spotdiff_hook; _spotdiff_hook.arm()\n{code}"]
    cleared = {name: value for name, value in os.environ.items() if name != "SPOTDIFF_NO_REGISTER"}
    environment = {**cleared, "PYTHONPATH": paths, **environment}
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=60)


def output(code: str, folder: Path, **environment: str) -> str:
    done = run(code, folder, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


OUR_FOLDER = str(ROOT / "lmms_eval_tasks")
DISARM = "import sys; sys.meta_path[:] = [one for one in sys.meta_path if type(one).__module__ != '_spotdiff_hook']"
ASK = "from lmms_eval.tasks import TaskManager; print(TaskManager().initialize_tasks({}))"


def test_a_task_manager_indexes_our_folder(stand_in: Path) -> None:
    assert output(ASK.format(""), stand_in) == str({"paths": [OUR_FOLDER], "defaults": True})


def test_the_users_own_folders_come_before_ours(stand_in: Path) -> None:
    assert output(ASK.format("'/mine'"), stand_in) == str({"paths": ["/mine", OUR_FOLDER], "defaults": True})
    assert output(ASK.format("['/a', '/b']"), stand_in) == str({"paths": ["/a", "/b", OUR_FOLDER], "defaults": True})


def test_the_list_that_the_user_passes_is_not_changed(stand_in: Path) -> None:
    code = "given = ['/mine']; from lmms_eval.tasks import TaskManager as M; M().initialize_tasks(given); print(given)"
    assert output(code, stand_in) == "['/mine']"


def test_a_misspelt_task_of_ours_is_refused_and_every_other_name_is_left_to_the_framework(stand_in: Path) -> None:
    match = "from lmms_eval.tasks import TaskManager; print(TaskManager().match_tasks({}))"
    others = ["mme", "m4bench_mine", "m4bench_*", "m4benchmark", "no_such_task"]
    assert output(match.format(others), stand_in) == str(others)
    done = run(match.format(["m4bench_state_invarance"]), stand_in)
    assert done.returncode != 0
    assert "m4bench_state_invariance" in done.stderr


def test_a_manager_without_default_tasks_stays_without_ours(stand_in: Path) -> None:
    asked = output(ASK.format("include_defaults=False"), stand_in)
    assert asked == str({"paths": [], "defaults": False})


def test_the_web_interface_is_offered_our_folder_and_the_users(stand_in: Path) -> None:
    code = "from lmms_eval.tui.discovery import discover_tasks; print(discover_tasks({}))"
    built_in = ("built_in", "Built in")
    assert output(code.format(""), stand_in) == str(sorted([built_in, (OUR_FOLDER, "Included")]))
    assert output(code.format("'/mine'"), stand_in) == str(
        sorted([built_in, ("/mine", "Included"), (OUR_FOLDER, "Included")])
    )


def test_arming_and_registering_twice_changes_nothing(stand_in: Path) -> None:
    code = (
        "_spotdiff_hook.arm(); import lmms_eval.tasks as tasks\n"
        "from lmms_eval_tasks.registration import add_tasks; add_tasks(tasks)\n" + ASK.format("")
    )
    assert output(code, stand_in) == str({"paths": [OUR_FOLDER], "defaults": True})


def test_a_module_that_is_there_before_the_hook_is_armed_is_registered_at_once(stand_in: Path) -> None:
    code = f"{DISARM}; import lmms_eval.tasks; _spotdiff_hook.arm()\n" + ASK.format("")
    assert output(code, stand_in) == str({"paths": [OUR_FOLDER], "defaults": True})


def test_importing_our_package_arms_the_hook_where_no_pth_file_is_read(stand_in: Path) -> None:
    code = f"{DISARM}; import lmms_eval_tasks\n" + ASK.format("")
    assert output(code, stand_in) == str({"paths": [OUR_FOLDER], "defaults": True})


def test_the_off_switch_leaves_the_framework_alone(stand_in: Path) -> None:
    asked = output(ASK.format(""), stand_in, SPOTDIFF_NO_REGISTER="1")
    assert asked == str({"paths": None, "defaults": True})
    assert output(ASK.format(""), stand_in, SPOTDIFF_NO_REGISTER="0") != asked


def test_a_framework_without_the_expected_function_is_imported_all_the_same(stand_in: Path) -> None:
    (stand_in / "lmms_eval/tasks/__init__.py").write_text("here = True")
    done = run("import warnings; warnings.simplefilter('ignore')\nimport lmms_eval.tasks as t; print(t.here)", stand_in)
    assert (done.returncode, done.stdout.strip()) == (0, "True")
    assert "spotdiff could not register with lmms_eval.tasks" in done.stderr
    assert "AttributeError" in done.stderr


def test_an_error_of_the_framework_itself_reaches_the_user_and_a_second_import_is_registered(stand_in: Path) -> None:
    module = stand_in / "lmms_eval/tasks/__init__.py"
    module.write_text(f"import os\nif 'OK' not in os.environ: raise ValueError('broken')\n{TASKS}")
    code = (
        "import os\ntry:\n    import lmms_eval.tasks\nexcept ValueError as error:\n    print(error)\n"
        "os.environ['OK'] = '1'\n" + ASK.format("")
    )
    assert output(code, stand_in) == "broken\n" + str({"paths": [OUR_FOLDER], "defaults": True})


def test_an_interrupt_during_registration_is_not_swallowed(stand_in: Path) -> None:
    (stand_in / "lmms_eval_tasks").mkdir()
    (stand_in / "lmms_eval_tasks/__init__.py").write_text("raise KeyboardInterrupt")
    done = run("import lmms_eval.tasks; print('went on')", stand_in)
    assert done.returncode != 0
    assert "went on" not in done.stdout


def test_other_finders_are_asked_even_when_they_ask_all_finders_themselves(stand_in: Path) -> None:
    code = '''
import importlib.util, sys
class Asking:
    """Like the hooks of tracing packages: it has all finders search, and guards against its own question."""
    busy = False
    def find_spec(self, name, path=None, target=None):
        if name != "lmms_eval.tasks" or Asking.busy:
            return None
        Asking.busy = True
        spec = importlib.util.find_spec(name)
        Asking.busy = False
        print("asked")
        return spec
sys.meta_path.insert(0, Asking())
'''
    expected = str({"paths": [OUR_FOLDER], "defaults": True})
    assert output(code + ASK.format(""), stand_in) == f"asked\n{expected}"
    later = code.replace("insert(0, Asking())", "insert(1, Asking())")
    assert output(later + ASK.format(""), stand_in) == f"asked\n{expected}"


def test_a_module_keeps_its_own_loader(stand_in: Path) -> None:
    code = (
        "import inspect, lmms_eval.tasks as t\n"
        "print(type(t.__loader__).__name__, type(t.__spec__.loader).__name__, 'stand-in' in inspect.getsource(t))"
    )
    assert output(code, stand_in) == "SourceFileLoader SourceFileLoader True"


def test_a_missing_framework_is_missing_as_without_the_hook(tmp_path: Path) -> None:
    done = run("import lmms_eval.tasks", tmp_path)
    assert "ModuleNotFoundError: No module named 'lmms_eval'" in done.stderr
    assert "spotdiff" not in done.stderr
