"""The order of the English rules: the more particular reading first."""

from __future__ import annotations

from functools import cache

from speakahead.text.spoken import dates, money, numbers, telephone, units, web, words
from speakahead.text.spoken.rules import Rule


@cache
def rules(british: bool) -> tuple[Rule, ...]:
    """All English rules in their order."""
    language = "en-gb" if british else "en-us"
    return (
        *web.rules(language),
        *telephone.rules(language),
        *words.romans(language),
        *dates.rules(language),
        *money.rules(language),
        *units.rules(language),
        *words.titles(language),
        *words.abbreviations(),
        *words.names(language),
        *numbers.rules(language),
        *words.signs(),
    )
