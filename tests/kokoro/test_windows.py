"""Cutting an utterance: gapless windows, and enough context for each."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.kokoro.windows import (
    FIRST_SIZES,
    FRAME_CONTEXT,
    INNER_CONTEXT,
    LADDERS,
    LATER_SIZE,
    RESERVE_S,
    SMALLEST,
    UNIT_CONTEXT,
    UNIT_S,
    UNITS_PER_FRAME,
    Range,
    choose_first_sizes,
    chunk_range,
    generator_range,
    plan_windows,
    slack,
)


@st.composite
def utterances(draw: st.DrawFn) -> tuple[int, Range]:
    units = 2 * draw(st.integers(1, 1200))
    start = draw(st.integers(0, units - 1))
    return units, Range(start, draw(st.integers(start + 1, units)))


@given(utterances())
def test_windows_cover_the_audible_units_once_and_in_order(case: tuple[int, Range]) -> None:
    units, audible = case
    windows = plan_windows(units, audible).windows
    assert windows[0].start == audible.start
    assert windows[-1].end == audible.end
    assert all(a.end == b.start for a, b in itertools.pairwise(windows))
    assert all(window.size > 0 for window in windows)


@given(utterances())
def test_no_window_is_large_and_no_rest_is_tiny(case: tuple[int, Range]) -> None:
    windows = plan_windows(*case).windows
    assert windows[0].size < FIRST_SIZES[0] + SMALLEST
    assert all(window.size < LATER_SIZE + SMALLEST for window in windows)
    assert all(window.size >= SMALLEST for window in windows[1:])


@given(utterances())
def test_chunks_hold_what_every_window_reads(case: tuple[int, Range]) -> None:
    units, audible = case
    layout = plan_windows(units, audible)
    assert all(a.end == b.start for a, b in zip(layout.chunks, layout.chunks[1:], strict=False))
    for number, window in enumerate(layout.windows):
        outer = generator_range(units, window).outer
        used = layout.chunks_for(outer)
        assert layout.chunks[used[0]].start * UNITS_PER_FRAME <= outer.start
        assert layout.chunks[used[-1]].end * UNITS_PER_FRAME >= outer.end
        assert used[-1] <= number  # a window never waits for a chunk of a later one


@given(utterances())
def test_context_is_full_except_at_the_ends_of_the_utterance(case: tuple[int, Range]) -> None:
    units, audible = case
    reads = generator_range(units, audible)
    inner = Range(reads.outer.start + reads.inner.start, reads.outer.start + reads.inner.end)
    kept = Range(inner.start + reads.kept.start, inner.start + reads.kept.end)
    assert kept == audible
    for outside, context in ((reads.outer, UNIT_CONTEXT), (inner, INNER_CONTEXT)):
        assert outside.start == max(0, audible.start - context)
        assert outside.end == min(units, audible.end + context)


def test_slower_machines_get_a_larger_first_window() -> None:
    choices = [choose_first_sizes(lambda n, r=r: 0.03 + r * n * UNIT_S) for r in (0.2, 0.5, 0.6)]
    assert choices[0] == LADDERS[0]
    assert len(set(choices)) > 1
    assert sorted(choices, key=lambda sizes: sizes[0]) == choices


@given(st.floats(0.01, 0.05), st.floats(0.1, 0.8))
def test_the_choice_is_the_smallest_that_keeps_the_reserve(base: float, rate: float) -> None:
    def cost(size: int) -> float:
        return base + rate * size * UNIT_S

    good = [sizes for sizes in LADDERS if slack(sizes, cost) >= RESERVE_S]
    assert choose_first_sizes(cost) == (good[0] if good else FIRST_SIZES)


def test_a_machine_that_falls_behind_anyway_is_not_delayed_as_well() -> None:
    assert choose_first_sizes(lambda n: 3 * n * UNIT_S) == FIRST_SIZES


def test_slack_counts_what_is_heard_meanwhile() -> None:
    assert slack((20, 24), lambda _: 0.1) == pytest.approx(20 * UNIT_S - 0.1)
    assert slack((20, 24), lambda _: 2.0) < 0


def test_a_chunk_reads_its_neighbours() -> None:
    assert chunk_range(100, Range(30, 40)) == Range(30 - FRAME_CONTEXT, 40 + FRAME_CONTEXT)
    assert chunk_range(41, Range(0, 40)) == Range(0, 41)


@pytest.mark.parametrize(
    ("units", "audible"),
    [(10, Range(4, 4)), (10, Range(-1, 4)), (10, Range(0, 11)), (9, Range(0, 9))],
)
def test_impossible_ranges_are_refused(units: int, audible: Range) -> None:
    with pytest.raises(ValueError, match="audible"):
        plan_windows(units, audible)
