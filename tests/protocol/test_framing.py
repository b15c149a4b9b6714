import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.protocol.framing import (
    HEADER_BYTES,
    AudioFrame,
    InvalidFrame,
    encode_samples,
    is_audio,
    pack,
    unpack,
)
from speakahead.session.events import AudioFormat

S16LE, F32LE = AudioFormat.S16LE, AudioFormat.F32LE

frames = st.builds(
    lambda audio_format, utterance, sequence, offset, words: AudioFrame(
        audio_format, utterance, sequence, offset, words * (4 if audio_format is F32LE else 2)
    ),
    st.sampled_from(AudioFormat),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.binary(max_size=50),
)


def test_the_documented_bytes() -> None:
    packed = pack(AudioFrame(S16LE, 7, 3, 24_000, b"\x01\x02"))
    assert packed.hex(" ") == ("a5 53 02 01 00 00 00 07 00 00 00 03 00 00 00 00 00 00 5d c0 01 02")
    assert HEADER_BYTES == 20


@given(frames)
def test_a_frame_survives(frame: AudioFrame) -> None:
    packed = pack(frame)
    assert unpack(packed) == frame
    assert is_audio(packed)
    with pytest.raises(UnicodeDecodeError):
        packed.decode()


@given(st.text())
def test_no_text_is_taken_for_sound(text: str) -> None:
    assert not is_audio(text.encode())


@given(st.binary(max_size=60))
def test_any_bytes_are_a_frame_or_a_typed_error(chunk: bytes) -> None:
    try:
        repacked = pack(unpack(chunk))
    except InvalidFrame:
        return
    assert repacked == chunk


GOOD = pack(AudioFrame(S16LE, 1, 0, 0, b"\0\0"))


@pytest.mark.parametrize(
    ("chunk", "why"),
    [
        (b"", "header"),
        (GOOD[:19], "header"),
        (b"{}" + GOOD[2:], "not an audio frame"),
        (GOOD[:2] + b"\x03" + GOOD[3:], "version 3"),
        (GOOD[:3] + b"\x09" + GOOD[4:], "format 9"),
        (GOOD[:-1], "within a sample"),
        (pack(AudioFrame(F32LE, 1, 0, 0, b"\0" * 4)) + b"\0\0", "within a sample"),
    ],
)
def test_what_is_wrong_with_a_frame(chunk: bytes, why: str) -> None:
    with pytest.raises(InvalidFrame, match=why):
        unpack(chunk)


def test_half_a_sample_is_not_sent() -> None:
    with pytest.raises(InvalidFrame):
        pack(AudioFrame(S16LE, 1, 0, 0, b"\0"))


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_samples_there_and_back(audio_format: AudioFormat) -> None:
    samples = np.array([0.0, 0.5, -1.0, 1.0, 3.0, -3.0, np.nan], np.float32)
    frame = AudioFrame(audio_format, 1, 0, 0, encode_samples(samples, audio_format))
    expected = [0.0, 0.5, -1.0, 1.0, 1.0, -1.0, 0.0]
    assert frame.samples == pytest.approx(expected, abs=1e-4)
    assert frame.samples.dtype == np.float32
