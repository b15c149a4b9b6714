"""Background calibration: only while idle, stoppable, and never twice."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from speakahead.assets import ModelDirectory, Voices
from speakahead.errors import SynthesisFailed
from speakahead.kokoro import windowed
from speakahead.kokoro.background import BackgroundCalibrator
from speakahead.kokoro.calibration import Calibrations
from speakahead.kokoro.phrases import Phrase
from speakahead.kokoro.windowed import WindowedEngine
from speakahead.text.phonemes import Phonemes

PHRASES = 5


class FakeEngine:
    """Calibrates in phrases that take no time; some voices fail."""

    def __init__(self, errors: dict[str, Exception] | None = None) -> None:
        self.on_uncalibrated: Callable[[str], None] | None = None
        self.done: list[str] = []
        self.phrases = 0
        self.alone: list[bool] = []
        self.errors = errors or {}

    def calibrate(
        self, voice: str, progress: Callable[[float], None] | None = None, *, alone: bool = False
    ) -> object:
        assert progress is not None
        self.alone.append(alone)
        for number in range(PHRASES):
            progress(number / PHRASES)
            self.phrases += 1
            if voice in self.errors:
                raise self.errors[voice]
        self.done.append(voice)
        return None


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_voice_is_calibrated_once_in_a_thread_of_its_own() -> None:
    engine = FakeEngine()
    calibrator = BackgroundCalibrator(engine, lambda: True)
    assert engine.on_uncalibrated is not None
    for voice in ("mine", "mine", "yours", "mine"):
        engine.on_uncalibrated(voice)
    until(lambda: engine.done == ["mine", "yours"])
    assert engine.alone == [True, True]
    assert calibrator.stop(5)


def test_nothing_is_computed_while_the_engine_is_busy() -> None:
    engine = FakeEngine()
    idle = threading.Event()
    calibrator = BackgroundCalibrator(engine, idle.is_set, poll_s=0.01)
    calibrator.request("mine")
    time.sleep(0.1)
    assert engine.phrases == 0
    idle.set()
    until(lambda: engine.done == ["mine"])
    assert calibrator.stop(5)


def test_it_pauses_between_phrases_when_work_comes() -> None:
    engine = FakeEngine()
    calibrator = BackgroundCalibrator(engine, lambda: engine.phrases < 2, poll_s=0.01)
    calibrator.request("mine")
    until(lambda: engine.phrases == 2)
    time.sleep(0.1)
    assert engine.phrases == 2
    assert engine.done == []
    assert calibrator.stop(5)


def test_it_stops_between_phrases_and_takes_no_more() -> None:
    engine = FakeEngine()
    calibrator = BackgroundCalibrator(engine, lambda: False, poll_s=5)
    calibrator.request("mine")
    began = time.monotonic()
    assert calibrator.stop(5)
    assert time.monotonic() - began < 2
    calibrator.request("yours")
    assert engine.done == []


def test_without_requests_there_is_no_thread_to_stop() -> None:
    before = threading.active_count()
    calibrator = BackgroundCalibrator(FakeEngine(), lambda: True)
    assert threading.active_count() == before
    assert calibrator.stop()


@pytest.mark.parametrize("error", [SynthesisFailed("No."), OSError(), ValueError("secret")])
def test_a_voice_that_fails_does_not_keep_others_from_theirs(error: Exception) -> None:
    engine = FakeEngine({"broken": error})
    calibrator = BackgroundCalibrator(engine, lambda: True)
    calibrator.request("broken")
    calibrator.request("mine")
    calibrator.request("broken")
    until(lambda: engine.done == ["mine"])
    assert engine.alone == [True, True]
    assert calibrator.stop(5)


class NoPackagedCalibrations(Calibrations):
    """As if every voice were a user's own."""

    def _read(self, name: str) -> bytes | None:
        own = self._own / name if self._own is not None else None
        return own.read_bytes() if own is not None and own.exists() else None


def test_a_voice_in_use_gets_windows_and_a_file(
    model: ModelDirectory, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = tuple(Phrase(p, 1.0) for p in ("jˈɛs.", "nˈO, θˈæŋks.", "ˌI θˈɪŋk sˌO.", "hˈI!"))
    monkeypatch.setattr(windowed, "calibration_phrases", lambda: few)
    engine = WindowedEngine(
        prepared, Voices(model.path), calibrations=NoPackagedCalibrations(tmp_path)
    )
    calibrator = BackgroundCalibrator(engine, lambda: True)
    text = Phonemes("jˈɛs, ˌI wˈɪl bi ðˈɛɹ ˈɑn tˈaɪm.", (), "en-us")
    assert len(engine.plan(text, "af_heart", 1.0).windows) == 1
    until(lambda: engine.is_calibrated("af_heart"), 120)  # the lowest priority of all
    assert calibrator.stop(30)
    plan = engine.plan(text, "af_heart", 1.0)
    assert len(plan.windows) > 1
    assert np.isfinite(engine.decode(plan, plan.windows[0])).all()
    assert [file.name for file in tmp_path.iterdir()] == ["af_heart.npz"]
