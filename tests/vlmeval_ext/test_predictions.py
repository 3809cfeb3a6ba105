from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotdiff.errors import ReplyFileError
from vlmeval_ext.predictions import read_predictions

AWKWARD = {
    "formula": "=B",
    "not_available": "NA",
    "none": "None",
    "null": "null",
    "nan": "NaN",
    "number": "4",
    "decimal": "1.0",
    "true": "TRUE",
    "blank": " ",
    "lines": "Answer: C\n\nThe other\toptions do \"not\" fit, 'they' say.\n",
    "other": "答案是 C 🙂",
    "link": "http://example.org/A",
    "empty": "",
}


def write(path: Path, replies: Mapping[str, str]) -> None:
    """Write a file of predictions the way VLMEvalKit does."""
    table = pandas.DataFrame({"index": list(replies), "question": "Same?", "prediction": list(replies.values())})
    if path.suffix == ".xlsx":
        pytest.importorskip("xlsxwriter")
        pytest.importorskip("openpyxl")
        table.to_excel(path, index=False, engine="xlsxwriter")
    elif path.suffix == ".tsv":
        table.to_csv(path, sep="\t", index=False, encoding="utf-8", quoting=csv.QUOTE_ALL)
    elif path.suffix == ".json":
        path.write_text(json.dumps(table.to_dict("records"), indent=4, ensure_ascii=False), encoding="utf-8")
    else:
        table.to_pickle(path)


@pytest.mark.parametrize("suffix", [".tsv", ".json", ".pkl", ".xlsx"])
def test_every_reply_is_read_as_it_was_given(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"GPT-4o.1_M4Bench{suffix}"
    write(path, AWKWARD)
    assert read_predictions(path, list(AWKWARD)) == AWKWARD


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00")), min_size=1))
@settings(max_examples=50, deadline=None)
def test_any_text_survives_the_table_that_vlmeval_run_asks_for(texts: list[str]) -> None:
    replies = {f"q{number}": text for number, text in enumerate(texts)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.tsv"
        write(path, replies)
        assert read_predictions(path, list(replies)) == replies


def test_the_order_is_that_of_the_questions(tmp_path: Path) -> None:
    write(tmp_path / "p.tsv", {"b": "B", "a": "A"})
    assert list(read_predictions(tmp_path / "p.tsv", ["a", "b"])) == ["a", "b"]


def test_the_pickle_that_vlmevalkit_falls_back_to_is_found(tmp_path: Path) -> None:
    write(tmp_path / "p.pkl", {"a": "A"})
    assert read_predictions(tmp_path / "p.tsv", ["a"]) == {"a": "A"}


def test_every_question_without_a_reply_is_named_at_once(tmp_path: Path) -> None:
    write(tmp_path / "p.tsv", {"a": "A"})
    with pytest.raises(ReplyFileError, match="no reply to b, c"):
        read_predictions(tmp_path / "p.tsv", ["a", "b", "c"])


def test_replies_to_questions_that_were_put_otherwise_are_not_scored(tmp_path: Path) -> None:
    write(tmp_path / "p.tsv", {"a@1": "A"})
    with pytest.raises(ReplyFileError, match="not asked with these settings: a@1"):
        read_predictions(tmp_path / "p.tsv", ["a@2"])


def test_two_replies_to_one_question_are_not_scored(tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("index\tprediction\na\tA\na\tB\n")
    with pytest.raises(ReplyFileError, match="more than one reply to a"):
        read_predictions(tmp_path / "p.tsv", ["a"])


def test_a_reply_that_a_cell_of_xlsx_has_cut_is_not_scored(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="32767"):
        write(tmp_path / "p.xlsx", {"a": "so " * 20000 + "B"})
    with pytest.raises(ReplyFileError, match="PRED_FORMAT=tsv"):
        read_predictions(tmp_path / "p.xlsx", ["a"])


@pytest.mark.parametrize(
    ("name", "text"),
    [("p.tsv", "id\treply\n"), ("p.tsv", ""), ("p.json", "{"), ("p.json", "[1]"), ("p.csv", "x"), ("gone.tsv", None)],
)
def test_a_file_of_another_kind_is_refused_with_its_name(name: str, text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ReplyFileError, match=name):
        read_predictions(tmp_path / name, ["a"])
