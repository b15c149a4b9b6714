"""From spoken text to phonemes in Kokoro's alphabet, for each language that it can speak."""

from speakahead.text.g2p.languages import (
    LANGUAGES,
    Language,
    canonical_language,
    language_of_voice,
    phonemizer_for,
    warm,
)
from speakahead.text.g2p.split import split_phonemes

__all__ = [
    "LANGUAGES",
    "Language",
    "canonical_language",
    "language_of_voice",
    "phonemizer_for",
    "split_phonemes",
    "warm",
]
