"""Opus in Ogg (RFC 3533, RFC 7845), a page for each packet so that none has to wait."""

from __future__ import annotations

import struct
from functools import cache

_PAGE = struct.Struct("<4sBBqIIIB")
_CHECKSUM = slice(22, 26)
_FIRST, _LAST = 2, 4
_SERIAL = 1  # the only stream of the file
_VENDOR = b"speakahead"


class OggWriter:
    """One logical stream of Opus packets."""

    def __init__(self, head: bytes) -> None:
        """``head`` is the identification header, ``OpusHead``."""
        self._pages = 0
        tags = b"OpusTags" + struct.pack("<I", len(_VENDOR)) + _VENDOR + struct.pack("<I", 0)
        self.header = self._page(head, 0, _FIRST) + self._page(tags, 0, 0)

    def write(self, packet: bytes, position: int, *, last: bool = False) -> bytes:
        """The page of one packet.

        Args:
            position: the number of samples at 48 kHz up to its end, with the pre-skip. In the last
                page it may be less than what the packets hold; the rest is then not played.
        """
        return self._page(packet, position, _LAST if last else 0)

    def _page(self, packet: bytes, position: int, flags: int) -> bytes:
        lacing = b"\xff" * (len(packet) // 255) + bytes([len(packet) % 255])
        if len(lacing) > 255:
            raise ValueError("a packet for one page has at most 65,024 bytes")
        head = _PAGE.pack(b"OggS", 0, flags, position, _SERIAL, self._pages, 0, len(lacing))
        self._pages += 1
        page = bytearray(head + lacing + packet)
        page[_CHECKSUM] = struct.pack("<I", _checksum(page))
        return bytes(page)


@cache
def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        register = byte << 24
        for _ in range(8):
            register = (register << 1) ^ (0x04C11DB7 if register & 0x80000000 else 0)
        table.append(register & 0xFFFFFFFF)
    return tuple(table)


def _checksum(page: bytearray) -> int:
    """CRC-32 with the usual polynomial, but unreflected and from zero (RFC 3533, section 6)."""
    table, register = _table(), 0
    for byte in page:
        register = ((register << 8) & 0xFFFFFFFF) ^ table[(register >> 24) ^ byte]
    return register
