"""Protocol 1: the messages of the bidirectional route.

In (JSON objects, in text or binary frames):

=========================================================  =====================================
``{"text", "voice"?, "speed"?, "request_id"?}``            speak this text as one utterance
``{"type": "delta", "text", "voice"?, "speed"?, ...}``     more text of the utterance being written
``{"type": "flush"}``                                      that utterance is complete
``{"type": "close"}``                                      finish what was accepted, then close
=========================================================  =====================================

Out (text frames, and binary frames of s16le mono at 24 kHz between start and complete):

=========================================================  =====================================
``{"type": "synthesis_start", "request_id"}``              the utterance's sound follows
``{"type": "synthesis_complete", "request_id",``           its sound is complete
``"total_duration_s", "elapsed_s"}``
``{"type": "error", "request_id", "code", "message",``     the request was refused, or the
``"retryable"}``                                           utterance ends here; the session goes on
=========================================================  =====================================
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from speakahead.audio.pcm import to_s16le
from speakahead.errors import InvalidRequest
from speakahead.protocol.codec import Frame, Incoming, Outgoing, unexpected_hello
from speakahead.protocol.json import Message, RefusedMessage, parse_object, validate
from speakahead.session.events import (
    Append,
    Audio,
    Close,
    Failed,
    Flush,
    Request,
    Speak,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)

ROUTE = "/invocations-bidirectional-stream"
"""Path of the WebSocket that speaks this protocol."""

type Id = Annotated[str, Field(min_length=1, max_length=128)]
type VoiceName = Annotated[str, Field(min_length=1, max_length=128)]


class TextMessage(Message):
    """``{"text": ...}``, or with ``"type": "text"``."""

    type: Literal["text"] = "text"
    text: str
    voice: VoiceName | None = None
    speed: float | None = None
    request_id: Id | None = None


class DeltaMessage(Message):
    type: Literal["delta"]
    text: str
    voice: VoiceName | None = None
    speed: float | None = None
    request_id: Id | None = None


class FlushMessage(Message):
    type: Literal["flush"]


class CloseMessage(Message):
    type: Literal["close"]


_MESSAGES: dict[str, type[Message]] = {
    "text": TextMessage,
    "delta": DeltaMessage,
    "flush": FlushMessage,
    "close": CloseMessage,
}


class StartMessage(Message):
    """The utterance's sound follows."""

    type: Literal["synthesis_start"] = "synthesis_start"
    request_id: str


class CompleteMessage(Message):
    """The utterance's sound is complete; times in seconds."""

    type: Literal["synthesis_complete"] = "synthesis_complete"
    request_id: str
    total_duration_s: float
    elapsed_s: float


class ErrorMessage(Message):
    """A request was refused, or an utterance ends here."""

    type: Literal["error"] = "error"
    request_id: str | None
    code: str
    message: str
    retryable: bool


type ServerMessage = Annotated[
    StartMessage | CompleteMessage | ErrorMessage, Field(discriminator="type")
]

SERVER_MESSAGES: TypeAdapter[ServerMessage] = TypeAdapter(ServerMessage)


def decode(frame: str | bytes, defaults: VoiceSettings) -> Request:
    """The request in one frame.

    Raises:
        RefusedMessage: with code ``invalid_encoding``, ``invalid_json``, ``unknown_type``,
            ``unexpected_hello`` or ``invalid_request``.
    """
    value: dict[str, Any] = {}
    try:
        value = parse_object(frame)
        return _request(value, defaults)
    except InvalidRequest as invalid:
        named = value.get("request_id")
        known = named if isinstance(named, str) and 0 < len(named) <= 128 else None
        raise RefusedMessage(invalid, known, text=value.get("type") == "delta") from None


def _request(value: dict[str, Any], defaults: VoiceSettings) -> Request:
    kind = value.get("type", "text")
    model = _MESSAGES.get(kind) if isinstance(kind, str) else None
    if kind == "hello":
        raise unexpected_hello()
    if model is None:
        raise InvalidRequest(
            f"The message type is unknown; send one of {', '.join(_MESSAGES)}.",
            code="unknown_type",
        )
    match validate(model, value):
        case TextMessage() as m:
            return Speak(m.text, settings(m.voice, m.speed, defaults), m.request_id)
        case DeltaMessage() as m:
            return Append(m.text, settings(m.voice, m.speed, defaults), m.request_id)
        case FlushMessage():
            return Flush()
        case _:
            return Close()


def settings(voice: str | None, speed: float | None, defaults: VoiceSettings) -> VoiceSettings:
    """Settings of a request, with the defaults where it is silent.

    Raises:
        InvalidRequest: the speed is out of range.
    """
    return replace(
        defaults,
        voice=defaults.voice if voice is None else voice,
        speed=defaults.speed if speed is None else speed,
    )


def encode(event: Outgoing) -> Frame | None:
    """The frame for an event: str for a text frame, bytes for a binary one, None for none."""
    message: Message
    match event:
        case Audio(samples=samples):
            return to_s16le(samples)
        case UtteranceStarted(utterance=utterance):
            message = StartMessage(request_id=utterance)
        case UtteranceCompleted():
            message = CompleteMessage(
                request_id=event.utterance,
                total_duration_s=round(event.duration_s, 4),
                elapsed_s=round(event.elapsed_s, 4),
            )
        case Failed(utterance=utterance, error=error):
            message = ErrorMessage(
                request_id=utterance,
                code=error.code,
                message=error.message,
                retryable=error.retryable,
            )
        case _:
            return None
    return json.dumps(message.model_dump())


class V1Codec:
    """Protocol 1 of one session; ``defaults`` are for requests that name no voice or speed."""

    def __init__(self, defaults: VoiceSettings) -> None:
        self._defaults = defaults

    def decode(self, frame: Frame) -> Incoming:
        """See ``decode`` of this module."""
        return decode(frame, self._defaults)

    def encode(self, event: Outgoing) -> list[Frame]:
        """See ``encode`` of this module."""
        frame = encode(event)
        return [] if frame is None else [frame]
