"""Which part of an utterance is played: no sound is lost, and little silence is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.assets import ModelDirectory, Voices
from speakahead.kokoro.classes import class_weights
from speakahead.kokoro.parts import Parts
from speakahead.kokoro.prosody import Prosody
from speakahead.kokoro.source import SAMPLES_PER_UNIT, HarmonicSource, inverse_stft
from speakahead.kokoro.windows import Range

UNIT = SAMPLES_PER_UNIT


def prosody(energy: Sequence[float], f0: Sequence[float], head_frames: int = 2) -> Prosody:
    units = len(energy)
    return Prosody(
        np.zeros(3, np.int64),
        np.array([head_frames, units // 2 - head_frames, 0], np.int64),
        np.zeros((1, 512, units // 2), np.float32),
        np.array(f0, np.float32).reshape(1, 1, -1),
        np.array(energy, np.float32).reshape(1, 1, -1),
        np.zeros((1, 128), np.float32),
    )


def test_breath_after_the_last_sound_is_left_out() -> None:
    energy = [-9.0] * 10 + [8.0] * 30 + [-2.0] * 30 + [-9.0] * 10
    assert prosody(energy, [8.0] * 80).audible() == Range(1, 47)


def test_a_voice_that_fades_is_kept_while_it_has_a_pitch() -> None:
    energy = [-9.0] * 10 + [8.0] * 30 + [-2.0] * 10 + [-9.0] * 30
    assert prosody(energy, [90.0] * 80).audible() == Range(1, 57)


def test_a_pitch_that_returns_after_the_end_is_no_sound() -> None:
    energy = [-9.0] * 10 + [8.0] * 30 + [-6.0] * 10 + [-3.0] * 30
    assert prosody(energy, [90.0] * 80).audible() == Range(1, 47)


def test_a_whisper_is_played_to_its_end() -> None:
    assert prosody([-3.0] * 40, [5.0] * 40).audible() == Range(0, 40)


def test_silence_alone_still_has_a_unit() -> None:
    whole = prosody([-9.0] * 40, [5.0] * 40).audible()
    assert 0 <= whole.start < whole.end <= 40


@given(st.lists(st.tuples(st.floats(-12, 12), st.floats(0, 400)), min_size=4, max_size=60))
def test_the_part_is_always_within_the_utterance(units: list[tuple[float, float]]) -> None:
    units = units[: len(units) // 2 * 2]
    part = prosody([e for e, _ in units], [f for _, f in units]).audible()
    assert 0 <= part.start < part.end <= len(units)


@pytest.mark.parametrize(
    ("voice", "phonemes", "most_after"),
    [
        ("af_alloy", "həlˈO ðɛɹ.", 26),  # breath for 0.4 s
        ("bf_isabella", "həlˈO ðɛɹ.", 16),
        ("af_nova", "həlˈO ðɛɹ.", 14),
        ("jf_gongitsune", "həlˈO ðɛɹ.", 14),
        ("jm_kumo", "həlˈO ðɛɹ.", 14),
        ("am_echo", "həlˈO ðɛɹ.", 14),
        ("bm_fable", "həlˈO ðɛɹ.", 14),  # an end without a pitch
        ("em_santa", "ˈola.", 14),  # a fading end with one
        ("af_heart", "jˈɛs.", 14),
        ("im_nicola", "sɪks ʃˈɛfs.", 14),
    ],
)
def test_the_end_is_close_behind_the_last_sound(
    model: ModelDirectory, prepared: Path, voice: str, phonemes: str, most_after: int
) -> None:
    parts = Parts(prepared, threads=2)
    plan = Prosody.of(parts, phonemes, Voices(model.path).load(voice), 1.0)
    source = HarmonicSource(parts.source, plan.f0.reshape(-1))
    spectrum, _, _ = parts.exact(
        text=plan.text,
        f0=plan.f0,
        energy=plan.energy,
        style_decoder=plan.style,
        source=source.window(0, plan.units)[None],
        class_weights=class_weights(plan.tokens, plan.durations),
    )
    sound = inverse_stft(parts.source, spectrum[0])
    sound = sound[: len(sound) // UNIT * UNIT].reshape(-1, UNIT)
    level = 20 * np.log10(np.sqrt((sound**2).mean(axis=1)) + 1e-6)
    heard = np.flatnonzero(level > -50)
    part = plan.audible()
    assert part.start <= heard[0]
    assert heard[-1] < part.end <= heard[-1] + 1 + most_after
