"""Whole-utterance decoding of the published export, as every other Kokoro server does it.

Exact, but nothing is heard before the last sample is decoded. It is the yardstick that windowed
decoding is measured against.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from speakahead.assets import Voices
from speakahead.audio.silence import trimmed_range
from speakahead.kokoro.engine import Window, WordTiming
from speakahead.kokoro.parts import session_options
from speakahead.kokoro.vocabulary import tokens
from speakahead.text.phonemes import Phonemes


@dataclass(frozen=True, slots=True)
class WholePlan:
    """An utterance that is decoded already."""

    audio: NDArray[np.float32]
    words: tuple[WordTiming, ...] = ()

    @property
    def samples(self) -> int:
        return len(self.audio)

    @property
    def windows(self) -> tuple[Window, ...]:
        return (Window(0, self.samples),) if self.samples else ()


class WholeEngine:
    """Kokoro in ONNX Runtime, one inference for each utterance."""

    def __init__(self, model: Path, voices: Voices, *, threads: int = 2) -> None:
        """Load the model.

        Args:
            model: the published export (inputs ``tokens``, ``style``, ``speed``).
            voices: the voice packs.
            threads: threads of one inference.
        """
        self._session = ort.InferenceSession(
            str(model), session_options(threads), providers=["CPUExecutionProvider"]
        )
        self._voices = voices

    @property
    def voices(self) -> tuple[str, ...]:
        return self._voices.names

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> WholePlan:
        pack = self._voices.load(voice)
        ids = tokens(phonemes.text)
        style = pack[min(len(phonemes.text), len(pack) - 1)]
        (audio,) = self._session.run(
            None, {"tokens": ids, "style": style, "speed": np.array([speed], np.float32)}
        )
        audio = np.clip(np.asarray(audio, dtype=np.float32).reshape(-1), -1.0, 1.0)
        start, end = trimmed_range(audio)
        return WholePlan(audio[start:end])

    def decode(self, plan: WholePlan, window: Window) -> NDArray[np.float32]:
        return plan.audio[window.start : window.end]

    def warm(self) -> None:
        if self.voices:
            self.plan(Phonemes("həlˈO.", (), "en-us"), self.voices[0], 1.0)
