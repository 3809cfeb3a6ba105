"""What `spotdiff probe` is going to run, with which models."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotdiff.cli import main
from spotdiff.errors import SettingError
from spotdiff.probes.plans import ANSWERS, CAPTIONS, PROBES, SUMMARIES, Chosen, plan, run
from spotdiff.probes.stages import stages_of
from spotdiff.tasks import task

ONE, OTHER = Chosen("openai", "model_version=one"), Chosen("openai", "model_version=other")


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("probe", PROBES)
def test_every_probe_names_stages_and_tasks_that_there_are(probe: str, raw: bool) -> None:
    for data in PROBES[probe].data:
        steps = plan(probe, data, {CAPTIONS: ONE}, Path("out"), raw=raw).steps
        *before, (last, answers) = steps.items()
        assert last == ANSWERS
        assert task(answers).name == answers
        for role, name in before:
            assert all(stage.name.endswith(role) for stage in stages_of(name))
        # What answers are given from is what the stages make, of the same data.
        settings = {setting.config for setting in task(answers).settings}
        assert settings == {s.config for _, name in before for stage in stages_of(name) for s in stage.task.settings}


def test_the_model_that_writes_captions_does_all_unless_others_are_named() -> None:
    alone = plan("m3verse-oracle", None, {CAPTIONS: ONE}, Path("out"))
    assert alone.models == {CAPTIONS: ONE, SUMMARIES: ONE, ANSWERS: ONE}
    three = plan("m3verse-oracle", "m3verse_mini", {CAPTIONS: ONE, SUMMARIES: None, ANSWERS: OTHER}, Path("out"))
    assert three.models == {CAPTIONS: ONE, SUMMARIES: ONE, ANSWERS: OTHER}
    assert list(three.steps.values()) == [
        "m3verse_mini_oracle_captions", "m3verse_mini_oracle_summaries", "m3verse_mini_oracle",
    ]  # fmt: skip


def test_without_summaries_there_is_no_step_for_them() -> None:
    raw = plan("m3verse-oracle", None, {CAPTIONS: ONE}, Path("out"), raw=True)
    assert list(raw.steps.values()) == ["m3verse_sim_oracle_captions", "m3verse_sim_oracle_raw"]


def test_data_and_steps_that_a_probe_does_not_know_are_refused() -> None:
    with pytest.raises(SettingError, match="asks m4bench, m4bench_mini, not m3verse"):
        plan("m4bench-captions", "m3verse", {CAPTIONS: ONE}, Path("out"))
    with pytest.raises(SettingError, match="--until takes captions, answers"):
        plan("m4bench-captions", None, {CAPTIONS: ONE}, Path("out"), until="summaries")


def test_a_folder_that_would_be_cut_at_its_comma_is_refused() -> None:
    with pytest.raises(SettingError, match="a comma ends an argument"):
        plan("m4bench-captions", None, {CAPTIONS: ONE}, Path("runs", "one,two"))


@pytest.mark.parametrize(("ended", "told"), [("sys.exit(2)", 2), ("os.kill(os.getpid(), 9)", 137)])
def test_a_step_that_fails_ends_the_probe_with_its_exit_code(
    ended: str, told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = tmp_path / "lmms_eval_tasks"
    steps.mkdir()
    (steps / "__init__.py").touch()
    (steps / "__main__.py").write_text(f"import os, sys\nopen('asked', 'a').write('x')\n{ended}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPOTDIFF_PROBES", str(tmp_path / "probes"))
    monkeypatch.setenv("SPOTDIFF_PROBE_CAPTIONS", "")  # set for later steps, and taken back with the test
    asked = plan("m4bench-captions", "m4bench_mini", {CAPTIONS: ONE}, tmp_path / "out")
    # No step pays for texts whose questions cannot be asked afterwards.
    monkeypatch.delenv("SPOTDIFF_BOX_FAMILY", raising=False)
    with pytest.raises(SettingError, match="Set SPOTDIFF_BOX_FAMILY"):
        run(asked)
    assert not (tmp_path / "asked").exists()
    monkeypatch.setenv("SPOTDIFF_BOX_FAMILY", "pixels")
    assert run(asked) == told
    assert (tmp_path / "asked").read_text() == "x"


def test_arguments_without_their_model_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["probe", "m4bench-captions", "--caption-model", "openai", "--answer-args", "a=b"]
    assert main(words) == 2
    assert "--answer-args belong to a model: name it with --answer-model" in capsys.readouterr().err


def test_a_model_does_not_show_its_arguments() -> None:
    assert "secret" not in repr(Chosen("openai", "api_key=secret"))
