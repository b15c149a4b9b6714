"""Predicting an utterance's AdaIN statistics from its prosody, before it is decoded.

E[x] and E[x^2] of a channel are averages over frames. They are nearly linear in what the frames
hold: silence, resonant sounds or obstruents, voiced or not, and in the share that the ends of the
utterance have. All of that is known from durations and F0. One ridge regression a voice on some
20 short inputs therefore serves every length, from "Yes." to a whole paragraph.

A channel is described by its mean and deviation over the calibration as a whole, and by the slopes
of its first two moments around it, in units of that deviation: these are small numbers of similar
size, so that one byte each is enough for them (see :class:`VoiceModel`).
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from speakahead.errors import ModelCorrupt
from speakahead.kokoro.classes import SoundClass, class_weights
from speakahead.kokoro.source import VOICED_ABOVE_HZ

Floats = NDArray[np.float32]

FEATURES = 4
"""Share of silence, share of obstruents, share of units with F0, and the inverse length."""

_FRAMES = 10.0  # unit of the inverse length: 0.25 s
# Chosen by the mel and level errors of 19 utterances of two voices that were not fitted. Without
# the long phrases, or with more classes of sounds, extrapolation to long sentences fails first.
_RIDGE = 5e-3
_SMALLEST_VARIANCE = 0.05  # of the pooled one: what a short input may fall to
_SMALLEST_DEVIATION = 1e-4

_SILENCE = [SoundClass.HEAD, SoundClass.TAIL, SoundClass.PAUSE]
_OBSTRUENT = [SoundClass.FRICATIVE, SoundClass.STOP]


class Moments(NamedTuple):
    """Mean and standard deviation of every channel over an utterance, float32 [channels] each."""

    mean: Floats
    deviation: Floats


def moments(mean: NDArray[np.floating], square: NDArray[np.floating]) -> Moments:
    """From E[x] and E[x^2], each [channels]."""
    first = np.asarray(mean, np.float64)
    variance = np.maximum(np.asarray(square, np.float64) - first * first, 0.0)
    return Moments(first.astype(np.float32), np.sqrt(variance).astype(np.float32))


def features(
    tokens: NDArray[np.int64], durations: NDArray[np.int64], f0: NDArray[np.floating]
) -> NDArray[np.float64]:
    """What the prediction is made from: float64 [4], see :data:`FEATURES`.

    ``tokens`` and ``durations`` (frames) are [n + 2] with padding, ``f0`` is in Hz by unit.
    """
    classes = class_weights(tokens, durations)[0]
    shares = classes.mean(axis=1)
    return np.array(
        [
            shares[_SILENCE].sum(),
            shares[_OBSTRUENT].sum(),
            float(np.mean(f0 > VOICED_ABOVE_HZ)),
            _FRAMES / classes.shape[1],
        ]
    )


@dataclass(frozen=True, slots=True)
class VoiceModel:
    """A voice's linear model of its statistics.

    With ``y = (x - mean) / deviation``, the first moment of ``y`` is ``d @ slopes[0]`` and its
    second ``1 + d @ slopes[1]``, where ``d`` is the features' distance from the reference.

    Attributes:
        mean, deviation: float32 [channels], at the reference.
        slopes: float32 [2, 4, channels].
        reference: float32 [4], the features that calibration had on average.
    """

    mean: Floats
    deviation: Floats
    slopes: Floats
    reference: Floats

    def predict(self, utterance: NDArray[np.float64]) -> Moments:
        """Statistics of an utterance with these :func:`features`."""
        distance = utterance.astype(np.float32) - self.reference
        first, second = np.einsum("k,mkc->mc", distance, self.slopes)  # einsum: no threads
        variance = np.maximum(1.0 + second - first * first, np.float32(_SMALLEST_VARIANCE))
        return Moments(self.mean + self.deviation * first, self.deviation * np.sqrt(variance))

    def dump(self) -> bytes:
        """Compact form: half precision, and one byte for each slope."""
        step = np.abs(self.slopes).max(axis=2, keepdims=True) / 127
        step = np.maximum(step, 1e-12)
        # Few channels have large slopes; a square root spends the steps where most are.
        relative = self.slopes / (step * 127)
        coded = np.round(np.sign(relative) * np.sqrt(np.abs(relative)) * 127).astype(np.int8)
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            mean=self.mean.astype(np.float16),
            deviation=self.deviation.astype(np.float16),
            slopes=coded,
            largest=(step * 127).astype(np.float32),
            reference=self.reference,
        )
        return buffer.getvalue()

    @classmethod
    def parse(cls, data: bytes) -> VoiceModel:
        """Inverse of :meth:`dump`.

        Raises:
            ModelCorrupt: ``data`` is something else.
        """
        try:
            with np.load(io.BytesIO(data)) as stored:
                coded = stored["slopes"].astype(np.float32) / 127
                slopes = np.sign(coded) * coded * coded * stored["largest"]
                mean = stored["mean"].astype(np.float32)
                deviation = stored["deviation"].astype(np.float32)
                reference = stored["reference"].astype(np.float32)
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
            raise ModelCorrupt("A voice's calibration file is damaged.") from None
        return cls(mean, deviation, slopes.astype(np.float32), reference)


def fit(
    inputs: Sequence[NDArray[np.float64]], means: Sequence[Floats], squares: Sequence[Floats]
) -> VoiceModel:
    """Fit a voice's model to measured utterances, each weighted by its length.

    Args:
        inputs: their :func:`features`.
        means, squares: their E[x] and E[x^2], [channels] each.

    Raises:
        ValueError: there are no inputs.
    """
    if len(inputs) == 0:
        raise ValueError("calibration needs at least one utterance")
    known = np.stack(inputs)
    mean, square = np.stack(means).astype(np.float64), np.stack(squares).astype(np.float64)
    weight = 1.0 / known[:, 3]
    weight /= weight.mean()
    share = weight / weight.sum()
    reference = share @ known
    base = share @ mean
    # The variance over all inputs together, so that no channel is measured in a unit of nearly 0.
    variance = np.maximum(share @ square - base * base, _SMALLEST_DEVIATION**2)
    deviation = np.sqrt(variance)
    first = (mean - base) / deviation
    second = (square - 2 * base * mean + base * base) / variance - 1.0
    distance = known - reference
    weighted = distance.T * weight
    solve = np.linalg.solve(weighted @ distance + _RIDGE * len(known) * np.eye(FEATURES), weighted)
    return VoiceModel(
        base.astype(np.float32),
        deviation.astype(np.float32),
        np.stack([solve @ first, solve @ second]).astype(np.float32),
        reference.astype(np.float32),
    )


def blend(parts: Sequence[tuple[float, Moments]]) -> Moments:
    """Statistics of a mix of voices: the weighted means of means and of deviations.

    The weights should add up to one.
    """
    mean = sum((weight * m.mean for weight, m in parts), np.float32(0))
    deviation = sum((weight * m.deviation for weight, m in parts), np.float32(0))
    return Moments(np.asarray(mean, np.float32), np.asarray(deviation, np.float32))


class Calibrations:
    """The voice models at hand: those that come with the package, and a user's own."""

    def __init__(self, own: Path | None = None) -> None:
        """``own`` is a directory with models of further voices; it need not exist."""
        self._own = own
        self._loaded: dict[str, VoiceModel | None] = {}

    def load(self, voice: str) -> VoiceModel | None:
        """The model of a voice, or None when it has not been calibrated.

        Raises:
            ModelCorrupt: its file is damaged.
        """
        if voice not in self._loaded:
            data = self._read(f"{voice}.npz")
            self._loaded[voice] = None if data is None else VoiceModel.parse(data)
        return self._loaded[voice]

    def add(self, voice: str, model: VoiceModel) -> None:
        """Use ``model`` from now on, and keep it in the user's directory if there is one.

        Raises:
            OSError: it could not be kept; it is used all the same.
        """
        self._loaded[voice] = model
        if self._own is not None:
            self._own.mkdir(parents=True, exist_ok=True)
            target = self._own / f"{voice}.npz"
            partial = target.with_suffix(".partial")
            partial.write_bytes(model.dump())
            partial.replace(target)

    def _read(self, name: str) -> bytes | None:
        packaged = resources.files("speakahead.kokoro").joinpath("data", name)
        candidates = [packaged] if self._own is None else [self._own / name, packaged]
        for candidate in candidates:
            try:
                return candidate.read_bytes()
            except OSError:
                continue
        return None
