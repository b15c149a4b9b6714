"""Kokoro that speaks before a sentence is decoded: prosody once, then one window at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
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
from speakahead.kokoro.decoding import Decoder, WindowedPlan, checked, faded, limit
from speakahead.kokoro.engine import Window
from speakahead.kokoro.mixing import is_mix, parse_mix
from speakahead.kokoro.pace import Pace
from speakahead.kokoro.parts import Backend, Part, Parts
from speakahead.kokoro.phrases import calibration_phrases
from speakahead.kokoro.prosody import Prosody
from speakahead.kokoro.runtimes import choose
from speakahead.kokoro.source import SAMPLES_PER_UNIT, HarmonicSource, inverse_stft
from speakahead.kokoro.windows import Range, plan_windows
from speakahead.text.phonemes import Phonemes

Floats = NDArray[np.float32]

_WARM_RUNS = 3
_TRIAL_SIZES = (16, 32)


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
            backend: what decodes the windows; the CPU instead where it cannot start.
            calibrations: the voices' models; those of the package by default.

        Raises:
            ModelCorrupt: the parts are incomplete, or of another version.
        """
        self._parts = Parts(directory, threads=threads)
        fixed = choose(backend, self._parts, directory, threads=threads)
        self._backend = Backend.CPU if fixed is None else fixed.backend
        self._decoder = Decoder(self._parts, fixed)
        self._voices = voices
        self._calibrations = calibrations or Calibrations()
        self._pace = Pace()
        self.on_uncalibrated: Callable[[str], None] | None = None
        """Called with the name of a voice that :meth:`plan` found without a calibration."""

    @property
    def backend(self) -> Backend:
        """What decodes the windows: never ``AUTO``, and the CPU where another did not start."""
        return self._backend

    @property
    def cost(self) -> float | None:
        """Seconds for a second of sound, without its prosody; known after ``warm``."""
        return self._pace.real_time_factor

    @property
    def voices(self) -> tuple[str, ...]:
        return self._voices.names

    def is_calibrated(self, voice: str) -> bool:
        """Whether this voice, or every voice of this mix, is decoded in windows."""
        return all(self._calibrations.load(name) is not None for name, _ in parse_mix(voice))

    def plan(
        self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0
    ) -> WindowedPlan:
        """See :meth:`speakahead.kokoro.engine.Engine.plan`.

        ``voice`` may also be a mix, as in ``"af_heart:0.6+af_bella:0.4"``. A voice, or a mix with
        one, that has not been calibrated is decoded in a single window.

        Raises:
            UnknownVoice: a voice is not at hand.
            InvalidRequest: the mix is malformed.
            SynthesisFailed: the phonemes are not the model's, or too many.
        """
        began = time.perf_counter()
        prosody = self._prosody(phonemes.text, voice, speed)
        statistics = self._predict(prosody, voice)
        ahead_s -= time.perf_counter() - began
        sizes = self._pace.first_sizes if ahead_s < self._pace.comfortable_s else ()
        return self._plan(phonemes, prosody, statistics, sizes)

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
        return self.decode_batch([(plan, window)])[0]

    def decode_batch(self, windows: Sequence[tuple[WindowedPlan, Window]]) -> list[Floats]:
        """Several windows at once: those of one shape, from any plans, run as one batch.

        The samples are those of :meth:`decode`, in the order of ``windows``. A batch pays on a GPU;
        on a CPU it takes as long as its windows one after another, and the first waits for all.

        Raises:
            ValueError: a window is not within its plan.
            SynthesisFailed: the decoder made something that is not sound.
        """
        sounds: dict[int, Floats] = {}
        cut: list[tuple[int, WindowedPlan, Range]] = []
        for number, (plan, window) in enumerate(windows):
            if not 0 <= window.start <= window.end <= plan.samples:
                raise ValueError("the window is not within the utterance")
            if window.start == window.end:
                sounds[number] = np.zeros(0, np.float32)
            elif plan.layout is None:
                sounds[number] = self._decode_of_whole(plan, window)
            else:
                first = window.start // SAMPLES_PER_UNIT + plan._audible.start
                last = -(-window.end // SAMPLES_PER_UNIT) + plan._audible.start
                cut.append((number, plan, Range(first, last)))
        began = time.perf_counter()
        decoded = self._decoder.decode([(plan, wanted) for _, plan, wanted in cut])
        if len(cut) == 1:
            self._pace.observe(cut[0][2].size, time.perf_counter() - began)
        for (number, plan, _), sound in zip(cut, decoded, strict=True):
            window = windows[number][1]
            start = window.start % SAMPLES_PER_UNIT
            sounds[number] = faded(limit(sound[start : start + window.size]), window, plan.samples)
        return [sounds[number] for number in range(len(windows))]

    def _decode_of_whole(self, plan: WindowedPlan, window: Window) -> Floats:
        if plan._whole is None:
            plan._whole, _ = self._decode_exactly(plan._prosody)
        start = plan._audible.start * SAMPLES_PER_UNIT
        sound = plan._whole[start + window.start : start + window.end]
        return faded(limit(sound), window, plan.samples)

    def warm(self) -> None:
        """Run what windows need; on the CPU, choose the first ones by how fast this machine is."""
        self._decoder.warm()
        calibrated = (name for name in self.voices if self._calibrations.load(name) is not None)
        voice = next(calibrated, None)
        if voice is None:
            return
        sentence = max(calibration_phrases(), key=lambda phrase: len(phrase.phonemes))
        phonemes = Phonemes(sentence.phonemes, (), "en-us")
        on_cpu = self._backend is Backend.CPU
        prosody = self._prosody(phonemes.text, voice, 1.0)
        plan = self._plan(phonemes, prosody, self._predict(prosody, voice), _TRIAL_SIZES)
        times: dict[int, list[float]] = {}
        for _ in range(_WARM_RUNS if on_cpu else 1):
            plan.forget()
            for window in plan.windows[: len(_TRIAL_SIZES) + 1]:
                start = time.perf_counter()
                self.decode(plan, window)
                size = window.size // SAMPLES_PER_UNIT
                times.setdefault(size, []).append(time.perf_counter() - start)
        if on_cpu:  # for others the sizes are given
            self._pace.measure({size: measured[1:] for size, measured in times.items()})

    def calibrate(
        self,
        voice: str,
        progress: Callable[[float], None] | None = None,
        *,
        alone: bool = False,
    ) -> VoiceModel:
        """Measure a voice's statistics and use them from now on; about a minute of one core.

        Args:
            voice: one of ``voices``.
            progress: told the share that is done, 0 to 1, before each phrase; what it raises ends
                the calibration.
            alone: decode in the calling thread only, and so with its priority.
        """
        phrases = calibration_phrases()
        exact = self._parts.load_exact(threads=1) if alone else self._parts.exact
        inputs, means, squares = [], [], []
        for number, phrase in enumerate(phrases):
            if progress is not None:
                progress(number / len(phrases))
            prosody = self._prosody(phrase.phonemes, voice, phrase.speed)
            _, mean, square = self._run_exact(prosody, exact)
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
                if model is None and self.on_uncalibrated is not None:
                    self.on_uncalibrated(name)
                return None
            parts.append((weight, model.predict(utterance)))
        return blend(parts)

    def _plan(
        self,
        phonemes: Phonemes,
        prosody: Prosody,
        statistics: Moments | None,
        first_sizes: tuple[int, ...] | None = None,
    ) -> WindowedPlan:
        audible = prosody.audible()
        samples = audible.size * SAMPLES_PER_UNIT
        words = prosody.word_timings(phonemes, audible)
        source = HarmonicSource(self._parts.source, prosody.f0.reshape(-1))
        if statistics is None:
            only = (Window(0, samples),)
            return WindowedPlan(samples, words, only, None, prosody, audible, source)
        layout = plan_windows(
            prosody.units, audible, self._pace.first_sizes if first_sizes is None else first_sizes
        )
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

    def _decode_exactly(self, prosody: Prosody) -> tuple[Floats, Moments]:
        sound, mean, square = self._run_exact(prosody, self._parts.exact)
        return checked(sound), moments(mean, square)

    def _run_exact(self, prosody: Prosody, exact: Part) -> tuple[Floats, Floats, Floats]:
        """Sound of the whole utterance, and E[x] and E[x^2] of every channel."""
        source = HarmonicSource(self._parts.source, prosody.f0.reshape(-1))
        spectrum, mean, square = exact(
            text=prosody.text,
            f0=prosody.f0,
            energy=prosody.energy,
            style_decoder=prosody.style,
            source=source.window(0, prosody.units)[None],
            class_weights=class_weights(prosody.tokens, prosody.durations),
        )
        sound = inverse_stft(self._parts.source, spectrum[0])
        return sound, mean[0].sum(axis=1), square[0].sum(axis=1)
