"""Which frames are taken: compared with numpy, and with a search over all frames in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotdiff.errors import SettingError
from spotdiff.media.sampling import Sampling, even_indices, even_instants, indices_at, indices_at_fps


def by_numpy(frames: int, count: int) -> list[int]:
    return [int(index) for index in np.round(np.linspace(0, frames - 1, count)).astype(int)]


def by_search(times: Sequence[Fraction], fps: Fraction) -> list[int]:
    taken: list[int] = []
    wanted = Fraction(0)
    while wanted <= times[-1] - times[0]:
        nearest = min(range(len(times)), key=lambda index: (abs(times[index] - times[0] - wanted), index))
        if nearest not in taken:
            taken.append(nearest)
        wanted += 1 / fps
    return taken


@pytest.mark.parametrize("frames", [1, 2, 3, 59, 60, 200, 506, 1000])
def test_even_frames_are_those_of_numpy(frames: int) -> None:
    assert all(even_indices(frames, count) == by_numpy(frames, count) for count in range(1, frames + 1))


def test_even_frames_are_those_of_numpy_for_every_short_video() -> None:
    pairs = [(frames, count) for frames in range(1, 130) for count in range(1, frames + 1)]
    assert [pair for pair in pairs if even_indices(*pair) != by_numpy(*pair)] == []


@settings(deadline=None)
@given(st.integers(1, 100_000), st.integers(1, 2_000))
def test_a_number_of_frames_gives_numpys_places_each_once(frames: int, count: int) -> None:
    assert even_indices(frames, count) == sorted(set(by_numpy(frames, count)))


def test_one_frame_is_the_first_and_two_are_the_ends() -> None:
    assert even_indices(506, 1) == [0]
    assert even_indices(506, 2) == [0, 505]


@pytest.mark.parametrize("count", [3, 4, 400])
def test_a_short_video_gives_each_frame_once_in_order(count: int) -> None:
    assert even_indices(3, count) == [0, 1, 2]


def test_a_video_of_three_frames_a_second_at_two_a_second_takes_the_earlier_of_two_equally_near() -> None:
    expected = by_search([Fraction(index, 3) for index in range(150)], Fraction(2))
    assert indices_at_fps([index / 3 for index in range(150)], 2) == expected
    assert expected[:6] == [0, 1, 3, 4, 6, 7]


def test_times_kept_in_half_the_digits_choose_the_same_frames() -> None:
    times = [float(np.float32(7.1 + index / 3)) for index in range(150)]
    assert indices_at_fps(times, 2) == by_search([Fraction(index, 3) for index in range(150)], Fraction(2))


def test_a_video_of_three_frames_a_second_at_one_a_second_takes_every_third() -> None:
    assert indices_at_fps([index / 3 for index in range(506)], 1) == list(range(0, 506, 3))


ticks = st.lists(st.integers(0, 400), min_size=1, max_size=60).map(sorted)
rates = st.fractions(min_value=Fraction(1, 12), max_value=40, max_denominator=12)


@settings(deadline=None)
@given(ticks, rates)
def test_frames_at_a_rate_are_the_nearest_ones_for_any_times(numbers: list[int], fps: Fraction) -> None:
    exact = [Fraction(number, 12) for number in numbers]
    assert indices_at_fps([float(time) for time in exact], float(fps)) == by_search(exact, fps)


@settings(deadline=None)
@given(ticks, rates, st.floats(-1e4, 1e4))
def test_times_count_from_the_first_frame(numbers: list[int], fps: Fraction, start: float) -> None:
    times = [number / 12 for number in numbers]
    assert indices_at_fps([time + start for time in times], float(fps)) == indices_at_fps(times, float(fps))


def test_a_rate_above_the_videos_own_gives_every_frame() -> None:
    assert indices_at_fps([index / 3 for index in range(60)], 1e9) == list(range(60))


def test_a_rate_below_one_frame_in_the_whole_video_gives_the_first() -> None:
    assert indices_at_fps([index / 3 for index in range(60)], 0.01) == [0]


def test_no_frames_give_no_frames() -> None:
    assert even_indices(0, 5) == []
    assert indices_at_fps([], 1.0) == []


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"count": 8, "fps": 1.0},
        {"count": 0},
        {"count": -1},
        {"count": 2.5},
        {"count": True},
        {"fps": 0},
        {"fps": -1.0},
        {"fps": float("nan")},
        {"fps": float("inf")},
        {"fps": "2"},
        {"count": 8, "size": (448, 0)},
        {"count": 8, "size": (448,)},
        {"count": 8, "size": (448.0, 448.0)},
    ],
)
def test_a_sampling_that_cannot_be_used_is_a_setting_error(values: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        Sampling(**values)  # type: ignore[arg-type]


def test_the_default_size_is_that_of_the_papers() -> None:
    assert Sampling(count=8).size == (448, 448)


# --- instants -----------------------------------------------------------------------------------------------------

RATES = st.sampled_from([10, 15, 24, 25, 30, 50, 60])


@given(st.integers(1, 200), RATES, st.lists(st.fractions(-1, 9, max_denominator=997), max_size=12))
def test_a_frame_at_an_instant_is_the_nearest_one_and_of_two_the_earlier(
    frames: int, rate: int, instants: list[Fraction]
) -> None:
    times = [Fraction(index, rate) for index in range(frames)]
    found = indices_at([float(time) for time in times], [float(instant) for instant in instants])
    for index, instant in zip(found, instants, strict=True):
        distances = [abs(time - instant) for time in times]
        nearest = distances.index(min(distances))
        # Two frames that are equally near to 0.1 ms are a tie, which the earlier one wins.
        assert index == nearest or (index == nearest - 1 and distances[index] - distances[nearest] < Fraction(1, 9990))


@given(RATES, RATES, st.integers(20, 200), st.integers(20, 200), st.integers(1, 40))
def test_frames_of_two_views_lie_within_half_a_frame_interval_of_the_same_instant(
    rate: int, other_rate: int, frames: int, other_frames: int, count: int
) -> None:
    views = [[index / rate for index in range(frames)], [index / other_rate for index in range(other_frames)]]
    instants = even_instants(0, min(times[-1] for times in views), count)
    for times, own_rate in zip(views, (rate, other_rate), strict=True):
        for index, instant in zip(indices_at(times, instants), instants, strict=True):
            assert abs(times[index] - instant) <= 0.5 / own_rate + 1e-4


def test_instants_count_from_the_first_frame_and_may_meet_one_frame_twice() -> None:
    assert indices_at([5.0, 5.5, 6.0], [0.0, 0.1, 0.9, 7.0]) == [0, 0, 2, 2]
    assert indices_at([0.0, 0.0, 1.0, 1.0], [0.2, 1.0]) == [0, 2]
    assert indices_at([], [0.0]) == []


@given(st.floats(0, 100), st.floats(0, 100), st.integers(1, 50))
def test_even_instants_are_those_of_numpy(start: float, length: float, count: int) -> None:
    found = even_instants(start, start + length, count)
    assert found == pytest.approx(list(np.linspace(start, start + length, count)))


def test_frames_are_chosen_in_one_way() -> None:
    for choices in ({}, {"count": 2, "fps": 1.0}, {"fps": 1.0, "instants": (0.0,)}):
        with pytest.raises(SettingError, match="Frames are chosen in one way: give count, fps or instants"):
            Sampling(**choices)
    assert Sampling(instants=(0.0, 1.0)).indices([0.0, 0.4, 0.8]) == [0, 2]
