"""Which units of an utterance are decoded in which window; pure arithmetic.

The sound of a unit depends on its neighbours only: the generator looks 9 units (110 ms) to both
sides, and the decoder blocks before it 10 frames (250 ms). A window that is
decoded with that much context joins its neighbours without a seam.

Units are 12.5 ms and frames 25 ms, both counted from the start of the utterance as the model
makes it, silence at its head included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

UNIT_CONTEXT = 9
FRAME_CONTEXT = 10
UNITS_PER_FRAME = 2

FIRST_SIZES = (20, 24, 40)
"""Units of the first windows. The first is small, so that sound comes early; each next one is
as large as can be decoded while those before it play, with a reserve."""
LATER_SIZE = 64
"""Units of all later windows: larger ones save little context, but hold up other sessions."""
SMALLEST_FIRST, LARGEST_FIRST = 12, 48
"""Units between which the first window is chosen, by how quick the machine is."""
RESERVE_S = 0.06
"""Each window should be there this long before it is heard."""
UNIT_S = 0.0125
_MOST_FIRST = 8
SMALLEST = 12
"""A shorter rest is decoded with the window before it."""


UNIT_BUCKETS = (*FIRST_SIZES, LATER_SIZE, LATER_SIZE + SMALLEST)
"""Sizes of windows for runtimes that need the same shapes again and again."""
FRAME_BUCKETS = (40, 48, 56, 64)
"""Likewise, the frames that the decoder blocks read, context included."""


class Range(NamedTuple):
    """Half-open range ``[start, end)`` of units or frames."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


class GeneratorRange(NamedTuple):
    """What the generator reads for a window.

    Attributes:
        outer: units that are read.
        wanted: units that are to be heard, counted from ``outer.start``.
    """

    outer: Range
    wanted: Range


@dataclass(frozen=True, slots=True)
class Layout:
    """How one utterance is cut.

    Attributes:
        units: all units of the utterance.
        windows: the units of each window, in order and without gaps.
        chunks: the frames that the decoder blocks compute at a time, in order and without gaps;
            those before a window's end plus context suffice for it.
    """

    units: int
    windows: tuple[Range, ...]
    chunks: tuple[Range, ...]

    def chunks_for(self, needed: Range) -> range:
        """Indices of the chunks that hold the units ``needed``."""
        first = next(
            (i for i, c in enumerate(self.chunks) if c.end * UNITS_PER_FRAME > needed.start), 0
        )
        last = first
        while self.chunks[last].end * UNITS_PER_FRAME < needed.end:
            last += 1
        return range(first, last + 1)


def plan_windows(
    units: int,
    audible: Range,
    first_sizes: Sequence[int] = FIRST_SIZES,
    later_size: int = LATER_SIZE,
) -> Layout:
    """Cut the ``audible`` units of an utterance into windows, and its frames into chunks.

    Raises:
        ValueError: ``audible`` is empty or not within the utterance, whose units must be even.
    """
    if not 0 <= audible.start < audible.end <= units or units % UNITS_PER_FRAME:
        raise ValueError("the audible units must be some of the utterance's")
    windows: list[Range] = []
    start = audible.start
    while start < audible.end:
        size = first_sizes[len(windows)] if len(windows) < len(first_sizes) else later_size
        end = start + size
        if audible.end - end < SMALLEST:
            end = audible.end
        windows.append(Range(start, end))
        start = end
    chunks = []
    frame = max(0, audible.start - UNIT_CONTEXT) // UNITS_PER_FRAME
    for window in windows:
        last = min(units, window.end + UNIT_CONTEXT)
        end = -(-last // UNITS_PER_FRAME)
        if end > frame:
            chunks.append(Range(frame, end))
            frame = end
    return Layout(units, tuple(windows), tuple(chunks))


def slack(first_sizes: Sequence[int], cost: Callable[[int], float]) -> float:
    """The least time, in seconds, by which a window is early when windows are decoded in a row.

    ``cost`` gives the seconds that a window of so many units takes. The first window is heard
    when it is there; enough later ones are counted to see a machine fall behind.
    """
    sizes = [*first_sizes, *[LATER_SIZE] * 4]
    heard_until = sizes[0] * UNIT_S
    now, least = 0.0, float("inf")
    for size in sizes[1:]:
        now += cost(size)
        least = min(least, heard_until - now)
        heard_until += size * UNIT_S
    return least


def choose_first_sizes(cost: Callable[[int], float]) -> tuple[int, ...]:
    """The smallest first window, and those after it, that keep the reserve at this cost.

    A machine that is too slow or too busy for any gets those with which it falls behind least.
    """
    for first in range(SMALLEST_FIRST, LARGEST_FIRST + 1, 2):
        sizes = _growing_from(first, cost)
        if sizes is not None and slack(sizes, cost) >= RESERVE_S:
            return sizes
    pairs = (
        (first, second)
        for first in range(SMALLEST_FIRST, LARGEST_FIRST + 1, 4)
        for second in range(first, LATER_SIZE + 1, 4)
    )
    return max(pairs, key=lambda sizes: slack(sizes, cost))


def _growing_from(first: int, cost: Callable[[int], float]) -> tuple[int, ...] | None:
    """Each window as large as can be decoded while those before it play, or None."""
    sizes = [first]
    heard_until, now = first * UNIT_S, 0.0
    while len(sizes) < _MOST_FIRST:
        time_left = heard_until - now - RESERVE_S
        choices = [n for n in range(sizes[-1], LATER_SIZE + 1, 2) if cost(n) <= time_left]
        if not choices:
            return None
        if choices[-1] == LATER_SIZE:
            return tuple(sizes)
        sizes.append(choices[-1])
        heard_until += sizes[-1] * UNIT_S
        now += cost(sizes[-1])
    return None


def generator_range(units: int, wanted: Range) -> GeneratorRange:
    """What the generator reads to make the units ``wanted`` of an utterance."""
    outer = Range(max(0, wanted.start - UNIT_CONTEXT), min(units, wanted.end + UNIT_CONTEXT))
    return GeneratorRange(outer, Range(wanted.start - outer.start, wanted.end - outer.start))


def chunk_range(frames: int, chunk: Range) -> Range:
    """The frames that the decoder blocks read to compute ``chunk``."""
    return Range(max(0, chunk.start - FRAME_CONTEXT), min(frames, chunk.end + FRAME_CONTEXT))


def bucket_window(layout: Layout, wanted: Range) -> Range | None:
    """A range that holds ``wanted``, has a bucket's size, and full context on both sides.

    It grows to the left, where the blocks' output is there already, before it does to the right.
    None when the utterance has no room for it, or no bucket is large enough.
    """
    size = next((size for size in UNIT_BUCKETS if size >= wanted.size), None)
    if size is None:
        return None
    first = layout.chunks[0].start * UNITS_PER_FRAME + UNIT_CONTEXT
    last = min(layout.units, layout.chunks[-1].end * UNITS_PER_FRAME) - UNIT_CONTEXT
    start = max(first, min(wanted.end, last) - size)
    found = Range(start, start + size)
    fits = found.end <= last and found.start <= wanted.start and wanted.end <= found.end
    return found if fits else None


def bucket_frames(frames: int, reads: Range) -> Range | None:
    """A range of an utterance's frames that holds ``reads`` and has a bucket's size, or None.

    It ends where the utterance does at the latest; the blocks need nothing more of it.
    """
    size = next((size for size in FRAME_BUCKETS if size >= reads.size), None)
    if size is None or size > frames:
        return None
    start = min(reads.start, frames - size)
    return Range(start, start + size)
