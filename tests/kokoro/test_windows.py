"""Cutting an utterance: gapless windows, and enough context for each."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.kokoro.windows import (
    FIRST_SIZES,
    FRAME_BUCKETS,
    FRAME_CONTEXT,
    LARGEST_FIRST,
    LATER_SIZE,
    RESERVE_S,
    SMALLEST,
    SMALLEST_FIRST,
    UNIT_BUCKETS,
    UNIT_CONTEXT,
    UNIT_S,
    UNITS_PER_FRAME,
    Range,
    bucket_frames,
    bucket_window,
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
    assert reads.outer.start == max(0, audible.start - UNIT_CONTEXT)
    assert reads.outer.end == min(units, audible.end + UNIT_CONTEXT)
    assert reads.outer.start + reads.wanted.start == audible.start
    assert reads.wanted.size == audible.size


@given(utterances())
def test_buckets_hold_the_window_with_full_context_and_few_shapes(
    case: tuple[int, Range],
) -> None:
    units, audible = case
    layout = plan_windows(units, audible)
    for wanted in layout.windows:
        bucket = bucket_window(layout, wanted)
        if bucket is None:
            continue
        assert bucket.size in UNIT_BUCKETS
        assert bucket.start <= wanted.start
        assert bucket.end >= wanted.end
        reads = generator_range(units, bucket)
        assert reads.wanted == Range(UNIT_CONTEXT, UNIT_CONTEXT + bucket.size)
        assert reads.outer.size == bucket.size + 2 * UNIT_CONTEXT
        chunks = layout.chunks_for(reads.outer)
        assert layout.chunks[chunks[0]].start * UNITS_PER_FRAME <= reads.outer.start


def test_every_window_of_a_usual_sentence_has_a_bucket() -> None:
    # Kokoro's sentences begin and end with some 300 ms of silence.
    layout = plan_windows(400, Range(20, 380))
    assert all(bucket_window(layout, wanted) is not None for wanted in layout.windows)


def test_windows_without_context_or_too_large_have_no_bucket() -> None:
    layout = plan_windows(400, Range(2, 398))
    assert bucket_window(layout, layout.windows[0]) is None
    assert bucket_window(layout, layout.windows[-1]) is None
    assert bucket_window(layout, Range(100, 100 + UNIT_BUCKETS[-1] + 1)) is None


@given(st.integers(1, 600), st.data())
def test_frames_of_a_bucket_hold_what_is_read(frames: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, frames - 1))
    reads = Range(start, data.draw(st.integers(start + 1, min(frames, start + 70))))
    bucket = bucket_frames(frames, reads)
    if bucket is None:
        assert reads.size > FRAME_BUCKETS[-1] or frames < FRAME_BUCKETS[-1]
    else:
        assert 0 <= bucket.start <= reads.start
        assert reads.end <= bucket.end <= frames
        assert bucket.size in FRAME_BUCKETS


def test_slower_machines_get_a_larger_first_window() -> None:
    choices = [choose_first_sizes(lambda n, r=r: 0.03 + r * n * UNIT_S) for r in (0.2, 0.5, 0.6)]
    assert choices[0][0] == SMALLEST_FIRST
    assert len(set(choices)) > 1
    assert sorted(choices, key=lambda sizes: sizes[0]) == choices


GROWTH = [rest for n in (1, 2, 3) for rest in itertools.product((16, 20, 24, 32, 48), repeat=n)]


@given(st.floats(0.01, 0.1), st.floats(0.1, 0.8))
def test_the_choice_is_the_smallest_that_keeps_the_reserve(base: float, rate: float) -> None:
    def cost(size: int) -> float:
        return base + rate * size * UNIT_S

    sizes = choose_first_sizes(cost)
    assert list(sizes) == sorted(sizes)
    kept = slack(sizes, cost) >= RESERVE_S
    end = sizes[0] if kept else LARGEST_FIRST + 1  # if it is not kept, nothing keeps it
    smaller = [(first, *rest) for first in range(SMALLEST_FIRST, end, 2) for rest in GROWTH]
    assert not [s for s in smaller if list(s) == sorted(s) and slack(s, cost) >= RESERVE_S]


@given(st.floats(0.05, 0.2), st.floats(0.7, 3.0))
def test_a_machine_that_is_too_slow_falls_behind_as_little_as_it_can(
    base: float, rate: float
) -> None:
    def cost(size: int) -> float:
        return base + rate * size * UNIT_S

    sizes = choose_first_sizes(cost)
    least = slack(sizes, cost)
    assert all(
        least >= min(RESERVE_S, slack((first, first), cost))
        for first in range(SMALLEST_FIRST, LARGEST_FIRST + 1, 4)
    )
    if least < 0:
        assert slack(FIRST_SIZES, cost) < 0


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
