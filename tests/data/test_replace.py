"""A folder that takes another's place: what a dead writer leaves is cleared away, what a living one has is not."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spotdiff.data.replace import replacing

DIES = """
import os, signal, sys
from pathlib import Path
from spotdiff.data.replace import replacing

replace, done = os.replace, []

def dies(source, target):
    if len(done) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(replace(source, target))

os.replace = dies
with replacing(Path(sys.argv[1])) as new:
    (new / "file").write_text("new")
"""


def write(folder: Path, content: str) -> None:
    with replacing(folder) as new:
        assert new.name == folder.name
        (new / "file").write_text(content)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_new_folder_is_there_alone_when_the_block_ends(tmp_path: Path) -> None:
    for content in ("one", "two"):
        write(tmp_path / "set", content)
        assert (tmp_path / "set" / "file").read_text() == content
    assert names(tmp_path) == ["set"]
    assert names(tmp_path / "set") == ["file"]


def test_an_error_within_the_block_leaves_the_old_folder(tmp_path: Path) -> None:
    write(tmp_path / "set", "old")
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "set") as new:
        (new / "nowhere" / "file").write_text("new")
    assert (tmp_path / "set" / "file").read_text() == "old"
    assert names(tmp_path) == ["set"]


@pytest.mark.parametrize("renamed", [0, 1])
def test_a_writer_that_dies_within_the_exchange_costs_no_data(tmp_path: Path, renamed: int) -> None:
    write(tmp_path / "set", "old")
    died = subprocess.run([sys.executable, "-c", DIES, str(tmp_path / "set"), str(renamed)], capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert (tmp_path / "set").exists() == (renamed == 0)
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "set") as new:
        (new / "nowhere" / "file").write_text("new")
    assert (tmp_path / "set" / "file").read_text() == "old"
    assert names(tmp_path) == ["set"]


def test_of_two_writers_at_once_the_later_ones_folder_stays(tmp_path: Path) -> None:
    write(tmp_path / "set", "old")
    with replacing(tmp_path / "set") as slow:
        (slow / "file").write_text("slow")
        write(tmp_path / "set", "quick")
        assert (slow / "file").read_text() == "slow"
    assert (tmp_path / "set" / "file").read_text() == "slow"
    assert names(tmp_path) == ["set"]


SLOW = """
import os, sys, time
from pathlib import Path
from spotdiff.data.replace import replacing

replace = os.replace

def slow(source, target):
    replace(source, target)
    time.sleep(0.2)

os.replace = slow
with replacing(Path(sys.argv[1])) as new:
    (new / "file").write_text(sys.argv[2])
    print("written", flush=True)
    sys.stdin.read()
"""


def test_writers_that_end_at_the_same_time_wait_for_each_others_exchange(tmp_path: Path) -> None:
    write(tmp_path / "set", "old")
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", SLOW, str(tmp_path / "set"), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "written\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.close()
        writer.stderr.close()
    assert (tmp_path / "set" / "file").read_text() in ("0", "1", "2")
    assert names(tmp_path) == ["set"]


def test_only_what_writers_of_the_same_folder_left_is_cleared_away(tmp_path: Path) -> None:
    left, others = ".set-abcd_012", [".set", ".set-abcd_0123", ".set-x-abcd_012", ".sets-abcd_012", "set-abcd_012"]
    for name in (left, *others):
        (tmp_path / name).mkdir()
    write(tmp_path / "set", "new")
    assert names(tmp_path) == sorted([*others, "set"])


def test_a_folder_that_cannot_be_read_stops_no_writer(tmp_path: Path) -> None:
    (tmp_path / ".set-abcd_012").write_text("no folder")
    write(tmp_path / "set", "new")
    assert (tmp_path / "set" / "file").read_text() == "new"


def test_without_locks_of_folders_data_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refused(*_: object) -> None:
        raise OSError(9, os.strerror(9))

    monkeypatch.setattr(fcntl, "flock", refused)
    (tmp_path / ".set-abcd_012").mkdir()
    write(tmp_path / "set", "new")
    # It may be a living writer's.
    assert names(tmp_path) == [".set-abcd_012", "set"]
