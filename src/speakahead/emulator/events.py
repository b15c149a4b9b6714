"""The event stream of the runtime API (``application/vnd.amazon.eventstream``), without I/O.

Messages are encoded and decoded by ``smithy_aws_event_stream``; here is what the runtime API
puts in them. Source: the service's model in ``aws-sdk-sagemaker-runtime-http2``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from io import BytesIO
from zlib import crc32

from smithy_aws_event_stream.events import (
    MAX_HEADERS_LENGTH,
    MAX_PAYLOAD_LENGTH,
    Event,
    EventMessage,
)
from smithy_aws_event_stream.exceptions import EventError

from speakahead.emulator.refusals import StreamRefused

CONTENT_TYPE = "application/vnd.amazon.eventstream"

MAX_PART = MAX_PAYLOAD_LENGTH
"""Bytes of one part at most."""

_PRELUDE = struct.Struct("!III")
_FRAMING = _PRELUDE.size + 4
_MAX_MESSAGE = _FRAMING + MAX_HEADERS_LENGTH + MAX_PAYLOAD_LENGTH
_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class DataType(StrEnum):
    UTF8 = "UTF8"
    BINARY = "BINARY"


class Completion(StrEnum):
    PARTIAL = "PARTIAL"
    COMPLETE = "COMPLETE"


@dataclass(frozen=True, slots=True)
class PayloadPart:
    """One part of either direction; None where the header is absent."""

    data: bytes
    data_type: DataType | None = None
    completion: Completion | None = None


class EventDecoder:
    """Cuts a body into messages. Holds at most one incomplete message of at most 16 MiB."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def empty(self) -> bool:
        """Whether no message has begun."""
        return not self._buffer

    def feed(self, data: bytes) -> Iterator[EventMessage]:
        """The messages that are complete with these bytes.

        Raises:
            StreamRefused: a length or a check sum is wrong.
        """
        self._buffer += data
        while len(self._buffer) >= _PRELUDE.size:
            total, _, checksum = _PRELUDE.unpack_from(self._buffer)
            # Before the rest is waited for: a wrong length could mean for ever.
            if crc32(self._buffer[:8]) != checksum or not _FRAMING <= total <= _MAX_MESSAGE:
                raise _malformed()
            if len(self._buffer) < total:
                return
            message = bytes(self._buffer[:total])
            del self._buffer[:total]
            yield _decode(message)


def decode_message(data: bytes) -> EventMessage:
    """The only message in these bytes.

    Raises:
        StreamRefused: they are not one message.
    """
    if len(data) < _FRAMING or _PRELUDE.unpack_from(data)[0] != len(data):
        raise _malformed()
    return _decode(data)


def _decode(data: bytes) -> EventMessage:
    try:
        event = Event.decode(BytesIO(data))
    except (EventError, LookupError, ValueError, OverflowError, struct.error):
        raise _malformed() from None
    assert event is not None
    return event.message


def _malformed() -> StreamRefused:
    return StreamRefused("ValidationException", "The body is not a stream of events.")


def decode_part(message: EventMessage) -> PayloadPart:
    """The part that a client's event holds.

    Raises:
        StreamRefused: it is another event, or a header has a value that the API does not know.
    """
    headers = message.headers
    if headers.get(":message-type") != "event" or headers.get(":event-type") != "PayloadPart":
        raise StreamRefused("ValidationException", "An event is not a PayloadPart.")
    try:
        data_type = headers.get("DataType")
        completion = headers.get("CompletionState")
        return PayloadPart(
            message.payload,
            None if data_type is None else DataType(str(data_type)),
            None if completion is None else Completion(str(completion)),
        )
    except ValueError:
        raise StreamRefused(
            "ValidationException",
            "DataType is UTF8 or BINARY, and CompletionState is PARTIAL or COMPLETE.",
        ) from None


def encode_part(part: PayloadPart) -> bytes:
    """The event that carries a part to the client; where it has a type, padded as the service's.

    Parts of ``InvokeEndpointWithResponseStream`` have nothing but their bytes.
    """
    headers: dict[str, str] = {
        ":message-type": "event",
        ":event-type": "PayloadPart",
        ":content-type": "application/octet-stream",
    }
    if part.completion is not None:
        headers["CompletionState"] = part.completion.value
    if part.data_type is not None:
        headers["DataType"] = part.data_type.value
        headers["P"] = _PADDING[: -len(part.data) % len(_PADDING)]
    return _encode(headers, part.data)


def encode_exception(kind: str, members: dict[str, str]) -> bytes:
    """An error of the API's model, such as ``ModelStreamError``."""
    headers: dict[str, str] = {
        ":message-type": "exception",
        ":exception-type": kind,
        ":content-type": "application/json",
    }
    return _encode(headers, json.dumps(members).encode())


def encode_error(code: str, message: str) -> bytes:
    """An error outside the API's model."""
    return _encode({":message-type": "error", ":error-code": code, ":error-message": message}, b"")


def _encode(headers: dict[str, str], payload: bytes) -> bytes:
    return EventMessage(headers=headers, payload=payload).encode()
