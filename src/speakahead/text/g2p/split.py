"""Phoneme strings that are too long for the model, cut where a speaker would breathe."""

from __future__ import annotations

import re

from speakahead.text.alphabet import CLAUSE_MARKS, SENTENCE_MARKS
from speakahead.text.phonemes import Phonemes, Word

# Closing quotes and brackets belong to the mark before them.
_AFTER_SENTENCE = re.compile(rf"[{re.escape(SENTENCE_MARKS)}][\"”)]* ")
_AFTER_CLAUSE = re.compile(rf"[{re.escape(CLAUSE_MARKS)}][\"”)]* ?|[)”\"] ")
_SPACE = re.compile(" ")

_SHORTEST = 1 / 4
"""No part is made shorter than this share of the limit where it can be helped: the model speaks
fragments badly."""


def split_phonemes(phonemes: Phonemes, limit: int = 400) -> list[Phonemes]:
    """``phonemes`` in parts of at most ``limit`` symbols, in their order.

    A part ends after the last sentence in it, or else after a clause, or else after a word. A
    word is cut only when it is longer than ``limit`` by itself; each of its parts then is a word
    with the text and the span of the whole. Spaces at a cut are left out.

    Args:
        phonemes: what to split; an empty one gives no part.
        limit: symbols in a part, 1 to 510 (the model's limit).
    """
    if limit < 1:
        raise ValueError("a part needs at least one symbol")
    parts: list[Phonemes] = []
    start = 0
    text = phonemes.text
    while len(text) - start > limit:
        cut = _best_cut(phonemes, start, limit)
        parts.append(_part(phonemes, start, cut))
        start = cut
        while text.startswith(" ", start):
            start += 1
    parts.append(_part(phonemes, start, len(text)))
    return [part for part in parts if part.text]


def _best_cut(phonemes: Phonemes, start: int, limit: int) -> int:
    text = phonemes.text
    last = start + limit
    shortest = max(1, int(limit * _SHORTEST))
    # The rest should not become a fragment either.
    latest = max(start + shortest, min(last, len(text) - shortest))
    inside = _word_interiors(phonemes.words, start, last)
    for pattern in (_AFTER_SENTENCE, _AFTER_CLAUSE, _SPACE):
        ends = (match.end() for match in pattern.finditer(text, start, min(last + 1, len(text))))
        # The space that ends a match is left out, so it may stand at the limit.
        cuts = [end - 1 if text[end - 1] == " " else end for end in ends]
        good = [cut for cut in cuts if start + shortest <= cut <= latest and cut not in inside]
        if good:
            return max(good)
    gaps = [at for at in range(start + 1, last + 1) if at not in inside]
    if gaps:
        return max(gaps)
    spaces = [at for at in range(start + 1, last + 1) if text[at : at + 1] == " "]
    return max(spaces, default=last)


def _word_interiors(words: tuple[Word, ...], start: int, end: int) -> set[int]:
    """Positions in ``(start, end]`` at which a word would be cut."""
    inside: set[int] = set()
    for word in words:
        if word.end > start and word.start < end:
            inside.update(range(max(word.start, start) + 1, min(word.end, end + 1)))
    return inside


def _part(phonemes: Phonemes, start: int, end: int) -> Phonemes:
    text = phonemes.text[start:end].rstrip()
    end = start + len(text)
    words = tuple(
        Word(word.text, max(word.start, start) - start, min(word.end, end) - start, word.span)
        for word in phonemes.words
        if word.start < end and word.end > start
    )
    return Phonemes(text, words, phonemes.language)
