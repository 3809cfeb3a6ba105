"""Real video files of a task: checked before the first question, once, and handed over in the form that is in force."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scenes import scene_row
from videos import numbers_in, write_video

from spotdiff.benchmarks.m3verse.schema import features
from spotdiff.data.write import write_data_set
from spotdiff.errors import DataError
from spotdiff.evaluation import Evaluation
from spotdiff.media import clips
from spotdiff.media import video as decoding
from spotdiff.question import Image, Part, Text, Video
from spotdiff.tasks import task

pytestmark = pytest.mark.slow

Row = dict[str, Any]

SCENES = ("scene_1", "scene_2", "scene_3")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], Path]:
    """Two questions on each scene, as the data in force; gives the place of a video, which is 6 frames long."""
    monkeypatch.setenv("SPOTDIFF_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SPOTDIFF_MEDIA_CACHE", str(tmp_path / "media"))
    monkeypatch.setenv("SPOTDIFF_FRAMES", "4")
    rows = [scene_row(scene, number) for number in (1, 2) for scene in SCENES]
    whole = write_video(tmp_path / "whole.mp4", 6)
    files = {row[column]: whole for row in rows for column in ("video_before", "video_after")}
    write_data_set(tmp_path / "data" / "m3verse", {"sim": rows}, features(), files)

    def path(scene: str, state: int) -> Path:
        return tmp_path / "data" / "m3verse" / "videos" / "sim" / scene / f"state_{state}.mp4"

    for scene in SCENES:
        for state in (0, 1):
            path(scene, state).unlink()
            write_video(path(scene, state), 6)
    return path


Place = Callable[[str, int], Path]


def put(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


def evaluation(name: str = "m3verse_sim", model: str | None = None) -> Evaluation:
    return Evaluation.of(task(name), model)


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The files that were decoded by the check, in any order."""
    seen: list[Path] = []
    verify = decoding.verify

    def noted(path: Path, timeout: float) -> Any:
        seen.append(path)
        return verify(path, timeout)

    monkeypatch.setattr(decoding, "verify", noted)
    yield seen
    seen.clear()


# --- faults -------------------------------------------------------------------------------------------------------


def test_every_broken_video_is_named_with_scene_and_question_in_one_message(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPOTDIFF_VIDEO_TIMEOUT", "6")
    missing, cut, empty, hanging, folder = (
        place(scene, state)
        for scene, state in (("scene_1", 0), ("scene_1", 1), ("scene_2", 0), ("scene_2", 1), ("scene_3", 0))
    )
    missing.unlink()
    content = cut.read_bytes()
    put(cut, content[: len(content) * 2 // 3])
    empty.unlink()
    write_video(empty, 0, container={"movflags": "empty_moov"})
    hanging.unlink()
    os.mkfifo(hanging)
    folder.unlink()
    folder.mkdir()
    evaluation().rows()
    started = time.monotonic()
    with pytest.raises(DataError) as caught:
        evaluation().check_media()
    assert time.monotonic() - started < 60
    assert str(caught.value).startswith("m3verse_sim: 5 faults in the data; no question was asked.")
    found = {problem.file: problem for problem in caught.value.problems}
    assert set(found) == {str(path) for path in (missing, cut, empty, hanging, folder)}
    for path, words in (
        (missing, "there is no such file"),
        (cut, "the video is cut short"),
        (empty, "the video has no frame"),
        (hanging, "was not decoded within 6 seconds"),
        (folder, "there is no such file"),
    ):
        problem = found[str(path)]
        scene = path.parent.name
        assert words in problem.message
        assert problem.row in {f"sim/{scene}-{number} (scene sim/{scene})" for number in (1, 2)}
        assert problem.remedy
        assert str(problem) in str(caught.value)
        assert str(problem).count("Fetch the file again") <= 1
    assert "raise SPOTDIFF_VIDEO_TIMEOUT" in found[str(hanging)].remedy


def test_a_video_that_is_no_video_is_a_fault(place: Place) -> None:
    put(place("scene_2", 1), b"<html>404</html>")
    with pytest.raises(DataError, match=r"scene_2/state_1\.mp4, row sim/scene_2-\d .*no video that can be opened"):
        evaluation().check_media()


# --- what is looked at --------------------------------------------------------------------------------------------


def test_whole_videos_pass_and_are_counted(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    evaluation().check_media()
    size = sum(place(scene, state).stat().st_size for scene in SCENES for state in (0, 1))
    said = capsys.readouterr().err
    assert f"m3verse_sim: 6 videos, {size / 1e6:.1f} MB as stored, given as images" in said
    assert "fewer frames" not in said


def test_videos_shorter_than_asked_are_no_fault_and_their_number_is_said(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for state in (0, 1):
        place("scene_3", state).unlink()
        write_video(place("scene_3", state), 2 + state)
    place("scene_2", 0).unlink()
    write_video(place("scene_2", 0), 4)
    evaluation().check_media()
    assert "2 of them have fewer frames than asked; each of their frames is given once" in capsys.readouterr().err
    (row,) = (row for row in evaluation().rows() if row["id"] == "scene_3-1")
    videos = [part for part in evaluation().question(row).parts if isinstance(part, Video)]
    assert [numbers_in(video.frames()) for video in videos] == [[0, 1], [0, 1, 2]]


def test_a_rate_asks_for_no_number_of_frames(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SPOTDIFF_FRAMES")
    monkeypatch.setenv("SPOTDIFF_FPS", "1000")
    evaluation().check_media()
    assert "fewer frames" not in capsys.readouterr().err


def test_a_blind_task_needs_no_video(place: Place, verified: list[Path]) -> None:
    for scene in SCENES:
        for state in (0, 1):
            place(scene, state).unlink()
    evaluation("m3verse_sim_blind").check_media()
    assert verified == []


@pytest.mark.parametrize(("variant", "state"), [("before_only", 0), ("after_only", 1)])
def test_a_task_that_shows_one_video_needs_that_one_alone(
    place: Place, verified: list[Path], variant: str, state: int
) -> None:
    for scene in SCENES:
        place(scene, 1 - state).unlink()
    evaluation(f"m3verse_sim_{variant}").check_media()
    assert sorted(verified) == sorted(place(scene, state) for scene in SCENES)
    with pytest.raises(DataError, match="3 faults"):
        evaluation().check_media()


# --- stamps -------------------------------------------------------------------------------------------------------


def test_a_whole_video_is_decoded_once_though_several_questions_and_tasks_show_it(
    place: Place, verified: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation().check_media()
    assert sorted(verified) == sorted(place(scene, state) for scene in SCENES for state in (0, 1))
    said = capsys.readouterr().err.splitlines()[-1]
    assert "6 videos" in said
    evaluation().check_media()
    assert capsys.readouterr().err.splitlines()[-1] == said
    evaluation("m3verse_sim_swapped").check_media()
    assert len(verified) == 6


def test_a_changed_video_is_decoded_again(place: Place, verified: list[Path]) -> None:
    evaluation().check_media()
    verified.clear()
    changed, touched = place("scene_1", 1), place("scene_2", 0)
    put(changed, changed.read_bytes()[:-1])
    os.utime(touched, ns=(0, touched.stat().st_mtime_ns + 1))
    with pytest.raises(DataError, match="cut short"):
        evaluation().check_media()
    assert sorted(verified) == [changed, touched]


def test_a_broken_video_is_decoded_each_time(place: Place, verified: list[Path]) -> None:
    put(place("scene_1", 0), b"broken")
    for times in (1, 2):
        with pytest.raises(DataError, match="1 fault in the data"):
            evaluation().check_media()
        assert verified.count(place("scene_1", 0)) == times


# --- forms --------------------------------------------------------------------------------------------------------


def kinds(parts: list[Part]) -> list[str]:
    return [type(part).__name__ for part in parts]


IMAGES = ["Text", *["Image"] * 4, "Text", *["Image"] * 4, "Text"]
VIDEOS = ["Text", "Video", "Text", "Video", "Text"]


@pytest.mark.parametrize(
    ("model", "form", "frameworks", "given", "shown"),
    [
        (None, None, None, "images", IMAGES),
        ("openai", None, None, "images", IMAGES),
        ("qwen3_vl", None, None, "frames", VIDEOS),
        ("qwen2_5_vl", None, None, "frames", VIDEOS),
        ("internvl_hf", None, None, "images", IMAGES),
        ("qwen3_vl", "images", None, "images", IMAGES),
        ("qwen3_vl", "path", None, "path", VIDEOS),
        ("openai", "frames", None, "frames", VIDEOS),
        ("qwen3_vl", None, ("images", "path"), "images", IMAGES),
        ("openai", "path", ("images", "path"), "path", VIDEOS),
        ("openai", "path", ("images",), "images", IMAGES),
    ],
)
def test_a_video_is_given_in_the_form_that_is_set_or_fits_the_model_and_the_framework(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    model: str | None,
    form: str | None,
    frameworks: Any,
    given: str,
    shown: list[str],
) -> None:
    if form:
        monkeypatch.setenv("SPOTDIFF_VIDEO_FORM", form)
    found = evaluation(model=model)
    question = found.question(found.rows()[0])
    forms = (frameworks,) if frameworks else ()
    assert found.video_form(*forms) == given
    assert kinds(list(found.shown(question, *forms))) == shown


@pytest.mark.parametrize("form", ["frames", "images", "path"])
def test_a_joined_stream_is_given_as_images_whatever_the_form(
    place: Place, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("SPOTDIFF_VIDEO_FORM", form)
    found = evaluation("m3verse_sim_single_stream", "qwen3_vl")
    assert kinds(list(found.shown(found.question(found.rows()[0])))) == IMAGES


def test_frames_given_as_images_are_those_of_the_rule_in_order_before_video_first(place: Place) -> None:
    place("scene_1", 0).unlink()
    write_video(place("scene_1", 0), 31)
    found = evaluation()
    parts = list(found.shown(found.question(found.rows()[0])))
    images = [part.open() for part in parts if isinstance(part, Image)]
    assert numbers_in(images) == [0, 10, 20, 30, 0, 2, 3, 5]
    assert {image.size for image in images} == {(448, 448)}
    texts = [part.text for part in parts if isinstance(part, Text)]
    assert ["first video" in text for text in texts] == [True, False, False]


def test_the_two_videos_of_a_question_are_decoded_once_for_all_its_images(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[Path] = []
    decode = clips._decoded

    def noted(path: Path, *others: Any) -> Any:
        decoded.append(path)
        return decode(path, *others)

    monkeypatch.setattr(clips, "_decoded", noted)
    monkeypatch.setenv("SPOTDIFF_FRAME_DISK", "0")
    found = evaluation()
    first, second = (row for row in found.rows() if row["scene"] == "scene_2")
    for row in (first, second):
        images = [part.open() for part in found.shown(found.question(row)) if isinstance(part, Image)]
        assert len(images) == 8
    assert sorted(path.name for path in decoded) == ["state_0.mp4", "state_1.mp4"]


def test_the_digest_of_the_data_changes_when_a_video_does_or_two_change_places(place: Place, tmp_path: Path) -> None:
    before = evaluation().data_digest()
    assert evaluation("m3verse_sim_blind").data_digest() == before
    first, second = place(SCENES[0], 0), place(SCENES[0], 1)
    put(second, write_video(tmp_path / "longer.mp4", 9).read_bytes())
    replaced = evaluation().data_digest()
    one, other = first.read_bytes(), second.read_bytes()
    put(first, other)
    put(second, one)
    assert len({before, replaced, evaluation().data_digest()}) == 3
