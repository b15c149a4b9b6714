"""Protocol 2 for a server: client messages to requests, events to frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import InvalidRequest
from speakahead.protocol.codec import (
    Frame,
    Incoming,
    KeptAlive,
    Opened,
    Outgoing,
    Warned,
    unexpected_hello,
)
from speakahead.protocol.framing import AudioFrame, encode_samples, pack
from speakahead.protocol.json import RefusedMessage, parse_object
from speakahead.protocol.messages import (
    CancelledMessage,
    CancelMessage,
    CaptionsMessage,
    CaptionWord,
    ClientMessage,
    CloseMessage,
    ConfigureMessage,
    DiscardMessage,
    ErrorMessage,
    FlushMessage,
    HoldMessage,
    KeepaliveMessage,
    PausesField,
    ReadyMessage,
    ReleaseMessage,
    ServerMessage,
    SpeechFields,
    TextMessage,
    UtteranceCompleteMessage,
    UtteranceStartMessage,
    WarningMessage,
    client_message,
)
from speakahead.session.events import (
    Append,
    Audio,
    AudioFormat,
    Cancel,
    Close,
    Configure,
    Discard,
    Failed,
    Flush,
    Hold,
    Pauses,
    Release,
    Request,
    SentenceStarted,
    UtteranceCancelled,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)
from speakahead.text.pronunciations import Pronunciation


class V2Codec:
    """Protocol 2 of one session. It knows the settings, which messages name only in part.

    Args:
        settings: of utterances that name none, until the client configures others.
        check: raises an ``InvalidRequest`` for settings that cannot be spoken, so that these
            never become the session's.
    """

    def __init__(
        self,
        settings: VoiceSettings,
        check: Callable[[VoiceSettings], object] = lambda settings: None,
    ) -> None:
        self.settings = settings
        self._check = check
        self._number = 0
        self._sequence = 0
        self._format = settings.format

    # -- in ------------------------------------------------------------------------------------

    def decode(self, frame: Frame) -> Incoming:
        """What a client means by one frame, text or binary.

        Raises:
            RefusedMessage: with code ``invalid_encoding``, ``invalid_json``, ``unknown_type``,
                ``invalid_request``, ``unexpected_hello`` or, for settings, what ``check`` raises.
        """
        value: dict[str, Any] = {}
        try:
            value = parse_object(frame)
            message = client_message(value)
            return KeptAlive() if isinstance(message, KeepaliveMessage) else self._request(message)
        except InvalidRequest as invalid:
            named = value.get("utterance")
            known = named if isinstance(named, str) and 0 < len(named) <= 128 else None
            raise RefusedMessage(invalid, known, text=value.get("type") == "text") from None

    def _request(self, message: ClientMessage) -> Request:
        match message:
            case TextMessage(text=text, utterance=utterance):
                changed = merge(self.settings, message)
                settings = None if changed == self.settings else changed
                return Append(text, settings, utterance, message.skip_samples)
            case FlushMessage():
                return Flush()
            case CancelMessage(utterance=utterance):
                return Cancel(utterance, _played_s(message))
            case HoldMessage(utterance=utterance):
                return Hold(utterance)
            case ReleaseMessage(utterance=utterance):
                return Release(utterance)
            case DiscardMessage(utterance=utterance):
                return Discard(utterance)
            case ConfigureMessage():
                changed = merge(self.settings, message)
                self._check(changed)
                self.settings = changed
                return Configure(changed)
            case CloseMessage():
                return Close()
            case _:
                raise unexpected_hello()

    # -- out -----------------------------------------------------------------------------------

    def encode(self, event: Outgoing) -> list[Frame]:
        """The frames for an event: text for messages, binary for sound."""
        if isinstance(event, Audio):
            return [self._audio(event)]
        message = self._message(event)
        return [] if message is None else [message.to_json()]

    def _audio(self, event: Audio) -> bytes:
        sequence, self._sequence = self._sequence, self._sequence + 1
        sound = encode_samples(event.samples, self._format)
        return pack(AudioFrame(self._format, self._number, sequence, event.offset, sound))

    def _message(self, event: Outgoing) -> ServerMessage | None:
        match event:
            case UtteranceStarted(utterance=utterance, settings=settings):
                # Utterances are sent one after the other, so one count is enough.
                self._number += 1
                self._sequence = 0
                self._format = settings.format
                return UtteranceStartMessage(
                    utterance=utterance,
                    number=self._number,
                    format=settings.format.value,
                    sample_rate=SAMPLE_RATE,
                )
            case SentenceStarted(words=words) if words:
                return _captions(event)
            case UtteranceCompleted():
                return UtteranceCompleteMessage(
                    utterance=event.utterance,
                    duration_ms=_ms(event.duration_s),
                    elapsed_ms=_ms(event.elapsed_s),
                )
            case UtteranceCancelled():
                return CancelledMessage(
                    utterance=event.utterance,
                    played_ms=_ms(event.played_s),
                    text_spoken=event.text_spoken,
                    text_remaining=event.text_remaining,
                    final=event.final,
                )
            case Failed(utterance=utterance, error=error):
                wait_s = error.retry_after_s
                return ErrorMessage(
                    utterance=utterance,
                    code=error.code,
                    message=error.message,
                    retryable=error.retryable,
                    retry_after_ms=None if wait_s is None else _ms(wait_s),
                )
            case Warned(code=code, message=text):
                return WarningMessage(code=code, message=text)
            case Opened(session=session, limits=limits):
                return ReadyMessage(
                    session=session,
                    sample_rate=SAMPLE_RATE,
                    format=self.settings.format.value,
                    limits=limits,
                )
            case _:
                return None


def merge(settings: VoiceSettings, fields: SpeechFields) -> VoiceSettings:
    """Settings with what a message names.

    A voice brings its own language with it, unless the message names one as well.

    Raises:
        InvalidRequest: the speed is out of range, or a pronunciation is not exactly one of
            phonemes and respelling.
    """
    changes: dict[str, Any] = {}
    if fields.voice is not None:
        changes |= {"voice": fields.voice, "language": None}
    if fields.language is not None:
        changes["language"] = fields.language
    if fields.speed is not None:
        changes["speed"] = fields.speed
    if fields.format is not None:
        changes["format"] = AudioFormat(fields.format)
    if fields.pronunciations is not None:
        changes["pronunciations"] = tuple(
            Pronunciation(p.word, p.phonemes, p.respelling) for p in fields.pronunciations
        )
    if fields.pauses is not None:
        changes["pauses"] = _pauses(settings.pauses or Pauses(), fields.pauses)
    return replace(settings, **changes)


def _pauses(pauses: Pauses, field: PausesField) -> Pauses:
    return replace(pauses, **field.model_dump(exclude_none=True))


def _played_s(message: CancelMessage) -> float | None:
    if message.played_samples is None:
        return None if message.played_ms is None else message.played_ms / 1000
    if message.played_ms is not None:
        raise InvalidRequest("Give either played_ms or played_samples, not both.")
    return message.played_samples / SAMPLE_RATE


def _captions(event: SentenceStarted) -> CaptionsMessage:
    sentence = event.sentence
    return CaptionsMessage(
        utterance=event.utterance,
        sentence=sentence.index,
        span=(sentence.span.start, sentence.span.end),
        boundary=sentence.boundary.value,
        words=tuple(
            CaptionWord(
                text=word.text,
                start=round(event.offset_s + word.start_s, 4),
                end=round(event.offset_s + word.end_s, 4),
                span=(word.span.start, word.span.end),
            )
            for word in event.words
        ),
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
