"""How fast this machine decodes, now: what the sizes of the first windows are chosen by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from speakahead.kokoro.windows import (
    FIRST_SIZES,
    LATER_SIZE,
    RESERVE_S,
    UNIT_S,
    choose_first_sizes,
)

_CAUTION = 1.1
"""A window may take this much longer than the usual one without being late."""
_SLOWER, _FASTER = 0.25, 0.02
"""How much one window changes what is expected of the next ones. A slow moment is believed soon
and forgotten slowly, so that the expectation is near the slowest tenth of the windows."""
_MOST = 1.6
_STEP = 0.05

COMFORTABLE_S = 0.8
"""A listener with so much sound to play needs no small first windows: at least so much."""


class Pace:
    """Seconds that windows take: measured at start-up, followed while the machine works.

    A window of ``n`` units takes ``base + slope * n``. Where that is not known the usual sizes
    stand. Safe to use from several threads: it holds single numbers only.

    Attributes:
        slowness: how much longer windows take at the moment than was expected at start-up.
    """

    def __init__(self) -> None:
        self.slowness = 1.0
        self._line: tuple[float, float] | None = None
        self._sizes: dict[int, tuple[int, ...]] = {}

    def measure(self, times: Mapping[int, Sequence[float]]) -> None:
        """Take the seconds of windows, by their size in units, of two sizes at least."""
        sizes = np.array(list(times), np.float64)
        usual = np.array([np.median(measured) for measured in times.values()])
        slope, base = _CAUTION * np.polyfit(sizes, usual, 1)
        self._line = (float(base), float(slope))
        self._sizes.clear()

    def cost(self, units: int) -> float | None:
        """Seconds that a window of so many units takes, as measured; None: not known."""
        if self._line is None:
            return None
        base, slope = self._line
        return base + slope * units

    @property
    def real_time_factor(self) -> float | None:
        """Seconds for a second of sound in large windows; None: not known."""
        cost = self.cost(LATER_SIZE)
        return None if cost is None else cost / (LATER_SIZE * UNIT_S)

    @property
    def comfortable_s(self) -> float:
        """With so many seconds of sound to play, a listener can wait for a large window."""
        expected = self.cost(LATER_SIZE)
        if expected is None:
            return COMFORTABLE_S
        return max(COMFORTABLE_S, self.slowness * expected + RESERVE_S)

    def observe(self, units: int, seconds: float) -> None:
        """Learn from a window that was decoded."""
        expected = self.cost(units)
        if expected is None or expected <= 0:
            return
        ratio = min(_MOST, seconds / expected)
        weight = _SLOWER if ratio > self.slowness else _FASTER
        self.slowness = max(1.0, self.slowness + weight * (ratio - self.slowness))

    @property
    def first_sizes(self) -> tuple[int, ...]:
        """Sizes of the first windows, as :func:`choose_first_sizes` chooses them at this pace."""
        if self._line is None:
            return FIRST_SIZES
        step = round(self.slowness / _STEP)
        if step not in self._sizes:
            base, slope = self._line
            slowness = step * _STEP
            self._sizes[step] = choose_first_sizes(lambda n: slowness * (base + slope * n))
        return self._sizes[step]
