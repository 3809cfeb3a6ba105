"""Decoding within a time limit, in a process of its own."""

from __future__ import annotations

import errno
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from videos import edit, packets_of, write_video

from spotdiff.errors import DataError, SettingError, SpotdiffError
from spotdiff.media.video import Sampling, decode_whole, probe, read_frames, verify

pytestmark = pytest.mark.slow

LONG = 60.0


def test_a_whole_video_gives_what_decoding_here_gives(tmp_path: Path) -> None:
    path = edit(write_video(tmp_path / "ein Clip, gekürzt.mp4", 30), 5, 9)
    assert verify(path, LONG) == decode_whole(path) == probe(path)


@pytest.mark.parametrize("content", [b"", b"a text\n" * 99])
def test_a_fault_is_told_as_if_it_had_been_found_here(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"empty|no video that can be opened") as caught:
        verify(path, LONG)
    assert str(caught.value).startswith(f"{path}: ")


def test_damage_within_the_packets_is_found(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 30)
    whole = path.read_bytes()
    end = packets_of(path)[20].pos
    path.write_bytes(whole[: end - 300] + bytes(300) + whole[end:])
    assert probe(path).frames == 30
    with pytest.raises(DataError, match="damaged"):
        verify(path, LONG)


def test_a_missing_file_is_found_without_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/python")
    with pytest.raises(DataError, match="no such file"):
        verify(tmp_path / "a.mp4")


def test_a_file_that_hangs_the_decoder_ends_with_the_time_and_leaves_no_process(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    os.mkfifo(path)
    start = time.monotonic()
    with pytest.raises(DataError, match=r"not decoded within 1\.5 seconds"):
        verify(path, 1.5)
    assert 1.5 <= time.monotonic() - start < 10
    with pytest.raises(OSError, match=os.strerror(errno.ENXIO)):
        os.open(path, os.O_WRONLY | os.O_NONBLOCK)


def test_reading_refuses_what_may_block_for_ever(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.mp4")
    with pytest.raises(DataError, match="not a regular file"):
        read_frames(tmp_path / "a.mp4", Sampling(count=1))
    with pytest.raises(DataError, match="not a regular file"):
        probe(tmp_path / "a.mp4")


def run_instead_of_python(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    command = folder / "python"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(command))


def test_a_crash_of_the_decoder_is_a_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "a.mp4", 3)
    run_instead_of_python(tmp_path, monkeypatch, "kill -SEGV $$")
    with pytest.raises(DataError, match=r"crashed on the file \(signal 11\)"):
        verify(path, LONG)


def test_a_process_that_cannot_run_is_no_fault_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "a.mp4", 3)
    run_instead_of_python(tmp_path, monkeypatch, "echo 'no module named spotdiff' >&2; exit 3")
    with pytest.raises(SpotdiffError, match="no module named spotdiff") as caught:
        verify(path, LONG)
    assert not isinstance(caught.value, DataError)


def test_many_videos_are_checked_at_once(tmp_path: Path) -> None:
    paths = [write_video(tmp_path / f"{frames}.mp4", frames) for frames in (3, 4, 5, 6)]
    with ThreadPoolExecutor(4) as pool:
        assert [info.frames for info in pool.map(verify, paths)] == [3, 4, 5, 6]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_time_limit_that_cannot_be_used_is_a_setting_error(tmp_path: Path, timeout: float) -> None:
    with pytest.raises(SettingError):
        verify(tmp_path / "a.mp4", timeout)
