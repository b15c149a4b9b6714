"""The text room's front: a sentence of the source in, phonemes for the engine out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from speakahead.text.g2p import canonical_language, phonemizer_for, split_phonemes
from speakahead.text.phonemes import Phonemes
from speakahead.text.pronunciations import Pronunciation, compiled
from speakahead.text.spans import SpannedText
from speakahead.text.spoken import spoken_form


class FrontEnd:
    """Reads sentences as a person would, and writes them down in Kokoro's alphabet.

    Args:
        limit: the most phonemes in one piece, 1 to 510. The model takes 510; shorter pieces keep
            the time to the first sound short.

    It keeps no state between sentences, and may be called from any thread.
    """

    def __init__(self, limit: int = 400) -> None:
        if not 1 <= limit <= 510:
            raise ValueError("the limit of phonemes must be 1 to 510")
        self._limit = limit

    def phonemes(
        self,
        text: str,
        start: int,
        language: str,
        pronunciations: Sequence[Pronunciation] = (),
    ) -> list[Phonemes]:
        """The phonemes of one sentence, in pieces that the model can take.

        Args:
            text: the sentence as it stands in the source.
            start: the position of its first character in the source; spans of words count on it.
            language: a BCP 47 tag ("en-us").
            pronunciations: words that are not to be said as usual, at most 100. They are looked
                for in the source text, so they win over every rule of the spoken form. A word
                with given phonemes is reported as it is written.

        Returns:
            The pieces in order; none where nothing can be spoken (only marks, say).

        Raises:
            UnsupportedLanguage: the language cannot be spoken.
            InvalidRequest: there are more than 100 pronunciations.
        """
        tag = canonical_language(language)
        marked = compiled(tuple(pronunciations)).applied(SpannedText.verbatim(text, start))
        spoken = spoken_form(marked.text, tag)
        whole = phonemizer_for(tag).phonemize(spoken, marked.given)
        if marked.written:
            words = tuple(replace(word, text=marked.unmarked(word.text)) for word in whole.words)
            whole = replace(whole, words=words)
        return split_phonemes(whole, self._limit)
