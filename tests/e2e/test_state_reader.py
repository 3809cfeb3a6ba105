"""The state-reading server is right where all pictures arrive under their labels, in order, and only there."""

from __future__ import annotations

import io
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from chat import ask, body, encoded
from PIL import Image
from pixel_server import PixelServer
from state_reader import LastFrameReader, OptionsOnlyReader, Part, StateReader

from spotdiff.answers import read_reply
from spotdiff.benchmarks.egoexo_next.mini import CONFIGS, FOLDER
from spotdiff.media.images import pixel_digest

pytestmark = pytest.mark.slow

Row = dict[str, Any]
Change = Callable[[Image.Image], Image.Image]

ROWS: list[Row] = [row for name in CONFIGS for row in pq.read_table(FOLDER / name / "test.parquet").to_pylist()]
NEXT_STATE = [row for row in ROWS if row["subtask"] != "match"]
MATCHING = [row for row in ROWS if row["subtask"] == "match"]
DIAGNOSED = [row for row in ROWS if row["current_exo"]]

SUBSEQUENT = (
    "\nQuestion: Given 4 temporally ordered observation frames, which image shows the subsequent visual state "
    "following the observation sequence?\nOnly output one letter: A, B, C, or D."
)
SAME_MOMENT = (
    "\nQuestion: Which exocentric image corresponds to the egocentric image at the same time?\n"
    "Only output one letter: A, B, C, or D."
)

READER = StateReader()


@cache
def decoded(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def picture(row: Row, column: str) -> Image.Image:
    return decoded(row[column]["bytes"])


def names(row: Row) -> tuple[str, str]:
    """As labels name the view that is observed, and that of the options."""
    if row["subtask"] == "match":
        seen, asked = row["direction"].split("2")
    else:
        seen = "exo" if row["subtask"] == "exo" else "ego"
        asked = "ego" if row["subtask"] == "ego" else "exo"
    return f"{seen.capitalize()}-centric", f"{asked.capitalize()}-centric"


def observed(row: Row) -> list[Image.Image]:
    columns = [f"observation_{number}" for number in (1, 2, 3, 4)]
    return [picture(row, column) for column in columns if row[column]]


def offered(row: Row) -> list[Image.Image]:
    return [picture(row, f"option_{letter}") for letter in "abcd"]


def question(row: Row) -> str:
    return SAME_MOMENT if row["subtask"] == "match" else SUBSEQUENT


def prompt(
    row: Row,
    observations: Sequence[tuple[int, Image.Image]] | None = None,
    options: Sequence[Image.Image] | None = None,
    between: Sequence[Part] = (),
) -> list[Part]:
    """Labels and pictures, then the question. observations: numbers and pictures, in place of the row's own.

    between: stands between observations and options.
    """
    seen, asked = names(row)
    parts: list[Part] = []
    for number, image in numbered(observed(row)) if observations is None else observations:
        parts += [f"\n{seen} keyframe {number}:", image]
    parts += between
    for name, image in zip("ABCD", offered(row) if options is None else options, strict=False):
        parts += [f"\n{asked} option {name}:", image]
    return [*parts, question(row)]


def letter(parts: Sequence[Part], reader: StateReader | LastFrameReader | OptionsOnlyReader = READER) -> str:
    letters = read_reply(reader.answer_parts(parts), dict.fromkeys("ABCD")).letters
    return letters[0] if letters else ""


def wrong(form: Callable[[Row], Sequence[Part]], rows: Sequence[Row] = ROWS) -> list[str]:
    """Ids of the questions that are not answered right."""
    return [row["id"] for row in rows if letter(form(row)) != row["answer"]]


def share(form: Callable[[Row], Sequence[Part]], rows: Sequence[Row]) -> float:
    return 1 - len(wrong(form, rows)) / len(rows)


def numbered(images: Sequence[Image.Image]) -> list[tuple[int, Image.Image]]:
    return list(enumerate(images, start=1))


def test_every_question_is_answered_right() -> None:
    assert wrong(prompt) == []


def as_jpeg(quality: int) -> Change:
    return lambda image: Image.open(io.BytesIO(encoded(image, format="JPEG", quality=quality))).convert("RGB")


@pytest.mark.parametrize("change", [as_jpeg(95), as_jpeg(75)], ids=["95", "75"])
def test_jpeg_does_no_harm(change: Change) -> None:
    assert wrong(lambda row: changed(row, change)) == []


def changed(row: Row, change: Change) -> list[Part]:
    return [part if isinstance(part, str) else change(part) for part in prompt(row)]


def test_the_size_of_the_pictures_does_not_matter() -> None:
    def stretched(image: Image.Image) -> Image.Image:
        return image.resize((448, 448), Image.Resampling.BICUBIC)

    assert wrong(lambda row: changed(row, stretched)) == []


def test_texts_may_be_joined_and_lines_broken_as_they_like() -> None:
    def without_breaks(row: Row) -> list[Part]:
        return [part.strip() if isinstance(part, str) else part for part in prompt(row)]

    def begun(row: Row) -> list[Part]:
        first, *rest = prompt(row)
        return [f"Look at these pictures. {first}", "\n", *rest[:-1], "\n", rest[-1]]

    def in_pieces(row: Row) -> list[Part]:
        return [piece for part in prompt(row) for piece in (part.splitlines(True) if isinstance(part, str) else [part])]

    for form in (without_breaks, begun, in_pieces):
        assert wrong(form) == []


def test_options_in_another_order_are_answered_by_their_new_letters() -> None:
    for row in ROWS:
        options = offered(row)
        assert letter(prompt(row, options=options[::-1])) == "DCBA"["ABCD".index(row["answer"])]
        assert letter(prompt(row, options=options[1:] + options[:1])) == "DABC"["ABCD".index(row["answer"])]


def test_observations_may_come_in_any_order_under_their_own_numbers() -> None:
    assert wrong(lambda row: prompt(row, numbered(observed(row))[::-1])) == []


def test_observations_in_another_order_under_the_old_numbers_mislead() -> None:
    shares = [
        share(lambda row, order=order: prompt(row, numbered([observed(row)[place] for place in order])), NEXT_STATE)  # type: ignore[misc]
        for order in itertools.permutations(range(4))
    ]
    assert shares[0] == 1
    assert shares[-1] < 0.4
    assert sum(shares[1:]) / len(shares[1:]) < 0.6


def test_of_one_observation_the_same_moment_is_known_and_the_next_state_is_not() -> None:
    def last_frame(row: Row) -> list[Part]:
        return prompt(row, numbered(observed(row))[-1:])

    assert share(last_frame, MATCHING) == 1
    assert share(last_frame, NEXT_STATE) < 0.45


@pytest.mark.parametrize("columns", [["current_exo"], ["next_ego"], ["current_exo", "next_ego"]])
def test_pictures_with_labels_of_their_own_are_no_observations(columns: list[str]) -> None:
    labels = {"current_exo": "\nExo-centric current state:", "next_ego": "\nEgo-centric next state:"}

    def with_oracles(row: Row) -> list[Part]:
        between: list[Part] = []
        for column in columns:
            between += [labels[column], picture(row, column)]
        return prompt(row, between=between)

    assert len(DIAGNOSED) == 4
    assert wrong(with_oracles, DIAGNOSED) == []


def test_without_options_or_without_observations_nothing_can_be_told() -> None:
    for row in ROWS:
        assert READER.answer_parts(prompt(row, [])) == "I cannot tell."
        assert READER.answer_parts(prompt(row, options=[])) == "I cannot tell."


@pytest.mark.parametrize("colour", [(255, 255, 255), (0, 0, 0), (208, 40, 40)])
def test_pictures_that_show_nothing_cannot_be_told(colour: tuple[int, int, int]) -> None:
    empty = Image.new("RGB", (200, 150), colour)
    for row in ROWS:
        assert READER.answer_parts(prompt(row, numbered([empty] * 4))) == "I cannot tell."
        assert READER.answer_parts(prompt(row, options=[empty] * 4)) == "I cannot tell."


def test_an_option_that_shows_nothing_is_not_chosen() -> None:
    empty = Image.new("RGB", (200, 150), (255, 255, 255))
    for row in ROWS[::3]:
        options = offered(row)
        options["ABCD".index(row["answer"])] = empty
        assert letter(prompt(row, options=options)) not in ("", row["answer"])


def test_pictures_without_labels_and_unknown_questions_cannot_be_told() -> None:
    for row in ROWS[::3]:
        images = [part for part in prompt(row) if not isinstance(part, str)]
        assert READER.answer_parts([*images, question(row)]) == "I cannot tell."
        assert READER.answer_parts([*prompt(row)[:-1], "What is shown?"]) == "I cannot tell."


def test_the_question_decides_between_the_same_moment_and_the_next_state() -> None:
    """The same pictures, asked for another moment: the last observation itself is no option."""
    other = [letter([*prompt(row)[:-1], SAME_MOMENT]) for row in NEXT_STATE]
    assert sum(found != row["answer"] for found, row in zip(other, NEXT_STATE, strict=True)) > len(NEXT_STATE) / 2


def test_a_label_of_the_other_view_costs_right_answers() -> None:
    exo = [row for row in ROWS if names(row)[1] == "Exo-centric"]

    def mislabelled(row: Row) -> list[Part]:
        return [
            part.replace("Exo-centric option", "Ego-centric option") if isinstance(part, str) else part
            for part in prompt(row)
        ]

    assert share(mislabelled, exo) < 0.6


def test_controls_give_one_answer_to_one_prompt_and_need_no_other_picture() -> None:
    blank = Image.new("RGB", (200, 150), (255, 255, 255))
    for row in NEXT_STATE:
        last = [(number, image if number == 4 else blank) for number, image in numbered(observed(row))]
        expected = LastFrameReader().answer_parts(prompt(row, last[-1:]))
        assert expected == LastFrameReader().answer_parts(prompt(row, last[-1:]))
        assert letter(prompt(row, last), LastFrameReader()) == letter(prompt(row), LastFrameReader()) != ""
        assert letter(prompt(row, []), OptionsOnlyReader()) == letter(prompt(row), OptionsOnlyReader()) != ""


def test_replies_are_worded_in_many_ways_and_each_is_read_as_the_same_letter() -> None:
    replies = [READER.answer_parts(prompt(row)) for row in ROWS]
    assert replies == [READER.answer_parts(prompt(row)) for row in ROWS]
    assert [read_reply(reply, dict.fromkeys("ABCD")).letters for reply in replies] == [(row["answer"],) for row in ROWS]
    assert len({re.sub(r"\b[A-D]\b", "?", reply) for reply in replies}) >= 8


@pytest.mark.parametrize("options", [{"format": "PNG"}, {"format": "JPEG", "quality": 75}], ids=["png", "jpeg"])
def test_the_server_gives_the_reader_texts_and_pictures_in_their_order(options: dict[str, Any]) -> None:
    asked = ROWS[::5]
    with PixelServer(reader=StateReader()) as server:
        replies = [ask(server.url, body(prompt(row), **options)) for row in asked]
        requests = server.requests
    assert [read_reply(reply, dict.fromkeys("ABCD")).letters for reply in replies] == [
        (row["answer"],) for row in asked
    ]
    assert [len(request.images) for request in requests] == [len(observed(row)) + 4 for row in asked]
    if options["format"] == "PNG":
        digests = tuple(pixel_digest(image) for image in (*observed(asked[0]), *offered(asked[0])))
        assert requests[0].images == digests


@pytest.mark.parametrize("reader", [LastFrameReader(), OptionsOnlyReader()], ids=["last frame", "options only"])
def test_controls_are_served_too(reader: LastFrameReader | OptionsOnlyReader) -> None:
    with PixelServer(reader=reader) as server:
        for row in NEXT_STATE[::7]:
            assert ask(server.url, body(prompt(row), format="PNG")) == reader.answer_parts(prompt(row))


def test_the_server_reads_states_from_a_shell_too() -> None:
    command = [sys.executable, str(Path(__file__).with_name("pixel_server.py")), "--port", "0", "--reader", "states"]
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        reply = ask(process.stdout.readline().strip(), body(prompt(ROWS[0]), format="PNG"))
        assert read_reply(reply, dict.fromkeys("ABCD")).letters == (ROWS[0]["answer"],)
    finally:
        process.terminate()
        process.wait()
