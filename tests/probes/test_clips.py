"""Clips of a video hold every frame once, and are named by times that are right within half a frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from videos import numbers_in, write_video

from spotdiff.benchmarks.m3verse.clips import clips_of
from spotdiff.benchmarks.m3verse.oracle import Cutting
from spotdiff.errors import SettingError
from spotdiff.media.sampling import Sampling
from spotdiff.media.video import probe, read_frames
from spotdiff.settings import Settings

GAPS = st.lists(st.integers(10, 2000), min_size=0, max_size=400)
"""Milliseconds between two frames: 100 a second at most."""


def times_of(gaps: Sequence[int]) -> list[float]:
    times = [0.0]
    for gap in gaps:
        times.append(times[-1] + gap / 1000)
    return times


def spoken(timestamps: str) -> tuple[float, float]:
    found = re.fullmatch(r"(\d+\.\d\d)s - (\d+\.\d\d)s", timestamps)
    assert found is not None
    return float(found[1]), float(found[2])


@given(GAPS, st.integers(1, 120))
def test_every_frame_is_in_one_clip_and_all_but_the_last_clip_have_the_same_length(
    gaps: list[int], length: int
) -> None:
    times = times_of(gaps)
    clips = list(clips_of(times, length))
    held = [frame for clip in clips for frame in range(clip.first, clip.last + 1)]
    assert held == list(range(len(times)))
    assert {clip.last - clip.first + 1 for clip in clips[:-1]} <= {length}
    assert 1 <= clips[-1].last - clips[-1].first + 1 <= length


@given(GAPS.filter(bool), st.integers(1, 120))
def test_times_of_a_clip_are_right_within_half_a_frame_whatever_the_rate(gaps: list[int], length: int) -> None:
    times = times_of(gaps)
    ends = [*times[1:], times[-1] + gaps[-1] / 1000]
    clips = list(clips_of(times, length))
    for clip in clips:
        start, end = spoken(clip.timestamps)
        assert abs(start - times[clip.first]) <= 0.5 * (ends[clip.first] - times[clip.first])
        assert abs(end - ends[clip.last]) <= 0.5 * (ends[clip.last] - times[clip.last])
        assert clip.total == pytest.approx(ends[-1])
    assert [clip.end for clip in clips[:-1]] == [clip.start for clip in clips[1:]]
    assert spoken(clips[-1].timestamps)[1] == pytest.approx(clips[-1].total, abs=0.0051)


def test_a_single_frame_is_a_clip() -> None:
    (clip,) = clips_of([0.0], 50)
    assert (clip.first, clip.last, clip.timestamps) == (0, 0, "0.00s - 0.00s")


VARIABLE = [0, 400, 1000, 1100, 2500, 2600, 2700, 4000, 4100, 6000, 6500, 6900, 7000, 7100, 9000, 9100, 9900, 11000]
"""Thousandths of a frame's third of a second."""


@pytest.mark.parametrize("ticks", [None, VARIABLE])
def test_frames_of_clips_are_those_of_the_video_each_once_and_shown_at_the_times_that_are_said(
    tmp_path: Path, ticks: list[int] | None
) -> None:
    path = write_video(tmp_path / "v.mp4", 18, ticks=ticks, rate=Fraction(3))
    times = [(ticks[frame] if ticks else 1000 * frame) / 3000 for frame in range(18)]
    cutting = Cutting.of(Settings(clip_length=7, clip_frames=50, frame_size=(56, 32)), "any")
    clips = list(clips_of(probe(path).times, 7))
    shown = [numbers_in(read_frames(path, cutting.sampling(clip))) for clip in clips]
    assert shown == [list(range(7)), list(range(7, 14)), list(range(14, 18))]
    for numbers, clip in zip(shown, clips, strict=True):
        assert spoken(clip.timestamps)[0] == pytest.approx(times[numbers[0]], abs=0.01)
        if numbers[-1] + 1 < 18:
            assert spoken(clip.timestamps)[1] == pytest.approx(times[numbers[-1] + 1], abs=0.01)


def test_of_a_long_clip_frames_are_taken_evenly_with_both_ends(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4", 30)
    taken = read_frames(path, Sampling(4, size=(56, 32), span=(10, 25)))
    assert numbers_in(taken) == [10, 15, 20, 25]


@given(st.integers(1, 60), st.integers(0, 80), st.integers(0, 80), st.integers(1, 40))
def test_a_span_takes_what_the_same_number_takes_of_a_video_of_that_length(
    frames: int, first: int, more: int, count: int
) -> None:
    times = [float(frame) for frame in range(frames)]
    last = first + more
    within = [time for time in times if first <= time <= last]
    wanted = [first + place for place in Sampling(count).indices(within)]
    assert Sampling(count, span=(first, last)).indices(times) == wanted


@pytest.mark.parametrize("span", [(3, 2), (-1, 4)])
def test_a_span_that_is_none_is_refused(span: tuple[int, int]) -> None:
    with pytest.raises(SettingError, match="A span is the first and the last frame"):
        Sampling(4, span=span)


def test_a_span_goes_with_a_number_of_frames_alone() -> None:
    with pytest.raises(SettingError, match="A span is"):
        Sampling(fps=2.0, span=(0, 3))


def test_stored_frames_of_two_spans_are_not_taken_for_each_other() -> None:
    told = {Sampling(4, span=span).told() for span in (None, (0, 9), (10, 19))}
    assert len(told) == 3


def test_frames_of_a_clip_follow_the_family_of_the_model_that_writes_captions_unless_they_are_set() -> None:
    assert Cutting.of(Settings(), "Qwen3-VL-8B-Instruct-0a1b2c").shown == 100
    assert Cutting.of(Settings(), "InternVL3_5-8B-0a1b2c").shown == 50
    assert Cutting.of(Settings(clip_frames=64), "Qwen3-VL-8B-Instruct-0a1b2c").shown == 64
