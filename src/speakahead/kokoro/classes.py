"""Sound classes of frames: what calibration knows about an utterance before it is decoded.

Statistics of the decoder's activations are averages over frames, and frames of silence, vowels,
fricatives and so on differ far more between each other than between utterances. So the share of
each class, known from the predicted durations, predicts an utterance's averages.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from speakahead.kokoro.vocabulary import PAD, SYMBOLS


class SoundClass(IntEnum):
    """What a frame holds, as far as its phoneme tells."""

    HEAD = 0  # the padding before the first phoneme
    TAIL = 1  # the padding after the last
    PAUSE = 2  # punctuation
    SPACE = 3  # between words: a short transition, seldom silent
    VOWEL = 4
    SONORANT = 5  # nasals, liquids, glides, flaps
    VOICED = 6  # voiced stops, fricatives and affricates
    FRICATIVE = 7  # voiceless fricatives and affricates
    STOP = 8  # voiceless stops


_MEMBERS: tuple[tuple[SoundClass, str], ...] = (
    (SoundClass.PAUSE, ';:,.!?—…"()“”'),
    (SoundClass.SPACE, " "),
    (SoundClass.SONORANT, "mnŋɲɴɳlɹrɾɽɻjwɥɰʎʋʁT"),
    (SoundClass.VOICED, "bdɡɟvzʒðʤʣʥɖʝɣβᵝ"),
    (SoundClass.FRICATIVE, "fsʃθhxçɕʂχɸʧʦʨʰS"),
    (SoundClass.STOP, "ptkqcʔʈ"),
)
_TO_NEXT = "ˈˌ"  # stress marks belong to the sound after them
_TO_PREVIOUS = "ː\u0303ʲʰ↓→↗↘"  # length, nasality, tone: to the sound before them


def _table() -> NDArray[np.int8]:
    table = np.full(max(SYMBOLS.values()) + 1, SoundClass.VOWEL, np.int8)
    for kind, members in _MEMBERS:
        for symbol in members:
            table[SYMBOLS[symbol]] = kind
    table[PAD] = SoundClass.HEAD
    for mark in _TO_NEXT:
        table[SYMBOLS[mark]] = -1
    for mark in _TO_PREVIOUS:
        table[SYMBOLS[mark]] = -2
    return table


_TABLE = _table()


def token_classes(tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sound class of each token of a padded sequence: [n + 2] to int64 [n + 2]."""
    classes = _TABLE[tokens].astype(np.int64)
    classes[-1] = SoundClass.TAIL
    for i in range(len(classes) - 2, 0, -1):
        if classes[i] == -1:
            classes[i] = classes[i + 1] if classes[i + 1] >= 0 else SoundClass.VOWEL
    for i in range(1, len(classes) - 1):
        if classes[i] == -2:
            classes[i] = classes[i - 1]
    return classes


def class_weights(tokens: NDArray[np.int64], durations: NDArray[np.int64]) -> NDArray[np.float32]:
    """One-hot class of each frame: float32 [1, classes, frames].

    ``tokens`` and ``durations`` (in frames) are both [n + 2], padding included.
    """
    frames = np.repeat(token_classes(tokens), durations)
    one_hot: NDArray[np.bool_] = frames == np.arange(len(SoundClass))[:, None]
    return one_hot.astype(np.float32)[None]
