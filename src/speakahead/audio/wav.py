"""The RIFF/WAVE header (mono, 16-bit PCM)."""

from __future__ import annotations

import struct

from speakahead.audio.pcm import SAMPLE_RATE

_UNKNOWN_SIZE = 0xFFFFFFFF


def header(data_bytes: int | None = None, sample_rate: int = SAMPLE_RATE) -> bytes:
    """A 44-byte header for mono s16le.

    Args:
        data_bytes: length of the sound in bytes. None for a stream whose length is not known
            yet: both sizes are then 0xFFFFFFFF, which players take as "until the end".
        sample_rate: in Hz.
    """
    data = _UNKNOWN_SIZE if data_bytes is None else data_bytes
    riff = _UNKNOWN_SIZE if data_bytes is None else 36 + data_bytes
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        riff,
        b"WAVE",
        b"fmt ",
        16,  # size of the format chunk
        1,  # integer PCM
        1,  # channels
        sample_rate,
        sample_rate * 2,  # bytes a second
        2,  # bytes a frame
        16,  # bits a sample
        b"data",
        data,
    )
