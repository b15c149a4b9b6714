"""The windowed engine: any cut gives the same sound, nothing audible is lost, words are timed."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from speakahead.assets import ModelDirectory, Voices
from speakahead.audio.silence import sound_bounds
from speakahead.errors import InvalidRequest, SynthesisFailed, UnknownVoice
from speakahead.kokoro.calibration import Calibrations
from speakahead.kokoro.decoding import limit
from speakahead.kokoro.engine import Window, synthesize
from speakahead.kokoro.windowed import WindowedEngine
from speakahead.kokoro.windows import LARGEST_FIRST, SMALLEST_FIRST
from speakahead.text.phonemes import Phonemes, Word
from speakahead.text.spans import Span

SENTENCE = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ."
SHORT = ["jˈɛs.", "ɡ", "hˈI!"]


def phonemes(text: str) -> Phonemes:
    words, start = [], 0
    for number, word in enumerate(text.split(" ")):
        words.append(Word(f"word{number}", start, start + len(word), Span(start, start + 1)))
        start += len(word) + 1
    return Phonemes(text, tuple(words), "en-us")


def agreement_db(reference: np.ndarray, other: np.ndarray) -> float:
    noise = float(np.square(reference.astype(float) - other).sum())
    return 10 * np.log10(np.square(reference.astype(float)).sum() / max(noise, 1e-30))


def level_db(sound: np.ndarray) -> float:
    return float(20 * np.log10(sound.std()))


@pytest.mark.parametrize("text", [SENTENCE, *SHORT])
def test_any_cut_agrees_with_one_big_window(engine: WindowedEngine, text: str) -> None:
    plan = engine.plan(phonemes(text), "af_heart", 1.0)
    one = engine.decode(plan, Window(0, plan.samples))
    assert len(one) == plan.samples
    planned = np.concatenate([engine.decode(plan, window) for window in plan.windows])
    assert agreement_db(one, planned) >= 80
    rng = np.random.default_rng(len(text))
    cuts = sorted({0, plan.samples, *rng.integers(1, plan.samples, 4).tolist()})
    windows = [Window(a, b) for a, b in itertools.pairwise(cuts)]
    pieces = {window: engine.decode(plan, window) for window in reversed(windows)}
    assert agreement_db(one, np.concatenate([pieces[w] for w in windows])) >= 80


def test_windows_tile_the_utterance_and_the_first_is_small(engine: WindowedEngine) -> None:
    plan = engine.plan(phonemes(SENTENCE), "af_heart", 1.0)
    assert plan.windows[0].start == 0
    assert plan.windows[-1].end == plan.samples
    assert all(a.end == b.start for a, b in zip(plan.windows, plan.windows[1:], strict=False))
    assert plan.windows[0].end <= 0.3 * 24_000


def test_true_statistics_give_the_whole_utterance_back(engine: WindowedEngine) -> None:
    whole = engine.whole(phonemes(SENTENCE), "af_heart", 1.0)
    plan = engine.plan_measured(phonemes(SENTENCE), "af_heart", 1.0)
    sound = np.concatenate([engine.decode(plan, window) for window in plan.windows])
    assert agreement_db(whole, sound) >= 60


@pytest.mark.parametrize("voice", ["af_heart", "am_michael", "ff_siwis"])
@pytest.mark.parametrize("text", [SENTENCE, "jˈɛs.", "nˈO, θˈæŋks."])
def test_predicted_statistics_keep_the_level(engine: WindowedEngine, voice: str, text: str) -> None:
    whole = engine.whole(phonemes(text), voice, 1.0)
    sound = np.concatenate(list(synthesize(engine, phonemes(text), voice)))
    assert level_db(sound) == pytest.approx(level_db(whole), abs=3.0)


@pytest.mark.parametrize("text", ["ʃˈʊɹ.", "ˈɑ!", "sˈɪks", "mˈɑm wɪl.", "tˈɛn."])
@pytest.mark.parametrize("voice", ["af_heart", "am_michael"])
def test_no_sound_is_cut_and_little_silence_is_left(
    engine: WindowedEngine, voice: str, text: str
) -> None:
    plan = engine.plan(phonemes(text), voice, 1.0)
    prosody, audible = plan._prosody, plan._audible
    sound, _ = engine._decode_exactly(prosody)
    bounds = sound_bounds(sound, -50.0)
    assert bounds is not None
    start, end = audible.start * 300, audible.end * 300
    assert start <= bounds[0] - 300
    assert end >= bounds[1] + 300
    assert bounds[0] - start <= 0.15 * 24_000
    assert end - bounds[1] <= 0.3 * 24_000


def test_words_come_in_order_within_the_utterance(engine: WindowedEngine) -> None:
    plan = engine.plan(phonemes(SENTENCE), "af_heart", 1.0)
    assert [word.text for word in plan.words] == [f"word{n}" for n in range(9)]
    times = [(word.start_s, word.end_s) for word in plan.words]
    assert times[0][0] <= 0.05
    assert all(start < end for start, end in times)
    assert all(a[1] <= b[0] + 1e-9 for a, b in itertools.pairwise(times))
    assert times[-1][1] <= plan.samples / 24_000
    assert times[-1][1] >= 0.7 * plan.samples / 24_000


def test_faster_speech_is_shorter(engine: WindowedEngine) -> None:
    lengths = [engine.plan(phonemes(SENTENCE), "af_heart", s).samples for s in (0.5, 1.0, 2.0)]
    assert lengths[0] > 1.5 * lengths[1] > 2.0 * lengths[2]


def test_the_longest_input_works(engine: WindowedEngine) -> None:
    text = (SENTENCE[:-1] + ", ") * 20
    plan = engine.plan(Phonemes(text[:510], (), "en-us"), "af_heart", 1.0)
    assert plan.samples > 20 * 24_000
    middle = plan.windows[len(plan.windows) // 2]
    assert 0.005 < engine.decode(plan, middle).std() < 0.5
    with pytest.raises(SynthesisFailed):
        engine.plan(Phonemes(text[:511], (), "en-us"), "af_heart", 1.0)


def test_a_mix_is_decoded_in_windows(engine: WindowedEngine) -> None:
    mix = "af_heart:0.6+am_michael:0.4"
    assert engine.is_calibrated(mix)
    plan = engine.plan(phonemes(SENTENCE), mix, 1.0)
    assert len(plan.windows) > 2
    sound = np.concatenate([engine.decode(plan, window) for window in plan.windows])
    assert level_db(sound) == pytest.approx(
        level_db(engine.whole(phonemes(SENTENCE), mix, 1.0)), abs=3.0
    )


def test_unknown_voices_and_malformed_mixes_are_refused(engine: WindowedEngine) -> None:
    with pytest.raises(UnknownVoice):
        engine.plan(phonemes("ˈɑ"), "no_such_voice", 1.0)
    with pytest.raises(UnknownVoice):
        engine.plan(phonemes("ˈɑ"), "af_heart+no_such_voice", 1.0)
    with pytest.raises(InvalidRequest):
        engine.plan(phonemes("ˈɑ"), "af_heart:0", 1.0)


class NoCalibrations(Calibrations):
    """As if every voice were a user's own."""

    def _read(self, name: str) -> bytes | None:
        return None


def test_a_voice_without_calibration_is_decoded_whole_until_it_has_one(
    model: ModelDirectory, prepared: Path
) -> None:
    calibrations = NoCalibrations()
    fresh = WindowedEngine(prepared, Voices(model.path), calibrations=calibrations)
    plan = fresh.plan(phonemes(SENTENCE), "af_heart", 1.0)
    assert plan.windows == (Window(0, plan.samples),)
    whole = fresh.decode(plan, plan.windows[0])
    assert (whole == fresh.whole(phonemes(SENTENCE), "af_heart", 1.0)).all()
    packaged = Calibrations().load("af_heart")
    assert packaged is not None
    calibrations.add("af_heart", packaged)
    assert len(fresh.plan(phonemes(SENTENCE), "af_heart", 1.0).windows) > 2


def test_warming_up_chooses_sizes_and_keeps_the_sound(
    model: ModelDirectory, prepared: Path
) -> None:
    cold = WindowedEngine(prepared, Voices(model.path), threads=2)
    plan = cold.plan(phonemes("hˈI!"), "af_heart", 1.0)
    before = cold.decode(plan, Window(0, plan.samples))
    cold.warm()
    sizes = cold._pace.first_sizes
    assert SMALLEST_FIRST <= sizes[0] <= LARGEST_FIRST
    assert list(sizes) == sorted(sizes)
    plan = cold.plan(phonemes("hˈI!"), "af_heart", 1.0)
    after = np.concatenate([cold.decode(plan, window) for window in plan.windows])
    assert agreement_db(before, after) >= 80


def test_a_batch_is_its_windows_decoded_alone(engine: WindowedEngine) -> None:
    plans = [
        engine.plan(phonemes(text), voice, 1.0)
        for text, voice in ((SENTENCE, "af_heart"), (SENTENCE, "am_michael"), ("jˈɛs.", "bf_emma"))
    ]
    pairs = [(plan, window) for window in plans[0].windows[:3] for plan in plans[:2]]
    pairs.insert(1, (plans[2], plans[2].windows[0]))
    pairs.insert(3, (plans[0], Window(7, 7)))
    alone = [engine.decode(plan, window) for plan, window in pairs]
    shapes = []
    generator = engine._parts.generator

    def watched(**inputs: np.ndarray) -> list[np.ndarray]:
        shapes.append(inputs["x"].shape)
        return generator(**inputs)

    engine._parts.generator = watched
    try:
        batch = engine.decode_batch(pairs)
    finally:
        engine._parts.generator = generator
    assert max(shape[0] for shape in shapes) >= 2
    assert len(shapes) < len(pairs)
    for one, other in zip(alone, batch, strict=True):
        assert len(one) == len(other)
        assert not len(one) or agreement_db(one, other) >= 80


def test_an_empty_batch_is_empty(engine: WindowedEngine) -> None:
    assert engine.decode_batch([]) == []


def test_windows_outside_the_utterance_are_refused(engine: WindowedEngine) -> None:
    plan = engine.plan(phonemes("jˈɛs."), "af_heart", 1.0)
    assert engine.decode(plan, Window(10, 10)).shape == (0,)
    with pytest.raises(ValueError, match="within"):
        engine.decode(plan, Window(0, plan.samples + 1))


def test_the_limiter_bends_only_what_is_too_loud() -> None:
    quiet = np.linspace(-0.9, 0.9, 50, dtype=np.float32)
    assert (limit(quiet) == quiet).all()
    loud = limit(np.array([-300.0, -1.2, 0.95, 1.0, 2.0], np.float32))
    assert np.abs(loud).max() <= 1.0
    assert (np.diff(loud[2:]) > 0).all()
    assert loud[0] < loud[1] < 0
