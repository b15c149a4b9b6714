"""Which units of an utterance are decoded in which window; pure arithmetic.

The sound of a unit depends on its neighbours only: the generator looks 9 units (110 ms) to both
sides, its last stage 2, and the decoder blocks before it 12 frames (300 ms). A window that is
decoded with that much context joins its neighbours without a seam.

Units are 12.5 ms and frames 25 ms, both counted from the start of the utterance as the model
makes it, silence at its head included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

UNIT_CONTEXT = 9
INNER_CONTEXT = 2
FRAME_CONTEXT = 12
UNITS_PER_FRAME = 2

FIRST_SIZES = (20, 24, 40)
"""Units of the first windows. The first is small, so that sound comes early; each next one is
as large as can be decoded while those before it play, with a reserve."""
LATER_SIZE = 64
"""Units of all later windows: larger ones save little context, but hold up other sessions."""
LADDERS = ((16, 16, 24, 40), FIRST_SIZES, (28, 32, 48), (40, 52))
"""Choices for the first sizes, from the quickest machine's to the slowest's."""
RESERVE_S = 0.06
"""Each window should be there this long before it is heard."""
UNIT_S = 0.0125
SMALLEST = 12
"""A shorter rest is decoded with the window before it."""


class Range(NamedTuple):
    """Half-open range ``[start, end)`` of units or frames."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


class GeneratorRange(NamedTuple):
    """What the generator reads for a window, and where the parts of it are.

    Attributes:
        outer: units that its first stage reads.
        inner: units that its last stage works on, relative to ``outer.start``.
        kept: units that are wanted, relative to the first unit of ``inner``.
    """

    outer: Range
    inner: Range
    kept: Range


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
    """The first of :data:`LADDERS` that keeps the reserve at this cost.

    A machine that is too slow or too busy for any gets the usual ones: it falls behind in any
    case, and a large first window would only delay the first sound as well.
    """
    for sizes in LADDERS:
        if slack(sizes, cost) >= RESERVE_S:
            return sizes
    return FIRST_SIZES


def generator_range(units: int, wanted: Range) -> GeneratorRange:
    """What the generator reads to make the units ``wanted`` of an utterance."""
    outer = Range(max(0, wanted.start - UNIT_CONTEXT), min(units, wanted.end + UNIT_CONTEXT))
    inner = Range(max(0, wanted.start - INNER_CONTEXT), min(units, wanted.end + INNER_CONTEXT))
    return GeneratorRange(
        outer,
        Range(inner.start - outer.start, inner.end - outer.start),
        Range(wanted.start - inner.start, wanted.end - inner.start),
    )


def chunk_range(frames: int, chunk: Range) -> Range:
    """The frames that the decoder blocks read to compute ``chunk``."""
    return Range(max(0, chunk.start - FRAME_CONTEXT), min(frames, chunk.end + FRAME_CONTEXT))
