"""English phonemes: misaki's rules, espeak-ng for unknown words, and words kept in place."""

from __future__ import annotations

import socket
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from misaki import en

from speakahead.text.alphabet import ALPHABET, has_sound
from speakahead.text.g2p import english as module
from speakahead.text.g2p import phonemizer_for
from speakahead.text.phonemes import Phonemes
from speakahead.text.spans import Span, SpannedText


def american(text: str, start: int = 0) -> Phonemes:
    return phonemizer_for("en-us").phonemize(SpannedText.verbatim(text, start))


def british(text: str) -> Phonemes:
    return phonemizer_for("en-gb").phonemize(SpannedText.verbatim(text))


def sounds(phonemes: Phonemes) -> dict[str, list[str]]:
    """The pronunciations of each word, in their order."""
    found: dict[str, list[str]] = {}
    for word in phonemes.words:
        found.setdefault(word.text.lower(), []).append(phonemes.text[word.start : word.end])
    return found


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        ("I read the book yesterday, and I will read it.", "read", ["ɹˈɛd", "ɹˈid"]),
        ("They live near the live music hall.", "live", ["lˈɪv", "lˈIv"]),
        ("The tear in her eye would tear.", "tear", ["tˈɪɹ", "tˈɛɹ"]),
        ("Wind the clock; the wind is strong.", "wind", ["wˈInd", "wˈɪnd"]),
        ("Please record the record.", "record", ["ɹəkˈɔɹd", "ɹˈɛkəɹd"]),
        ("I object to the object.", "object", ["əbʤˈɛkt", "ˈɑbʤəkt"]),
        ("The desert is dry; he will desert us.", "desert", ["dˈɛzəɹt", "dəzˈɜɹt"]),
        ("Close the door, we are close.", "close", ["klˈOz", "klˈOs"]),
        ("She used to use it.", "used", ["jˈust"]),
        ("They lead the way.", "lead", ["lˈid"]),
        ("The apple and the car.", "the", ["ði", "ðə"]),
        ("We go to eat and to sleep.", "to", ["tʊ", "tə"]),
    ],
)
def test_a_word_of_two_pronunciations_is_read_by_its_use(
    text: str, word: str, expected: list[str]
) -> None:
    assert sounds(american(text))[word] == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("kubectl", "kjˈubɛktᵊl"),
        ("Nginx", "ˈɛnʤɪn ˌɛks"),
        ("Xzyqor", "ˈɛkszˈIkəɹ"),
        ("Kubernetes", "kˌubəɹnˈɛTiz"),
        ("Siobhan", "ʃɪvˈɔn"),
        ("Nguyen", "nˈujɛn"),
        ("NASA", "nˈæsə"),
        ("FBI", "ˌɛfbˌiˈI"),
        ("café", "kæfˈA"),
    ],
)
def test_unknown_words_names_and_acronyms_are_spoken(word: str, expected: str) -> None:
    phonemes = american(f"I saw {word} there.")
    assert sounds(phonemes)[word.lower()] == [expected]


@pytest.mark.parametrize(
    ("contraction", "expected"),
    [
        ("you're", "jʊɹ"),
        ("I'll've", "Iləv"),
        ("don't", "dOnt"),
        ("can't", "kænt"),
        ("it's", "ɪts"),
        ("y'all", "jɔl"),
        ("isn't", "ɪzᵊnt"),
    ],
)
@pytest.mark.parametrize("apostrophe", ["'", "’"])
def test_contractions_are_one_word_with_either_apostrophe(
    contraction: str, expected: str, apostrophe: str
) -> None:
    text = contraction.replace("'", apostrophe)
    phonemes = american(f"And {text} there.")
    assert [word.span for word in phonemes.words][1] == Span(4, 4 + len(text))
    word = phonemes.words[1]
    assert phonemes.text[word.start : word.end].replace("ˈ", "").replace("ˌ", "") == expected


@pytest.mark.parametrize(
    ("word", "in_america", "in_britain"),
    [
        ("bath", "bˈæθ", "bˈɑːθ"),
        ("lot", "lˈɑt", "lˈɒt"),
        ("water", "wˈɔTəɹ", "wˈɔːtə"),
        ("tomato", "təmˈATO", "təmˈɑːtQ"),
        ("car", "kˈɑɹ", "kˈɑː"),
        ("Xzyqare", "ˈɛkszˈIkɛɹ", "ˈɛkszˈIkɛː"),
    ],
)
def test_british_and_american_english_differ(word: str, in_america: str, in_britain: str) -> None:
    text = f"It is a {word}."
    assert sounds(american(text))[word.lower()] == [in_america]
    assert sounds(british(text))[word.lower()] == [in_britain]
    assert british(text).language == "en-gb"


def test_punctuation_shapes_the_string_but_is_no_word() -> None:
    phonemes = american('Well, "really"? Yes — (maybe)…')
    assert phonemes.text == "wˈɛl, “ɹˈiᵊli”? jˈɛs — (mˈAbi)…"
    assert [word.text for word in phonemes.words] == ["Well", "really", "Yes", "maybe"]


@pytest.mark.parametrize("dash", ["-", "–", "—", "--"])
def test_a_dash_between_words_is_a_pause(dash: str) -> None:
    assert american(f"Stop {dash} now.").text == american("Stop — now.").text
    assert "—" in american(f"Stop {dash} now.").text


def test_spans_count_from_the_start_that_was_given() -> None:
    phonemes = american("Hello  big\nworld!", start=100)
    assert [(word.text, word.span) for word in phonemes.words] == [
        ("Hello", Span(100, 105)),
        ("big", Span(107, 110)),
        ("world", Span(111, 116)),
    ]


def test_several_spoken_words_for_one_source_word_are_one_word() -> None:
    source = SpannedText.verbatim("It costs $3.50 now.")
    price = "three dollars and fifty cents"
    spoken = source.cut(0, 9) + SpannedText(price, (Span(9, 14),) * len(price)) + source.cut(14, 19)
    phonemes = phonemizer_for("en-us").phonemize(spoken)
    assert [word.text for word in phonemes.words] == ["It", "costs", price, "now"]
    word = phonemes.words[2]
    assert word.span == Span(9, 14)
    assert phonemes.text[word.start : word.end].count(" ") == 4


def test_a_word_twice_in_the_source_stays_two_words() -> None:
    assert [word.span for word in american("no no").words] == [Span(0, 2), Span(3, 5)]


@pytest.mark.parametrize("text", ["", " ", "...", "?!", "—", '"', "\n\n", "\u200b", "\ud800"])
def test_nothing_speakable_gives_empty_phonemes(text: str) -> None:
    assert american(text) == Phonemes("", (), "en-us")


def test_phonemes_cannot_be_injected_through_link_syntax() -> None:
    assert "fˈu" not in american("[word](/fˈu/) is").text


@pytest.mark.parametrize("text", ["zx9" * 150, "a-" * 150, "9" * 6000])
def test_a_long_run_without_spaces_takes_no_minute(text: str) -> None:
    american("Hello.")  # so that loading is not counted
    before = time.thread_time()
    phonemes = american(text)  # a minute and more, if misaki got it in one piece
    assert time.thread_time() - before < 10
    assert has_sound(phonemes.text)
    assert phonemes.words[-1].span.end >= len(text) - 1


def test_rules_that_fail_do_not_silence_the_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a rule of the dictionary failed")

    monkeypatch.setattr(en.G2P, "retokenize", fail)
    phonemes = american("Hello there, kubectl.")
    assert [word.text for word in phonemes.words] == ["Hello", "there", "kubectl"]
    assert phonemes.text.endswith("kjˈubɛktᵊl.")


def test_our_dictionary_finds_what_misakis_finds() -> None:
    entries = {"apple": 1, "Bob": 2, "may": 3, "May": 4, "x": 5, "USA": 6, "don't": 7}
    ours = module._Entries(entries)
    theirs = en.Lexicon.grow_dictionary(entries)
    forms = {f(word) for word in entries for f in (str.lower, str.upper, str.capitalize, str)}
    for word in forms | set(theirs) | {"nothing", ""}:
        assert ours.get(word) == theirs.get(word), word
        assert (word in ours) == (word in theirs), word


def test_the_string_is_misakis_own() -> None:
    phonemizer = phonemizer_for("en-us")
    assert isinstance(phonemizer, module.EnglishPhonemizer)
    for text in (
        "Dr. Smith's state-of-the-art plan, in short, worked: 40% more (or so) for kubectl users!",
        "She said “wait”, then left; he didn't.",
    ):
        theirs, _ = phonemizer._g2p(text, preprocess=False)
        assert american(text).text == theirs


def test_no_network_and_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert module.EnglishPhonemizer(british=True).phonemize(SpannedText.verbatim("Hello")).text
    assert "torch" not in sys.modules
    assert "transformers" not in sys.modules


def test_speaking_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    american("Xzyqor, kubectl, 😀 and привет: 12:30, 1.2.3 — ½.")
    assert capfd.readouterr() == ("", "")


@settings(max_examples=120)
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            ["the", "I'm", "2.5", "$", "%", "'", "’s", "-", "(", "x-y", "École", "!", "NASA", "٣"]
        ),
        max_size=12,
    ).map(" ".join)
    | st.text(alphabet="ab'’-.,0123456789$%/ ", max_size=30)
)
def test_any_text_gives_phonemes_of_the_alphabet_and_words_in_order(text: str) -> None:
    for phonemes in (american(text, start=7), british(text)):
        check(phonemes, 7 if phonemes.language == "en-us" else 0, len(text))


def check(phonemes: Phonemes, start: int, length: int) -> None:
    assert set(phonemes.text) <= set(ALPHABET)
    assert phonemes.text == phonemes.text.strip()
    assert "  " not in phonemes.text
    at = 0
    source = start
    for word in phonemes.words:
        assert at <= word.start < word.end <= len(phonemes.text)
        assert has_sound(phonemes.text[word.start : word.end])
        assert phonemes.text[word.start : word.end].strip() == phonemes.text[word.start : word.end]
        assert source <= word.span.start < word.span.end <= start + length
        at, source = word.end, word.span.start
    outside = set(range(len(phonemes.text)))
    for word in phonemes.words:
        outside -= set(range(word.start, word.end))
    assert not has_sound("".join(phonemes.text[i] for i in outside))
