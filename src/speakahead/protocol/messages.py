"""The messages of protocol 2, in both directions.

One union, told apart by ``type``. A server reads those of ``ClientMessage`` and writes those of
``ServerMessage``; a client the other way round. Both use the same models::

    frame = CancelMessage(utterance="u7", played_ms=840).to_json()
    message = parse_client_message(frame)

Optional fields that are absent or null mean: not said. Unknown fields are ignored, so that newer
peers can talk to older ones. ``docs/protocol.md`` says what each message means.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from speakahead.errors import InvalidRequest
from speakahead.protocol.json import Message, parse_object, validate_tagged
from speakahead.text.pronunciations import MOST

PROTOCOL = 2

REQUEST_REFUSED = frozenset({"unknown_utterance", "not_held", "already_spoken", "already_complete"})
"""Errors that name an utterance without ending it: a request about it was refused."""

type Id = Annotated[str, Field(min_length=1, max_length=128)]
type VoiceName = Annotated[str, Field(min_length=1, max_length=128)]
type Language = Annotated[str, Field(min_length=1, max_length=35)]
type FormatName = Literal["s16le", "f32le"]
type BoundaryName = Literal["sentence", "line", "clause", "end"]
type PauseSeconds = Annotated[float, Field(ge=0, le=10)]
type Milliseconds = Annotated[float, Field(ge=0, le=86_400_000)]  # a day


class _Typed(Message):
    def to_json(self) -> str:
        """The text frame of this message; what is not said is left out."""
        return self.model_dump_json(exclude_none=True)


# -- parts ------------------------------------------------------------------------------------


class PronunciationField(Message):
    """How to say a word: exactly one of ``phonemes`` and ``respelling``."""

    word: str
    phonemes: str | None = None
    respelling: str | None = None


class PausesField(Message):
    """Seconds of silence after a sentence, by how it ended; those not named stay as they are."""

    sentence: PauseSeconds | None = None
    clause: PauseSeconds | None = None
    line: PauseSeconds | None = None


class SpeechFields(Message):
    """How to speak; fields that are not named stay as they are."""

    voice: VoiceName | None = None
    speed: float | None = None
    language: Language | None = None
    format: FormatName | None = None
    pronunciations: (
        Annotated[tuple[PronunciationField, ...], Field(strict=False, max_length=MOST)] | None
    ) = None
    pauses: PausesField | None = None


class CaptionWord(Message):
    """A word: seconds from the utterance's first sample, ``[start, end)`` in its text.

    Positions count Unicode code points of all text that was sent for the utterance.
    """

    text: str
    start: float
    end: float
    span: Annotated[tuple[int, int], Field(strict=False)]


class SessionLimits(Message):
    """What a session accepts, and when it ends.

    Attributes:
        max_message_bytes: bytes in one message; more closes the connection with code 1009.
        max_text: characters in one ``text``; more is refused with ``text_too_long``.
        max_utterance: characters in one utterance, likewise.
        max_waiting: characters that may wait to be spoken before reading pauses.
        max_utterances: utterances that may wait before reading pauses.
        ahead_s: how far ahead of real-time playback sound is sent; absent: as fast as possible.
        send_timeout_s: how long sound may be left unread before the connection is closed.
        idle_timeout_s: how long the session may be silent on both sides.
        max_session_s: how long the session may last.
    """

    max_message_bytes: int
    max_text: int
    max_utterance: int
    max_waiting: int
    max_utterances: int
    ahead_s: float | None = None
    send_timeout_s: float
    idle_timeout_s: float
    max_session_s: float


# -- from the client --------------------------------------------------------------------------


class HelloMessage(_Typed):
    """The first message: the protocol that the client speaks."""

    type: Literal["hello"] = "hello"
    protocol: int


class TextMessage(_Typed, SpeechFields):
    """More text of an utterance; settings and ``skip_samples`` count in its first message."""

    type: Literal["text"] = "text"
    text: str
    utterance: Id | None = None
    skip_samples: Annotated[int, Field(ge=0, le=2**40)] | None = None


class FlushMessage(_Typed):
    """The utterance that is being written is complete."""

    type: Literal["flush"] = "flush"


class CancelMessage(_Typed):
    """The listener has interrupted; ``played_ms`` or ``played_samples`` of it were played."""

    type: Literal["cancel"] = "cancel"
    utterance: Id | None = None
    played_ms: Milliseconds | None = None
    played_samples: Annotated[int, Field(ge=0, le=2**40)] | None = None


class HoldMessage(_Typed):
    """Prepare an utterance, but let none of it out yet."""

    type: Literal["hold"] = "hold"
    utterance: Id | None = None


class ReleaseMessage(_Typed):
    """Let a held utterance out."""

    type: Literal["release"] = "release"
    utterance: Id | None = None


class DiscardMessage(_Typed):
    """Drop a held utterance."""

    type: Literal["discard"] = "discard"
    utterance: Id | None = None


class ConfigureMessage(_Typed, SpeechFields):
    """Settings of utterances that begin from now on."""

    type: Literal["configure"] = "configure"


class KeepaliveMessage(_Typed):
    """The client is still there."""

    type: Literal["keepalive"] = "keepalive"


class CloseMessage(_Typed):
    """Finish what was accepted, then close."""

    type: Literal["close"] = "close"


# -- from the server --------------------------------------------------------------------------


class ReadyMessage(_Typed):
    """The answer to ``hello``."""

    type: Literal["ready"] = "ready"
    protocol: int = PROTOCOL
    session: str
    sample_rate: int
    format: FormatName
    limits: SessionLimits


class UtteranceStartMessage(_Typed):
    """The utterance's sound follows; audio frames name it by ``number``."""

    type: Literal["utterance_start"] = "utterance_start"
    utterance: str
    number: int
    format: FormatName
    sample_rate: int


class CaptionsMessage(_Typed):
    """The next words of an utterance, before their sound.

    ``sentence`` counts the units of the utterance's text from 0, ``span`` is where this one stands
    in it, and ``boundary`` is what ended it. One that is too long for the model has more than one
    such message.
    """

    type: Literal["captions"] = "captions"
    utterance: str
    sentence: int
    span: Annotated[tuple[int, int], Field(strict=False)]
    boundary: BoundaryName
    words: Annotated[tuple[CaptionWord, ...], Field(strict=False)]


class UtteranceCompleteMessage(_Typed):
    """All of the utterance's sound has been sent."""

    type: Literal["utterance_complete"] = "utterance_complete"
    utterance: str
    duration_ms: float
    elapsed_ms: float


class CancelledMessage(_Typed):
    """The answer to ``cancel`` and ``discard``."""

    type: Literal["cancelled"] = "cancelled"
    utterance: str | None = None
    played_ms: float
    text_spoken: str
    text_remaining: str
    final: bool


class WarningMessage(_Typed):
    """Something that the client should know in time; nothing has failed."""

    type: Literal["warning"] = "warning"
    code: str
    message: str


class ErrorMessage(_Typed):
    """A message was refused, or an utterance ends here; the session goes on unless it closes."""

    type: Literal["error"] = "error"
    utterance: str | None = None
    code: str
    message: str
    retryable: bool
    retry_after_ms: float | None = None


type ClientMessage = Annotated[
    HelloMessage
    | TextMessage
    | FlushMessage
    | CancelMessage
    | HoldMessage
    | ReleaseMessage
    | DiscardMessage
    | ConfigureMessage
    | KeepaliveMessage
    | CloseMessage,
    Field(discriminator="type"),
]

type ServerMessage = Annotated[
    ReadyMessage
    | UtteranceStartMessage
    | CaptionsMessage
    | UtteranceCompleteMessage
    | CancelledMessage
    | WarningMessage
    | ErrorMessage,
    Field(discriminator="type"),
]

type AnyMessage = Annotated[ClientMessage | ServerMessage, Field(discriminator="type")]

_CLIENT: TypeAdapter[ClientMessage] = TypeAdapter(ClientMessage)
_SERVER: TypeAdapter[ServerMessage] = TypeAdapter(ServerMessage)
_ANY: TypeAdapter[AnyMessage] = TypeAdapter(AnyMessage)


def parse_message(frame: str | bytes) -> AnyMessage:
    """A message of either direction, for tools that look at both.

    Raises:
        InvalidRequest: ``invalid_encoding``, ``invalid_json``, ``unknown_type`` or
            ``invalid_request``.
    """
    return validate_tagged(_ANY, parse_object(frame))


def parse_server_message(frame: str | bytes) -> ServerMessage:
    """What a server says in a text frame.

    A client passes over ``unknown_type``, which a newer server may send.

    Raises:
        InvalidRequest: as ``parse_message``.
    """
    return validate_tagged(_SERVER, parse_object(frame))


def parse_client_message(frame: str | bytes) -> ClientMessage:
    """What a client says in a text frame.

    Raises:
        InvalidRequest: as ``parse_message``.
    """
    return client_message(parse_object(frame))


def client_message(value: dict[str, Any]) -> ClientMessage:
    """A client's message from its JSON object.

    Raises:
        InvalidRequest: ``unknown_type`` or ``invalid_request``.
    """
    try:
        return validate_tagged(_CLIENT, value)
    except InvalidRequest as invalid:
        if invalid.code != "unknown_type":
            raise
        known = "text, flush, cancel, hold, release, discard, configure, keepalive, close"
        raise InvalidRequest(
            f"The message type is unknown; send one of {known}.", code="unknown_type"
        ) from None
