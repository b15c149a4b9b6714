"""Long phoneme strings in parts: at the best place, with nothing lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.text.g2p import phonemizer_for, split_phonemes
from speakahead.text.phonemes import Phonemes, Word
from speakahead.text.spans import Span, SpannedText


def phonemes_of(text: str) -> Phonemes:
    """Each run of letters a word; its source is the string itself."""
    words: list[Word] = []
    start: int | None = None
    for i, character in enumerate(text + " "):
        if character.isalpha() and start is None:
            start = i
        elif not character.isalpha() and start is not None:
            words.append(Word(text[start:i], start, i, Span(start, i)))
            start = None
    return Phonemes(text, tuple(words), "en-us")


def texts(parts: list[Phonemes]) -> list[str]:
    return [part.text for part in parts]


def test_a_short_string_is_left_alone() -> None:
    phonemes = phonemes_of("abc def.")
    assert split_phonemes(phonemes, 8) == [phonemes]


def test_nothing_gives_no_part() -> None:
    assert split_phonemes(Phonemes("", (), "en-us"), 100) == []


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("aaa bbb. ccc, ddd eee", 18, ["aaa bbb.", "ccc, ddd eee"]),
        ("aaa bbb, ccc ddd eee", 18, ["aaa bbb,", "ccc ddd eee"]),
        ("aaa bbb ccc ddd", 12, ["aaa bbb ccc", "ddd"]),
        ("aaa bbb ccc ddd", 11, ["aaa bbb ccc", "ddd"]),
        ("aaa. bbb. ccc. ddd. eee", 15, ["aaa. bbb. ccc.", "ddd. eee"]),
        ("aaa “bbb.” ccc ddd", 15, ["aaa “bbb.”", "ccc ddd"]),
        ("a. bbb ccc ddd eee fff", 16, ["a. bbb ccc ddd", "eee fff"]),
        ("aaa bbb ccc ddd ee", 16, ["aaa bbb ccc", "ddd ee"]),
        ("aaaaaaaaaa", 4, ["aaaa", "aaaa", "aa"]),
    ],
)
def test_a_cut_is_made_at_the_best_place(text: str, limit: int, expected: list[str]) -> None:
    assert texts(split_phonemes(phonemes_of(text), limit)) == expected


def test_a_word_of_several_spoken_words_is_kept_whole() -> None:
    text = "ab three dollars now ok"
    words = (
        Word("ab", 0, 2, Span(0, 2)),
        Word("$3", 3, 16, Span(3, 5)),
        Word("now", 17, 20, Span(6, 9)),
        Word("ok", 21, 23, Span(10, 12)),
    )
    parts = split_phonemes(Phonemes(text, words, "en-us"), 18)
    assert texts(parts) == ["ab three dollars", "now ok"]
    assert parts[1].words == (
        Word("now", 0, 3, Span(6, 9)),
        Word("ok", 4, 6, Span(10, 12)),
    )


def test_a_word_longer_than_the_limit_is_in_each_part_with_its_span() -> None:
    text = "one two three four"
    parts = split_phonemes(Phonemes(text, (Word("1234", 0, 18, Span(5, 9)),), "en-us"), 8)
    assert texts(parts) == ["one two", "three", "four"]
    assert [part.words for part in parts] == [
        (Word("1234", 0, 7, Span(5, 9)),),
        (Word("1234", 0, 5, Span(5, 9)),),
        (Word("1234", 0, 4, Span(5, 9)),),
    ]


def test_a_part_needs_a_symbol() -> None:
    with pytest.raises(ValueError, match="at least one"):
        split_phonemes(phonemes_of("abc"), 0)


@given(st.text(alphabet="abc  .,;!”(", max_size=120), st.integers(1, 40))
def test_no_part_is_too_long_and_nothing_is_lost(text: str, limit: int) -> None:
    phonemes = phonemes_of(" ".join(text.split()))
    parts = split_phonemes(phonemes, limit)
    assert all(0 < len(part.text) <= limit for part in parts)
    assert "".join(texts(parts)).replace(" ", "") == phonemes.text.replace(" ", "")
    longest = max((len(word.text) for word in phonemes.words), default=0)
    if longest <= limit:
        assert tuple(w.span for part in parts for w in part.words) == tuple(
            word.span for word in phonemes.words
        )
    for part in parts:
        for word in part.words:
            assert 0 <= word.start < word.end <= len(part.text)
            assert part.text[word.start : word.end] in word.text


def test_a_real_endless_sentence_fits_the_model() -> None:
    text = "and then we walked along the river, talking about nothing in particular " * 30
    phonemes = phonemizer_for("en-us").phonemize(SpannedText.verbatim(text))
    parts = split_phonemes(phonemes, 200)
    assert max(len(part.text) for part in parts) <= 200
    assert min(len(part.text) for part in parts) >= 50
    assert sum(len(part.words) for part in parts) == len(text.split())
