"""Sound of protocol 2: each binary frame has a header that says whose samples it holds.

All numbers of the header are unsigned and in network byte order; the samples are little-endian,
as sound devices take them. The header's length is a multiple of four, so that the samples are
aligned for readers that map them in place.

======  =====  ================================================================
offset  bytes  field
======  =====  ================================================================
0       2      magic: ``A5 53``
2       1      version of this layout: 2
3       1      format: 1 = s16le, 2 = f32le
4       4      number of the utterance, as in its ``utterance_start``
8       4      sequence: 0 for the utterance's first frame, then one more each
12      8      position of the first sample in the utterance, in samples
20      –      samples, mono, 24 kHz
======  =====  ================================================================

The first byte begins neither JSON nor any UTF-8 text (it is a continuation byte), so where a
transport does not tell text from binary frames, a frame that starts with the magic is sound and
every other one is text.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import from_s16le, to_f32le, to_s16le
from speakahead.errors import InvalidRequest
from speakahead.session.events import AudioFormat

MAGIC = b"\xa5S"
VERSION = 2

_HEADER = struct.Struct("!2sBBIIQ")
HEADER_BYTES = _HEADER.size

_CODES = {AudioFormat.S16LE: 1, AudioFormat.F32LE: 2}
_FORMATS = {code: audio_format for audio_format, code in _CODES.items()}
_WIDTHS = {AudioFormat.S16LE: 2, AudioFormat.F32LE: 4}


class InvalidFrame(InvalidRequest):
    """A binary frame that is not sound of protocol 2."""

    code = "invalid_frame"


@dataclass(frozen=True, slots=True)
class AudioFrame:
    """A piece of an utterance's sound.

    Attributes:
        format: how the samples are written.
        utterance: number of the utterance, 1 to 2**32 - 1.
        sequence: position of the frame in its utterance, from 0.
        offset: position of its first sample in the utterance.
        sound: the samples as bytes.
    """

    format: AudioFormat
    utterance: int
    sequence: int
    offset: int
    sound: bytes = field(repr=False)

    @property
    def samples(self) -> NDArray[np.float32]:
        """float32 [n] in [-1, 1] at 24 kHz."""
        if self.format is AudioFormat.F32LE:
            return np.frombuffer(self.sound, "<f4").astype(np.float32)
        return from_s16le(self.sound)


def is_audio(chunk: bytes) -> bool:
    """Whether a whole message is sound, not text, where the transport does not say so."""
    return chunk.startswith(MAGIC)


def encode_samples(samples: NDArray[np.float32], audio_format: AudioFormat) -> bytes:
    """Samples as bytes: float32 [n], clipped to [-1, 1]; not-a-number becomes silence."""
    return to_s16le(samples) if audio_format is AudioFormat.S16LE else to_f32le(samples)


def pack(frame: AudioFrame) -> bytes:
    """The binary frame of a piece of sound.

    Raises:
        InvalidFrame: the sound is not a whole number of samples.
    """
    _check_length(frame.sound, frame.format)
    header = _HEADER.pack(
        MAGIC, VERSION, _CODES[frame.format], frame.utterance, frame.sequence, frame.offset
    )
    return header + frame.sound


def unpack(chunk: bytes) -> AudioFrame:
    """The piece of sound in a binary frame.

    Raises:
        InvalidFrame: too short, not ours, of another version or format, or cut within a sample.
    """
    if len(chunk) < HEADER_BYTES:
        raise InvalidFrame(f"An audio frame has a header of {HEADER_BYTES} bytes.")
    magic, version, code, utterance, sequence, offset = _HEADER.unpack_from(chunk)
    if magic != MAGIC:
        raise InvalidFrame("The frame is not an audio frame of protocol 2.")
    if version != VERSION:
        raise InvalidFrame(f"The audio frame has version {version}; version {VERSION} is read.")
    audio_format = _FORMATS.get(code)
    if audio_format is None:
        raise InvalidFrame(f"The audio frame has the unknown format {code}.")
    sound = chunk[HEADER_BYTES:]
    _check_length(sound, audio_format)
    return AudioFrame(audio_format, utterance, sequence, offset, sound)


def _check_length(sound: bytes, audio_format: AudioFormat) -> None:
    if len(sound) % _WIDTHS[audio_format]:
        raise InvalidFrame("The audio frame is cut within a sample.")
