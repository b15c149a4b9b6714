"""Words that are said as the user wishes: what is matched, what is said, and what is refused."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speakahead.errors import InvalidRequest
from speakahead.text.alphabet import ALPHABET
from speakahead.text.frontend import FrontEnd
from speakahead.text.pronunciations import MOST, Pronunciation, compiled
from speakahead.text.spans import SpannedText

KOKORO = Pronunciation("Kokoro", phonemes="kˈOkəɹO")
ALL = (
    KOKORO,
    Pronunciation("SQL", respelling="sequel"),
    Pronunciation("GPU", phonemes="ʤˌipˌijˈu"),
    Pronunciation("1/2", phonemes="hˈæf"),
    Pronunciation("3", phonemes="θɹˈi"),
    Pronunciation("v2.0", respelling="the second version"),
    Pronunciation("$5", respelling="a fiver"),
    Pronunciation("€", respelling="bucks"),
    Pronunciation("C++", phonemes="sˈi"),
    Pronunciation("New York", phonemes="bˈɪɡ ˈæpəl"),
    Pronunciation("New", phonemes="njˈu"),
    Pronunciation("café", phonemes="kˈæf"),
    Pronunciation("don't", phonemes="dˈOn"),
    Pronunciation("Dr.", phonemes="dˈɑk"),
    Pronunciation("b", phonemes="bˈʌb"),
    Pronunciation("amp", phonemes="ˈæmpˈæmp"),
    Pronunciation("नई", phonemes="nˈu"),
)


def heard(
    text: str,
    pronunciations: tuple[Pronunciation, ...] = ALL,
    language: str = "en-us",
    start: int = 0,
) -> list[tuple[str, str]]:
    """Each spoken word, as it stands in the source, with its phonemes."""
    return [
        (text[word.span.start - start : word.span.end - start], piece.text[word.start : word.end])
        for piece in FrontEnd().phonemes(text, start, language, pronunciations)
        for word in piece.words
    ]


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("I like Kokoro a lot.", "Kokoro", "kˈOkəɹO"),
        ("I like KOKORO a lot.", "KOKORO", "kˈOkəɹO"),
        ("I like Kokoro's voice.", "Kokoro's", "kˈOkəɹOz"),
        ("I like Kokoro’s voice.", "Kokoro’s", "kˈOkəɹOz"),
        ("I like **Kokoro**.", "Kokoro", "kˈOkəɹO"),
        ("I like _Kokoro_.", "Kokoro", "kˈOkəɹO"),
        ("I like [Kokoro](https://example.com/kokoro).", "Kokoro", "kˈOkəɹO"),
        ("# Kokoro", "Kokoro", "kˈOkəɹO"),
        ("(Kokoro)", "Kokoro", "kˈOkəɹO"),
        ("The SQL database", "SQL", "sˈikwəl"),
        ("Two GPUs are here.", "GPUs", "ʤˌipˌijˈuz"),
        ("The GPU's fan", "GPU's", "ʤˌipˌijˈuz"),
        ("Add 1/2 of it.", "1/2", "hˈæf"),
        ("Use v2.0 now.", "v2.0", "ðə sˈɛkənd vˈɜɹʒən"),
        ("It cost $5 only.", "$5", "ɐ fˈIvəɹ"),
        ("I write C++ code.", "C++", "sˈi"),
        ("In New York it rains.", "New York", "bˈɪɡ ˈæpəl"),
        ("In new\nyork it rains.", "new\nyork", "bˈɪɡ ˈæpəl"),
        ("A New Car", "New", "njˈu"),
        ("The cafe\u0301 is open.", "cafe\u0301", "kˈæf"),
        ("We don’t know.", "don’t", "dˈOn"),
        ("See Dr. Smith.", "Dr.", "dˈɑk"),
    ],
)
def test_a_word_is_said_as_given_and_timed_as_written(text: str, word: str, expected: str) -> None:
    assert (word, expected) in heard(text)
    assert (word, expected) in heard(text, start=70)


@pytest.mark.parametrize(
    "text",
    [
        "Kokoros and kokoroness.",
        "The SQLite file.",
        "It costs $50, 3.5 percent, on 11/2/2024, at 3:30.",
        "A cafe in the cafés.",
        "This is <b>bold</b> and Q&amp;A.",
        "The abc.",
        "We write v2.0.1 and 1/24.",
    ],
)
def test_part_of_a_word_a_number_or_a_tag_is_no_match(text: str) -> None:
    assert heard(text) == heard(text, ())


def test_a_vowel_sign_continues_a_word() -> None:
    assert ("नई", "nˈu") in heard("नई गाड़ी", language="hi")
    assert heard("नईं गाड़ी", language="hi") == heard("नईं गाड़ी", (), "hi")
    of = (Pronunciation("की", phonemes="kˈO"),)
    assert ("की", "kˈO") in heard("राम की किताब", of, "hi")
    assert heard("यह कीमत है", of, "hi") == heard("यह कीमत है", (), "hi")


def test_a_sign_may_touch_a_number() -> None:
    assert [phonemes for _, phonemes in heard("€9 each")][:2] == ["bˈʌks", "nˈIn"]


def test_half_of_a_sign_is_no_match() -> None:
    grade = (Pronunciation("C+", phonemes="kˈO"),)
    assert ("C+", "kˈO") in heard("A C+ in class.", grade)
    assert heard("We use C++ here.", grade) == heard("We use C++ here.", ())


def test_the_stop_of_an_abbreviation_still_ends_the_sentence() -> None:
    (piece,) = FrontEnd().phonemes("She is a Dr.", 0, "en-us", ALL)
    assert piece.text.endswith("dˈɑk.")


def test_symbols_are_spoken_exactly_as_given() -> None:
    # misaki would make "T" and "t" of these.
    given_so = (Pronunciation("perro", phonemes="pɛɾoʔ"),)
    assert ("perro", "pɛɾoʔ") in heard("El perro is a dog.", given_so)


def test_words_are_reported_as_they_are_written() -> None:
    (piece,) = FrontEnd().phonemes("KOKORO needs GPUs, kokoro's two.", 0, "en-us", ALL)
    assert [word.text for word in piece.words] == ["KOKORO", "needs", "GPUs", "kokoro's", "two"]


def test_a_title_before_a_given_name_is_still_a_title() -> None:
    assert ("Mr.", "mˈɪstəɹ") in heard("Mr. Kokoro came.", (KOKORO,))


def test_the_article_before_a_given_word_goes_with_its_sound() -> None:
    words = (Pronunciation("Xyz", phonemes="ˈæpə"), Pronunciation("Abc", phonemes="kˈæpə"))
    assert ("the", "ði") in heard("It is the Xyz.", words)
    assert ("the", "ðə") in heard("It is the Abc.", words)


@pytest.mark.parametrize(
    ("language", "text", "word", "expected"),
    [
        ("fr", "Les voix de Kokoro sont belles.", "Kokoro", "kˈOkəɹO"),
        ("fr", "La voix d'Kokoro.", "d'Kokoro", "dkˈOkəɹO"),
        ("it", "La voce dell'Kokoro.", "dell'Kokoro", "dellkˈOkəɹO"),
        ("es", "Me gusta Kokoro!", "Kokoro", "kˈOkəɹO"),
        ("pt-br", "O Kokoro-X fala.", "Kokoro-X", "kˈOkəɹOʃˈis"),
        ("hi", "यह Kokoro है।", "Kokoro", "kˈOkəɹO"),
        ("en-gb", "Kokoro's voice.", "Kokoro's", "kˈOkəɹOz"),
    ],
)
def test_other_languages(language: str, text: str, word: str, expected: str) -> None:
    assert (word, expected) in heard(text, (KOKORO,), language)


@pytest.mark.parametrize(
    ("phonemes", "language", "expected"),
    [("pˈæt", "en-us", "pˈæts"), ("bˈɑs", "en-us", "bˈɑsᵻz"), ("bˈɒs", "en-gb", "bˈɒsɪz")],
)
def test_a_possessive_ends_as_its_word_demands(phonemes: str, language: str, expected: str) -> None:
    words = (Pronunciation("Zed", phonemes=phonemes),)
    assert ("Zed's", expected) in heard("It is Zed's hat.", words, language)


def test_the_last_of_two_pronunciations_holds() -> None:
    words = (KOKORO, Pronunciation("kokoro", phonemes="kˈO"))
    assert heard("Kokoro", words) == [("Kokoro", "kˈO")]


def test_a_word_that_looks_like_a_stand_in_stays_itself() -> None:
    text = "zubaba zubabi Kokoro"
    assert heard(text)[:2] == heard(text, ())[:2]
    assert heard(text)[2] == ("Kokoro", "kˈOkəɹO")
    words = (KOKORO, Pronunciation("odd", respelling="zubaba"))
    assert heard("odd Kokoro", words)[0][1] == heard("zubaba", ())[0][1]


def test_long_runs_without_a_space_keep_the_given_word_whole() -> None:
    for before in range(28, 42):
        text = "x" * before + "-Kokoro-" + "y" * 30
        assert any("kˈOkəɹO" in phonemes for _, phonemes in heard(text)), before


@pytest.mark.parametrize(
    ("word", "phonemes", "respelling", "reason"),
    [
        ("", "kˈO", None, "1 to 64"),
        ("x" * 65, "kˈO", None, "1 to 64"),
        ("*", "kˈO", None, "letter"),
        ("  ", "kˈO", None, "letter"),
        ("x", None, None, "either"),
        ("x", "kˈO", "ko", "either"),
        ("x", "", None, "128"),
        ("x", "k" * 129, None, "128"),
        ("x", "kˈO7", None, "number 4"),
        ("x", "ˈ.", None, "vowel"),
        ("x", None, "", "128"),
        ("x", None, "k" * 129, "128"),
        ("x", None, "?!", "letter"),
    ],
)
def test_a_pronunciation_that_cannot_be_used_is_refused(
    word: str, phonemes: str | None, respelling: str | None, reason: str
) -> None:
    with pytest.raises(InvalidRequest, match=reason) as refused:
        Pronunciation(word, phonemes, respelling)
    assert refused.value.code == "invalid_pronunciation"


def test_too_many_are_refused() -> None:
    many = tuple(Pronunciation(f"word{i}", respelling="x") for i in range(MOST + 1))
    assert compiled(many[:MOST])
    with pytest.raises(InvalidRequest, match="At most 100") as refused:
        FrontEnd().phonemes("Hello.", 0, "en-us", many)
    assert refused.value.code == "invalid_pronunciation"


def test_matching_is_compiled_once_and_fast() -> None:
    many = tuple(Pronunciation(f"word{i} and word", respelling="x") for i in range(MOST))
    assert compiled(many) is compiled(tuple(many))
    text = SpannedText.verbatim("word word1 and wordword2  and words " * 300)
    began = time.perf_counter()
    compiled(many).applied(text)
    assert time.perf_counter() - began < 1.0


PARTS = st.sampled_from(
    [each.word for each in ALL]
    + ["zubaba", "'s", "s", " ", "\n", "**", "`", "<", ">", "&", ";", "-", ".", "/", "[", "](", ")"]
    + ["$", "#", "@", "|", "1", "http://", ".com", "\u0301", "\\", "é", "ï", "the ", "Hello, "]
)
TEXTS = st.lists(PARTS | st.text(max_size=3), max_size=12).map("".join)


@settings(max_examples=150)
@given(TEXTS, st.sampled_from(["en-us", "fr", "hi"]))
def test_any_text_is_spoken_in_the_alphabet_with_spans_within_it(text: str, language: str) -> None:
    end = 5 + len(text)
    last = 0
    for piece in FrontEnd().phonemes(text, 5, language, ALL):
        assert set(piece.text) <= set(ALPHABET)
        for word in piece.words:
            assert 5 <= word.span.start <= word.span.end <= end
            assert word.span.start >= last
            last = word.span.start


@settings(max_examples=100)
@given(st.text(max_size=40) | TEXTS)
def test_without_a_match_nothing_changes(text: str) -> None:
    absent = (Pronunciation("Qwertyuiopx", phonemes="kˈO"), Pronunciation("฿฿฿", respelling="x"))
    front = FrontEnd()
    assert front.phonemes(text, 3, "en-us", absent) == front.phonemes(text, 3, "en-us")
