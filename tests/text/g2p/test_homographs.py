"""Nouns of two pronunciations, settled by the words beside them."""

from __future__ import annotations

import pytest

from speakahead.text.g2p import phonemizer_for
from speakahead.text.spans import SpannedText


def said(text: str, word: str, language: str = "en-us") -> str:
    phonemes = phonemizer_for(language).phonemize(SpannedText.verbatim(text))
    (found,) = (each for each in phonemes.words if each.text.lower() == word)
    return phonemes.text[found.start : found.end]


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("They replaced the lead pipe.", "lead", "lˈɛd"),
        ("Lead poisoning is serious.", "lead", "lˈɛd"),
        ("It is made of lead.", "lead", "lˈɛd"),
        ("She took the lead role.", "lead", "lˈid"),
        ("They lead the way.", "lead", "lˈid"),
        ("The lead pipeline engineer left.", "lead", "lˈid"),
        ("He has a bass guitar.", "bass", "bˈAs"),
        ("She plays bass.", "bass", "bˈAs"),
        ("We caught a bass.", "bass", "bˈæs"),
        ("It needs a minute amount.", "minute", "mInˈut"),
        ("Wait a minute.", "minute", "mˈɪnət"),
        ("A five minute trace.", "minute", "mˈɪnət"),
        ("Send your resume.", "resume", "ɹˈɛzəmˌA"),
        ("We resume the work.", "resume", "ɹəzˈum"),
    ],
)
def test_a_neighbour_settles_the_reading(text: str, word: str, expected: str) -> None:
    assert said(text, word) == expected


def test_british_readings() -> None:
    assert said("Send your resume.", "resume", "en-gb") == "ɹˈɛzjʊmˌA"
    assert said("A lead pipe.", "lead", "en-gb") == "lˈɛd"


def test_the_place_of_a_word_is_right_after_longer_text() -> None:
    text = "It's (really) 'odd' — can't 3,000 men e.g. lift it? They lead; a lead pipe won't."
    phonemes = phonemizer_for("en-us").phonemize(SpannedText.verbatim(text))
    leads = [phonemes.text[w.start : w.end] for w in phonemes.words if w.text == "lead"]
    assert leads == ["lˈid", "lˈɛd"]
