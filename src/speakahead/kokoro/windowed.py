"""Kokoro that speaks before a sentence is decoded: prosody once, then one window at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from speakahead.assets import Voices
from speakahead.errors import SynthesisFailed
from speakahead.kokoro.adain import EPSILON
from speakahead.kokoro.calibration import (
    Calibrations,
    Moments,
    VoiceModel,
    blend,
    features,
    fit,
    moments,
)
from speakahead.kokoro.classes import class_weights
from speakahead.kokoro.engine import Window, WordTiming
from speakahead.kokoro.mixing import is_mix, parse_mix
from speakahead.kokoro.parts import Backend, Parts
from speakahead.kokoro.phrases import calibration_phrases
from speakahead.kokoro.prosody import Prosody
from speakahead.kokoro.source import SAMPLES_PER_UNIT, HarmonicSource, inverse_stft
from speakahead.kokoro.windows import (
    FIRST_SIZES,
    UNITS_PER_FRAME,
    Layout,
    Range,
    choose_first_sizes,
    chunk_range,
    generator_range,
    plan_windows,
)
from speakahead.text.phonemes import Phonemes

Floats = NDArray[np.float32]

_KNEE = 0.9
_FADE_IN = 48
_FADE_OUT = 240
_WARM_RUNS = 2


@dataclass(slots=True)
class WindowedPlan:
    """One utterance, ready to be decoded window by window.

    Attributes:
        layout: how it is cut; None where it has to be decoded whole.
        samples, words, windows: see :class:`speakahead.kokoro.engine.Plan`.
    """

    samples: int
    words: tuple[WordTiming, ...]
    windows: tuple[Window, ...]
    layout: Layout | None
    _prosody: Prosody
    _audible: Range
    _source: HarmonicSource
    _scale: Floats | None = None
    _shift: Floats | None = None
    # Filled as windows are decoded. Threads that race for an entry compute equal arrays.
    _chunks: dict[int, Floats] = field(default_factory=dict)
    _whole: Floats | None = None


class WindowedEngine:
    """Kokoro in windows, for voices whose statistics can be predicted; exact for all others.

    Its methods may be called from several threads at once.
    """

    def __init__(
        self,
        directory: Path,
        voices: Voices,
        *,
        threads: int = 2,
        backend: Backend = Backend.CPU,
        calibrations: Calibrations | None = None,
    ) -> None:
        """Load the prepared parts.

        Args:
            directory: what :func:`speakahead.kokoro.prepare.prepare` returned.
            voices: the voice packs.
            threads: threads of one inference.
            backend: what runs the windows.
            calibrations: the voices' models; those of the package by default.

        Raises:
            ModelCorrupt: the parts are incomplete, or of another version.
        """
        self._parts = Parts(directory, threads=threads, backend=backend)
        self._voices = voices
        self._calibrations = calibrations or Calibrations()
        self._first_sizes: tuple[int, ...] = FIRST_SIZES

    @property
    def voices(self) -> tuple[str, ...]:
        return self._voices.names

    def is_calibrated(self, voice: str) -> bool:
        """Whether this voice, or every voice of this mix, is decoded in windows."""
        return all(self._calibrations.load(name) is not None for name, _ in parse_mix(voice))

    def plan(self, phonemes: Phonemes, voice: str, speed: float) -> WindowedPlan:
        """See :meth:`speakahead.kokoro.engine.Engine.plan`.

        ``voice`` may also be a mix, as in ``"af_heart:0.6+af_bella:0.4"``. A voice, or a mix with
        one, that has not been calibrated is decoded in a single window.

        Raises:
            UnknownVoice: a voice is not at hand.
            InvalidRequest: the mix is malformed.
            SynthesisFailed: the phonemes are not the model's, or too many.
        """
        prosody = self._prosody(phonemes.text, voice, speed)
        statistics = self._predict(prosody, voice)
        return self._plan(phonemes, prosody, statistics)

    def plan_measured(self, phonemes: Phonemes, voice: str, speed: float) -> WindowedPlan:
        """A plan with the utterance's true statistics, measured by decoding it once before.

        As slow as decoding the whole; it tells errors of the windows from those of prediction.
        """
        prosody = self._prosody(phonemes.text, voice, speed)
        _, measured = self._decode_exactly(prosody)
        return self._plan(phonemes, prosody, measured)

    def whole(self, phonemes: Phonemes, voice: str, speed: float) -> Floats:
        """The utterance decoded in one go with true statistics, cut like a plan's: float32 [n]."""
        plan = self._plan(phonemes, self._prosody(phonemes.text, voice, speed), None)
        return self.decode(plan, Window(0, plan.samples))

    def decode(self, plan: WindowedPlan, window: Window) -> Floats:
        """See :meth:`speakahead.kokoro.engine.Engine.decode`; any part of the plan can be asked.

        Raises:
            ValueError: the window is not within the plan.
            SynthesisFailed: the decoder made something that is not sound.
        """
        if not 0 <= window.start <= window.end <= plan.samples:
            raise ValueError("the window is not within the utterance")
        if window.start == window.end:
            return np.zeros(0, np.float32)
        if plan.layout is None:
            if plan._whole is None:
                plan._whole, _ = self._decode_exactly(plan._prosody)
            start = plan._audible.start * SAMPLES_PER_UNIT
            sound = plan._whole[start + window.start : start + window.end]
            return _faded(limit(sound), window, plan.samples)
        first = window.start // SAMPLES_PER_UNIT
        last = -(-window.end // SAMPLES_PER_UNIT)
        offset = plan._audible.start
        sound = self._decode_units(plan, plan.layout, Range(first + offset, last + offset))
        cut = window.start - first * SAMPLES_PER_UNIT
        return _faded(limit(sound[cut : cut + window.size]), window, plan.samples)

    def warm(self) -> None:
        """Run each size of window, and choose the first ones by how fast this machine is."""
        calibrated = (name for name in self.voices if self._calibrations.load(name) is not None)
        voice = next(calibrated, None)
        if voice is None:
            return
        sentence = max(calibration_phrases(), key=lambda phrase: len(phrase.phonemes))
        phonemes = Phonemes(sentence.phonemes, (), "en-us")
        times: dict[int, list[float]] = {}
        for _ in range(_WARM_RUNS):
            plan = self.plan(phonemes, voice, 1.0)
            for window in plan.windows:
                start = time.perf_counter()
                self.decode(plan, window)
                size = (window.end - window.start) // SAMPLES_PER_UNIT
                times.setdefault(size, []).append(time.perf_counter() - start)
        sizes = np.array(list(times), np.float64)
        best = np.array([min(measured) for measured in times.values()])
        slope, base = np.polyfit(sizes, best, 1)
        self._first_sizes = choose_first_sizes(lambda size: float(base + slope * size))

    def calibrate(self, voice: str, progress: Callable[[float], None] | None = None) -> VoiceModel:
        """Measure a voice's statistics and use them from now on; about a minute of one core.

        Args:
            voice: one of ``voices``.
            progress: told the share that is done, 0 to 1.
        """
        phrases = calibration_phrases()
        inputs, means, squares = [], [], []
        for number, phrase in enumerate(phrases):
            if progress is not None:
                progress(number / len(phrases))
            prosody = self._prosody(phrase.phonemes, voice, phrase.speed)
            _, mean, square = self._run_exact(prosody)
            inputs.append(features(prosody.tokens, prosody.durations, prosody.f0))
            means.append(mean)
            squares.append(square)
        model = fit(inputs, means, squares)
        self._calibrations.add(voice, model)
        if progress is not None:
            progress(1.0)
        return model

    def _prosody(self, phonemes: str, voice: str, speed: float) -> Prosody:
        if is_mix(voice):
            mix = parse_mix(voice)
            pack = sum((w * self._voices.load(name) for name, w in mix), np.float32(0))
            pack = np.asarray(pack, np.float32)
        else:
            pack = self._voices.load(voice)
        try:
            return Prosody.of(self._parts, phonemes, pack, speed)
        except ValueError:
            raise SynthesisFailed(
                "This text cannot be spoken in one piece: its phonemes are too many or unknown."
            ) from None

    def _predict(self, prosody: Prosody, voice: str) -> Moments | None:
        utterance = features(prosody.tokens, prosody.durations, prosody.f0)
        parts = []
        for name, weight in parse_mix(voice):
            model = self._calibrations.load(name)
            if model is None or len(model.mean) != self._parts.sites.channels:
                return None
            parts.append((weight, model.predict(utterance)))
        return blend(parts)

    def _plan(
        self, phonemes: Phonemes, prosody: Prosody, statistics: Moments | None
    ) -> WindowedPlan:
        audible = prosody.audible()
        samples = audible.size * SAMPLES_PER_UNIT
        words = prosody.word_timings(phonemes, audible)
        source = HarmonicSource(self._parts.source, prosody.f0.reshape(-1))
        if statistics is None:
            only = (Window(0, samples),)
            return WindowedPlan(samples, words, only, None, prosody, audible, source)
        layout = plan_windows(prosody.units, audible, self._first_sizes)
        windows = tuple(
            Window(
                (part.start - audible.start) * SAMPLES_PER_UNIT,
                (part.end - audible.start) * SAMPLES_PER_UNIT,
            )
            for part in layout.windows
        )
        scale, shift = self._fold(prosody.style, statistics)
        return WindowedPlan(samples, words, windows, layout, prosody, audible, source, scale, shift)

    def _fold(self, style: Floats, statistics: Moments) -> tuple[Floats, Floats]:
        """Scale and shift of each channel of each use: float32 [1, uses, 1] both."""
        gamma, beta = self._parts.affine(style_decoder=style)
        uses = self._parts.sites.uses
        variance = statistics.deviation * statistics.deviation
        inverse = 1.0 / np.sqrt(variance + np.float32(EPSILON))
        scale = gamma * inverse[uses][None, :, None]
        shift = beta - scale * statistics.mean[uses][None, :, None]
        return scale.astype(np.float32), shift.astype(np.float32)

    def _decode_units(self, plan: WindowedPlan, layout: Layout, wanted: Range) -> Floats:
        """Sound of some units, counted from the start of the model's utterance."""
        reads = generator_range(layout.units, wanted)
        assert plan._scale is not None
        assert plan._shift is not None
        blocks = self._parts.sites.block_uses
        (spectrum,) = self._parts.generator(
            x=self._block_output(plan, layout, reads.outer),
            source=plan._source.window(reads.outer.start, reads.outer.end)[None],
            scale=plan._scale[:, blocks:],
            shift=plan._shift[:, blocks:],
            inner=np.array(reads.inner, np.int64),
        )
        sound = inverse_stft(self._parts.source, spectrum[0])
        kept = reads.kept
        return _checked(sound[kept.start * SAMPLES_PER_UNIT : kept.end * SAMPLES_PER_UNIT])

    def _block_output(self, plan: WindowedPlan, layout: Layout, needed: Range) -> Floats:
        """What the decoder blocks make of some units: float32 [1, 512, units]."""
        numbers = layout.chunks_for(needed)
        for number in numbers:
            if number not in plan._chunks:
                plan._chunks[number] = self._run_blocks(plan, layout.chunks[number])
        joined = np.concatenate([plan._chunks[number] for number in numbers], axis=2)
        first = layout.chunks[numbers[0]].start * UNITS_PER_FRAME
        return np.ascontiguousarray(joined[:, :, needed.start - first : needed.end - first])

    def _run_blocks(self, plan: WindowedPlan, chunk: Range) -> Floats:
        prosody = plan._prosody
        assert plan._scale is not None
        assert plan._shift is not None
        reads = chunk_range(prosody.frames, chunk)
        units = slice(reads.start * UNITS_PER_FRAME, reads.end * UNITS_PER_FRAME)
        blocks = self._parts.sites.block_uses
        (x,) = self._parts.blocks(
            text=np.ascontiguousarray(prosody.text[:, :, reads.start : reads.end]),
            f0=np.ascontiguousarray(prosody.f0[:, :, units]),
            energy=np.ascontiguousarray(prosody.energy[:, :, units]),
            scale=plan._scale[:, :blocks],
            shift=plan._shift[:, :blocks],
        )
        start = (chunk.start - reads.start) * UNITS_PER_FRAME
        part: Floats = x[:, :, start : start + chunk.size * UNITS_PER_FRAME]
        return part

    def _decode_exactly(self, prosody: Prosody) -> tuple[Floats, Moments]:
        sound, mean, square = self._run_exact(prosody)
        return _checked(sound), moments(mean, square)

    def _run_exact(self, prosody: Prosody) -> tuple[Floats, Floats, Floats]:
        """Sound of the whole utterance, and E[x] and E[x^2] of every channel."""
        source = HarmonicSource(self._parts.source, prosody.f0.reshape(-1))
        spectrum, mean, square = self._parts.exact(
            text=prosody.text,
            f0=prosody.f0,
            energy=prosody.energy,
            style_decoder=prosody.style,
            source=source.window(0, prosody.units)[None],
            class_weights=class_weights(prosody.tokens, prosody.durations),
        )
        sound = inverse_stft(self._parts.source, spectrum[0])
        return sound, mean[0].sum(axis=1), square[0].sum(axis=1)


def _faded(samples: Floats, window: Window, length: int) -> Floats:
    """Ramp up the utterance's first 2 ms and down its last 10 ms: what is cut off is not zero."""
    if window.start >= _FADE_IN and window.end <= length - _FADE_OUT:
        return samples
    position = np.arange(window.start, window.end, dtype=np.float32)
    ramp = np.minimum((position + 1) / _FADE_IN, (length - position) / _FADE_OUT)
    result: Floats = samples * np.minimum(ramp, 1.0).astype(np.float32)
    return result


def limit(samples: Floats) -> Floats:
    """Bend what is louder than 0.9 smoothly below 1; the rest is unchanged.

    It has no memory, so that windows may be limited one by one.
    """
    over = np.abs(samples) > _KNEE
    if not over.any():
        return samples
    room = np.float32(1 - _KNEE)
    bent = np.sign(samples) * (_KNEE + room * np.tanh((np.abs(samples) - _KNEE) / room))
    result: Floats = np.where(over, bent, samples).astype(np.float32)
    return result


def _checked(sound: Floats) -> Floats:
    if not np.isfinite(sound).all():
        raise SynthesisFailed("The decoder failed on this text: try another wording or voice.")
    return sound
