"""The command: what it prints, where, and with which exit code."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spotdiff import __version__
from spotdiff.cli import main
from spotdiff.evaluation import Evaluation
from spotdiff.probes.stages import stage_groups, stages
from spotdiff.runs.records import to_record
from spotdiff.tasks import tasks, vlmeval_tasks

MakeRow = Callable[..., dict[str, Any]]
HEAVY = ("datasets", "numpy", "torch", "PIL", "pyarrow", "pandas", "huggingface_hub", "lmms_eval", "vlmeval")

LINE = {
    "task": "State_Invariance",
    "id": "1",
    "question": "Same?",
    "options": {"A": "No", "B": "Yes"},
    "answer": "A",
    "images": ["x/1.png", "x/2.png"],
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; the last line of its output names the heavy modules it imported."""
    code = (
        "import sys\nfrom spotdiff.cli import main\n"
        "try:\n    code = main(sys.argv[1:])\nexcept SystemExit as error:\n    code = error.code\n"
        f"print('HEAVY', *[name for name in {HEAVY!r} if name in sys.modules])\nsys.exit(code)"
    )
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["report", "--help"], ["data", "--help"], ["data", "prepare", "--help"], ["tasks"], []],
)
def test_help_and_lists_come_without_a_heavy_import(arguments: list[str]) -> None:
    found = run(*arguments)
    assert found.returncode == (0 if arguments else 2)
    assert found.stdout.splitlines()[-1] == "HEAVY"


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "/no/such/folder"],
        ["data", "where", "m5bench_mini"],
        ["data", "where", "m5bench"],
        ["data", "prepare", "m5bench", "--from", "/"],
        ["data", "prepare", "m4bench", "--from", "/no/such/folder"],
        ["data", "prepare", "m5bench"],
        ["data", "prepare", "m4bench"],
        ["data", "prepare", "m3verse"],
    ],
)
def test_an_error_is_one_message_on_stderr_with_code_2_and_no_traceback(arguments: list[str]) -> None:
    found = run(*arguments)
    assert found.returncode == 2
    assert found.stderr.startswith("spotdiff: There is no ")
    assert "Traceback" not in found.stderr
    assert found.stdout.splitlines() == [found.stdout.strip()]


@pytest.mark.parametrize("arguments", [["nonsense"], ["report"], ["data"], ["data", "prepare"], ["tasks", "extra"]])
def test_a_wrong_command_line_ends_with_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: spotdiff" in capsys.readouterr().err


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"spotdiff {__version__}\n"


def test_all_tasks_are_listed_with_both_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks"]) == 0
    head, *body = capsys.readouterr().out.splitlines()
    assert head.split() == ["lmms-eval", "VLMEvalKit", "questions"]
    texts = {(name, "-") for name in (*stages(), *stage_groups())}
    assert {tuple(line.split()[:2]) for line in body} == {
        *((entry.name, name) for name, entry in vlmeval_tasks().items()),
        *texts,
    }
    assert set(tasks()) <= {line.split()[0] for line in body}
    assert ["m4bench", "M4Bench", "1811"] in [line.split() for line in body]


def test_bad_settings_are_a_message_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SPOTDIFF_LAYOUTS", "x")
    assert main(["data", "where", "m4bench"]) == 2
    assert "Did you mean layout?" in capsys.readouterr().err


def test_data_are_prepared_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    (tmp_path / "questions.jsonl").write_text(json.dumps(LINE))
    assert main(["data", "prepare", "m4bench", "--from", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "field image_1" in said
    assert "field image_2" in said
    assert main(["data", "prepare", "m4bench", "--from", str(tmp_path), "--no-images"]) == 0
    assert f"m4bench is ready in {tmp_path / 'data' / 'm4bench'}" in capsys.readouterr().out
    assert main(["data", "where", "m4bench"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "data" / "m4bench")


def test_a_data_folder_that_cannot_be_written_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "file"))
    (tmp_path / "questions.jsonl").write_text(json.dumps(LINE))
    assert main(["data", "prepare", "m4bench", "--from", str(tmp_path), "--no-images"]) == 2
    assert "SPOTDIFF_DATA" in capsys.readouterr().err


def test_a_report_prints_one_table_for_each_run_and_family(
    plain_row: MakeRow, data_folder: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_folder(state_invariance=[plain_row("1", answer="B"), plain_row("2", answer="A")])
    for folder in ("first", "second"):
        records = []
        for name in ("m4bench_state_invariance", "m4bench_state_invariance_swap"):
            evaluation = Evaluation.of(tasks()[name])
            answers = [evaluation.answer(evaluation.question(row), "B") for row in evaluation.rows()]
            records += [to_record(answer, name, 219) for answer in answers]
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x_scored.jsonl").write_text("\n".join(map(json.dumps, records)))
    capsys.readouterr()
    assert main(["report", str(tmp_path / "first"), str(tmp_path / "second")]) == 0
    out = capsys.readouterr().out
    titles = [line for line in out.splitlines() if line.startswith("**")]
    assert titles == [
        f"**M4Bench ({family}), {tmp_path / folder / 'x'}**"
        for folder in ("first", "second")
        for family in ("m4bench", "m4bench_swap")
    ]
    assert out.count("2 of 219 questions") == 4
    assert out.count("| acc  ") == 4


def test_a_report_of_a_folder_without_answers_is_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "--log_samples" in capsys.readouterr().err
