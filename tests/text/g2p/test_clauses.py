"""The languages that espeak-ng speaks: no word lost, marks kept, words in place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speakahead.text.alphabet import ALPHABET, has_sound
from speakahead.text.g2p import phonemizer_for
from speakahead.text.g2p.clauses import aligned
from speakahead.text.phonemes import Phonemes
from speakahead.text.spans import Span, SpannedText


def spoken(text: str, language: str, start: int = 0) -> Phonemes:
    return phonemizer_for(language).phonemize(SpannedText.verbatim(text, start))


def sounds(phonemes: Phonemes) -> list[tuple[str, str]]:
    return [(word.text, phonemes.text[word.start : word.end]) for word in phonemes.words]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("es", "¿Cómo estás? Tengo hambre, amigo.", "kˈomo estˈas? tˈɛŋɡo ˈambɾe, amˈiɣo."),
        ("fr", "L'ami de Paul arrive : « oui ! »", "lamˈi də pˈɔl aʁˈiv: “wˈi!”"),
        ("hi", "नमस्ते, आप कैसे हैं। मैं ठीक हूँ।", "nəmˈʌsteː, ˌaːp kˈɛːseː hɛ̃. mɛ̃ ʈʰˈiːk hu\u0303."),
        ("it", "L'acqua è fresca; va bene?", "lˈakːwa e frˈeska; vˈa bˈɛne?"),
        ("pt-br", "Não há razão, mãe!", "nˌɐ̃ʊ̃ a xazˈɐ̃ʊ̃, mˈɐ̃y!"),
    ],
)
def test_a_sentence_of_each_language(language: str, text: str, expected: str) -> None:
    phonemes = spoken(text, language)
    assert phonemes.text == expected
    assert phonemes.language == language


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("es", "La versión 2.0.1 fue publicada ayer en example.com y costó 3,5 euros a las 10:30."),
        ("fr", "La version 2.0.1 est sortie en 2024, c'est-à-dire hier, sur www.exemple.fr."),
        ("it", "La versione 2.0.1 del 1999 è uscita.Ecco tutto."),
        ("pt-br", "A versão 2.0.1 saiu (em 2024) – e custou 1.234,50."),
        ("hi", "संस्करण 2.0.1 जारी हुआ।"),
        ("fr", " ".join(["les amis et une maison"] * 60)),
        ("hi", " ".join(["नमस्ते दुनिया आप कैसे हैं"] * 60)),
    ],
)
def test_no_word_is_lost(language: str, text: str) -> None:
    phonemes = spoken(text, language)
    words = [part for part in text.replace(".E", " E").split() if any(c.isalnum() for c in part)]
    assert len(phonemes.words) == len(words)
    for word, source in zip(phonemes.words, words, strict=True):
        assert word.text == source.strip(".,()।")


def test_numbers_stay_with_their_word() -> None:
    said = dict(sounds(spoken("Il y a 2024 ans et 21 jours", "fr")))
    assert said["2024"] == "dø mil vɛ̃tkˈatʁ"
    assert said["jours"] == "ʒˈuʁ"


def test_words_change_each_other_as_in_speech() -> None:
    assert dict(sounds(spoken("les amis", "fr")))["les"].endswith("z")
    assert not dict(sounds(spoken("les maisons", "fr")))["les"].endswith("z")


def test_words_that_run_together_are_shared_out() -> None:
    parts = aligned(["some", "of", "the", "people"], "en-us")
    assert [bool(part) for part in parts] == [True] * 4
    assert parts[1].startswith("ʌ")
    assert parts[2].startswith("ð")
    assert parts[3].startswith("p")


def test_a_foreign_word_leaves_no_language_mark() -> None:
    assert sounds(spoken("Le weekend est cool", "fr"))[1] == ("weekend", "wiːkˈɛnd")
    assert "(" not in spoken("Le weekend est cool", "fr").text


def test_spans_point_into_the_source() -> None:
    phonemes = spoken("¡Hola,  «amigo»!", "es", start=50)
    assert phonemes.text == "ˈola, “amˈiɣo”!"
    assert [word.span for word in phonemes.words] == [Span(51, 55), Span(59, 64)]


@pytest.mark.parametrize("language", ["es", "fr", "hi", "it", "pt-br"])
def test_nothing_speakable_gives_empty_phonemes(language: str) -> None:
    for text in ("", "...", "¿?", "।", " — "):
        assert spoken(text, language) == Phonemes("", (), language)


def test_speaking_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for language in ("es", "fr", "hi", "it", "pt-br"):
        spoken("weekend, 12:30, привет 你好 <b> [[h@l]] _x_ 1/2.", language)
    assert capfd.readouterr() == ("", "")


@settings(max_examples=150)
@given(
    st.text(max_size=50)
    | st.lists(
        st.sampled_from(["l'eau", "2024", "les", "été", "3,5", "a.b", "«", "!", "-", "को", "(x)"]),
        max_size=12,
    ).map(" ".join),
    st.sampled_from(["es", "fr", "hi", "it", "pt-br"]),
)
def test_any_text_gives_phonemes_of_the_alphabet_and_words_in_order(
    text: str, language: str
) -> None:
    phonemes = spoken(text, language, start=3)
    assert set(phonemes.text) <= set(ALPHABET)
    assert "  " not in phonemes.text
    at = 0
    source = 3
    for word in phonemes.words:
        assert at <= word.start < word.end <= len(phonemes.text)
        assert has_sound(phonemes.text[word.start : word.end])
        assert source <= word.span.start < word.span.end <= 3 + len(text)
        at, source = word.end, word.span.start
