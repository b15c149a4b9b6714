"""The quality benchmark: its inputs, its measures, and its report, on an engine made of tones."""

import json
import wave
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from speakahead.bench import quality
from speakahead.bench.inputs import BANDS, Input, inputs
from speakahead.bench.listening import (
    Listener,
    draw_spectrograms,
    has_click,
    level_difference,
    mel_distance,
)
from speakahead.errors import InvalidRequest
from speakahead.kokoro.engine import Window, WordTiming
from speakahead.kokoro.phrases import calibration_phrases
from speakahead.text.frontend import FrontEnd
from speakahead.text.phonemes import Phonemes

Floats = NDArray[np.float32]

RATE = 24_000


def speechlike(seconds: float, pitch: float = 120.0) -> Floats:
    """Pulses of a voice with noise, in syllables."""
    t = np.arange(round(seconds * RATE)) / RATE
    voice = sum(np.sin(2 * np.pi * pitch * k * t) / k for k in range(1, 30))
    noise = np.random.default_rng(7).normal(size=len(t))
    syllables = 0.55 - 0.45 * np.cos(2 * np.pi * 4 * t)
    return ((0.1 * voice + 0.005 * noise) * syllables).astype(np.float32)


@pytest.fixture(scope="module")
def listener() -> Listener:
    return Listener()


@pytest.fixture(scope="module")
def front_end() -> FrontEnd:
    return FrontEnd()


# --- inputs ---


def test_inputs_are_spread_over_lengths_and_voices() -> None:
    chosen = inputs()
    bands = Counter(each.band for each in chosen)
    assert len(chosen) >= 64
    assert set(bands) == set(BANDS)
    assert len(set(bands.values())) == 1
    voices = {each.voice for each in chosen}
    assert len(voices) >= 6
    assert {voice[0] for voice in voices} >= {"a", "b", "e"}
    assert {voice[1] for voice in voices} == {"f", "m"}
    english = {each.voice for each in chosen if each.is_english}
    for voice in english:
        assert {each.band for each in chosen if each.voice == voice} == set(BANDS)
    assert len({each.voice for each in chosen[:8]}) >= 4
    assert len({(each.text, each.voice) for each in chosen}) == len(chosen)


def test_every_input_is_in_its_band_and_new_to_the_calibration(front_end: FrontEnd) -> None:
    known = {phrase.phonemes.strip(".,!?“” ") for phrase in calibration_phrases()}
    for each in inputs():
        assert each.phonemes(front_end).text.strip(".,!?“” ") not in known, each.text


def test_an_input_outside_its_band_is_refused(front_end: FrontEnd) -> None:
    with pytest.raises(ValueError, match="band"):
        Input("This is much too long.", "af_heart", BANDS[0]).phonemes(front_end)


# --- measures ---


def with_step(samples: Floats, position: int) -> Floats:
    stepped = samples.copy()
    stepped[position:] += np.float32(0.15)
    return stepped


def with_click(samples: Floats, position: int) -> Floats:
    clicked = samples.copy()
    clicked[position] += np.float32(0.2)
    return clicked


@pytest.mark.parametrize("damage", [with_step, with_click])
@pytest.mark.parametrize("offset", [-2, 0, 2])
def test_a_step_or_click_at_a_join_is_flagged(
    damage: Callable[[Floats, int], Floats], offset: int
) -> None:
    sound = speechlike(1.0)
    for join in (5_000, 9_600, 14_411):
        damaged = damage(sound, join + offset)
        assert has_click(sound, damaged, join)
        assert not has_click(sound, damaged, join + 100), "it is elsewhere"


def test_clean_joins_are_not_flagged() -> None:
    sound = speechlike(1.0)
    other = (sound * np.float32(1.05)).astype(np.float32)
    other += np.random.default_rng(3).normal(size=len(sound)).astype(np.float32) * 5e-4
    assert not any(has_click(sound, other, join) for join in range(300, len(sound) - 300, 37))


def test_what_the_whole_has_too_is_not_flagged() -> None:
    sound = with_click(speechlike(1.0), 9_600)
    assert not has_click(sound, sound * np.float32(0.9), 9_600)


def test_joins_in_silence_and_at_the_edges_are_measured() -> None:
    sound = np.zeros(1_000, np.float32)
    assert not has_click(sound, sound, 500)
    assert not has_click(sound, sound, 0)
    assert not has_click(sound, sound, 999)
    assert has_click(sound, with_step(sound, 500), 500)


@pytest.mark.parametrize("change", [-6.0, -0.3, 0.0, 2.0])
def test_level_is_the_gain_of_the_loud_parts(change: float) -> None:
    sound = speechlike(1.0)
    other = sound * np.float32(10 ** (change / 20))
    assert level_difference(sound, other) == pytest.approx(change, abs=0.01)


def test_level_does_not_count_pauses() -> None:
    sound = np.concatenate([speechlike(1.0), np.zeros(RATE, np.float32)])
    other = sound.copy()
    other[RATE + 2_400 :] = 0.01
    assert level_difference(sound, other) == pytest.approx(0.0, abs=0.01)
    assert level_difference(np.zeros(RATE, np.float32), other) is None


def test_mel_distance_grows_with_the_change() -> None:
    sound = speechlike(0.6)
    near = mel_distance(sound, sound * np.float32(1.1))
    assert mel_distance(sound, sound) == 0
    assert near == pytest.approx(0.83, abs=0.1)
    assert mel_distance(sound, speechlike(0.6, pitch=150)) > 2 * near


def test_scores_are_those_of_the_package_and_repeatable(listener: Listener) -> None:
    import librosa
    from speechmos import dnsmos

    sound = speechlike(4.8)  # doubled once, to one piece
    clip = np.clip(librosa.resample(sound, orig_sr=RATE, target_sr=16_000), -1, 1)
    theirs = dnsmos.run(clip, 16_000)["p808_mos"]
    assert listener.p808(sound) == pytest.approx(theirs, abs=1e-3)
    short = sound[: RATE // 4]
    assert listener.plcmos(short) == listener.plcmos(short)
    assert 1 <= listener.plcmos(short) <= 5
    gaps = sound.copy()
    gaps.reshape(-1, 1_200)[::3] = 0
    assert listener.plcmos(gaps) < listener.plcmos(sound) - 0.3


def test_spectrograms_are_drawn(tmp_path: Path) -> None:
    target = tmp_path / "pair.png"
    assert draw_spectrograms(target, speechlike(0.3), np.zeros(7_200, np.float32), [3_600], "Yes.")
    assert target.read_bytes().startswith(b"\x89PNG")


# --- the run ---


@dataclass
class TonePlan:
    samples: int
    windows: tuple[Window, ...]
    sound: Floats
    words: tuple[WordTiming, ...] = ()


class ToneEngine:
    """The windowed version is the whole, with a gain and a step at each join."""

    def __init__(self, gain_db: float = 0.0, step: float = 0.0, calibrated: bool = True) -> None:
        self.gain = np.float32(10 ** (gain_db / 20))
        self.step = step
        self.calibrated = calibrated

    def is_calibrated(self, voice: str) -> bool:
        return self.calibrated

    def plan(self, phonemes: Phonemes, voice: str, speed: float) -> TonePlan:
        sound = self.whole(phonemes, voice, speed)
        cuts = range(0, len(sound), 5_000)
        windows = tuple(Window(start, min(start + 5_000, len(sound))) for start in cuts)
        return TonePlan(len(sound), windows, sound)

    def decode(self, plan: TonePlan, window: Window) -> Floats:
        shift = np.float32(self.step * (window.start // 5_000 % 2))
        return (plan.sound[window.start : window.end] * self.gain + shift).astype(np.float32)

    def whole(self, phonemes: Phonemes, voice: str, speed: float) -> Floats:
        return speechlike(0.3 + 0.01 * len(phonemes.text))


class Scribe:
    """Hears what it was told, in turn."""

    def __init__(self, *heard: str) -> None:
        self.heard = list(heard)

    def transcribe(self, samples: Floats) -> str:
        return self.heard.pop(0)


class Tastes:
    """Opinions that depend on the level only."""

    def p808(self, samples: Floats) -> float:
        return 4.0 + float(np.abs(samples).max())

    def plcmos(self, samples: Floats) -> float:
        return 4.0


def test_the_report_of_an_engine_without_fault(front_end: FrontEnd, listener: Listener) -> None:
    told: list[float] = []
    first, second = inputs()[:2]
    scribe = Scribe(second.text, second.text)  # the first is too short for words
    report = quality.run(
        ToneEngine(), front_end, scribe, limit=2, progress=told.append, listener=listener
    )
    result = json.loads(json.dumps(report.as_dict()))
    assert result["whole"].keys() >= {"wer", "p808", "plcmos"}
    assert result["windowed"] == result["whole"]
    assert (result["level_db"], result["joins_flagged"]) == (0, 0)
    assert (result["sentences"], result["voices"], result["identical"]) == (2, 2, 2)
    assert result["joins"] >= 2
    assert result["words"] == 2
    assert all(result["met"].values())
    assert list(result["by_band"]) == ["1-5", "6-15"]
    assert set(result["by_voice"]) == {first.voice, second.voice}
    assert [row["text"] for row in result["utterances"]] == [first.text, second.text]
    assert "word_errors" not in result["utterances"][0]["whole"]
    assert told[0] == 0
    assert told[-1] == 1
    assert told == sorted(told)
    assert report.table().endswith("All demands are met.")


def test_faults_show_in_the_report(front_end: FrontEnd, tmp_path: Path) -> None:
    second = inputs()[1]
    engine = ToneEngine(gain_db=-3, step=0.2)
    scribe = Scribe(second.text, "something else")
    report = quality.run(engine, front_end, scribe, limit=2, save=tmp_path, listener=Tastes())
    result = report.as_dict()
    assert result["whole"]["wer"] == 0
    assert result["windowed"]["wer"] == 1
    assert result["joins_flagged"] == result["joins"]
    assert result["identical"] == 0
    assert set(
        report.table().splitlines()[-1].removeprefix("Not met: ").strip(".").split(", ")
    ) == {name for name, holds in result["met"].items() if not holds}
    assert result["met"]["plcmos"]
    assert not result["met"]["wer"]
    assert not result["met"]["joins_flagged"]

    worst = json.loads((tmp_path / "worst.json").read_text("utf-8"))
    assert [row["name"] for row in worst] == ["01", "02"]
    assert worst[0]["mel_db"] >= worst[1]["mel_db"] > 0
    for row in worst:
        assert (tmp_path / f"{row['name']}.png").exists()
        with wave.open(str(tmp_path / f"{row['name']}-windowed.wav")) as windowed:
            frames = windowed.getnframes()
            assert windowed.getframerate() == RATE
        with wave.open(str(tmp_path / f"{row['name']}-whole.wav")) as whole:
            assert whole.getnframes() == frames


def test_a_quieter_engine_misses_the_level_only(front_end: FrontEnd) -> None:
    heard = [inputs()[1].text] * 2
    for change, met in ((-0.2, True), (-0.5, False), (0.5, False)):
        report = quality.run(
            ToneEngine(gain_db=change), front_end, Scribe(*heard), limit=2, listener=Tastes()
        )
        assert report.as_dict()["level_db"] == pytest.approx(change, abs=0.01)
        assert [name for name, holds in report.met().items() if not holds] == (
            [] if met else ["level_db"]
        )


def test_voices_without_calibration_are_refused(front_end: FrontEnd) -> None:
    with pytest.raises(InvalidRequest, match="calibrate"):
        quality.run(ToneEngine(calibrated=False), front_end, Scribe(), limit=1, listener=Tastes())


def test_a_limit_of_nothing_is_refused(front_end: FrontEnd) -> None:
    with pytest.raises(InvalidRequest, match="at least 1"):
        quality.run(ToneEngine(), front_end, Scribe(), limit=0, listener=Tastes())
