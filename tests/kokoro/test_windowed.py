"""The windowed engine: any cut gives the same sound, nothing audible is lost, words are timed."""

import itertools
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from speakahead.assets import ModelDirectory, Voices
from speakahead.audio.silence import sound_bounds
from speakahead.errors import InvalidRequest, SynthesisFailed, UnknownVoice
from speakahead.kokoro.calibration import Calibrations
from speakahead.kokoro.decoding import Floats, WindowedPlan, faded, limit
from speakahead.kokoro.engine import Window, synthesize
from speakahead.kokoro.source import SAMPLES_PER_UNIT
from speakahead.kokoro.windowed import WindowedEngine
from speakahead.kokoro.windows import (
    LARGEST_FIRST,
    SMALLEST,
    SMALLEST_FIRST,
    Layout,
    Range,
    plan_windows,
)
from speakahead.text.phonemes import Phonemes, Word
from speakahead.text.spans import Span

SENTENCE = "ðə kwˈɪk bɹˈWn fˈɑks ʤˈʌmps ˈOvəɹ ðə lˈAzi dˈɔɡ."
SHORT = ["ɡ", "hˈI!"]


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


def all_at_once(engine: WindowedEngine, plan: WindowedPlan) -> np.ndarray:
    """A plan's sound from one window and one chunk of everything that the model makes.

    There is nothing beyond these, so that no context is cut.
    """
    units, frames = plan._prosody.units, plan._prosody.frames
    everything = Range(0, units)
    layout = Layout(units, (everything,), (Range(0, frames),))
    (sound,) = engine._decoder.decode([(replace(plan, layout=layout, _chunks={}), everything)])
    start = plan._audible.start * SAMPLES_PER_UNIT
    audible = limit(sound[start : start + plan.samples])
    return faded(audible, Window(0, plan.samples), plan.samples)


def worst_agreement_db(reference: np.ndarray, other: np.ndarray) -> float:
    """That of the 12.5 ms that agree least, against the level of all: never above the usual."""
    noise = np.square(reference.astype(float) - other).reshape(-1, SAMPLES_PER_UNIT).mean(axis=1)
    return float(10 * np.log10(np.square(reference.astype(float)).mean() / max(noise.max(), 1e-30)))


@pytest.fixture(scope="module", params=[SENTENCE, *SHORT])
def spoken(engine: WindowedEngine, request: pytest.FixtureRequest) -> tuple[WindowedPlan, Floats]:
    """A plan, and its sound decoded all at once."""
    plan = engine.plan(phonemes(request.param), "af_heart", 1.0)
    return plan, all_at_once(engine, plan)


samples_from_an_end = st.lists(st.one_of(st.integers(1, 12), st.integers(1, 4000)), max_size=2)


# A cut that fails is clear enough as it is; to look for a simpler one would take minutes.
@settings(max_examples=4, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    st.lists(st.integers(1, 80), max_size=5),
    st.integers(SMALLEST, 100),
    samples_from_an_end,
    samples_from_an_end,
    st.lists(st.floats(0, 1), max_size=2),
    st.randoms(use_true_random=False),
)
@example([2, 14, 30], 34, [1, 3600], [1, 1800], [0.31, 0.5], Random(0))
def test_any_cut_agrees_with_one_big_window(
    engine: WindowedEngine,
    spoken: tuple[WindowedPlan, Floats],
    first_sizes: list[int],
    later_size: int,
    from_start: list[int],
    from_end: list[int],
    shares: list[float],
    order: Random,
) -> None:
    plan, reference = spoken
    units, length = plan._prosody.units, plan.samples
    layout = plan_windows(units, plan._audible, first_sizes, later_size)
    fresh = replace(plan, layout=layout, _chunks={})
    cuts = {*from_start, *(length - n for n in from_end), *(int(length * x) for x in shares)}
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < length), length]
    windows = [Window(a, b) for a, b in itertools.pairwise(edges)]
    shuffled = order.sample(windows, len(windows))
    sounds = {window: engine.decode(fresh, window) for window in shuffled}
    sound = np.concatenate([sounds[window] for window in windows])
    assert worst_agreement_db(reference, sound) >= 80


def test_the_planned_windows_agree_with_one_big_window(
    engine: WindowedEngine, spoken: tuple[WindowedPlan, Floats]
) -> None:
    plan, reference = spoken
    sound = np.concatenate([engine.decode(plan, window) for window in plan.windows])
    assert worst_agreement_db(reference, sound) >= 80


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
