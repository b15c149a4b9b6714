"""Samples to bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 24_000
"""Kokoro's sample rate in Hz; all sound inside speakahead has it."""


def to_s16le(samples: NDArray[np.float32]) -> bytes:
    """Encode float samples in [-1, 1] as signed 16-bit little-endian PCM.

    Values outside the range are clipped first: a cast alone wraps round, which is heard as a
    loud click. Not-a-number becomes silence.
    """
    bounded = np.clip(np.nan_to_num(samples, nan=0.0), np.float32(-1.0), np.float32(1.0))
    return np.rint(bounded * np.float32(32767.0)).astype("<i2").tobytes()


def silence(seconds: float) -> NDArray[np.float32]:
    """Zeros that last ``seconds``."""
    return np.zeros(round(seconds * SAMPLE_RATE), dtype=np.float32)
