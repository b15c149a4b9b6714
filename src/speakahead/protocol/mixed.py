"""Control and sound of protocol 1 on a transport that does not tell text from binary frames.

The rule: a whole chunk that parses as a JSON object whose ``type`` is one of the server's is
control; every other chunk is sound. The first byte says nothing (s16le sound may begin with the
byte of ``{``), nor does JSON of another kind: sound may well be the text of a number, a list, or
an object without such a type.
"""

from __future__ import annotations

from speakahead.errors import InvalidRequest
from speakahead.protocol.json import parse_object, validate_tagged
from speakahead.protocol.v1 import SERVER_MESSAGES, ServerMessage

_TYPES = ("synthesis_start", "synthesis_complete", "error")
_MAX_CONTROL = 4096
"""Bytes of the longest control message; the server's are far shorter."""


def read_chunk(chunk: bytes) -> ServerMessage | bytes:
    """A whole chunk, as the server sent it: a message, or sound that is returned as it is.

    Raises:
        InvalidRequest: a message of a known type with wrong fields.
    """
    if not chunk.startswith(b"{") and chunk.lstrip()[:1] != b"{":
        return chunk  # no object: spare the parser the sound
    try:
        value = parse_object(chunk)
    except InvalidRequest:
        return chunk
    if value.get("type") not in _TYPES:
        return chunk
    return validate_tagged(SERVER_MESSAGES, value)


class MixedReader:
    """Reads a stream whose chunks may have been split or joined on the way.

    A control message is found wherever it begins at a whole sample (an even number of bytes)
    after the message before it, because the server never sends half a sample. Pieces of sound
    that are returned are whole samples.

    What can be decided: every message that the server sends is found, however the stream is cut.
    What cannot: sound that holds the complete bytes of a control message at a whole sample is
    taken for one; it does not do so by chance, which would take 30 given bytes in a row. Nor
    where one piece of sound ended and the next began. The end of a chunk that may yet become a
    message is kept until the next ``feed`` or ``finish``: at most 4,096 bytes, in speech seldom
    more than one sample.
    """

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, chunk: bytes) -> list[ServerMessage | bytes]:
        """The messages and pieces of sound that are decided with this chunk, in order.

        Raises:
            InvalidRequest: a message of a known type with wrong fields.
        """
        parts: list[ServerMessage | bytes] = []
        data = self._buffer + chunk
        sound = 0  # where the sound begins that is not returned yet
        undecided: int | None = None  # the first object that is cut off
        brace = data.find(b"{")
        while brace >= 0:
            look = brace + 1
            if (brace - sound) % 2 == 0:
                end = _end_of_object(data, brace)
                part = b"" if end is None or end == brace else read_chunk(data[brace:end])
                if not isinstance(part, bytes):
                    # What looked like an object that is cut off was sound before this message:
                    # the server's messages hold no other messages.
                    if brace > sound:
                        parts.append(data[sound:brace])
                    parts.append(part)
                    undecided = None
                    assert end is not None
                    sound = look = end
                elif end is None and undecided is None:
                    undecided = brace
            brace = data.find(b"{", look)
        keep = len(data) - (len(data) - sound) % 2 if undecided is None else undecided
        if keep > sound:
            parts.append(data[sound:keep])
        self._buffer = data[keep:]
        return parts

    def finish(self) -> bytes:
        """The stream has ended: what was kept back is sound, less a last half sample."""
        rest, self._buffer = self._buffer, b""
        return rest[: len(rest) - len(rest) % 2]


_OUTSIDE_STRINGS = frozenset(b" \t\r\n:,+-.0123456789eEtruefalsn")


def _end_of_object(data: bytes, begin: int) -> int | None:
    """Where the JSON object at ``begin`` ends; None: behind the data; ``begin``: it is none.

    A quick look that lets no object pass unseen; a parser has the last word on what it finds.
    """
    depth = 0
    in_string = escaped = False
    for position in range(begin, min(len(data), begin + _MAX_CONTROL)):
        byte = data[position]
        if in_string:
            if byte < 0x20:
                return begin
            if escaped:
                escaped = False
            elif byte == 0x5C:  # backslash
                escaped = True
            elif byte == 0x22:  # quotation mark
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in b"{[":
            depth += 1
        elif byte in b"}]":
            depth -= 1
            if depth == 0:
                return position + 1
        elif byte not in _OUTSIDE_STRINGS:
            return begin
    return None if len(data) - begin < _MAX_CONTROL else begin
