"""Phonemes by espeak-ng alone: every language but English, and English when its rules fail."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from speakahead.text.alphabet import MARKS
from speakahead.text.g2p.given import Given
from speakahead.text.g2p.ipa import transcribe
from speakahead.text.g2p.words import WordCollector, tidy
from speakahead.text.phonemes import Phonemes
from speakahead.text.spans import SpannedText

_SPELT_OTHERWISE = {
    **dict.fromkeys("¿¡", ""),
    **{"«": "“", "»": "”", "„": "“", "‟": "“", "‹": "“", "›": "”"},
    **dict.fromkeys("।॥。", "."),
    **{"،": ",", "、": ",", "，": ",", "；": ";", "：": ":", "！": "!", "？": "?"},
    **{"[": "(", "]": ")", "{": "(", "}": ")"},
}
_OTHERWISE = re.compile("|".join(map(re.escape, _SPELT_OTHERWISE)))
_ELLIPSIS = re.compile(r"\.{2,}")
# French and others put a space inside quotation marks and before "!".
_SPACED_MARK = re.compile(r"(?<=[“(]) +| +(?=[;:,.!?…”)])")

# A mark of punctuation, and not the middle of "3,5", "10:30", "2.0.1" or "example.com". (Where a
# capital follows the point, a space is missing.)
_MARK = re.compile(rf"(?!(?<=\d)[.,:]\d)(?!(?<=\w)\.(?:\d|[^\W\d_A-ZÀ-ÖØ-Þ]))[{re.escape(MARKS)}]")
_WORD = re.compile(r"[^ ]+")

# espeak-ng cuts a clause of 800 bytes wherever it stands.
_WORDS_AT_ONCE = 40


class ClausePhonemizer:
    """One language through espeak-ng; may be called from any thread.

    Words are spoken clause by clause, not one at a time, because they change each other: the
    French "les" has its z only before "amis".
    """

    def __init__(self, language: str) -> None:
        self.language = language

    def phonemize(self, spoken: SpannedText, given: Mapping[str, str] | None = None) -> Phonemes:
        """Phonemes of ``spoken``; an empty ``text`` where nothing in it can be spoken.

        ``given`` has the phonemes of some words of ``spoken``, written exactly so.
        """
        text = tidy(spoken).rewrite(_OTHERWISE, lambda match: _SPELT_OTHERWISE[match[0]])
        text = text.rewrite(_ELLIPSIS, lambda _: "…").rewrite(_SPACED_MARK, lambda _: "")
        said = Given(given or {}, self.language)
        collector = WordCollector(text, self.language)
        done = 0
        for mark in _MARK.finditer(text.text):
            self._clause(text.text, done, mark.start(), collector, said)
            collector.add(mark[0], mark.start(), mark.end())
            done = mark.end()
        self._clause(text.text, done, len(text), collector, said)
        return collector.phonemes()

    def _clause(
        self, text: str, start: int, end: int, collector: WordCollector, said: Given
    ) -> None:
        """Add the words between two marks, with the space before, between and after them."""
        words = list(_WORD.finditer(text, start, end))
        first = 0
        while first < len(words):
            phonemes = self._partly_given(words[first][0], said)
            if phonemes is not None:
                group, parts = words[first : first + 1], [phonemes]
            else:
                group = [words[first]]
                for word in words[first + 1 : first + _WORDS_AT_ONCE]:
                    if self._partly_given(word[0], said) is not None:
                        break
                    group.append(word)
                parts = aligned([word[0] for word in group], self.language)
            for word, phonemes in zip(group, parts, strict=True):
                if word.start() > start:
                    collector.add(" ", word.start(), word.start())
                collector.add(phonemes, word.start(), word.end())
            first += len(group)
        if text[end - 1 : end] == " " and start < end:
            collector.add(" ", end, end)

    def _partly_given(self, word: str, said: Given) -> str | None:
        """Phonemes of a word in which some are given; None for any other."""
        if not said:
            return None
        pieces = said.pieces(word)
        if all(phonemes is None for _, phonemes in pieces):
            return None
        return "".join(
            self._beside_given(text) if phonemes is None else phonemes for text, phonemes in pieces
        )

    def _beside_given(self, text: str) -> str:
        if not text.endswith("'"):
            return transcribe(text, self.language)
        # Alone, espeak-ng would spell the "l'" of "l'ami". So it gets a vowel, which then goes.
        with_vowel = transcribe(text + "a", self.language)
        consonants = re.sub("[ˈˌ]?[aɑɐæʌə]ː?$", "", with_vowel)
        return consonants if consonants != with_vowel else ""


def aligned(words: list[str], language: str) -> list[str]:
    """Phonemes of ``words`` spoken together, shared out among them, one string each.

    espeak-ng does not tell which sounds are which word's. It puts a space between words, except
    between some that run together, and within long ones (numbers). Where the spaces do not settle
    it, the words' pronunciations in isolation are laid along the whole.
    """
    together = transcribe(" ".join(words), language)
    groups = together.split()
    if len(groups) == len(words) and not any(c.isdigit() for word in words for c in word):
        return groups
    isolated = [_isolated(word, language) for word in words]
    alone = " ".join(isolated)
    blocks = SequenceMatcher(None, alone, together, autojunk=False).get_opcodes()
    cuts = [0]
    position = -1
    for phonemes in isolated[:-1]:
        position += len(phonemes) + 1
        cuts.append(max(cuts[-1], _moved(position, blocks)))
    cuts.append(len(together))
    return [together[a:b].strip() for a, b in pairwise(cuts)]


@lru_cache(maxsize=2048)
def _isolated(word: str, language: str) -> str:
    return transcribe(word, language)


def _moved(position: int, blocks: Sequence[tuple[str, int, int, int, int]]) -> int:
    """Where ``position`` of the first string has come to in the second."""
    for kind, a, b, c, d in blocks:
        if position < b:
            return c + position - a if kind == "equal" else c + (d - c) * (position - a) // (b - a)
    return blocks[-1][4] if blocks else 0
