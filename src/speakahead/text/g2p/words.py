"""Shared by the phonemizers: text made ready for speaking, and words collected from their parts."""

from __future__ import annotations

import re

from speakahead.text.alphabet import has_sound, in_alphabet
from speakahead.text.phonemes import Phonemes, Word
from speakahead.text.spans import SpannedText

# Zero-width characters, controls and lone surrogates (which no library accepts).
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ud800-\udfff]+"
)
_BLANK = re.compile(r"\s+")
_APOSTROPHE = re.compile("[‘’ʼ＇]")
# A hyphen by itself, or two in a row, is a pause, and misaki as well as espeak-ng would drop it.
_DASH = re.compile(r"(?<= )[-–](?= )|[-–]{2,}|―")
_SPACES = re.compile(" +")


def tidy(spoken: SpannedText) -> SpannedText:
    """Text with single spaces, plain apostrophes and dashes, and nothing that cannot be seen."""
    text = spoken.rewrite(_UNSEEN, lambda _: "")
    text = text.rewrite(_BLANK, lambda _: " ").rewrite(_APOSTROPHE, lambda _: "'")
    return text.rewrite(_DASH, lambda _: "—").stripped()


class WordCollector:
    """Puts a phoneme string together, and keeps which part of it is which word."""

    def __init__(self, spoken: SpannedText, language: str) -> None:
        self._spoken = spoken
        self._language = language
        self._text = ""
        self._words: list[Word] = []

    def add(self, phonemes: str, start: int, end: int) -> None:
        """Append the phonemes of the characters ``[start, end)`` of the spoken text.

        Where these are sounds, they are a word. Words that stand for the same part of the source
        ("three dollars" for "$3") become one.
        """
        phonemes = in_alphabet(phonemes)
        if not phonemes:
            return
        if phonemes[0] == " " and (not self._text or self._text[-1] == " "):
            phonemes = phonemes[1:]
        at = len(self._text)
        self._text += _SPACES.sub(" ", phonemes)
        if not has_sound(phonemes):
            return
        word = Word(
            self._spoken.text[start:end],
            at,
            at + len(self._text[at:].rstrip()),
            self._spoken.source(start, end),
        )
        if self._words and self._words[-1].span == word.span:
            first = self._words.pop()
            word = Word(f"{first.text} {word.text}", first.start, word.end, word.span)
        self._words.append(word)

    def phonemes(self) -> Phonemes:
        """The whole; empty when there is no word in it, because marks alone are not spoken."""
        if not self._words:
            return Phonemes("", (), self._language)
        return Phonemes(self._text.rstrip(), tuple(self._words), self._language)
