"""What an ear would notice between two versions of one utterance, in numbers and as a picture.

Needs the ``bench`` extra. Samples are float32 [n] at 24 kHz throughout; a *reference* is the
version that a measure compares with, and has the same length.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import ModelNotFound

Floats = NDArray[np.float32]

_MOS_RATE = 16_000
_P808_SAMPLES = round(9.01 * _MOS_RATE)  # what the network takes
_PLCMOS_SAMPLES = 3 * _MOS_RATE  # it takes any length, but was trained on sentences
_SEED = 20240229

_LEVEL_FRAME = SAMPLE_RATE // 50
_VOICED_WITHIN_DB = 20.0  # of the loud frames; obstruents and pauses are weaker
_SILENT = 1e-3

_NEAR = 3  # samples
_AROUND = SAMPLE_RATE // 100
_INAUDIBLE = 1e-4  # of full scale: 1 LSB of 14 bits, so that silence has no clicks
_CLICK = 1.5  # times the rest of the surroundings
_CLICK_MARGIN = 1.5  # times what the reference has there

_MEL_BANDS = 80
_MEL_RANGE_DB = 60.0


class Listener:
    """Predicted opinion scores: DNSMOS P.808 and PLCMOS v2, as the package ``speechmos`` has them.

    Both networks judge one clip without seeing the other. They come with the package.
    """

    def __init__(self) -> None:
        """Load the networks.

        Raises:
            ModelNotFound: the ``bench`` extra is not installed.
        """
        if any(importlib.util.find_spec(name) is None for name in ("speechmos", "librosa")):
            raise ModelNotFound("The listening scores need the extra `bench`: speakahead[bench].")
        import onnxruntime as ort
        from speechmos import dnsmos, plcmos

        options = ort.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        model = Path(dnsmos.__file__).parent / "dnsmos_models" / "model_v8.onnx"
        self._p808: Any = ort.InferenceSession(str(model), options)
        self._p808_features: Any = dnsmos.DNSMOS.audio_melspec
        self._plcmos: Any = plcmos.PLCMOS()

    def p808(self, samples: Floats) -> float:
        """Overall quality on the scale of ITU-T P.808, 1 to 5.

        The same number as ``speechmos.dnsmos.run`` returns as ``p808_mos``: a clip below 9.01 s is
        doubled until it is long enough, and the scores of all 9.01 s pieces, a second apart, are
        averaged. Its other network, which takes ten times as long, is left out.
        """
        clip = _to_16_khz(samples)
        while len(clip) < _P808_SAMPLES:
            clip = np.append(clip, clip)
        # The last second's rounding is the package's.
        pieces = int(np.floor(len(clip) / _MOS_RATE) - _P808_SAMPLES / _MOS_RATE) + 1
        scores = []
        for start in range(0, pieces * _MOS_RATE, _MOS_RATE):
            piece = clip[start : start + _P808_SAMPLES]
            if len(piece) == _P808_SAMPLES:
                # The method does not use its object, which would load the other network.
                features = self._p808_features(None, audio=piece[:-160]).astype(np.float32)
                scores.append(self._p808.run(None, {"input_1": features[None]})[0].item())
        return float(np.mean(scores))

    def plcmos(self, samples: Floats) -> float:
        """How free the clip is of gaps and patches as after packet loss, 1 to 5.

        A clip below 3 s is repeated. The network takes the taste of a rater as an input, for which
        the package draws random numbers: they are the same for every clip here.
        """
        clip = _to_16_khz(samples)
        clip = np.tile(clip, -(-_PLCMOS_SAMPLES // len(clip)))
        state = np.random.get_state()
        np.random.seed(_SEED)
        try:
            return float(self._plcmos(clip)["plcmos"])
        finally:
            np.random.set_state(state)


def level_difference(reference: Floats, samples: Floats) -> float | None:
    """How much louder ``samples`` are, in dB of RMS over the voiced parts.

    Voiced are the 20 ms frames of the reference whose RMS is at most 20 dB below that of its loud
    frames (the 95th percentile). None where the reference is silent.
    """
    before, after = _frame_power(reference), _frame_power(samples)
    if len(before) == 0:
        return None
    loud = float(np.percentile(before, 95))
    if loud < _SILENT**2:
        return None
    voiced = before >= loud * 10 ** (-_VOICED_WITHIN_DB / 10)
    ratio = max(float(after[voiced].mean()), 1e-12) / float(before[voiced].mean())
    return float(10 * np.log10(ratio))


def roughness(samples: Floats, position: int) -> float:
    """How much a click at ``position`` would stand out: about 1 for none, 3 and more for one.

    The peak of the second difference within 3 samples of the position, against its 99th percentile
    in the 10 ms to both sides. A step or a kink is short and wide-band, and so stands out from
    speech in the second difference. Sound that is too weak to hear counts as smooth.
    """
    start = max(0, position - _AROUND)
    bend = np.abs(np.diff(samples[start : position + _AROUND], 2))
    # Entry k is about sample start + k + 1.
    centre = position - start - 1
    near = slice(max(0, centre - _NEAR), centre + _NEAR + 1)
    rest = np.delete(bend, near)
    if len(rest) == 0 or len(bend[near]) == 0:
        return 0.0
    return float(bend[near].max() / (np.percentile(rest, 99) + _INAUDIBLE))


def has_click(reference: Floats, samples: Floats, position: int) -> bool:
    """Whether ``samples`` have a click at ``position`` that the reference has not.

    Speech itself is rough at each pulse of the voice; where one coincides with the position, the
    reference is as rough. The thresholds are strict, because a benchmark looks at hundreds of
    joins: of random positions in speech without clicks 0.04 % were flagged, and a step of 5 % of
    full scale was found at 42 % of them.
    """
    rough = roughness(samples, position)
    return rough > max(_CLICK, _CLICK_MARGIN * roughness(reference, position))


def mel_distance(reference: Floats, samples: Floats) -> float:
    """Mean difference of the log-mel spectra in dB.

    80 bands, frames of 25 ms every 10 ms; each version is floored 60 dB below the reference's
    peak, and frames where both are below it do not count. 0 for equal versions.
    """
    import librosa

    spectra = [
        librosa.feature.melspectrogram(
            y=version,
            sr=SAMPLE_RATE,
            n_fft=1024,
            win_length=SAMPLE_RATE // 40,
            hop_length=SAMPLE_RATE // 100,
            n_mels=_MEL_BANDS,
        )
        for version in (reference, samples)
    ]
    floor = max(float(spectra[0].max()) * 10 ** (-_MEL_RANGE_DB / 10), 1e-10)
    before, after = (10 * np.log10(np.maximum(spectrum, floor)) for spectrum in spectra)
    audible = (np.maximum(*spectra) > floor).any(axis=0)
    return float(np.abs(before - after)[:, audible].mean()) if audible.any() else 0.0


def draw_spectrograms(
    path: Path, reference: Floats, samples: Floats, joins: Sequence[int], title: str
) -> bool:
    """A PNG at ``path``: the reference above, ``samples`` with ticks at their joins below.

    Returns whether it was drawn: not without the package matplotlib.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return False
    from matplotlib.figure import Figure

    seconds = len(reference) / SAMPLE_RATE
    dither = np.random.default_rng(_SEED).normal(0, 1e-6, len(reference))  # silence has no log
    figure = Figure(figsize=(min(24.0, 4 + 3 * seconds), 8), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, sharey=True)
    for axes, version, label in ((upper, reference, "whole"), (lower, samples, "windowed")):
        axes.specgram(
            version + dither,
            NFFT=512,
            noverlap=384,
            Fs=SAMPLE_RATE,
            vmin=-140,
            vmax=-40,
            cmap="magma",
        )
        axes.set_ylabel(f"{label}, Hz")
    for join in joins:
        lower.axvline(join / SAMPLE_RATE, ymin=0.94, color="white", linewidth=1)
    upper.set_title(title)
    lower.set_xlabel("s")
    figure.savefig(path)
    return True


def _frame_power(samples: Floats) -> NDArray[np.float64]:
    count = len(samples) // _LEVEL_FRAME
    frames = samples[: count * _LEVEL_FRAME].reshape(count, _LEVEL_FRAME).astype(np.float64)
    power: NDArray[np.float64] = (frames * frames).mean(axis=1)
    return power


def _to_16_khz(samples: Floats) -> Floats:
    import librosa

    clip: Floats = librosa.resample(samples, orig_sr=SAMPLE_RATE, target_sr=_MOS_RATE)
    return np.clip(clip, np.float32(-1), np.float32(1))
