"""English words of two pronunciations that misaki's tagger cannot tell apart: both are nouns.

Only neighbours that settle the matter are listed; everywhere else misaki's own reading stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_METAL = (
    r"acetate|acid|aprons?|azide|batter(?:y|ies)|bullets?|chromate|contamination|crystal|dust"
    r"|exposure|foil|fumes|glass|ions?|nitrate|ore|oxide|paints?|pencils?|pip(?:es?|ing)|plumbing"
    r"|poisoning|shot|sinkers?|smelt(?:er|ers|ing)|solder|sulfide|sulphide|weights?"
)
_MUSIC = (
    r"amp(?:s|lifiers?)?|boost|clarinets?|clef|drum(?:s|mer)?|frequenc(?:y|ies)|guitar(?:s|ists?)?"
    r"|lines?|notes?|players?|riffs?|singers?|solos?|sounds?|strings?|tabs?|tones?|voices?"
)
_TINY = r"amounts?|details?|differences?|fractions?|particles?|quantit(?:y|ies)|traces?"

_RULES: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), american, british)
    for pattern, american, british in (
        (
            rf"\b(lead) (?:{_METAL})\b|\b(?:blood|made of|made out of|exposed to) (lead)\b",
            "lˈɛd",
            "lˈɛd",
        ),
        (
            rf"\b(bass) (?:{_MUSIC})\b"
            r"|\b(?:double|upright|electric|drums? and|plays?(?: the)?|played(?: the)?) (bass)\b",
            "bˈAs",
            "bˈAs",
        ),
        (
            rf"\b(?:an?|even|in|into|most|of|only|such|these|with) (minute) (?:{_TINY})\b",
            "mInˈut",
            "mInjˈuːt",
        ),
        (
            r"\b(?:a|attached|my|professional|the|this|updated|your) (resume)\b"
            r"(?! (?:a|his|her|its|my|our|the|their|this|your)\b)",
            "ɹˈɛzəmˌA",
            "ɹˈɛzjʊmˌA",
        ),
    )
)


def homographs(text: str, language: str) -> Iterator[tuple[int, str, str]]:
    """Where a word's neighbours settle how it is said: its position, itself, its phonemes."""
    for pattern, american, british in _RULES:
        for match in pattern.finditer(text):
            group = match.lastindex or 1
            yield match.start(group), match[group], british if language == "en-gb" else american
