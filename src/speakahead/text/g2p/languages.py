"""Languages that can be spoken, and the phonemizer of each.

A language is a lower-case BCP 47 tag ("en-us"). A Kokoro voice tells its language by the first
letter of its name ("af_heart" is American English).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from speakahead.errors import UnknownVoice, UnsupportedLanguage
from speakahead.text.phonemes import Phonemizer
from speakahead.text.spans import SpannedText


@dataclass(frozen=True, slots=True)
class Language:
    """One language of Kokoro's voices; ``available`` is False while we have no phonemizer."""

    tag: str
    name: str
    voice_letter: str
    available: bool = True


LANGUAGES: tuple[Language, ...] = (
    Language("en-us", "American English", "a"),
    Language("en-gb", "British English", "b"),
    Language("es", "Spanish", "e"),
    Language("fr", "French", "f"),
    Language("hi", "Hindi", "h"),
    Language("it", "Italian", "i"),
    Language("pt-br", "Brazilian Portuguese", "p"),
    Language("ja", "Japanese", "j", available=False),
    Language("zh", "Mandarin Chinese", "z", available=False),
)
"""The languages that Kokoro-82M v1.0 has voices for."""

_BY_TAG = {language.tag: language for language in LANGUAGES}
_BY_LETTER = {language.voice_letter: language for language in LANGUAGES}
# A bare language, or a region that has no voice of its own, is spoken by the nearest one.
_DEFAULT_REGION = {"en": "en-us", "pt": "pt-br", "cmn": "zh"}

_WARM_UP = {
    "en-us": "Hello there.",
    "en-gb": "Hello there.",
    "es": "Hola.",
    "fr": "Bonjour.",
    "hi": "नमस्ते।",
    "it": "Ciao.",
    "pt-br": "Olá.",
}

_phonemizers: dict[str, Phonemizer] = {}
_construction = threading.Lock()


def language_of_voice(voice: str) -> str:
    """The language that ``voice`` speaks: ``language_of_voice("af_heart") == "en-us"``.

    The voice itself need not exist; only the first letter of its name is looked at.

    Raises:
        UnknownVoice: no language has this letter.
    """
    language = _BY_LETTER.get(voice[:1])
    if language is None:
        raise UnknownVoice(
            "The voice name does not start with the letter of a language; "
            "'speakahead voices' lists the voices."
        )
    return language.tag


def canonical_language(tag: str) -> str:
    """The tag by which we know a language: "EN_us", "en" and "en-AU" are all "en-us".

    Raises:
        UnsupportedLanguage: it cannot be spoken.
    """
    wanted = tag.strip().lower().replace("_", "-")
    primary = wanted.partition("-")[0]
    language = (
        _BY_TAG.get(wanted) or _BY_TAG.get(_DEFAULT_REGION.get(primary, "")) or _BY_TAG.get(primary)
    )
    if language is None:
        known = ", ".join(known.tag for known in LANGUAGES if known.available)
        raise UnsupportedLanguage(f"This language cannot be spoken; choose one of {known}.")
    if not language.available:
        raise UnsupportedLanguage(
            f"{language.name} cannot be spoken yet: it needs the extra {language.tag!r}, "
            "which this version does not have."
        )
    return language.tag


def phonemizer_for(language: str) -> Phonemizer:
    """The phonemizer of a language, loaded at its first use and then kept.

    Loading takes up to a few seconds for English; see ``warm``. May be called from any thread,
    and so may the phonemizer.

    Raises:
        UnsupportedLanguage: it cannot be spoken.
    """
    tag = canonical_language(language)
    found = _phonemizers.get(tag)
    if found is not None:
        return found
    with _construction:
        if tag not in _phonemizers:
            _phonemizers[tag] = _load(tag)
        return _phonemizers[tag]


def warm(language: str) -> None:
    """Load a language's phonemizer and speak a word with it, so that the first request is fast.

    Raises:
        UnsupportedLanguage: it cannot be spoken.
    """
    phonemizer = phonemizer_for(language)
    phonemizer.phonemize(SpannedText.verbatim(_WARM_UP[phonemizer.language]))


def _load(tag: str) -> Phonemizer:
    # Imported here, because spaCy and misaki take seconds and no other language needs them.
    if tag.startswith("en-"):
        from speakahead.text.g2p.english import EnglishPhonemizer

        return EnglishPhonemizer(british=tag == "en-gb")
    from speakahead.text.g2p.clauses import ClausePhonemizer

    return ClausePhonemizer(tag)
