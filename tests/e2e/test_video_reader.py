"""The video-reading server is right where both videos arrive whole, in order and named, and only there."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import av
import pyarrow.parquet as pq
import pytest
from chat import ask, body, encoded
from PIL import Image
from pixel_server import PixelServer
from video_reader import Part, VideoReader

from spotdiff.answers import read_reply
from spotdiff.benchmarks.m3verse.mini import FOLDER
from spotdiff.media.images import pixel_digest
from spotdiff.scoring import chance, subset_score

pytestmark = pytest.mark.slow

Row = dict[str, Any]
Frames = Sequence[Image.Image]

ROWS: list[Row] = pq.read_table(FOLDER / "mini" / "test.parquet").to_pylist()
INTRA, INTER = ([row for row in ROWS if row["state"] == state] for state in ("intra", "inter"))

TASK = "Your task is to answer questions based on the provided videos and options.\n"
FIRST, SECOND = "This is the first video: ", "\nThis is the second video: "
RETURN = (
    "Return ONLY the letter(s) corresponding to the correct option(s) "
    "(e.g., A, B, C, or A,C for multiple correct answers)"
)
ONE = "There is only one correct option for this question."
SEVERAL = "There are more than one correct option for this question."

READER = VideoReader()
"""One for all tests: it remembers what frames show."""


@cache
def frames(path: str, size: tuple[int, int] | None = (448, 448)) -> tuple[Image.Image, ...]:
    """All frames of a video, stretched to a size."""
    with av.open(str(FOLDER / path)) as container:
        images = [frame.to_image() for frame in container.decode(video=0)]
    return tuple(image.resize(size, Image.Resampling.BICUBIC) if size else image for image in images)


def even(images: Frames, count: int | None) -> list[Image.Image]:
    """So many frames from the first to the last one; None: all."""
    if count is None:
        return list(images)
    places = [round(place * (len(images) - 1) / (count - 1)) for place in range(count)]
    return [images[place] for place in sorted(set(places))]


def before(row: Row, count: int | None = 8) -> list[Image.Image]:
    return even(frames(row["video_before"]), count)


def after(row: Row, count: int | None = 8) -> list[Image.Image]:
    return even(frames(row["video_after"]), count)


def asked(row: Row) -> str:
    options = [f"{letter}. {text}" for letter, text in zip("ABCDE", row["options"], strict=False)]
    hint = SEVERAL if len(row["answer"]) > 1 else ONE
    return "\n".join([f"\nQuestion: {row['question']}", "Options:", *options, RETURN, hint])


def prompt(row: Row, first: Frames, second: Frames) -> list[Part]:
    return [TASK + FIRST, *first, SECOND, *second, asked(row)]


def direct(row: Row, count: int | None = 8) -> list[Part]:
    return prompt(row, before(row, count), after(row, count))


def only_before(row: Row) -> list[Part]:
    return [TASK + FIRST, *before(row), asked(row)]


def only_after(row: Row) -> list[Part]:
    return [TASK + "This is the second video: ", *after(row), asked(row)]


def swapped(row: Row) -> list[Part]:
    return prompt(row, after(row), before(row))


def blind(row: Row) -> list[Part]:
    return [TASK.strip() + asked(row)]


def score(reply: str, row: Row) -> float:
    options = dict(zip("ABCDE", row["options"], strict=False))
    return subset_score(read_reply(reply, options, several=len(row["answer"]) > 1).letters, row["answer"])


def scores(form: Callable[[Row], Sequence[Part]], rows: Sequence[Row] = ROWS) -> list[float]:
    return [score(READER.answer_parts(form(row)), row) for row in rows]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def by_chance(rows: Sequence[Row]) -> float:
    return mean([chance(len(row["options"])) for row in rows])


@pytest.mark.parametrize("count", [8, 11, 16, None])
def test_every_question_is_answered_right_from_evenly_spread_frames(count: int | None) -> None:
    assert set(scores(lambda row: direct(row, count))) == {1.0}


@pytest.mark.parametrize("size", [None, (336, 448), (224, 224)])
def test_the_size_of_the_frames_does_not_matter(size: tuple[int, int] | None) -> None:
    def form(row: Row) -> list[Part]:
        first, second = (even(frames(row[column], size), 8) for column in ("video_before", "video_after"))
        return prompt(row, first, second)

    assert set(scores(form)) == {1.0}


@cache
def as_jpeg(path: str, quality: int) -> tuple[Image.Image, ...]:
    return tuple(Image.open(io.BytesIO(encoded(image, format="JPEG", quality=quality))) for image in frames(path))


@pytest.mark.parametrize("quality", [95, 75])
def test_jpeg_does_no_harm(quality: int) -> None:
    def form(row: Row) -> list[Part]:
        first, second = (even(as_jpeg(row[column], quality), 8) for column in ("video_before", "video_after"))
        return prompt(row, first, second)

    assert set(scores(form)) == {1.0}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Frames of the first video follow.", "That was the first video. Frames of the second video follow."),
        ("<first video>", "</first video>\n<second video>"),
        ("State before:", "State after:"),
        ("[The first video, before the change, begins]", "[The first video ends; the second video, after it, begins]"),
    ],
)
def test_other_words_may_name_the_videos(first: str, second: str) -> None:
    assert set(scores(lambda row: [first, *before(row), second, *after(row), asked(row)])) == {1.0}


def test_every_frame_may_have_its_own_label() -> None:
    def form(row: Row) -> list[Part]:
        labelled: list[Part] = [TASK]
        for video, images in (("first", before(row)), ("second", after(row))):
            for number, image in enumerate(images, start=1):
                labelled += [f"Frame {number} of the {video} video:", image]
        return [*labelled, asked(row)]

    assert set(scores(form)) == {1.0}


def test_swapped_videos_are_believed_to_be_what_the_text_says() -> None:
    assert set(scores(swapped, INTRA)) == {0.0}
    assert mean(scores(swapped, INTER)) < 0.7


def test_swapped_videos_are_answered_right_by_one_who_is_told_so() -> None:
    def form(row: Row) -> list[Part]:
        return [
            TASK + "This is the second video: ",
            *after(row),
            "\nThis is the first video: ",
            *before(row),
            asked(row),
        ]

    assert set(scores(form)) == {1.0}


@pytest.mark.parametrize(("form", "present"), [(only_before, "first"), (only_after, "second")])
def test_of_one_video_the_questions_about_it_are_answered_right_and_those_about_both_near_chance(
    form: Callable[[Row], list[Part]], present: str
) -> None:
    own = [row for row in INTRA if f"{present} video" in row["question"]]
    assert 4 <= len(own) < len(INTRA) - 3
    assert set(scores(form, own)) == {1.0}
    assert mean(scores(form, INTER)) == pytest.approx(by_chance(INTER), abs=0.06)


@pytest.mark.parametrize("form", [only_before, only_after])
def test_one_video_rules_out_few_of_the_options_of_a_question_about_both(form: Callable[[Row], list[Part]]) -> None:
    """Whichever of the options that are left is taken, and it is never certain."""
    expected = []
    for row in INTER:
        left = READER.possible(form(row))
        assert len(left) >= 3
        expected.append(mean([subset_score(letter, row["answer"]) for letter in left]))
    assert mean(expected) == pytest.approx(by_chance(INTER), abs=0.06)


def test_without_any_frame_the_score_is_near_chance() -> None:
    assert mean(scores(blind)) == pytest.approx(by_chance(ROWS), abs=0.06)


def test_the_answer_follows_the_frames_not_the_text() -> None:
    """With the videos of another scene the answers are wrong, or missing."""
    scenes = sorted({row["scene"] for row in ROWS})
    other = {
        scene: next(row for row in ROWS if row["scene"] == scenes[place - 1]) for place, scene in enumerate(scenes)
    }
    found = scores(lambda row: prompt(row, before(other[row["scene"]]), after(other[row["scene"]])))
    assert mean(found) < by_chance(ROWS)


def test_frames_in_reverse_order_mislead_about_time_alone() -> None:
    misled = [
        row for row in ROWS if score(READER.answer_parts(prompt(row, before(row)[::-1], after(row)[::-1])), row) < 1
    ]
    assert len(misled) >= 4
    assert all("temporal understanding" in row["capabilities"] for row in misled)


def test_options_in_another_order_are_answered_by_their_new_letters() -> None:
    def turned(row: Row) -> Row:
        count = len(row["options"])
        answer = sorted("ABCDE"[count - 1 - "ABCDE".index(letter)] for letter in row["answer"])
        return {**row, "options": row["options"][::-1], "answer": answer}

    assert set(scores(direct, [turned(row) for row in ROWS])) == {1.0}


def test_a_missing_second_half_of_a_video_costs_right_answers() -> None:
    found = scores(lambda row: prompt(row, before(row), after(row)[:3]))
    assert mean(found) < 0.8


@pytest.mark.parametrize("colour", [(255, 255, 255), (0, 0, 0), (208, 40, 40)])
def test_frames_that_show_no_room_cannot_be_told(colour: tuple[int, int, int]) -> None:
    empty = [Image.new("RGB", (448, 448), colour)] * 8
    assert {READER.answer_parts(prompt(row, empty, empty)) for row in ROWS} == {"I cannot tell."}
    assert {READER.answer_parts(prompt(row, before(row), empty)) for row in ROWS} == {"I cannot tell."}


def test_frames_of_unnamed_videos_cannot_be_told() -> None:
    for row in ROWS:
        assert READER.answer_parts([*before(row), *after(row), asked(row)]) == "I cannot tell."


def test_text_without_a_known_question_cannot_be_told() -> None:
    row = ROWS[0]
    for text in (
        "",
        "\nQuestion: What is this?\nOptions:\nA. Yes\nB. No",
        "\nQuestion: Why?",
        asked(row).split("Options")[0],
    ):
        assert READER.answer_parts([TASK + FIRST, *before(row), SECOND, *after(row), text]) == "I cannot tell."


def turned_by(row: Row, places: int) -> Row:
    """The options moved on, the last ones to the front."""
    count = len(row["options"])
    answer = sorted("ABCDE"[("ABCDE".index(letter) + places) % count] for letter in row["answer"])
    split = -places % count
    return {**row, "options": row["options"][split:] + row["options"][:split], "answer": answer}


def test_replies_are_worded_in_many_ways_and_each_is_read_as_the_same_letters() -> None:
    shapes: dict[bool, set[str]] = {True: set(), False: set()}
    for row in (turned_by(row, places) for row in ROWS for places in range(4)):
        reply, several = READER.answer_parts(direct(row)), len(row["answer"]) > 1
        assert score(reply, row) == 1
        shapes[several].add(re.sub(r"\b[A-E]+\b", "?", re.sub(r"^[A-E]\. .*", "?. text", reply)))
    assert READER.answer_parts(direct(ROWS[0])) == READER.answer_parts(direct(ROWS[0]))
    assert min(len(found) for found in shapes.values()) >= 6


@pytest.mark.parametrize("options", [{"format": "PNG", "compress_level": 1}, {"format": "JPEG", "quality": 75}])
def test_the_server_gives_the_reader_texts_and_images_in_their_order(options: dict[str, Any]) -> None:
    asked_over_http = [ROWS[0], *INTER[::4]]
    with PixelServer(reader=VideoReader()) as server:
        replies = [ask(server.url, body(direct(row), **options)) for row in asked_over_http]
        requests = server.requests
    assert [score(reply, row) for reply, row in zip(replies, asked_over_http, strict=True)] == [1.0] * len(replies)
    assert [len(request.images) for request in requests] == [16] * len(replies)


def test_a_request_is_recorded_with_its_texts_joined_and_its_pixels() -> None:
    row = INTER[0]
    parts = direct(row)
    with PixelServer(reader=VideoReader()) as server:
        reply = ask(server.url, body(parts))
        request = server.requests[0]
    assert request.reply == reply
    assert request.text == "\n".join([TASK + FIRST, SECOND, asked(row)])
    assert request.images == tuple(pixel_digest(part) for part in parts if isinstance(part, Image.Image))


def test_the_server_reads_videos_from_a_shell_too() -> None:
    command = [sys.executable, str(Path(__file__).with_name("pixel_server.py")), "--port", "0", "--reader", "videos"]
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        assert score(ask(process.stdout.readline().strip(), body(direct(ROWS[0]))), ROWS[0]) == 1
    finally:
        process.terminate()
        process.wait()
