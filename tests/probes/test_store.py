"""The store of texts keeps what was written, whatever becomes of the process, and says which text counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotdiff.errors import SettingError
from spotdiff.probes.store import (
    EMPTY,
    FAILED,
    MADE,
    REFUSED,
    StoredText,
    TextKey,
    Writer,
    counted,
    kinds,
    outcome_of,
    read_texts,
)

KIND, MODEL = "captions", "model-123456"


def key(number: int = 0, **changes: str) -> TextKey:
    return TextKey(**{"kind": KIND, "prompt": "p", "media": f"m{number}", **changes})


def text(number: int = 0, said: str = "a room", **changes: object) -> StoredText:
    return StoredText(key(number), MODEL, said, **changes)  # type: ignore[arg-type]


def write(folder: Path, *texts: StoredText) -> None:
    writer = Writer(folder, KIND, MODEL, {"model": "openai"})
    for one in texts:
        writer.add(one)


def read(folder: Path) -> dict[TextKey, StoredText]:
    return dict(read_texts(folder, KIND).by_model.get(MODEL, {}))


@given(st.lists(st.tuples(st.integers(0, 3), st.text()), max_size=20))
def test_what_was_written_is_read_again_and_of_two_texts_for_the_same_the_later_one_counts(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[int, str]]
) -> None:
    folder = tmp_path_factory.mktemp("store")
    write(folder, *(text(number, words) for number, words in said))
    assert {one.media: found.text for one, found in read(folder).items()} == {f"m{n}": words for n, words in said}


def test_any_character_survives_a_lone_surrogate_and_line_breaks_too(tmp_path: Path) -> None:
    words = "a\nb\r\u2028c\ud800\x00d"
    write(tmp_path, text(said=words))
    assert read(tmp_path)[key()].text == words


def test_everything_about_a_text_is_kept(tmp_path: Path) -> None:
    one = text(outcome=REFUSED, missing=3, about="a.mp4", data="abc", edited=True)
    write(tmp_path, one)
    assert read(tmp_path)[key()] == one


def test_texts_differ_by_every_part_of_what_they_are_of(tmp_path: Path) -> None:
    keys = [key(), key(prompt="q"), key(media="n"), key(part="frames 0-9"), key(source="s")]
    write(tmp_path, *(StoredText(one, MODEL, str(number)) for number, one in enumerate(keys)))
    found = read(tmp_path)
    assert [found[one].text for one in keys] == ["0", "1", "2", "3", "4"]


def test_a_failure_never_takes_the_place_of_a_text(tmp_path: Path) -> None:
    write(tmp_path, text(said="good"), text(said="", outcome=FAILED, failure="time-out"))
    assert read(tmp_path)[key()].text == "good"


def test_what_a_person_wrote_stays_when_a_model_writes_again(tmp_path: Path) -> None:
    write(tmp_path, text(said="model"), text(said="person", edited=True), text(said="model again"))
    assert read(tmp_path)[key()].text == "person"
    write(tmp_path, text(said="person again", edited=True))
    assert read(tmp_path)[key()].text == "person again"


def test_the_later_text_counts_whichever_file_holds_it(tmp_path: Path) -> None:
    late, early = (f"2026-01-01T00:00:0{second}+00:00" for second in (2, 1))
    write(tmp_path, text(said="late", date=late))
    write(tmp_path, text(said="early", date=early))
    assert read(tmp_path)[key()].text == "late"


def test_a_file_says_what_was_asked_and_is_made_with_its_first_text(tmp_path: Path) -> None:
    writer = Writer(tmp_path, KIND, MODEL, {"model": "openai", "arguments": {"a": "b"}})
    assert list(tmp_path.iterdir()) == []
    writer.add(text())
    (file,) = (tmp_path / KIND / MODEL).iterdir()
    head, line = map(json.loads, file.read_text().splitlines())
    assert head["run"]["model"] == "openai"
    assert {"date", "versions", "arguments"} <= set(head["run"])
    assert line["text"] == "a room"


def test_a_damaged_or_cut_line_costs_no_other_text_and_is_counted(tmp_path: Path) -> None:
    write(tmp_path, text(0), text(1), text(2))
    (file,) = (tmp_path / KIND / MODEL).iterdir()
    lines = file.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"a room", b"a roof")
    file.write_bytes(b"\n".join(lines)[:-20])
    assert set(read(tmp_path)) == {key(0)}
    assert read_texts(tmp_path, KIND).damaged == {file: 2}


def test_threads_share_a_writer(tmp_path: Path) -> None:
    writer = Writer(tmp_path, KIND, MODEL, {})
    threads = [
        threading.Thread(target=lambda start=start: [writer.add(text(n)) for n in range(start, start + 25)])  # type: ignore[misc]
        for start in range(0, 100, 25)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read(tmp_path)) == 100
    assert len(list((tmp_path / KIND / MODEL).iterdir())) == 1


_WRITES_FOR_EVER = """
import sys
from pathlib import Path
from spotdiff.probes.store import StoredText, TextKey, Writer
writer = Writer(Path(sys.argv[1]), "captions", "model-123456", {})
for number in range(10**6):
    writer.add(StoredText(TextKey("captions", "p", f"m{number}"), "model-123456", "x" * 5000))
    print(number, flush=True)
"""


def test_a_process_that_is_killed_leaves_every_text_that_it_said_was_written(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITES_FOR_EVER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    said = [int(process.stdout.readline()) for _ in range(40)]
    process.kill()
    said += [int(line) for line in process.stdout.read().split() if line.isdecimal()]
    process.wait()
    assert {key(number) for number in said[:-1]} <= set(read(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SettingError, match="SPOTDIFF_PROBES"):
        write(tmp_path, text())


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / KIND).write_text("")
    with pytest.raises(SettingError, match=r"captions.* cannot be written .*SPOTDIFF_PROBES"):
        write(tmp_path, text())


def test_a_store_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert read_texts(tmp_path / "none", KIND).by_model == {}
    assert kinds(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("A kitchen. A red cup stands on the table.", (MADE, "")),
        ("A", (MADE, "")),
        ("", (EMPTY, "")),
        (" \n", (EMPTY, "")),
        ("<think>hm</think>", (EMPTY, "")),
        ("I'm sorry, but I cannot describe this image.", (REFUSED, "")),
        ("[LMMS_EVAL_REQUEST_FAILED] Error code: 503", (FAILED, "server error")),
    ],
)
def test_a_reply_is_a_text_or_says_why_it_is_none(reply: str, outcome: tuple[str, str]) -> None:
    assert outcome_of(reply) == outcome


def test_outcomes_are_counted_in_their_order() -> None:
    found = counted([text(0), text(1, outcome=EMPTY), text(2), text(3, outcome=FAILED)])
    assert found == {"made": 2, "empty": 1, "refused": 0, "failed": 1}
