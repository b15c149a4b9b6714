"""The harmonic source and the inverse STFT, for any stretch of an utterance.

Both frame the generator (iSTFTNet with the harmonic-plus-noise source of Wang et al., "Neural
source-filter waveform models", 2019; the published export has no noise): the source excites it,
and the spectrum that it returns becomes sound. In the export they run over the whole utterance;
here they run over a window, and agree with it sample for sample.

Time is counted in *units* of 12.5 ms, 300 samples at 24 kHz, and in *steps* of 5 samples, the hop
of the STFT; a window of ``n`` units has ``60 n + 1`` steps, its ends included.

Sums are written with ``einsum``, which stays in this thread: a threaded BLAS would take the cores
from the inference of another window, for products that take less than a millisecond.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

SAMPLES_PER_UNIT = 300
STEPS_PER_UNIT = 60
SAMPLES_PER_STEP = 5
VOICED_ABOVE_HZ = 10.0
"""A unit is voiced where F0 is above this; the source is silent elsewhere."""

_RATE = 24_000
_HARMONICS = 9
_AMPLITUDE = 0.1
_SIZE = 20  # samples of an STFT frame
_BINS = _SIZE // 2 + 1
_HALF = _SIZE // 2
_GAIN = 4.0  # overlap of _SIZE / SAMPLES_PER_STEP frames, as the export scales it

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SourceConstants:
    """The model's own numbers.

    Attributes:
        linear: float32 [9], mixes the harmonics.
        bias: float32 [1].
        basis: float32 [22, 20], inverse STFT frames of real, then imaginary bins.
        silence: float32 [22], what the export makes of a step without voice.
    """

    linear: Floats
    bias: Floats
    basis: Floats
    silence: Floats

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SourceConstants:
        """Read what preparation wrote as ``source.npz``."""
        with np.load(path) as stored:
            return cls(stored["linear"], stored["bias"], stored["basis"], stored["silence"])


def _forward_basis() -> tuple[Floats, Floats]:
    """Real and imaginary STFT kernels with a periodic Hann window: float32 [20, 11] each."""
    n = np.arange(_SIZE)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * n / _SIZE)
    angles = 2 * np.pi * np.outer(n, np.arange(_BINS)) / _SIZE
    cosine = (np.cos(angles) * hann[:, None]).astype(np.float32)
    sine = (-np.sin(angles) * hann[:, None]).astype(np.float32)
    return cosine, sine


_COSINE, _SINE = _forward_basis()


class HarmonicSource:
    """The excitation of one utterance, computed window by window from its F0."""

    def __init__(self, constants: SourceConstants, f0: NDArray[np.floating]) -> None:
        """``f0`` is in Hz, one value for each unit: [units], at least one."""
        self._constants = constants
        self._f0 = np.asarray(f0, np.float32)
        cycles = self._f0[:, None] * np.arange(1, _HARMONICS + 1, dtype=np.float32)
        cycles /= np.float32(_RATE)
        # The phase at the middle of each unit, in single precision like the export's: its rounding
        # is audible to the network as a little noise, which it expects.
        turns = np.cumsum(cycles - np.floor(cycles), axis=0, dtype=np.float32)
        phase = turns * np.float32(2) * np.float32(np.pi) * np.float32(SAMPLES_PER_UNIT)
        self._rest = np.tanh(np.float32(constants.bias[0]))
        self._phase: Floats = phase

    @property
    def units(self) -> int:
        return len(self._f0)

    def window(self, start: int, end: int) -> Floats:
        """Magnitudes and phases of the source over units ``[start, end)``.

        Returns float32 [22, 60 (end - start) + 1]. The utterance is mirrored at its own ends, as
        the export does; inside it the true neighbours are used.
        """
        total = SAMPLES_PER_UNIT * self.units
        first, last = SAMPLES_PER_UNIT * start - _HALF, SAMPLES_PER_UNIT * end + _HALF
        signal = self._signal(max(first, 0), min(last, total))
        if first < 0:
            signal = np.concatenate([signal[_HALF:0:-1], signal])
        if last > total:
            signal = np.concatenate([signal, signal[-2 : -2 - _HALF : -1]])
        frames = sliding_window_view(signal, _SIZE)[::SAMPLES_PER_STEP]
        real = np.einsum("sn,nb->sb", frames, _COSINE)
        imaginary = np.einsum("sn,nb->sb", frames, _SINE)
        imaginary[:, 0] = 0.0  # as it is but for rounding, which would turn the phase over
        polar = [np.sqrt(real * real + imaginary * imaginary), np.arctan2(imaginary, real)]
        source = np.concatenate(polar, axis=1)
        # Where the source is silent all but two bins are rounding noise, their phases included.
        # The network reads phases, so the noise has to be the export's own.
        source[(frames == self._rest).all(axis=1)] = self._constants.silence
        return np.ascontiguousarray(source.T)

    def _signal(self, first: int, last: int) -> Floats:
        """Samples ``[first, last)`` of the excitation."""
        sample = np.arange(first, last)
        unit = np.minimum(sample // SAMPLES_PER_UNIT, self.units - 1)
        # Linear between the middles of units, constant before the first and after the last.
        place = np.clip((sample + 0.5) / SAMPLES_PER_UNIT - 0.5, 0, self.units - 1)
        left = np.minimum(place.astype(np.int64), max(self.units - 2, 0))
        right = np.minimum(left + 1, self.units - 1)
        weight = (place - left).astype(np.float32)[:, None]
        phase = self._phase[left] * (1 - weight) + self._phase[right] * weight
        wave = np.sin(phase) * np.float32(_AMPLITUDE)
        wave *= (self._f0[unit] > VOICED_ABOVE_HZ)[:, None]
        mixed = np.einsum("sh,h->s", wave, self._constants.linear) + self._constants.bias
        signal: Floats = np.tanh(mixed.astype(np.float32, copy=False))
        return signal


def inverse_stft(constants: SourceConstants, spectrum: Floats) -> Floats:
    """Sound of a window from the generator's output.

    ``spectrum`` is float32 [22, 60 n + 1], log magnitudes and phases before their sine; returns
    float32 [300 n]. The first and the last 10 samples lack a neighbour's share: a window needs
    context at both ends, except at the utterance's own.
    """
    magnitude, angle = np.exp(spectrum[:_BINS]), np.sin(spectrum[_BINS:])
    parts = np.concatenate([magnitude * np.cos(angle), magnitude * np.sin(angle)])
    frames = np.einsum("bs,bn->sn", parts, constants.basis)
    steps = len(frames)
    overlap = _SIZE // SAMPLES_PER_STEP
    rows = np.zeros((steps + overlap - 1, SAMPLES_PER_STEP), np.float32)
    for part in range(overlap):
        rows[part : part + steps] += frames[
            :, part * SAMPLES_PER_STEP : (part + 1) * SAMPLES_PER_STEP
        ]
    sound: Floats = rows.reshape(-1)[_HALF:-_HALF] * np.float32(_GAIN)
    return sound
