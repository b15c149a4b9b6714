import io
import wave

import numpy as np
import pytest

from speakahead.audio import wav
from speakahead.audio.pcm import SAMPLE_RATE, silence, to_s16le
from speakahead.audio.silence import sound_bounds, trimmed_range


def s16(samples: list[float]) -> list[int]:
    return np.frombuffer(to_s16le(np.array(samples, np.float32)), "<i2").tolist()


def test_pcm_clips_instead_of_wrapping_round() -> None:
    assert s16([0.0, 1.0, -1.0, 1.3, -1.3, 40.0]) == [0, 32767, -32767, 32767, -32767, 32767]


def test_pcm_of_what_is_no_number() -> None:
    assert s16([float("nan"), float("inf"), float("-inf")]) == [0, 32767, -32767]


def test_wav_header_with_a_known_length_is_read_by_the_standard_library() -> None:
    sound = to_s16le(np.linspace(-1, 1, 2400, dtype=np.float32))
    with wave.open(io.BytesIO(wav.header(len(sound)) + sound)) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 24000)
        assert file.readframes(10_000) == sound


def test_wav_header_of_a_stream_has_open_sizes() -> None:
    head = wav.header()
    assert len(head) == 44
    assert head[4:8] == head[40:44] == b"\xff\xff\xff\xff"


@pytest.mark.parametrize("level", [0.002, 0.5])
def test_sound_bounds_find_a_tone(level: float) -> None:
    tone = level * np.sin(np.arange(4800, dtype=np.float32))
    first, last = sound_bounds(np.concatenate([silence(0.3), tone, silence(0.4)])) or (0, 0)
    assert first == pytest.approx(7200, abs=120)
    assert last == pytest.approx(12000, abs=120)


def test_trimming_keeps_the_margins_and_all_sound() -> None:
    tone = np.full(4801, 0.25, np.float32)
    audio = np.concatenate([silence(0.3), tone, silence(0.4)])
    start, end = trimmed_range(audio, head_s=0.05, tail_s=0.06)
    assert start == pytest.approx(7200 - 1200, abs=120)
    assert end == pytest.approx(12001 + 1440, abs=120)
    assert np.count_nonzero(audio[start:end]) == 4801


def test_trimming_of_nothing_but_silence_keeps_nothing() -> None:
    assert trimmed_range(silence(1.0)) == (0, 0)
    assert trimmed_range(np.zeros(0, np.float32)) == (0, 0)


def test_trimming_never_reaches_beyond_the_ends() -> None:
    audio = np.full(100, 0.5, np.float32)
    assert trimmed_range(audio) == (0, 100)


def test_silence_lasts_as_long_as_asked() -> None:
    assert len(silence(0.25)) == 0.25 * SAMPLE_RATE
