"""The engine's seam: prosody once (cheap), then audio window by window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from speakahead.text.phonemes import Phonemes
from speakahead.text.spans import Span


@dataclass(frozen=True, slots=True)
class WordTiming:
    """When a word is heard, in seconds from the first sample of its utterance."""

    text: str
    start_s: float
    end_s: float
    span: Span


class Window(NamedTuple):
    """A half-open range of an utterance's samples that is decoded in one go."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


class Plan(Protocol):
    """One utterance, ready to be decoded."""

    @property
    def samples(self) -> int:
        """Length of the utterance in samples at 24 kHz, silence at head and tail trimmed."""
        ...

    @property
    def words(self) -> tuple[WordTiming, ...]:
        """Word timings in order; empty when this engine does not know them."""
        ...

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows that together make up ``[0, samples)``, in order."""
        ...


class Engine[P: Plan](Protocol):
    """Turns phonemes into sound. The methods may be called from several threads at once."""

    @property
    def voices(self) -> tuple[str, ...]:
        """Names of the voices at hand, sorted."""
        ...

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> P:
        """Everything about the utterance that does not need the decoder.

        Args:
            phonemes: at most ``vocabulary.MAX_TOKENS`` symbols, at least one.
            voice: one of ``voices``.
            speed: 0.5 to 2.0, where 1.0 is the voice's own.
            ahead_s: for how long the listener has sound to play; if that is long enough, the
                first windows need not be small.

        Raises:
            UnknownVoice: the voice is not at hand.
        """
        ...

    def decode(self, plan: P, window: Window) -> NDArray[np.float32]:
        """Sound of one window: float32 [window.end - window.start] in [-1, 1] at 24 kHz.

        Windows can be decoded in any order and give the same samples.
        """
        ...

    def warm(self) -> None:
        """Run every shape once, so that the first utterance is as fast as the later ones."""
        ...


def synthesize[P: Plan](
    engine: Engine[P], phonemes: Phonemes, voice: str, speed: float = 1.0
) -> Iterator[NDArray[np.float32]]:
    """The utterance's sound, piece by piece as it is decoded: float32 [n] at 24 kHz."""
    plan = engine.plan(phonemes, voice, speed)
    for window in plan.windows:
        yield engine.decode(plan, window)
