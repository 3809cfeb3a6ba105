"""Frames on disk: what is read is what was written, or nothing."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from spotdiff.media.store import FrameKey, FrameStore

ROOM = 10**9


def key(video: str = "v", sampling: str = "s", decoder: str = "d") -> FrameKey:
    return FrameKey(video, sampling, decoder)


def noise(seed: int, count: int = 3, width: int = 40, height: int = 30) -> list[Image.Image]:
    draw = numpy.random.default_rng(seed)
    return [Image.fromarray(draw.integers(0, 256, (height, width, 3), numpy.uint8)) for _ in range(count)]


def pixels(frames: object) -> list[tuple[tuple[int, int], bytes]]:
    assert isinstance(frames, (list, tuple))
    return [(frame.size, frame.tobytes()) for frame in frames]


def entries(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.frames"))


# --- what is read is what was written -----------------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(1, 20), st.integers(1, 20), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_every_pixel_comes_back(
    tmp_path_factory: pytest.TempPathFactory, count: int, width: int, height: int, seed: int
) -> None:
    store = FrameStore(tmp_path_factory.mktemp("store"), ROOM)
    frames = noise(seed, count, width, height)
    store.put(key(), frames)
    found = store.get(key())
    assert pixels(found) == pixels(frames)
    assert found is not None
    assert {frame.mode for frame in found} == {"RGB"}


def test_each_part_of_the_key_tells_entries_apart(tmp_path: Path) -> None:
    store = FrameStore(tmp_path, ROOM)
    keys = [key(), key(video="w"), key(sampling="t"), key(decoder="e"), key("vs", "", "d"), key("v", "sd", "")]
    for number, each in enumerate(keys):
        assert store.get(each) is None
        store.put(each, noise(number))
    for number, each in enumerate(keys):
        assert pixels(store.get(each)) == pixels(noise(number))


def test_the_name_of_an_entry_is_the_same_in_every_process() -> None:
    code = "from spotdiff.media.store import FrameKey; print(FrameKey('v', 's', 'd').name())"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    expected = hashlib.sha256(b'[1, "v", "s", "d"]').hexdigest()[:40]
    assert done.stdout.strip() == key().name() == expected


# --- damage -------------------------------------------------------------------------------------------------------


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_an_entry_with_any_byte_changed_or_cut_anywhere_is_never_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("store")
    store = FrameStore(folder, ROOM)
    store.put(key(), noise(0))
    (path,) = entries(folder)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    assert store.get(key()) is None
    assert not path.exists()
    store.put(key(), noise(0))
    assert pixels(store.get(key())) == pixels(noise(0))


def test_damage_is_said_with_the_name_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = FrameStore(tmp_path, ROOM)
    store.put(key(), noise(0))
    (path,) = entries(tmp_path)
    path.write_bytes(b"")
    assert store.get(key()) is None
    assert f"{path} is damaged" in capsys.readouterr().err


def test_an_entry_that_holds_other_frames_is_not_taken_for_these(tmp_path: Path) -> None:
    store = FrameStore(tmp_path, ROOM)
    store.put(key(), noise(0))
    store.put(key("w"), noise(1))
    paths = {path.name: path for path in entries(tmp_path)}
    os.replace(paths[f"{key('w').name()}.frames"], paths[f"{key().name()}.frames"])
    assert store.get(key()) is None


# --- room ---------------------------------------------------------------------------------------------------------


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    FrameStore(tmp_path, ROOM).put(key("size"), noise(0))
    (path,) = entries(tmp_path)
    one = path.stat().st_size
    path.unlink()
    store = FrameStore(tmp_path, 3 * one + one // 2)
    keys = [key(name) for name in "abcd"]
    for number, each in enumerate(keys[:3]):
        store.put(each, noise(number))
        os.utime(store._path(each), (1000 + number, 1000 + number))
    assert store.get(keys[0]) is not None
    store.put(keys[3], noise(3))
    assert [store.has(each) for each in keys] == [True, False, True, True]
    assert sum(path.stat().st_size for path in entries(tmp_path)) <= store.most_bytes


def test_an_entry_larger_than_the_store_is_left_out_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = FrameStore(tmp_path, 1000)
    store.put(key(), noise(0))
    assert entries(tmp_path) == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert "SPOTDIFF_FRAME_DISK" in capsys.readouterr().err


_FULL = """
import resource, sys
sys.path.insert(0, {here!r})
from pathlib import Path
from test_store import ROOM, FrameStore, key, noise
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
store = FrameStore(Path({folder!r}), ROOM)
for number in range(3):
    store.put(key(), noise(number))
"""


def test_a_disk_that_takes_no_more_leaves_no_entry_and_is_said_once(tmp_path: Path) -> None:
    code = _FULL.format(here=str(Path(__file__).parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("no frames can be stored") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_unfinished_files_of_processes_that_were_ended_are_removed_and_those_at_work_are_not(tmp_path: Path) -> None:
    store = FrameStore(tmp_path, ROOM)
    (tmp_path / "ab").mkdir()
    old, new = tmp_path / "ab" / "old.unfinished", tmp_path / "ab" / "new.unfinished"
    old.write_bytes(b"1")
    new.write_bytes(b"1")
    os.utime(old, (time.time() - 7200,) * 2)
    store.put(key(), noise(0))
    assert not old.exists()
    assert new.exists()


# --- several processes, and their ends ----------------------------------------------------------------------------

_FILLER = """
import sys
sys.path.insert(0, {here!r})
from pathlib import Path
from test_store import ROOM, FrameStore, key, noise
store = FrameStore(Path({folder!r}), ROOM)
frames = noise(0, 20, 200, 200)
print("ready", flush=True)
while True:
    store.put(key(), frames)
"""


def filler(folder: Path) -> subprocess.Popen[str]:
    code = _FILLER.format(here=str(Path(__file__).parent), folder=str(folder))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_processes_that_fill_one_entry_and_are_killed_leave_it_whole_or_not_there(tmp_path: Path) -> None:
    wanted = pixels(noise(0, 20, 200, 200))
    store = FrameStore(tmp_path, ROOM)
    seen = 0
    for wait in (0.0, 0.01, 0.05, 0.2):
        both = [filler(tmp_path), filler(tmp_path)]
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            found = store.get(key())
            assert found is None or pixels(found) == wanted
            seen += found is not None
        for process in both:
            process.send_signal(signal.SIGKILL)
            process.wait()
        found = store.get(key())
        assert found is None or pixels(found) == wanted
    assert seen or store.get(key()) is not None
    assert all(path.suffix in (".frames", ".unfinished") for path in tmp_path.rglob("*") if path.is_file())


# --- one fills, others wait ---------------------------------------------------------------------------------------


def waited(store: FrameStore, patience: float) -> float:
    """Seconds until this process may fill the entry."""
    start = time.monotonic()
    with store.filling(key(), patience):
        return time.monotonic() - start


def test_who_wants_an_entry_that_is_being_filled_waits_for_it_but_not_for_ever(tmp_path: Path) -> None:
    store = FrameStore(tmp_path, ROOM)
    with store.filling(key(), 60.0):
        with store.filling(key("another"), 60.0):
            pass
        assert waited(store, 0.2) >= 0.2
    assert waited(store, 60.0) < 30
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


_HOLDER = """
import sys, time
sys.path.insert(0, {here!r})
from pathlib import Path
from test_store import ROOM, FrameStore, key
with FrameStore(Path({folder!r}), ROOM).filling(key(), 60.0):
    print("ready", flush=True)
    time.sleep(600)
"""


def test_a_process_that_is_killed_while_it_fills_keeps_nobody_waiting(tmp_path: Path) -> None:
    code = _HOLDER.format(here=str(Path(__file__).parent), folder=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    store = FrameStore(tmp_path, ROOM)
    assert waited(store, 0.2) >= 0.2
    process.kill()
    process.wait()
    assert waited(store, 600.0) < 300


def test_a_folder_where_nothing_can_be_locked_makes_nobody_wait(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with FrameStore(tmp_path / "file", ROOM).filling(key(), 60.0):
        pass


# --- what cannot be stored ----------------------------------------------------------------------------------------


def test_frames_of_several_sizes_and_no_frames_are_left_out(tmp_path: Path) -> None:
    store = FrameStore(tmp_path, ROOM)
    store.put(key(), [])
    store.put(key(), [*noise(0, 1), *noise(1, 1, 41)])
    assert entries(tmp_path) == []


def test_a_store_that_others_fill_stays_within_its_limit_and_a_share_of_it_for_each(tmp_path: Path) -> None:
    FrameStore(tmp_path, ROOM).put(key("size"), noise(0))
    one = entries(tmp_path)[0].stat().st_size
    limit = 100 * one
    stores = [FrameStore(tmp_path, limit) for _ in range(3)]
    largest = 0
    for number in range(150):
        stores[number % 3].put(key(str(number)), noise(0))
        largest = max(largest, sum(path.stat().st_size for path in entries(tmp_path)))
    assert 0.9 * limit <= largest <= limit * (1 + 3 / 64)


# --- the end of a process -----------------------------------------------------------------------------------------

_AT_THE_END = """
import atexit, sys
sys.path.insert(0, {here!r})
from pathlib import Path
from test_store import ROOM, FrameStore, key
import numpy, pyarrow, PIL.Image
def read():
    try:
        FrameStore(Path({folder!r}), ROOM).get(key())
    except RuntimeError:
        pass
atexit.register(read)
"""


def test_an_entry_that_is_read_as_the_process_ends_is_not_taken_for_damaged(tmp_path: Path) -> None:
    store = FrameStore(tmp_path, ROOM)
    store.put(key(), noise(0))
    code = _AT_THE_END.format(here=str(Path(__file__).parent), folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert store.has(key())
