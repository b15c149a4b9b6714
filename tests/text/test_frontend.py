"""From a sentence of the source to phonemes for the engine."""

from __future__ import annotations

import pytest

from speakahead.errors import UnsupportedLanguage
from speakahead.text.frontend import FrontEnd
from speakahead.text.spans import Span


def test_a_sentence_becomes_phonemes_with_words_in_the_source() -> None:
    (phonemes,) = FrontEnd().phonemes("It costs $3.50 now.", 40, "en-us")
    assert phonemes.text.startswith("ɪt kˈɔsts") or phonemes.text.startswith("ˌɪt kˈɔsts")
    assert "dˈɑləɹz" in phonemes.text
    assert [word.span for word in phonemes.words] == [
        Span(40, 42),
        Span(43, 48),
        Span(49, 54),
        Span(55, 58),
    ]


def test_the_language_is_understood_in_any_spelling() -> None:
    (phonemes,) = FrontEnd().phonemes("Bonjour Paul.", 0, "fr_FR")
    assert phonemes.language == "fr"


@pytest.mark.parametrize("text", ["", "   ", "...", "🎉"])
def test_nothing_speakable_gives_no_piece(text: str) -> None:
    assert FrontEnd().phonemes(text, 0, "en-us") == []


def test_a_long_sentence_comes_in_pieces() -> None:
    pieces = FrontEnd(limit=120).phonemes("we walked along the river, " * 20, 0, "en-us")
    assert len(pieces) > 2
    assert all(len(piece.text) <= 120 for piece in pieces)


def test_a_language_that_cannot_be_spoken_is_refused() -> None:
    with pytest.raises(UnsupportedLanguage):
        FrontEnd().phonemes("こんにちは", 0, "ja")


@pytest.mark.parametrize("limit", [0, 511])
def test_a_limit_beyond_the_model_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="1 to 510"):
        FrontEnd(limit)
