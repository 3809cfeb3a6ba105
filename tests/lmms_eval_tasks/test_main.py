"""`python -m lmms_eval_tasks`: what its exit code and its last lines say."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks import calling
from lmms_eval_tasks.calling import DONE, FAILED, MISUSED, Runs, outcomes
from spotdiff.failures import Tally

GOOD = {"acc,none": 0.5, "acc_stderr,none": "N/A", "samples": 8, "alias": "a"}


def results(**by_task: Mapping[str, Any]) -> dict[str, Any]:
    return {"results": by_task, "configs": {name: {} for name in by_task}}


def test_a_task_is_good_when_it_has_figures_and_not_too_many_failures() -> None:
    tally = Tally(8, {"time-out": 2}, {"none": 1})
    said = "ours: 8 asked, 6 answered, 2 failed (time-out 2), 1 unparsed (none 1)"
    for allowed, good in ((0, False), (0.2, False), (0.25, True)):
        found = list(outcomes(results(ours=GOOD, theirs=GOOD), {"ours": tally}, allowed))
        assert found == [(good, said), (True, "theirs")]


@pytest.mark.parametrize(
    "metrics", [{}, {"alias": "a", "samples": 8}, {"acc,none": float("nan")}, {"acc_stderr,none": 0.1}, {" ": " "}]
)
def test_a_task_without_figures_has_failed(metrics: Mapping[str, Any]) -> None:
    assert list(outcomes(results(theirs=metrics), {}, 1)) == [(False, "theirs: no results, see the log above")]


def test_a_task_that_is_scored_elsewhere_is_good() -> None:
    assert list(outcomes(results(theirs={"submission,none": None}), {}, 0)) == [(True, "theirs")]


def test_replies_that_are_stored_unscored_are_counted_where_they_are_of_ours() -> None:
    replies = ["A", "[LMMS_EVAL_REQUEST_FAILED after 2 retries] Error code: 503", "None"]
    samples = [{"filtered_resps": reply} for reply in replies]
    ours = "m4bench_mini_state_invariance"
    found = ({"results": {}}, {ours: samples, "theirs": samples})
    runs = Runs()
    assert runs.watched(lambda arguments: found)(argparse.Namespace(tasks=ours)) is found
    assert runs.results == [({"results": {}}, {ours: Tally(3, {"server error": 1}, None)})]


@pytest.mark.parametrize(
    ("tasks", "code", "exit_code"),
    [
        ("list", None, DONE),
        ("list_tags", 0, DONE),
        (None, None, MISUSED),
        ("a", None, FAILED),
        ("a", 0, FAILED),
        ("a", 2, 2),
    ],
)
def test_a_run_that_exits_by_itself_is_good_only_where_a_list_was_asked_for(
    tasks: str | None, code: int | None, exit_code: int
) -> None:
    with pytest.raises(SystemExit) as ended:
        Runs().watched(lambda arguments: sys.exit(code))(argparse.Namespace(tasks=tasks))
    assert ended.value.code == exit_code


def test_a_task_that_is_missing_from_the_results_has_failed() -> None:
    found = {"results": {"a": GOOD}, "configs": {"a": {}, "b": {}}}
    assert [good for good, _ in outcomes(found, {}, 0)] == [True, False]


def test_an_error_of_a_run_is_kept_and_raised() -> None:
    def broken(arguments: Any) -> Any:
        raise ZeroDivisionError

    runs = Runs()
    with pytest.raises(ZeroDivisionError):
        runs.watched(broken)(argparse.Namespace(tasks="a"))
    assert [type(error) for error in runs.errors] == [ZeroDivisionError]


def test_a_process_that_only_helps_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "1")
    assert calling._report(Runs([(None, {})]), 0) == DONE
    assert calling._report(Runs([(results(a={}), {})]), 0) == DONE
    assert calling._report(Runs([], [ZeroDivisionError()]), 0) == FAILED
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("words", [["--max-failures", "2"], ["--max-failures=x", "--tasks", "a"]])
def test_a_share_that_is_none_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert calling.main(words) == MISUSED
    assert "--max-failures takes the share" in capsys.readouterr().err


OTHER_TASK = """\
task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
num_fewshot: 0
doc_to_text: "{{{{text}}}}"
doc_to_target: "{{{{text}}}}"
doc_to_visual: !function functions.nothing
process_results: !function functions.{results}
generation_kwargs:
  max_new_tokens: 4
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1
"""

FUNCTIONS = """\
def nothing(doc):
    return []

def figures(doc, results):
    return {"acc": 1.0}

def no_figures(doc, results):
    return {}
"""

SEVERAL = """\
import json, sys
from lmms_eval_tasks.calling import main
for words in json.loads(sys.argv[1]):
    code = main(words)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    print(f"\\nEXIT {code}", flush=True)
"""


def run_several(cases: list[list[str]], folder: Path, **settings: str) -> list[tuple[int, str]]:
    """Exit code and output of each command line, all in one process: imports take most of the time."""
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, json.dumps(cases)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "SPOTDIFF_MEDIA_CACHE": str(folder / "media"), **settings},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    found: list[tuple[int, str]] = []
    said = ""
    for line in done.stdout.splitlines(keepends=True):
        if line.startswith("EXIT "):
            found.append((int(line.split()[1]), said))
            said = ""
        else:
            said += line
    assert len(found) == len(cases), done.stdout[-5000:]
    return found


@pytest.mark.e2e
def test_the_exit_code_says_whether_every_task_has_results(tmp_path: Path) -> None:
    ours, baseline = "m4bench_mini_state_invariance", ["--model", "spotdiff_baseline"]
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "questions.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    for name in ("figures", "no_figures"):
        task = OTHER_TASK.format(name=f"other_{name}", data=tmp_path / "questions.jsonl", results=name)
        (tmp_path / f"{name}.yaml").write_text(task)
    config = tmp_path / "runs.yml"
    config.write_text(f"- {{model: spotdiff_baseline, tasks: {ours}}}\n- {{model: no_such_model, tasks: {ours}}}\n")
    counts = f"{ours}: 8 asked, 8 answered, 0 failed, 0 unparsed"
    others = ["--model", "dummy", "--include_path", str(tmp_path), "--tasks"]
    cases: list[tuple[list[str], int, str]] = [
        ([*baseline, "--tasks", ours], DONE, f"0 of 1 failed\n  done    {counts}"),
        ([*baseline, "--tasks", f"{ours},no_such_task"], FAILED, "  FAILED  the run broke off: ValueError"),
        ([*baseline, "--model_args", "policy=c", "--tasks", ours], MISUSED, "spotdiff: policy c does not fit"),
        ([*baseline, "--tasks", "m4bench_state_invariance"], MISUSED, "spotdiff data prepare m4bench"),
        ([*baseline, "--tasks", ours, "--predict_only", "--output_path", "o"], DONE, f"{ours}: 8 asked, 8 answered"),
        ([*baseline], MISUSED, "Need to specify task"),
        ([*baseline, "--tasks", ours, "--no_such_option"], MISUSED, "--no_such_option"),
        (["--config", str(config)], FAILED, f"1 of 2 failed\n  done    {counts}\n  FAILED  the run broke off: "),
        (
            [*others, "other_figures,other_no_figures"], FAILED,
            "1 of 2 failed\n  done    other_figures\n  FAILED  other_no_figures: no results",
        ),
        (["models"], DONE, "Registered Models"),
    ]  # fmt: skip
    found = run_several([words for words, _, _ in cases], tmp_path, SPOTDIFF_DATA="/nowhere")
    for (words, code, said), (ended, output) in zip(cases, found, strict=True):
        assert ended == code, (words, output[-3000:])
        assert said in output, (words, output[-3000:])
