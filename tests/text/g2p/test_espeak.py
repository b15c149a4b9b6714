"""The adapter of espeak-ng, and its symbols in Kokoro's alphabet."""

from __future__ import annotations

import pytest

from speakahead.text.g2p import espeak
from speakahead.text.g2p.ipa import kokoro_symbols, spelled, transcribe


def test_sounds_of_two_letters_are_tied_and_words_are_apart() -> None:
    assert espeak.ipa("my judge", "en-us") == "ma͡ɪ d͡ʒˈʌd͡ʒ"


def test_every_clause_is_read() -> None:
    assert len(espeak.ipa("uno, dos. tres; cuatro", "es").split()) == 4


def test_voices_can_follow_each_other() -> None:
    first = [espeak.ipa("water", tag) for tag in ("en-us", "en-gb", "fr", "en-us")]
    assert first[0] == first[3] == "wˈɔːɾɚ"
    assert first[1] == "wˈɔːtə"


def test_a_language_that_is_not_ours_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        espeak.ipa("hallo", "de")


@pytest.mark.parametrize("text", ["", " ", "\n", "\x00", "\ud800"])
def test_nothing_gives_nothing(text: str) -> None:
    assert espeak.ipa(text, "en-us") == ""


def test_text_behind_a_zero_character_is_read() -> None:
    assert espeak.ipa("uno\x00dos", "es") == espeak.ipa("uno dos", "es")


@pytest.mark.parametrize(
    ("ipa", "language", "expected"),
    [
        ("a͡ɪ a͡ʊ e͡ɪ ɔ͡ɪ d͡ʒ t͡ʃ", "en-us", "I W A Y ʤ ʧ"),
        ("ɡˈo͡ʊ wˈɔːɾɚ bˈɜːd", "en-us", "ɡˈO wˈɔTəɹ bˈɜɹd"),
        ("ɡˈə͡ʊ skwˈe͡ə", "en-gb", "ɡˈQ skwˈɛː"),
        ("bˈʌʔn\u0329 lˈɪtə͡l", "en-us", "bˈʌtn lˈɪtᵊl"),
        ("kˈɑːn\u0329", "en-us", "kˈɑᵊn"),
        ("t͡s d͡z le-z bɔ̃", "fr", "ʦ ʣ lez bɔ̃"),
        ("mõ gˈato ʘ", "pt-br", "mo\u0303 ɡˈato "),
    ],
)
def test_symbols_become_those_of_kokoro(ipa: str, language: str, expected: str) -> None:
    assert kokoro_symbols(ipa, language) == expected


def test_a_word_can_be_spelled() -> None:
    assert spelled("qx", "en-us") == "kjˈu ˈɛks"
    assert transcribe("...", "en-us") == ""
