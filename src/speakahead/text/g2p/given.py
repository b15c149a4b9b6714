"""Words whose phonemes are given, and the endings that they get in a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping

_VOICELESS = "ptkfθ"
_SIBILANT = "szʃʒʧʤʦʣ"


class Given:
    """Stand-ins for words (see ``text.pronunciations``), and what each is to sound like."""

    def __init__(self, phonemes: Mapping[str, str], language: str) -> None:
        self._phonemes = phonemes
        self._language = language
        # Longest first is not needed: all stand-ins have the same length.
        names = "|".join(map(re.escape, phonemes)) or r"(?!)"
        self._pattern = re.compile(rf"({names})('s(?![^\W_]))?")

    def __bool__(self) -> bool:
        return bool(self._phonemes)

    def pieces(self, text: str) -> list[tuple[str, str | None]]:
        """``text`` in order: each stand-in with its phonemes, and what is between them with None.

        A possessive ``'s`` belongs to its stand-in.
        """
        found: list[tuple[str, str | None]] = []
        done = 0
        for match in self._pattern.finditer(text):
            if match.start() > done:
                found.append((text[done : match.start()], None))
            phonemes = self._phonemes[match[1]]
            found.append((match[0], self._with_s(phonemes) if match[2] else phonemes))
            done = match.end()
        if done < len(text):
            found.append((text[done:], None))
        return found

    def said(self, text: str) -> str | None:
        """The phonemes of ``text`` if it is a stand-in and nothing else."""
        pieces = self.pieces(text) if self else []
        return pieces[0][1] if len(pieces) == 1 else None

    def inside(self, text: str, position: int) -> int:
        """``position``, or where a stand-in begins that would be cut there."""
        for match in self._pattern.finditer(text):
            if match.start() < position < match.end():
                return match.start()
        return position

    def _with_s(self, phonemes: str) -> str:
        # The regular plural and possessive: https://en.wiktionary.org/wiki/-s
        if phonemes[-1] in _VOICELESS:
            return phonemes + "s"
        if phonemes[-1] in _SIBILANT:
            return phonemes + ("ɪz" if self._language == "en-gb" else "ᵻz")
        return phonemes + "z"
