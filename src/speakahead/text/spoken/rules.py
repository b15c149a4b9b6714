"""A rule: a pattern, and how a person would read what it matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from speakahead.text.spans import SpannedText

DIGITS = "0123456789"
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Rule:
    """Rewrites each match of ``pattern``; ``reading`` returns None to leave a match as it is.

    Patterns must take linear time on any text: what repeats is bounded, or cannot match what
    follows it. A text is searched only if it has a character of each set in ``needs``, which
    spares most texts most of the searches.
    """

    pattern: re.Pattern[str]
    reading: Callable[[re.Match[str]], str | None]
    needs: tuple[frozenset[str], ...] = ()


def rule(
    pattern: str | re.Pattern[str],
    reading: str | Callable[[re.Match[str]], str | None],
    *needs: str,
    flags: int = 0,
) -> Rule:
    """A rule from a pattern's text; a ``reading`` that is a string always reads the same.

    No match is possible in a text that lacks all characters of one of ``needs``.
    """
    wanted = tuple(frozenset(characters) for characters in needs)
    if isinstance(reading, str):
        fixed = reading
        return Rule(re.compile(pattern, flags), lambda match: fixed, wanted)
    return Rule(re.compile(pattern, flags), reading, wanted)


def needing(characters: str, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules, each of which also needs one of ``characters``."""
    wanted = (frozenset(characters),)
    return tuple(Rule(each.pattern, each.reading, each.needs + wanted) for each in rules)


def apply(text: SpannedText, rules: Iterable[Rule]) -> SpannedText:
    """``text`` after each rule in turn: a later rule reads what the earlier ones wrote."""
    present = set(text.text)
    for each in rules:
        if any(present.isdisjoint(wanted) for wanted in each.needs):
            continue
        after = text.rewrite(each.pattern, each.reading)
        if after is not text:
            text, present = after, set(after.text)
    return text


def choice(words: Iterable[str]) -> str:
    """Pattern text for any of ``words``, the longest first so that none hides another."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(re.escape(word) for word in ordered) + ")"


def joined(pieces: Iterable[SpannedText]) -> SpannedText:
    """All the pieces as one text, in time that is linear in their length."""
    whole = tuple(pieces)
    return SpannedText(
        "".join(piece.text for piece in whole),
        tuple(origin for piece in whole for origin in piece.origins),
    )
