from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from vlmeval_ext import command, running
from vlmeval_ext.command import DONE, FAILED, INTERRUPTED, MISUSED, main


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["list", "--help"]])
def test_help_is_printed_where_it_is_asked_for(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == DONE
    assert capsys.readouterr() == (command.HELP, "")


@pytest.mark.parametrize("words", [["rn"], ["list", "--al"], ["list", "everything"]])
def test_an_unknown_command_is_refused_with_the_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == MISUSED
    out, err = capsys.readouterr()
    assert out == ""
    assert command.HELP in err


def test_list_prints_one_name_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == DONE
    assert {"M4Bench", "M4Bench_Mini"} <= set(capsys.readouterr().out.splitlines())


def test_list_says_so_when_registration_is_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_NO_REGISTER", "1")
    assert main(["list"]) == DONE
    out, err = capsys.readouterr()
    assert out == ""
    assert "SPOTDIFF_NO_REGISTER" in err


def test_an_interrupt_ends_with_the_usual_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run", interrupted)
    assert main(["run"]) == INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_a_missing_framework_is_one_line_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "vlmeval", None)
    assert main(["list", "--all"]) == FAILED
    assert "pip install 'spotdiff[vlmeval]'" in capsys.readouterr().err


def test_a_registration_that_fails_is_an_error_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = {name: SimpleNamespace(supported_VLM={}) for name in ("dataset", "config", "run")}
    monkeypatch.setitem(sys.modules, "vlmeval", SimpleNamespace(**modules))
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, f"vlmeval.{name}", module)
    monkeypatch.setitem(sys.modules, "vlmeval_ext.registration", None)
    assert main(["list", "--all"]) == FAILED
    assert "could not be registered" in capsys.readouterr().err


def test_data_that_cannot_be_used_end_the_run_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    monkeypatch.setenv("PRED_FORMAT", "tsv")
    monkeypatch.setitem(sys.modules, "vlmeval", None)
    words = ["run", "--data", "M4Bench", "M4Bench_Mini", "M4Bench_Concat", "--model", "spotdiff_baseline"]
    assert main(words) == FAILED
    err = capsys.readouterr().err
    assert "nothing was run, 2 of 2 failed" in err
    assert "spotdiff data prepare m4bench" in err
    assert "Traceback" not in err


def framework(**functions: object) -> SimpleNamespace:
    return SimpleNamespace(**functions)


@pytest.mark.parametrize(("raised", "code"), [(SystemExit(3), 3), (RuntimeError("broken"), FAILED)])
def test_a_run_that_breaks_off_fails_and_an_exit_is_passed_on(
    raised: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: object,
) -> None:
    def stop() -> None:
        raise raised

    arguments = SimpleNamespace(
        config=None, data=[], model=[], api_mode=False, base_url=None, mode="all", work_dir=str(tmp_path), reuse=False
    )
    stand_in = framework(
        parse_args=lambda: arguments,
        main=stop,
        build_eval_id=lambda: "T1",
        supported_VLM={},
        supported_video_datasets={},
    )
    monkeypatch.setattr(sys, "argv", ["vlmeval"])
    monkeypatch.setattr(running, "import_framework", lambda: stand_in)
    monkeypatch.setattr("vlmeval_ext.names.of_framework", lambda _: ())
    words = ["run", "--data", "Other", "--model", "GPT4o"]
    if isinstance(raised, SystemExit):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == code
    else:
        assert main(words) == code
        assert "broke off" in capsys.readouterr().err
