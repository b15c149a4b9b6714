"""One utterance's prosody: what the model decides before there is any sound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from speakahead.kokoro.engine import WordTiming
from speakahead.kokoro.parts import Parts
from speakahead.kokoro.source import SAMPLES_PER_UNIT
from speakahead.kokoro.vocabulary import tokens
from speakahead.kokoro.windows import UNITS_PER_FRAME, Range
from speakahead.text.phonemes import Phonemes

Floats = NDArray[np.float32]

_RATE = 24_000
_LAST_ROW = 509

# Sound rises above -50 dBFS up to 7 units after the predicted energy (about -9 in silence) passes
# the onset level, and above -60 dBFS at most 3 before. At the end of some voices the energy stays
# high for half a second of breath at -60 dBFS, so that its level alone tells nothing: sound is
# over at most 5 units after the energy has fallen below the end level, or, while the voice still
# has a pitch, below the level of a fading voice. Measured on 54 voices, see ``audible``.
_ONSET_ENERGY, _ONSET_MARGIN = -5.0, 3
_END_ENERGY, _END_MARGIN = -0.5, 7
_FADING_ENERGY, _FADING_F0 = -4.5, 60.0


@dataclass(frozen=True, slots=True)
class Prosody:
    """What the text and prosody part says about an utterance.

    Attributes:
        tokens: int64 [n + 2], padding included.
        durations: int64 [n + 2], frames of each token.
        text: float32 [1, 512, frames].
        f0: float32 [1, 1, units], Hz.
        energy: float32 [1, 1, units].
        style: float32 [1, 128], the decoder's half of the style vector.
    """

    tokens: NDArray[np.int64]
    durations: NDArray[np.int64]
    text: Floats
    f0: Floats
    energy: Floats
    style: Floats

    @classmethod
    def of(cls, parts: Parts, phonemes: str, pack: Floats, speed: float) -> Prosody:
        """Run the text and prosody part.

        ``pack`` is a voice's styles, float32 [510, 1, 256]; row n is for n phonemes.

        Raises:
            ValueError: a symbol is not in the alphabet, or there are more than 510.
        """
        ids = tokens(phonemes)
        style = pack[min(ids.shape[1] - 2, _LAST_ROW)]
        text, f0, energy, decoder_style, durations = parts.prosody(
            tokens=ids, style=style, speed=np.array([speed], np.float32)
        )
        return cls(ids[0], durations.reshape(-1), text, f0, energy, decoder_style)

    @property
    def frames(self) -> int:
        return int(self.text.shape[2])

    @property
    def units(self) -> int:
        return self.frames * UNITS_PER_FRAME

    def audible(self) -> Range:
        """The units to play: silence at head and tail is left out, all sound is kept.

        About 50 ms before the first sound and 90 ms after the last one remain. (A click of the
        model's own in the very last frames, after 200 ms of silence, counts as silence.)
        """
        energy = self.energy.reshape(-1)
        loud = np.flatnonzero(energy > _ONSET_ENERGY)
        onset = int(loud[0]) if len(loud) else 0
        # The padding's frames end after the first phoneme has begun, never before.
        head = int(self.durations[0]) * UNITS_PER_FRAME
        start = max(0, min(onset, head) - _ONSET_MARGIN)
        end = self._end_of_sound(energy) + _END_MARGIN
        return Range(start, max(start + 1, min(self.units, end)))

    def _end_of_sound(self, energy: Floats) -> int:
        lasting = np.flatnonzero(energy > _END_ENERGY)
        if not len(lasting):  # a whisper throughout
            return self.units
        end = int(lasting[-1]) + 1
        voiced = (self.f0.reshape(-1) > _FADING_F0) & (energy > _FADING_ENERGY)
        silent = np.flatnonzero(~voiced[end:])
        return end + int(silent[0]) if len(silent) else self.units

    def word_timings(self, phonemes: Phonemes, audible: Range) -> tuple[WordTiming, ...]:
        """When each word is heard, counted from the first audible unit."""
        edges = np.concatenate([[0], np.cumsum(self.durations)]) * UNITS_PER_FRAME
        length = (audible.end - audible.start) * SAMPLES_PER_UNIT / _RATE
        unit = SAMPLES_PER_UNIT / _RATE
        timings = []
        for number, word in enumerate(phonemes.words):
            # Token 0 is padding, so that phoneme i is token i + 1.
            start = float(edges[word.start + 1] - audible.start) * unit
            end = float(edges[word.end + 1] - audible.start) * unit
            if number == 0:  # the first sound reaches into the frames of the padding before it
                start = min(start, _ONSET_MARGIN * unit)
            start = min(max(start, 0.0), length)
            timings.append(WordTiming(word.text, start, min(max(end, start), length), word.span))
        return tuple(timings)
