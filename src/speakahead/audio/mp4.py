"""AAC in fragmented MP4 (ISO/IEC 14496-12, 14496-14) for a stream without a known end.

The header tells, by an edit list, how many samples at the start are the encoder's priming, so that
they are not played.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

FRAME = 1024
"""Samples in an AAC frame."""

_MATRIX = struct.pack(">9i", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_UNDETERMINED = 0x55C4  # the language "und", in five bits a letter
_TRACK = 1
_BASE_IS_MOOF = 0x020000
_HAS_OFFSET, _HAS_DURATIONS, _HAS_SIZES = 0x001, 0x100, 0x200


class Mp4Writer:
    """One track of AAC frames."""

    def __init__(self, config: bytes, sample_rate: int, bit_rate: int, priming: int) -> None:
        """``config`` is the ``AudioSpecificConfig``; ``priming`` is in samples."""
        self._fragments = 0
        self.header = _box("ftyp", b"iso5", struct.pack(">I", 0), b"iso5iso6mp41") + _box(
            "moov",
            _full_box(
                "mvhd",
                struct.pack(">4IiH10x", 0, 0, sample_rate, 0, 0x10000, 0x0100),
                _MATRIX,
                struct.pack(">24xI", _TRACK + 1),
            ),
            _box(
                "trak",
                _full_box(
                    "tkhd",
                    struct.pack(">5I8x4H", 0, 0, _TRACK, 0, 0, 0, 0, 0x0100, 0),
                    _MATRIX,
                    struct.pack(">II", 0, 0),
                    flags=7,
                ),
                _box("edts", _full_box("elst", struct.pack(">IIiI", 1, 0, priming, 0x10000))),
                _media(config, sample_rate, bit_rate),
            ),
            _box("mvex", _full_box("trex", struct.pack(">5I", _TRACK, 1, FRAME, 0, 0))),
        )

    def fragment(self, frames: Sequence[bytes], start: int, last_samples: int = FRAME) -> bytes:
        """One movie fragment.

        Args:
            frames: AAC frames, at least one.
            start: the position of the first one in samples, with the priming.
            last_samples: how many samples of the last frame count.
        """
        self._fragments += 1
        run: list[bytes] = []
        if last_samples == FRAME:
            flags = _HAS_OFFSET | _HAS_SIZES
            run = [struct.pack(">I", len(frame)) for frame in frames]
        else:
            flags = _HAS_OFFSET | _HAS_SIZES | _HAS_DURATIONS
            durations = [FRAME] * (len(frames) - 1) + [last_samples]
            pairs = zip(durations, frames, strict=True)
            run = [struct.pack(">II", duration, len(frame)) for duration, frame in pairs]

        def header(offset: int) -> bytes:
            return _box(
                "moof",
                _full_box("mfhd", struct.pack(">I", self._fragments)),
                _box(
                    "traf",
                    _full_box("tfhd", struct.pack(">I", _TRACK), flags=_BASE_IS_MOOF),
                    _full_box("tfdt", struct.pack(">Q", start), version=1),
                    _full_box("trun", struct.pack(">II", len(frames), offset), *run, flags=flags),
                ),
            )

        # The data begin after this box and the eight bytes of the next one's header.
        return header(len(header(0)) + 8) + _box("mdat", *frames)


def _media(config: bytes, sample_rate: int, bit_rate: int) -> bytes:
    sample_entry = _box(
        "mp4a",
        struct.pack(">6xH8xHH4xI", 1, 1, 16, sample_rate << 16),
        _full_box("esds", _elementary_stream(config, bit_rate)),
    )
    return _box(
        "mdia",
        _full_box("mdhd", struct.pack(">4IHH", 0, 0, sample_rate, 0, _UNDETERMINED, 0)),
        _full_box("hdlr", struct.pack(">I4s12x", 0, b"soun"), b"\0"),
        _box(
            "minf",
            _full_box("smhd", struct.pack(">I", 0)),
            _box("dinf", _full_box("dref", struct.pack(">I", 1), _full_box("url ", flags=1))),
            _box(
                "stbl",
                _full_box("stsd", struct.pack(">I", 1), sample_entry),
                _full_box("stts", struct.pack(">I", 0)),
                _full_box("stsc", struct.pack(">I", 0)),
                _full_box("stsz", struct.pack(">II", 0, 0)),
                _full_box("stco", struct.pack(">I", 0)),
            ),
        ),
    )


def _elementary_stream(config: bytes, bit_rate: int) -> bytes:
    """The ES descriptor (ISO/IEC 14496-1): MPEG-4 audio, configured by ``config``."""
    decoder = struct.pack(">BB3xII", 0x40, 0x15, bit_rate, bit_rate) + _descriptor(5, config)
    content = struct.pack(">HB", _TRACK, 0) + _descriptor(4, decoder) + _descriptor(6, b"\x02")
    return _descriptor(3, content)


def _descriptor(tag: int, content: bytes) -> bytes:
    return bytes([tag, len(content)]) + content  # ours are shorter than 128 bytes


def _box(kind: str, *content: bytes) -> bytes:
    length = 8 + sum(map(len, content))
    return struct.pack(">I4s", length, kind.encode("ascii")) + b"".join(content)


def _full_box(kind: str, *content: bytes, version: int = 0, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", version << 24 | flags), *content)
