"""Filling the store of decoded frames ahead of time, in several processes."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from spotdiff.errors import DataError, SettingError, SpotdiffError
from spotdiff.evaluation import Evaluation
from spotdiff.media.clips import clip_bytes, is_stored, store_frames
from spotdiff.media.prefetch import Wanted, clips_of
from spotdiff.media.sampling import Sampling
from spotdiff.settings import Settings
from spotdiff.tasks import task

_STORED_SHARE = 0.55
"""Bytes of the store for each byte of pixels, measured on footage."""


@dataclass
class Warmed:
    """What became of the clips of a task. faulty: a message for each file with a fault. left: not looked at."""

    there: int = 0
    made: int = 0
    faulty: list[str] = field(default_factory=list)
    left: int = 0

    def __str__(self) -> str:
        left = f", {self.left} left: interrupted, run it again to go on" if self.left else ""
        return f"{self.there} clips were there, {self.made} made, {len(self.faulty)} faulty{left}"


def warm(
    name: str,
    frames: int | None = None,
    fps: float | None = None,
    size: tuple[int, int] | None = None,
    jobs: int | None = None,
) -> Warmed:
    """Put the frames of all videos of a task or group into the store, and show how far it is.

    frames, fps, size: as the settings of these names; by default the task's own. jobs: processes; default: half of the
    processors. An entry that exists is left as it is; two runs at once go through the videos in different orders.
    Raises SpotdiffError before any work when the data are not there or there is nothing to fill.
    """
    clips = _clips(name, frames, fps, size)
    found = Warmed(left=len(clips))
    # By chance alone two runs at once do not meet at the same videos all the time.
    order = random.SystemRandom().sample(sorted(clips, key=str), len(clips))
    _fill(order, jobs or max(1, (os.cpu_count() or 1) // 2), name, found)
    return found


def _clips(name: str, frames: int | None, fps: float | None, size: tuple[int, int] | None) -> list[Wanted]:
    evaluation = Evaluation.of(task(name))
    settings = evaluation.settings
    if not evaluation.benchmark.video_columns:
        raise SettingError(f"{name} has images and no videos: there is nothing to decode ahead of time")
    if not settings.frame_disk:
        raise SettingError("SPOTDIFF_FRAME_DISK is 0: no frames are kept. Set it to the gigabytes they may take")
    if frames is not None or fps is not None:
        settings = replace(settings, frames=frames, fps=fps)
    evaluation = replace(evaluation, settings=replace(settings, frame_size=size or settings.frame_size))
    clips = {clip: None for row in evaluation.rows() for clip in clips_of(evaluation.question(row), whole=True)}
    if not clips:
        raise SettingError(f"{name} shows no video: there is nothing to decode ahead of time")
    _check_room(list(clips), settings)
    return list(clips)


def _check_room(clips: list[Wanted], settings: Settings) -> None:
    """Say beforehand when the store will not hold all: each clip would push out an earlier one."""
    largest = 0
    for path, sampling in clips:
        try:
            largest += clip_bytes(path, sampling) * 3 // 4
        except DataError:
            continue
    needed = largest * _STORED_SHARE / 1e9
    if needed > settings.frame_disk:
        print(
            f"spotdiff: warning: the frames take about {needed:.0f} GB, and SPOTDIFF_FRAME_DISK is "
            f"{settings.frame_disk}: the first ones will be removed for the last",
            file=sys.stderr,
        )


def _fill(clips: list[Wanted], jobs: int, name: str, found: Warmed) -> None:
    from tqdm import tqdm  # type: ignore[import-untyped]

    # A fork would copy locks that other threads hold.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _begin, (os.getpid(),)) as pool:
        futures = [pool.submit(_made, *clip) for clip in clips]
        with tqdm(total=len(clips), desc=f"spotdiff: {name}", unit=" clips", disable=None) as progress:
            try:
                for future in as_completed(futures):
                    _note(future, found)
                    progress.set_postfix(made=found.made, faulty=len(found.faulty), refresh=False)
                    progress.update()
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
            except BrokenProcessPool as error:
                pool.shutdown(cancel_futures=True)
                raise SpotdiffError(
                    f"A process ended while it decoded ({error}). `spotdiff data check` finds a file that crashes the "
                    "decoder; with too little memory take fewer --jobs. What was made stays"
                ) from error


def _note(future: Future[bool], found: Warmed) -> None:
    try:
        made = future.result()
    except DataError as error:
        found.faulty.append(str(error))
    else:
        found.made += made
        found.there += not made
    found.left -= 1


def _made(path: Path, sampling: Sampling) -> bool:
    made = store_frames(path, sampling)
    if made and not is_stored(path, sampling):
        raise DataError(f"{path}: its frames could not be stored")
    return made


def _begin(parent: int) -> None:
    """An interrupt is the parent's to handle; without a parent nobody wants the frames."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=partial(_end_with, parent), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
