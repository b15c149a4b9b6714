"""Opus in WebM (RFC 8794, RFC 9559) for a listener who is already there.

Segment and clusters have an unknown size, as in every live stream, so that each packet leaves as
soon as it exists and a cluster costs a dozen bytes.
"""

from __future__ import annotations

import struct

_UNKNOWN = b"\x01\xff\xff\xff\xff\xff\xff\xff"
_TRACK = b"\x81"
_KEYFRAME = b"\x80"
_CLUSTER_MS = 1000
_SEEK_PREROLL_NS = 80_000_000  # RFC 7845, section 4.6
_APPLICATION = b"speakahead"

_RATE = 48_000  # the clock of Opus, whatever went in


class WebmWriter:
    """One track of Opus packets."""

    def __init__(self, head: bytes, pre_skip: int) -> None:
        """``head`` is ``OpusHead``; ``pre_skip`` is the delay that it states, at 48 kHz."""
        track = (
            _element(0xD7, b"\x01")  # number
            + _element(0x73C5, b"\x01")  # unique number
            + _element(0x83, b"\x02")  # audio
            + _element(0x9C, b"\x00")  # no lacing
            + _element(0x86, b"A_OPUS")
            + _element(0x56AA, _number(_nanoseconds(pre_skip)))  # codec delay
            + _element(0x56BB, _number(_SEEK_PREROLL_NS))
            + _element(0x63A2, head)
            + _element(0xE1, _element(0xB5, struct.pack(">d", _RATE)) + _element(0x9F, b"\x01"))
        )
        information = (
            _element(0x2AD7B1, _number(1_000_000))  # time stamps are milliseconds
            + _element(0x4D80, _APPLICATION)
            + _element(0x5741, _APPLICATION)
        )
        self.header = (
            _element(
                0x1A45DFA3,
                _element(0x4286, b"\x01")  # version
                + _element(0x42F7, b"\x01")  # version needed to read
                + _element(0x42F2, b"\x04")  # longest identifier
                + _element(0x42F3, b"\x08")  # longest size
                + _element(0x4282, b"webm")
                + _element(0x4287, b"\x04")
                + _element(0x4285, b"\x02"),
            )
            + _identifier(0x18538067)
            + _UNKNOWN
            + _element(0x1549A966, information)
            + _element(0x1654AE6B, _element(0xAE, track))
        )
        self._cluster_ms: int | None = None

    def write(self, packet: bytes, position: int, *, discard: int = 0) -> bytes:
        """The block of one packet, preceded by a new cluster once a second.

        Args:
            position: where the packet starts, in samples at 48 kHz with the pre-skip.
            discard: how many samples at its end are not to be played.
        """
        now = round(position * 1000 / _RATE)
        cluster = b""
        if self._cluster_ms is None or now - self._cluster_ms >= _CLUSTER_MS:
            self._cluster_ms = now
            cluster = _identifier(0x1F43B675) + _UNKNOWN + _element(0xE7, _number(now))
        place = _TRACK + struct.pack(">h", now - self._cluster_ms)
        if not discard:
            return cluster + _element(0xA3, place + _KEYFRAME + packet)
        group = _element(0xA1, place + b"\x00" + packet)
        group += _element(0x75A2, struct.pack(">q", _nanoseconds(discard)))
        return cluster + _element(0xA0, group)


def _nanoseconds(samples: int) -> int:
    return samples * 1_000_000_000 // _RATE


def _element(identifier: int, content: bytes) -> bytes:
    return _identifier(identifier) + _size(len(content)) + content


def _identifier(identifier: int) -> bytes:
    return identifier.to_bytes((identifier.bit_length() + 7) // 8)


def _size(length: int) -> bytes:
    """A length in one to eight bytes, of which the first one's leading zeros tell how many."""
    count = 1
    while length >= (1 << 7 * count) - 1:  # all ones means "unknown"
        count += 1
    return (length | 1 << 7 * count).to_bytes(count)


def _number(value: int) -> bytes:
    return value.to_bytes(max(1, (value.bit_length() + 7) // 8))
