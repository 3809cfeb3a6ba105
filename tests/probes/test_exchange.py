"""Texts go out as a table, people correct them, and what they wrote comes back beside what the model wrote."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Container
from pathlib import Path

import pytest
from told_texts import LABEL, tell

from spotdiff.cli import main
from spotdiff.errors import DataError, SettingError
from spotdiff.probes.exchange import export, take_in
from spotdiff.probes.stages import stages
from spotdiff.probes.store import EMPTY, StoredText, read_texts

STAGE = "m3verse_mini_oracle_captions"
SAID = 'Two lines,\nwith "quotes", commas; an umlaut ä, and 猫.'


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPOTDIFF_PROBES", str(tmp_path / "probes"))
    say()
    return tmp_path / "probes"


def say(label: str = LABEL, leave_out: Container[int] = ()) -> None:
    tell(STAGE, lambda item: SAID, label, leave_out)


def texts(folder: Path) -> list[StoredText]:
    return list(read_texts(folder, stages()[STAGE].kind).by_model[LABEL].values())


def corrected(file: Path, change: Callable[[list[dict[str, str]]], None]) -> None:
    """As a spreadsheet writes it."""
    if file.suffix == ".jsonl":
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        change(rows)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    with file.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    change(rows)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], lineterminator="\r\n")
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_corrected_text_takes_the_place_of_the_models_and_no_other_text_changes(
    store: Path, tmp_path: Path, form: str
) -> None:
    file = tmp_path / f"texts.{form}"
    assert export(STAGE, file) == 8

    def change(rows: list[dict[str, str]]) -> None:
        rows[3]["text"] = "corrected\nby hand"
        rows[5]["text"] = " "
        rows.reverse()

    corrected(file, change)
    assert take_in(file) == 2
    edited = {text.text: text for text in texts(store) if text.edited}
    assert set(edited) == {"corrected\nby hand", ""}
    assert edited[""].outcome == EMPTY
    assert edited["corrected\nby hand"].data == "d"
    assert [text.text for text in texts(store) if not text.edited] == [SAID] * 6
    say()
    assert sum(text.edited for text in texts(store)) == 2
    assert take_in(file) == 0


def test_what_was_exported_and_not_changed_changes_nothing(store: Path, tmp_path: Path) -> None:
    export(STAGE, tmp_path / "texts.csv")
    assert take_in(tmp_path / "texts.csv") == 0
    assert not any(text.edited for text in texts(store))


def test_a_row_of_no_stored_text_is_refused_by_its_place_and_nothing_is_taken_in(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.csv"
    export(STAGE, file)

    def change(rows: list[dict[str, str]]) -> None:
        rows[0]["text"] = "corrected"
        rows[4]["media"] = "0" * 64

    corrected(file, change)
    with pytest.raises(DataError, match=r"texts\.csv, row 5 .*holds no such text of captioner-000001"):
        take_in(file)
    assert not any(text.edited for text in texts(store))


def test_a_file_without_a_column_or_of_another_form_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text('{"text": "a", "model": "b"}\n')
    with pytest.raises(DataError, match=r"line 1: the column kind is missing"):
        take_in(file)
    file.write_text("{")
    with pytest.raises(DataError, match="line 1 is not JSON"):
        take_in(file)
    with pytest.raises(SettingError, match=r"\.csv or \.jsonl"):
        export(STAGE, tmp_path / "texts.xlsx")


def test_of_two_models_one_has_to_be_named(store: Path, tmp_path: Path) -> None:
    say("other-000002", leave_out=range(3))
    with pytest.raises(SettingError, match=r"--model LABEL.*captioner-000001, other-000002"):
        export(STAGE, tmp_path / "texts.csv")
    assert export(STAGE, tmp_path / "texts.csv", "other-000002") == 5


def test_without_any_texts_one_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPOTDIFF_PROBES", str(tmp_path / "none"))
    with pytest.raises(SettingError, match=rf"{STAGE}: .*none holds no texts of it"):
        export(STAGE, tmp_path / "out.csv", None)
    with pytest.raises(DataError, match=r"There is no file .*absent\.csv$"):
        take_in(tmp_path / "absent.csv")
    assert main(["probe", "list"]) == 0
    assert capsys.readouterr().out == "There are no texts yet\n"


def test_an_unknown_stage_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"no stage 'm3verse_captions'.*m3verse_oracle_captions"):
        export("m3verse_captions", tmp_path / "texts.csv")


def test_the_command_exports_imports_and_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "texts.csv"
    assert main(["probe", "export", STAGE, "--out", str(file)]) == 0
    corrected(file, lambda rows: rows[0].update(text="corrected"))
    assert main(["probe", "import", str(file)]) == 0
    capsys.readouterr()
    assert main(["probe", "list"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["texts", "model", "made", "empty", "refused", "failed", "edited"]
    assert row.split() == ["m3verse_captions", LABEL, "8", "0", "0", "0", "1"]
