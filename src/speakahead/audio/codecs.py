"""FFmpeg's codecs and resampler, by PyAV (the extra ``formats``)."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE, to_s16
from speakahead.errors import InvalidRequest

if TYPE_CHECKING:
    import av

Floats = NDArray[np.float32]


class FormatUnavailable(InvalidRequest):
    """This installation lacks what the format needs."""

    code = "format_unavailable"


def require_av() -> None:
    """Check that PyAV is there.

    Raises:
        FormatUnavailable: it is not.
    """
    if importlib.util.find_spec("av") is None:
        raise FormatUnavailable(
            "Compressed formats and other sample rates need the extra `formats`: "
            "pip install 'speakahead[formats]'."
        )


class Resampler:
    """From 24 kHz to another rate: a polyphase filter that remembers where the last piece ended.

    The output has no delay, does not depend on how the input was cut, and is ``held`` seconds of
    sound behind the input at most.
    """

    held_s = 0.003

    def __init__(self, sample_rate: int) -> None:
        import av

        self._resampler = av.AudioResampler(format="flt", layout="mono", rate=sample_rate)
        self._position = 0

    def feed(self, samples: Floats) -> Floats:
        """The next piece: float32 [n] at 24 kHz to float32 [m] at the other rate."""
        if len(samples) == 0:
            return np.zeros(0, np.float32)
        frame = _frame(samples, "flt", SAMPLE_RATE, self._position)
        self._position += len(samples)
        return _joined(self._resampler.resample(frame))

    def finish(self) -> Floats:
        """What is left."""
        if self._position == 0:
            return np.zeros(0, np.float32)
        return _joined(self._resampler.resample(None))


class FrameEncoder:
    """Samples to a codec's packets, one for each of its frames.

    Attributes:
        frame: samples in a frame.
        delay: samples that the decoded sound is late, at the encoder's rate.
        config: the codec's header, as its containers have it.
    """

    def __init__(
        self, codec: str, sample_rate: int, bit_rate: int | None, options: dict[str, str]
    ) -> None:
        import av

        context: Any = av.CodecContext.create(codec, "w")
        context.format = av.AudioFormat(_SAMPLE_FORMATS[codec])
        context.sample_rate = sample_rate
        context.layout = "mono"
        context.time_base = Fraction(1, sample_rate)
        context.options = options
        if bit_rate is not None:
            context.bit_rate = bit_rate
        context.open()
        self.frame: int = context.frame_size
        self.delay: int = context.initial_padding
        self.config = bytes(context.extradata or b"")
        self._context = context
        self._format = _SAMPLE_FORMATS[codec]
        self._rate = sample_rate
        self._waiting = np.zeros(0, np.float32)
        self._fed = 0
        self._packets = 0

    @property
    def samples(self) -> int:
        """How many samples it was given, with the padding once it is finished."""
        return self._fed + len(self._waiting)

    def feed(self, samples: Floats) -> list[bytes]:
        """The packets that became complete: float32 [n] in [-1, 1] at the encoder's rate."""
        self._waiting = np.concatenate([self._waiting, samples])
        packets: list[bytes] = []
        while len(self._waiting) >= self.frame:
            piece, self._waiting = self._waiting[: self.frame], self._waiting[self.frame :]
            packets += self._encode(piece)
        return packets

    def finish(self, *, pad: bool = True) -> list[bytes]:
        """The packets of what is left, just as many as hold all samples.

        Args:
            pad: fill the last frame with silence. A lossless codec takes a short one.
        """
        total = self.samples
        if total == 0:
            return []
        packets: list[bytes] = []
        if pad:
            needed = -(-(total + self.delay) // self.frame)
            self._waiting = np.concatenate(
                [self._waiting, np.zeros(needed * self.frame - total, np.float32)]
            )
            packets += self.feed(np.zeros(0, np.float32))
        elif len(self._waiting):
            needed = self._packets + 1
            packets += self._encode(self._waiting)
        else:
            needed = self._packets
        before = self._packets - len(packets)
        packets += self._encode(None)
        return packets[: max(0, needed - before)]

    def _encode(self, samples: Floats | None) -> list[bytes]:
        frame = None
        if samples is not None:
            frame = _frame(samples, self._format, self._rate, self._fed)
            self._fed += len(samples)
        # An empty packet is a codec's last word on its header, not sound.
        packets = [bytes(packet) for packet in self._context.encode(frame) if packet.size]
        self._packets += len(packets)
        return packets


_SAMPLE_FORMATS = {"libmp3lame": "fltp", "aac": "fltp", "libopus": "flt", "flac": "s16"}


def _frame(samples: Floats, sample_format: str, rate: int, position: int) -> av.AudioFrame:
    import av

    values: NDArray[Any] = to_s16(samples) if sample_format == "s16" else samples
    frame = av.AudioFrame.from_ndarray(
        np.ascontiguousarray(values)[np.newaxis], format=sample_format, layout="mono"
    )
    frame.sample_rate = rate
    frame.time_base = Fraction(1, rate)
    frame.pts = position
    return frame


def _joined(frames: list[av.AudioFrame]) -> Floats:
    if not frames:
        return np.zeros(0, np.float32)
    return np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames]).astype(np.float32)
