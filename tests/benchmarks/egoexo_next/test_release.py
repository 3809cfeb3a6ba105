"""From a release of EgoExo-Next, in whatever form, to the canonical rows."""

import base64
import gzip
import io
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from spotdiff.benchmarks.egoexo_next.release import read_release
from spotdiff.benchmarks.egoexo_next.release_counts import counts
from spotdiff.benchmarks.egoexo_next.release_fields import Fields, load_fields
from spotdiff.benchmarks.egoexo_next.schema import IMAGE_COLUMNS, features
from spotdiff.cli import main
from spotdiff.data.prepare import prepare
from spotdiff.data.store import read_config
from spotdiff.data.write import ROWS_A_GROUP, write_data_set
from spotdiff.errors import DataError, SettingError

Record = dict[str, Any]
Encode = Callable[..., bytes]

COUNTS = {"ego": 4, "match": 1, "exo": 4, "ego2exo": 4}


def record(subtask: str, number: int = 1, **changes: Any) -> Record:
    """A question of a release whose images are files beside its table; None leaves a field out."""
    name = f"{subtask}{number}"
    full = {
        "question_id": name,
        "subtask": subtask,
        "direction": "ego2exo" if subtask == "match" else None,
        "scene": "indoor",
        "source": "WEAR",
        "clip_id": f"clip of {name}",
        "frames": [f"img/{name}_seen{place}.jpg" for place in range(COUNTS[subtask])],
        "candidates": [f"img/{name}_option{place}.jpg" for place in range(4)],
        "answer": "ABCD"[number % 4],
        **changes,
    }
    return {field: value for field, value in full.items() if value is not None}


RECORDS = [
    record("ego", 1),
    record("ego", 2, scene="outdoor", source="Ego4D"),
    record("match", 1),
    record("match", 2, direction="exo2ego"),
    record("exo", 3),
    record("ego2exo", 4),
]


def pixels(name: str) -> bytes:
    """What stands in for an encoded image: nothing here decodes it."""
    return f"pixels of {name}, ".encode() * 5


def image(name: str) -> Record:
    return {"bytes": pixels(name), "path": None}


def row(released: Mapping[str, Any], **changes: Any) -> Record:
    """The canonical row that a record becomes."""
    shown = dict(zip((f"observation_{n}" for n in range(1, 5)), map(image, released["frames"]), strict=False))
    options = {f"option_{letter}": image(name) for letter, name in zip("abcd", released["candidates"], strict=True)}
    return {
        "id": released["question_id"],
        "clip": released["clip_id"],
        "subtask": released["subtask"],
        "direction": released.get("direction", ""),
        "scene": released["scene"],
        "source": released["source"],
        "group": "",
        "answer": released["answer"],
        "future_candidates": 0,
        "option_kinds": [],
        **dict.fromkeys(IMAGE_COLUMNS),
        **shown,
        **options,
        **changes,
    }


def config(released: Mapping[str, Any]) -> str:
    return f"match_{released['direction']}" if released["subtask"] == "match" else str(released["subtask"])


def expected(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for name in ("ego", "match_ego2exo", "match_exo2ego", "exo", "ego2exo"):
        rows = [row(released) for released in records if config(released) == name]
        found |= {name: rows} if rows else {}
    return found


def read(folder: Path, fields: Fields | None = None, **options: Any) -> dict[str, list[Record]]:
    return {name: list(rows) for name, rows in read_release(folder, fields or Fields(), **options).items()}


def faults(folder: Path, fields: Fields | None = None, **options: Any) -> list[tuple[str, str, str]]:
    """Place within its table, field and message of each fault."""
    with pytest.raises(DataError) as caught:
        read_release(folder, fields or Fields(), **options)
    assert all(problem.remedy for problem in caught.value.problems)
    return [(problem.file.rpartition(", ")[2], problem.field, problem.message) for problem in caught.value.problems]


def lines(records: Sequence[Any]) -> bytes:
    return "".join(f"{entry if isinstance(entry, str) else json.dumps(entry)}\n" for entry in records).encode()


def put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def beside(folder: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the image files of records."""
    for released in records:
        for field in ("frames", "candidates", "current_exo", "next_ego"):
            names = released.get(field, [])
            for name in names if isinstance(names, list) else [names]:
                if isinstance(name, str) and name.startswith("img/"):
                    put(folder / name, pixels(name))


Release = Callable[..., Path]


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """Writes records as JSONL, with their image files beside the table; returns the folder of the release."""

    def write(*records: Record | str, table: str = "questions.jsonl") -> Path:
        folder = tmp_path / "release"
        content = lines(records)
        put(folder / table, gzip.compress(content) if table.endswith(".gz") else content)
        beside((folder / table).parent, [entry for entry in records if isinstance(entry, dict)])
        return folder

    return write


def with_images(records: Sequence[Record], make: Callable[[str], Any]) -> list[Record]:
    return [
        {**entry, **{name: [make(n) for n in entry[name]] for name in ("frames", "candidates")}} for entry in records
    ]


def base64_of(name: str) -> str:
    return base64.b64encode(pixels(name)).decode()


# --- forms --------------------------------------------------------------------------------------------------------

Form = Callable[[Path], None]


def _jsonl(name: str, base: str = ".") -> Form:
    def write(folder: Path) -> None:
        content = lines(RECORDS)
        put(folder / name, gzip.compress(content) if name.endswith(".gz") else content)
        beside(folder / base, RECORDS)

    return write


def _json(name: str, content: Callable[[list[Record]], Any], make: Callable[[str], Any] | None = None) -> Form:
    def write(folder: Path) -> None:
        text = json.dumps(content(with_images(RECORDS, make) if make else RECORDS)).encode()
        put(folder / name, gzip.compress(text) if name.endswith(".gz") else text)
        if make is None:
            beside(folder, RECORDS)

    return write


def _parquet(records: list[Record], types: Mapping[str, Any], **options: Any) -> Form:
    def write(folder: Path) -> None:
        text = pyarrow.string()
        names = list(dict.fromkeys(name for entry in records for name in entry))
        schema = pyarrow.schema([(name, types.get(name, text)) for name in names])
        table = pyarrow.Table.from_pylist(records, schema)
        (folder / "data").mkdir(parents=True)
        pyarrow.parquet.write_table(table, folder / "data" / "test-00000-of-00001.parquet", **options)
        beside(folder, RECORDS)

    return write


def apart(records: list[Record], make: Callable[[str], Any]) -> list[Record]:
    """Records with a column for each image."""
    return [
        {
            **{name: value for name, value in entry.items() if name not in ("frames", "candidates")},
            **{f"frame_{n}": make(name) for n, name in enumerate(entry["frames"], start=1)},
            **{f"option_{letter}": make(name) for letter, name in zip("ABCD", entry["candidates"], strict=True)},
        }
        for entry in records
    ]


BINARY, TEXT = pyarrow.binary(), pyarrow.string()
HUB = pyarrow.struct([("bytes", BINARY), ("path", TEXT)])


def lists(of: Any) -> dict[str, Any]:
    return {name: pyarrow.list_(of) for name in ("frames", "candidates")}


def columns(of: Any) -> dict[str, Any]:
    return dict.fromkeys((*(f"frame_{n}" for n in range(1, 5)), *(f"option_{letter}" for letter in "ABCD")), of)


def hub_image(name: str) -> Record:
    return {"bytes": pixels(name), "path": "the_right_one.jpg"}


FORMS: Mapping[str, Form] = {
    "lines": _jsonl("questions.jsonl"),
    "compressed lines": _jsonl("questions.jsonl.gz"),
    "images beside a table that lies deeper": _jsonl("a/b/questions.jsonl", "a/b"),
    "images where the release begins": _jsonl("a/b/questions.jsonl"),
    "lines in a file called JSON": _jsonl("questions.json"),
    "a list": _json("questions.json", list),
    "a compressed list": _json("questions.json.gz", list),
    "an object with one list": _json("q.json", lambda records: {"version": 1, "notes": {"a": []}, "data": records}),
    "base64": _json("questions.json", list, base64_of),
    "base64 in lines of 76": _json("q.json", list, lambda name: base64.encodebytes(pixels(name)).decode()),
    "data URLs": _json("q.json", list, lambda name: f"data:image/jpeg;base64,{base64_of(name)}"),
    "objects with a path": _json("q.json", lambda records: with_images(records, lambda name: {"path": name})),
    "parquet, lists of Hub images": _parquet(with_images(RECORDS, hub_image), lists(HUB)),
    "parquet, lists of bytes": _parquet(with_images(RECORDS, pixels), lists(BINARY)),
    "parquet, lists of paths": _parquet(RECORDS, lists(TEXT)),
    "parquet, lists of Hub images as paths": _parquet(with_images(RECORDS, lambda name: {"path": name}), lists(HUB)),
    "parquet, Hub images": _parquet(apart(RECORDS, hub_image), columns(HUB)),
    "parquet, bytes": _parquet(apart(RECORDS, pixels), columns(BINARY)),
    "parquet, base64": _parquet(apart(RECORDS, base64_of), {}),
    "parquet, small row groups": _parquet(apart(RECORDS, pixels), columns(BINARY), row_group_size=2),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_same_rows(form: str, tmp_path: Path) -> None:
    FORMS[form](tmp_path)
    assert read(tmp_path) == expected(RECORDS)


@pytest.mark.parametrize("form", FORMS)
def test_without_images_the_texts_are_the_same_and_all_image_columns_empty(form: str, tmp_path: Path) -> None:
    FORMS[form](tmp_path)
    for file in tmp_path.rglob("*.jpg"):
        file.unlink()
    found = read(tmp_path, images=False)
    nothing = dict.fromkeys(IMAGE_COLUMNS)
    assert found == {name: [{**entry, **nothing} for entry in rows] for name, rows in expected(RECORDS).items()}


def test_without_images_their_columns_may_be_missing(release: Release) -> None:
    folder = release({name: value for name, value in record("ego").items() if name not in ("frames", "candidates")})
    assert len(read(folder, images=False)["ego"]) == 1
    assert [fault[1] for fault in faults(folder)] == ["observations", "options"]


def test_no_name_of_a_file_is_left(tmp_path: Path) -> None:
    FORMS["parquet, Hub images"](tmp_path)
    for rows in read(tmp_path).values():
        for entry in rows:
            assert all(entry[name] is None or entry[name]["path"] is None for name in IMAGE_COLUMNS)


def test_rows_come_in_the_order_of_names_of_tables_and_of_records(release: Release) -> None:
    for table, numbers in (("b.jsonl", (3, 1)), ("a.jsonl", (9, 2)), ("c/a.jsonl", (5,))):
        folder = release(*(record("exo", number) for number in numbers), table=table)
    assert [entry["id"] for entry in read(folder)["exo"]] == ["exo9", "exo2", "exo3", "exo1", "exo5"]


def test_what_is_hidden_or_describes_the_data_is_not_read(release: Release) -> None:
    folder = release(record("ego"))
    for name in (".cache/huggingface/x.json", ".hidden.jsonl", "dataset_infos.json", "README.md", "a.csv"):
        put(folder / name, b"{")
    assert [entry["id"] for entry in read(folder)["ego"]] == ["ego1"]


@pytest.mark.parametrize("name", ["q.jsonl", "q.json"])
def test_a_byte_order_mark_and_line_separators_within_a_text_do_no_harm(tmp_path: Path, name: str) -> None:
    entries = [record("ego", clip_id="one\u2028two"), record("ego", 2)]
    text = "\n".join(json.dumps(entry, ensure_ascii=False) for entry in entries)
    put(tmp_path / name, f"\ufeff{text}".encode())
    beside(tmp_path, entries)
    assert read(tmp_path) == expected(entries)


def test_questions_of_several_subtasks_in_one_row_group_keep_their_images(tmp_path: Path) -> None:
    entries = [record(subtask, number) for subtask in COUNTS for number in range(11)]
    _parquet(with_images(entries, pixels), lists(BINARY))(tmp_path)
    assert read(tmp_path) == expected(entries)


def test_gaps_in_a_column_of_numbers_are_no_numbers(tmp_path: Path) -> None:
    entries = [{**entry, "num_future": None} for entry in with_images(RECORDS, pixels)]
    entries[0]["num_future"], entries[1]["num_future"] = 2.0, float("nan")
    _parquet(entries, {**lists(BINARY), "num_future": pyarrow.float64()})(tmp_path)
    assert [entry["future_candidates"] for entry in read(tmp_path)["ego"]] == [2, 0]


def test_prepared_data_are_a_release_too(tmp_path: Path) -> None:
    FORMS["lines"](tmp_path / "release")
    write_data_set(tmp_path / "set", read_release(tmp_path / "release"), features())
    assert read(tmp_path / "set") == expected(RECORDS)


def test_a_link_to_an_image_is_followed(release: Release, tmp_path: Path) -> None:
    folder = release(record("ego"))
    file = folder / "img/ego1_option2.jpg"
    file.rename(tmp_path / "blob")
    file.symlink_to(tmp_path / "blob")
    assert read(folder) == expected([record("ego")])


def test_a_mapping_can_say_where_the_paths_of_images_begin(release: Release, tmp_path: Path) -> None:
    folder = release(record("ego"), table="tables/q.jsonl")
    (folder / "tables/img").rename(folder / "img")
    (folder / "photos").mkdir()
    (folder / "img").rename(folder / "photos/img")
    assert "there is no file" in faults(folder)[0][2]
    assert read(folder, Fields(image_folder="photos")) == expected([record("ego")])


# --- names of files -----------------------------------------------------------------------------------------------


def bare(subtask: str, number: int = 1, **changes: Any) -> Record:
    """A record that does not say what the names of files and folders say."""
    told = ("subtask", "scene", "direction", "source")
    return {name: value for name, value in record(subtask, number, **changes).items() if name not in told}


def test_a_release_split_by_file_is_read_by_the_names_of_its_files(release: Release) -> None:
    places = {
        "subtask1/indoor.jsonl": ("ego", 1),
        "Subtask1/ego_next_state_outdoor.jsonl": ("ego", 2),
        "subtask2/ego2exo/indoor.jsonl": ("match", 1),
        "subtask2/exo-to-ego/outdoor.jsonl": ("match", 2),
        "EgoExo-Next/exo_next_state/test-indoor-00000-of-00001.jsonl": ("exo", 1),
        "ego2exo/outdoor.jsonl": ("ego2exo", 1),
    }
    for table, (subtask, number) in places.items():
        folder = release(bare(subtask, number), table=table)
    found = {
        (name, entry["id"], entry["scene"], entry["direction"]) for name, rows in read(folder).items() for entry in rows
    }
    assert found == {
        ("ego", "ego1", "indoor", ""),
        ("ego", "ego2", "outdoor", ""),
        ("match_ego2exo", "match1", "indoor", "ego2exo"),
        ("match_exo2ego", "match2", "outdoor", "exo2ego"),
        ("exo", "exo1", "indoor", ""),
        ("ego2exo", "ego2exo1", "outdoor", ""),
    }


def test_a_column_goes_before_the_name_of_its_file_and_what_a_mapping_fixes_before_both(release: Release) -> None:
    folder = release(record("ego", scene="outdoor"), table="subtask3/indoor.jsonl")
    assert read(folder)["ego"][0]["scene"] == "outdoor"
    fixed = Fields(files={"subtask3/*": {"scene": "indoor", "source": "Ego4D"}})
    assert read(folder, fixed)["ego"][0] == row(record("ego", source="Ego4D"))


def test_where_a_record_says_nothing_its_file_may(release: Release) -> None:
    folder = release(record("ego"), record("ego", 2, scene=None), table="outdoor.jsonl")
    assert [entry["scene"] for entry in read(folder)["ego"]] == ["indoor", "outdoor"]


def test_a_field_that_nothing_tells_is_one_fault_that_shows_what_to_write(release: Release) -> None:
    folder = release(bare("ego"), bare("ego", 2), table="part one/indoor.jsonl")
    with pytest.raises(DataError) as caught:
        read_release(folder)
    (fault,) = caught.value.problems
    assert (fault.file, fault.row, fault.field) == (str(folder / "part one/indoor.jsonl"), "all", "subtask")
    assert fault.message == (
        "no column holds it. Looked for subtask, subtask_id, subtask_name, task, task_type, question_type; "
        "there are question_id, clip_id, frames, candidates, answer"
    )
    assert fault.remedy == (
        'Write into a file for --fields: subtask = "COLUMN"; or, below [files."part one/indoor.jsonl"], subtask = "ego"'
    )


def test_a_direction_is_missed_in_subtask_2_alone_and_once_a_table(release: Release) -> None:
    table = [record("ego"), record("match", 1, direction=None), record("match", 2, direction=None)]
    ((place, field, message),) = faults(release(*table))
    assert (place, field) == ("line 2", "direction")
    assert "no column holds it. Looked for direction" in message


def test_two_columns_that_fit_are_an_error_that_names_both(release: Release) -> None:
    folder = release(record("ego", label="B", option_a="x", option_b="x", option_c="x", option_d="x", Gold="B"))
    assert [fault[1:] for fault in faults(folder)] == [
        ("answer", "several columns fit: answer; label; Gold"),
        ("options", "several columns fit: candidates; option_a + option_b + option_c + option_d"),
    ]
    twice = {"Option A": "x", "option_a": "x", "option_b": "x", "option_c": "x", "option_d": "x"}
    assert faults(release(record("ego", candidates=None, **twice)))[0][1:] == (
        "options",
        "several columns fit: Option A; option_a",
    )
    folder = release(record("ego", label="B", option_a="x", option_b="x", option_c="x", option_d="x", Gold="B"))
    chosen = Fields(columns={"answer": ("label",), "options": ("candidates",)})
    assert read(folder, chosen) == expected([record("ego")])


# --- mappings -----------------------------------------------------------------------------------------------------

STRANGE = [
    {
        "nr": number,
        "meta": {"where": "drinnen", "set": "wear"},
        "kind": kind,
        "asks": asks,
        "pictures": [f"img/{number}_{place}.jpg" for place in range(count + 4)],
        "right": number,
        "cut": {"video": "v", "second": number},
    }
    for number, kind, asks, count in ((0, "N1", "", 4), (1, "M", "ego", 1), (2, "M", "exo", 1), (3, "N4", "", 4))
]

AS_TOML = """
id = ["kind", "nr"]
subtask = "kind"
direction = "asks"
scene = "meta.where"
source = "meta.set"
clip = ["cut.video", "cut.second"]
observations = "pictures[:-4]"
options = "pictures[-4:]"
answer = "right"
answer_base = 0

[values.subtask]
N1 = "ego"
M = "match"
N4 = "ego2exo"

[values.direction]
ego = "exo2ego"
exo = "ego2exo"

[values.scene]
drinnen = "indoor"
"""

AS_JSON = {
    "id": ["kind", "nr"],
    "subtask": "kind",
    "direction": "asks",
    "scene": "meta.where",
    "source": "meta.set",
    "clip": ["cut.video", "cut.second"],
    "observations": "pictures[:-4]",
    "options": "pictures[-4:]",
    "answer": "right",
    "answer_base": 0,
    "values": {
        "subtask": {"N1": "ego", "M": "match", "N4": "ego2exo"},
        "direction": {"ego": "exo2ego", "exo": "ego2exo"},
        "scene": {"drinnen": "indoor"},
    },
}


@pytest.mark.parametrize("name", ["fields.toml", "fields.json"])
def test_a_mapping_reads_a_release_of_another_form(name: str, release: Release) -> None:
    folder = release(*STRANGE)
    for entry in STRANGE:
        beside(folder, [{"frames": entry["pictures"]}])
    # Within the release too, where it is no table.
    put(folder / name, (AS_TOML if name.endswith("toml") else json.dumps(AS_JSON)).encode())
    found = read(folder, load_fields(folder / name))
    assert {config: [entry["id"] for entry in rows] for config, rows in found.items()} == {
        "ego": ["N1-0"],
        "match_ego2exo": ["M-2"],
        "match_exo2ego": ["M-1"],
        "ego2exo": ["N4-3"],
    }
    (entry,) = found["match_exo2ego"]
    assert (entry["clip"], entry["scene"], entry["source"], entry["answer"]) == ("v-1", "indoor", "WEAR", "B")
    assert (entry["observation_1"], entry["observation_2"]) == (image("img/1_0.jpg"), None)
    assert [entry[f"option_{letter}"] for letter in "abcd"] == [image(f"img/1_{place}.jpg") for place in range(1, 5)]


def test_a_column_that_a_mapping_gives_to_one_field_is_not_guessed_to_hold_another(release: Release) -> None:
    folder = release(record("ego", source=None, dataset="kitchen 7"))
    assert read(folder)["ego"][0]["source"] == "kitchen 7"
    (found,) = read(folder, Fields(columns={"clip": ("dataset",)}))["ego"]
    assert (found["clip"], found["source"]) == ("kitchen 7", "unknown")
    ((_, field, message),) = faults(folder, Fields(columns={"clip": ("scene",)}))
    assert field == "scene"
    assert message.endswith("answer, dataset, and scene, which the mapping gives to other fields")
    both = Fields(columns={"clip": ("scene",), "scene": ("scene",)})
    assert read(folder, both)["ego"][0]["clip"] == "indoor"


def test_options_may_be_columns_an_object_by_letter_or_objects_in_a_list(release: Release) -> None:
    base = record("ego", candidates=None)
    names = record("ego")["candidates"]
    forms: list[tuple[Record, Fields]] = [
        (dict(zip(["w", "x", "y", "z"], names, strict=True)), Fields(columns={"options": ("w", "x", "y", "z")})),
        ({"options": dict(zip("DCBA", reversed(names), strict=True))}, Fields()),
        ({"options": dict(zip("abcd", names, strict=True))}, Fields()),
        (dict(zip("ABCD", names, strict=True)), Fields()),
        ({f"Candidate {n} path": name for n, name in enumerate(names)}, Fields()),
        ({f"choice_{n}": name for n, name in enumerate(names, start=1)}, Fields()),
        ({"o": [{"file": name, "x": 1} for name in names]}, Fields(columns={"options": ("o.file",)})),
    ]
    for form, fields in forms:
        folder = release({**base, **form})
        beside(folder, [record("ego")])
        assert read(folder, fields) == expected([record("ego")]), form


def test_a_mapping_with_frames_in_two_columns_takes_the_one_that_is_filled(release: Release) -> None:
    match = record("match")
    folder = release(record("ego"), {**{k: v for k, v in match.items() if k != "frames"}, "seen": match["frames"][0]})
    beside(folder, [match])
    assert read(folder, Fields(columns={"observations": ("frames", "seen")})) == expected([record("ego"), match])


def test_questions_without_ids_can_be_numbered(release: Release) -> None:
    for table in ("a/indoor.jsonl", "b.jsonl.gz"):
        folder = release(*(record("ego", n, question_id=None) for n in (1, 2)), table=table)
    found = read(folder, Fields(columns={"id": ("#",)}))["ego"]
    assert [entry["id"] for entry in found] == ["a/indoor-1", "a/indoor-2", "b-1", "b-2"]


def test_a_table_can_be_left_out(release: Release) -> None:
    release({"caption": "a hand"}, table="captions/all.jsonl")
    folder = release(record("ego"))
    assert {fault[1] for fault in faults(folder)} >= {"id", "answer"}
    assert read(folder, Fields(files={"captions/*": {"skip": True}})) == expected([record("ego")])
    with pytest.raises(DataError, match="holds no questions"):
        read_release(folder, Fields(files={"*": {"skip": True}}))


def test_a_column_or_table_of_a_mapping_that_is_not_there_is_an_error(release: Release) -> None:
    folder = release(record("ego"))
    put(
        folder / "fields.toml",
        b'clip = "cilp"\nid = "question_id"\ngroup = ["a", "b"]\n[files."subtask9*"]\nscene = "indoor"\n',
    )
    found = faults(folder, load_fields(folder / "fields.toml"))
    assert [fault[1:] for fault in found] == [
        ("files", "no table is called 'subtask9*'"),
        ("clip", "no table has a column 'cilp'"),
        ("group", "no table has a column 'a'"),
        ("group", "no table has a column 'b'"),
    ]


def test_a_table_with_a_part_of_the_columns_of_an_id_has_none(release: Release) -> None:
    release(record("ego", part="x"), table="a.jsonl")
    folder = release(record("exo"), table="b.jsonl")
    fields = Fields(columns={"id": ("part", "question_id")})
    ((place, field, message),) = faults(folder, fields)
    assert (place, field) == (str(folder / "b.jsonl"), "id")
    assert "Looked for part, question_id;" in message


def test_patterns_that_disagree_are_an_error(release: Release) -> None:
    fields = Fields(files={"*": {"scene": "indoor"}, "q*": {"scene": "outdoor"}})
    with pytest.raises(SettingError, match=r"disagree on scene of questions\.jsonl"):
        read_release(release(record("ego")), fields)


CANONICAL = ("id", "subtask", "direction", "scene", "source", "clip", "observations", "options", "answer")
NAMED = ("question_id", "subtask", "direction", "scene", "source", "clip_id", "frames", "candidates", "answer")


@given(
    st.one_of(
        st.permutations(NAMED),
        st.permutations(("id", "label", "gold", "frames", "A", "B", "options", "task", "meta.scene")),
        st.lists(st.text(min_size=1), min_size=9, max_size=9, unique=True).filter(
            lambda names: all(name.strip() and name != "#" for name in names)
        ),
    ),
    st.permutations(range(9)),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_through_a_mapping_the_names_and_the_order_of_columns_do_not_matter(
    names: Sequence[str], order: Sequence[int]
) -> None:
    embedded = with_images(RECORDS, base64_of)
    renamed = [{names[place]: entry.get(NAMED[place]) for place in order} for entry in embedded]
    with tempfile.TemporaryDirectory() as place:
        put(Path(place) / "q.jsonl", lines(renamed))
        fields = Fields(columns={name: (theirs,) for name, theirs in zip(CANONICAL, names, strict=True)})
        assert read(Path(place), fields) == expected(RECORDS)


# --- answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        "C",
        "c",
        " C ",
        "(C)",
        "C.",
        "Option C",
        ["C"],
        [False, False, True, False],
        [0, 0, 1, 0],
        "img/ego1_option2.jpg",
    ],
)
def test_an_answer_may_be_a_letter_marks_or_the_option_itself(release: Release, answer: Any) -> None:
    assert read(release(record("ego", answer=answer)))["ego"][0]["answer"] == "C"


def test_marks_may_stand_in_the_options(release: Release) -> None:
    options = [{"image": name, "right": "_option3" in name} for name in record("ego")["candidates"]]
    folder = release(record("ego", candidates=options, answer=None))
    beside(folder, [record("ego")])
    fields = Fields(columns={"options": ("candidates.image",), "answer": ("candidates.right",)})
    assert read(folder, fields)["ego"][0]["answer"] == "D"


@pytest.mark.parametrize(
    ("answers", "base", "letters"),
    [
        ([0, 1, 3], None, "ABD"),
        ([1, 4, 2], None, "ADB"),
        (["0", "2", " 1 "], None, "ACB"),
        ([1, 2, 3], 0, "BCD"),
        ([1, 2, 3], 1, "ABC"),
        ([0, "D", 1], None, "ADB"),
    ],
)
def test_numbers_count_from_where_a_mapping_says_or_where_a_0_or_a_4_tells(
    release: Release, answers: list[Any], base: int | None, letters: str
) -> None:
    folder = release(*(record("ego", number, answer=answer) for number, answer in enumerate(answers)))
    found = read(folder, Fields(answer_base=base))["ego"]
    assert "".join(entry["answer"] for entry in found) == letters


@pytest.mark.parametrize("answers", [[1, 2, 3], [2], [0, 4], ["1", "2"]])
def test_numbers_that_do_not_tell_where_they_count_from_are_an_error(release: Release, answers: list[Any]) -> None:
    folder = release(*(record("ego", number, answer=answer) for number, answer in enumerate(answers)))
    with pytest.raises(DataError) as caught:
        read_release(folder)
    (fault,) = caught.value.problems
    assert f"{answers[0]}" in fault.message
    assert "does not tell whether they count from 0 or from 1" in fault.message
    assert "answer_base = 0 or answer_base = 1" in fault.remedy


def test_tables_may_count_answers_in_different_ways_if_the_mapping_says_so(release: Release) -> None:
    release(record("ego", 1, answer=1), table="a.jsonl")
    folder = release(record("ego", 2, answer=1), table="b.jsonl")
    fields = Fields(files={"a*": {"answer_base": 0}}, answer_base=1)
    assert [entry["answer"] for entry in read(folder, fields)["ego"]] == ["B", "A"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (["A", "C"], "two golds: A, C"),
        ("AC", "two golds: A, C"),
        ("A, C", "two golds: A, C"),
        ([True, False, True, False], "two golds: A, C"),
        ([False] * 4, "there is no right option"),
        ([], "there is no right option"),
        ("", "there is no right option"),
        ("E", "'E' is none of the options A, B, C and D"),
        ("the third", "'the third' is none of the options A, B, C and D"),
        (True, "True is none of the options"),
        (1.5, "1.5 is none of the options"),
        ({"letter": "A"}, "is none of the options"),
        ([True, False], "True is none of the options"),
    ],
)
def test_an_answer_that_is_not_one_option_is_an_error(release: Release, answer: Any, message: str) -> None:
    ((place, field, said),) = faults(release(record("exo"), record("ego", answer=answer)))
    assert (place, field) == ("line 2", "answer")
    assert message in said


def test_an_answer_that_is_missing_is_an_error(release: Release) -> None:
    assert faults(release(record("exo"), record("ego", answer=None))) == [
        ("line 2", "answer", "there is no right option")
    ]


def test_a_number_beyond_the_options_is_an_error(release: Release) -> None:
    folder = release(record("ego", answer=4), record("exo", answer=0), record("exo", 2, answer=-1))
    assert faults(folder, Fields(answer_base=0)) == [
        ("line 1", "answer", "4 is none of the options, counted from 0"),
        ("line 3", "answer", "-1 is none of the options, counted from 0"),
    ]


# --- values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("scene", "kitchen", "'kitchen' is unknown"),
        ("subtask", "5", "'5' is unknown"),
        ("subtask", 0, "0 is unknown"),
        ("subtask", "Subtask 1: Exo Next-State", "is unknown"),
        ("subtask", "EgoExo-Next", "is unknown"),
        ("question_id", {"a": 1}, "is neither text nor a number"),
        ("question_id", "", "is empty"),
        ("question_id", None, "is empty"),
        ("frames", record("ego")["frames"][:3], "it holds 3 images, not 4"),
        ("frames", [*record("ego")["frames"], "img/ego1_seen0.jpg"], "it holds 5 images, not 4"),
        ("frames", record("ego")["frames"][0], "it holds 1 images, not 4"),
        ("candidates", record("ego")["candidates"][:3], "it holds 3 images, not 4"),
        ("candidates", [*record("ego")["candidates"], "img/ego1_seen0.jpg"], "it holds 5 images, not 4"),
        ("candidates", {"A": "a", "B": "b", "C": "c", "E": "e"}, "its keys A, B, C, E are not A, B, C and so on"),
        ("option_kinds", ["target"] * 3, "3 of four options"),
        ("option_kinds", ["past", "target", "sooner", "later"], "'sooner' is unknown"),
        ("option_kinds", ["past", "target", "target", "later"], "the target is B, C, the right option B"),
        ("option_kinds", ["target", "past", "past", "later"], "the target is A, the right option B"),
        ("option_kinds", ["past"] * 4, "the target is missing, the right option B"),
        ("option_kinds", ["past", "target", "other", "later"], "'other' outside subtask 2"),
        ("future_candidates", 5, "5 of four options"),
        ("future_candidates", -1, "-1 of four options"),
        ("future_candidates", 1.5, "1.5 of four options"),
        ("future_candidates", "two", "'two' of four options"),
        ("future_candidates", True, "True of four options"),
    ],
)
def test_a_bad_value_is_named_with_its_place_and_the_name_that_the_release_has(
    release: Release, field: str, value: Any, message: str
) -> None:
    folder = release(record("exo"), {**record("ego"), field: value})
    beside(folder, [record("ego")])
    found = [fault for fault in faults(folder) if "there is no file" not in fault[2]]
    assert [fault[:2] for fault in found] == [("line 2", field)]
    assert message in found[0][2]


def test_a_match_has_one_observation(release: Release) -> None:
    folder = release(record("match", frames=record("ego")["frames"]))
    assert faults(folder) == [("line 1", "frames", "it holds 4 images, not 1")]


def test_a_value_that_is_unknown_is_named_once_a_table(release: Release) -> None:
    table = [record("ego", 1), *(record("ego", number, scene="Halle") for number in (2, 3)), record("exo", scene="x")]
    assert [fault[:2] for fault in faults(release(*table))] == [("line 2", "scene"), ("line 4", "scene")]
    with pytest.raises(DataError, match=r'below \[values\.scene\] "Halle" = "indoor"'):
        read_release(release(*table))


def test_kinds_tell_how_many_candidates_lie_in_the_future(release: Release) -> None:
    kinds = [
        ["Past", "target", "past", "PAST"],
        ["later", "target", "past", "past"],
        ["later", "target", "Later-Future", "past"],
        ["later", "target", "later", "later"],
    ]
    table = [record("ego", 4 * number + 1, option_kinds=entry) for number, entry in enumerate(kinds)]
    found = read(release(*table))["ego"]
    assert [entry["future_candidates"] for entry in found] == [1, 2, 3, 4]
    assert found[2]["option_kinds"] == ["later", "target", "later", "past"]


def test_a_number_of_future_candidates_stands_alone_or_agrees_with_the_kinds(release: Release) -> None:
    kinds = ["later", "target", "past", "past"]
    table = [record("exo", 1, future_candidates=3), record("exo", 5, future_candidates="2", option_kinds=kinds)]
    found = read(release(*table))["exo"]
    assert [(entry["future_candidates"], entry["option_kinds"]) for entry in found] == [(3, []), (2, kinds)]
    table[1]["future_candidates"] = 3
    assert faults(release(*table)) == [("line 2", "future_candidates", "3, but option_kinds names 2")]


def test_in_subtask_2_no_option_lies_in_the_future(release: Release) -> None:
    kinds = ["past", "target", "later", "other"]
    (found,) = read(release(record("match", option_kinds=kinds, future_candidates=2)))["match_ego2exo"]
    assert (found["future_candidates"], found["option_kinds"]) == (0, ["other", "target", "other", "other"])


def test_what_the_release_does_not_say_has_a_default(release: Release) -> None:
    (found,) = read(release(record("ego", source=None, clip_id=None)))["ego"]
    assert (found["source"], found["clip"], found["group"], found["option_kinds"]) == ("unknown", "ego1", "", [])
    table = [record("ego", 1, source="", clip_id=""), record("ego", 2, source="ego_4d")]
    assert [(entry["source"], entry["clip"]) for entry in read(release(*table))["ego"]] == [
        ("unknown", "ego1"),
        ("Ego4D", "clip of ego2"),
    ]


def test_ids_are_unique_within_a_config(release: Release) -> None:
    release(record("ego", 1), table="a.jsonl")
    folder = release(record("exo", question_id="ego1"), record("ego", 1), table="b.jsonl")
    ((place, field, message),) = faults(folder)
    assert (place, field) == ("line 2", "question_id")
    assert message == f"'ego1' is the id in {folder / 'a.jsonl'}, line 1 already"


def test_numbers_are_ids_too(release: Release) -> None:
    folder = release(record("ego", 1, question_id=7), record("ego", 2, question_id=8.0))
    assert [entry["id"] for entry in read(folder)["ego"]] == ["7", "8"]


# --- images -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("img/gone.jpg", "there is no file"),
        ("img", "there is no file"),
        ("img/empty.jpg", "is empty or cannot be read"),
        ("", "there is no image"),
        (None, "there is no image"),
        ({"bytes": None, "path": None}, "there is no image"),
        (17, "neither an image nor the path of one"),
        (["img/ego1_seen0.jpg"], "neither an image nor the path of one"),
        ("https://example.org/a.jpg", "is an address"),
        ("../secret.jpg", "leads out of"),
        ("img/../../secret.jpg", "leads out of"),
        ("{absolute}", "leads out of"),
        ("data:image/png,AAAA", "'data:image/png,' is not base64"),
        ("data:image/png;base64,", "there is no image"),
        ("data:image/png;base64,*", "this is not base64"),
        ("A" * 65, "this is not base64"),
        ("é" * 5000, "neither base64 nor a path"),
        ("a" * 300 + ".jpg", ""),
        ("img/\0.jpg", "there is no file"),
    ],
)
def test_an_image_that_is_not_there_is_an_error(release: Release, tmp_path: Path, value: Any, message: str) -> None:
    put(tmp_path / "secret.jpg", b"x")
    options = record("ego")["candidates"]
    value = str(tmp_path / "secret.jpg") if value == "{absolute}" else value
    folder = release(record("ego"))
    put(folder / "img/empty.jpg", b"")
    put(folder / "questions.jsonl", lines([record("ego", candidates=[*options[:2], value, options[3]])]))
    ((place, field, said),) = faults(folder)
    assert (place, field) == ("line 1", "candidates[2]")
    assert message in said
    assert len(said) < 1000
    with pytest.raises(DataError, match="--no-images"):
        read_release(folder)
    assert len(read(folder, images=False)["ego"]) == 1


def test_a_path_within_the_release_may_go_up(release: Release) -> None:
    folder = release(record("ego"), table="tables/q.jsonl")
    (folder / "tables/img").rename(folder / "img")
    up = [f"../{name}" for name in record("ego")["candidates"]]
    put(folder / "tables/q.jsonl", lines([record("ego", candidates=up)]))
    assert read(folder) == expected([record("ego")])


def test_a_path_that_two_files_fit_is_an_error(release: Release) -> None:
    folder = release(record("ego"), table="tables/q.jsonl")
    put(folder / "img/ego1_option1.jpg", b"another")
    ((_, field, message),) = faults(folder)
    assert field == "candidates[1]"
    assert "may be" in message


def test_an_image_column_that_is_empty_is_named(tmp_path: Path) -> None:
    table = apart(RECORDS, hub_image)
    table[0]["option_C"] = {"bytes": b"", "path": None}
    table[5]["frame_2"] = None
    _parquet(table, columns(HUB))(tmp_path)
    assert faults(tmp_path) == [
        ("row 1", "option_C", "there is no image"),
        ("row 6", "frame_1, frame_2, frame_3, frame_4", "it holds 3 images, not 4"),
    ]


def test_images_are_opened_when_their_row_is_written_and_one_row_at_a_time(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    read_bytes = Path.read_bytes

    def watched(self: Path) -> bytes:
        opened.append(self.name)
        return read_bytes(self)

    folder = release(*(record("match", number) for number in range(ROWS_A_GROUP + 10)))
    monkeypatch.setattr(Path, "read_bytes", watched)
    questions = read_release(folder)["match_ego2exo"]
    assert (len(questions), len(questions.texts), opened) == (ROWS_A_GROUP + 10, ROWS_A_GROUP + 10, [])
    rows = iter(questions)
    for number in range(3):
        assert next(rows)["id"] == f"match{number}"
        assert len(opened) == 5 * (number + 1)
    counts({"match_ego2exo": questions.texts})
    assert len(opened) == 15
    write = pyarrow.parquet.ParquetWriter.write_table
    when_written: list[int] = []

    def watched_write(self: Any, *arguments: Any) -> None:
        when_written.append(len(opened))
        write(self, *arguments)

    monkeypatch.setattr(pyarrow.parquet.ParquetWriter, "write_table", watched_write)
    opened.clear()
    write_data_set(tmp_path / "set", {"match_ego2exo": questions}, features())
    assert when_written == [5 * (ROWS_A_GROUP + 1), 5 * (ROWS_A_GROUP + 10)]


def test_rows_of_a_parquet_file_are_not_held_together(tmp_path: Path) -> None:
    size, rows = 50_000, 200
    table = [
        {**entry, "frames": [bytes([n % 256]) * size], "candidates": [os.urandom(size) for _ in range(4)]}
        for n, entry in enumerate(record("match", number) for number in range(rows))
    ]
    _parquet(table, lists(BINARY), row_group_size=10, use_dictionary=False)(tmp_path)
    del table
    pool = pyarrow.default_memory_pool()
    before = pool.bytes_allocated()
    most = 0
    for entry in read_release(tmp_path)["match_ego2exo"]:
        assert len(entry["option_d"]["bytes"]) == size
        most = max(most, pool.bytes_allocated() - before)
    assert most < rows * 5 * size / 4


def test_an_image_that_goes_away_while_it_is_read_is_an_error_that_leaves_nothing(
    release: Release, tmp_path: Path
) -> None:
    folder = release(record("ego"))
    questions = read_release(folder)
    (folder / "img/ego1_seen2.jpg").unlink()
    with pytest.raises(DataError, match=r"cannot be read any more.*ego1_seen2"):
        write_data_set(tmp_path / "set", questions, features())
    assert not (tmp_path / "set").exists()


# --- the matched subset -------------------------------------------------------------------------------------------


def group(name: str = "g", number: int = 1, **changes: Any) -> list[Record]:
    """The four members of a matched group."""
    oracles = {"current_exo": f"img/{name}_now.jpg", "next_ego": f"img/{name}_next.jpg"}
    members = [record(subtask, number, group=name) for subtask in COUNTS]
    members[3] |= oracles
    return [{**member, **changes} for member in members]


def test_members_of_groups_stand_among_all_questions_and_in_the_matched_subset(release: Release) -> None:
    found = read(release(*group(), record("ego2exo", 2)))
    assert list(found) == [
        *("ego", "match_ego2exo", "exo", "ego2exo"),
        *("matched_ego", "matched_match", "matched_exo", "matched_ego2exo"),
    ]
    plain = {entry["subtask"]: row(entry) for entry in group()}
    assert found["ego"] == [plain["ego"]]
    assert found["ego2exo"] == [plain["ego2exo"], row(record("ego2exo", 2))]
    assert found["matched_match"] == [{**plain["match"], "group": "g"}]
    assert found["matched_exo"] == [{**plain["exo"], "group": "g"}]
    assert found["matched_ego2exo"] == [
        {**plain["ego2exo"], "group": "g", "current_exo": image("img/g_now.jpg"), "next_ego": image("img/g_next.jpg")}
    ]


@pytest.mark.parametrize("table", ["matched/q.jsonl", "diagnosis.jsonl", "Diagnostic-Subset.jsonl", "q_matched.jsonl"])
def test_a_table_of_the_matched_subset_gives_no_other_questions(release: Release, table: str) -> None:
    release(*RECORDS)
    folder = release(*group(), table=table)
    found = read(folder)
    assert {name: rows for name, rows in found.items() if not name.startswith("matched")} == expected(RECORDS)
    assert {name: len(rows) for name, rows in found.items() if name.startswith("matched")} == {
        f"matched_{subtask}": 1 for subtask in COUNTS
    }


def test_a_mapping_can_say_which_tables_are_the_matched_subset(release: Release) -> None:
    folder = release(*group(), table="extra.jsonl")
    assert [name[:8] for name in read(folder, Fields(files={"extra*": {"matched": True}}))] == ["matched_"] * 4
    folder = release(*group(), table="matched.jsonl")
    (folder / "extra.jsonl").unlink()
    assert "ego" in read(folder, Fields(files={"matched*": {"matched": False}}))


def test_without_images_oracle_images_are_not_missed(release: Release) -> None:
    members = [{name: value for name, value in entry.items() if name != "next_ego"} for entry in group()]
    (found,) = read(release(*members), images=False)["matched_ego2exo"]
    assert (found["group"], found["current_exo"]) == ("g", None)


def without(records: list[Record], subtask: str) -> list[Record]:
    return [entry for entry in records if entry["subtask"] != subtask]


@pytest.mark.parametrize(
    ("members", "field", "message"),
    [
        (without(group("h", 2), "ego"), "group", "group 'h' has no questions of subtask 1 (ego)"),
        (without(group("h", 2), "match"), "group", "group 'h' has no questions of subtask 2 (match)"),
        (without(group("h", 2), "ego2exo"), "group", "group 'h' has no questions of subtask 4 (ego2exo)"),
        ([*group("h", 2), record("exo", 9, group="h")], "group", "group 'h' has 2 questions of subtask 3 (exo)"),
        (
            [*group("h", 2)[:1], record("match", 2, group="h", direction="exo2ego"), *group("h", 2)[2:]],
            "group",
            "group 'h' has no questions of subtask 2 (match)",
        ),
        ([{**group("h", 2)[0], "scene": "outdoor"}, *group("h", 2)[1:]], "scene", "group 'h' is indoor and outdoor"),
        (
            [*group("h", 2)[:3], {**group("h", 2)[3], "current_exo": None}],
            "current_exo",
            "the question of subtask 4 in group 'h' has no current_exo",
        ),
        (
            [*group("h", 2)[:3], {**group("h", 2)[3], "next_ego": ""}],
            "next_ego",
            "the question of subtask 4 in group 'h' has no next_ego",
        ),
        (
            [*group("h", 2)[:3], {**group("h", 2)[3], "next_ego": ["img/h_now.jpg", "img/h_now.jpg"]}],
            "next_ego",
            "it holds 2 images, not 1",
        ),
    ],
)
def test_a_group_that_cannot_be_diagnosed_is_named(
    release: Release, members: list[Record], field: str, message: str
) -> None:
    assert [fault[1:] for fault in faults(release(*group(), *members))] == [(field, message)]


def test_a_group_with_a_question_that_cannot_be_placed_is_not_missed_it_too(release: Release) -> None:
    members = [{**group()[0], "subtask": "first"}, *group()[1:]]
    assert [fault[:2] for fault in faults(release(*members))] == [("line 1", "subtask")]


def test_only_subtask_4_of_the_matched_subset_has_oracle_images(release: Release) -> None:
    oracles = {name: group()[3][name] for name in ("current_exo", "next_ego")}
    found = read(release(*({**member, **oracles} for member in group()), record("ego2exo", 2, **oracles)))
    having = {name for name, rows in found.items() for entry in rows if entry["current_exo"] or entry["next_ego"]}
    assert having == {"matched_ego2exo"}


def test_groups_that_are_none_can_be_left_out(release: Release) -> None:
    folder = release(record("ego", group="x"), record("exo", group="x"))
    assert len(faults(folder)) == 2
    with pytest.raises(DataError, match="group = false"):
        read_release(folder)
    assert list(read(folder, Fields(columns={"group": ()}))) == ["ego", "exo"]


def test_in_a_table_of_the_matched_subset_a_question_without_group_or_from_exo_is_an_error(release: Release) -> None:
    lost = [record("exo", 8), record("match", 8, group="g", direction="exo2ego")]
    assert faults(release(*group(), *lost, table="matched.jsonl")) == [
        ("line 5", "group", "a question of the matched subset has no group"),
        ("line 6", "direction", "the matched subset asks subtask 2 from ego to exo alone"),
    ]


# --- tables that cannot be read -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.json", b"{", "this is not JSON"),
        ("q.json", b"7", "it holds no list"),
        ("q.json", b'{"a": [], "b": []}', "it holds lists a, b where one list"),
        ("q.json", b'{"a": {"id": 1}}', "it holds no list"),
        ("q.json", b"[]", "it holds no questions"),
        ("q.json", b"\xff\xfe[]", "it cannot be read"),
        ("q.json.gz", b"\x1f\x8b broken", "it cannot be read"),
        ("q.jsonl", b"\n \n", "it holds no questions"),
        ("q.jsonl.gz", gzip.compress(b"{}" * 500, mtime=0)[:20], "it cannot be read"),
        ("q.jsonl", b"\xff\xfe{}", "it cannot be read"),
        ("q.parquet", b"PAR1 broken", "it cannot be read"),
        ("q.parquet", b"", "it cannot be read"),
    ],
)
def test_a_table_that_cannot_be_read_is_named_and_can_be_left_out(
    release: Release, name: str, content: bytes, message: str
) -> None:
    folder = release(record("ego"), table="good.jsonl")
    put(folder / name, content)
    ((place, field, said),) = faults(folder)
    assert (place, field) == (str(folder / name), "all")
    assert message in said
    assert read(folder, Fields(files={name: {"skip": True}})) == expected([record("ego")])


def test_entries_that_are_no_objects_are_named_beside_other_faults(release: Release) -> None:
    folder = release(record("ego"), "{", "", "[]", record("exo", scene="x"), table="a.jsonl")
    put(folder / "b.json", json.dumps([record("ego", 2), 7]).encode())
    beside(folder, [record("ego", 2)])
    assert [(fault[0], fault[1]) for fault in faults(folder)] == [
        ("line 2", "all"),
        ("line 4", "all"),
        ("line 5", "scene"),
        ("entry 2", "all"),
    ]


def test_a_parquet_file_damaged_within_is_an_error(tmp_path: Path) -> None:
    _parquet(with_images(RECORDS, lambda _: os.urandom(500)), lists(BINARY), compression="gzip")(tmp_path)
    (file,) = tmp_path.rglob("*.parquet")
    content = bytearray(file.read_bytes())
    content[100:400] = bytes(300)
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"parquet cannot be read"):
        read_release(tmp_path)


def test_a_folder_without_a_table_is_an_error_that_says_what_there_is(tmp_path: Path) -> None:
    put(tmp_path / "images.zip", b"x")
    put(tmp_path / "README.md", b"x")
    with pytest.raises(DataError, match=r"holds no table of questions, \.parquet.*it holds \.md, \.zip\. Unpack"):
        read_release(tmp_path)


def test_faults_of_all_tables_come_in_one_error(release: Release) -> None:
    release(record("ego", answer="Z"), record("ego", scene="x", number=2), table="a.jsonl")
    folder = release(record("exo", candidates=["gone.jpg"] * 4), table="b.jsonl")
    for file in folder.glob("gone.jpg"):
        file.unlink()
    with pytest.raises(DataError, match="6 faults in the data; nothing was prepared"):
        read_release(folder)


# --- counts -------------------------------------------------------------------------------------------------------


def test_counts_stand_beside_those_of_the_paper_where_they_differ(release: Release) -> None:
    kinds = ["later", "target", "past", "past"]
    read = read_release(release(*RECORDS, record("ego", 5, option_kinds=kinds), *group("g", 7)))
    table = counts({name: rows.texts for name, rows in read.items()})
    assert table.head == ("subtask", "indoor", "outdoor", "all")
    assert table.rows[0] == ("1 Ego Next-State", "3 (305)", "1 (302)", "4 (607)")
    assert table.rows[1] == ("2 Ego-Exo Matching", "3 (302)", "0 (302)", "3 (604)")
    assert table.rows[4] == ("all", "10 (1,264)", "1 (1,239)", "11 (2,503)")
    assert table.rows[5] == ("matched 1 Ego Next-State", "1 (100)", "0 (100)", "1 (200)")
    sources, letters, futures = table.further
    assert ("WEAR", "10 (302)") in sources.rows
    assert letters.rows[0] == ("1 Ego Next-State", "0", "2", "1", "1")
    assert [entry[0] for entry in futures.rows] == [table.rows[number][0] for number in (0, 2, 3)]
    assert futures.rows[0] == ("1 Ego Next-State", "0", "1", "0", "0", "3")
    assert table.notes[0] == "33 of these numbers differ from the paper's."
    assert "do not add up" in table.notes[1]


def test_a_whole_release_differs_nowhere() -> None:
    sources = [name for name, count in _SOURCES.items() for _ in range(count)]
    configs: dict[str, list[Record]] = {}
    for (name, subtask, scene), count in _WHOLE.items():
        texts = [
            {"subtask": subtask, "scene": scene, "source": sources.pop(), "answer": "A", "future_candidates": 1}
            for _ in range(count)
        ]
        configs.setdefault(name, []).extend(texts)
    table = counts(configs)
    assert table.notes[0] == "All numbers are the paper's."
    assert "(" not in "".join(cell for part in (table, *table.further) for line in part.rows for cell in line[1:])
    assert table.rows[4] == ("all", "1,264", "1,239", "2,503")


_SOURCES = {"EPIC-KITCHENS-100": 305, "WEAR": 302, "Ego-Exo4D": 899, "EgoHumans": 648, "EgoExoLearn": 44, "Ego4D": 305}
_WHOLE = {
    ("ego", "ego", "indoor"): 305,
    ("ego", "ego", "outdoor"): 302,
    ("match_ego2exo", "match", "indoor"): 151,
    ("match_ego2exo", "match", "outdoor"): 151,
    ("match_exo2ego", "match", "indoor"): 151,
    ("match_exo2ego", "match", "outdoor"): 151,
    ("exo", "exo", "indoor"): 348,
    ("exo", "exo", "outdoor"): 317,
    ("ego2exo", "ego2exo", "indoor"): 309,
    ("ego2exo", "ego2exo", "outdoor"): 318,
}


# --- the command --------------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))
    return tmp_path / "data" / "egoexo_next"


@pytest.mark.slow
def test_a_release_is_prepared_with_a_mapping_and_its_images_as_they_were(
    release: Release,
    data: Path,
    make_image: Callable[[tuple[int, int], int], Image.Image],
    encode: Encode,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = release(*({**entry, "why": entry["answer"]} for entry in group()))
    files = sorted(folder.glob("img/*"))
    for seed, file in enumerate(files):
        file.write_bytes(encode(make_image((24, 18), seed), "JPEG", quality=50))
    put(tmp_path / "fields.toml", b'answer = "why"\n')
    command = ["data", "prepare", "egoexo_next", "--from", str(folder), "--fields", str(tmp_path / "fields.toml")]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "| 1 Ego Next-State " in said
    assert said.endswith(f"egoexo_next is ready in {data}\n")
    (found,) = read_config(data, "matched_ego2exo", IMAGE_COLUMNS)
    assert found["next_ego"] == {"bytes": (folder / "img/g_next.jpg").read_bytes(), "path": None}
    (found,) = read_config(data, "ego2exo", IMAGE_COLUMNS)
    assert found["next_ego"] is None
    assert found["option_c"]["bytes"] == (folder / "img/ego2exo1_option2.jpg").read_bytes()


def test_without_images_nothing_is_looked_for(release: Release, data: Path) -> None:
    folder = release(*RECORDS)
    for file in folder.glob("img/*"):
        file.unlink()
    prepare("egoexo_next", folder, images=False)
    assert sorted(entry.name for entry in data.iterdir()) == sorted(["README.md", *expected(RECORDS)])


def test_a_fault_leaves_the_old_data_set(release: Release, data: Path) -> None:
    prepare("egoexo_next", release(record("ego")), images=False)
    with pytest.raises(DataError):
        prepare("egoexo_next", release(record("ego", answer="Z")), images=False)
    (found,) = read_config(data, "ego", IMAGE_COLUMNS)
    assert found["id"] == "ego1"


def test_without_a_folder_it_is_said_how_to_fetch_one() -> None:
    said = "hf download yutongli2024/EgoExo-Next --repo-type dataset --local-dir DIR.*prepare egoexo_next --from DIR"
    with pytest.raises(DataError, match=said):
        prepare("egoexo_next", None)


@pytest.mark.parametrize("name", ["m4bench", "m3verse"])
def test_a_mapping_is_refused_where_names_are_fixed(name: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=f"The fields of {name} have fixed names: --fields is for egoexo_next alone"):
        prepare(name, tmp_path, mapping=tmp_path / "fields.toml")


def test_options_that_carry_letters_are_taken_in_the_order_of_these(tmp_path: Path) -> None:
    def colour(value: int) -> str:
        stream = io.BytesIO()
        Image.new("RGB", (4, 4), (value, 0, 0)).save(stream, "PNG")
        return base64.b64encode(stream.getvalue()).decode()

    options = [{"label": letter, "image": colour("ABCD".index(letter))} for letter in "BADC"]
    asked = {"id": "q", "subtask": "1", "scene": "indoor", "answer": "A", "options": options}
    (tmp_path / "t.json").write_text(json.dumps([{**asked, "frames": [colour(9 + n) for n in range(4)]}]))
    mapping = tmp_path.parent / f"{tmp_path.name}.toml"
    mapping.write_text('options = "options.image"\n')
    (row,) = read_release(tmp_path, load_fields(mapping))["ego"]
    shown = [Image.open(io.BytesIO(row[f"option_{letter}"]["bytes"])).getpixel((0, 0))[0] for letter in "abcd"]
    assert shown == [0, 1, 2, 3]
