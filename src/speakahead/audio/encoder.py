"""One stream of sound in one of the formats that players take.

An encoder lives as long as its stream: sentences are fed one after the other, so that there is no
header in the middle and nothing is padded or cut where they join.

::

    encoder = open_encoder("mp3")
    for samples in sentences:          # float32 at 24 kHz, in pieces of any size
        send(encoder.encode(samples))  # may be empty: a codec needs a whole frame
    send(encoder.finish())

The formats are in ``audio.formats``.

An MP3 stream cannot say how late it is, because the header for that has to hold the number of
frames. Its first frame, which has nothing but the encoder's delay, is therefore left out where the
delay is a frame or more (at rates below 32 kHz), and its decoder's own delay is all that remains.
MP3 ends with up to one frame of silence, and so does AAC in players that do not heed the length
of its last frame (FFmpeg); the others end with the last sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from speakahead.audio import wav
from speakahead.audio.codecs import FrameEncoder, Resampler, require_av
from speakahead.audio.formats import Format, choose
from speakahead.audio.g711 import to_alaw, to_mulaw
from speakahead.audio.mp4 import Mp4Writer
from speakahead.audio.ogg import OggWriter
from speakahead.audio.pcm import SAMPLE_RATE, to_f32le, to_s16le
from speakahead.audio.webm import WebmWriter
from speakahead.errors import IllegalTransition

Floats = NDArray[np.float32]

_OPUS_CLOCK = 48_000
_FRAMES_IN_FRAGMENT = 4


class Encoder:
    """One stream; see the module.

    Attributes:
        format: what it was opened with.
        sample_rate: of the sound that comes out, in Hz.
        bit_rate: in bit/s; None where the format has no choice.
        media_type: for ``Content-Type``.
        delay_s: silence before the first sample that a player cannot know of, in seconds.
        held_s: the most sound, in seconds, that can be inside: what was fed that far before the
            end of the input may not have left yet. Feeding as much silence drives it out, which
            is of use where a pause of unknown length follows.
    """

    def __init__(self, audio_format: Format, sample_rate: int, bit_rate: int | None) -> None:
        self.format = audio_format
        self.sample_rate = sample_rate
        self.bit_rate = bit_rate
        self.media_type = audio_format.media_type.format(rate=sample_rate)
        resampling = sample_rate != SAMPLE_RATE
        if audio_format.needs_extra or resampling:
            require_av()
        self._resampler = Resampler(sample_rate) if resampling else None
        self._stream = _STREAMS[audio_format.name](sample_rate, bit_rate)
        self._header = self._stream.header
        self._finished = False
        self.delay_s = self._stream.delay / sample_rate
        self.held_s = self._stream.held / sample_rate + (Resampler.held_s if resampling else 0.0)

    def encode(self, samples: Floats) -> bytes:
        """The next samples, float32 [n] at 24 kHz; n may be 0 and differ from call to call.

        Values outside [-1, 1] are clipped; not-a-number becomes silence. The first call returns
        the container's header too, even for no samples.

        Raises:
            IllegalTransition: the stream is finished.
        """
        if self._finished:
            raise IllegalTransition("The encoder's stream is finished; open another one.")
        bounded = np.clip(np.nan_to_num(samples, nan=0.0), -1.0, 1.0).astype(np.float32)
        if self._resampler is not None:
            bounded = self._resampler.feed(bounded)
        return self._headed(self._stream.feed(bounded))

    def finish(self) -> bytes:
        """All that is left; nothing when called again."""
        if self._finished:
            return b""
        self._finished = True
        rest = b""
        if self._resampler is not None:
            rest = self._stream.feed(self._resampler.finish())
        return self._headed(rest + self._stream.finish())

    def _headed(self, data: bytes) -> bytes:
        header, self._header = self._header, b""
        return header + data


def open_encoder(name: str, sample_rate: int | None = None, bit_rate: int | None = None) -> Encoder:
    """Begin a stream.

    Args:
        name: a key of ``audio.formats.FORMATS``.
        sample_rate: in Hz; the format's own by default.
        bit_rate: in bit/s; the format's own by default.

    Raises:
        UnknownFormat: there is no such format, or not with this sample rate or bit rate.
        FormatUnavailable: the extra ``formats`` is not installed, and is needed.
    """
    return Encoder(*choose(name, sample_rate, bit_rate))


class _Stream(ABC):
    """A codec with its container, at the rate that comes out.

    ``delay`` and ``held`` are those of :class:`Encoder`, in samples.
    """

    header = b""
    delay = 0
    held = 0

    @abstractmethod
    def feed(self, samples: Floats) -> bytes: ...

    def finish(self) -> bytes:
        return b""


class _Direct(_Stream):
    """Every sample by itself."""

    def __init__(self, convert: Callable[[Floats], bytes], header: bytes = b"") -> None:
        self._convert = convert
        self.header = header

    def feed(self, samples: Floats) -> bytes:
        return self._convert(samples)


class _Flac(_Stream):
    def __init__(self, sample_rate: int, bit_rate: int | None) -> None:
        frame = max(16, sample_rate // 50)
        self._codec = FrameEncoder("flac", sample_rate, None, {"frame_size": str(frame)})
        # STREAMINFO, the last metadata block; an unknown length and sum, which are zero, are valid.
        self.header = b"fLaC\x80" + len(self._codec.config).to_bytes(3) + self._codec.config
        self.held = self._codec.frame

    def feed(self, samples: Floats) -> bytes:
        return b"".join(self._codec.feed(samples))

    def finish(self) -> bytes:
        return b"".join(self._codec.finish(pad=False))


class _Mp3(_Stream):
    def __init__(self, sample_rate: int, bit_rate: int | None) -> None:
        # Without the reservoir a frame is complete by itself, and leaves earlier.
        self._codec = FrameEncoder("libmp3lame", sample_rate, bit_rate, {"reservoir": "0"})
        self._left_out, self.delay = divmod(self._codec.delay, self._codec.frame)
        self.held = self._codec.delay + 4 * self._codec.frame

    def feed(self, samples: Floats) -> bytes:
        return self._sent(self._codec.feed(samples))

    def finish(self) -> bytes:
        return self._sent(self._codec.finish())

    def _sent(self, frames: list[bytes]) -> bytes:
        left_out = min(self._left_out, len(frames))
        self._left_out -= left_out
        return b"".join(frames[left_out:])


class _Aac(_Stream):
    """The first fragment has the frame of priming and one of sound; the others four frames.

    A fragment costs a hundred bytes, as much as half a frame of speech.
    """

    def __init__(self, sample_rate: int, bit_rate: int | None) -> None:
        self._codec = FrameEncoder("aac", sample_rate, bit_rate, {})
        assert bit_rate is not None
        self._writer = Mp4Writer(self._codec.config, sample_rate, bit_rate, self._codec.delay)
        self.header = self._writer.header
        self.held = self._codec.delay + (_FRAMES_IN_FRAGMENT + 2) * self._codec.frame
        self._frames: list[bytes] = []
        self._position = 0

    def feed(self, samples: Floats) -> bytes:
        self._frames += self._codec.feed(samples)
        data = b""
        while len(self._frames) >= (size := _FRAMES_IN_FRAGMENT if self._position else 2):
            data += self._fragment(size)
        return data

    def finish(self) -> bytes:
        end = self._codec.delay + self._codec.samples
        self._frames += self._codec.finish()
        if not self._frames:
            return b""
        before_last = self._position + (len(self._frames) - 1) * self._codec.frame
        return self._fragment(len(self._frames), end - before_last)

    def _fragment(self, count: int, last_samples: int | None = None) -> bytes:
        frames, self._frames = self._frames[:count], self._frames[count:]
        start = self._position
        self._position += count * self._codec.frame
        return self._writer.fragment(frames, start, last_samples or self._codec.frame)


class _Opus(_Stream):
    """Counts in samples at 48 kHz, the clock of Opus in every container."""

    def __init__(self, sample_rate: int, bit_rate: int | None) -> None:
        options = {"application": "voip", "frame_duration": "20"}
        self._codec = FrameEncoder("libopus", sample_rate, bit_rate, options)
        self._scale = _OPUS_CLOCK // sample_rate
        self._frame = self._codec.frame * self._scale
        self._pre_skip = int.from_bytes(self._codec.config[10:12], "little")  # RFC 7845, 5.1
        self._position = 0
        self.held = self._codec.delay + self._codec.frame

    def feed(self, samples: Floats) -> bytes:
        return b"".join(self._written(packet) for packet in self._codec.feed(samples))

    def finish(self) -> bytes:
        total = self._codec.samples
        packets = self._codec.finish()
        if not packets:
            return b""
        data = b"".join(self._written(packet) for packet in packets[:-1])
        end = self._pre_skip + total * self._scale
        return data + self._last(packets[-1], end)

    def _written(self, packet: bytes) -> bytes:
        start = self._position
        self._position += self._frame
        return self._write(packet, start)

    @abstractmethod
    def _write(self, packet: bytes, start: int) -> bytes: ...

    @abstractmethod
    def _last(self, packet: bytes, end: int) -> bytes: ...


class _OpusInOgg(_Opus):
    def __init__(self, sample_rate: int, bit_rate: int | None) -> None:
        super().__init__(sample_rate, bit_rate)
        self._writer = OggWriter(self._codec.config)
        self.header = self._writer.header

    def _write(self, packet: bytes, start: int) -> bytes:
        return self._writer.write(packet, start + self._frame)

    def _last(self, packet: bytes, end: int) -> bytes:
        return self._writer.write(packet, end, last=True)


class _OpusInWebm(_Opus):
    def __init__(self, sample_rate: int, bit_rate: int | None) -> None:
        super().__init__(sample_rate, bit_rate)
        self._writer = WebmWriter(self._codec.config, self._pre_skip)
        self.header = self._writer.header

    def _write(self, packet: bytes, start: int) -> bytes:
        return self._writer.write(packet, start)

    def _last(self, packet: bytes, end: int) -> bytes:
        start = self._position
        return self._writer.write(packet, start, discard=start + self._frame - end)


_STREAMS: dict[str, Callable[[int, int | None], _Stream]] = {
    "pcm": lambda rate, _: _Direct(to_s16le),
    "pcm_f32le": lambda rate, _: _Direct(to_f32le),
    "wav": lambda rate, _: _Direct(to_s16le, wav.header(sample_rate=rate)),
    "mulaw": lambda rate, _: _Direct(to_mulaw),
    "alaw": lambda rate, _: _Direct(to_alaw),
    "flac": _Flac,
    "mp3": _Mp3,
    "aac": _Aac,
    "opus": _OpusInOgg,
    "webm": _OpusInWebm,
}
