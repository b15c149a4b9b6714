"""What the text room hands to the engine: phonemes, and which source word each belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from speakahead.text.spans import Span, SpannedText


@dataclass(frozen=True, slots=True)
class Word:
    """One spoken word, as a range of the phoneme string and a span of the source text.

    ``start`` and ``end`` are character positions in ``Phonemes.text``; ``text`` is the word as it
    stands in the spoken form.
    """

    text: str
    start: int
    end: int
    span: Span


@dataclass(frozen=True, slots=True)
class Phonemes:
    """A phoneme string in Kokoro's alphabet, with its words in order.

    Every character of ``text`` is in ``text.alphabet.ALPHABET``, so one character is one model
    token. ``language`` is a BCP 47 tag ("en-us").
    """

    text: str
    words: tuple[Word, ...]
    language: str


class Phonemizer(Protocol):
    """Turns spoken text of one language into phonemes; safe to call from one thread at a time."""

    language: str

    def phonemize(self, spoken: SpannedText, given: Mapping[str, str] | None = None) -> Phonemes:
        """Phonemes of ``spoken``; an empty ``text`` where nothing in it can be spoken.

        ``given`` has the phonemes of some words of ``spoken``, written exactly so.
        """
        ...
