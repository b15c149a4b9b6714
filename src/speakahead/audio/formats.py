"""The formats of sound, and what can be chosen in each.

========= ==================== ===== ================= ============================================
format    container            kbit  delay_s           sample rates
========= ==================== ===== ================= ============================================
pcm       none, s16le          -     0                 8,000 to 48,000
pcm_f32le none                 -     0                 8,000 to 48,000
wav       WAV, s16le           -     0                 8,000 to 48,000
flac      FLAC, 16 bits        -     0                 8,000 to 48,000
mulaw     none, G.711          -     0                 8,000 (default) to 48,000
alaw      none, G.711          -     0                 8,000 (default) to 48,000
mp3       none                 48    529 samples       those of MPEG-1, 2 and 2.5
aac       fragmented MP4       32    0 (edit list)     those of MPEG-4
opus      Ogg                  32    0 (pre-skip)      8, 12, 16, 24, 48 kHz
webm      WebM, Opus           32    0 (codec delay)   8, 12, 16, 24, 48 kHz
========= ==================== ===== ================= ============================================

``encoder`` says what is special about each.
"""

from __future__ import annotations

from dataclasses import dataclass

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import InvalidRequest

_LEAST_RATE, _MOST_RATE = 8_000, 48_000
_MPEG4_RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_OPUS_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)


class UnknownFormat(InvalidRequest):
    """There is no such format, or not with this sample rate or bit rate."""

    code = "unknown_format"


@dataclass(frozen=True, slots=True)
class Format:
    """What can be asked for.

    Attributes:
        name: as ``encoder.open_encoder`` takes it.
        sample_rate: in Hz, unless another one is asked for.
        sample_rates: those it can have; None for any from 8,000 to 48,000.
        bit_rate: in bit/s, unless another one is asked for; None for what has no choice.
        bit_rates: the least and the most.
        needs_extra: whether it needs PyAV at its own sample rate.
        extension: of a file, without the dot.
    """

    name: str
    media_type: str
    extension: str
    sample_rate: int = SAMPLE_RATE
    sample_rates: tuple[int, ...] | None = None
    bit_rate: int | None = None
    bit_rates: tuple[int, int] = (0, 0)
    needs_extra: bool = False


FORMATS = {
    each.name: each
    for each in (
        Format("pcm", "audio/pcm; rate={rate}; channels=1", "pcm"),
        Format("pcm_f32le", "audio/pcm; encoding=f32le; rate={rate}; channels=1", "f32"),
        Format("wav", "audio/wav", "wav"),
        Format("flac", "audio/flac", "flac", needs_extra=True),
        Format("mulaw", "audio/PCMU; rate={rate}; channels=1", "ulaw", sample_rate=8_000),
        Format("alaw", "audio/PCMA; rate={rate}; channels=1", "alaw", sample_rate=8_000),
        Format(
            "mp3",
            "audio/mpeg",
            "mp3",
            sample_rates=_MPEG4_RATES,
            bit_rate=48_000,
            bit_rates=(8_000, 320_000),
            needs_extra=True,
        ),
        Format(
            "aac",
            'audio/mp4; codecs="mp4a.40.2"',
            "m4a",
            sample_rates=_MPEG4_RATES,
            bit_rate=32_000,
            bit_rates=(8_000, 192_000),
            needs_extra=True,
        ),
        Format(
            "opus",
            'audio/ogg; codecs="opus"',
            "ogg",
            sample_rates=_OPUS_RATES,
            bit_rate=32_000,
            bit_rates=(6_000, 256_000),
            needs_extra=True,
        ),
        Format(
            "webm",
            'audio/webm; codecs="opus"',
            "webm",
            sample_rates=_OPUS_RATES,
            bit_rate=32_000,
            bit_rates=(6_000, 256_000),
            needs_extra=True,
        ),
    )
}


def choose(
    name: str, sample_rate: int | None = None, bit_rate: int | None = None
) -> tuple[Format, int, int | None]:
    """The format of this name, with its own rates where none are given.

    Args:
        name: a key of :data:`FORMATS`.
        sample_rate: in Hz.
        bit_rate: in bit/s.

    Returns:
        The format, the sample rate in Hz, and the bit rate in bit/s or None for what has no choice.

    Raises:
        UnknownFormat: there is no such format, or not with this sample rate or bit rate.
    """
    chosen = FORMATS.get(name)
    if chosen is None:
        raise UnknownFormat(f"The audio formats are: {', '.join(FORMATS)}.")
    rate = chosen.sample_rate if sample_rate is None else sample_rate
    if chosen.sample_rates is None:
        if not _LEAST_RATE <= rate <= _MOST_RATE:
            raise UnknownFormat(f"A sample rate is {_LEAST_RATE} to {_MOST_RATE} Hz.")
    elif rate not in chosen.sample_rates:
        rates = ", ".join(map(str, chosen.sample_rates))
        raise UnknownFormat(f"The sample rates of {name} are {rates} Hz.")
    if bit_rate is not None:
        if chosen.bit_rate is None:
            raise UnknownFormat(f"The bit rate of {name} cannot be chosen.")
        least, most = chosen.bit_rates
        if not least <= bit_rate <= most:
            raise UnknownFormat(f"The bit rate of {name} is {least} to {most} bit/s.")
    return chosen, rate, chosen.bit_rate if bit_rate is None else bit_rate
