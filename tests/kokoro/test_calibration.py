"""Features, the linear model, its compact form, and mixes."""

from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.errors import InvalidRequest, ModelCorrupt
from speakahead.kokoro.calibration import (
    Calibrations,
    Moments,
    VoiceModel,
    blend,
    features,
    fit,
    moments,
)
from speakahead.kokoro.classes import SoundClass, class_weights, token_classes
from speakahead.kokoro.mixing import parse_mix
from speakahead.kokoro.phrases import calibration_phrases
from speakahead.kokoro.vocabulary import SYMBOLS, tokens

CHANNELS = 7


def classes_of(phonemes: str) -> list[SoundClass]:
    return [SoundClass(c) for c in token_classes(tokens(phonemes)[0])]


def test_marks_take_the_class_of_the_sound_they_belong_to() -> None:
    assert classes_of("sˈiːt") == [
        SoundClass.HEAD,
        SoundClass.FRICATIVE,
        SoundClass.VOWEL,
        SoundClass.VOWEL,
        SoundClass.VOWEL,
        SoundClass.STOP,
        SoundClass.TAIL,
    ]


@given(st.text(st.sampled_from(sorted(SYMBOLS)), min_size=1, max_size=30))
def test_every_symbol_has_a_class(phonemes: str) -> None:
    classes = token_classes(tokens(phonemes)[0])
    assert classes.min() >= 0
    assert classes.max() < len(SoundClass)


def test_each_frame_has_one_class_for_its_tokens_duration() -> None:
    ids = tokens("no, ˈI")[0]
    durations = np.arange(1, len(ids) + 1)
    weights = class_weights(ids, durations)
    assert weights.shape == (1, len(SoundClass), durations.sum())
    assert (weights.sum(axis=1) == 1).all()
    assert weights[0, SoundClass.PAUSE].sum() == durations[3]


def test_features_are_shares() -> None:
    ids = tokens("s.")[0]
    f0 = np.array([0.0] * 30 + [120.0] * 10)
    found = features(ids, np.array([5, 10, 3, 2]), f0)
    assert found == pytest.approx([10 / 20, 10 / 20, 0.25, 10 / 20])


def synthetic(rng: np.random.Generator, count: int) -> tuple[list, list, list]:
    """Utterances whose moments are exactly linear in their features."""
    inputs = [
        np.array([*rng.uniform(0.1, 0.4, 2), rng.uniform(0.3, 0.8), rng.uniform(0.04, 0.2)])
        for _ in range(count)
    ]
    slope = rng.normal(size=(4, CHANNELS)) * 0.2
    base = rng.normal(size=CHANNELS) * 3
    means = [(base + x @ slope).astype(np.float32) for x in inputs]
    squares = [(m * m + 4 + x[0]).astype(np.float32) for m, x in zip(means, inputs, strict=True)]
    return inputs, means, squares


def test_a_fit_predicts_utterances_that_it_has_not_seen() -> None:
    inputs, means, squares = synthetic(np.random.default_rng(1), 60)
    model = fit(inputs[:40], means[:40], squares[:40])
    for x, mean, square in zip(inputs[40:], means[40:], squares[40:], strict=True):
        predicted, true = model.predict(x), moments(mean, square)
        assert np.abs(predicted.mean - true.mean).max() < 0.1 * true.deviation.min()
        assert predicted.deviation == pytest.approx(true.deviation, rel=0.03)


def test_the_prediction_is_better_than_the_mean_of_all() -> None:
    inputs, means, squares = synthetic(np.random.default_rng(2), 60)
    model = fit(inputs[:40], means[:40], squares[:40])
    average = np.mean(means[:40], axis=0)
    errors = [
        (np.abs(model.predict(x).mean - m).mean(), np.abs(average - m).mean())
        for x, m in zip(inputs[40:], means[40:], strict=True)
    ]
    predicted, constant = np.mean(errors, axis=0)
    assert predicted < constant / 2


def test_a_prediction_far_outside_the_calibration_stays_finite_and_positive() -> None:
    inputs, means, squares = synthetic(np.random.default_rng(3), 20)
    far = fit(inputs, means, squares).predict(np.array([5.0, -3.0, 9.0, 40.0]))
    assert np.isfinite(far.mean).all()
    assert (far.deviation > 0).all()


def test_channels_that_never_move_do_no_harm() -> None:
    inputs, means, _squares = synthetic(np.random.default_rng(4), 20)
    still = [np.zeros(CHANNELS, np.float32)] * len(means)
    model = fit(inputs, still, still)
    assert np.isfinite(model.predict(inputs[0]).deviation).all()
    assert np.abs(model.predict(inputs[0]).mean).max() < 1e-6


def test_nothing_to_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        fit([], [], [])


def test_the_compact_form_keeps_the_predictions() -> None:
    inputs, means, squares = synthetic(np.random.default_rng(5), 40)
    model = fit(inputs, means, squares)
    again = VoiceModel.parse(model.dump())
    for x in inputs:
        a, b = model.predict(x), again.predict(x)
        assert np.abs(a.mean - b.mean).max() < 0.03 * a.deviation.min()
        assert b.deviation == pytest.approx(a.deviation, rel=0.03)


@pytest.mark.parametrize("data", [b"", b"PK", b"\x93NUMPY nonsense", b"x" * 1000])
def test_damaged_models_are_told(data: bytes) -> None:
    with pytest.raises(ModelCorrupt):
        VoiceModel.parse(data)


def test_a_blend_mixes_means_and_deviations() -> None:
    a = Moments(np.array([1.0], np.float32), np.array([2.0], np.float32))
    b = Moments(np.array([3.0], np.float32), np.array([4.0], np.float32))
    mixed = blend([(0.25, a), (0.75, b)])
    assert mixed.mean == pytest.approx([2.5])
    assert mixed.deviation == pytest.approx([3.5])


def test_own_models_are_kept_and_found_again(tmp_path) -> None:
    inputs, means, squares = synthetic(np.random.default_rng(6), 20)
    model = fit(inputs, means, squares)
    folder = tmp_path / "calibration"
    assert Calibrations(folder).load("my_voice") is None
    Calibrations(folder).add("my_voice", model)
    found = Calibrations(folder).load("my_voice")
    assert found is not None
    assert found.mean == pytest.approx(model.mean, rel=1e-3, abs=1e-3)


def test_the_package_ships_compact_models() -> None:
    files = list(resources.files("speakahead.kokoro").joinpath("data").iterdir())
    sizes = [len(f.read_bytes()) for f in files]
    assert len([f for f in files if f.name.endswith(".npz")]) == 54
    assert max(sizes) < 1_000_000
    assert sum(sizes) < 12_000_000
    for file in files:
        if file.name.endswith(".npz"):
            model = VoiceModel.parse(file.read_bytes())
            assert np.isfinite(model.slopes).all()
            assert (model.deviation > 0).all()


def test_phrases_are_of_every_length() -> None:
    lengths = sorted(len(phrase.phonemes) for phrase in calibration_phrases())
    assert lengths[0] <= 5
    assert lengths[-1] >= 90
    for phrase in calibration_phrases():
        tokens(phrase.phonemes)  # raises for a symbol that the model does not have


def test_mixes_are_normalised() -> None:
    assert parse_mix("af_heart") == (("af_heart", 1.0),)
    assert parse_mix("a:3+b") == (("a", 0.75), ("b", 0.25))
    assert parse_mix(" a:1 + a:1 ") == (("a", 1.0),)


@pytest.mark.parametrize(
    "mix", ["a+", "+a", "a:0+b", "a:-1+b", "a:x+b", "a:nan+b", "a:inf", ":1", "a+b+c+d+e"]
)
def test_malformed_mixes_are_refused(mix: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_mix(mix)
