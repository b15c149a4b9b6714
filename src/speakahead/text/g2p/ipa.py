"""From espeak-ng's phonetic alphabet to Kokoro's.

Kokoro was trained on phonemes in which a diphthong or an affricate is one symbol: "I" for aɪ, "ʤ"
for dʒ. English besides writes espeak-ng's vowels as its own dictionary does ("o͡ʊ" is "O", American
vowels have no length). The correspondences are those by which its text front end ``misaki``
prepared the training data (misaki 0.9.4, https://github.com/hexgrad/misaki, Apache-2.0).
"""

from __future__ import annotations

import re

from speakahead.text.alphabet import in_alphabet
from speakahead.text.g2p import espeak

_TIED = {
    **{"a͡ɪ": "I", "a͡ʊ": "W", "d͡z": "ʣ", "d͡ʒ": "ʤ", "e͡ɪ": "A", "o͡ʊ": "O", "ə͡ʊ": "Q"},
    **{"s͡s": "S", "t͡s": "ʦ", "t͡ʃ": "ʧ", "ɔ͡ɪ": "Y"},
}

_ENGLISH = {
    **{"a͡ɪ": "I", "a͡ʊ": "W", "d͡ʒ": "ʤ", "e͡ɪ": "A", "e͡ə": "ɛː", "t͡ʃ": "ʧ", "ɔ͡ɪ": "Y"},
    **{"o͡ʊ": "O", "ə͡ʊ": "Q", "ə͡l": "ᵊl", "ʔˌn\u0329": "tn", "ʔn\u0329": "tn"},
    **{"ʲo": "jo", "ʲə": "jə", "ʲ": "", "ɚ": "əɹ", "e": "A", "ɐ": "ə"},
    **{"r": "ɹ", "x": "k", "ç": "k", "ɬ": "l", "ɾ": "T", "ʔ": "t", "\u0303": ""},
}
# These look at vowels as the table before left them.
_BRITISH = {"iə": "ɪə", "o": "ɔ"}
_AMERICAN = {"ɜːɹ": "ɜɹ", "ɜː": "ɜɹ", "ɪə": "iə", "ː": "", "o": "ɔ"}

_Respelling = tuple[re.Pattern[str], dict[str, str]]


def _respelling(pairs: dict[str, str]) -> _Respelling:
    """One pattern for all of ``pairs``, in which the longest of several matches wins."""
    longest_first = sorted(pairs, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))), pairs


_REGIONAL = {"en-us": _respelling(_AMERICAN), "en-gb": _respelling(_BRITISH)}
_OF_ENGLISH = _respelling(_ENGLISH)
_OF_OTHERS = _respelling(_TIED)
_SYLLABIC = re.compile("(\\S)\u0329")


def _respell(phonemes: str, respelling: _Respelling) -> str:
    pattern, pairs = respelling
    return pattern.sub(lambda match: pairs[match[0]], phonemes)


def kokoro_symbols(ipa: str, language: str) -> str:
    """A transcription of ``espeak.ipa`` in Kokoro's alphabet; spaces are kept."""
    regional = _REGIONAL.get(language)
    phonemes = _respell(ipa, _OF_ENGLISH if regional else _OF_OTHERS)
    # espeak-ng's hyphen only says that two words run together.
    phonemes = phonemes.replace(espeak.TIE, "").replace("-", "")
    if regional:
        phonemes = _respell(_SYLLABIC.sub(r"ᵊ\1", phonemes), regional)
    return in_alphabet(phonemes)


def transcribe(text: str, language: str) -> str:
    """``text``, without its punctuation, in Kokoro's alphabet: words with spaces between them."""
    return kokoro_symbols(espeak.ipa(text, language), language)


def spelled(text: str, language: str) -> str:
    """``text`` spelled, character by character."""
    return " ".join(filter(None, (transcribe(character, language) for character in text)))
