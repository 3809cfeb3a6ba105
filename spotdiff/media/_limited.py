"""Decoding in a process of its own, within a time limit."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from spotdiff.errors import DataError, SettingError, SpotdiffError
from spotdiff.media._decoded import VideoInfo, check_exists, fault

_CHILD = """
import json, sys
job = json.load(sys.stdin)
sys.path[:] = job["sys_path"]
from spotdiff.media._limited import serve
serve(job["file"], job["timeout"])
"""


def decode_within(path: Path, timeout: float) -> VideoInfo:
    """`spotdiff.media.video.decode_whole` in a child process that is killed after so many seconds.

    Raises DataError for any fault of the file, SpotdiffError where the child cannot run at all.
    """
    if not 0 < timeout < math.inf:
        raise SettingError(f"The time limit for decoding a video is a number of seconds above 0, not {timeout}")
    check_exists(path)
    job = json.dumps({"sys_path": [str(entry) for entry in sys.path], "file": str(path), "timeout": timeout})
    command = [sys.executable, "-I", "-c", _CHILD]
    try:
        done = subprocess.run(command, input=job, capture_output=True, text=True, errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired:
        what = f"the file was not decoded within {timeout:g} seconds"
        raise fault(path, what, "Fetch the file again, or raise SPOTDIFF_VIDEO_TIMEOUT if it is very long") from None
    if done.returncode < 0:
        raise fault(path, f"the decoder crashed on the file (signal {-done.returncode})")
    if done.returncode > 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SpotdiffError(f"{path} could not be checked: {last}")
    answer = json.loads(done.stdout)
    if "fault" in answer:
        raise DataError(answer["fault"])
    return VideoInfo(answer["codec"], answer["width"], answer["height"], tuple(answer["times"]))


def serve(file: str, timeout: float) -> None:
    """Run in the child: decode, and print one line of JSON. Ends by itself should the parent be gone."""
    from spotdiff.media.video import decode_whole

    signal.setitimer(signal.ITIMER_REAL, timeout + 1)
    try:
        answer = asdict(decode_whole(Path(file)))
    except DataError as error:
        answer = {"fault": str(error)}
    print(json.dumps(answer))
