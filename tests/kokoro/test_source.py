"""The harmonic source and the inverse STFT agree with the export, in any window."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.assets import ModelDirectory
from speakahead.kokoro.graph import FLOAT, Graph, Port
from speakahead.kokoro.source import (
    SAMPLES_PER_UNIT,
    STEPS_PER_UNIT,
    HarmonicSource,
    SourceConstants,
    inverse_stft,
)

CONSTANTS = SourceConstants(
    linear=np.linspace(-0.5, 0.4, 9).astype(np.float32),
    bias=np.array([-0.03], np.float32),
    basis=np.random.default_rng(0).normal(size=(22, 20)).astype(np.float32),
    silence=np.arange(22, dtype=np.float32),
)
F0 = np.concatenate([np.zeros(9), np.linspace(110, 240, 25), np.zeros(4), np.full(12, 180.0)])


@given(st.integers(0, 49), st.integers(1, 50))
def test_a_window_is_a_piece_of_the_whole(start: int, size: int) -> None:
    source = HarmonicSource(CONSTANTS, F0)
    end = min(source.units, start + size)
    part = source.window(start, end)
    whole = source.window(0, source.units)
    assert part.shape == (22, STEPS_PER_UNIT * (end - start) + 1)
    expected = whole[:, STEPS_PER_UNIT * start : STEPS_PER_UNIT * end + 1]
    # Phases of bins that are nearly empty may turn; what they stand for may not.
    for turn in (np.cos, np.sin):
        difference = part[:11] * turn(part[11:]) - expected[:11] * turn(expected[11:])
        assert np.abs(difference).max() < 1e-6


def test_silence_is_the_exports_own() -> None:
    source = HarmonicSource(CONSTANTS, np.zeros(6)).window(1, 5)
    assert (source == CONSTANTS.silence[:, None]).all()


def test_one_unit_is_enough() -> None:
    assert HarmonicSource(CONSTANTS, np.array([150.0])).window(0, 1).shape == (22, 61)


def test_the_pitch_is_that_of_f0() -> None:
    source = HarmonicSource(
        SourceConstants(
            np.eye(1, 9, dtype=np.float32)[0],
            np.zeros(1, np.float32),
            CONSTANTS.basis,
            CONSTANTS.silence,
        ),
        np.full(80, 200.0),
    )
    signal = source._signal(0, 80 * SAMPLES_PER_UNIT)
    spectrum = np.abs(np.fft.rfft(signal * np.hanning(len(signal))))
    assert np.argmax(spectrum) * 24_000 / len(signal) == pytest.approx(200, abs=2)


def test_the_source_matches_the_export(model: ModelDirectory, prepared: Path) -> None:
    graph = Graph(onnx.load(str(model.weights)))
    part = graph.cut(
        [Port("/decoder/decoder/Unsqueeze_output_0", "f0", FLOAT, (1, 1, "units"))],
        {"/decoder/decoder/generator/Concat_3_output_0": "source"},
    )
    session = ort.InferenceSession(part.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(["source"], {"f0": F0.astype(np.float32)[None, None]})
    constants = SourceConstants.load(prepared / "source.npz")
    ours = HarmonicSource(constants, F0).window(0, len(F0))
    assert ours.shape == expected[0].shape
    assert np.abs(ours[:11] - expected[0, :11]).max() < 2e-3
    unvoiced = slice(2 * STEPS_PER_UNIT, 7 * STEPS_PER_UNIT)
    assert np.abs(ours[:, unvoiced] - expected[0][:, unvoiced]).max() < 1e-6


def test_sound_of_a_window_is_a_piece_of_the_whole() -> None:
    rng = np.random.default_rng(3)
    spectrum = rng.normal(size=(22, 20 * STEPS_PER_UNIT + 1)).astype(np.float32)
    whole = inverse_stft(CONSTANTS, spectrum)
    assert whole.shape == (20 * SAMPLES_PER_UNIT,)
    part = inverse_stft(CONSTANTS, spectrum[:, 5 * STEPS_PER_UNIT : 9 * STEPS_PER_UNIT + 1])
    expected = whole[5 * SAMPLES_PER_UNIT : 9 * SAMPLES_PER_UNIT]
    assert part[10:-10] == pytest.approx(expected[10:-10], abs=1e-4)
    assert np.abs(part[:10] - expected[:10]).max() > 1e-3  # these lack their neighbour's share
