"""What the scheduler is asked to do, and whom it tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from speakahead.errors import SpeakaheadError
from speakahead.kokoro.engine import WordTiming
from speakahead.text.phonemes import Phonemes
from speakahead.text.pronunciations import Pronunciation


class PhonemeSource(Protocol):
    """The text side: spoken form and phonemes of a sentence (see ``text.frontend``)."""

    def phonemes(
        self,
        text: str,
        start: int,
        language: str,
        pronunciations: Sequence[Pronunciation] = (),
    ) -> list[Phonemes]: ...


class Listener(Protocol):
    """Takes the results of a job. Called on a worker thread, and must return at once."""

    def began(self, words: tuple[WordTiming, ...]) -> None: ...
    def audio(self, samples: NDArray[np.float32]) -> None: ...
    def done(self) -> None: ...
    def failed(self, error: SpeakaheadError) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One sentence to speak; ``start`` is its position in the source text.

    ``begun``: it goes on with an utterance of which something has been spoken, here or elsewhere.
    """

    text: str
    start: int
    language: str
    voice: str
    speed: float
    pause_s: float
    listener: Listener
    pronunciations: tuple[Pronunciation, ...] = ()
    begun: bool = False
