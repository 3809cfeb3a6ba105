"""Replies from the predictions of VLMEvalKit, in each of its formats, to the letter."""

import json
from pathlib import Path
from typing import Any

import pandas
import pytest
from openpyxl import Workbook

from spotdiff.runs.replies import replies_beside

ODD = ["A", "", "NA", "None", "nan", "null", "a\tb", 'say "B"', "two\nlines", "\u2028", "=B", "007", "1.0", "🙂"]

Write = Any


def tsv(file: Path, replies: list[str]) -> None:
    # As VLMEvalKit writes it.
    pandas.DataFrame({"index": names(replies), "question": "q", "prediction": replies}).to_csv(
        file, sep="\t", index=False, quoting=1
    )


def xlsx(file: Path, replies: list[str]) -> None:
    book = Workbook()
    book.active.append(["index", "question", "prediction"])
    for name, reply in zip(names(replies), replies, strict=True):
        book.active.append([name, "q", None])
        cell = book.active.cell(row=book.active.max_row, column=3)
        if reply:
            cell.value, cell.data_type = reply, "s"
    book.save(file)


def as_json(file: Path, replies: list[str]) -> None:
    rows = [
        {"index": name, "question": "q", "prediction": reply}
        for name, reply in zip(names(replies), replies, strict=True)
    ]
    file.write_text(json.dumps(rows))


def names(replies: list[str]) -> list[str]:
    return [f"ego/{number}@x@0123abcd" for number in range(len(replies))]


@pytest.mark.parametrize(("suffix", "write"), [(".tsv", tsv), (".xlsx", xlsx), (".json", as_json)])
def test_every_reply_comes_back_as_it_was(tmp_path: Path, suffix: str, write: Write) -> None:
    write(tmp_path / f"m_EgoExo{suffix}", ODD)
    found, remarks = replies_beside(tmp_path / "m_EgoExo_scored.jsonl")
    assert remarks == []
    assert {name: stored.reply for name, stored in found.items()} == {
        f"ego/{number}@x": reply for number, reply in enumerate(ODD)
    }
    assert {stored.prompt for stored in found.values()} == {"q"}


def test_a_missing_cell_is_an_empty_reply(tmp_path: Path) -> None:
    (tmp_path / "m_x.json").write_text('[{"index": "a@1", "prediction": NaN}, {"index": "b@1", "prediction": null}]')
    found, _ = replies_beside(tmp_path / "m_x_scored.jsonl")
    assert [(stored.reply, stored.prompt) for stored in found.values()] == [("", None), ("", None)]


def test_a_reply_of_a_megabyte_is_read(tmp_path: Path) -> None:
    tsv(tmp_path / "m_x.tsv", ["A" * 1_000_000])
    found, remarks = replies_beside(tmp_path / "m_x_scored.jsonl")
    assert remarks == []
    assert [len(stored.reply) for stored in found.values()] == [1_000_000]


def test_replies_that_xlsx_cut_are_told(tmp_path: Path) -> None:
    xlsx(tmp_path / "m_x.xlsx", ["B", "A" * 32767])
    found, (remark,) = replies_beside(tmp_path / "m_x_scored.jsonl")
    assert len(found) == 2
    assert "1 replies were cut, ego/1@x@0123abcd among them" in remark


@pytest.mark.parametrize("content", ["index\tanswer\na\tb\n", ""])
def test_predictions_that_cannot_be_read_cost_the_replies_alone(tmp_path: Path, content: str) -> None:
    (tmp_path / "m_x.tsv").write_text(content)
    found, remarks = replies_beside(tmp_path / "m_x_scored.jsonl")
    assert found == {}
    assert len(remarks) == (1 if content else 0)


@pytest.mark.parametrize(
    ("suffix", "content"), [(".xlsx", b"no zip"), (".json", b"{"), (".json", b"[1]"), (".tsv", b"\xff")]
)
def test_a_broken_file_is_named(tmp_path: Path, suffix: str, content: bytes) -> None:
    (tmp_path / f"m_x{suffix}").write_bytes(content)
    found, (remark,) = replies_beside(tmp_path / "m_x_scored.jsonl")
    assert found == {}
    assert f"m_x{suffix} cannot be read as predictions" in remark


def test_no_predictions_are_told(tmp_path: Path) -> None:
    found, (remark,) = replies_beside(tmp_path / "m_x_scored.jsonl")
    assert found == {}
    assert "no predictions beside it" in remark
