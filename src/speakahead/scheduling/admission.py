"""Can one more utterance be spoken without making the others late?

A stream that is ahead of its listener by ``ahead_s`` seconds and has ``remaining_s`` seconds of
sound still to decode needs, within the next t seconds, the sound up to its playback position:
min(remaining, max(0, t - ahead)). Decoding a second of sound takes ``cost`` seconds of one worker
(the real-time factor). All deadlines can be met, earliest deadline first, if and only if the work
that is due by t never exceeds the work that can be done by t (the processor demand criterion of
Baruah, Rosier and Howell, 1990). Both sides are piecewise linear in t, so only the corners need
to be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from speakahead.kokoro.windows import LATER_SIZE, UNIT_S

START_S = 1.5
"""The prosody and the small first windows of an utterance cost as much as so much more sound."""

CAUTION = 1.3
"""Utterances are admitted as if sound cost this much more than it does: some windows do. With 1.2,
five times as many windows are late (simulated, 4 sessions); it admits 4 % more turns."""

WINDOW_S = LATER_SIZE * UNIT_S
"""Sound is decoded so much at a time, and nothing of it can be played before the last of it."""


class Demand(NamedTuple):
    """What one stream still needs, in seconds of sound."""

    ahead_s: float
    remaining_s: float

    def by_window(self) -> Demand:
        """The same, with the work for a whole window due when the first of its sound is."""
        return Demand(max(0.0, self.ahead_s - min(WINDOW_S, self.remaining_s)), self.remaining_s)


def feasible(demands: Iterable[Demand], *, cost: float, workers: int = 1) -> bool:
    """Whether every stream can be decoded before its listener runs dry.

    Args:
        demands: the streams, the new one among them with the lead that it may take.
        cost: worker seconds for a second of sound (real-time factor), above 0.
        workers: how many windows are decoded at a time.
    """
    streams = [Demand(max(0.0, d.ahead_s), max(0.0, d.remaining_s)) for d in demands]
    corners = {d.ahead_s for d in streams} | {d.ahead_s + d.remaining_s for d in streams}
    return all(
        cost * sum(min(d.remaining_s, max(0.0, t - d.ahead_s)) for d in streams) <= workers * t
        for t in corners
    )
