"""The utterances that a voice is calibrated on."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import NamedTuple


class Phrase(NamedTuple):
    """Phonemes in Kokoro's alphabet, and the speed to say them at."""

    phonemes: str
    speed: float


@cache
def calibration_phrases() -> tuple[Phrase, ...]:
    """All phrases, of every length from one syllable to two sentences' worth."""
    text = resources.files("speakahead.kokoro").joinpath("data", "phrases.json").read_text("utf-8")
    return tuple(Phrase(phonemes, float(speed)) for phonemes, speed in json.loads(text))
