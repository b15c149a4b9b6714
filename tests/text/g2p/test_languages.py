"""Language tags, the language of a voice, and phonemizers that are loaded once."""

from __future__ import annotations

import threading
import time

import pytest

from speakahead.errors import UnknownVoice, UnsupportedLanguage
from speakahead.text.g2p import (
    LANGUAGES,
    canonical_language,
    language_of_voice,
    languages,
    phonemizer_for,
    warm,
)
from speakahead.text.phonemes import Phonemes, Phonemizer
from speakahead.text.spans import SpannedText


@pytest.mark.parametrize(
    ("voice", "language"),
    [
        ("af_heart", "en-us"),
        ("bm_george", "en-gb"),
        ("ef_dora", "es"),
        ("ff_siwis", "fr"),
        ("hm_omega", "hi"),
        ("if_sara", "it"),
        ("pf_dora", "pt-br"),
        ("jf_alpha", "ja"),
        ("zf_xiaobei", "zh"),
    ],
)
def test_a_voice_tells_its_language(voice: str, language: str) -> None:
    assert language_of_voice(voice) == language


@pytest.mark.parametrize("voice", ["", "xf_nobody", "_af", "Af_heart"])
def test_a_voice_of_no_language_is_unknown(voice: str) -> None:
    with pytest.raises(UnknownVoice):
        language_of_voice(voice)


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("en-us", "en-us"),
        ("EN_US", "en-us"),
        ("en", "en-us"),
        ("en-GB", "en-gb"),
        ("en-AU", "en-us"),
        (" fr-FR ", "fr"),
        ("es-419", "es"),
        ("pt", "pt-br"),
        ("pt-PT", "pt-br"),
    ],
)
def test_tags_are_understood_in_any_spelling(tag: str, expected: str) -> None:
    assert canonical_language(tag) == expected
    assert phonemizer_for(tag).language == expected


@pytest.mark.parametrize(("tag", "extra"), [("ja", "'ja'"), ("zh-CN", "'zh'"), ("cmn", "'zh'")])
def test_a_language_without_a_phonemizer_says_so(tag: str, extra: str) -> None:
    with pytest.raises(UnsupportedLanguage) as error:
        phonemizer_for(tag)
    assert extra in error.value.message
    assert error.value.code == "unsupported_language"


@pytest.mark.parametrize("tag", ["", "de", "english", "x-secret"])
def test_another_language_is_refused_with_the_choice_and_without_the_input(tag: str) -> None:
    with pytest.raises(UnsupportedLanguage) as error:
        warm(tag)
    assert "en-us, en-gb, es, fr, hi, it, pt-br" in error.value.message
    assert "secret" not in error.value.message


def test_every_available_language_can_be_warmed() -> None:
    for language in LANGUAGES:
        if language.available:
            warm(language.tag)


def test_threads_that_ask_at_once_get_one_phonemizer(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    load = languages._load

    def count(tag: str) -> Phonemizer:
        built.append(tag)
        time.sleep(0.05)  # long enough for the other threads to ask
        return load(tag)

    monkeypatch.setattr(languages, "_phonemizers", {})
    monkeypatch.setattr(languages, "_load", count)
    got: list[Phonemizer] = []
    threads = [threading.Thread(target=lambda: got.append(phonemizer_for("es"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == ["es"]
    assert len(got) == 8
    assert len(set(map(id, got))) == 1


def test_threads_that_speak_at_once_do_not_disturb_each_other() -> None:
    texts = {
        "en-us": "The Xzyqor protocol uses kubectl.",
        "en-gb": "The Xzyqor protocol uses kubectl.",
        "fr": "Les amis de Paul arrivent.",
        "es": "Tengo hambre, amigo.",
    }
    alone = {tag: phonemizer_for(tag).phonemize(SpannedText.verbatim(texts[tag])) for tag in texts}
    spoken: dict[str, list[Phonemes]] = {}

    def speak(tag: str) -> None:
        text = SpannedText.verbatim(texts[tag])
        spoken[tag] = [phonemizer_for(tag).phonemize(text) for _ in range(20)]

    threads = [threading.Thread(target=speak, args=(tag,)) for tag in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spoken == {tag: [phonemes] * 20 for tag, phonemes in alone.items()}
