"""ITU-T G.711: eight bits a sample, as telephony has them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import to_s16

_BIAS = 33  # of mu-law, on its 14-bit scale


def to_mulaw(samples: NDArray[np.float32]) -> bytes:
    """Encode float samples in [-1, 1] as mu-law, one byte each."""
    return _encode(samples, "mulaw")


def to_alaw(samples: NDArray[np.float32]) -> bytes:
    """Encode float samples in [-1, 1] as A-law, one byte each."""
    return _encode(samples, "alaw")


def _mulaw_levels() -> NDArray[np.int32]:
    """What each code stands for on a 16-bit scale (G.711, table 2)."""
    code = ~np.arange(256) & 0xFF  # all bits are sent inverted
    segment, step = (code >> 4) & 7, code & 15
    magnitude = ((2 * step + _BIAS) << segment) - _BIAS
    return (np.where(code & 0x80, -magnitude, magnitude) * 4).astype(np.int32)


def _alaw_levels() -> NDArray[np.int32]:
    """What each code stands for on a 16-bit scale (G.711, table 1)."""
    code = np.arange(256) ^ 0x55  # even bits are sent inverted
    segment, step = (code >> 4) & 7, code & 15
    magnitude = np.where(segment == 0, 2 * step + 1, (2 * step + 33) << np.maximum(segment - 1, 0))
    levels: NDArray[np.int32] = np.where(code & 0x80, magnitude, -magnitude).astype(np.int32) * 8
    return levels


@cache
def _codes(law: str) -> NDArray[np.uint8]:
    """The code whose level is nearest to each 16-bit value, which is the index, as uint16."""
    levels = _mulaw_levels() if law == "mulaw" else _alaw_levels()
    order = np.argsort(levels, kind="stable")
    ascending = levels[order]
    middles = (ascending[1:] + ascending[:-1]) / 2
    values = np.arange(1 << 16, dtype=np.uint16).astype(np.int16)
    return order[np.searchsorted(middles, values)].astype(np.uint8)


def _encode(samples: NDArray[np.float32], law: str) -> bytes:
    return _codes(law)[to_s16(samples).view(np.uint16)].tobytes()
