"""Which of Amazon Polly's voices speaks for which name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from speakahead.errors import InvalidRequest, SpeakaheadError, UnknownVoice, UnsupportedLanguage
from speakahead.kokoro.mixing import parse_mix
from speakahead.session.events import VoiceSettings
from speakahead.text.g2p.languages import language_of_voice
from speakahead.text.pronunciations import compiled


@dataclass(frozen=True, slots=True)
class PollyVoice:
    """A voice of Polly's generative engine.

    Attributes:
        id: as Polly knows it; also that of a custom voice (``"vc-…"``).
        languages: BCP 47 tags of the languages that it speaks, its own first.
    """

    id: str
    languages: tuple[str, ...]


def _table(rows: str) -> dict[str, PollyVoice]:
    """From lines with languages and the names of voices that speak them."""
    voices = [
        PollyVoice(name, tuple(tags.split("/")))
        for tags, *names in map(str.split, rows.strip().splitlines())
        for name in names
    ]
    return {voice.id: voice for voice in voices}


VOICES: Mapping[str, PollyVoice] = _table("""
    de-AT        Hannah
    de-CH        Sabrina
    de-DE        Daniel Vicki
    en-AU        Olivia
    en-GB        Amy Brian
    en-IE        Niamh
    en-IN/hi-IN  Kajal
    en-NZ        Aria
    en-US        Danielle Joanna Matthew Ruth Salli Stephen
    en-ZA        Ayanda
    es-ES        Lucia Sergio
    es-MX        Andres Mia
    es-US        Lupe Pedro
    fr-BE        Isabelle
    fr-CA        Gabrielle Liam
    fr-FR        Celine Lea Remi
    it-IT        Bianca
    ko-KR        Seoyeon
    nl-BE        Lisa
    nl-NL        Laura
    pl-PL        Ewa Ola
    pt-BR        Camila
""")
"""Voices that the generative engine has, the only one that streams both ways.

Source: "Generative voices" in Polly's developer guide. The list grows, and not every region has
all of it; others are named with ``PollyBackend(voices=…)``.
"""

_STAND_INS = {
    "en-us": ("Ruth", "Matthew"),
    "en-gb": ("Amy", "Brian"),
    "es": ("Lucia", "Sergio"),
    "fr": ("Lea", "Remi"),
    "hi": ("Kajal", None),
    "it": ("Bianca", None),
    "pt-br": ("Camila", None),
}
"""For Kokoro's languages: who speaks for its female and its male voices."""


class VoiceTable:
    """Finds the voice for a name.

    A name is looked for among the caller's own, then among Polly's. One of Kokoro's, or a mix of
    them (whose first voice counts), is spoken by a voice of the same language and gender, so that
    an application can be compared as it stands.

    Args:
        voice: speaks for all of Kokoro's voices instead.
        voices: more names: for each a name in ``VOICES``, or a voice that is not listed there.

    Raises:
        UnknownVoice: a name is not known.
    """

    def __init__(
        self,
        voice: str | None = None,
        voices: Mapping[str, str | PollyVoice] | None = None,
    ) -> None:
        self._voices = dict(VOICES)
        for name, target in (voices or {}).items():
            self._voices[name] = target if isinstance(target, PollyVoice) else self._listed(target)
        self._stand_in = None if voice is None else self._listed(voice)

    def find(self, settings: VoiceSettings) -> tuple[PollyVoice, str]:
        """The voice that speaks with these settings, and the language it speaks then.

        Raises:
            UnknownVoice: nothing speaks for this name; the sentence says what does.
            UnsupportedLanguage: the voice does not speak the language of the settings.
            InvalidRequest: the mix is malformed, or there are pronunciations in phonemes, which
                are Kokoro's, or too many of them.
        """
        compiled(settings.pronunciations)
        if any(each.phonemes is not None for each in settings.pronunciations):
            raise InvalidRequest(
                "Amazon Polly takes no phonemes of Kokoro's; give a respelling instead.",
                code="invalid_pronunciation",
            )
        voice = self._voices.get(settings.voice) or self._for_kokoro(settings)
        if settings.language is None:
            return voice, voice.languages[0]
        wanted = settings.language.strip().lower().replace("_", "-")
        for tag in voice.languages:
            if tag.lower() == wanted:
                return voice, tag
        for tag in voice.languages:
            if _primary(tag) == _primary(wanted):
                return voice, tag
        spoken = " and ".join(voice.languages)
        raise UnsupportedLanguage(f"Polly's {voice.id} speaks {spoken} only.")

    def _for_kokoro(self, settings: VoiceSettings) -> PollyVoice:
        name = parse_mix(settings.voice)[0][0]
        try:
            language = language_of_voice(name)
        except SpeakaheadError:
            raise self._unknown() from None
        if name[1:3] not in ("f_", "m_"):
            raise self._unknown()
        if self._stand_in is not None:
            return self._stand_in
        found = _STAND_INS.get(language, (None, None))[name[1] == "m"]
        if found is None:
            raise self._unknown()
        return VOICES[found]

    def _listed(self, name: str) -> PollyVoice:
        voice = self._voices.get(name)
        if voice is None:
            raise self._unknown()
        return voice

    def _unknown(self) -> UnknownVoice:
        return UnknownVoice(
            f"No voice of Amazon Polly's speaks for this name. Those at hand are "
            f"{', '.join(sorted(self._voices))}; name others with `voices`."
        )


def _primary(tag: str) -> str:
    return tag.lower().partition("-")[0]
