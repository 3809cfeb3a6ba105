"""`spotdiff data check`: what it counts, what it finds wrong, and its exit code."""

import io
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scenes import scene_row
from videos import write_video

from spotdiff.benchmarks.m3verse.schema import features as video_features
from spotdiff.cli import main
from spotdiff.data.check import first_tasks
from spotdiff.data.write import write_data_set
from spotdiff.tasks import Benchmark, Table, benchmarks

MakeRow = Callable[..., dict[str, Any]]
Write = Callable[..., Path]
Row = dict[str, Any]

pytestmark = pytest.mark.slow


def checked(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[list[str]], list[str]]:
    """Exit code, lines of all tables, and what is said below them."""
    capsys.readouterr()
    code = main(["data", "check", name])
    lines = capsys.readouterr().out.splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return code, cells, [line for line in lines if line and not line.startswith(("|", "**"))]


# --- whole data ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m4bench_mini", "m3verse_mini"])
def test_shipped_data_are_clean(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = checked(name, capsys)
    assert code == 0
    assert said[-1].startswith(f"{name} in ")
    assert said[-1].endswith(": nothing is wrong")
    assert len(said) == 1


def test_questions_are_counted_beside_the_papers_and_so_are_right_letters(
    plain_row: MakeRow, data_folder: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [plain_row(str(number), answer="A" if number < 100 else "B") for number in range(219)]
    data_folder(state_invariance=rows, state_comparison=rows[:5])
    code, cells, said = checked("m4bench", capsys)
    assert code == 1
    assert cells[0] == ["config", "questions", "paper", "right: A", "right: B"]
    assert ["state_invariance", "219", "219", "100", "119"] in cells
    assert ["state_comparison", "5", "208", "5", "0"] in cells
    assert ["spatial_perception", "-", "230", "0", "0"] in cells
    assert "state_comparison: 5 questions, where the paper has 208" in said
    assert not any("state_invariance" in line for line in said)
    assert sum("holds no data for" in line for line in said) == 4


def test_every_right_letter_of_a_question_is_counted(videos: Write, capsys: pytest.CaptureFixture[str]) -> None:
    videos(
        [
            scene_row("s1", answer=["A", "C"], options=["x", "y", "z"]),
            scene_row("s2", answer=["C"], options=["x", "y", "z"]),
        ]
    )
    _, cells, _ = checked("m3verse", capsys)
    assert ["sim", "2", "2,932", "1", "0", "2"] in cells


# --- faults of rows -----------------------------------------------------------------------------------------------


def test_faults_of_rows_are_named_and_media_left_alone_until_they_are_mended(
    plain_row: MakeRow, data_folder: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [plain_row("twice"), plain_row("twice"), plain_row("x", answer="Z"), plain_row("blind", image_1=None)]
    folder = data_folder(state_invariance=rows)
    code, _, said = checked("m4bench", capsys)
    assert code == 1
    assert f"{folder / 'state_invariance'}, row twice, field id: appears 2 times. Ids must be unique" in said
    assert any("row x, field answer" in line for line in said)
    assert "state_invariance: images and videos were not looked at, as rows have faults" in said
    assert not any("blind" in line for line in said)
    assert "kinds of faults" in said[-1]


BROKEN = {"bytes": b"\x89PNG broken", "path": None}
OUTSIDE = [[[0, 0, 65, 10], [5, 5, 25, 45]], *[[[20, 10, 64, 48], [0, 40, 50, 80]]] * 2, []]


def named(number: int, answer: str) -> Row:
    """Changes of a row whose first image is called after its right answer."""
    data = io.BytesIO()
    Image.new("RGB", (64, 48), (number, 0, 0)).save(data, "PNG")
    return {
        "answer": answer,
        "image_1": {"bytes": data.getvalue(), "path": f"{number}_{'right' * (answer == 'B')}.png"},
    }


@pytest.mark.parametrize(
    ("config", "changes", "said"),
    [
        ("state_invariance", [{"image_2": BROKEN}], "row q0, field image_2: the image cannot be decoded"),
        ("state_invariance", [{}], "state_invariance: 1 questions, where the paper has 219"),
        ("state_invariance", [{"id": "x"}, {"id": "x"}], "row x, field id: appears 2 times"),
        ("state_invariance", [{"answer": "C"}], "row q0, field answer: the right answer 'C' is none of the 2 options"),
        (
            "state_invariance",
            [{"options": ["Same", "same "]}],
            "state_invariance/q0, field options: two options say the",
        ),
        ("state_invariance", [{"answer": "A"}] * 20, "state_invariance, field answer: right letters are not balanced"),
        (
            "state_invariance",
            [named(number, "AB"[number % 2]) for number in range(20)],
            "state_invariance, fields image_1, image_2: file names tell the right letter in 20 of 20 questions",
        ),
        (
            "spatial_perception",
            [{"option_boxes": OUTSIDE}],
            "row q0, field option_boxes[0]: box [0, 0, 65, 10] does not lie inside image 1, which is 64x48",
        ),
    ],
)
def test_what_is_wrong_with_rows_of_m4bench_is_said_with_row_and_field(
    make_row: MakeRow,
    plain_row: MakeRow,
    data_folder: Write,
    capsys: pytest.CaptureFixture[str],
    config: str,
    changes: Sequence[Row],
    said: str,
) -> None:
    make = plain_row if config.startswith("state") else make_row
    data_folder(**{config: [make(**{"name": f"q{number}", **change}) for number, change in enumerate(changes)]})
    lines = checked("m4bench", capsys)[2]
    assert any(said in line for line in lines), lines


def test_a_fault_that_many_rows_share_is_said_once_with_the_first_of_them(
    plain_row: MakeRow, data_folder: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    data_folder(state_invariance=[plain_row(f"q{number}", pair="") for number in range(1, 8)])
    _, _, said = checked("m4bench", capsys)
    (line,) = (line for line in said if "pair" in line)
    places = ", ".join(f"state_invariance/q{number} pair" for number in range(1, 6))
    assert line.startswith("7 times: ")
    assert f"({places} and 2 more)" in line


def test_a_config_that_cannot_be_read_is_named_and_the_others_are_checked(
    plain_row: MakeRow, data_folder: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = data_folder(state_invariance=[plain_row("a")], state_comparison=[plain_row("b", image_2=None)])
    (folder / "state_invariance" / "test.parquet").write_bytes(b"PAR1 broken")
    code, cells, said = checked("m4bench", capsys)
    assert code == 1
    assert ["state_invariance", "-", "219", "0", "0"][:3] in [line[:3] for line in cells]
    assert any(line.startswith(f"{folder / 'state_invariance'}: the data cannot be read") for line in said)
    assert any("row b, field image_2: the image is missing" in line for line in said)


# --- faults of media ----------------------------------------------------------------------------------------------


def test_broken_images_are_named_and_missing_ones_counted(
    plain_row: MakeRow, data_folder: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = plain_row()["image_1"]["bytes"]
    blind = [plain_row(f"b{number}", image_1=None, image_2=None) for number in range(3)]
    folder = data_folder(
        state_invariance=[*blind, plain_row("cut", image_1={"bytes": whole[: len(whole) // 2], "path": None})]
    )
    code, _, said = checked("m4bench", capsys)
    assert code == 1
    (missing,) = (line for line in said if "the image is missing" in line)
    places = [f"state_invariance/b{number} image_{side}" for number in range(3) for side in (1, 2)]
    assert missing.startswith(f"6 times: the image is missing ({', '.join(places[:5])} and 1 more). ")
    (broken,) = (line for line in said if "row cut" in line)
    assert broken.startswith(f"{folder / 'state_invariance'}, row cut, field image_1: the image cannot be decoded")


@pytest.fixture
def videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes these rows as Sim, each with two videos; returns the folder of the videos."""
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))

    def write(rows: Sequence[Row]) -> Path:
        folder = tmp_path / "data" / "m3verse"
        write_data_set(folder, {"sim": rows}, video_features())
        whole = write_video(tmp_path / "whole.mp4", 4)
        for place in (row[column] for row in rows for column in ("video_before", "video_after")):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(whole, folder / place)
        return folder / "videos" / "sim"

    return write


def test_missing_videos_are_counted_with_five_names_and_broken_ones_named(
    videos: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = videos([scene_row(f"s{number}") for number in range(5)])
    for number in range(3):
        shutil.rmtree(folder / f"s{number}")
    cut = folder / "s4" / "state_0.mp4"
    cut.write_bytes(cut.read_bytes()[:-500])
    code, _, said = checked("m3verse", capsys)
    assert code == 1
    names = [
        f"videos/sim/s{number}/state_{state}.mp4 of sim/s{number}-1 (scene sim/s{number})"
        for number in range(3)
        for state in (0, 1)
    ]
    assert (
        f"6 times: there is no such file ({', '.join(names[:5])} and 1 more). Prepare the data with its videos" in said
    )
    (broken,) = (line for line in said if str(cut) in line)
    assert "the video is cut short" in broken


def test_a_video_is_decoded_once_and_again_when_it_changes(
    videos: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from spotdiff.media import video

    decoded: list[Path] = []
    verify = video.verify
    monkeypatch.setattr(video, "verify", lambda path, timeout: (decoded.append(path), verify(path, timeout))[1])
    folder = videos([scene_row("s1"), scene_row("s2")])
    checked("m3verse", capsys)
    assert len(decoded) == 4
    os.utime(folder / "s2" / "state_1.mp4", ns=(0, 1))
    checked("m3verse", capsys)
    assert decoded[4:] == [folder / "s2" / "state_1.mp4"]


@pytest.fixture
def shows_one(monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """M3-Verse, as if its plain task showed the first video alone."""
    whole = benchmarks()["m3verse"]
    before = next(task for task in whole.tasks if task.name == "m3verse_sim_before_only").settings[0]
    changed = replace(whole, question=lambda row, setting, *rest: whole.question(row, before, *rest))
    monkeypatch.setitem(benchmarks(), "m3verse", changed)  # type: ignore[arg-type]
    return changed


def test_a_video_that_plain_tasks_do_not_show_may_be_missing_but_not_broken(
    videos: Write, shows_one: Benchmark, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = videos([scene_row("s1"), scene_row("s2"), scene_row("s3")])
    (folder / "s1" / "state_1.mp4").unlink()
    (folder / "s2" / "state_1.mp4").write_bytes(b"broken")
    (folder / "s3" / "state_0.mp4").write_bytes(b"broken too")
    _, _, said = checked("m3verse", capsys)
    assert not any("no such file" in line for line in said)
    broken = [line for line in said if "no video that can be opened" in line]
    assert len(broken) == 2
    for line, place in zip(broken, ("s3/state_0.mp4", "s2/state_1.mp4"), strict=True):
        assert line.startswith(f"{folder / place}, row ")


# --- which tasks, counts, codes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m4bench", "m3verse", "m3verse_mini", "egoexo_next"])
def test_every_config_is_looked_at_by_the_first_task_that_asks_it_and_by_that_alone(name: str) -> None:
    benchmark = benchmarks()[name.removesuffix("_mini")]
    configs = {s.config for task in benchmark.tasks if task.data == name for s in task.settings}
    found = list(first_tasks(benchmark, name, configs))
    assert sorted(s.config for task in found for s in task.settings) == sorted(configs)
    for task in found:
        earlier = benchmark.tasks[: benchmark.tasks.index(task)]
        asked = {s.config for other in earlier if other.data == name for s in other.settings}
        assert not {s.config for s in task.settings} & asked


def test_a_benchmarks_own_counts_are_printed_for_its_whole_data_alone(
    plain_row: MakeRow, data_folder: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def counts(configs: Any) -> Sequence[Table]:
        assert "image_1" not in configs["state_invariance"][0]
        return [Table("own", ("config", "ids"), tuple((n, ", ".join(r["id"] for r in c)) for n, c in configs.items()))]

    whole = benchmarks()["m4bench"]
    tasks = tuple(task for task in whole.tasks if task.settings[0].config == "state_invariance")
    monkeypatch.setitem(benchmarks(), "m4bench", replace(whole, counts=counts, tasks=tasks))  # type: ignore[arg-type]
    data_folder(state_invariance=[plain_row("a"), plain_row("b")])
    assert ["state_invariance", "a, b"] in checked("m4bench", capsys)[1]
    assert not any(line[0] == "own" for line in checked("m4bench_mini", capsys)[1])
    data_folder(state_invariance=[plain_row("a"), plain_row("b", answer="Z")])
    assert ["state_invariance", "a, b"] not in checked("m4bench", capsys)[1]


@pytest.mark.parametrize("name", ["m5bench", "m4bench"])
def test_a_data_set_that_is_unknown_or_not_prepared_is_a_message_with_code_2(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path))
    assert main(["data", "check", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("spotdiff: The" if name == "m4bench" else "spotdiff: There is no data set 'm5bench'")


def test_missing_videos_are_faults_also_where_a_run_may_leave_them_out(
    videos: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = videos([scene_row("s1"), scene_row("s2")])
    sorted(folder.rglob("*.mp4"))[0].unlink()
    monkeypatch.setenv("SPOTDIFF_ALLOW_MISSING", "1")
    code, _, said = checked("m3verse", capsys)
    assert code == 1
    assert any("there is no such file" in line for line in said)
