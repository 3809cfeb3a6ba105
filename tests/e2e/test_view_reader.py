"""The reader of several views is right where all views arrive, in order, named and at one time, and only there."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import av
import chat
import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from pixel_server import PixelServer
from view_eye import Clock, read_clock
from view_reader import CANNOT_TELL, NOT_SYNCHRONISED, Part, SingleViewReader, ViewReader

from spotdiff.answers import Outcome, read_reply
from spotdiff.benchmarks.mvvbench.mini import FOLDER

pytestmark = pytest.mark.slow

Row = dict[str, Any]
Form = Callable[[Row], list[Part]]

ROWS: list[Row] = pq.read_table(FOLDER / "questions" / "test.parquet").to_pylist()
DYNAMIC = [row for row in ROWS if row["motion"] == "dynamic"]

SHORT = "Answer with the letter of the right option only."
STEPS = "Think step by step before you answer. End with a line in the form `Answer: X`."
STAGES = "Think in three stages before you answer.\nStage 1, each view alone: go through the views by their labels."

READER = ViewReader()
"""One for all tests: it remembers what frames show."""


@cache
def video(name: str) -> tuple[list[float], list[Image.Image]]:
    """When each frame is shown, in seconds, and all frames in their own size."""
    with av.open(str(FOLDER / name)) as container:
        frames = list(container.decode(video=0))
    return [float(frame.time) for frame in frames], [frame.to_image() for frame in frames]


def at(name: str, instants: Sequence[float], size: tuple[int, int] | None, quality: int | None) -> list[Image.Image]:
    """The frames that are nearest to some instants, as a prompt holds them."""
    times, frames = video(name)
    nearest = [int(np.argmin(np.abs(np.array(times) - instant))) for instant in instants]
    return [prepared(frames[place], size, quality) for place in nearest]


def prepared(frame: Image.Image, size: tuple[int, int] | None, quality: int | None) -> Image.Image:
    image = frame.resize(size, Image.Resampling.BICUBIC) if size else frame
    return as_jpeg(image, quality) if quality else image


def as_jpeg(image: Image.Image, quality: int) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer)


def own(row: Row) -> list[int]:
    return [row["view_numbers"].index(number) for number in row["views"]]


def all_views(row: Row) -> list[int]:
    """The question's own ones first."""
    return [*own(row), *(place for place, number in enumerate(row["view_numbers"]) if number not in row["views"])]


def shown(
    row: Row,
    places: Sequence[int],
    count: int = 8,
    span: tuple[float, float] | None = None,
    size: tuple[int, int] | None = (448, 448),
    quality: int | None = None,
) -> list[list[Image.Image]]:
    """For each view, the frames that are nearest to so many instants, the same for all."""
    start, end = span or (0.0, min(row["view_seconds"][place] for place in places))
    instants = np.linspace(start, end, count).tolist()
    return [at(row["view_videos"][place], instants, size, quality) for place in places]


def asked(row: Row, instruction: str = SHORT) -> str:
    options = [f"{letter}. {text}" for letter, text in zip("ABCD", row["options"], strict=False)]
    return "\n".join([f"\nQuestion: {row['question']}", "Options:", *options, instruction])


def labelled(views: Sequence[Sequence[Image.Image]]) -> list[Part]:
    parts: list[Part] = []
    for number, frames in enumerate(views):
        parts += [f"{'' if not parts else chr(10)}View {number}:", *frames]
    return parts


def direct(row: Row, instruction: str = SHORT, **options: Any) -> list[Part]:
    return [*labelled(shown(row, own(row), **options)), asked(row, instruction)]


def with_all_views(row: Row) -> list[Part]:
    return [*labelled(shown(row, all_views(row))), asked(row)]


def window(row: Row, count: int = 8) -> list[Part]:
    return direct(row, count=count, span=(row["start"], row["end"]))


def panel(row: Row, quality: int | None = None, cell: tuple[int, int] = (224, 224)) -> list[Part]:
    views = shown(row, own(row), count=4, size=cell)
    image = Image.new("RGB", (4 * cell[0], len(views) * cell[1]))
    for y, frames in enumerate(views):
        for x, frame in enumerate(frames):
            image.paste(frame, (x * cell[0], y * cell[1]))
    labels = ", ".join(f"View {number}" for number in range(len(views)))
    explained = (
        f"The image is a grid of frames: each row is one view ({labels}, from top to bottom), each column one moment, "
        "in order of time from left to right.\n"
    )
    return [explained, as_jpeg(image, quality) if quality else image, asked(row)]


def blind(row: Row) -> list[Part]:
    return [asked(row).strip()]


def right(reply: str, row: Row, *, chain: bool = False) -> bool:
    options = dict(zip("ABCD", row["options"], strict=False))
    return read_reply(reply, options, chain_of_thought=chain).letters == (row["answer"],)


def wrong(form: Form, rows: Sequence[Row] = ROWS) -> dict[str, str]:
    """Questions that are not answered right -> the reply."""
    replies = {row["id"]: READER.answer_parts(form(row)) for row in rows}
    return {row["id"]: replies[row["id"]] for row in rows if not right(replies[row["id"]], row)}


def by_chance(rows: Sequence[Row]) -> tuple[float, float]:
    """The least and the most questions that one answers right who guesses, in 99 of 100 cases."""
    shares = np.array([1 / len(row["options"]) for row in rows])
    spread = 2.576 * float(np.sqrt((shares * (1 - shares)).sum()))
    return float(shares.sum()) - spread, float(shares.sum()) + spread


@pytest.mark.parametrize("count", [8, 16])
def test_every_question_is_answered_right_from_frames_of_the_whole_clip(count: int) -> None:
    assert wrong(partial(direct, count=count)) == {}


@pytest.mark.parametrize("count", [4, 8])
def test_every_question_is_answered_right_from_its_window(count: int) -> None:
    assert wrong(partial(window, count=count)) == {}


def test_more_views_than_the_question_needs_change_no_answer() -> None:
    assert wrong(with_all_views) == {}


@pytest.mark.parametrize("quality", [None, 75])
def test_every_question_is_answered_right_from_a_panel_of_four_moments(quality: int | None) -> None:
    assert wrong(partial(panel, quality=quality)) == {}


def test_the_cells_of_a_panel_need_not_be_square() -> None:
    assert wrong(partial(panel, cell=(224, 168))) == {}


@pytest.mark.parametrize("size", [None, (448, 448), (224, 224)])
def test_jpeg_and_the_size_of_the_frames_do_no_harm(size: tuple[int, int] | None) -> None:
    assert wrong(partial(direct, size=size, quality=75)) == {}


def test_without_any_frame_the_reader_guesses() -> None:
    least, most = by_chance(ROWS)
    replies = [READER.answer_parts(blind(row)) for row in ROWS]
    assert all(
        read_reply(reply, dict(zip("ABCD", row["options"], strict=False))).outcome is Outcome.parsed
        for reply, row in zip(replies, ROWS, strict=True)
    )
    assert least <= sum(right(reply, row) for reply, row in zip(replies, ROWS, strict=True)) <= most


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("form", [direct, window])
def test_the_frames_of_one_view_alone_leave_a_reader_at_chance(form: Form, place: int) -> None:
    """Of what it sees, it takes what speaks for an option; where it has to guess, every guess counts its share."""
    reader = SingleViewReader(place)
    least, most = by_chance(ROWS)
    possible = [reader.possible(form(row)) for row in ROWS]
    expected = sum((row["answer"] in left) / len(left) for row, left in zip(ROWS, possible, strict=True))
    assert least <= expected <= most
    assert least <= sum(right(reader.answer_parts(form(row)), row) for row in ROWS) <= most


def test_the_answer_follows_the_frames_not_the_text() -> None:
    """With the frames of another scene the answers are wrong or missing in most cases."""

    def form(row: Row) -> list[Part]:
        place = sorted({other["sample"] for other in ROWS}).index(row["sample"])
        other = next(r for r in ROWS[4 * place - 4 :] if len(r["views"]) >= 2)
        return [*labelled(shown(other, own(other))), asked(row)]

    assert len(wrong(form)) > 0.6 * len(ROWS)


def test_views_under_each_others_names_mislead() -> None:
    def form(row: Row) -> list[Part]:
        return [*labelled(shown(row, own(row)[::-1])), asked(row)]

    misled = wrong(form)
    named = [row["id"] for row in ROWS if row["category"].startswith("explicit")]
    assert len(set(misled) & set(named)) >= len(named) / 2


def test_a_dynamic_question_cannot_be_told_from_frames_before_and_after_its_window() -> None:
    def form(row: Row) -> list[Part]:
        end = min(row["view_seconds"][place] for place in own(row))
        views = zip(
            shown(row, own(row), count=3, span=(0.0, 0.18 * end)),
            shown(row, own(row), count=3, span=(0.83 * end, end)),
            strict=True,
        )
        return [*labelled([[*before, *after] for before, after in views]), asked(row)]

    assert {row["category"] for row in DYNAMIC} >= {"implicit attribute", "explicit relative distance", "counting"}
    assert len(wrong(form, DYNAMIC)) == len(DYNAMIC)


def late(row: Row, seconds: float) -> list[Part]:
    """The last view of a question is so much late."""
    first, *others = own(row)
    end = min(row["view_seconds"][place] for place in own(row)) - seconds
    views = [shown(row, [place], span=(0.0, end))[0] for place in (first, *others[:-1])]
    return [*labelled([*views, shown(row, others[-1:], span=(seconds, end + seconds))[0]]), asked(row)]


def test_views_that_are_one_frame_apart_are_refused() -> None:
    for row in ROWS:
        rates = [round(row["view_frames"][place] / row["view_seconds"][place]) for place in own(row)]
        assert READER.answer_parts(late(row, 1 / min(rates))) == NOT_SYNCHRONISED
        assert READER.answer_parts(late(row, 0.0)) != NOT_SYNCHRONISED


def test_frames_that_are_taken_by_their_number_in_views_of_another_rate_or_length_are_refused() -> None:
    def form(row: Row) -> list[Part]:
        views = [video(row["view_videos"][place])[1] for place in own(row)]
        even = [[frames[round(step * (len(frames) - 1) / 7)] for step in range(8)] for frames in views]
        return [*labelled(even), asked(row)]

    uneven = [row for row in ROWS if len({row["view_seconds"][place] for place in own(row)}) > 1]
    assert len(uneven) >= 4
    assert {READER.answer_parts(form(row)) for row in uneven} == {NOT_SYNCHRONISED}


def test_frames_in_reverse_order_cannot_be_told() -> None:
    row = ROWS[0]
    assert READER.answer_parts([*labelled([f[::-1] for f in shown(row, own(row))]), asked(row)]) == CANNOT_TELL


def test_a_view_that_lacks_frames_is_refused() -> None:
    first, second = shown(ROWS[0], own(ROWS[0]))
    assert READER.answer_parts([*labelled([first, second[:-1]]), asked(ROWS[0])]) == NOT_SYNCHRONISED


def test_the_clock_of_every_frame_tells_the_time_that_the_file_states() -> None:
    for name in sorted({name for row in ROWS for name in row["view_videos"]}):
        times, frames = video(name)
        clocks = [read_clock(frame) for frame in frames]
        assert [clock.number for clock in clocks if clock] == list(range(len(frames)))
        assert [clock.seconds for clock in clocks if clock] == pytest.approx(times, abs=0.002)


@pytest.mark.parametrize("size", [(448, 448), (224, 224), (112, 112), (640, 360)])
def test_the_clock_can_be_read_at_other_sizes_and_from_jpeg(size: tuple[int, int]) -> None:
    _, frames = video(ROWS[8]["view_videos"][1])
    read = [read_clock(prepared(frame, size, 75)) for frame in frames[::5]]
    assert read == [Clock(number, 30) for number in range(0, len(frames), 5)]


@pytest.mark.parametrize("colour", [(255, 255, 255), (0, 0, 0), (208, 40, 40)])
def test_frames_without_a_scene_cannot_be_told(colour: tuple[int, int, int]) -> None:
    empty = [Image.new("RGB", (448, 448), colour)] * 8
    assert {READER.answer_parts([*labelled([empty, empty]), asked(row)]) for row in ROWS} == {CANNOT_TELL}


def test_frames_of_unnamed_views_cannot_be_told() -> None:
    for row in ROWS[::5]:
        frames = [part for part in direct(row) if not isinstance(part, str)]
        assert READER.answer_parts([*frames, asked(row)]) == CANNOT_TELL


def test_text_without_a_known_question_cannot_be_told() -> None:
    frames = labelled(shown(ROWS[0], own(ROWS[0])))
    for text in ("", "\nQuestion: What is this?\nOptions:\nA. Yes\nB. No", "\nQuestion: Why?"):
        assert READER.answer_parts([*frames, text]) == CANNOT_TELL


def turned(row: Row, places: int) -> Row:
    """The options moved on, the last ones to the front."""
    count = len(row["options"])
    split = -places % count
    answer = "ABCD"[("ABCD".index(row["answer"]) + places) % count]
    return {**row, "options": row["options"][split:] + row["options"][:split], "answer": answer}


def test_replies_are_worded_in_many_ways_and_each_is_read_as_the_same_letter() -> None:
    shapes = set()
    for row in (turned(row, places) for row in ROWS for places in range(3)):
        reply = READER.answer_parts(direct(row))
        assert right(reply, row)
        shapes.add(re.sub(r"\b[A-D]\b", "?", re.sub(r"^[A-D]\. .*", "?. text", reply)))
    assert READER.answer_parts(direct(ROWS[0])) == READER.answer_parts(direct(ROWS[0]))
    assert len(shapes) >= 6


@pytest.mark.parametrize("instruction", [STEPS, STAGES])
def test_a_chain_of_thought_is_long_weighs_all_options_and_ends_with_the_answer(instruction: str) -> None:
    for row in ROWS:
        reply = READER.answer_parts(direct(row, instruction))
        assert right(reply, row, chain=True)
        assert reply.splitlines()[-1] == f"Answer: {row['answer']}"
        assert "\n\n" in reply
        assert all(f"View {number}" in reply for number in range(len(row["views"])))
        assert all(re.search(rf"^{letter}\. ", reply, re.MULTILINE) for letter in "ABCD"[: len(row["options"])])


def ask(url: str, parts: Sequence[Part]) -> str:
    return chat.ask(url, chat.body(parts, format="JPEG", quality=75))


def test_the_server_gives_the_reader_labels_frames_and_panels_in_their_order() -> None:
    with PixelServer(reader=ViewReader()) as server:
        for row in ROWS[::5]:
            assert right(ask(server.url, direct(row)), row)
            assert right(ask(server.url, panel(row)), row)
            assert ask(server.url, late(row, 0.2)) == NOT_SYNCHRONISED


def test_the_server_can_be_started_from_a_shell() -> None:
    root = Path(__file__).parents[2]
    script = root / "tests" / "e2e" / "pixel_server.py"
    command = [sys.executable, str(script), "--port", "0", "--reader", "views"]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            assert right(ask(process.stdout.readline().strip(), direct(ROWS[0])), ROWS[0])
        finally:
            process.terminate()
