"""Mixes of voices: ``"af_heart:0.6+af_bella:0.4"``."""

from __future__ import annotations

import math

from speakahead.errors import InvalidRequest

MAX_VOICES = 4


def is_mix(voice: str) -> bool:
    """Whether this names a mix and not a single voice."""
    return "+" in voice or ":" in voice


def parse_mix(voice: str) -> tuple[tuple[str, float], ...]:
    """The voices of a mix and their weights, which add up to one.

    A name without a weight counts as weight 1; so a single name is the mix of itself alone.

    Raises:
        InvalidRequest: the mix is malformed, has more than four voices, or weights that are not
            positive numbers.
    """
    if not is_mix(voice):
        return ((voice, 1.0),)
    weights: dict[str, float] = {}
    for part in voice.split("+"):
        name, _, number = part.strip().partition(":")
        try:
            weight = float(number) if number else 1.0
        except ValueError:
            weight = math.nan
        if not name.strip() or not (math.isfinite(weight) and weight > 0):
            raise InvalidRequest(
                "A mix of voices is written like af_heart:0.6+af_bella:0.4, with positive weights."
            )
        weights[name.strip()] = weights.get(name.strip(), 0.0) + weight
    if len(weights) > MAX_VOICES:
        raise InvalidRequest(f"A mix can have at most {MAX_VOICES} voices.")
    total = sum(weights.values())
    return tuple((name, weight / total) for name, weight in weights.items())
