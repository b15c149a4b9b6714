"""Decoding windows: one alone, or several of the same shape as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from speakahead.errors import SynthesisFailed
from speakahead.kokoro.engine import Window, WordTiming
from speakahead.kokoro.narrowing import SPECTRUM_MARGIN
from speakahead.kokoro.parts import FixedParts, Parts
from speakahead.kokoro.prosody import Prosody
from speakahead.kokoro.runtimes import run_buckets
from speakahead.kokoro.source import (
    SAMPLES_PER_STEP,
    SAMPLES_PER_UNIT,
    STEPS_PER_UNIT,
    HarmonicSource,
    inverse_stft,
)
from speakahead.kokoro.windows import (
    UNITS_PER_FRAME,
    GeneratorRange,
    Layout,
    Range,
    bucket_frames,
    bucket_window,
    chunk_range,
    generator_range,
)

Floats = NDArray[np.float32]

_KNEE = 0.9
_FADE_IN = 48
_FADE_OUT = 240


def _nothing() -> Floats:
    return np.zeros((1, 0, 1), np.float32)


@dataclass(slots=True)
class WindowedPlan:
    """One utterance, ready to be decoded window by window.

    Attributes:
        layout: how it is cut; None where it has to be decoded whole.
        samples, words, windows: see :class:`speakahead.kokoro.engine.Plan`.
        scale, shift: float32 [1, channels of all uses, 1], the folded normalisations; empty
            without a layout.
    """

    samples: int
    words: tuple[WordTiming, ...]
    windows: tuple[Window, ...]
    layout: Layout | None
    _prosody: Prosody
    _audible: Range
    _source: HarmonicSource
    scale: Floats = field(default_factory=_nothing)
    shift: Floats = field(default_factory=_nothing)
    # Filled as windows are decoded. Threads that race for an entry compute equal arrays.
    _chunks: dict[int, Floats] = field(default_factory=dict)
    _whole: Floats | None = None

    def forget(self) -> None:
        """Forget what was decoded, so that it is decoded anew."""
        self._chunks.clear()
        self._whole = None


class _Task(NamedTuple):
    """A window to decode: what is wanted of it, and what is computed to get that."""

    plan: WindowedPlan
    wanted: Range
    computed: Range
    reads: GeneratorRange
    fixed: bool

    @property
    def shape(self) -> tuple[bool, int, Range]:
        """Tasks with the same one can go into one batch."""
        return self.fixed, self.reads.outer.size, self.reads.wanted


class Decoder:
    """Runs the window graphs. Calls from several threads may overlap."""

    def __init__(self, parts: Parts, fixed: FixedParts | None = None) -> None:
        """``fixed`` are the window graphs of another backend, used where a bucket fits."""
        self._parts = parts
        self._fixed = fixed

    def warm(self) -> None:
        """Run ``fixed``, where there is one, with each shape that it will ever get."""
        if self._fixed is not None:
            run_buckets(self._fixed, self._parts.sites)

    def decode(self, windows: Sequence[tuple[WindowedPlan, Range]]) -> list[Floats]:
        """Sound of some units of each plan, which must have a layout: float32 [300 n] each.

        Units are counted from the start of the model's utterance. Windows that have the same shape
        are run as one batch; the result is that of decoding each one alone.

        Raises:
            SynthesisFailed: the decoder made something that is not sound.
        """
        tasks = [self._task(plan, wanted) for plan, wanted in windows]
        groups: dict[tuple[bool, int, Range], list[int]] = {}
        for number, task in enumerate(tasks):
            groups.setdefault(task.shape, []).append(number)
        sounds: dict[int, Floats] = {}
        for numbers in groups.values():
            group = [tasks[number] for number in numbers]
            sounds |= zip(numbers, self._run(group), strict=True)
        return [sounds[number] for number in range(len(tasks))]

    def _task(self, plan: WindowedPlan, wanted: Range) -> _Task:
        assert plan.layout is not None
        computed = bucket_window(plan.layout, wanted) if self._fixed is not None else None
        fixed = computed is not None
        computed = computed or wanted
        return _Task(plan, wanted, computed, generator_range(plan.layout.units, computed), fixed)

    def _run(self, group: list[_Task]) -> list[Floats]:
        first = group[0]
        generator = self._parts.generator
        if first.fixed and self._fixed is not None:
            generator = self._fixed.generator
        blocks = self._parts.sites.block_uses
        (spectra,) = generator(
            x=_stacked([self._block_output(task.plan, task.reads.outer) for task in group]),
            source=_stacked([task.plan._source.window(*task.reads.outer)[None] for task in group]),
            scale=_stacked([task.plan.scale[:, blocks:] for task in group]),
            shift=_stacked([task.plan.shift[:, blocks:] for task in group]),
            wanted=np.array(first.reads.wanted, np.int64),
        )
        margin = min(SPECTRUM_MARGIN, first.reads.wanted.start * STEPS_PER_UNIT)
        sounds = []
        for task, spectrum in zip(group, spectra, strict=True):
            units = task.wanted.start - task.computed.start
            start = margin * SAMPLES_PER_STEP + units * SAMPLES_PER_UNIT
            sound = inverse_stft(self._parts.source, spectrum)
            sounds.append(checked(sound[start : start + task.wanted.size * SAMPLES_PER_UNIT]))
        return sounds

    def _block_output(self, plan: WindowedPlan, needed: Range) -> Floats:
        """What the decoder blocks make of some units: float32 [1, 512, units]."""
        assert plan.layout is not None
        chunks = plan.layout.chunks
        numbers = plan.layout.chunks_for(needed)
        for number in numbers:
            if number not in plan._chunks:
                plan._chunks[number] = self._run_blocks(plan, chunks[number])
        joined = np.concatenate([plan._chunks[number] for number in numbers], axis=2)
        first = chunks[numbers[0]].start * UNITS_PER_FRAME
        return np.ascontiguousarray(joined[:, :, needed.start - first : needed.end - first])

    def _run_blocks(self, plan: WindowedPlan, chunk: Range) -> Floats:
        prosody = plan._prosody
        reads = chunk_range(prosody.frames, chunk)
        run = self._parts.blocks
        if self._fixed is not None:
            bucket = bucket_frames(prosody.frames, reads)
            if bucket is not None:
                reads, run = bucket, self._fixed.blocks
        units = slice(reads.start * UNITS_PER_FRAME, reads.end * UNITS_PER_FRAME)
        blocks = self._parts.sites.block_uses
        (x,) = run(
            text=np.ascontiguousarray(prosody.text[:, :, reads.start : reads.end]),
            f0=np.ascontiguousarray(prosody.f0[:, :, units]),
            energy=np.ascontiguousarray(prosody.energy[:, :, units]),
            scale=plan.scale[:, :blocks],
            shift=plan.shift[:, :blocks],
        )
        start = (chunk.start - reads.start) * UNITS_PER_FRAME
        part: Floats = x[:, :, start : start + chunk.size * UNITS_PER_FRAME]
        return part


def _stacked(arrays: list[Floats]) -> Floats:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def faded(samples: Floats, window: Window, length: int) -> Floats:
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


def checked(sound: Floats) -> Floats:
    """``sound``, unless the decoder made something else.

    Raises:
        SynthesisFailed: there are values that are not finite.
    """
    if not np.isfinite(sound).all():
        raise SynthesisFailed("The decoder failed on this text: try another wording or voice.")
    return sound
