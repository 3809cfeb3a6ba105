"""What the doctor finds in installations and folders made bad on purpose."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from spotdiff import doctor
from spotdiff.benchmarks.m3verse.schema import features as m3verse_features
from spotdiff.cli import main
from spotdiff.data.write import write_data_set
from spotdiff.doctor import Finding, Mark, as_json, as_text, data, environment, machine, media, plugins, versions
from spotdiff.doctor.processes import Unanswered, ask_python, run
from spotdiff.doctor.rules import RULES

SECRET = "x9Recognisable7Key"
MakeRow = Callable[..., dict[str, Any]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a package look installed in a version, in front of the one that is; more: lines of its metadata."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def install(package: str, version: str, *more: str, commands: str = "") -> None:
        info = folder / f"{package.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "\n".join(["Metadata-Version: 2.1", f"Name: {package}", f"Version: {version}", *more])
        )
        (info / "entry_points.txt").write_text(f"[console_scripts]\n{commands}\n")

    return install


def found(findings: Iterable[Finding], word: str) -> list[tuple[Mark, str]]:
    """Mark and remedy of the findings whose text begins with a word."""
    return [(finding.mark, finding.remedy) for finding in findings if finding.text.startswith(word)]


# --- versions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("package", "bad", "good", "beside", "mark"),
    [
        ("filelock", "4.3.0", "4.2.12", ("lmms-eval", "0.7.3"), Mark.fault),
        ("filelock", "5.0", "4.2.99", ("lmms-eval", "0.7.3"), Mark.fault),
        ("antlr4-python3-runtime", "4.9.3", "4.11.1", ("ms-vlmeval", "0.0.20"), Mark.fault),
        ("antlr4-python3-runtime", "4.13", "4.11.1", ("ms-vlmeval", "0.0.20"), Mark.fault),
    ],
)
def test_a_bad_version_is_a_fault_and_the_next_good_one_is_fine(
    package: str, bad: str, good: str, beside: tuple[str, str], mark: Mark, install: Callable[..., None]
) -> None:
    install(*beside)
    install(package, good)
    assert found(versions.check(), package) == [(Mark.ok, "")]
    # Of two that are installed in one folder the order of names decides, so the good one goes first.
    folder = Path(sys.path[0]) / f"{package.replace('-', '_')}-{good}.dist-info"
    folder.rename(folder.with_name(f"{package.replace('-', '_')}-{bad}.dist-info"))
    metadata = folder.with_name(f"{package.replace('-', '_')}-{bad}.dist-info") / "METADATA"
    metadata.write_text(metadata.read_text().replace(good, bad))
    ((is_marked, remedy),) = found(versions.check(), package)
    assert is_marked is mark
    assert "pip install" in remedy
    assert package in remedy


def test_a_framework_outside_of_the_tested_range_is_a_warning(install: Callable[..., None]) -> None:
    install("lmms-eval", "0.8.1")
    ((mark, remedy),) = found(versions.check(), "lmms-eval")
    assert mark is Mark.warning
    assert "lmms-eval<0.8,>=0.7.3" in remedy


def test_a_package_of_our_own_that_is_too_old_is_a_fault(install: Callable[..., None]) -> None:
    install("av", "14.0")
    assert found(versions.check(), "av 14.0") == [(Mark.fault, "pip install 'av>=15'")]


def test_what_a_framework_asks_for_in_vain_is_a_warning(install: Callable[..., None]) -> None:
    install("ms-vlmeval", "0.0.20", "Requires-Dist: no-such-package>=3", "Requires-Dist: other; python_version < '3'")
    assert found(versions.check(), "no-such-package is not installed") == [
        (Mark.warning, "pip install 'no-such-package>=3'")
    ]
    assert found(versions.check(), "other") == []


def test_another_package_with_a_vlmeval_command_or_module_is_a_warning(install: Callable[..., None]) -> None:
    install("ms-vlmeval", "0.0.20")
    install("vlmeval", "0.2", commands="vlmeval = vlmeval.cli:main")
    texts = [finding.text for finding in versions.check() if finding.mark is Mark.warning]
    assert any("the command `vlmeval` is also one of vlmeval" in text for text in texts)
    assert any("provides the module `vlmeval`" in text for text in texts)


def test_a_vlmeval_command_of_another_environment_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        (folder / "vlmeval").write_text("#!/bin/sh\n")
        (folder / "vlmeval").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.setenv("PATH", f"{other}{os.pathsep}{own}")
    assert [mark for mark, _ in found(versions.check(), "`vlmeval` runs")] == [Mark.warning]
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{other}")
    assert found(versions.check(), "`vlmeval` runs") == []


def test_every_rule_that_asks_for_action_has_a_remedy() -> None:
    assert all(rule.remedy for rule in RULES if rule.mark in (Mark.warning, Mark.fault))


def test_without_a_framework_the_extra_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "version", lambda package: None)
    assert list(plugins.check_lmms_eval()) == [Finding(Mark.note, "is not installed", "pip install 'spotdiff[lmms]'")]
    assert list(plugins.check_vlmevalkit()) == [
        Finding(Mark.note, "is not installed", "pip install 'spotdiff[vlmeval]'")
    ]


# --- frameworks ---------------------------------------------------------------------------------------------------


def test_a_framework_that_breaks_crashes_or_hangs_breaks_nothing_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, install: Callable[..., None]
) -> None:
    install("ms-vlmeval", "0.0.20")
    package = tmp_path / "stand-in" / "vlmeval"
    package.mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    for code, mark, said in (
        ("raise ImportError('no such thing')", Mark.fault, "ImportError: no such thing"),
        ("import os; os._exit(7)", Mark.fault, "exit code 7"),
        ("import time; time.sleep(60)", Mark.warning, "no answer within"),
    ):
        (package / "__init__.py").write_text(code)
        if mark is Mark.warning:
            monkeypatch.setattr(plugins, "ask_python", lambda code: ask_python(code, limit=3))
        last = list(plugins.check_vlmevalkit())[-1]
        assert last.mark is mark
        assert said in last.text
        assert last.remedy


def test_tasks_that_a_framework_does_not_list_are_a_fault(
    monkeypatch: pytest.MonkeyPatch, install: Callable[..., None]
) -> None:
    install("lmms-eval", "0.7.3")
    monkeypatch.setattr(plugins, "ask_python", lambda code: {"tasks": ["mme"], "models": ["spotdiff_baseline"]})
    monkeypatch.setattr(plugins, "_hook", lambda: Finding(Mark.ok, "in place"))
    tasks, models = list(plugins.check_lmms_eval())[1:]
    assert tasks.mark is models.mark is Mark.fault
    assert "egoexo_next" in tasks.text
    assert "spotdiff_replay" in models.text


def test_registration_that_is_off_or_not_armed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delenv("SPOTDIFF_NO_REGISTER", raising=False)
    assert plugins._hook().mark is Mark.fault
    monkeypatch.setenv("SPOTDIFF_NO_REGISTER", "1")
    assert plugins._hook().mark is Mark.warning


def test_an_answer_comes_back_whatever_else_is_printed() -> None:
    assert ask_python("print('noise', end='')\nanswer({'a': [1, 'x']})\nprint('more')") == {"a": [1, "x"]}


def test_no_module_of_the_working_folder_is_imported_by_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise RuntimeError('from the working folder')")
    monkeypatch.chdir(tmp_path)
    assert ask_python("import numpy; answer(1)") == 1


@pytest.mark.parametrize("command", [["/no/such/program"], [sys.executable, "-c", "raise SystemExit(3)"]])
def test_a_program_that_fails_gives_no_answer(command: list[str]) -> None:
    with pytest.raises(Unanswered):
        run(command, limit=30)


# --- data ---------------------------------------------------------------------------------------------------------


def of_data(name: str) -> Finding:
    (finding,) = [finding for finding in data.check() if finding.text.split()[0] == name]
    return finding


def test_a_data_set_that_is_not_there_is_a_warning_and_a_shipped_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    missing = of_data("m4bench")
    assert missing.mark is Mark.warning
    assert missing.remedy == "spotdiff data prepare m4bench --from FOLDER"
    for name in ("m3verse_mini", "egoexo_next_mini", "m4bench_mini", "mvvbench_mini"):
        assert of_data(name).mark is Mark.ok


def test_a_data_set_of_the_hub_is_named_and_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    monkeypatch.setenv("SPOTDIFF_HUB", "nobody")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert of_data("m4bench").mark is Mark.note


def m4bench(make_row: MakeRow, rows: dict[str, int], images: bool = True) -> dict[str, list[dict[str, Any]]]:
    changes = {} if images else {"image_1": None, "image_2": None}
    # Nobody looks at the pixels: one row stands for all.
    row = make_row(**changes)
    return {config: [{**row, "id": str(number)} for number in range(count)] for config, count in rows.items()}


M4BENCH = {
    "state_invariance": 219,
    "state_comparison": 208,
    "detailed_difference_synthetic": 234,
    "detailed_difference_natural": 230,
    "spatial_perception": 230,
    "instance_comparison": 230,
}


def test_a_complete_data_set_is_fine_and_a_row_too_few_a_fault(
    make_row: MakeRow, data_folder: Callable[..., Path]
) -> None:
    data_folder(**m4bench(make_row, M4BENCH))
    assert of_data("m4bench").mark is Mark.ok
    data_folder(**m4bench(make_row, {**M4BENCH, "state_comparison": 207}))
    finding = of_data("m4bench")
    assert finding.mark is Mark.fault
    assert "1,350 rows; the paper has 1,351" in finding.text
    assert "spotdiff data prepare m4bench" in finding.remedy


def test_a_missing_or_broken_file_of_a_data_set_is_a_fault(make_row: MakeRow, data_folder: Callable[..., Path]) -> None:
    folder = data_folder(**m4bench(make_row, M4BENCH))
    (file,) = (folder / "state_comparison").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-100])
    assert of_data("m4bench").mark is Mark.fault
    file.unlink()
    assert of_data("m4bench").mark is Mark.fault


def test_a_data_set_without_images_is_a_warning(make_row: MakeRow, data_folder: Callable[..., Path]) -> None:
    data_folder(**m4bench(make_row, M4BENCH, images=False))
    finding = of_data("m4bench")
    assert finding.mark is Mark.warning
    assert "without images" in finding.text


def test_missing_videos_are_a_fault_unless_they_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scenes import scene_row

    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    rows = {
        "sim": [scene_row("s1", number) for number in range(2932)],
        "real": [scene_row("s2", number) for number in range(552)],
    }
    (tmp_path / "clip").write_bytes(b"no video, and nobody looks")
    there = {
        scene_row(scene)[column]: tmp_path / "clip"
        for scene in ("s1", "s2")
        for column in ("video_before", "video_after")
    }
    write_data_set(tmp_path / "m3verse", rows, m3verse_features(), there)
    assert of_data("m3verse").mark is Mark.ok
    (tmp_path / "m3verse" / scene_row("s2")["video_after"]).unlink()
    assert of_data("m3verse").mark is Mark.fault
    assert "1 of 4 videos are missing" in of_data("m3verse").text
    monkeypatch.setenv("SPOTDIFF_ALLOW_MISSING", "1")
    assert of_data("m3verse").mark is Mark.warning


# --- settings, folders, GPU, video ----------------------------------------------------------------------------------


def test_a_faulty_setting_is_a_fault_that_names_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spotdiff.toml").write_text("layuot = 'concat'")
    (finding,) = environment.check_settings()
    assert finding.mark is Mark.fault
    assert "spotdiff.toml, layuot" in finding.text
    (tmp_path / "spotdiff.toml").write_text("layout = 'concat'")
    assert "layout = concat" in [finding.text for finding in environment.check_settings()]


def test_secrets_are_told_as_set_or_not_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:{SECRET}@proxy:3128")
    monkeypatch.delenv("LMDEPLOY_API_KEY", raising=False)
    found = {"Environment": list(environment.check_variables())}
    for text in (as_text(found), as_json(found)):
        assert SECRET not in text
        assert "OPENAI_API_KEY is set" in text
        assert "LMDEPLOY_API_KEY is not set" in text
        assert "http://user:...@proxy:3128" in text


def test_a_folder_that_cannot_be_written_is_a_fault_and_its_variable_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    # A folder below a file can be made by nobody, root included.
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "file" / "cache"))
    ((mark, remedy),) = found(machine.check_folders(), "media cache")
    assert mark is Mark.fault
    assert "SPOTDIFF_MEDIA_CACHE" in remedy


def test_a_folder_without_room_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "not" / "yet"))
    assert [mark for mark, _ in found(machine.check_folders(), "media cache")] == [Mark.ok]
    monkeypatch.setattr(machine, "_ROOM", 10**18)
    assert [mark for mark, _ in found(machine.check_folders(), "media cache")] == [Mark.warning]
    assert not (tmp_path / "not").exists()


@pytest.mark.parametrize(
    ("devices", "has_gpu", "mark"),
    [([["H200", 150 * 2**30]], True, Mark.ok), ([], True, Mark.warning), ([], False, Mark.ok)],
)
def test_a_gpu_that_torch_does_not_see_is_a_warning(devices: list[Any], has_gpu: bool, mark: Mark) -> None:
    assert machine._torch({"built": "13.0", "devices": devices}, has_gpu).mark is mark


def test_what_nvidia_smi_says_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'NVIDIA H200, 143771 MiB, 10 MiB, 570.1'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine, "version", lambda package: None)
    assert list(machine.check_gpu()) == [Finding(Mark.ok, "NVIDIA H200, 143771 MiB (10 MiB in use), driver 570.1")]


def test_both_decoders_decode_a_video_made_just_now() -> None:
    pytest.importorskip("decord")
    assert len(set(media.decoded("pyav"))) == 12
    assert media.decoded("decord") == media.decoded("pyav")


def test_a_decord_that_cannot_be_imported_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "decord.py").write_text("raise OSError('libdecord.so: cannot open shared object file')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(media, "version", lambda package: "0.6.0" if package == "decord" else None)
    assert media._compared().mark is Mark.warning


def test_a_torchcodec_that_finds_no_ffmpeg_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torchcodec.py").write_text("raise RuntimeError('Could not load libtorchcodec')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(media, "version", lambda package: "0.9" if package == "torchcodec" else None)
    (finding,) = media._of_frameworks()
    assert finding.mark is Mark.warning
    assert "FORCE_QWENVL_VIDEO_READER=decord" in finding.remedy


# --- the report -----------------------------------------------------------------------------------------------------


def of_marks(monkeypatch: pytest.MonkeyPatch, *marks: Mark) -> None:
    checks = {"Group": lambda: [Finding(mark, f"is {mark.name}", "a remedy") for mark in marks]}
    monkeypatch.setattr(doctor, "_CHECKS", checks)


@pytest.mark.parametrize(
    ("marks", "code"),
    [((Mark.ok, Mark.note, Mark.warning), 0), ((Mark.ok, Mark.fault, Mark.warning), 1), ((), 0)],
)
def test_the_exit_code_is_1_where_there_is_a_fault_and_else_0(
    marks: tuple[Mark, ...], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    of_marks(monkeypatch, *marks)
    assert main(["doctor"]) == code
    assert main(["doctor", "--json"]) == code


def test_text_and_json_tell_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    of_marks(monkeypatch, Mark.warning, Mark.fault, Mark.fault)
    main(["doctor"])
    text = capsys.readouterr().out
    main(["doctor", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert text.endswith("faults: 2, warnings: 1\n")
    assert (told["faults"], told["warnings"]) == (2, 1)
    assert told["findings"][0] == {"group": "Group", "mark": "warning", "text": "is warning", "remedy": "a remedy"}
    assert all(finding["text"] in text for finding in told["findings"])


def test_a_check_that_breaks_is_a_fault_and_what_it_found_before_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks() -> Iterable[Finding]:
        yield Finding(Mark.ok, "found before")
        raise RuntimeError("broken")

    monkeypatch.setattr(doctor, "_CHECKS", {"Group": breaks})
    before, broken = doctor.examine()["Group"]
    assert before.text == "found before"
    assert broken.mark is Mark.fault
    assert "RuntimeError: broken" in broken.text
