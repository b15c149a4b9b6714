"""Kokoro's alphabet and the model's numbering of it."""

from __future__ import annotations

from speakahead.kokoro.vocabulary import SYMBOLS
from speakahead.text.alphabet import ALPHABET, has_sound, in_alphabet


def test_the_alphabet_is_that_of_the_model() -> None:
    assert len(ALPHABET) == len(set(ALPHABET)) == 114
    assert list(SYMBOLS) == list(ALPHABET)
    known = {";": 1, " ": 16, "A": 24, "a": 43, "h": 50, "ɑ": 69, "ɡ": 92, "ˈ": 156, "ᵻ": 177}
    assert {symbol: SYMBOLS[symbol] for symbol in known} == known


def test_other_symbols_are_respelled_or_left_out() -> None:
    assert in_alphabet("həlˈO") == "həlˈO"
    assert in_alphabet("gõ❓x5") == "ɡo\u0303x"


def test_marks_alone_are_no_sound() -> None:
    assert not has_sound("… “—” ˈ.")
    assert has_sound("…a")
    assert not has_sound("")
