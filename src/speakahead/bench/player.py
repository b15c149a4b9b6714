"""A loudspeaker without a sound card, and an ear: when would a listener have heard it?"""

from __future__ import annotations

import threading
import time

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.bench.latency import AUDIBLE


class Ear:
    """Somebody who puts a question and listens, and knows of nothing between.

    Attributes:
        whole_s: seconds from the question until the first sample above -50 dBFS is heard; None
            before.
    """

    def __init__(self) -> None:
        self.whole_s: float | None = None
        self._asked_at: float | None = None
        self._elapsed_s: float | None = None  # from the question to the end of what was played

    def ask(self) -> None:
        """The question is put now."""
        self._asked_at = time.perf_counter()

    def hear(self, block: NDArray[np.float32]) -> None:
        """The next block is played: float32 [n] at 24 kHz.

        The first one begins now. The others follow it without a gap, as from a sound card, which
        plays at its own pace however late the thread is that feeds it.
        """
        assert self._asked_at is not None
        if self._elapsed_s is None:
            self._elapsed_s = time.perf_counter() - self._asked_at
        loud = np.flatnonzero(np.abs(block) > AUDIBLE)
        if self.whole_s is None and len(loud):
            self.whole_s = self._elapsed_s + int(loud[0]) / SAMPLE_RATE
        self._elapsed_s += len(block) / SAMPLE_RATE


class Player:
    """Plays a block of sound to an ear each period, as a sound card does, on a thread of its own.

    It is ideal: no latency of its own, and it starts as soon as it has any sound.

    Attributes:
        pushed_at: when the first sound was there, on ``time.monotonic``; None before.
        played_at: when it began to be played, likewise.
        lead_s: how much of what was pushed comes before its first sample above -50 dBFS, in
            seconds.
    """

    def __init__(self, ear: Ear, period_s: float = 0.01) -> None:
        self.pushed_at: float | None = None
        self.played_at: float | None = None
        self.lead_s = 0.0
        self._ear = ear
        self._block = round(period_s * SAMPLE_RATE)
        self._buffer = np.zeros(0, np.float32)
        self._changing = threading.Lock()
        self._silent = True
        self._stopped = False

    def push(self, samples: NDArray[np.float32]) -> None:
        """More sound: float32 [n] at 24 kHz."""
        if self.pushed_at is None:
            self.pushed_at = time.monotonic()
        if self._silent:
            loud = np.abs(samples) > AUDIBLE
            self._silent = not loud.any()
            self.lead_s += (len(samples) if self._silent else int(loud.argmax())) / SAMPLE_RATE
        with self._changing:
            self._buffer = np.concatenate([self._buffer, samples])

    def run(self) -> None:
        """Play until something was heard, or ``stop`` is called; blocks."""
        due = time.monotonic()
        while self._ear.whole_s is None and not self._stopped:
            due += self._block / SAMPLE_RATE
            time.sleep(max(0.0, due - time.monotonic()))
            self._play()

    def stop(self) -> None:
        """End ``run``."""
        self._stopped = True

    def _play(self) -> None:
        block = np.zeros(self._block, np.float32)
        with self._changing:
            sound, self._buffer = self._buffer[: self._block], self._buffer[self._block :]
        block[: len(sound)] = sound
        if self.played_at is None:
            if not len(sound):
                return
            self.played_at = time.monotonic()
        self._ear.hear(block)
