"""The official release, written in both of its forms and read back."""

import base64
import csv
import gzip
import io
import json
import random
import re
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from spotdiff.benchmarks.m4bench.official import Release, counts, read_official
from spotdiff.benchmarks.m4bench.official_text import letter_of, recover, split_query
from spotdiff.benchmarks.m4bench.protocol import question
from spotdiff.benchmarks.m4bench.questions import read_questions
from spotdiff.benchmarks.m4bench.tables import SETTINGS
from spotdiff.data.prepare import prepare
from spotdiff.errors import DataError
from spotdiff.evaluation import Evaluation
from spotdiff.media.images import open_image
from spotdiff.question import Text
from spotdiff.settings import Settings
from spotdiff.tasks import task

Line = dict[str, Any]
Row = Mapping[str, Any]
Images = Mapping[str, bytes]

COLUMNS = ["index", "image1", "image2", "image1_path", "image2_path", "query", "response"]
HUB = "https://huggingface.co/datasets/Anonymous8976/M4Bench/resolve/main/data/"
DATA = "M4Bench/data/"

# --- the forms, as this test writes them ---------------------------------------------------------------------------


def part(line: Line) -> str:
    """The name of the TSV and of the folder that a setting's questions stand in."""
    return re.sub("_(Generated_Images|Natural_Images|With_Visual_Prompt|WithOut_Visual_Prompt)$", "", line["task"])


def prompt(line: Line, form: str = "{}. {}") -> str:
    return "\n".join([line["question"], *(form.format(letter, text) for letter, text in line["options"].items())])


def tsv(records: Iterable[Mapping[str, Any] | Sequence[Any]], columns: Sequence[str] = COLUMNS) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(columns)
    for record in records:
        writer.writerow([record[name] for name in columns] if isinstance(record, Mapping) else record)
    return text.getvalue()


def records(lines: Sequence[Line], images: Images, ask: Callable[[Line], str] = prompt) -> list[Line]:
    """The lines of one TSV."""
    return [
        {
            "index": number,
            "image1": base64.b64encode(images[line["images"][0]]).decode(),
            "image2": base64.b64encode(images[line["images"][1]]).decode(),
            "image1_path": line["images"][0].replace(DATA, HUB),
            "image2_path": line["images"][1].replace(DATA, HUB),
            "query": ask(line),
            "response": line["answer"],
        }
        for number, line in enumerate(lines)
    ]


def write_tsvs(folder: Path, lines: Sequence[Line], images: Images, ask: Callable[[Line], str] = prompt) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(map(part, lines)):
        own = [line for line in lines if part(line) == name]
        (folder / f"{name}.tsv").write_bytes(tsv(records(own, images, ask)).encode())
    return folder


def edges(box: Sequence[int]) -> dict[str, int]:
    return dict(zip(("x1", "y1", "x2", "y2"), box, strict=True))


def instruction(line: Line) -> Line:
    """An entry as the release's code reads it. Its options use the boxes of other letters than their own."""
    entry: Line = {"id": line["id"], "answer": line["answer"], "options": list(line["options"].values())}
    entry["image" if "State" in line["task"] else "images"] = line["images"]
    if "State" in line["task"]:
        return entry | {"question": line["question"].removesuffix(" ")}
    entry |= {
        name: {"width": size[0], "height": size[1]}
        for name, size in zip(("left_image_size", "right_image_size"), line["image_sizes"], strict=True)
    }
    shared = line["task"].startswith("Detailed")
    for number, (letter, text) in enumerate(line["option_templates"].items()):
        if letter not in line["option_boxes"]:
            continue
        own, boxes = "CBAD"[number], [edges(box) for box in line["option_boxes"][letter]]
        for place in (1, 2):
            text = text.replace("<bbox>", f"<{own}_bbox>" if shared else f"<{own}_bbox:{place}>", 1)
        assert not shared or boxes[0] == boxes[1]
        entry[f"{own}_bbox"] = boxes[0] if shared else {"<bbox:1>": boxes[0], "<bbox:2>": boxes[1]}
        entry["options"][number] = text
    return entry | {"question": line["question_template"]}


def prompted_instruction(line: Line, plain: Line) -> Line:
    text = line["question_template"].replace("<bbox>", "<bbox:1>", 1).replace("<bbox>", "<bbox:2>", 1)
    boxes = {f"<bbox:{place}>": edges(box) for place, box in enumerate(line["question_boxes"], start=1)}
    return instruction(plain) | {"question": text, "question_without_prompt": plain["question"], "question_bbox": boxes}


def write_json(folder: Path, lines: Sequence[Line]) -> Path:
    by_task: dict[str, dict[str, Line]] = {}
    for line in lines:
        by_task.setdefault(line["task"], {})[line["id"]] = line
    files: dict[str, list[Line]] = {}
    for name, own in by_task.items():
        prompted = by_task.get(name.replace("WithOut", "With"), {}) if "WithOut" in name else {}
        if "With_Visual" not in name:
            kind = {"Generated": "_generated_images", "Natural": "_nature_images"}.get(name.split("_")[-2], "")
            where = "Object_States" if name == "State_Comparison" else part({"task": name})
            files[f"{where}/instruction{kind}.json"] = [
                prompted_instruction(prompted[key], line) if prompted else instruction(line)
                for key, line in own.items()
            ]
    for place, entries in files.items():
        (folder / "data" / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / "data" / place).write_text(json.dumps(entries, ensure_ascii=False), encoding="utf-8")
    return folder


def write_images(folder: Path, images: Images) -> Path:
    for name, encoded in images.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(encoded)
    return folder


def write_table(folder: Path, lines: Sequence[Line]) -> Path:
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "questions.jsonl").write_text(text)
    return folder


def plain(rows: Mapping[str, Iterable[Row]]) -> dict[str, list[dict[str, Any]]]:
    return {config: [dict(row) for row in own] for config, own in rows.items()}


def without_ids(rows: Mapping[str, Iterable[Row]]) -> dict[str, list[dict[str, Any]]]:
    """Rows as they come of a TSV, whose ids are the lines' indices."""
    return {config: [{**row, "id": ""} for row in own] for config, own in rows.items()}


# --- questions of each setting -------------------------------------------------------------------------------------

CORRESPOND = "Which of the following options are semantic corresponding part?"
SIZES = [[64, 48], [50, 80]]
PAIRS = [
    [[0, 0, 10, 10], [5, 5, 25, 45]],
    [[20, 10, 64, 48], [0, 40, 50, 80]],
    [[3, 7, 33, 17], [11, 2, 44, 9]],
    [[1, 1, 2, 2], [49, 79, 50, 80]],
]
SINGLE = [[[0, 0, 10, 10]] * 2, [[20, 10, 49, 48]] * 2, [[3, 7, 33, 17]] * 2]


def state(name: str, number: int, **changes: Any) -> Line:
    asked = {
        "State_Invariance": "Whether these two pictures show same object? ",
        "State_Comparison": "Whether the apple in the first image and the second image are in the same state? ",
    }
    return {
        "task": name,
        "id": f"{name.lower()}_{number}",
        "question": asked[name],
        "options": {"A": "Yes", "B": "No"} if number % 2 else {"A": "No", "B": "Yes"},
        "answer": "AB"[number % 2],
        "images": [f"{DATA}{name}/imgs/x/{number}_{k}.png" for k in (1, 2)],
        **changes,
    }


def boxed(name: str, number: int, question: str, option: str, pairs: Any, images: str, **changes: Any) -> Line:
    templates = {letter: option for letter, _ in zip("ABCD", pairs, strict=False)}
    if len(pairs) < 4:
        templates["D"] = "No difference."
    option_boxes = dict(zip("ABCD", pairs, strict=False))
    written = {
        letter: text.replace("<bbox>", "{}").format(*map(str, option_boxes.get(letter, [])))
        for letter, text in templates.items()
    }
    return {
        "task": name,
        "id": f"{part({'task': name})}_{number}",
        "question": question,
        "question_template": question,
        "question_boxes": [],
        "options": written,
        "option_templates": templates,
        "option_boxes": option_boxes,
        "answer": "ABCD"[number % 4],
        "images": [f"{DATA}{images}/{number}_{k}.png" for k in (1, 2)],
        "image_sizes": SIZES,
        **changes,
    }


def with_prompt(line: Line, template: str, category: str) -> Line:
    boxes = [[4, 5, 40, 30], [10, 20, 50, 80]]
    return {
        **line,
        "task": line["task"].replace("WithOut", "With"),
        "question": template.replace("<bbox>", "{}").format(*map(str, boxes)) + line["question"],
        "question_template": template + line["question"],
        "question_boxes": boxes,
        "category": category,
    }


def questions() -> list[Line]:
    """Two questions of each setting; sizes of their images are those of SIZES."""
    differ = "Which of the following region is the difference between figure 1 and figure 2{}?"
    figures = "<bbox> in figure 1 and <bbox> in figure 2"
    lines = [state(name, k) for name in ("State_Invariance", "State_Comparison") for k in (1, 2)]
    for kind, blank, folder in (("Generated", " ", "DDGI_imgs/dev"), ("Natural", "", "DDNI_imgs")):
        make = partial(boxed, f"Detailed_Difference_{kind}_Images", images=f"Detailed_Difference/{folder}")
        lines += [make(k, differ.format(blank), figures, SINGLE) for k in (1, 2)]
    spatial = partial(boxed, "Spatial_Perception_WithOut_Visual_Prompt", images="Spatial_Perception/imgs/train2017")
    corresponding = [spatial(k, CORRESPOND, "<bbox> in image-1 and <bbox> in image-2", PAIRS) for k in (1, 2)]
    instance = partial(boxed, "Instance_Comparison_WithOut_Visual_Prompt", images="Instance_Comparison/imgs/shoes")
    asked = "Which option shows a part pair that is semantic aligned but different?"
    aligned = [instance(k, asked, figures, PAIRS[:3]) for k in (1, 2)]
    lines += [*corresponding, *aligned]
    lines += [
        with_prompt(line, "<bbox> in image-1 and <bbox> in image-2 are a_(b) Which. ", "a_(b) Which")
        for line in corresponding
    ]
    return lines + [with_prompt(line, "<bbox> in image1 and <bbox> in image2 are shoes. ", "shoes") for line in aligned]


@pytest.fixture(scope="session")
def images(make_image: Callable[..., Image.Image], encode: Callable[..., bytes]) -> Images:
    """Of all questions: name -> PNG of the size that the questions state."""
    names = [(name, tuple(SIZES[k])) for line in questions() for k, name in enumerate(line["images"])]
    return {name: encode(make_image(size, seed)) for seed, (name, size) in enumerate(dict(names).items())}


@pytest.fixture
def expected(tmp_path: Path, images: Images) -> dict[str, list[dict[str, Any]]]:
    """The same questions as the table of questions gives them."""
    folder = tmp_path / "table"
    folder.mkdir()
    return plain(read_questions(write_images(write_table(folder, questions()), images)))


# --- both forms ----------------------------------------------------------------------------------------------------


def test_tsvs_give_the_rows_that_the_table_of_questions_gives(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]]
) -> None:
    release = read_official(write_tsvs(tmp_path / "hub", questions(), images))
    assert without_ids(release.rows) == without_ids(expected)
    assert list(release.rows) == list(dict.fromkeys(setting.config for setting in SETTINGS))
    assert [row["id"] for row in release.rows["detailed_difference_natural"]] == ["2", "3"]
    assert [row["id"] for row in release.rows["instance_comparison"]] == ["0", "1"]
    assert release.notes == ()


def test_instructions_and_image_files_give_the_rows_that_the_table_of_questions_gives(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]]
) -> None:
    folder = write_json(tmp_path / "hub", questions())
    write_images(folder / "data", {name.removeprefix(DATA): encoded for name, encoded in images.items()})
    release = read_official(folder)
    assert plain(release.rows) == expected
    assert release.notes == ()
    assert plain(read_official(folder / "data").rows) == expected


def test_instructions_take_their_images_from_tsvs(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]]
) -> None:
    folder = write_json(write_tsvs(tmp_path / "hub", questions(), images), questions())
    for path in folder.glob("*.tsv"):
        # What is asked, they need not say in a form that can be read.
        path.write_text(path.read_text().replace("\nB. ", "\nb: "))
    assert plain(read_official(folder).rows) == expected


def test_a_part_without_instructions_is_read_from_its_tsv(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]]
) -> None:
    folder = write_tsvs(tmp_path / "hub", questions(), images)
    write_json(folder, [line for line in questions() if "State_I" in line["task"]])
    rows = read_official(folder).rows
    assert plain(rows)["state_invariance"] == expected["state_invariance"]
    assert without_ids(rows) == without_ids(expected)


@pytest.mark.parametrize("form", ["tsv", "json"])
def test_without_images_the_texts_are_the_same(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]], form: str
) -> None:
    folder = tmp_path / "hub"
    read = read_official(
        write_tsvs(folder, questions(), images) if form == "tsv" else write_json(folder, questions()), images=False
    )
    none = {config: [{**row, "image_1": None, "image_2": None} for row in rows] for config, rows in expected.items()}
    assert without_ids(read.rows) == without_ids(none)


def test_without_images_tsvs_are_not_looked_at_where_there_are_instructions(tmp_path: Path) -> None:
    folder = write_json(tmp_path, questions())
    (folder / "State_Invariance.tsv").write_text("cut")
    assert len(list(read_official(folder, images=False).rows["state_invariance"])) == 2
    assert len(faults(folder)) > len(COLUMNS)


def test_paths_of_addresses_are_unquoted(tmp_path: Path, images: Images) -> None:
    lines = [line for line in questions() if "State_I" in line["task"]]
    spaced = [{**line, "images": [name.replace("/x/", "/ä x/") for name in line["images"]]} for line in lines]
    own = records(lines, images)
    for record in own:
        record["image1_path"] = record["image1_path"].replace("/x/", "/%C3%A4%20x/")
        record["image2_path"] = record["image2_path"].replace("/x/", "/ä x/")
    (tmp_path / "State_Invariance.tsv").write_text(tsv(own))
    from_tsv = without_ids(read_official(tmp_path).rows)
    assert from_tsv == without_ids(read_official(write_json(tmp_path, spaced)).rows)


def test_questions_on_the_same_images_are_joined_with_their_own_visual_prompt(tmp_path: Path, images: Images) -> None:
    first = next(line for line in questions() if line["task"].startswith("Instance"))
    second = {**first, "options": {**first["options"], "A": "another"}, "answer": "A"}
    shoes, hats = (f"<bbox> in image1 and <bbox> in image2 are {kind}. " for kind in ("shoes", "hats"))
    lines = [first, second, with_prompt(second, hats, "hats"), with_prompt(first, shoes, "shoes")]
    rows = list(read_official(write_tsvs(tmp_path, lines, images)).rows["instance_comparison"])
    assert [(row["id"], row["category"], row["options"][0]) for row in rows] == [
        ("0", "shoes", "<bbox> in figure 1 and <bbox> in figure 2"),
        ("1", "hats", "another"),
    ]


def test_a_table_of_questions_comes_first(tmp_path: Path, images: Images) -> None:
    folder = write_tsvs(tmp_path, questions(), images)
    write_images(write_table(folder, [state("State_Invariance", 1)]), images)
    assert [row["id"] for row in read_official(folder).rows["state_invariance"]] == ["state_invariance_1"]


def test_what_is_read_is_counted_beside_the_paper(tmp_path: Path, images: Images) -> None:
    release = read_official(write_tsvs(tmp_path, [line for line in questions() if "With_" not in line["task"]], images))
    found = {title: (read, paper) for title, read, paper in counts(release).rows}
    assert found["DD-S"] == ("2", "234")
    assert found["SP"] == ("2", "230")
    assert found["SP-vp"] == ("0", "230")
    assert found["all"] == ("12", "1,811")


def test_a_tsv_of_prompts_with_a_visual_prompt_alone_serves_both_settings(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]]
) -> None:
    release = read_official(write_tsvs(tmp_path, [line for line in questions() if "With_" in line["task"]], images))
    for config in ("spatial_perception", "instance_comparison"):
        assert without_ids(release.rows)[config] == without_ids(expected)[config]


def test_no_path_is_in_a_row(tmp_path: Path, images: Images) -> None:
    folder = write_json(write_tsvs(tmp_path, questions(), images), questions())
    rows = plain(read_official(folder, images=False).rows)
    assert re.findall(r"imgs|\.png|https?:|M4Bench|data/", json.dumps(rows)) == []


# --- images and prepared data --------------------------------------------------------------------------------------


def strange_images(encode: Callable[..., bytes], make_image: Callable[..., Image.Image]) -> list[tuple[bytes, bytes]]:
    """Images that have to survive as they are, each in a size of SIZES when upright."""
    first, second = (tuple(size) for size in SIZES)
    turned = Image.Exif()
    turned[0x0112] = 6
    half_clear = make_image(first, 1).convert("RGBA")
    half_clear.putalpha(make_image(first, 2).convert("L"))
    return [
        (encode(half_clear), encode(make_image(second, 3).quantize(16))),
        (
            encode(make_image(first[::-1], 4), "JPEG", exif=turned.tobytes()),
            encode(make_image(second[::-1], 5), "PNG", exif=turned.tobytes()),
        ),
        (encode(make_image(first, 6).convert("1")), encode(make_image(second, 7), "WEBP", lossless=True)),
        (encode(make_image(first, 8), "TIFF"), encode(make_image(second, 9), "GIF")),
    ]


@pytest.mark.parametrize("form", ["tsv", "json"])
def test_every_field_and_pixel_survives_prepare_and_load(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    encode: Callable[..., bytes],
    make_image: Callable[..., Image.Image],
    form: str,
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))
    pairs = strange_images(encode, make_image)
    options = {"A": 'á "b"\tc\u2028d ' + "x" * 100_000, "B": "№\r日本語\n\nzweite Zeile", "C": "''", "D": " ,;\\"}
    spatial = next(line for line in questions() if line["task"].startswith("Spatial"))
    lines = [
        {
            **spatial,
            "id": f"Ж {number}",
            "question": 'Which "of"\tthese\u2028 or\nthose',
            "question_template": 'Which "of"\tthese\u2028 or\nthose',
            "options": options,
            "option_templates": options,
            "option_boxes": {},
            "images": [f"{DATA}Spatial_Perception/imgs/{number}{k}" for k in (1, 2)],
        }
        for number in range(len(pairs))
    ]
    lines.append({**spatial, "images": lines[1]["images"]})
    held = {
        name: image
        for line, pair in zip(lines, pairs, strict=False)
        for name, image in zip(line["images"], pair, strict=True)
    }
    if form == "tsv":
        write_tsvs(tmp_path / "hub", lines, held)
    else:
        write_images(write_json(tmp_path / "hub", lines), held)
    prepare("m4bench", tmp_path / "hub")
    loaded = Evaluation.of(task("m4bench_spatial_perception"), "GPT-4o").rows().to_list()
    assert [row["id"] for row in loaded] == ([str(k) for k in range(5)] if form == "tsv" else [x["id"] for x in lines])
    for row, line in zip(loaded, lines, strict=True):
        assert row["question"] == line["question"]
        assert row["options"] == list(line["option_templates"].values())
        assert row["answer"] == line["answer"]
        assert row["category"] == row["visual_prompt"] == ""
        for column, name in zip(("image_1", "image_2"), line["images"], strict=True):
            assert row[column]["bytes"] == held[name]
            assert not row[column]["path"]
            assert open_image(row[column], "").tobytes() == open_image(held[name], "").tobytes()
    assert loaded[-1]["image_sizes"] == SIZES
    asked = Evaluation.of(task("m4bench_spatial_perception"), "GPT-4o").question(loaded[0])
    assert asked.prompt == prompt(lines[0])


@pytest.mark.parametrize("form", ["tsv", "json", "table"])
def test_only_the_row_that_is_taken_is_in_memory(tmp_path: Path, images: Images, form: str) -> None:
    lines = [state("State_Invariance", k, answer="A") for k in range(40)]
    # What stands behind the end of an image is no fault, and is kept.
    small = next(iter(images.values()))
    held = {name: small + random.Random(name).randbytes(150_000) for line in lines for name in line["images"]}
    if form == "tsv":
        write_tsvs(tmp_path, lines, held)
    else:
        write_images((write_table if form == "table" else write_json)(tmp_path, lines), held)
    tracemalloc.start()
    rows = read_official(tmp_path).rows["state_invariance"]
    taken = sum(len(row[column]["bytes"]) for row in rows for column in ("image_1", "image_2"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken == sum(map(len, held.values())) > 12_000_000
    assert peak < 5_000_000


def test_the_limit_of_csv_fields_stays_that_of_the_process(tmp_path: Path, images: Images) -> None:
    before = csv.field_size_limit(1000)
    try:
        read_official(write_tsvs(tmp_path, questions(), images))
        assert csv.field_size_limit() == 1000
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[:-2000], r"byte \d+: the (image cannot be read any more|file has changed)"),
        (lambda text: "\n" + text, r"byte \d+: the (image cannot be read any more|file has changed)"),
        (lambda text: "", r"byte \d+: the file has changed while it was read"),
        (None, r"byte \d+: the image cannot be read any more \(.*No such file"),
    ],
)
def test_a_file_that_changes_before_its_rows_are_taken_is_an_error(
    tmp_path: Path, images: Images, change: Callable[[str], str] | None, said: str
) -> None:
    rows = read_official(write_tsvs(tmp_path, questions()[:2], images)).rows["state_invariance"]
    file = tmp_path / "State_Invariance.tsv"
    text = file.read_text()
    file.unlink()
    if change:
        file.write_text(change(text))
    with pytest.raises(DataError, match=rf"State_Invariance\.tsv, {said}"):
        list(rows)


def test_an_image_file_that_is_gone_before_its_row_is_taken_is_an_error(tmp_path: Path, images: Images) -> None:
    rows = read_official(write_images(write_json(tmp_path, questions()[:2]), images)).rows["state_invariance"]
    (tmp_path / questions()[0]["images"][1]).unlink()
    with pytest.raises(DataError, match=r"1_2\.png cannot be read \(No such file"):
        list(rows)


# --- prompts -------------------------------------------------------------------------------------------------------

QWEN = "<|box_start|>({},{}),({},{})<|box_end|>"
INTERN = "<box>[[{}, {}, {}, {}]]</box>"
DEEPSEEK = "<|det|>[[{}, {}, {}, {}]]<|/det|>"


def relative(template: str, box: Sequence[int], size: Sequence[int]) -> str:
    """A box as the release's code writes it for this family."""
    sides = (*size, *size)
    if template == INTERN:
        return template.format(*(round(x / side * 1000) for x, side in zip(box, sides, strict=True)))
    parts = 1000 if template == QWEN else 999
    return template.format(*(int(x * (parts / side)) for x, side in zip(box, sides, strict=True)))


@st.composite
def boxes_in(draw: st.DrawFn, longest: int) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """A box in each of two images, and their sizes."""
    sizes = [(draw(st.integers(1, longest)), draw(st.integers(1, longest))) for _ in range(2)]
    spans = [[sorted(draw(st.lists(st.integers(0, side), min_size=2, max_size=2))) for side in size] for size in sizes]
    return [[x[0], y[0], x[1], y[1]] for x, y in spans], sizes


@given(boxes_in(999), st.sampled_from([QWEN, INTERN, DEEPSEEK]))
def test_relative_boxes_give_their_pixels_back_where_a_side_has_no_more_pixels_than_parts(
    drawn: tuple[list[list[int]], list[tuple[int, int]]], template: str
) -> None:
    boxes, sizes = drawn
    first, second = (relative(template, box, size) for box, size in zip(boxes, sizes, strict=True))
    found = recover(f"{first} in figure 1 and {second} in figure 2", sizes, "query")
    assert (found.template, found.boxes) == ("<bbox> in figure 1 and <bbox> in figure 2", boxes)
    assert found.inexact == 0


@given(boxes_in(5000), st.sampled_from([QWEN, INTERN, DEEPSEEK]))
def test_relative_boxes_in_large_images_give_pixels_that_are_written_the_same(
    drawn: tuple[list[list[int]], list[tuple[int, int]]], template: str
) -> None:
    boxes, sizes = drawn
    written = [relative(template, box, size) for box, size in zip(boxes, sizes, strict=True)]
    found = recover("; ".join(written), sizes, "query")
    assert [relative(template, box, size) for box, size in zip(found.boxes, sizes, strict=True)] == written
    changed = sum(
        x != y for box, other in zip(boxes, found.boxes, strict=True) for x, y in zip(box, other, strict=True)
    )
    assert changed <= found.inexact


@given(boxes_in(9000))
def test_boxes_in_pixels_stay_as_they_are(drawn: tuple[list[list[int]], list[tuple[int, int]]]) -> None:
    boxes, sizes = drawn
    found = recover(f"{boxes[0]} and {str(boxes[1]).replace(' ', '')}", sizes, "query")
    assert (found.template, found.boxes, found.inexact) == ("<bbox> and <bbox>", boxes, 0)


def test_of_several_pixels_that_are_written_alike_the_middle_one_is_taken() -> None:
    # 0 to 4, 5 to 9, ... of 5,000 pixels have the same place in thousandths.
    found = recover(QWEN.format(0, 1, 7, 1000), [(5000, 5000)], "")
    assert (found.boxes, found.inexact) == ([[2, 7, 37, 5000]], 3)


def test_a_box_that_no_pixel_is_written_as_becomes_the_nearest_one() -> None:
    assert recover(QWEN.format(3, 0, 999, 1000), [(100, 10)], "").boxes == [[0, 0, 100, 10]]


def test_questions_with_relative_boxes_in_large_images_are_told(tmp_path: Path, encode: Callable[..., bytes]) -> None:
    large = (2048, 30)
    (line, *_) = (line for line in questions() if line["task"].startswith("Detailed"))
    line = {**line, "image_sizes": [large, large], "option_boxes": {"A": [[1001, 2, 2000, 9]] * 2}}
    line["option_templates"] = {"A": line["option_templates"]["A"], "B": "No difference."}
    line["answer"] = "B"
    text = " and ".join(f"{relative(QWEN, [1001, 2, 2000, 9], large)} in figure {k}" for k in (1, 2))
    line["options"] = {"A": text, "B": "No difference."}
    release = read_official(write_tsvs(tmp_path, [line], dict.fromkeys(line["images"], encode(Image.new("1", large)))))
    (row,) = release.rows["detailed_difference_synthetic"]
    (box, _), _ = row["option_boxes"]
    assert abs(box[0] - 1001) <= 2
    assert box[1] == 2
    assert release.notes == (
        "Boxes written in parts of a side that has more pixels: in 1 of 1 questions. Where several pixels fit an edge, "
        "the middle one was taken.",
    )


TEXT = st.text(st.characters(exclude_categories=("Cs", "Nd"), exclude_characters="\0\r\n"), min_size=1, max_size=40)


@given(
    TEXT.filter(str.strip),
    st.lists(TEXT.filter(str.strip), min_size=2, max_size=26),
    st.sampled_from(["{}. {}", "({}) {}", "{}) {}", "{}: {}"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_question_and_options_are_found_in_their_prompt_as_they_are(
    asked: str, options: list[str], form: str, line_break: str
) -> None:
    lines = [form.format(letter, text) for letter, text in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", options, strict=False)]
    assert split_query(line_break.join([asked, *lines])) == (asked, options)


def test_an_option_may_have_several_lines() -> None:
    assert split_query("Which?\nA. one\nand more\n\nB. two") == ("Which?", ["one\nand more\n", "two"])


def test_a_question_may_have_a_line_that_begins_as_an_option_does() -> None:
    assert split_query("A. is seen.\nB or not?\nA. yes\nB. no") == ("A. is seen.\nB or not?", ["yes", "no"])


def test_the_sentence_that_explains_boxes_is_no_part_of_the_question() -> None:
    asked, _ = split_query("[x1, y1, x2, y2] is a box, (x1, y1) its corner. [1, 2, 3, 4] is a cat. Which?\nA. x\nB. y")
    assert asked == "[1, 2, 3, 4] is a cat. Which?"


@pytest.mark.parametrize("answer", ["B", " B\n", "(B)", "B.", "B. not this", "(B) not this", "not this"])
def test_an_answer_may_be_a_letter_or_an_option(answer: str) -> None:
    assert letter_of(answer, ["this", "not this", "A"], "") == "B"


def test_a_letter_is_a_letter_even_where_an_option_says_another() -> None:
    assert letter_of("A", ["B", "A"], "") == "A"
    assert letter_of("C", ["B", "C"], "") == "B"


@pytest.mark.parametrize("form", ["(A) {}", "({}) {}"])
def test_prompts_may_mark_options_by_letters_in_brackets(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]], form: str
) -> None:
    folder = write_tsvs(tmp_path, questions(), images, partial(prompt, form="({}) {}"))
    for path in folder.glob("*.tsv"):
        # The blank behind the question is of the release's code.
        path.write_text(path.read_text().replace("? \n", "?\n"))
    assert without_ids(read_official(folder).rows) == without_ids(expected)


def test_what_every_prompt_says_behind_its_options_is_left_out_and_told(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]]
) -> None:
    lines = [line for line in questions() if "State_I" in line["task"]]
    release = read_official(write_tsvs(tmp_path, lines, images, lambda line: f"{prompt(line)}\nAnswer by a letter."))
    assert without_ids(release.rows)["state_invariance"] == without_ids(expected)["state_invariance"]
    assert release.notes == (
        r"State_Invariance.tsv: behind the options, each prompt says '\nAnswer by a letter.', which is left out.",
    )


def test_what_a_single_prompt_says_behind_its_options_belongs_to_the_last_one(tmp_path: Path, images: Images) -> None:
    write_tsvs(tmp_path, questions()[:1], images, lambda line: f"{prompt(line)}\nor yes")
    (row,) = read_official(tmp_path).rows["state_invariance"]
    assert row["options"] == ["Yes", "No\nor yes"]


def test_other_words_than_the_published_ones_are_kept_and_told(tmp_path: Path, images: Images) -> None:
    lines = [line for line in questions() if "State" in line["task"]]
    lines[1] = {**lines[1], "question": "Same? "}
    release = read_official(write_tsvs(tmp_path, lines, images))
    assert [row["question"] for row in release.rows["state_invariance"]][1] == "Same? "
    assert release.notes == (
        "Not worded as in the published prompts: 1 of 4 questions, the first is 1 of state_invariance. Their scores do "
        "not compare with published ones.",
    )


# --- where the pictures of a detailed difference come from -----------------------------------------------------------


def test_pictures_without_telling_paths_are_told_apart_by_the_published_questions(
    tmp_path: Path, images: Images
) -> None:
    lines = [line for line in questions() if "Detailed" in line["task"]]
    own = records(lines, images)
    for record in own:
        record["image1_path"] = record["image2_path"] = f"img{record['index']}"
    (tmp_path / "Detailed_Difference.tsv").write_text(tsv(own))
    rows = read_official(tmp_path).rows
    assert [row["id"] for row in rows["detailed_difference_synthetic"]] == ["0", "1"]
    assert [row["id"] for row in rows["detailed_difference_natural"]] == ["2", "3"]


def test_pictures_that_nothing_tells_apart_are_refused(tmp_path: Path, images: Images) -> None:
    own = records([line for line in questions() if "Detailed" in line["task"]], images)
    own[1] |= {"image1_path": "img1", "image2_path": "img2", "query": own[1]["query"].replace("figure 1 and", "1 and")}
    own[2]["image2_path"] = own[0]["image2_path"]
    (tmp_path / "Detailed_Difference.tsv").write_text(tsv(own))
    with pytest.raises(DataError, match="2 faults") as caught:
        read_official(tmp_path)
    assert [(problem.row, problem.field) for problem in caught.value.problems] == [("1", "images"), ("2", "images")]
    assert "synthetic or natural" in str(caught.value)


# --- faults of a TSV -----------------------------------------------------------------------------------------------


def faults(folder: Path, images: bool = True) -> list[str]:
    """Row, field and message of each fault."""
    with pytest.raises(DataError) as caught:
        read_official(folder, images=images)
    assert all(str(folder) in problem.file for problem in caught.value.problems)
    return [f"{problem.row} | {problem.field} | {problem.message}" for problem in caught.value.problems]


@pytest.fixture
def states(images: Images) -> list[Line]:
    """Records of two sound questions."""
    return records([state("State_Invariance", k) for k in (1, 2)], images)


@pytest.fixture
def broken(tmp_path: Path) -> Callable[[str | bytes], list[str]]:
    """The faults of a State_Invariance.tsv of this text."""

    def read(text: str | bytes) -> list[str]:
        (tmp_path / "State_Invariance.tsv").write_bytes(text.encode() if isinstance(text, str) else text)
        return faults(tmp_path)

    return read


Broken = Callable[[str | bytes], list[str]]


def test_a_line_that_is_cut_is_a_fault(broken: Broken, states: list[Line]) -> None:
    text = tsv(states)
    cut = text[: text.rindex("\t", 0, text.rindex("imgs/x/2_1.png"))]
    assert broken(cut) == ["line 5 | all | 3 of 7 fields: it is cut, or a tab is not quoted"]


def test_a_line_that_is_cut_within_a_quoted_field_is_a_fault(broken: Broken, states: list[Line]) -> None:
    text = tsv(states)
    (said,) = broken(text[: text.rindex("B. ")])
    assert said == "line 5 | all | the file is damaged or cut there (unexpected end of data)"


def test_a_line_that_is_cut_within_its_last_field_is_a_fault(broken: Broken, states: list[Line]) -> None:
    assert broken(tsv(states)[:-2]) == ["1 | response | is empty"]


def test_an_image_that_is_cut_is_a_fault_whichever_column_is_last(broken: Broken, states: list[Line]) -> None:
    columns = [*COLUMNS[:1], *COLUMNS[3:], *COLUMNS[1:3]]
    text = tsv(states, columns)
    (said,) = broken(text[: -len(states[1]["image2"]) + 20])
    assert said.startswith("1 | image2 | no")


@pytest.mark.parametrize(
    "text", ["", "\n", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"]
)
def test_a_file_without_the_columns_is_a_fault(broken: Broken, text: str) -> None:
    assert broken(text) == [f"header | {column} | there is no such column" for column in COLUMNS]


def test_a_file_without_questions_is_a_fault(broken: Broken) -> None:
    assert broken(tsv([])) == ["all | all | there are no questions"]


def test_missing_columns_are_all_named(broken: Broken, states: list[Line]) -> None:
    assert broken(tsv(states, [name for name in COLUMNS if name not in ("image2", "response")])) == [
        "header | image2 | there is no such column",
        "header | response | there is no such column",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"image1": "!!!!"}, "1 | image1 | no base64 (Only base64 data is allowed)"),
        ({"image2": "QUJ"}, "1 | image2 | no base64 (Incorrect padding)"),
        ({"image1": base64.b64encode(b"<html>").decode()}, "1 | image1 | no image (cannot identify image file"),
        ({"image1": ""}, "1 | image1 | is empty, and the folder does not hold the file either"),
        ({"image1_path": ""}, "1 | image1_path | is empty"),
        ({"index": " "}, "  | index | is empty"),
        ({"index": ""}, "line 5 | index | is empty"),
        ({"index": 0}, "0 | index | appears 2 times"),
        ({"query": ""}, "1 | query | is empty"),
        ({"query": "Same?"}, "1 | query | there are no two lines that begin with A. and B., or (A) and (B)"),
        ({"query": "Same?\nA. \nB. No"}, "1 | options | is empty"),
        ({"query": "Same [0.1, 0.2, 0.3, 0.4]?\nA. 1\nB. 2"}, "1 | query | '0.1, 0.2, 0.3, 0.4' may be a box"),
        ({"query": "Same?\nA. (1, 2) (3, 4)\nB. 2"}, "1 | query | '1, 2) (3, 4' may be a box"),
        ({"query": "[1, 2, 3, 4] same?\nA. 1\nB. 2"}, "1 | query | there is no sentence before the question"),
        ({"query": "Same?\nA. [1, 2, 3, 99] and [1, 2, 3, 4]\nB. 2", "response": "A"}, "1 | option_boxes[0] | box [1,"),
        ({"query": "Same?\nA. [1, 2, 3, 4]\nB. 2", "response": "A"}, "1 | options[0] | 1 marks <bbox> for 1 boxes"),
        ({"response": "C"}, "1 | response | the right answer 'C' is none of the 2 options"),
        ({"response": "A. Yes"}, "1 | response | the right answer 'A. Yes' is none of the 2 options"),
        ({"response": ""}, "1 | response | is empty"),
    ],
)
def test_a_field_that_cannot_be_used_is_named(
    broken: Broken, states: list[Line], changes: dict[str, Any], said: str
) -> None:
    states[1] |= changes
    (found,) = broken(tsv(states))
    assert found.startswith(said)


def test_all_faults_of_all_files_come_at_once(tmp_path: Path, states: list[Line], images: Images) -> None:
    states[0]["image1"] = states[0]["image2"] = "?"
    states[1]["response"] = ""
    (tmp_path / "State_Invariance.tsv").write_text(tsv(states))
    (tmp_path / "State_Comparison.tsv").write_text(tsv(states, COLUMNS[:-1]))
    write_json(tmp_path, [{**line, "answer": "Z"} for line in questions() if "Detailed" in line["task"]])
    said = faults(tmp_path)
    assert len(said) == 3 + 1 + 4


def test_bytes_that_are_no_text_are_a_fault(broken: Broken, states: list[Line]) -> None:
    (said,) = broken(tsv(states).encode().replace(b"show same", b"show \xff same", 1))
    assert said.startswith("line 2 | all | the file is damaged or cut there ('utf-8' codec can't decode byte 0xff")


def test_more_fields_than_columns_are_a_fault(broken: Broken, states: list[Line]) -> None:
    text = tsv([*(list(record.values()) for record in states), [*states[0].values(), "more"]])
    assert broken(text) == ["line 8 | all | 8 of 7 fields: it is cut, or a tab is not quoted"]


def test_blank_lines_further_columns_and_a_byte_order_mark_do_no_harm(tmp_path: Path, states: list[Line]) -> None:
    text = tsv([record | {"more": "x"} for record in states], [*reversed(COLUMNS), "more"])
    (tmp_path / "state_invariance.tsv").write_text("\ufeff" + text.replace("x\n", "x\n\n"), encoding="utf-8")
    assert [row["id"] for row in read_official(tmp_path).rows["state_invariance"]] == ["0", "1"]


def test_base64_may_be_broken_into_lines(tmp_path: Path, states: list[Line], images: Images) -> None:
    name = f"{DATA}State_Invariance/imgs/x/1_1.png"
    states[0]["image1"] = base64.encodebytes(images[name]).decode().replace("\n", "\r\n")
    (tmp_path / "State_Invariance.tsv").write_bytes(tsv(states).encode())
    first, _ = read_official(tmp_path).rows["state_invariance"]
    assert first["image_1"]["bytes"] == images[name]


def test_an_image_that_the_tsv_lacks_is_taken_from_its_file(tmp_path: Path, states: list[Line], images: Images) -> None:
    states[0]["image1"] = ""
    (tmp_path / "State_Invariance.tsv").write_text(tsv(states))
    name = f"{DATA}State_Invariance/imgs/x/1_1.png"
    write_images(tmp_path, {name.removeprefix("M4Bench/"): images[name]})
    first, _ = read_official(tmp_path).rows["state_invariance"]
    assert first["image_1"]["bytes"] == images[name]


def test_a_question_that_is_there_in_one_form_only_is_a_fault_where_there_are_both(
    tmp_path: Path, images: Images
) -> None:
    lines = [line for line in questions() if "Spatial" in line["task"]]
    write_tsvs(tmp_path, [lines[0], lines[3], lines[2]], images)
    assert faults(tmp_path) == [
        "1 | query | there are questions without and with a visual prompt, and this one is not there without it"
    ]
    write_tsvs(tmp_path, lines[:3], images)
    assert faults(tmp_path) == [
        "1 | query | there are questions without and with a visual prompt, and this one is not there with it"
    ]


@pytest.mark.parametrize("images", [True, False])
def test_a_folder_without_any_form_is_refused(tmp_path: Path, images: bool) -> None:
    (tmp_path / "predictions.tsv").write_text("x")
    with pytest.raises(
        DataError, match=r"holds no questions\.jsonl or .* or instruction\*\.json, and no TSV of M4Bench"
    ):
        read_official(tmp_path, images=images)


# --- faults of instructions ----------------------------------------------------------------------------------------


def entries(name: str) -> list[Line]:
    """The entries of a part of the release, of sound questions."""
    lines = [line for line in questions() if line["task"].startswith(name)]
    prompted = {line["id"]: line for line in lines if "With_" in line["task"]}
    return [
        prompted_instruction(prompted[line["id"]], line) if prompted else instruction(line)
        for line in lines
        if "With_" not in line["task"]
    ]


def write_entries(folder: Path, content: Any, name: str = "Spatial_Perception") -> Path:
    (folder / name).mkdir(exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name / "instruction.json").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": None}, "entry 2 | id | None is no id"),
        ({"id": "Spatial_Perception_1"}, "Spatial_Perception_1 | id | appears 2 times"),
        ({"question": ""}, "entry 2 (Spatial_Perception_2) | question | '' is no text"),
        ({"question": None}, "entry 2 (Spatial_Perception_2) | question | is missing"),
        ({"question_without_prompt": "Which one?"}, "| question_without_prompt | question does not end with it"),
        ({"question_without_prompt": 3}, "| question_without_prompt | 3 is no text"),
        ({"question": f"<bbox:2>, <bbox:1>. {CORRESPOND}"}, "| question | its mark 1 is for image 2"),
        (
            {"question_bbox": {"<bbox:1>": edges([1, 2, 3, 4])}},
            "| question_bbox | None is not a box x1, y1, x2, y2 for",
        ),
        ({"question_bbox": None}, "| question_bbox | is missing, and question names it"),
        ({"options": "Yes"}, "| options | 'Yes' is no list of texts"),
        ({"options": ["x", 3]}, "| options | ['x', 3] is no list of texts"),
        ({"options": {"A": "x", "C": "y"}}, "| options | letters A, C are not A, B, C and so on"),
        ({"options": ["x"], "answer": "A"}, "Spatial_Perception_2 | options | 1 options"),
        ({"options": ["<E_bbox:1>", "x", "y"]}, "| E_bbox | is missing, and options[0] names it"),
        ({"options": ["<A_bbox:2>", "x", "y"]}, "| options[0] | its mark 1 is for image 2"),
        ({"A_bbox": {"<bbox:1>": edges([1, 2, 3, 4])}}, "| A_bbox | None is not a box"),
        ({"A_bbox": {"<bbox:1>": edges([1, 2, 3, 4]), "<bbox:2>": [1, 2, 3]}}, "| A_bbox | [1, 2, 3] is not a box"),
        ({"A_bbox": edges([1, 2, 3, 4]) | {"y2": 4.5}}, "| A_bbox | [1, 2, 3, 4.5] is not a box"),
        ({"A_bbox": edges([1, 2, 3, 4]) | {"y2": float("nan")}}, "| A_bbox | [1, 2, 3, nan] is not a box"),
        (
            {"A_bbox": edges([1, 2, 60, 4])},
            "Perception_2 | option_boxes[2] | box [1, 2, 60, 4] does not lie inside image 2",
        ),
        ({"left_image_size": None}, "| left_image_size | is missing"),
        ({"left_image_size": {"width": 64}}, "| left_image_size | [64, None] is not width and height"),
        ({"left_image_size": [65, 48]}, "Spatial_Perception_2 | image_1 | the image is 64x48, the row says"),
        ({"answer": "E"}, "| answer | the right answer 'E' is none of the 4 options"),
        ({"answer": None}, "| answer | is missing"),
        ({"images": None}, "| images | None is not two paths"),
        ({"images": ["a"]}, "| images | ['a'] is not two paths"),
        ({"images": ["gone.png", "x" * 5000]}, "Spatial_Perception_2 | images | no TSV and no file holds gone.png"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named(
    tmp_path: Path, images: Images, changes: dict[str, Any], said: str
) -> None:
    content = entries("Spatial")
    content[1] |= changes
    (found,) = faults(write_entries(write_images(tmp_path, images), content))
    assert said in found


def test_all_faults_of_an_entry_come_at_once(tmp_path: Path) -> None:
    content = entries("Spatial")
    content[0] |= {"A_bbox": None, "B_bbox": {}, "answer": "E"}
    content[1] |= {"id": "", "question": None, "images": 3, "left_image_size": 5}
    fields = [text.split(" | ")[1] for text in faults(write_entries(tmp_path, content))]
    assert fields == ["answer", "B_bbox", "A_bbox", "id", "question", "images", "left_image_size"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "all | all | cannot be read"),
        ('[{"id": "x"', "all | all | cannot be read"),
        ("[]", "all | all | there are no questions"),
        ("{}", "all | all | there are no questions"),
        ("3", "entry 1 | all | '3' is not an object"),
        ("[[]]", "entry 1 | all | '[]' is not an object"),
    ],
)
def test_a_file_without_entries_is_a_fault(tmp_path: Path, content: str, said: str) -> None:
    (found,) = faults(write_entries(tmp_path, content))
    assert found.startswith(said)


def test_other_spellings_of_an_entry_are_understood(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]]
) -> None:
    content = {entry.pop("id"): entry for entry in entries("Spatial")}
    first, second = content.values()
    first["options"] = dict(zip("ABCD", first["options"], strict=True))
    first["image"] = first.pop("images")
    first["A_bbox"] = {name: list(map(float, box.values())) for name, box in first["A_bbox"].items()}
    first["answer"] = f"{first['answer']}."
    second["left_image_size"] = SIZES[0]
    second.pop("question_without_prompt")
    (tmp_path / "Part").mkdir()
    folder = write_entries(write_images(tmp_path, images), content)
    assert plain(read_official(folder).rows)["spatial_perception"] == expected["spatial_perception"]


@pytest.mark.parametrize("embed", [True, False])
def test_sizes_that_an_entry_lacks_are_those_of_its_images(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]], embed: bool
) -> None:
    content = entries("Spatial")
    for entry in content:
        del entry["left_image_size"], entry["right_image_size"]
    folder = write_entries(write_images(tmp_path, images), content)
    rows = plain(read_official(folder, images=embed).rows)["spatial_perception"]
    assert [row["image_sizes"] for row in rows] == [row["image_sizes"] for row in expected["spatial_perception"]]


def test_images_that_a_tsv_calls_otherwise_are_found_by_the_questions_id(
    tmp_path: Path, images: Images, expected: Mapping[str, list[dict[str, Any]]]
) -> None:
    lines = [line for line in questions() if "State_I" in line["task"]]
    own = [
        record | {"index": line["id"], "image1_path": f"img{k}_1", "image2_path": f"img{k}_2"}
        for k, (record, line) in enumerate(zip(records(lines, images), lines, strict=True))
    ]
    (tmp_path / "State_Invariance.tsv").write_text(tsv(reversed(own)))
    write_json(tmp_path, lines)
    assert plain(read_official(tmp_path).rows)["state_invariance"] == expected["state_invariance"]
    own[0]["response"] = "AB"[own[0]["response"] == "A"]
    (tmp_path / "State_Invariance.tsv").write_text(tsv(own))
    (said,) = faults(tmp_path)
    assert "has another right answer under this index" in said


def test_two_images_of_one_path_are_a_fault_where_images_are_found_by_their_paths(
    tmp_path: Path, images: Images
) -> None:
    lines = [line for line in questions() if "State_I" in line["task"]]
    own = records(lines, images)
    own[1]["image2_path"] = own[0]["image1_path"]
    (tmp_path / "State_Invariance.tsv").write_text(tsv(own))
    first, second = read_official(tmp_path).rows["state_invariance"]
    assert first["image_1"] != second["image_2"]
    write_json(tmp_path, lines)
    assert "the TSVs hold 2 different images as" in faults(tmp_path)[0]


def test_the_same_part_twice_is_refused(tmp_path: Path, images: Images) -> None:
    for folder in ("data", "neutral"):
        (tmp_path / folder).mkdir()
        write_entries(tmp_path / folder, entries("Spatial"))
    with pytest.raises(DataError, match=r"data/.*instruction\.json and .*neutral/.* are both there"):
        read_official(tmp_path)
    hidden = tmp_path / ".cache"
    (tmp_path / "neutral").rename(hidden)
    write_images(tmp_path, images)
    assert len(list(read_official(tmp_path).rows["spatial_perception"])) == 2


def test_instructions_below_no_known_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder above it is named as a part of M4Bench"):
        read_official(write_entries(tmp_path, entries("Spatial"), "elsewhere"))


# --- the published questions ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published_lines(replay_data: Path) -> list[Line]:
    with gzip.open(replay_data / "questions.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


@pytest.fixture(scope="module")
def published_images(published_lines: list[Line]) -> Images:
    """Small files of the stated sizes, no two alike."""
    sizes: dict[str, tuple[int, int]] = {}
    for line in published_lines:
        for name, size in zip(line["images"], line.get("image_sizes", [[40, 40]] * 2), strict=True):
            assert sizes.setdefault(name, tuple(size)) == tuple(size)
    drawn = {}
    for number, (name, size) in enumerate(sizes.items()):
        image = Image.new("1", size)
        image.putpixel((number % size[0], number // size[0] % size[1]), 1)
        stream = io.BytesIO()
        image.save(stream, "PNG")
        drawn[name] = stream.getvalue()
    return drawn


@pytest.fixture(scope="module")
def published_rows(
    published_lines: list[Line], published_images: Images, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("published")
    return plain(read_questions(write_images(write_table(folder, published_lines), published_images)))


@pytest.fixture(scope="module")
def published_prompts(replay_data: Path) -> dict[str, dict[tuple[str, str], str]]:
    """Model -> setting and id -> the prompt it was given."""
    prompts: dict[str, dict[tuple[str, str], str]] = {}
    with gzip.open(replay_data / "replay.jsonl.gz", "rt", encoding="utf-8") as stream:
        for reply in map(json.loads, stream):
            prompts.setdefault(reply["model"], {})[reply["task"], reply["id"]] = reply["prompt"]
    return prompts


def rebuilt(release: Release, model: str) -> dict[str, list[str]]:
    """Setting, in the release's words -> its prompts, in the order of its rows."""
    prompts: dict[str, list[str]] = {}
    for setting in SETTINGS:
        asked = [question(row, setting, Settings(), model) for row in release.rows[setting.config]]
        prompts[setting.released_as] = ["".join(p.text for p in q.parts if isinstance(p, Text)) for q in asked]
    return prompts


def by_setting(lines: Sequence[Line], prompts: Mapping[tuple[str, str], str]) -> dict[str, list[str]]:
    return {
        setting.released_as: [
            prompts[line["task"], line["id"]] for line in lines if line["task"] == setting.released_as
        ]
        for setting in SETTINGS
    }


@pytest.mark.xdist_group("published")
def test_published_questions_survive_as_instructions(
    published_lines: list[Line],
    published_images: Images,
    published_rows: dict[str, list[dict[str, Any]]],
    published_prompts: dict[str, dict[tuple[str, str], str]],
    tmp_path: Path,
) -> None:
    release = read_official(write_images(write_json(tmp_path, published_lines), published_images))
    assert plain(release.rows) == published_rows
    assert release.notes == ()
    assert all(read == paper for _, read, paper in counts(release).rows)
    for model in ("GPT-4o", "Qwen2-VL-7B-Instruct", "InternVL2_5-8B"):
        assert rebuilt(release, model) == by_setting(published_lines, published_prompts[model])


@pytest.mark.xdist_group("published")
def test_published_prompts_survive_as_tsvs(
    published_lines: list[Line],
    published_images: Images,
    published_rows: dict[str, list[dict[str, Any]]],
    published_prompts: dict[str, dict[tuple[str, str], str]],
    tmp_path: Path,
) -> None:
    """With boxes in pixels nothing is lost: the prompts of all models can be rebuilt."""
    asked = published_prompts["GPT-4o"]
    write_tsvs(tmp_path, published_lines, published_images, lambda line: asked[line["task"], line["id"]])
    release = read_official(tmp_path)
    assert without_ids(release.rows) == without_ids(published_rows)
    assert release.notes == ()
    assert all(read == paper for _, read, paper in counts(release).rows)
    for model in ("GPT-4o", "Qwen2-VL-7B-Instruct", "InternVL2_5-8B"):
        assert rebuilt(release, model) == by_setting(published_lines, published_prompts[model])


@pytest.mark.xdist_group("published")
@pytest.mark.parametrize("model", ["Qwen2-VL-7B-Instruct", "InternVL2_5-8B"])
def test_published_prompts_with_relative_boxes_survive_as_tsvs_up_to_a_pixel_of_large_images(
    published_lines: list[Line],
    published_images: Images,
    published_rows: dict[str, list[dict[str, Any]]],
    published_prompts: dict[str, dict[tuple[str, str], str]],
    tmp_path: Path,
    model: str,
) -> None:
    asked = published_prompts[model]
    write_tsvs(tmp_path, published_lines, published_images, lambda line: asked[line["task"], line["id"]])
    release = read_official(tmp_path)
    assert rebuilt(release, model) == by_setting(published_lines, asked)
    boxes = ("visual_prompt_boxes", "option_boxes")
    for config, rows in release.rows.items():
        for row, true in zip(rows, published_rows[config], strict=True):
            small = max(map(max, row["image_sizes"]), default=0) <= 1000
            ignored = {"id"} if small else {"id", *boxes}
            assert {k: v for k, v in row.items() if k not in ignored} == {
                k: v for k, v in true.items() if k not in ignored
            }
            off = [abs(x - y) for name in boxes for x, y in zip(numbers(row[name]), numbers(true[name]), strict=True)]
            assert max(off, default=0) <= 1
    (note,) = release.notes
    assert re.match(r"Boxes written in parts of a side that has more pixels: in \d+ of 1,351 questions\.", note)


def numbers(nested: Any) -> list[int]:
    return [x for entry in nested for x in numbers(entry)] if isinstance(nested, list) else [nested]
