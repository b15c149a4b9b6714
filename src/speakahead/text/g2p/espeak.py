"""espeak-ng: text of many languages to the International Phonetic Alphabet.

This module is the only one that touches espeak-ng, which is licensed under GPL-3.0-or-later; the
rest of the package needs nothing but ``ipa``. To replace espeak-ng, replace that function.

The shared library and its data come from the package ``espeakng-loader``. It is called through
its C interface (``speak_lib.h``), clause by clause, because nothing else of it is needed.
"""

from __future__ import annotations

import ctypes
import functools
import re
import threading

import espeakng_loader

TIE = "\u0361"
"""Joins the letters of one sound in the result of ``ipa``: "d͡ʒ"."""

# Names of espeak-ng's voices, by our language tags. They are file names where the plain tag is
# not a voice's name.
_VOICES = {
    "en-us": b"en-us",
    "en-gb": b"gmw/en",
    "es": b"es",
    "fr": b"roa/fr",
    "hi": b"hi",
    "it": b"it",
    "pt-br": b"pt-br",
}

# Constants of speak_lib.h.
_AUDIO_OUTPUT_SYNCHRONOUS = 2
_INITIALIZE_DONT_EXIT = 0x8000
_CHARS_UTF8 = 1
_PHONEMES_IPA_TIED = 0x02 | 1 << 7 | ord(TIE) << 8

# espeak-ng marks a foreign word "(en)wiːkˈɛnd(fr)", and puts ties into the marks, too.
_LANGUAGE_SWITCH = re.compile(r"\([a-z\u0361-]+\)")
# White space (so that there is no line break in the result) and what UTF-8 in C cannot carry.
_SEPARATORS = re.compile(r"[\s\x00()\ud800-\udfff]+")

# The library keeps its state in global variables: one call at a time, in the whole process.
_lock = threading.Lock()


class _Library:
    """The loaded library, and the voice that is set in it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        self._to_phonemes = self._library.espeak_TextToPhonemes
        self._to_phonemes.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_int, ctypes.c_int]
        self._to_phonemes.restype = ctypes.c_char_p
        self._set_voice = self._library.espeak_SetVoiceByName
        self._set_voice.argtypes = [ctypes.c_char_p]
        self._voice = b""
        initialize = self._library.espeak_Initialize
        initialize.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
        data = espeakng_loader.get_data_path().encode()
        if initialize(_AUDIO_OUTPUT_SYNCHRONOUS, 0, data, _INITIALIZE_DONT_EXIT) <= 0:
            raise RuntimeError("espeak-ng did not start; is its data directory complete?")

    def phonemes(self, text: str, voice: bytes) -> str:
        if voice != self._voice:
            if self._set_voice(voice) != 0:
                raise RuntimeError("espeak-ng lacks a voice; is its data directory complete?")
            self._voice = voice
        rest = ctypes.c_char_p(text.encode())
        clauses: list[bytes] = []
        # Each call reads one clause and moves ``rest`` on; it is null after the last one.
        while rest.value is not None:
            clauses.append(self._to_phonemes(ctypes.byref(rest), _CHARS_UTF8, _PHONEMES_IPA_TIED))
        return " ".join(clause.decode() for clause in clauses if clause)


@functools.cache
def _library() -> _Library:
    return _Library()


def ipa(text: str, language: str) -> str:
    """``text`` in the International Phonetic Alphabet, as espeak-ng would speak it.

    Sounds of several letters are tied by ``TIE``, stress marks stand before the stressed vowel,
    and spaces stand between words. (Words that run together in speech have none.) No mark of the
    text's punctuation is kept. May be called from any thread.

    Raises:
        KeyError: ``language`` is not one of ours ("en-us", "fr", ...).
        RuntimeError: the library or its data are not there.
    """
    voice = _VOICES[language]
    with _lock:
        spoken = _library().phonemes(_SEPARATORS.sub(" ", text), voice)
    return " ".join(_LANGUAGE_SWITCH.sub("", spoken).split())
