"""Kokoro's phoneme alphabet: which symbol is which token of the model.

The numbering is that of the published model (Kokoro-82M v1.0); token 0 pads both ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speakahead.text.alphabet import ALPHABET

PAD = 0
MAX_TOKENS = 510
"""The longest phoneme string that the model accepts, padding not counted."""

# Runs of consecutive token numbers, as (first number, how many): the published numbering has gaps.
_RUNS: tuple[tuple[int, int], ...] = (
    *((1, 6), (9, 17), (31, 1), (33, 1), (35, 2), (39, 1), (41, 8), (50, 23), (75, 4), (80, 4)),
    *((85, 3), (90, 1), (92, 1), (99, 1), (101, 3), (110, 7), (118, 3), (123, 1), (125, 2)),
    *((128, 6), (135, 2), (138, 3), (142, 2), (147, 2), (156, 3), (162, 1), (164, 1), (169, 1)),
    *((171, 3), (177, 1)),
)

SYMBOLS: dict[str, int] = dict(
    zip(ALPHABET, (first + i for first, count in _RUNS for i in range(count)), strict=True)
)
"""Token number of each symbol of the alphabet."""


def tokens(phonemes: str) -> NDArray[np.int64]:
    """Model tokens of a phoneme string, padded: int64 [1, n + 2].

    Raises:
        ValueError: a symbol is not in the alphabet, or there are more than ``MAX_TOKENS``.
    """
    if len(phonemes) > MAX_TOKENS:
        raise ValueError(f"{len(phonemes)} phonemes are more than the model's {MAX_TOKENS}")
    try:
        ids = [SYMBOLS[symbol] for symbol in phonemes]
    except KeyError as unknown:
        raise ValueError(f"not a Kokoro phoneme: {unknown.args[0]!r}") from None
    return np.array([[PAD, *ids, PAD]], dtype=np.int64)
