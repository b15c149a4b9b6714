"""A loudspeaker without a sound card: when would a listener have heard it?"""

from __future__ import annotations

import asyncio
import time

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.bench.latency import AUDIBLE


class Player:
    """Takes a block of sound each period, as a sound card does, and plays it from then on.

    It is ideal: no latency of its own, and it starts as soon as it has any sound.

    Attributes:
        heard_at: when the first sample above -50 dBFS was played, on ``time.monotonic``; None
            before.
        heard: set then.
    """

    def __init__(self, period_s: float = 0.01) -> None:
        self._block = round(period_s * SAMPLE_RATE)
        self._buffer = np.zeros(0, np.float32)
        self.heard_at: float | None = None
        self.heard = asyncio.Event()

    def push(self, samples: NDArray[np.float32]) -> None:
        """More sound: float32 [n] at 24 kHz."""
        self._buffer = np.concatenate([self._buffer, samples])

    async def run(self) -> None:
        """Play until something was heard. Cancel it otherwise."""
        due = time.monotonic()
        while self.heard_at is None:
            due += self._block / SAMPLE_RATE
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self._play(time.monotonic())
        self.heard.set()

    def _play(self, now: float) -> None:
        block, self._buffer = self._buffer[: self._block], self._buffer[self._block :]
        loud = np.flatnonzero(np.abs(block) > AUDIBLE)
        if len(loud):
            self.heard_at = now + int(loud[0]) / SAMPLE_RATE
