"""Protocol 2 for a client, without I/O: requests to messages, frames to the session's events."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from speakahead.errors import InvalidRequest, RemoteError
from speakahead.protocol.framing import is_audio, unpack
from speakahead.protocol.messages import (
    CancelledMessage,
    CancelMessage,
    CaptionsMessage,
    ClientMessage,
    CloseMessage,
    ConfigureMessage,
    DiscardMessage,
    ErrorMessage,
    FlushMessage,
    HelloMessage,
    HoldMessage,
    PausesField,
    PronunciationField,
    ReadyMessage,
    ReleaseMessage,
    ServerMessage,
    SpeechFields,
    TextMessage,
    UtteranceCompleteMessage,
    UtteranceStartMessage,
    parse_server_message,
)
from speakahead.protocol.outstanding import Outstanding
from speakahead.session.events import (
    Append,
    Audio,
    AudioFormat,
    Cancel,
    Close,
    Configure,
    Discard,
    Event,
    Failed,
    Flush,
    Hold,
    Release,
    Request,
    SentenceStarted,
    Speak,
    SpokenWord,
    UtteranceCancelled,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)
from speakahead.text.chunker import Boundary, Sentence
from speakahead.text.spans import Span


class V2Client:
    """One session, as its client sees it.

    Attributes:
        ready: the server's answer to the greeting, once it is there.
        last_error: the error that came last, if nothing has come since and it belonged to no
            utterance: why the connection ends, where it does.
    """

    def __init__(self, settings: VoiceSettings | None = None) -> None:
        self.ready: ReadyMessage | None = None
        self.last_error: RemoteError | None = None
        self._settings = settings
        self._spoken = settings or VoiceSettings()
        self._outstanding = Outstanding()
        self._numbers: dict[int, str] = {}
        self._events: deque[Event] = deque()

    @property
    def owed(self) -> bool:
        """Whether the server owes an answer."""
        return self.ready is None or self._outstanding.owed

    def greeting(self) -> list[str]:
        """The first messages."""
        messages: list[str] = [HelloMessage(protocol=2).to_json()]
        if self._settings is not None:
            messages.append(ConfigureMessage(**_fields(self._settings)).to_json())
        return messages

    def encode(self, request: Request) -> list[str]:
        """The messages that say a request; a whole text is one that is flushed."""
        frames: list[str] = []
        if isinstance(request, Speak | Close) and self._outstanding.writing:
            frames += self.encode(Flush())
        if isinstance(request, Speak):
            frames += self.encode(Append(request.text, request.settings, request.utterance))
            return frames + self.encode(Flush())
        self._outstanding.asked(request)
        return [*frames, _message(request).to_json()]

    def receive(self, frame: str | bytes) -> None:
        """Take a frame from the server.

        Raises:
            InvalidRequest: the server does not speak this protocol.
            RemoteError: the server refused the session.
        """
        self.last_error = None
        if isinstance(frame, bytes) and is_audio(frame):
            piece = unpack(frame)
            name = self._numbers.get(piece.utterance)
            if name is None:
                raise InvalidRequest("The server sent sound of an utterance that has not begun.")
            self._events.append(Audio(name, piece.samples, piece.offset))
            return
        try:
            message = parse_server_message(frame)
        except InvalidRequest as invalid:
            if invalid.code == "unknown_type":
                return  # of a newer server
            raise
        self._take(message)

    def next_event(self) -> Event | None:
        """The next event, oldest first."""
        return self._events.popleft() if self._events else None

    def _take(self, message: ServerMessage) -> None:
        self._outstanding.answered(message)
        match message:
            case ReadyMessage():
                self.ready = message
            case UtteranceStartMessage(utterance=utterance, number=number):
                self._numbers = {number: utterance}  # utterances do not overlap
                settings = replace(self._spoken, format=AudioFormat(message.format))
                self._events.append(UtteranceStarted(utterance, settings))
            case CaptionsMessage():
                self._events.append(self._captions(message))
            case UtteranceCompleteMessage():
                self._events.append(
                    UtteranceCompleted(
                        message.utterance, message.duration_ms / 1000, message.elapsed_ms / 1000
                    )
                )
            case CancelledMessage():
                self._events.append(
                    UtteranceCancelled(
                        message.utterance,
                        message.played_ms / 1000,
                        message.text_spoken,
                        message.text_remaining,
                        message.final,
                    )
                )
            case ErrorMessage():
                self._failed(message)

    def _failed(self, message: ErrorMessage) -> None:
        wait_ms = message.retry_after_ms
        error = RemoteError(
            message.message,
            code=message.code,
            retryable=message.retryable,
            retry_after_s=None if wait_ms is None else wait_ms / 1000,
        )
        if self.ready is None:
            raise error
        if message.utterance is None:
            self.last_error = error
        self._events.append(Failed(message.utterance, error))

    def _captions(self, message: CaptionsMessage) -> SentenceStarted:
        words = tuple(
            SpokenWord(word.text, word.start, word.end, Span(*word.span)) for word in message.words
        )
        text = " ".join(word.text for word in words)
        sentence = Sentence(text, message.sentence, Span(*message.span), Boundary(message.boundary))
        return SentenceStarted(message.utterance, sentence, 0.0, words)


def _message(
    request: Append | Flush | Close | Configure | Cancel | Hold | Release | Discard,
) -> ClientMessage:
    match request:
        case Append(delta=delta, settings=settings, utterance=utterance, skip=skip):
            fields = {} if settings is None else _fields(settings)
            if skip is not None:
                fields["skip_samples"] = skip
            return TextMessage(text=delta, utterance=utterance, **fields)
        case Flush():
            return FlushMessage()
        case Configure(settings=settings):
            return ConfigureMessage(**_fields(settings))
        case Cancel(utterance=utterance, played_s=played_s):
            played_ms = None if played_s is None else played_s * 1000
            return CancelMessage(utterance=utterance, played_ms=played_ms)
        case Hold(utterance=utterance):
            return HoldMessage(utterance=utterance)
        case Release(utterance=utterance):
            return ReleaseMessage(utterance=utterance)
        case Discard(utterance=utterance):
            return DiscardMessage(utterance=utterance)
        case Close():
            return CloseMessage()


def _fields(settings: VoiceSettings) -> dict[str, Any]:
    pauses = settings.pauses
    fields = SpeechFields(
        voice=settings.voice,
        speed=settings.speed,
        language=settings.language,
        format=settings.format.value,
        pronunciations=tuple(
            PronunciationField(word=p.word, phonemes=p.phonemes, respelling=p.respelling)
            for p in settings.pronunciations
        ),
        pauses=None
        if pauses is None
        else PausesField(sentence=pauses.sentence, clause=pauses.clause, line=pauses.line),
    )
    return fields.model_dump(exclude_none=True)
