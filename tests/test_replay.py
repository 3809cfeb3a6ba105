"""Stored replies in every form, and what is said when they do not fit."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.errors import ReplyFileError
from spotdiff.question import Option, Question
from spotdiff.replay import Replies, load_replies
from spotdiff.tasks import tasks

Rows = list[dict[str, Any]]


def lines(rows: Rows, **options: Any) -> str:
    return "".join(json.dumps(row, **options) + "\n" for row in rows)


REPLIES = {"state_invariance/s/1": "A", "state_invariance/s 2 ü": "(B) Yes\n\nBoth."}

OWN = [{"id": name, "reply": reply} for name, reply in REPLIES.items()]
RELEASED = [
    {
        "task": "State_Invariance",
        "id": name.split("/", 1)[1],
        "prediction": reply,
        "answer": "A",
        "images": ["x/yes.png"],
    }
    for name, reply in REPLIES.items()
]
SAMPLES = [
    {
        "doc_id": number,
        "target": "B",
        "resps": [[reply]],
        "filtered_resps": ["stripped"],
        "acc": {"id": name, "score": 1.0},
        "parsed": {"score": 1.0},
    }
    for number, (name, reply) in enumerate(REPLIES.items())
]


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "json", "json.gz"])
@pytest.mark.parametrize("rows", [OWN, RELEASED, SAMPLES])
@pytest.mark.parametrize("by", ["file", "folder"])
def test_every_form_holds_the_same_replies(tmp_path: Path, form: str, rows: Rows, by: str) -> None:
    text = lines(rows) if form.startswith("jsonl") else json.dumps(rows)
    file = tmp_path / "below" / f"State_Invariance.{form}"
    file.parent.mkdir()
    file.write_bytes(gzip.compress(text.encode()) if form.endswith("gz") else text.encode())
    found = load_replies(file if by == "file" else tmp_path)
    assert found.by_id == REPLIES
    assert found.path == (file if by == "file" else tmp_path)


@pytest.mark.parametrize("name", ["State_Invariance", "state_invariance", "m4bench_state_invariance_swap"])
def test_a_file_of_rows_without_a_setting_is_named_after_it(tmp_path: Path, name: str) -> None:
    rows = [{"id": row["id"], "prediction": row["prediction"]} for row in RELEASED]
    (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    assert load_replies(tmp_path).by_id == REPLIES


def test_a_folder_holds_one_file_for_each_setting(tmp_path: Path) -> None:
    for name in ("State_Invariance", "Spatial_Perception_With_Visual_Prompt"):
        (tmp_path / f"{name}.json").write_text(json.dumps([{"id": "1", "prediction": name}]))
    assert load_replies(tmp_path).by_id == {
        "state_invariance/1": "State_Invariance",
        "spatial_perception_vp/1": "Spatial_Perception_With_Visual_Prompt",
    }


@pytest.mark.parametrize("field", ["task", "setting"])
@pytest.mark.parametrize("whole", [False, True])
def test_every_name_of_a_setting_leads_to_it(tmp_path: Path, field: str, whole: bool) -> None:
    names = {task.name: task.settings[0] for task in tasks().values()}
    names |= {setting.released_as: setting for setting in names.values() if setting.released_as}
    names |= {setting.name: setting for setting in names.values()}
    for name, setting in names.items():
        row = {field: name, "id": f"{setting.name}/x/1" if whole else "x/1", "reply": "A"}
        (tmp_path / "x.jsonl").write_text(lines([row]))
        assert load_replies(tmp_path).by_id == {f"{setting.name}/x/1": "A"}, name


def test_a_whole_id_needs_no_setting_and_an_unknown_one_changes_nothing(tmp_path: Path) -> None:
    rows = [{"id": "state_invariance/1", "reply": "A"}, {"id": "state_invariance/2", "task": "M4Bench", "reply": "B"}]
    (tmp_path / "x.jsonl").write_text(lines(rows))
    assert load_replies(tmp_path).by_id == {"state_invariance/1": "A", "state_invariance/2": "B"}


def test_a_sample_log_may_leave_out_the_raw_reply(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row.items() if key != "resps"} for row in SAMPLES]
    (tmp_path / "x_samples_m4bench.jsonl").write_text(lines(rows))
    assert set(load_replies(tmp_path).by_id.values()) == {"stripped"}


def test_results_beside_sample_logs_are_no_replies(tmp_path: Path) -> None:
    (tmp_path / "20260101_results.json").write_text('{"results": {}}')
    (tmp_path / "20260101_samples_m4bench_state_invariance.jsonl").write_text(lines(SAMPLES))
    assert load_replies(tmp_path).by_id == REPLIES


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        st.text(st.characters(exclude_categories=["Cs"])),
        min_size=1,
    )
)
def test_any_text_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, replies: dict[str, str]) -> None:
    folder = tmp_path_factory.mktemp("replies")
    rows = [{"id": name, "reply": reply} for name, reply in replies.items()]
    (folder / "x.jsonl").write_bytes(lines(rows, ensure_ascii=False).encode())
    assert load_replies(folder).by_id == replies


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x1e", "\r"])
def test_a_separator_of_lines_inside_a_reply_does_not_end_it(tmp_path: Path, separator: str) -> None:
    text = f'{{"id": "a", "reply": "one{separator}two"}}\n' if separator > "\x1f" else ""
    text += lines([{"id": "b", "reply": f"one{separator}two"}], ensure_ascii=False)
    (tmp_path / "x.jsonl").write_bytes(text.encode())
    assert set(load_replies(tmp_path).by_id.values()) == {f"one{separator}two"}


def test_blank_lines_windows_line_ends_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"\xef\xbb\xbf" + lines(OWN).replace("\n", "\r\n\r\n").encode())
    assert load_replies(tmp_path).by_id == REPLIES


# --- several models -----------------------------------------------------------------------------------------------

MODELS = [{"model": name, "id": "1", "task": "State_Invariance", "prediction": name} for name in ("m1", "m2")]


def test_of_several_models_the_named_one_is_taken(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(lines(MODELS))
    assert load_replies(tmp_path, "m2").by_id == {"state_invariance/1": "m2"}


def test_of_several_models_one_must_be_named(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(lines(MODELS))
    with pytest.raises(ReplyFileError, match=r"several models: m1, m2\. Name one: model="):
        load_replies(tmp_path)


def test_a_model_without_replies_is_an_error_that_lists_the_others(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(lines(MODELS))
    with pytest.raises(ReplyFileError, match=r"no reply of model 'm3'\. It has: m1, m2"):
        load_replies(tmp_path, "m3")


def test_a_single_model_need_not_be_named_and_rows_without_one_belong_to_any(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(lines(MODELS[:1]))
    assert load_replies(tmp_path).by_id == load_replies(tmp_path, "m1").by_id == {"state_invariance/1": "m1"}
    (tmp_path / "x.jsonl").write_text(lines(OWN))
    assert load_replies(tmp_path, "whoever").by_id == REPLIES


# --- what does not fit --------------------------------------------------------------------------------------------


def test_all_missing_replies_are_named_at_once() -> None:
    replies = Replies(Path("some/file"), {"a": "A"})
    replies.require(["a", "a"])
    names = [f"state_invariance/{number}" for number in range(200)]
    with pytest.raises(ReplyFileError) as caught:
        replies.require(["a", *names])
    assert f"some/file holds no reply to 200 questions: {', '.join(names)}. " in str(caught.value)
    with pytest.raises(ReplyFileError, match="no reply to 1 question: b"):
        replies.require(["b"])


def test_the_same_reply_twice_is_one_and_two_different_ones_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(lines([OWN[0], OWN[0]]))
    assert len(load_replies(tmp_path).by_id) == 1
    (tmp_path / "x.jsonl").write_text(lines([OWN[0], {**OWN[0], "reply": "C"}]))
    with pytest.raises(ReplyFileError, match=r"x\.jsonl, line 2: question state_invariance/s/1 has two different"):
        load_replies(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "1", "reply": "A"}\n{"id": "2", "rep', "line 2 is not JSON"),
        ('{"id": "1", "reply": "A"}\n[1]', "line 2 is not an object"),
        ('{"id": "1", "reply": "A"}\nnull', "line 2 is not an object"),
        ('{"reply": "A"}', "line 1 has no field id"),
        ('{"id": "1"}', "line 1 has no reply"),
        ('{"id": "1", "reply": null}', "line 1 has no reply"),
        ('{"id": "1", "reply": 5}', "line 1 has no reply"),
        ('{"id": "1", "resps": []}', "line 1 has no reply"),
        ('{"id": "1", "resps": [[]]}', "line 1 has no reply"),
        ('{"doc_id": 1, "resps": [["A"]], "acc": 1.0}', "line 1 has no field id"),
        ("", "holds no replies"),
        ("\n \n", "holds no replies"),
    ],
)
def test_a_broken_file_is_an_error_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(ReplyFileError) as caught:
        load_replies(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("{}", "must hold a list"),
        ("[]", "holds no replies"),
        ("[5]", "row 1 is not an object"),
        ('[{"id": "1", "reply": "A"}, {"id": "2"}]', "row 2 has no reply"),
    ],
)
def test_a_broken_list_is_an_error_with_file_and_row(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ReplyFileError, match=message):
        load_replies(tmp_path)


def damaged(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF, data[middle + 1] ^ 0xFF]) + data[middle + 2 :]


@pytest.mark.parametrize(
    "spoil",
    [lambda data: data[: len(data) // 2], lambda data: b"", lambda data: b"no gzip", damaged],
    ids=["cut", "empty", "other", "damaged"],
)
def test_a_compressed_file_that_is_broken_is_an_error(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(spoil(gzip.compress(lines(OWN * 20).encode())))
    with pytest.raises(ReplyFileError, match=r"x\.jsonl\.gz|holds no replies"):
        load_replies(tmp_path / "x.jsonl.gz")


def test_a_file_of_another_encoding_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"id": "1", "reply": "\xff"}')
    with pytest.raises(ReplyFileError, match="cannot be read"):
        load_replies(tmp_path)


def test_a_path_that_is_not_there_or_holds_no_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReplyFileError, match="There is no file or folder"):
        load_replies(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ReplyFileError, match="holds no file of replies"):
        load_replies(tmp_path)


@pytest.mark.parametrize("path", ["", "  "])
def test_no_path_is_an_error_and_not_the_working_folder(path: str) -> None:
    with pytest.raises(ReplyFileError, match="path="):
        load_replies(path)


def test_a_folder_named_like_a_file_of_replies_is_not_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").mkdir()
    (tmp_path / "old.jsonl" / "x.jsonl").write_text(lines(OWN))
    assert load_replies(tmp_path).by_id == REPLIES


def test_the_home_folder_may_be_written_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.jsonl").write_text(lines(OWN))
    assert load_replies("~/x.jsonl").by_id == REPLIES


def test_replies_to_options_in_another_order_are_refused(tmp_path: Path) -> None:
    sample = {"doc_id": 0, "resps": [["B"]], "acc": {"id": "x/1", "outcome": "parsed", "gold": ["B"]}}
    (tmp_path / "x.jsonl").write_text(lines([sample]))
    replies = load_replies(tmp_path)
    options = (Option("A", "one"), Option("B", "two"))
    asked = Question("x/1", "x", (), options, ("B",), "pair")
    replies.check([asked])
    with pytest.raises(ReplyFileError, match="SPOTDIFF_SHUFFLE_SEED"):
        replies.check([replace(asked, gold=("A",))])
