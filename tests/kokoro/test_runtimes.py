"""Other runtimes: the same sound where they start, the CPU and a warning where they do not."""

import importlib.util
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from speakahead.assets import ModelDirectory, Voices
from speakahead.kokoro import openvino_parts, runtimes
from speakahead.kokoro.engine import Window
from speakahead.kokoro.openvino_parts import OpenVinoPart
from speakahead.kokoro.parts import Backend, BackendUnavailable, FixedParts, Parts
from speakahead.kokoro.windowed import WindowedEngine
from speakahead.text.phonemes import Phonemes

SENTENCE = Phonemes("ðə kwˈɪk bɹˈWn fˈɑks.", (), "en-us")

LONG = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ."

needs_openvino = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="the extra `openvino` is not installed"
)
needs_gpu = pytest.mark.skipif(
    "CUDAExecutionProvider" not in ort.get_available_providers(),
    reason="onnxruntime-gpu is not installed, or there is no GPU",
)


def speak(engine: WindowedEngine) -> np.ndarray:
    plan = engine.plan(SENTENCE, "af_heart", 1.0)
    return np.concatenate([engine.decode(plan, window) for window in plan.windows])


def agreement_db(reference: np.ndarray, other: np.ndarray) -> float:
    noise = float(np.square(reference.astype(float) - other).sum())
    return 10 * np.log10(np.square(reference.astype(float)).sum() / max(noise, 1e-30))


def other_engine(model: ModelDirectory, prepared: Path, backend: Backend) -> WindowedEngine:
    return WindowedEngine(prepared, Voices(model.path), threads=2, backend=backend)


@needs_openvino
def test_openvino_speaks_like_the_cpu_and_decodes_every_planned_window(
    model: ModelDirectory, prepared: Path, engine: WindowedEngine
) -> None:
    other = other_engine(model, prepared, Backend.OPENVINO)
    assert other.backend is Backend.OPENVINO
    fixed = other._decoder._fixed
    assert fixed is not None
    calls = []

    def counted(**inputs: np.ndarray) -> list[np.ndarray]:
        calls.append(inputs["x"].shape)
        return fixed.generator(**inputs)

    other._decoder._fixed = FixedParts(fixed.backend, fixed.blocks, counted)
    # bf16 keeps 8 bits; phases drift, so that samples agree less than what is heard.
    least = 10 if openvino_parts.has_bf16() else 60
    assert agreement_db(speak(engine), speak(other)) >= least
    plan = other.plan(SENTENCE, "af_heart", 1.0)
    assert len(calls) == len(plan.windows)
    first = (plan, plan.windows[0])
    a, b = other.decode_batch([first, first])
    assert agreement_db(a, b) >= 80
    assert agreement_db(other.decode(*first), a) >= least


@needs_openvino
def test_nothing_is_compiled_after_the_warm_up(model: ModelDirectory, prepared: Path) -> None:
    other = other_engine(model, prepared, Backend.OPENVINO)
    other.warm()
    fixed = other._decoder._fixed
    assert fixed is not None
    parts = [p for p in (fixed.blocks, fixed.generator) if isinstance(p, OpenVinoPart)]
    assert len(parts) == 2
    compiled = [set(part._compiled) for part in parts]
    for length in (4, 9, 17, 25, 41):
        for ahead_s in (0.0, 9.0):  # a listener with much to play gets larger windows
            sentence = Phonemes(LONG[:length], (), "en-us")
            plan = other.plan(sentence, "af_heart", 1.0, ahead_s)
            for window in plan.windows:
                other.decode(plan, window)
    assert [set(part._compiled) for part in parts] == compiled


@needs_openvino
def test_importing_openvino_tells_nobody() -> None:
    code = (
        "import sys; from speakahead.kokoro import openvino_parts; openvino_parts.has_bf16(); "
        "assert 'openvino' in sys.modules; "
        "assert not any(name.startswith('openvino_telemetry.') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@needs_gpu
def test_cuda_speaks_like_the_cpu(
    model: ModelDirectory, prepared: Path, engine: WindowedEngine
) -> None:
    other = other_engine(model, prepared, Backend.CUDA)
    assert other.backend is Backend.CUDA
    # Convolutions may use TF32, which keeps 10 bits.
    assert agreement_db(speak(engine), speak(other)) >= 20
    plan = other.plan(SENTENCE, "af_heart", 1.0)
    window = plan.windows[0]
    a, b = other.decode_batch([(plan, window), (plan, window)])
    assert agreement_db(other.decode(plan, window), a) >= 40
    assert agreement_db(a, b) >= 40


@pytest.mark.skipif(
    "CUDAExecutionProvider" in ort.get_available_providers(), reason="there may be a GPU here"
)
def test_without_a_gpu_the_cpu_speaks_and_the_log_tells(
    model: ModelDirectory,
    prepared: Path,
    engine: WindowedEngine,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        other = other_engine(model, prepared, Backend.CUDA)
    assert other.backend is Backend.CPU
    assert "onnxruntime-gpu" in caplog.text
    plan = other.plan(SENTENCE, "af_heart", 1.0)
    window = Window(0, 3000)
    assert (other.decode(plan, window) == engine.decode(plan, window)).all()


@pytest.fixture(scope="module")
def parts(prepared: Path) -> Parts:
    return Parts(prepared, threads=1)


def stand_in(seconds: float) -> FixedParts:
    """A backend whose window takes so long."""

    def generator(**_: np.ndarray) -> list[np.ndarray]:
        clock[0] += seconds
        return []

    clock = stand_in.clock
    return FixedParts(Backend.OPENVINO, generator, generator)


stand_in.clock = [0.0]


@pytest.mark.parametrize(("seconds", "taken"), [(0.01, True), (0.5, False)])
def test_the_automatic_choice_is_the_faster_one(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, seconds: float, taken: bool
) -> None:
    monkeypatch.setattr(openvino_parts, "has_bf16", lambda: True)
    monkeypatch.setattr(openvino_parts, "load", lambda *_: stand_in(seconds))
    monkeypatch.setattr(parts, "generator", stand_in(0.1).generator)
    monkeypatch.setattr(runtimes.time, "perf_counter", lambda: stand_in.clock[0])
    found = runtimes.choose(Backend.AUTO, parts, Path(), threads=1)
    assert (found is not None) is taken


def test_without_bf16_nothing_is_tried(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino_parts, "has_bf16", lambda: False)
    monkeypatch.setattr(openvino_parts, "load", None)
    assert runtimes.choose(Backend.AUTO, parts, Path(), threads=1) is None


def test_a_backend_that_is_not_installed_is_told(
    parts: Parts, prepared: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(openvino_parts, "_core", lambda: None)
    assert not openvino_parts.has_bf16()
    with pytest.raises(BackendUnavailable, match="extra"):
        openvino_parts.load(prepared, threads=1)
    with caplog.at_level(logging.WARNING):
        assert runtimes.choose(Backend.OPENVINO, parts, prepared, threads=1) is None
    assert "openvino" in caplog.text


def test_a_backend_that_breaks_on_its_first_window_is_replaced(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**_: np.ndarray) -> list[np.ndarray]:
        raise RuntimeError("secret words")

    fixed = FixedParts(Backend.OPENVINO, broken, broken)
    monkeypatch.setattr(openvino_parts, "load", lambda *_: fixed)
    with caplog.at_level(logging.WARNING):
        assert runtimes.choose(Backend.OPENVINO, parts, Path(), threads=1) is None
    assert "fails on this machine" in caplog.text
    assert "secret" not in caplog.text
