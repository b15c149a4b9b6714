"""Kokoro's phoneme alphabet, as the text room sees it: the symbols that may be spoken.

Which symbol is which token of the model is the model's matter (``kokoro.vocabulary``).
"""

from __future__ import annotations

import unicodedata

ALPHABET = (
    ';:,.!?—…"()“” \u0303ʣʥʦʨᵝ\uab67AIOQSTWYᵊ'
    "abcdefhijklmnopqrstuvwxyz"
    "ɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔ"
    "ˈˌːʰʲ↓→↗↘ᵻ"
)
"""The 114 symbols of Kokoro-82M v1.0, in the order of their token numbers."""

SENTENCE_MARKS = ".!?…"
CLAUSE_MARKS = ";:,—"
MARKS = SENTENCE_MARKS + CLAUSE_MARKS + '"()“”'
"""Symbols that shape the melody but are no sound."""

_SYMBOLS = frozenset(ALPHABET)
_SOUNDS = _SYMBOLS - frozenset(MARKS + " ˈˌːʰʲ↓→↗↘\u0303")
_RESPELLED = {"g": "ɡ", "ɫ": "l"}


def in_alphabet(phonemes: str) -> str:
    """``phonemes`` with every symbol that Kokoro does not know respelled or left out."""
    if _SYMBOLS.issuperset(phonemes):
        return phonemes
    kept: list[str] = []
    for symbol in phonemes:
        if symbol not in _SYMBOLS:
            # A precomposed letter ("õ") is its base and a combining mark, which may be known.
            symbol = _RESPELLED.get(symbol) or unicodedata.normalize("NFD", symbol)
        kept += (part for part in symbol if part in _SYMBOLS)
    return "".join(kept)


def has_sound(phonemes: str) -> bool:
    """Whether anything in ``phonemes`` is a sound, and not only marks, stress and spaces."""
    return not _SOUNDS.isdisjoint(phonemes)
