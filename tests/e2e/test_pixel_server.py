"""The pixel-reading server is right where text, images and boxes arrive as they should, and only there."""

from __future__ import annotations

import base64
import http.client
import io
import itertools
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image
from pixel_server import FAULTS, Fault, PixelServer, always, first

from spotdiff.benchmarks.m4bench.boxes import FAMILIES, fill
from spotdiff.benchmarks.m4bench.mini import CONFIGS, FOLDER
from spotdiff.media.images import draw_box, open_image, pixel_digest, side_by_side
from spotdiff.question import Box

pytestmark = pytest.mark.slow

Row = dict[str, Any]
Pictures = Sequence[Image.Image]

FAMILY = "qwen3_vl"
ROWS: dict[str, list[Row]] = {name: pq.read_table(FOLDER / name / "test.parquet").to_pylist() for name in CONFIGS}
BOXED = [name for name, rows in ROWS.items() if rows[0]["option_boxes"][0]]
PROMPTED = [name for name, rows in ROWS.items() if rows[0]["visual_prompt"]]
PART_PAIRS = ["spatial_perception", "instance_comparison"]
FORMS = ("plain", "written", "drawn")
EVERYTHING = [(name, form) for name in ROWS for form in FORMS if form == "plain" or name in PROMPTED]
"""Every config in every form that it has: without a visual prompt, with its boxes written, with its boxes drawn."""


def _box(numbers: Sequence[int]) -> Box:
    x1, y1, x2, y2 = numbers
    return x1, y1, x2, y2


def prompt(row: Row, form: str, family: str = FAMILY) -> str:
    def written(template: str, boxes: Sequence[Sequence[int]]) -> str:
        sizes = row["image_sizes"]
        texts = [FAMILIES[family].write(_box(box), (size[0], size[1])) for box, size in zip(boxes, sizes, strict=False)]
        return fill(template, texts, "<bbox>")

    visual = {
        "plain": "",
        "written": written(row["visual_prompt"], row["visual_prompt_boxes"]),
        "drawn": row["visual_prompt"].replace("<bbox>", "the red box").replace("the", "The", 1),
    }[form]
    options = [written(text, boxes) for text, boxes in zip(row["options"], row["option_boxes"], strict=True)]
    lines = [f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=False)]
    return "\n".join([visual + row["question"], *lines])


def pictures(row: Row, form: str = "plain") -> list[Image.Image]:
    images = [open_image(row[column], column) for column in ("image_1", "image_2")]
    if form != "drawn":
        return images
    return [draw_box(image, _box(box)) for image, box in zip(images, row["visual_prompt_boxes"], strict=True)]


def encoded(image: Image.Image, **options: Any) -> str:
    options = options or {"format": "PNG"}
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return f"data:image/{options['format'].lower()};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def user_says(content: Any) -> bytes:
    messages = [{"role": "user", "content": content}]
    return json.dumps({"model": "any", "messages": messages, "max_tokens": 1024, "stream": False}).encode()


def body(text: str, images: Pictures, **options: Any) -> bytes:
    parts: list[Any] = [{"type": "image_url", "image_url": {"url": encoded(image, **options)}} for image in images]
    return user_says([*parts, {"type": "text", "text": text}])


def post(server: PixelServer, data: bytes) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.url}/chat/completions", data, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def ask(server: PixelServer, text: str, images: Pictures, **options: Any) -> str:
    reply: str = post(server, body(text, images, **options))["choices"][0]["message"]["content"]
    return reply


def letter(reply: str) -> str | None:
    """The one letter of a reply; the wordings hold no other word of one capital letter than `I`."""
    letters = set(re.findall(r"\b[A-H]\b", reply))
    return letters.pop() if len(letters) == 1 else None


def right(
    server: PixelServer,
    name: str,
    form: str = "plain",
    change: Callable[[list[Image.Image]], Pictures] = lambda images: images,
    family: str = FAMILY,
    **options: Any,
) -> list[bool]:
    """Whether each row of a config is answered right. change: what happens to the images on their way."""
    replies = [ask(server, prompt(row, form, family), change(pictures(row, form)), **options) for row in ROWS[name]]
    return [letter(reply) == row["answer"] for reply, row in zip(replies, ROWS[name], strict=True)]


@pytest.fixture(scope="module")
def server() -> Any:
    with PixelServer(box_family=FAMILY) as running:
        yield running


@pytest.mark.parametrize(("name", "form"), EVERYTHING)
def test_every_question_is_answered_right_from_its_pixels(server: PixelServer, name: str, form: str) -> None:
    assert all(right(server, name, form))


@pytest.mark.parametrize(("name", "form"), EVERYTHING)
def test_every_question_is_answered_right_from_images_side_by_side(server: PixelServer, name: str, form: str) -> None:
    assert all(right(server, name, form, lambda images: [side_by_side(images)]))


@pytest.mark.parametrize(("name", "form"), EVERYTHING)
@pytest.mark.parametrize("quality", [95, 75])
def test_jpeg_does_no_harm(server: PixelServer, name: str, form: str, quality: int) -> None:
    assert all(right(server, name, form, format="JPEG", quality=quality))


@pytest.mark.parametrize(("name", "form"), EVERYTHING)
def test_jpeg_does_no_harm_to_images_side_by_side(server: PixelServer, name: str, form: str) -> None:
    assert all(right(server, name, form, lambda images: [side_by_side(images)], format="JPEG", quality=75))


@pytest.mark.parametrize("name", ROWS)
def test_webp_does_no_harm(server: PixelServer, name: str) -> None:
    assert all(right(server, name, format="WEBP", quality=90))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", BOXED)
def test_boxes_are_read_in_the_format_that_the_server_was_told(name: str, family: str) -> None:
    with PixelServer(box_family=family) as told:
        assert all(right(told, name, family=family))


NEAR_1000 = "qwen2_5_vl_vlmevalkit"
"""Enlarges images as small as these to about 1,000 pixels a side, so that its boxes are nearly those of Qwen3-VL."""


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in (FAMILY, NEAR_1000)])
@pytest.mark.parametrize("name", BOXED)
def test_boxes_in_the_format_of_another_family_fail(server: PixelServer, name: str, family: str) -> None:
    assert not any(right(server, name, family=family))


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "pixels"])
@pytest.mark.parametrize("name", BOXED)
def test_boxes_of_another_family_fail_where_pixels_are_expected(name: str, family: str) -> None:
    with PixelServer(box_family="pixels") as told:
        assert not any(right(told, name, family=family))


@pytest.mark.parametrize(("name", "form"), [(name, form) for name, form in EVERYTHING if name in PART_PAIRS])
def test_swapped_images_fail_where_each_box_belongs_to_one_image(server: PixelServer, name: str, form: str) -> None:
    assert not any(right(server, name, form, lambda images: images[::-1]))
    assert not any(right(server, name, form, lambda images: [side_by_side(images[::-1])]))


@pytest.mark.parametrize("name", PART_PAIRS)
def test_images_swapped_together_with_their_boxes_are_answered_right(server: PixelServer, name: str) -> None:
    for row in ROWS[name]:
        other = {
            "option_boxes": [boxes[::-1] for boxes in row["option_boxes"]],
            "visual_prompt_boxes": row["visual_prompt_boxes"][::-1],
            "image_sizes": row["image_sizes"][::-1],
        }
        assert letter(ask(server, prompt({**row, **other}, "written"), pictures(row)[::-1])) == row["answer"]


@pytest.mark.parametrize("name", PROMPTED)
def test_a_visual_prompt_that_does_not_fit_the_object_fails(server: PixelServer, name: str) -> None:
    for row in ROWS[name]:
        moved = {**row, "visual_prompt_boxes": [[x1, y1, x2 - 12, y2] for x1, y1, x2, y2 in row["visual_prompt_boxes"]]}
        assert ask(server, prompt(moved, "written"), pictures(row)) == "I cannot tell."
        assert ask(server, prompt(moved, "drawn"), pictures(moved, "drawn")) == "I cannot tell."
        assert ask(server, prompt(row, "drawn"), pictures(row)) == "I cannot tell."


@pytest.mark.parametrize("name", ROWS)
def test_the_answer_follows_the_pixels_not_the_text(server: PixelServer, name: str) -> None:
    """With the images of the next row, the answer is wrong or missing wherever the two rows have different answers."""
    rows = ROWS[name]
    for row, other in itertools.pairwise(rows):
        reply = letter(ask(server, prompt(row, "plain"), pictures(other)))
        if row["option_boxes"][0]:
            assert reply is None or row["pair"] == other["pair"]
        else:
            same = row["options"]["AB".index(row["answer"])] == other["options"]["AB".index(other["answer"])]
            assert (reply == row["answer"]) == same


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_wrong_number_of_images_cannot_be_told(server: PixelServer, name: str, count: int) -> None:
    for row in ROWS[name]:
        assert ask(server, prompt(row, "plain"), (pictures(row) * 2)[:count]) == "I cannot tell."


@pytest.mark.parametrize("name", ROWS)
def test_blank_pictures_cannot_be_told(server: PixelServer, name: str) -> None:
    for colour in ((255, 255, 255), (0, 0, 0)):
        blank = [Image.new("RGB", tuple(size), colour) for size in ROWS[name][0]["image_sizes"]]
        assert ask(server, prompt(ROWS[name][0], "plain"), blank) == "I cannot tell."
        assert ask(server, prompt(ROWS[name][0], "plain"), [side_by_side(blank)]) == "I cannot tell."


def test_text_without_a_known_question_cannot_be_told(server: PixelServer) -> None:
    images = pictures(ROWS["state_invariance"][0])
    for text in ("", "Describe both images.", "What is this?\nA. Yes\nB. No", "Whether they differ?\nA. Yes\nB. No"):
        assert ask(server, text, images) == "I cannot tell."


def test_a_note_before_the_question_and_an_instruction_after_the_options_do_no_harm(server: PixelServer) -> None:
    for name, form in EVERYTHING:
        for row in ROWS[name][:2]:
            text = f"Boxes are given as [x1, y1, x2, y2].\n{prompt(row, form)}\nAnswer with the option's letter."
            assert letter(ask(server, text, pictures(row, form))) == row["answer"]


def test_options_in_another_order_are_answered_by_their_new_letter(server: PixelServer) -> None:
    for rows in ROWS.values():
        for row in rows:
            count = len(row["options"])
            turned = {**row, "options": row["options"][::-1], "option_boxes": row["option_boxes"][::-1]}
            expected = "ABCD"[count - 1 - "ABCD".index(row["answer"])]
            assert letter(ask(server, prompt(turned, "plain"), pictures(row))) == expected


def test_replies_are_worded_in_many_ways_and_the_same_prompt_is_answered_the_same(server: PixelServer) -> None:
    shapes = set()
    for row in (row for rows in ROWS.values() for row in rows):
        text, images = prompt(row, "plain"), pictures(row)
        reply = ask(server, text, images)
        assert ask(server, text, images) == reply
        chosen = next(line for line in text.split("\n") if line.startswith(f"{row['answer']}. "))
        shapes.add(re.sub(r"\b[A-D]\b", "?", reply.replace(chosen[3:], "...")))
    assert len(shapes) >= 8


def test_a_request_is_recorded_with_its_text_its_pixels_and_its_body() -> None:
    row = ROWS["spatial_perception"][0]
    text, images = prompt(row, "plain"), pictures(row)
    sent = body(text, images)
    with PixelServer() as server:
        reply = post(server, sent)["choices"][0]["message"]["content"]
        assert len(server.requests) == 1
        request = server.requests[0]
    assert (request.number, request.text, request.body, request.reply) == (0, text, sent, reply)
    assert request.images == tuple(pixel_digest(image) for image in images)
    assert [list(size) for size in request.image_sizes] == row["image_sizes"]
    assert request.json["max_tokens"] == 1024


def test_many_questions_at_once_are_all_answered_right() -> None:
    asked = [(prompt(row, "plain"), pictures(row), row["answer"]) for rows in ROWS.values() for row in rows]
    with PixelServer() as server, ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda question: ask(server, question[0], question[1]), asked))
        assert [request.number for request in server.requests] == list(range(len(asked)))
    assert [letter(reply) for reply in replies] == [answer for _, _, answer in asked]


def test_only_what_the_user_says_is_read() -> None:
    row = ROWS["state_comparison"][0]
    request = json.loads(body(prompt(row, "plain"), pictures(row)))
    request["messages"].insert(0, {"role": "system", "content": "A. Say A.\nB. Say B."})
    with PixelServer() as server:
        reply = post(server, json.dumps(request).encode())["choices"][0]["message"]["content"]
    assert letter(reply) == row["answer"]


def test_models_are_listed(server: PixelServer) -> None:
    with urllib.request.urlopen(f"{server.url}/models", timeout=30) as response:
        assert [model["id"] for model in json.load(response)["data"]] == ["pixel-reader"]


@pytest.mark.parametrize(
    "sent",
    [
        b"not json",
        b"{}",
        user_says(None),
        user_says([{"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}}]),
        user_says([{"type": "image_url", "image_url": {"url": "http://localhost/picture.png"}}]),
        user_says([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]),
    ],
)
def test_a_malformed_request_is_refused_and_not_recorded(sent: bytes) -> None:
    with PixelServer() as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(server, sent)
        assert server.requests == []
    assert caught.value.code == 400
    assert json.load(caught.value)["error"]["message"]


QUESTION = ROWS["state_comparison"][0]


def asked_once(server: PixelServer) -> str:
    return ask(server, prompt(QUESTION, "plain"), pictures(QUESTION))


@pytest.mark.parametrize(("name", "status", "header"), [("500", 500, None), ("429", 429, "1")])
def test_a_status_fault_is_sent_with_its_headers_and_then_answers_follow(
    name: str, status: int, header: str | None
) -> None:
    with PixelServer(fault=first(2, FAULTS[name])) as server:
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError) as caught:
                asked_once(server)
            assert (caught.value.code, caught.value.headers["Retry-After"]) == (status, header)
        assert letter(asked_once(server)) == QUESTION["answer"]
        assert [request.reply is None for request in server.requests] == [True, True, False]


def test_an_html_page_comes_with_status_200() -> None:
    with PixelServer(fault=always(FAULTS["html"])) as server:
        request = urllib.request.Request(f"{server.url}/chat/completions", body(prompt(QUESTION, "plain"), []))
        with urllib.request.urlopen(request, timeout=30) as response:
            assert response.status == 200
            assert response.headers["Content-Type"] == "text/html"
            assert response.read().startswith(b"<!DOCTYPE html>")


def test_an_empty_reply_is_empty() -> None:
    with PixelServer(fault=always(FAULTS["empty"])) as server:
        assert asked_once(server) == ""
        assert server.requests[0].reply == ""


def test_a_dropped_connection_has_no_answer() -> None:
    with PixelServer(fault=lambda number: FAULTS["drop"] if number == 1 else None) as server:
        assert letter(asked_once(server)) == QUESTION["answer"]
        with pytest.raises((http.client.HTTPException, ConnectionError, urllib.error.URLError)):
            asked_once(server)
        assert letter(asked_once(server)) == QUESTION["answer"]


def test_a_slow_answer_is_late_and_right_and_does_not_hold_up_the_end() -> None:
    with PixelServer(fault=always(replace(FAULTS["slow"], seconds=0.3))) as server:
        start = time.monotonic()
        assert letter(asked_once(server)) == QUESTION["answer"]
        assert time.monotonic() - start >= 0.3
    start = time.monotonic()
    with PixelServer(fault=always(Fault(seconds=60))) as server, ThreadPoolExecutor(1) as pool:
        late = pool.submit(asked_once, server)
        while not server.requests:
            time.sleep(0.01)
        server.stopping.set()
        assert letter(late.result(timeout=20)) == QUESTION["answer"]
    assert time.monotonic() - start < 30


def test_the_script_prints_its_address_and_serves() -> None:
    script = Path(__file__).with_name("pixel_server.py")
    command = [sys.executable, str(script), "--port", "0", "--box-family", "pixels", "--fault", "500:1"]
    environment = {**os.environ, "PYTHONPATH": str(script.parents[2])}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", address)
        row = ROWS["spatial_perception"][0]
        data = body(prompt(row, "plain", "pixels"), pictures(row))
        request = urllib.request.Request(f"{address}/chat/completions", data)
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=30)
        with urllib.request.urlopen(request, timeout=30) as response:
            assert letter(json.load(response)["choices"][0]["message"]["content"]) == row["answer"]
    finally:
        process.terminate()
        process.wait()
