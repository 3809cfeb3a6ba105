"""The journal's files under every cut and every wrong byte, and the digest that replies are found by."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from spotdiff.errors import SettingError
from spotdiff.journal import Journal, JournalError, Reply, message_digest
from spotdiff.journal.digest import Media
from spotdiff.journal.lines import read_file

# Lone surrogates too: a reply may be cut within a character.
TEXTS = st.text(st.characters(), max_size=12)
REPLIES = st.lists(
    st.builds(
        Reply,
        key=st.text("0123456789abcdef", min_size=4, max_size=4),
        text=TEXTS,
        failure=st.sampled_from([None, "empty", "time-out"]),
        tokens=st.sampled_from([None, {"input_tokens": 3, "output_tokens": 1}]),
        task=TEXTS,
        document=st.integers(0, 9),
    ),
    min_size=1,
    max_size=5,
)
one_folder_for_all = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(folder: Path, replies: Sequence[Reply]) -> bytes:
    """The bytes of a file with these replies, in an empty folder."""
    for old in folder.glob("*"):
        old.unlink()
    Journal(folder, {"model": "reader"}).append(replies)
    (file,) = folder.iterdir()
    return file.read_bytes()


def read_back(folder: Path, content: bytes) -> list[Reply]:
    file = folder / "changed"
    file.write_bytes(content)
    return read_file(file).replies


def line_ends(content: bytes) -> list[int]:
    """Positions of the line breaks: those of the header, then of each reply."""
    return [position for position, byte in enumerate(content) if byte == ord("\n")]


@one_folder_for_all
@given(REPLIES, st.data())
def test_a_file_cut_at_any_byte_gives_every_reply_before_the_cut(
    tmp_path: Path, replies: list[Reply], data: st.DataObject
) -> None:
    content = written(tmp_path, replies)
    cut = data.draw(st.integers(0, len(content)))
    whole = sum(end <= cut for end in line_ends(content)[1:])
    assert read_back(tmp_path, content[:cut]) == replies[:whole]


@one_folder_for_all
@given(REPLIES, st.data())
def test_a_wrong_byte_anywhere_takes_its_own_line_at_most_and_never_gives_a_wrong_reply(
    tmp_path: Path, replies: list[Reply], data: st.DataObject
) -> None:
    content = written(tmp_path, replies)
    position = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != content[position]))
    damaged = content[:position] + bytes([byte]) + content[position + 1 :]
    starts = [0, *(end + 1 for end in line_ends(content))]
    hit = max(number for number, start in enumerate(starts) if start <= position)
    # Without its line break a line runs into the next.
    lost = {hit, hit + 1} if content[position] == ord("\n") else {hit}
    assert read_back(tmp_path, damaged) == [reply for line, reply in enumerate(replies, 1) if line not in lost]


def test_a_damaged_file_is_reported_once_with_its_place_and_harms_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        Journal(tmp_path, {}).append([Reply(name * 4, f"{name}{number}") for number in range(3)])
    file = next(file for file in tmp_path.iterdir() if b'"a0"' in file.read_bytes())
    cut = file.read_bytes().index(b'"a1"')
    file.write_bytes(file.read_bytes()[:cut])
    capsys.readouterr()
    journal = Journal(tmp_path, {})
    said = capsys.readouterr().err
    place = file.read_bytes().rindex(b"\n") + 1
    assert said.count("\n") == 1
    assert str(file) in said
    assert f"byte {place} " in said
    assert journal.kept == 4
    assert [journal.take("bbbb"), journal.take("aaaa"), journal.take("aaaa")] == [
        Reply("bbbb", "b0"),
        Reply("aaaa", "a0"),
        None,
    ]
    assert file.stat().st_size == cut


def test_a_failure_is_asked_again_and_the_answer_counts(tmp_path: Path) -> None:
    Journal(tmp_path, {}).append([Reply("k", "oops", failure="time-out"), Reply("other", None, failure="empty")])
    again = Journal(tmp_path, {})
    assert (again.kept, again.failures, again.take("k")) == (0, 2, None)
    again.append([Reply("k", "B")])
    last = Journal(tmp_path, {})
    assert (last.kept, last.failures, last.take("k")) == (1, 1, Reply("k", "B"))


def test_each_repeat_of_a_question_has_a_reply_of_its_own(tmp_path: Path) -> None:
    Journal(tmp_path, {}).append([Reply("k", text) for text in "AB"])
    journal = Journal(tmp_path, {})
    assert [journal.take("k") for _ in range(3)] == [Reply("k", "A"), Reply("k", "B"), None]


WRITER = """
import sys
from pathlib import Path
from spotdiff.journal import Journal, Reply

folder, name = sys.argv[1:]
journal = Journal(Path(folder), {})
for number in range(50):
    journal.append([Reply(f"{name}{number}", name)])
"""


def test_runs_at_once_on_one_journal_lose_no_reply(tmp_path: Path) -> None:
    runs = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "ab"]
    assert [run.wait(timeout=60) for run in runs] == [0, 0]
    journal = Journal(tmp_path, {})
    assert journal.kept == 100
    assert all(journal.take(f"{name}{number}") for name in "ab" for number in range(50))


def test_a_file_can_be_read_by_people_and_says_whose_it_is(tmp_path: Path) -> None:
    header, reply = map(json.loads, written(tmp_path, [Reply("k", "B", task="t", document=7)]).splitlines())
    assert header["run"]["model"] == "reader"
    assert set(header["run"]) >= {"date", "host", "process", "versions", "format"}
    assert (reply["reply"], reply["task"], reply["document"]) == ("B", "t", 7)


def test_a_folder_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="no reply can be kept there"):
        Journal(tmp_path / "file", {})


@pytest.mark.skipif(os.geteuid() == 0, reason="whoever runs as root may write everywhere")
def test_a_read_only_folder_is_said_at_once(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(JournalError, match="Permission denied"):
        Journal(tmp_path, {})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_ends_the_run_and_keeps_what_was_there(tmp_path: Path) -> None:
    Journal(tmp_path, {}).append([Reply("k", "B")])
    old = set(tmp_path.iterdir())
    journal = Journal(tmp_path, {})
    (own,) = set(tmp_path.iterdir()) - old
    own.unlink()
    own.symlink_to("/dev/full")
    with pytest.raises(JournalError, match=r"No space left.*The 1 replies before stay"):
        journal.append([Reply("l", "C")])
    own.unlink()
    assert Journal(tmp_path, {}).take("k") == Reply("k", "B")


def test_too_little_room_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {})
    journal.check_room(1)
    with pytest.raises(JournalError, match="no question was asked"):
        journal.check_room(10**12)


PICTURES = st.builds(
    lambda mode, width, height, values: Image.frombytes(
        mode, (width, height), bytes(values[: width * height * len(mode)])
    ),
    st.sampled_from(["L", "RGB"]),
    st.integers(1, 2),
    st.integers(1, 2),
    st.lists(st.integers(0, 1), min_size=12, max_size=12),
)
MESSAGES = st.recursive(
    st.text("ab", max_size=2) | st.integers(0, 1) | st.booleans() | st.none() | PICTURES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
    max_leaves=6,
)


def plain(message: Any) -> Any:
    """The message as values that Python compares, with their types."""
    if isinstance(message, dict):
        return {"mapping": {name: plain(value) for name, value in message.items()}}
    if isinstance(message, list):
        return [plain(item) for item in message]
    if isinstance(message, Image.Image):
        return (message.mode, message.size, np.asarray(message).tolist())
    return (type(message).__name__, message)


@settings(max_examples=500)
@given(MESSAGES, MESSAGES)
def test_two_messages_have_one_digest_if_and_only_if_they_say_and_show_the_same(first: Any, second: Any) -> None:
    assert (message_digest(first) == message_digest(second)) == (plain(first) == plain(second))


@given(
    st.lists(PICTURES, min_size=1, max_size=3),
    st.lists(TEXTS, min_size=1, max_size=3, unique=True),
    st.data(),
)
def test_one_pixel_one_letter_or_another_order_changes_the_digest(
    pictures: list[Image.Image], texts: list[str], data: st.DataObject
) -> None:
    before = message_digest([pictures, texts])
    changed = [picture.copy() for picture in pictures]
    assert message_digest([changed, list(texts)]) == before
    picture = data.draw(st.sampled_from(changed))
    place = (picture.width - 1, picture.height - 1)
    old = np.asarray(picture)[place[1], place[0]]
    picture.putpixel(place, 255 - int(old) if picture.mode == "L" else (255, 255, int(255 - old[2])))
    assert message_digest([changed, texts]) != before
    assert message_digest([pictures, [*texts[:-1], f"{texts[-1]}."]]) != before
    if len(texts) > 1:
        assert message_digest([pictures, texts[::-1]]) != before


def test_a_video_counts_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    def digest(name: str) -> str:
        path = str(tmp_path / name)
        in_message = message_digest([{"type": "video", "url": path}])
        assert in_message == message_digest([{"type": "video", "url": f"file://{path}"}])
        return in_message + message_digest(Media([path]))

    (tmp_path / "a.mp4").write_bytes(b"film")
    (tmp_path / "b.mp4").write_bytes(b"film")
    (tmp_path / "c.mp4").write_bytes(b"other")
    assert digest("a.mp4") == digest("b.mp4") != digest("c.mp4")
    before = digest("a.mp4")
    (tmp_path / "a.mp4").write_bytes(b"longer film")
    assert digest("a.mp4") != before


def test_a_text_that_names_a_file_stays_a_text(tmp_path: Path) -> None:
    path = tmp_path / "a"
    before = message_digest({"type": "text", "text": str(path)})
    path.write_bytes(b"content")
    assert message_digest({"type": "text", "text": str(path)}) == before


def test_frames_as_an_array_count_by_their_values_and_shape() -> None:
    frames = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    others = [frames.reshape(2, 3, 2), frames.astype(np.uint16), frames[::-1]]
    assert message_digest([frames]) == message_digest([frames.copy()])
    assert message_digest([frames]) not in {message_digest([other]) for other in others}


def test_colours_of_a_palette_count() -> None:
    image = Image.new("P", (1, 1), 0)
    image.putpalette([255, 0, 0])
    other = Image.new("P", (1, 1), 0)
    other.putpalette([0, 255, 0])
    assert message_digest(image) != message_digest(other)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(SettingError, match="cannot be compared between runs"):
        message_digest([object()])
