"""Where the sound in an utterance begins and ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE

_FRAME = SAMPLE_RATE // 200  # 5 ms


def sound_bounds(
    samples: NDArray[np.float32], threshold_dbfs: float = -60.0
) -> tuple[int, int] | None:
    """First and last sample (half-open) that belong to a 5 ms frame louder than the threshold.

    The level is the frame's peak, so that a weak fricative counts as sound. None when no frame is
    that loud.
    """
    frames = -(-len(samples) // _FRAME)
    padded = np.zeros(frames * _FRAME, dtype=np.float32)
    padded[: len(samples)] = np.abs(samples)
    loud = np.flatnonzero(padded.reshape(frames, _FRAME).max(axis=1) > 10 ** (threshold_dbfs / 20))
    if len(loud) == 0:
        return None
    return int(loud[0]) * _FRAME, min(len(samples), (int(loud[-1]) + 1) * _FRAME)


def trimmed_range(
    samples: NDArray[np.float32], head_s: float = 0.05, tail_s: float = 0.06
) -> tuple[int, int]:
    """The range of ``samples`` to keep: ``head_s`` before the first sound to ``tail_s`` after.

    Sound is never cut. An utterance without any sound keeps nothing.
    """
    bounds = sound_bounds(samples)
    if bounds is None:
        return 0, 0
    first, last = bounds
    start = max(0, first - round(head_s * SAMPLE_RATE))
    return start, min(len(samples), last + round(tail_s * SAMPLE_RATE))
