"""From MVVBench's annotations, and the user's own videos, to the canonical folder."""

import csv
import gzip
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from videos import numbers_in, write_video

from spotdiff.benchmarks.mvvbench.protocol import problems, question
from spotdiff.benchmarks.mvvbench.release import read_release
from spotdiff.benchmarks.mvvbench.release_counts import counts
from spotdiff.benchmarks.mvvbench.release_videos import video_folders
from spotdiff.benchmarks.mvvbench.release_words import path_fault, seconds
from spotdiff.benchmarks.mvvbench.schema import CATEGORIES, CONFIG, SOURCES, features
from spotdiff.cli import main
from spotdiff.data.prepare import prepare
from spotdiff.data.store import read_config
from spotdiff.errors import DataError, SettingError
from spotdiff.media import _pyav
from spotdiff.question import Text, Video
from spotdiff.settings import Settings
from spotdiff.tasks import Setting

Entry = dict[str, Any]
Samples = dict[str, Any]
Line = dict[str, str]

SPELLED = {"cook_1": "egoexo4d", "dance_2": "CMU_Panoptic", "shop_3": "mmptrack"}
VIEWS = {"cook_1": 4, "dance_2": 2, "shop_3": 3}
FRAMES = {
    ("cook_1", 0): 31,
    ("cook_1", 2): 16,
    ("cook_1", 3): 5,
    ("dance_2", 0): 7,
    ("dance_2", 1): 7,
    ("shop_3", 1): 4,
}
"""View -> frames of its video, at 3 a second; the user has no others."""


def entry(*views: int, **changes: Any) -> Entry:
    return {
        "views": list(views or (0, 1)),
        "question": "How many people are there?",
        "choices": {"A": "two", "B": "three", "C": "four"},
        "correct_answer": "B",
        "gt_answer_text": "three",
        "category": "counting",
        "static_or_dynamic": "static",
        "timestamp_start": None,
        "timestamp_end": None,
        **changes,
    }


SAMPLES: Samples = {
    "shop_3": [entry(2, 1), entry(1, 0, question="Who?")],
    "cook_1": [
        entry(
            2, 0, timestamp_start=1, timestamp_end="0:04.5", category="Implicit_Attribute", static_or_dynamic="Dynamic"
        ),
        entry(0, 5, 3),
    ],
    "dance_2": [entry(choices={"B": "Yes", "A": "no"}, correct_answer="A", gt_answer_text=" NO ")],
}


def mapped(sample: str, number: int, **changes: str) -> Line:
    return {
        "target": f"{sample}_view{number}.mp4",
        "sample_name": sample,
        "view": str(number),
        "dataset": SPELLED.get(sample, "mmptrack"),
        "split": "test",
        "source_rel_path": f"takes/{sample}/videos",
        "source_file": f"cam{number}.mp4",
        **changes,
    }


LINES = [mapped(sample, view) for sample, number in VIEWS.items() for view in reversed(range(number))]

Annotate = Callable[..., Path]


@pytest.fixture
def annotate(tmp_path: Path) -> Annotate:
    """Writes both files of the release; returns their folder."""

    def write(samples: Samples | str = SAMPLES, lines: Sequence[Line] | str = LINES, end: str = "") -> Path:
        folder = tmp_path / "release"
        folder.mkdir(exist_ok=True)
        text = samples if isinstance(samples, str) else json.dumps(samples, indent=1)
        table = lines if isinstance(lines, str) else table_of(lines)
        for name, content in (("all_questions.json", text), ("video_mapping.csv", table)):
            (folder / (name + end)).write_bytes(gzip.compress(content.encode()) if end else content.encode())
        return folder

    return write


def table_of(lines: Iterable[Line]) -> str:
    rows = list(lines)
    columns = list(rows[0] if rows else mapped("shop_3", 0))
    return "".join(",".join(line) + "\n" for line in ([columns] + [[row[name] for name in columns] for row in rows]))


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The user's folder of each data set."""
    folders = dict(zip(SPELLED, (tmp_path_factory.mktemp(name) for name in ("egoexo", "panoptic", "mmp")), strict=True))
    for (sample, view), frames in FRAMES.items():
        path = folders[sample] / f"takes/{sample}/videos/cam{view}.mp4"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_video(path, frames)
    return dict(zip(SOURCES, folders.values(), strict=True))


@pytest.fixture
def own(originals: Mapping[str, Path], tmp_path: Path) -> dict[str, Path]:
    """A copy of them that a test may change."""
    return {name: shutil.copytree(folder, tmp_path / "own" / folder.name) for name, folder in originals.items()}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))
    return tmp_path / "data" / "mvvbench"


def given_as(folders: Mapping[str, Path]) -> list[str]:
    return [f"{name}={folder}" for name, folder in folders.items()]


def written(data: Path) -> list[Entry]:
    rows: list[Entry] = read_config(data, CONFIG, ()).to_list()
    return rows


def contents(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def faults(folder: Path, videos: Mapping[str, Path] | None = None) -> list[tuple[str, str, str, str]]:
    """Line of the mapping or name of the file, row, field and message of each fault."""
    with pytest.raises(DataError) as caught:
        read_release(folder, videos)
    found = caught.value.problems
    assert found
    assert all(problem.remedy for problem in found)
    assert "nothing was prepared" in str(caught.value)
    return [
        (
            problem.file.rpartition("/")[2].removeprefix("video_mapping.csv, "),
            problem.row,
            problem.field,
            problem.message,
        )
        for problem in found
    ]


# --- rows ---------------------------------------------------------------------------------------------------------


def test_a_question_becomes_a_row_with_the_lengths_of_the_views_that_are_there(
    annotate: Annotate, originals: Mapping[str, Path]
) -> None:
    rows = read_release(annotate(), originals).rows
    assert [row["id"] for row in rows] == ["shop_3-1", "shop_3-2", "cook_1-1", "cook_1-2", "dance_2-1"]
    assert rows[2] == {
        "id": "cook_1-1",
        "sample": "cook_1",
        "source": "Ego-Exo4D",
        "category": "implicit attribute",
        "motion": "dynamic",
        "question": "How many people are there?",
        "options": ["two", "three", "four"],
        "answer": "B",
        "views": [2, 0],
        "start": 1.0,
        "end": 4.5,
        "view_numbers": [0, 1, 2, 3, 5],
        "view_videos": [f"videos/cook_1_view{view}.mp4" for view in (0, 1, 2, 3, 5)],
        "view_frames": [31, 0, 16, 5, 0],
        "view_seconds": pytest.approx([10, 0, 5, 4 / 3, 0]),
    }
    assert set(rows[2]) == set(features())
    assert (rows[4]["options"], rows[4]["answer"]) == (["no", "Yes"], "A")
    assert [row["source"] for row in rows] == ["MMPTRACK"] * 2 + ["Ego-Exo4D"] * 2 + ["CMU Panoptic"]
    assert rows[0]["start"] == rows[0]["end"] == -1
    assert all(problems(row, "f") == [] for row in rows)


def test_without_videos_the_rows_are_the_same_but_for_lengths(
    annotate: Annotate, originals: Mapping[str, Path]
) -> None:
    release = read_release(annotate())
    nothing = {"view_frames": None, "view_seconds": None}
    assert [{**row, **nothing} for row in release.rows] == [
        {**row, **nothing} for row in read_release(annotate(), originals).rows
    ]
    assert not any(any(row["view_frames"]) or any(row["view_seconds"]) for row in release.rows)
    assert (release.files, release.missing) == ({}, ())


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("below", [False, True])
def test_both_files_are_found_compressed_or_not_in_the_folder_or_one_below(
    annotate: Annotate, end: str, below: bool
) -> None:
    folder = annotate(end=end)
    assert len(read_release(folder.parent if below else folder).rows) == 5


def test_a_file_that_is_not_there_or_there_twice_is_an_error(annotate: Annotate) -> None:
    folder = annotate()
    annotate(end=".gz")
    with pytest.raises(DataError, match=r"video_mapping\.csv and .*video_mapping\.csv\.gz are both there"):
        read_release(folder)
    (folder / "video_mapping.csv").unlink()
    (folder / "all_questions.json").unlink()
    (folder / "all_questions.json.gz").unlink()
    with pytest.raises(DataError, match=r"holds no all_questions\.json or all_questions\.json\.gz"):
        read_release(folder)


@pytest.mark.parametrize("name", ["MMPTRACK", "mmptrack", "MMPTrack", " mmp_track"])
def test_data_sets_are_known_however_they_are_spelled(annotate: Annotate, name: str) -> None:
    lines = [mapped("shop_3", view, dataset=name) for view in range(3)]
    assert read_release(annotate({"shop_3": [entry()]}, lines)).rows[0]["source"] == "MMPTRACK"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        *((name, "Ego-Exo4D") for name in ("Ego-Exo4D", "egoexo4d", "ego_exo4d", "EGO EXO4D")),
        *((name, "CMU Panoptic") for name in ("CMU Panoptic", "cmu_panoptic", "panoptic", "Panoptic", "CMU-Panoptic")),
    ],
)
def test_folders_are_given_by_any_of_these_names(tmp_path: Path, name: str, source: str) -> None:
    assert video_folders([f"{name}={tmp_path}"]) == {source: tmp_path}


@pytest.mark.parametrize(
    "text", ["Implicit Attribute", "implicit_attribute", "IMPLICIT-attribute", "implicitattribute"]
)
def test_a_category_is_known_with_other_case_and_other_signs_between_its_words(annotate: Annotate, text: str) -> None:
    (row,) = read_release(annotate({"shop_3": [entry(category=text, static_or_dynamic="STATIC")]})).rows
    assert (row["category"], row["motion"]) == ("implicit attribute", "static")


def test_answers_of_counting_questions_may_be_numbers(annotate: Annotate) -> None:
    asked = entry(choices={"A": 3, "B": 4}, gt_answer_text=4)
    assert read_release(annotate({"shop_3": [asked]})).rows[0]["options"] == ["3", "4"]


@pytest.mark.parametrize("lacking", ["gt_answer_text", "timestamp_start", "timestamp_end"])
def test_what_is_not_known_may_be_missing(annotate: Annotate, lacking: str) -> None:
    asked = {name: value for name, value in entry().items() if name != lacking}
    (row,) = read_release(annotate({"shop_3": [asked]})).rows
    assert (row["start"], row["end"]) == (-1, -1)


@given(st.floats(0, 59.999), st.integers(0, 59), st.integers(0, 99))
def test_a_time_on_a_clock_is_its_seconds(rest: float, minutes: int, hours: int) -> None:
    text = f"{rest:06.3f}"
    assert seconds(f"{minutes:02}:{text}") == pytest.approx(60 * minutes + float(text))
    assert seconds(f"{minutes}:{text[:2]}") == 60 * minutes + int(text[:2])
    assert seconds(f"{hours}:{minutes:02}:{text}") == pytest.approx(3600 * hours + 60 * minutes + float(text))


@given(st.floats(0, 1e6) | st.integers(0, 10**6))
def test_a_time_that_is_a_number_is_in_seconds(number: float) -> None:
    assert seconds(number) == number


@pytest.mark.parametrize(
    "value",
    [
        -1,
        -0.5,
        float("nan"),
        float("inf"),
        10**400,
        True,
        "1:60",
        "1:5",
        "-1:00",
        "1:75:00",
        "1:2:03:04",
        "1:5:09",
        "",
        "one",
        "1:٠٥",
        "0:00:",
        [1],
        {},
    ],
)
def test_what_is_no_time_has_no_seconds(value: object) -> None:
    assert seconds(value) is None


# --- videos -------------------------------------------------------------------------------------------------------


def test_prepared_data_hold_the_rows_and_the_videos_that_questions_need(
    annotate: Annotate, data: Path, own: Mapping[str, Path]
) -> None:
    folder = annotate()
    assert prepare("mvvbench", folder, videos_from=given_as(own)) == data
    assert written(data) == read_release(folder, own).rows
    needed = {"shop_3_view1", "cook_1_view0", "cook_1_view2", "cook_1_view3", "dance_2_view0", "dance_2_view1"}
    assert contents(data) == {
        "README.md",
        "questions/test.parquet",
        "missing_views.csv",
        *(f"videos/{name}.mp4" for name in needed),
    }
    for sample, view in FRAMES:
        (original,) = (path for f in own.values() for path in f.rglob(f"{sample}/videos/cam{view}.mp4"))
        assert (data / f"videos/{sample}_view{view}.mp4").samefile(original)


def test_a_prepared_question_shows_frames_of_its_own_views_in_their_order(
    annotate: Annotate, data: Path, own: Mapping[str, Path]
) -> None:
    prepare("mvvbench", annotate(), videos_from=given_as(own))
    row = next(row for row in written(data) if row["id"] == "cook_1-1")
    row["view_videos"] = [data / name for name in row["view_videos"]]
    setting = Setting("questions", "", CONFIG, 1323, {"variant": "window"})
    asked = question(row, setting, Settings(frames=3), None)
    assert [part.text.strip() for part in asked.parts if isinstance(part, Text)][:2] == ["View 0:", "View 1:"]
    videos = [part for part in asked.parts if isinstance(part, Video)]
    # Frames 3 a second; 1, 2.75 and 4.5 seconds, of which the middle one lies nearest to the frame at 2.67.
    assert [numbers_in(video.frames()) for video in videos] == [[3, 8, 13]] * 2
    assert [video.path.name for video in videos] == ["cook_1_view2.mp4", "cook_1_view0.mp4"]
    assert asked.gold == ("B",)


def test_missing_views_are_listed_with_the_reason_and_stop_nothing(
    annotate: Annotate, data: Path, own: Mapping[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = {name: folder for name, folder in own.items() if name != "CMU Panoptic"}
    prepare("mvvbench", annotate(), videos_from=given_as(folders))
    with (data / "missing_views.csv").open(newline="") as file:
        listed = list(csv.reader(file))
    assert listed == [
        ["sample", "view", "dataset", "target", "questions", "reason"],
        ["cook_1", "5", "Ego-Exo4D", "cook_1_view5.mp4", "1", "not in video_mapping.csv"],
        ["dance_2", "0", "CMU Panoptic", "dance_2_view0.mp4", "1", "no --videos-from for CMU Panoptic"],
        ["dance_2", "1", "CMU Panoptic", "dance_2_view1.mp4", "1", "no --videos-from for CMU Panoptic"],
        ["shop_3", "0", "MMPTRACK", "shop_3_view0.mp4", "1", "no such file: takes/shop_3/videos/cam0.mp4"],
        ["shop_3", "2", "MMPTRACK", "shop_3_view2.mp4", "1", "no such file: takes/shop_3/videos/cam2.mp4"],
    ]
    assert str(tmp_path) not in (data / "missing_views.csv").read_text()
    out, err = capsys.readouterr()
    assert "5 views are missing: missing_views.csv" in out
    sources = out[out.index("**Data sets") : out.index("**Options")]
    lines = [line.strip("|").split("|") for line in sources.splitlines() if "|" in line]
    cells = {name.strip(): [cell.strip() for cell in rest] for name, *rest in lines}
    # Samples, questions, those with all their views; views shown, found, missing; others, found.
    assert cells["Ego-Exo4D"] == ["1", "2", "1", "4", "3", "1", "1", "0"]
    assert cells["CMU Panoptic"] == ["1", "1", "0", "2", "0", "2", "0", "0"]
    assert cells["MMPTRACK"] == ["1", "2", "0", "3", "1", "2", "0", "0"]
    assert cells["all"] == ["3", "5", "1", "9", "4", "5", "1", "0"]
    assert "4 of 4 videos looked at" in err


def test_how_many_questions_need_a_missing_view_is_counted(annotate: Annotate, own: Mapping[str, Path]) -> None:
    asked = [entry(0, 2, question=f"{number}?") for number in range(3)] + [entry(1, 2)]
    release = read_release(annotate({"shop_3": asked}), own)
    assert [(view.view, view.questions) for view in release.missing] == [(0, 3), (2, 4)]


def test_all_views_of_a_sample_are_taken_along_where_that_is_asked(
    annotate: Annotate, data: Path, own: Mapping[str, Path]
) -> None:
    shutil.copy(own["Ego-Exo4D"] / "takes/cook_1/videos/cam3.mp4", own["Ego-Exo4D"] / "takes/cook_1/videos/cam1.mp4")
    samples = {"cook_1": [entry(0, 2)], "dance_2": [entry()]}
    prepare("mvvbench", annotate(samples), videos_from=given_as(own))
    assert len(contents(data / "videos")) == 4
    assert written(data)[0]["view_frames"] == [31, 0, 16, 0]
    (own["CMU Panoptic"] / "takes/dance_2/videos/cam1.mp4").unlink()
    (own["Ego-Exo4D"] / "takes/cook_1/videos/cam3.mp4").unlink()
    prepare("mvvbench", annotate(samples), videos_from=given_as(own), all_views=True)
    assert contents(data / "videos") == {*(f"cook_1_view{view}.mp4" for view in (0, 1, 2)), "dance_2_view0.mp4"}
    assert written(data)[0]["view_frames"] == [31, 5, 16, 0]
    release = read_release(annotate(samples), own, all_views=True)
    assert [(view.target, view.questions) for view in release.missing] == [
        ("cook_1_view3.mp4", 0),
        ("dance_2_view1.mp4", 1),
    ]


@pytest.mark.parametrize("how", [{}, {"images": False, "videos_from": True}])
def test_questions_alone_are_prepared_without_videos(
    annotate: Annotate, data: Path, own: Mapping[str, Path], how: Entry, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare("mvvbench", annotate(), **{**how, **({"videos_from": given_as(own)} if "videos_from" in how else {})})
    assert contents(data) == {"README.md", "questions/test.parquet"}
    assert len(written(data)) == 5
    assert "**MVVBench: questions**" in capsys.readouterr().out


BELOW, ITSELF = "a/clip.mp4/clip.mp4", "a/clip.mp4"


@pytest.mark.parametrize(
    ("path", "file", "there", "taken"),
    [
        ("a", "clip.mp4", ["a/clip.mp4"], "a/clip.mp4"),
        ("a", "b/clip.mp4", ["a/b/clip.mp4"], "a/b/clip.mp4"),
        ("a/clip.mp4", "clip.mp4", [ITSELF], ITSELF),
        ("a/clip.mp4", "clip.mp4", [BELOW], BELOW),
        ("clip.mp4", "clip.mp4", ["clip.mp4"], "clip.mp4"),
        ("a/b/clip.mp4", "b/clip.mp4", ["a/b/clip.mp4"], "a/b/clip.mp4"),
        ("a/clip.mp4", "other.mp4", ["a/clip.mp4"], None),
        ("a/myclip.mp4", "clip.mp4", ["a/myclip.mp4"], None),
        ("a", "clip.mp4", ["clip.mp4"], None),
    ],
)
def test_a_file_lies_below_its_path_or_is_that_path(
    annotate: Annotate,
    tmp_path: Path,
    originals: Mapping[str, Path],
    path: str,
    file: str,
    there: list[str],
    taken: Any,
) -> None:
    folder = tmp_path / "mine"
    for place in there:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(originals["MMPTRACK"] / "takes/shop_3/videos/cam1.mp4", folder / place)
    lines = [mapped("shop_3", 0, source_rel_path=path, source_file=file)]
    release = read_release(annotate({"shop_3": [entry(0)]}, lines), {"MMPTRACK": folder})
    assert release.files == ({"videos/shop_3_view0.mp4": folder / taken} if taken else {})
    if not taken:
        assert release.missing[0].reason == f"no such file: {path}/{file}"


def test_both_places_are_named_where_neither_is_there(annotate: Annotate, tmp_path: Path) -> None:
    lines = [mapped("shop_3", 0, source_rel_path="a/clip.mp4", source_file="clip.mp4")]
    (tmp_path / "mine" / BELOW).mkdir(parents=True)
    (missing,) = read_release(annotate({"shop_3": [entry(0)]}, lines), {"MMPTRACK": tmp_path / "mine"}).missing
    assert missing.reason == f"no such file: {BELOW} or {ITSELF}"


def test_the_users_own_links_are_followed(
    annotate: Annotate, data: Path, own: Mapping[str, Path], tmp_path: Path
) -> None:
    video = own["MMPTRACK"] / "takes/shop_3/videos/cam1.mp4"
    video.rename(tmp_path / "elsewhere")
    video.symlink_to(tmp_path / "elsewhere")
    prepare("mvvbench", annotate(), videos_from=given_as(own))
    taken = data / "videos/shop_3_view1.mp4"
    assert not taken.is_symlink()
    assert taken.samefile(tmp_path / "elsewhere")


def test_no_video_is_decoded_or_copied_and_each_file_is_looked_at_once(
    annotate: Annotate, data: Path, own: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("not needed")

    scanned: list[Path] = []
    scan = _pyav.scan
    monkeypatch.setattr(_pyav, "decode", refused)
    monkeypatch.setattr(shutil, "copyfile", refused)
    monkeypatch.setattr(_pyav, "scan", lambda path: (scanned.append(path), scan(path))[1])
    shared = [mapped("shop_3", view, source_file="cam1.mp4") for view in (0, 1)]
    prepare("mvvbench", annotate({"shop_3": [entry()]}, shared), videos_from=given_as(own))
    assert scanned == [own["MMPTRACK"] / "takes/shop_3/videos/cam1.mp4"]
    assert written(data)[0]["view_frames"] == [4, 4]


@pytest.mark.parametrize("content", [b"", b"<html>404</html>", None])
def test_a_file_that_is_no_video_is_a_fault_that_names_it(
    annotate: Annotate, own: Mapping[str, Path], content: bytes | None
) -> None:
    broken = own["CMU Panoptic"] / "takes/dance_2/videos/cam1.mp4"
    broken.write_bytes(broken.read_bytes()[:-900] if content is None else content)
    with pytest.raises(DataError) as caught:
        read_release(annotate(), own)
    (problem,) = caught.value.problems
    assert (problem.file, problem.row, problem.field) == (str(broken), "dance_2, view 1", "video")
    assert "Fetch the file again" in problem.remedy


@pytest.mark.parametrize(
    ("views", "start", "end", "fits"),
    [
        ((0, 2), 1, 5, True),
        ((0, 2), 4.9, 5.9, True),
        ((0, 2), 1, 6.1, False),
        ((0, 2), 5, 5.5, True),
        ((0, 2), 5.2, 5.9, False),
        ((0,), 1, 10, True),
        ((0, 1), 1, 10, True),
        ((0, 1), 1, 11.5, False),
    ],
)
def test_a_window_must_lie_within_the_views_that_are_there(
    annotate: Annotate, own: Mapping[str, Path], views: Any, start: float, end: float, fits: bool
) -> None:
    folder = annotate({"cook_1": [entry(*views, timestamp_start=start, timestamp_end=end)]})
    assert read_release(folder).rows
    if fits:
        assert read_release(folder, own).rows
    else:
        (fault,) = faults(folder, own)
        assert fault[:3] == ("all_questions.json", "cook_1-1 (sample cook_1)", "timestamp_end")


def test_an_interrupted_preparation_leaves_the_old_data_and_nothing_else(
    annotate: Annotate, data: Path, own: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare("mvvbench", annotate(), videos_from=given_as(own))
    before = contents(data)

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", full)
        patch.setattr(shutil, "copyfile", full)
        with pytest.raises(SettingError, match="No space left on device"):
            prepare("mvvbench", annotate({"shop_3": [entry(1)]}), videos_from=given_as(own))
    assert contents(data) == before
    assert len(written(data)) == 5
    assert [path.name for path in data.parent.iterdir()] == ["mvvbench"]
    prepare("mvvbench", annotate({"shop_3": [entry(1)]}), videos_from=given_as(own))
    assert contents(data) == {"README.md", "questions/test.parquet", "missing_views.csv", "videos/shop_3_view1.mp4"}
    assert all(path.is_file() for folder in own.values() for path in folder.rglob("*.mp4"))


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ego4D={}", "there is no data set 'Ego4D'. Known: Ego-Exo4D, CMU Panoptic, MMPTRACK"),
        ("={}", "there is no data set ''. Known: Ego-Exo4D"),
        ("{}", "name a data set and its folder"),
        ("mmptrack=", "name a data set and its folder"),
        ("mmptrack={}/none", "there is no folder"),
        ("mmptrack={}/file", "there is no folder"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError) as caught:
        video_folders([text.format(tmp_path)])
    assert message in str(caught.value)


def test_two_folders_for_one_data_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="names CMU Panoptic twice"):
        video_folders([f"panoptic={tmp_path}", f"CMU Panoptic={tmp_path / 'other'}"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m4bench", "--videos-from", "mmptrack=."], "m4bench takes no videos of other data sets"),
        (["m3verse", "--all-views"], "m3verse takes no videos of other data sets"),
        (["mvvbench", "--all-views"], "say where they are by --videos-from DATASET=DIR"),
        (["mvvbench", "--videos-from", "panoptic"], "name a data set and its folder"),
        (["mvvbench", "--videos-from", "kinetics=."], "Known: Ego-Exo4D, CMU Panoptic, MMPTRACK"),
    ],
)
def test_options_that_do_not_fit_are_a_message_with_code_2(
    annotate: Annotate, data: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "prepare", *arguments, "--from", str(annotate())]) == 2
    assert message in capsys.readouterr().err
    assert not data.exists()


def test_without_a_folder_it_is_said_where_the_annotations_are_and_whose_the_videos_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["data", "prepare", "mvvbench"]) == 2
    said = capsys.readouterr().err
    assert "hf download everex/MVVBench --repo-type dataset --local-dir DIR" in said
    assert "Ego-Exo4D, CMU Panoptic and MMPTRACK" in said
    assert "data prepare mvvbench --from DIR" in said


def test_the_command_takes_several_folders(
    annotate: Annotate, data: Path, own: Mapping[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for text in given_as(own) for word in ("--videos-from", text)]
    assert main(["data", "prepare", "mvvbench", "--from", str(annotate()), "--all-views", *options]) == 0
    assert f"mvvbench is ready in {data}" in capsys.readouterr().out
    assert len(contents(data / "videos")) == 6


WITHOUT = object()


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"category": "Imp. Att."}, "category", "'Imp. Att.' is unknown"),
        ({"category": "attribute"}, "category", "'attribute' is unknown"),
        ({"category": None}, "category", "None does not fit"),
        ({"static_or_dynamic": "moving"}, "static_or_dynamic", "'moving' is unknown"),
        ({"views": []}, "views", "[] is empty"),
        ({"views": [1, 1]}, "views", "names a view twice"),
        ({"views": ["0", "1"]}, "views", "['0', '1'] does not fit"),
        ({"views": [0, -1]}, "views", "does not fit"),
        ({"views": [0, True]}, "views", "does not fit"),
        ({"views": 1}, "views", "does not fit"),
        ({"question": " "}, "question", "is empty"),
        ({"question": ["x"]}, "question", "does not fit"),
        ({"choices": {"A": "two", "C": "four"}, "correct_answer": "A"}, "choices", "does not fit"),
        ({"choices": {"a": "two", "b": "three"}, "correct_answer": "b"}, "choices", "does not fit"),
        ({"choices": {"B": "three", "C": "four"}}, "choices", "does not fit"),
        ({"choices": ["two", "three"]}, "choices", "does not fit"),
        ({"choices": {"A": "two", "B": None}}, "choices", "does not fit"),
        ({"choices": {"A": "two"}, "correct_answer": "A", "gt_answer_text": None}, "choices", "1 options"),
        ({"choices": {}, "gt_answer_text": None}, "choices", "0 options"),
        ({"choices": dict(zip("ABCDE", ["two", "three", "4", "5", "6"], strict=True))}, "choices", "5 options"),
        ({"choices": {"A": " ", "B": "three"}}, "choices", "an option is empty"),
        ({"correct_answer": "D", "gt_answer_text": None}, "correct_answer", "'D' is none of the options"),
        ({"correct_answer": "three"}, "correct_answer", "'three' is none of the options"),
        ({"gt_answer_text": "two"}, "gt_answer_text", "'two' is not the text of B, 'three'"),
        ({"timestamp_start": 3}, "timestamp_end", "is missing beside the other one"),
        ({"timestamp_end": 3}, "timestamp_start", "is missing beside the other one"),
        ({"timestamp_start": 1, "timestamp_end": "soon"}, "timestamp_end", "'soon' is no time"),
        ({"timestamp_start": -1, "timestamp_end": 3}, "timestamp_start", "-1 is no time"),
        ({"timestamp_start": "0:05", "timestamp_end": 3}, "timestamp_start", "from 5.0 to 3.0 s is reversed"),
    ],
)
def test_a_fault_of_a_question_is_named_with_file_question_and_field(
    annotate: Annotate, changes: Entry, field: str, message: str
) -> None:
    folder = annotate({"shop_3": [entry(question="Another?"), entry(**changes)]})
    (fault,) = faults(folder)
    assert fault[:3] == ("all_questions.json", "shop_3-2 (sample shop_3)", field)
    assert message in fault[3]


@pytest.mark.parametrize("category", ["Imp. Att.", "pose"])
def test_the_known_categories_are_listed(annotate: Annotate, category: str) -> None:
    with pytest.raises(DataError, match=f"Use one of: {', '.join(CATEGORIES)}"):
        read_release(annotate({"shop_3": [entry(category=category)]}))


@pytest.mark.parametrize("field", ["views", "question", "choices", "correct_answer", "category", "static_or_dynamic"])
def test_a_missing_field_is_named(annotate: Annotate, field: str) -> None:
    asked = {name: value for name, value in entry().items() if name != field}
    assert faults(annotate({"shop_3": [asked]})) == [
        ("all_questions.json", "shop_3-1 (sample shop_3)", field, "is missing")
    ]


def test_a_question_that_stands_twice_is_named_with_both_places(annotate: Annotate) -> None:
    again = entry(category="explicit attribute")
    (fault,) = faults(annotate({"shop_3": [entry(question="Who?"), entry(), again]}))
    assert fault == ("all_questions.json", "shop_3-3 (sample shop_3)", "question", "it is that of shop_3-2 again")


@pytest.mark.parametrize(
    "changes", [{"views": [0, 2]}, {"question": "Who?"}, {"choices": {"A": "two", "B": "three", "C": "five"}}]
)
def test_questions_that_differ_in_views_text_or_options_are_not_the_same(annotate: Annotate, changes: Entry) -> None:
    assert len(read_release(annotate({"shop_3": [entry(), entry(**changes)], "cook_1": [entry()]})).rows) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON as it should be"),
        ("", "is not JSON as it should be"),
        ("[]", "holds no object of samples"),
        ("{}", "holds no questions"),
        ('{"shop_3": []}', "holds no questions"),
        ('{"shop_3": [], "shop_3": []}', "'shop_3' stands twice in one object"),
        ('{"shop_3": [{"choices": {"A": "x", "A": "y"}}]}', "'A' stands twice in one object"),
        ("[" * 100_000, "is not JSON as it should be"),
    ],
)
def test_questions_that_cannot_be_read_are_an_error(annotate: Annotate, text: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        read_release(annotate(text))


@pytest.mark.parametrize(
    ("sample", "entries", "message"),
    [
        ("shop_4", [entry()], "no line of video_mapping.csv names it"),
        ("shop_3", entry(), "its value is not a list of questions"),
        ("../shop_3", [entry()], "is no plain name"),
        ("..", [entry()], "leads upwards"),
        ("", [entry()], "is empty"),
        ("a\\b", [entry()], "holds a backslash"),
    ],
)
def test_a_sample_that_cannot_be_used_is_a_fault(annotate: Annotate, sample: str, entries: Any, message: str) -> None:
    (fault,) = faults(annotate({"cook_1": [entry()], sample: entries}))
    assert fault[:3] == ("all_questions.json", f"sample {sample}", "sample")
    assert message in fault[3]


@pytest.mark.parametrize("value", [7, None, "text", [[]]])
def test_what_is_no_question_is_a_fault(annotate: Annotate, value: Any) -> None:
    assert [fault[1:3] for fault in faults(annotate({"shop_3": [entry(), value]}))] == [
        ("shop_3-2 (sample shop_3)", "all")
    ]


LEADING = ["../a", "a/../b", "..", "/a", "C:/a", "c:a", "a\\b", "a//b", "a/", "", " ", ".", "a\0b", "a\nb"]


@pytest.mark.parametrize("path", [path for path in LEADING if not set(path) & set("\0\n")])
@pytest.mark.parametrize("field", ["source_rel_path", "source_file"])
def test_a_path_that_could_lead_elsewhere_is_a_fault_with_its_line(annotate: Annotate, field: str, path: str) -> None:
    lines = [mapped("shop_3", 0), mapped("shop_3", 1, **{field: path}), mapped("shop_3", 2)]
    (fault,) = faults(annotate({"shop_3": [entry(0, 2)]}, lines))
    assert fault[:3] == ("line 3", "shop_3, view 1", field)
    assert fault[3].startswith(repr(path))


@given(st.text("ab.C:/\\ \0", max_size=12) | st.text(max_size=12))
def test_a_path_without_fault_stays_below_its_folder_on_every_system(path: str) -> None:
    if path_fault(path) is None:
        inside = os.path.normpath(f"/folder/{path}")
        assert inside.startswith("/folder/")
        assert inside == re.sub(r"/\.(?=/|$)", "", f"/folder/{path}")
        windows = PureWindowsPath(path)
        assert not windows.drive
        assert not windows.root
        assert ".." not in windows.parts


@pytest.mark.parametrize("path", LEADING)
def test_paths_that_lead_elsewhere_have_a_fault(path: str) -> None:
    assert path_fault(path)


@pytest.mark.parametrize("path", ["a", "a/b.mp4", ".hidden/x", "a b/ü.mp4", "..a", "a..b/c", "./a", "1:a"])
def test_plain_paths_have_none(path: str) -> None:
    assert path_fault(path) is None


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"dataset": "Ego4D"}, "dataset", "'Ego4D' is unknown"),
        ({"dataset": ""}, "dataset", "'' is unknown"),
        ({"dataset": "panoptic"}, "dataset", "the sample is of MMPTRACK in line 2, here of CMU Panoptic"),
        ({"target": "shop_3_view2.mp4"}, "target", "'shop_3_view2.mp4' is not the file of sample 'shop_3', view 1"),
        ({"target": "videos/shop_3_view1.mp4"}, "target", "is not the file of sample"),
        ({"target": "../shop_3_view1.mp4"}, "target", "is not the file of sample"),
        ({"target": ""}, "target", "'' is not the file of sample"),
        ({"view": "0", "target": "shop_3_view0.mp4"}, "view", "the view stands in line 2 already"),
        ({"view": "00", "target": "shop_3_view0.mp4"}, "view", "the view stands in line 2 already"),
        ({"view": "one"}, "view", "'one' is not a whole number"),
        ({"view": "-1"}, "view", "'-1' is not a whole number"),
        ({"view": "1.0"}, "view", "'1.0' is not a whole number"),
        ({"view": "²"}, "view", "'²' is not a whole number"),
        ({"sample_name": "", "target": "_view1.mp4"}, "sample_name", "'' is empty"),
        ({"sample_name": "..", "target": ".._view1.mp4"}, "sample_name", "'..' leads upwards"),
        ({"sample_name": "a/b", "target": "a/b_view1.mp4"}, "sample_name", "'a/b' is no plain name"),
    ],
)
def test_a_fault_of_the_mapping_is_named_with_its_line(
    annotate: Annotate, changes: Line, field: str, message: str
) -> None:
    lines = [mapped("shop_3", 0), mapped("shop_3", 1, **changes)]
    (fault,) = faults(annotate({"shop_3": [entry(0)]}, lines))
    assert (fault[0], fault[2]) == ("line 3", field)
    assert message in fault[3]


def test_the_known_data_sets_are_listed(annotate: Annotate) -> None:
    with pytest.raises(DataError, match="Use one of: Ego-Exo4D, CMU Panoptic, MMPTRACK"):
        read_release(annotate(lines=[mapped("shop_3", 0, dataset="kinetics")]))


def test_columns_may_come_in_any_order_and_those_that_are_not_needed_may_be_missing(annotate: Annotate) -> None:
    lines = [
        {name: value for name, value in reversed(line.items()) if name not in ("target", "split")} for line in LINES
    ]
    assert read_release(annotate(lines=lines)).rows == read_release(annotate()).rows


@pytest.mark.parametrize("column", ["sample_name", "view", "dataset", "source_rel_path", "source_file"])
def test_a_column_that_is_missing_is_named(annotate: Annotate, column: str) -> None:
    lines = [{name: value for name, value in line.items() if name != column} for line in LINES]
    with pytest.raises(DataError, match=rf"video_mapping\.csv, line 1: the head of the table lacks {column}\."):
        read_release(annotate(lines=lines))


@pytest.mark.parametrize("line", ['"a,b', "a,b", "a,b,c,d,e,f,g,h", '"a"b,c,d,e,f,g,h', "{"])
def test_a_line_that_is_no_row_of_the_table_is_a_fault(annotate: Annotate, line: str) -> None:
    text = table_of([mapped("shop_3", 0)]) + f"\n{line}\n" + table_of([mapped("shop_3", 1)]).splitlines()[1]
    assert [(fault[0], fault[2]) for fault in faults(annotate({"shop_3": [entry(0)]}, text))] == [("line 4", "all")]


@pytest.mark.parametrize("text", ["", "\n", table_of([])])
def test_a_mapping_without_views_is_an_error(annotate: Annotate, text: str) -> None:
    with pytest.raises(DataError, match=r"video_mapping\.csv"):
        read_release(annotate(lines=text))


def test_values_may_be_quoted_and_lines_end_as_on_windows(annotate: Annotate, own: Mapping[str, Path]) -> None:
    text = table_of([mapped("shop_3", 1, split='"a, b"', source_rel_path='"takes/shop_3/videos"')])
    release = read_release(annotate({"shop_3": [entry(1)]}, "\ufeff" + text.replace("\n", "\r\n")), own)
    assert list(release.files) == ["videos/shop_3_view1.mp4"]


def test_faults_of_both_files_come_in_one_message_and_nothing_is_written(
    annotate: Annotate, data: Path, own: Mapping[str, Path]
) -> None:
    samples = {"shop_3": [entry(correct_answer="E"), entry(1, category="?")], "cook_1": [entry(gt_answer_text="x")]}
    lines = [*LINES, mapped("shop_3", 7, dataset="?"), mapped("shop_3", 1)]
    with pytest.raises(DataError) as caught:
        prepare("mvvbench", annotate(samples, lines), videos_from=given_as(own))
    assert [(problem.file.rpartition("/")[2], problem.field) for problem in caught.value.problems] == [
        ("video_mapping.csv, line 11", "dataset"),
        ("video_mapping.csv, line 12", "view"),
        ("all_questions.json", "correct_answer"),
        ("all_questions.json", "category"),
        ("all_questions.json", "gt_answer_text"),
    ]
    assert not data.parent.exists() or list(data.parent.iterdir()) == []


def test_lines_with_a_fault_cause_no_further_faults(annotate: Annotate) -> None:
    lines = [mapped("shop_3", view, dataset="?") for view in range(3)]
    assert {fault[0] for fault in faults(annotate({"shop_3": [entry()]}, lines))} == {"line 2", "line 3", "line 4"}


# --- counts -------------------------------------------------------------------------------------------------------


def full_release() -> tuple[Samples, list[Line]]:
    """As many questions of each kind, samples and lines of the mapping as the release has."""
    kinds = [name for name, number in CATEGORIES.items() for _ in range(number)]
    samples: Samples = {}
    for number, kind in enumerate(kinds):
        options = dict(zip("ABCD", (f"{number} {word}" for word in "abcd"), strict=True))
        asked = entry(
            *((0, 1) if number < 1254 else (0, 1, 2)),
            question=f"Question {number}?",
            choices=dict(list(options.items())[: 2 + number % 3]),
            correct_answer="AB"[number % 2],
            gt_answer_text=None,
            category=kind,
            static_or_dynamic="static" if number < 232 else "dynamic",
        )
        samples.setdefault(f"sample_{number % 608}", []).append(asked)
    spelled = ("egoexo4d", "panoptic", "mmptrack")
    lines = [
        mapped(f"sample_{number % 608}", number // 608, dataset=spelled[number % 608 % 3]) for number in range(3082)
    ]
    return samples, lines


def test_a_release_of_the_papers_size_has_the_papers_numbers(annotate: Annotate) -> None:
    samples, lines = full_release()
    rows = read_release(annotate(samples, lines)).rows
    table = counts(rows)
    assert (len(rows), len({row["sample"] for row in rows}), len(lines)) == (1323, 608, 3082)
    assert {name: (found, paper) for name, found, paper in table.rows} == {
        "implicit attribute": ("559", "559"),
        "explicit attribute": ("121", "121"),
        "implicit relative distance": ("84", "84"),
        "explicit relative distance": ("81", "81"),
        "relative camera pose": ("120", "120"),
        "counting": ("358", "358"),
        "static": ("232", "232"),
        "dynamic": ("1,091", "1,091"),
        "two views": ("1,254", "1,254"),
        "another number of views": ("69", "69"),
        "samples": ("608", "608"),
        "questions": ("1,323", "1,323"),
    }
    assert table.notes == ("All numbers are the paper's.",)
    sources, letters = table.further
    assert [row[:3] for row in sources.rows] == [
        (name, f"{len({row['sample'] for row in part})}", f"{len(part):,}")
        for name, part in (*((s, [row for row in rows if row["source"] == s]) for s in SOURCES), ("all", rows))
    ]
    assert letters.rows == (
        ("2", "441", "221", "220", "0", "0"),
        ("3", "441", "220", "221", "0", "0"),
        ("4", "441", "221", "220", "0", "0"),
        ("all", "1,323", "662", "661", "0", "0"),
    )


def test_numbers_that_differ_from_the_papers_are_counted(annotate: Annotate) -> None:
    samples, lines = full_release()
    samples["sample_0"][0]["category"] = "counting"
    table = counts(read_release(annotate(samples, lines)).rows)
    assert ("counting", "359", "358") in table.rows
    assert table.notes == ("2 of these numbers differ from the paper's.",)


def test_nothing_can_be_counted() -> None:
    assert {row[1] for row in counts([]).rows} == {"0"}


@pytest.mark.parametrize("letter", ["b", " B", "B.", "(B)"])
def test_harmless_forms_of_the_right_letter_are_read(annotate: Annotate, letter: str) -> None:
    (row,) = read_release(annotate({"shop_3": [entry(correct_answer=letter)]})).rows
    assert row["answer"] == "B"


@pytest.mark.parametrize("told", ["three", "Three.", "B. three", "B", "", None])
def test_the_text_of_the_right_option_may_come_in_harmless_forms(annotate: Annotate, told: str | None) -> None:
    assert len(read_release(annotate({"shop_3": [entry(gt_answer_text=told)]})).rows) == 1


def test_letters_of_options_are_cut_off_where_every_option_carries_its_own(annotate: Annotate) -> None:
    labelled = entry(choices={"A": "A. two", "B": "B. three"}, gt_answer_text="three")
    (row,) = read_release(annotate({"shop_3": [labelled]})).rows
    assert row["options"] == ["two", "three"]


def test_times_may_be_numbers_written_as_text_or_left_empty(annotate: Annotate) -> None:
    (row,) = read_release(annotate({"shop_3": [entry(timestamp_start="1.5", timestamp_end="3")]})).rows
    assert (row["start"], row["end"]) == (1.5, 3.0)
    (row,) = read_release(annotate({"shop_3": [entry(timestamp_start="", timestamp_end="")]})).rows
    assert (row["start"], row["end"]) == (-1.0, -1.0)
