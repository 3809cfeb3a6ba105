"""Preparing what the next questions show, in the background, while the model answers one."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from pathlib import Path

from spotdiff.errors import SpotdiffError
from spotdiff.media.clips import clip_bytes, frames_of, store_frames
from spotdiff.media.sampling import Sampling
from spotdiff.question import Asked, Panel, Video
from spotdiff.settings import load_settings

_LOOK_AHEAD = 64
"""Questions after the one that is asked now that are looked at."""

_PATIENCE = 10.0
"""Seconds that the end of the process, or a fork, waits for a clip that is being prepared."""

_THREADS = 2
"""That prepare clips. On two cores a model waited for 9 and 15 % of two runs with one, for 3 and 7 % with two."""

Wanted = tuple[Path, Sampling]
_Prepare = Callable[[Path, Sampling], object]


def clips_of(question: Asked, *, whole: bool) -> list[Wanted]:
    """The clips whose frames a question shows. whole: also of videos that are not given as images or in a panel."""
    found = []
    for part in question.parts:
        if isinstance(part, Panel):
            found += [(video.path, video.sampling) for video in part.videos]
        elif isinstance(part, Video) and (whole or part.as_images):
            found.append((part.path, part.sampling))
    return found


class Ahead:
    """The questions of a run in the order in which they are asked, and the clips of those that come next.

    As many clips are prepared as fit into the setting `frame_memory` beside those of the question that is asked now;
    the first ones that do not fit are put into the store alone, and nothing beyond them is prepared. Where questions
    come in an order that was not foreseen nothing is. Errors are dropped: they are raised when the question is asked.

    hold: prepares a clip that fits. store: prepares one that does not.
    """

    def __init__(
        self,
        hold: Callable[[Path, Sampling], object] = frames_of,
        store: Callable[[Path, Sampling], object] = store_frames,
    ) -> None:
        self._hold = hold
        self._store = store
        self._places: dict[Hashable, int] = {}
        self._clips: list[tuple[Wanted, ...]] = []
        self._last: int | None = None

    def expect(self, item: Hashable, clips: Iterable[Wanted]) -> None:
        """A question that will be asked after those that are expected already, and what it shows."""
        if item not in self._places:
            self._places[item] = len(self._clips)
            self._clips.append(tuple(clips))

    def asked(self, item: Hashable) -> None:
        """The model gets this question now: prepare what follows."""
        place = self._places.get(item)
        foreseen = place is not None and self._foreseen(place)
        self._last = place
        if place is not None and foreseen and any(self._clips[place + 1 : place + 1 + _LOOK_AHEAD]):
            _worker.follow(self._jobs(place))

    def _foreseen(self, place: int) -> bool:
        """Whether the question shows what the last one shows, or what comes next after that."""
        if self._last is None:
            return True
        last = self._clips[self._last]
        following = itertools.islice(self._clips, self._last + 1, None)
        return self._clips[place] in (last, next((clips for clips in following if clips != last), None))

    def _jobs(self, place: int) -> Iterator[Callable[[], object]]:
        planned = set(self._clips[place])
        room = load_settings().frame_memory * 10**6 - sum(map(_bytes, planned))
        for clips in self._clips[place + 1 : place + 1 + _LOOK_AHEAD]:
            beyond = False
            for clip in clips:
                if clip in planned:
                    continue
                planned.add(clip)
                size = _bytes(clip)
                if size <= room:
                    room -= size
                    yield partial(self._hold, *clip)
                else:
                    beyond = True
                    yield partial(self._store, *clip)
            if beyond:
                return


def _bytes(clip: Wanted) -> int:
    try:
        return clip_bytes(*clip)
    except SpotdiffError:
        return 0


class _Plan:
    """Jobs that several threads take in turn. at_work: how many are being done. spent: none is left to take."""

    def __init__(self, jobs: Iterator[Callable[[], object]]) -> None:
        self._jobs = jobs
        self._lock = threading.Lock()
        self.at_work = 0
        self.spent = False

    def do_next(self) -> None:
        """Do one job. Whatever goes wrong is found again, and told, when the question is asked."""
        with self._lock:
            job = None
            with contextlib.suppress(Exception):
                job = next(self._jobs, None)
            self.spent = job is None
            self.at_work += not self.spent
        if job is None:
            return
        try:
            with contextlib.suppress(Exception):
                job()
        finally:
            with self._lock:
                self.at_work -= 1


class _Worker:
    """Threads that do the jobs of the newest plan."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._plan: _Plan | None = None
        self._threads: list[threading.Thread] = []
        self._ended = False
        self._at_work = [threading.Lock() for _ in range(_THREADS)]
        """Each held by a thread while it does a job."""
        self._forking = threading.local()
        self._free = threading.Event()
        self._free.set()

    def follow(self, plan: Iterator[Callable[[], object]]) -> None:
        with self._changed:
            if self._ended:
                return
            self._plan = _Plan(plan)
            if not self._threads:
                self._threads = [
                    threading.Thread(target=self._run, args=(lock,), name="spotdiff-prefetch", daemon=True)
                    for lock in self._at_work
                ]
                for thread in self._threads:
                    thread.start()
            self._changed.notify_all()

    def end(self) -> None:
        """Begin no further job, and wait a little for those at work."""
        with self._changed:
            self._ended, self._plan = True, None
            self._changed.notify_all()
        end = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self, at_work: threading.Lock) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or (self._plan is not None and not self._plan.spent))
                plan = self._plan
            if plan is None:
                return
            while self._plan is plan and not plan.spent:
                self._free.wait(_PATIENCE)
                with at_work:
                    plan.do_next()
            with self._changed:
                if self._plan is plan and not plan.at_work:
                    self._plan = None

    def pause(self) -> None:
        """Before a fork: decoders and the import of modules hold locks that the new process could never have."""
        self._free.clear()
        end = time.monotonic() + _PATIENCE
        paused = [lock for lock in self._at_work if lock.acquire(timeout=max(0.0, end - time.monotonic()))]
        self._forking.paused = paused

    def go_on(self) -> None:
        for lock in self._forking.paused:
            lock.release()
        self._free.set()


_worker = _Worker()


def _begin_anew() -> None:
    """A process that is forked off has no thread of its own yet."""
    global _worker
    _worker = _Worker()


atexit.register(lambda: _worker.end())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _worker.pause(), after_in_parent=lambda: _worker.go_on(), after_in_child=_begin_anew
    )
