"""The sizes of the first windows follow the machine."""

from __future__ import annotations

import pytest

from speakahead.kokoro.pace import COMFORTABLE_S, Pace
from speakahead.kokoro.windows import FIRST_SIZES, LATER_SIZE, RESERVE_S, UNIT_S


def measured(real_time_factor: float) -> Pace:
    pace = Pace()
    pace.measure({n: [0.05 + real_time_factor * n * UNIT_S] * 3 for n in (16, 32, 64)})
    return pace


def work(pace: Pace, slowness: float, windows: int = 30) -> None:
    for number in range(windows):
        units = (20, 40, 64)[number % 3]
        expected = pace.cost(units)
        assert expected is not None
        pace.observe(units, slowness * expected)


def test_nothing_is_known_before_it_was_measured() -> None:
    pace = Pace()
    pace.observe(20, 9.0)
    assert pace.first_sizes == FIRST_SIZES
    assert pace.cost(20) is None
    assert pace.real_time_factor is None


def test_a_quick_machine_begins_with_less() -> None:
    firsts = [measured(factor).first_sizes[0] for factor in (0.1, 0.3, 0.5)]
    assert firsts == sorted(firsts)
    assert firsts[0] < firsts[-1]


def test_a_cost_is_that_of_the_line_through_what_was_measured_and_a_reserve() -> None:
    assert measured(0.4).cost(40) == pytest.approx(1.1 * (0.05 + 0.4 * 40 * UNIT_S))


def test_windows_begin_larger_while_the_machine_is_slow() -> None:
    pace = measured(0.4)
    usual = pace.first_sizes
    work(pace, 1.0)
    assert pace.first_sizes == usual
    work(pace, 1.3)
    assert pace.first_sizes[0] > usual[0]
    work(pace, 0.9, windows=400)
    assert pace.first_sizes == usual


def test_one_slow_window_changes_little() -> None:
    pace = measured(0.4)
    work(pace, 50.0, windows=1)
    assert pace.slowness < 1.2


def test_a_machine_that_is_too_slow_begins_with_much() -> None:
    pace = measured(0.8)
    work(pace, 3.0)
    assert pace.first_sizes[0] > FIRST_SIZES[0]


def test_a_slow_machine_needs_a_listener_with_more_to_play_for_a_large_window() -> None:
    assert Pace().comfortable_s == COMFORTABLE_S
    assert measured(0.4).comfortable_s == COMFORTABLE_S
    slow = measured(2.0)
    cost = slow.cost(LATER_SIZE)
    assert cost is not None
    assert slow.comfortable_s >= cost + RESERVE_S
