"""The cards of the data sets: headers that the Hub takes, true to schemas and registry; folders load by them."""

from __future__ import annotations

import copy
import importlib
import io
import re
import shlex
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from datasets.info import DatasetInfosDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard
from PIL import Image

from spotdiff.benchmarks.egoexo_next.schema import SOURCES
from spotdiff.benchmarks.mvvbench.schema import CATEGORIES, CONFIG, MOTION
from spotdiff.benchmarks.mvvbench.schema import SOURCES as RECORDINGS
from spotdiff.cli import main
from spotdiff.data.cards import card
from spotdiff.data.write import write_data_set
from spotdiff.errors import SettingError
from spotdiff.tasks import benchmarks, task, tasks, vlmeval_tasks

ROOT = Path(__file__).parent.parent
NAMES = ("egoexo_next", "m3verse", "m4bench", "mvvbench")
REGISTERED = tuple(name for name in NAMES if name in benchmarks())

Header = dict[str, Any]
Row = dict[str, Any]

every_card = pytest.mark.parametrize("name", NAMES)
every_registered = pytest.mark.parametrize("name", REGISTERED)


def schema(name: str) -> datasets.Features:
    found: datasets.Features = importlib.import_module(f"spotdiff.benchmarks.{name}.schema").features()
    return found


def split(text: str) -> tuple[str, str]:
    """Header and body."""
    start, header, body = re.split(r"^---\n", text, maxsplit=2, flags=re.MULTILINE)
    assert start == ""
    return header, body


def header(name: str) -> Header:
    found: Header = yaml.safe_load(split(card(name))[0])
    return found


def body(name: str) -> str:
    return split(card(name))[1]


def section(name: str, title: str) -> str:
    return body(name).split(f"\n## {title}\n")[1].split("\n## ")[0]


def tables(text: str) -> list[list[dict[str, str]]]:
    """Every table of a text: a line as title -> cell."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)
    found = [
        [[cell.strip() for cell in line.strip("|").split(" | ")] for line in block.splitlines()] for block in blocks
    ]
    return [[dict(zip(lines[0], line, strict=True)) for line in lines[2:]] for lines in found]


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", body(name), flags=re.MULTILINE | re.DOTALL)


def configs_of(name: str) -> dict[str, int]:
    """Config -> questions of the paper, by the registry where the benchmark is in it."""
    if name not in benchmarks():
        return {CONFIG: sum(CATEGORIES.values())}
    own = [entry for entry in benchmarks()[name].tasks if entry.data == name]
    return {setting.config: setting.questions for entry in own for setting in entry.settings}


# --- the header ---------------------------------------------------------------------------------------------------


def words(text: str) -> set[str]:
    return set(text.split())


TASK_CATEGORIES = words(
    """
    text-classification token-classification table-question-answering question-answering zero-shot-classification
    translation summarization feature-extraction text-generation fill-mask sentence-similarity text-to-speech
    text-to-audio automatic-speech-recognition audio-to-audio audio-classification voice-activity-detection
    depth-estimation image-classification object-detection image-segmentation text-to-image image-to-text image-to-image
    image-to-video unconditional-image-generation video-classification reinforcement-learning robotics
    tabular-classification tabular-regression tabular-to-text table-to-text multiple-choice text-ranking text-retrieval
    time-series-forecasting text-to-video visual-question-answering zero-shot-image-classification graph-ml
    mask-generation zero-shot-object-detection text-to-3d image-to-3d image-feature-extraction video-text-to-text
    """
)
"""Those that the Hub offers for data sets."""

LICENCES = words(
    """
    apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m bigscience-bloom-rail-1.0 bigcode-openrail-m
    afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5
    cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0
    cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0
    cdla-permissive-2.0 ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0 lgpl
    lgpl-2.1 lgpl-3.0 isc lppl-1.3c ms-pl mpl-2.0 odc-by odbl osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib pddl
    unknown other
    """
)
"""Identifiers that the Hub takes, those of single models and companies aside."""

SIZES = {"n<1K": range(1_000), "1K<n<10K": range(1_000, 10_000), "10K<n<100K": range(10_000, 100_000)}

FIELDS = {
    "pretty_name": str,
    "language": list,
    "license": str,
    "license_name": str,
    "license_link": str,
    "task_categories": list,
    "size_categories": list,
    "tags": list,
    "configs": list,
    "dataset_info": list,
}


def faults(found: Header) -> Iterator[str]:
    """What the Hub's own check of a header would refuse, as far as its rules are published, and what we do not want."""
    yield from (f"unknown field {field}" for field in found if field not in FIELDS)
    yield from (f"no {field}" for field in FIELDS if field not in found and not field.startswith("license_"))
    wrong = [field for field, kind in FIELDS.items() if field in found and not isinstance(found[field], kind)]
    yield from (f"type of {field}" for field in wrong)
    sound = {field: content for field, content in found.items() if field not in wrong}
    yield from _licence_faults(sound)
    yield from _list_faults(sound)


def _licence_faults(found: Header) -> Iterator[str]:
    licence = found.get("license")
    if licence not in LICENCES:
        yield f"licence {licence}"
    told = found.keys() & {"license_name", "license_link"}
    if len(told) != (2 if licence == "other" else 0):
        yield "name and link stand beside the licence other, and there alone"
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", found.get("license_name", "x")):
        yield "license_name"
    if not re.fullmatch(r"https://[A-Za-z0-9./-]+", found.get("license_link", "https://x")):
        yield "license_link"


def _list_faults(found: Header) -> Iterator[str]:
    languages, tasks, sizes, tags = (
        found.get(field, []) for field in ("language", "task_categories", "size_categories", "tags")
    )
    yield from ("an entry twice" for entries in (languages, tasks, tags) if _repeats(entries))
    yield from (f"language {code}" for code in languages if not re.fullmatch("[a-z]{2,3}", code))
    yield from (f"task {entry}" for entry in tasks if entry not in TASK_CATEGORIES)
    yield from (f"size {entry}" for entry in sizes if entry not in SIZES)
    yield from (f"tag {tag}" for tag in tags if not re.fullmatch(r"arxiv:\d{4}\.\d{5}|[a-z][a-z-]+", tag))
    if len(sizes) != 1:
        yield "not one size"


def _repeats(entries: list[str]) -> bool:
    return len(set(entries)) < len(entries)


def mapping_keys(node: yaml.Node) -> Iterator[list[str]]:
    """The keys of every mapping below a node."""
    if isinstance(node, yaml.MappingNode):
        yield [key.value for key, _ in node.value]
        for _, value in node.value:
            yield from mapping_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from mapping_keys(value)


@every_card
def test_the_header_is_one_that_the_hub_takes(name: str) -> None:
    assert list(faults(header(name))) == []


@every_card
def test_the_header_names_no_key_twice(name: str) -> None:
    found = list(mapping_keys(yaml.compose(split(card(name))[0])))
    assert found
    assert not any(map(_repeats, found))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"license": "CC-BY-4.0"}, "licence CC-BY-4.0"),
        ({"license": None}, "type of license"),
        ({"license": "mit"}, "name and link stand beside the licence other, and there alone"),
        ({"license_name": "Own Licence"}, "license_name"),
        ({"license_link": "see the paper"}, "license_link"),
        ({"language": ["English"]}, "language English"),
        ({"language": "en"}, "type of language"),
        ({"task_categories": ["vqa"]}, "task vqa"),
        ({"task_categories": ["image-text-to-text"]}, "task image-text-to-text"),
        ({"size_categories": ["1k<n<10k"]}, "size 1k<n<10k"),
        ({"size_categories": []}, "not one size"),
        ({"tags": ["arxiv:10.04506"]}, "tag arxiv:10.04506"),
        ({"tags": ["video", "video"]}, "an entry twice"),
        ({"licence": "mit"}, "unknown field licence"),
    ],
)
def test_a_header_that_the_hub_would_refuse_is_found_faulty(changes: Header, expected: str) -> None:
    sound = header("m4bench")
    assert expected not in list(faults(sound))
    assert expected in list(faults({**sound, **changes}))


@pytest.mark.parametrize("field", ["pretty_name", "license", "tags", "configs", "license_link"])
def test_a_header_that_lacks_a_field_is_found_faulty(field: str) -> None:
    assert list(faults({key: content for key, content in header("m4bench").items() if key != field}))


@every_card
def test_the_client_of_the_hub_reads_the_header_and_loses_nothing(name: str) -> None:
    found = DatasetCard(card(name))
    assert found.data.to_dict() == header(name)
    assert found.text.strip() == body(name).strip()
    assert yaml.safe_load(split(str(found))[0]) == header(name)


@every_card
def test_the_size_is_that_of_the_data_set(name: str) -> None:
    (size,) = header(name)["size_categories"]
    assert sum(configs_of(name).values()) in SIZES[size]


@every_card
def test_an_arxiv_tag_names_the_paper_that_is_cited(name: str) -> None:
    (citation,) = blocks(name, "bibtex")
    tagged = [tag.removeprefix("arxiv:") for tag in header(name)["tags"] if tag.startswith("arxiv:")]
    assert re.findall(r"eprint\s+= \{(.*)\}", citation) == tagged


# --- configs and fields -------------------------------------------------------------------------------------------


def test_every_benchmark_has_a_card_and_every_card_a_data_set() -> None:
    assert set(benchmarks()) <= set(NAMES)
    assert {path.parent.name for path in (ROOT / "hf_cards").glob("*/README.md")} == set(NAMES)


@every_card
def test_the_configs_are_those_that_the_tasks_read(name: str) -> None:
    data = DatasetCard(card(name)).data
    assert list(MetadataConfigs.from_dataset_card_data(copy.deepcopy(data))) == list(configs_of(name))
    assert list(DatasetInfosDict.from_dataset_card_data(copy.deepcopy(data))) == list(configs_of(name))
    assert [entry["config_name"] for entry in header(name)["configs"]] == list(configs_of(name))
    for entry in header(name)["configs"]:
        assert entry["data_files"] == [{"split": "test", "path": f"{entry['config_name']}/*.parquet"}]


@every_card
def test_the_types_of_the_header_are_those_of_the_schema(name: str) -> None:
    infos = DatasetInfosDict.from_dataset_card_data(DatasetCard(card(name)).data)
    assert all(info.features == schema(name) for info in infos.values())


@every_card
def test_the_header_states_no_counts_which_would_keep_a_part_of_the_data_from_loading(name: str) -> None:
    assert all(entry.keys() == {"config_name", "features"} for entry in header(name)["dataset_info"])


def in_words(feature: Any) -> str:
    if isinstance(feature, datasets.Image):
        return "image"
    return f"list of {in_words(feature.feature)}" if hasattr(feature, "feature") else str(feature.dtype)


@every_card
def test_the_table_of_fields_has_names_and_types_of_the_schema_in_its_order(name: str) -> None:
    (rows,) = tables(section(name, "Fields"))
    told = [(row["field"].strip("`"), row["type"]) for row in rows]
    assert told == [(column, in_words(feature)) for column, feature in schema(name).items()]
    assert all(row["content"] for row in rows)


# --- numbers ------------------------------------------------------------------------------------------------------


def counts(name: str, number: int, key: str, column: str = "questions") -> dict[str, int]:
    """First column -> number, in a table of the configs' section."""
    rows = tables(section(name, "Configs"))[number]
    return {row[key].strip("`"): int(row[column].replace(",", "")) for row in rows}


@every_card
def test_the_table_of_configs_has_the_questions_of_the_paper(name: str) -> None:
    assert counts(name, 0, "config") == configs_of(name)


@every_registered
def test_the_card_states_how_many_questions_the_whole_benchmark_asks(name: str) -> None:
    assert f"{task(name).expected:,}" in section(name, "Configs")


def test_questions_of_egoexo_next_are_counted_by_source_as_in_the_paper() -> None:
    assert counts("egoexo_next", 1, "source", "questions, as the paper counts them") == dict(SOURCES)


def test_questions_of_mvvbench_are_counted_by_category_and_motion() -> None:
    assert counts("mvvbench", 1, "category") == dict(CATEGORIES)
    assert [f"{count:,} {kind}" for kind, count in MOTION.items()] == re.findall(
        r"[\d,]+ (?:static|dynamic)", section("mvvbench", "Configs")
    )


def test_right_letters_of_m4bench_are_counted_as_they_are_in_the_release(replay_data_folder: Path) -> None:
    configs, *_ = tables(section("m4bench", "Configs"))
    told = {row["config"].strip("`"): row["right letters A / B / C / D"] for row in configs}
    found = {}
    for config in configs_of("m4bench"):
        rows = pq.read_table(replay_data_folder / "m4bench" / config, columns=["answer", "options"]).to_pylist()
        letters = "ABCD"[: max(len(row["options"]) for row in rows)]
        found[config] = " / ".join(str(sum(row["answer"] == letter for row in rows)) for letter in letters)
    assert told == found


# --- commands, licences, canary -----------------------------------------------------------------------------------


def commands(name: str) -> list[list[str]]:
    return [shlex.split(line) for block in blocks(name, "bash") for line in block.splitlines()]


def after(words: list[str], option: str) -> list[str]:
    """The values of an option."""
    rest = words[words.index(option) + 1 :]
    return rest[: next((place for place, word in enumerate(rest) if word.startswith("--")), len(rest))]


@every_registered
def test_tasks_that_the_commands_name_exist_in_both_frameworks(name: str) -> None:
    theirs = vlmeval_tasks()
    ours = {*tasks(), *(group for benchmark in benchmarks().values() for group in benchmark.groups)}
    run = {" ".join(words[: 1 + (words[0] == "vlmeval")]): words for words in commands(name)}
    asked = after(run["lmms-eval"], "--tasks")[0].split(",")
    assert set(asked) <= ours
    assert [theirs[data].name for data in after(run["vlmeval run"], "--data")] == asked


@every_registered
def test_tasks_that_the_text_names_exist(name: str) -> None:
    named = set(re.findall(rf"`({name}_[a-z0-9_]+)`", body(name)))
    assert named <= {entry.name for entry in vlmeval_tasks().values()}


@every_registered
def test_commands_of_spotdiff_are_understood_and_lack_nothing_but_data(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    for folder in (word.partition("=")[2] for words in commands(name) for word in words if "=DIR" in word):
        (tmp_path / folder).mkdir()
    ours = [words[1:] for words in commands(name) if words[0] == "spotdiff"]
    assert [words[:-1] for words in ours if "--from" not in words] == [["data", "check"], ["report"]]
    lacking = ("RELEASE", str(tmp_path / "data" / name), "runs")
    for words, place in zip(ours, lacking, strict=True):
        assert main(words) == 2
        assert place in capsys.readouterr().err


@every_card
def test_every_card_says_what_must_not_be_re_hosted(name: str) -> None:
    assert "re-hosted" in section(name, "Licence") or "Do not re-host" in section(name, "Licence")


def test_owners_of_the_pictures_are_named_beside_the_licence() -> None:
    assert [source for source in SOURCES if source not in section("egoexo_next", "Licence")] == []
    assert [source for source in RECORDINGS if source not in section("mvvbench", "Licence")] == []


CANARY = r"^> (Please do not train on this data set.*`)spotdiff-canary-([a-z0-9_]+)-([0-9a-f-]{36})(`.*)$"


def test_each_card_has_one_canary_of_its_own_in_the_same_words() -> None:
    found = {name: re.findall(CANARY, body(name), flags=re.MULTILINE) for name in NAMES}
    assert [[mark[1] for mark in marks] for marks in found.values()] == [[name] for name in NAMES]
    assert len({uuid.UUID(marks[0][2]) for marks in found.values()}) == len(NAMES)
    assert {uuid.UUID(marks[0][2]).version for marks in found.values()} == {4}
    assert len({(marks[0][0], marks[0][3]) for marks in found.values()}) == 1


# --- loading ------------------------------------------------------------------------------------------------------

ROWS = 3


def value(feature: Any, number: int, column: str) -> Any:
    if isinstance(feature, datasets.Image):
        buffer = io.BytesIO()
        Image.new("RGB", (4 + number, 6), (40 * number, 100, 200)).save(buffer, format="PNG")
        return {"bytes": buffer.getvalue(), "path": None}
    if hasattr(feature, "feature"):
        return [value(feature.feature, number, column), value(feature.feature, number + 1, column)]
    kinds: Mapping[str, Callable[[], Any]] = {
        "string": lambda: f"videos/{number}.mp4" if "video" in column else f"{column} {number}",
        "bool": lambda: bool(number % 2),
        "int32": lambda: number,
        "float64": lambda: number + 0.5,
    }
    return kinds[feature.dtype]()


def rows_of(name: str) -> list[Row]:
    return [{key: value(feature, number, key) for key, feature in schema(name).items()} for number in range(ROWS)]


def decoded(row: Row) -> Row:
    """As `datasets` gives it: images as size and pixels."""
    images = {key: Image.open(io.BytesIO(cell["bytes"])) for key, cell in row.items() if isinstance(cell, dict)}
    return {**row, **{key: (image.size, image.tobytes()) for key, image in images.items()}}


def seen(row: Row) -> Row:
    return {key: (cell.size, cell.tobytes()) if isinstance(cell, Image.Image) else cell for key, cell in row.items()}


Written = Callable[..., Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a small data set with its card and its videos; returns the folder."""

    def write(name: str, configs: list[str] | None = None) -> Path:
        video = tmp_path / "some.mp4"
        video.write_bytes(b"a video")
        videos = (
            {f"videos/{number}.mp4": video for number in range(ROWS + 1)} if name in ("m3verse", "mvvbench") else {}
        )
        rows = dict.fromkeys(configs or configs_of(name), rows_of(name))
        write_data_set(tmp_path / name, rows, schema(name), videos, {"README.md": card(name, configs)})
        return tmp_path / name

    return write


@every_card
def test_a_folder_with_its_card_loads_config_by_config_with_images_decoded(name: str, written: Written) -> None:
    folder = written(name)
    expected = [decoded(row) for row in rows_of(name)]
    assert datasets.get_dataset_config_names(str(folder)) == list(configs_of(name))
    for config in configs_of(name):
        rows = datasets.load_dataset(str(folder), config, split="test")
        assert rows.features == schema(name)
        assert [seen(row) for row in rows] == expected


@every_card
def test_a_folder_with_its_card_streams_the_same_rows(name: str, written: Written) -> None:
    folder = written(name)
    for config in configs_of(name):
        rows = datasets.load_dataset(str(folder), config, split="test", streaming=True)
        assert rows.features == schema(name)
        assert [seen(row) for row in rows] == [decoded(row) for row in rows_of(name)]


@pytest.mark.parametrize("name", ["egoexo_next", "m4bench"])
def test_the_card_alone_tells_images_from_plain_bytes(name: str, written: Written) -> None:
    folder = written(name)
    config = next(iter(configs_of(name)))
    bare = pa.Table.from_pylist(rows_of(name), schema(name).arrow_schema.remove_metadata())
    pq.write_table(bare, folder / config / "test.parquet")
    (row, *_) = datasets.load_dataset(str(folder), config, split="test")
    assert isinstance(row["option_a" if name == "egoexo_next" else "image_1"], Image.Image)


@pytest.mark.parametrize(
    ("name", "columns"), [("m3verse", ["video_before", "video_after"]), ("mvvbench", ["view_videos"])]
)
def test_videos_are_paths_of_files_in_the_folder(name: str, columns: list[str], written: Written) -> None:
    folder = written(name)
    (row, *_) = datasets.load_dataset(str(folder), next(iter(configs_of(name))), split="test")
    paths = [path for column in columns for path in ([row[column]] if isinstance(row[column], str) else row[column])]
    assert paths
    assert all((folder / path).read_bytes() == b"a video" for path in paths)


@every_card
def test_the_loading_code_of_the_card_runs(name: str, written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written(name)
    (code,) = blocks(name, "python")
    found: dict[str, Any] = {}
    exec(code.replace("FOLDER", str(folder)), found)
    assert len(found["rows"]) == ROWS
    assert capsys.readouterr().out
    assert all(path.is_file() for path in [*found.get("videos", []), *found.get("shown", [])] if isinstance(path, Path))


@pytest.mark.parametrize("name", ["egoexo_next", "m3verse", "m4bench"])
def test_a_folder_of_some_configs_loads_with_the_card_of_these(name: str, written: Written) -> None:
    last = list(configs_of(name))[-1]
    folder = written(name, [last])
    assert datasets.get_dataset_config_names(str(folder)) == [last]
    assert len(datasets.load_dataset(str(folder), last, split="test")) == ROWS


# --- the function -------------------------------------------------------------------------------------------------


@every_card
def test_a_card_of_all_configs_is_the_whole_card(name: str) -> None:
    narrowed = card(name, list(configs_of(name)))
    assert yaml.safe_load(split(narrowed)[0]) == header(name)
    assert split(narrowed)[1] == body(name)


def test_a_card_of_some_configs_keeps_their_order_and_all_else() -> None:
    found = yaml.safe_load(split(card("m4bench", {"instance_comparison", "state_comparison"}))[0])
    assert [entry["config_name"] for entry in found["configs"]] == ["state_comparison", "instance_comparison"]
    assert [entry["config_name"] for entry in found["dataset_info"]] == ["state_comparison", "instance_comparison"]
    lists = ("configs", "dataset_info")
    assert {key: found[key] for key in found if key not in lists} == {
        key: content for key, content in header("m4bench").items() if key not in lists
    }


def test_an_unknown_data_set_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingError, match=r"'m5bench'.*egoexo_next, m3verse, m4bench, mvvbench"):
        card("m5bench")


def test_a_config_that_the_card_does_not_name_is_refused() -> None:
    with pytest.raises(ValueError, match="real2"):
        card("m3verse", ["sim", "real2"])
