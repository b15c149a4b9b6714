"""Samples to bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 24_000
"""Kokoro's sample rate in Hz; all sound inside speakahead has it."""

_FULL_SCALE = np.float32(32767.0)


def to_s16(samples: NDArray[np.float32]) -> NDArray[np.int16]:
    """Round float samples in [-1, 1] to 16 bits.

    Values outside the range are clipped first: a cast alone wraps round, which is heard as a
    loud click. Not-a-number becomes silence.
    """
    bounded = np.clip(np.nan_to_num(samples, nan=0.0), np.float32(-1.0), np.float32(1.0))
    return np.rint(bounded * _FULL_SCALE).astype(np.int16)


def to_s16le(samples: NDArray[np.float32]) -> bytes:
    """Encode float samples as signed 16-bit little-endian PCM, clipped as in :func:`to_s16`."""
    return to_s16(samples).astype("<i2").tobytes()


def from_s16le(data: bytes) -> NDArray[np.float32]:
    """Decode 16-bit little-endian samples, a whole number of them: float32 [n] in [-1, 1]."""
    return np.frombuffer(data, "<i2").astype(np.float32) / _FULL_SCALE


def to_f32le(samples: NDArray[np.float32]) -> bytes:
    """Encode float samples as 32-bit little-endian floats, clipped to [-1, 1]."""
    return np.clip(np.nan_to_num(samples, nan=0.0), -1.0, 1.0).astype("<f4").tobytes()


class S16leReader:
    """Samples from s16le bytes that come in pieces of any size: none is read across its middle."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> NDArray[np.float32]:
        """float32 [n], the samples that are complete; an odd byte waits for its other half."""
        whole = self._rest + data
        end = len(whole) & ~1
        self._rest = whole[end:]
        return from_s16le(whole[:end])


def silence(seconds: float) -> NDArray[np.float32]:
    """Zeros that last ``seconds``."""
    return np.zeros(round(seconds * SAMPLE_RATE), dtype=np.float32)
