"""What a voice agent's turn sends its client: dictionaries that are ready to become JSON.

Over SSE they leave as they are. Over the WebSocket door the sound leaves as binary frames, in place
of ``audio_chunk``.

A turn is one stream of sound, in one format. Its time line, in seconds from its first sample, is
that of ``captions`` and ``interrupted``. Positions in the text count the characters of all
``text_delta`` of the turn.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from speakahead.agent.heard import Heard
from speakahead.errors import SpeakaheadError
from speakahead.session.events import SentenceStarted

Mode = Literal["bidi", "batch"]
StopReason = Literal["end_turn", "max_tokens", "interrupted", "error"]


class AgentStart(TypedDict):
    """The first event of a turn. ``session_id`` names the conversation in later requests."""

    type: Literal["agent_start"]
    mode: Mode
    session_id: str


class TextDelta(TypedDict):
    """More of the reply's text, as the model writes it."""

    type: Literal["text_delta"]
    text: str


class ToolEvent(TypedDict):
    """The model has called tools (``started``), or all their results are there (``ended``)."""

    type: Literal["tool"]
    state: Literal["started", "ended"]
    name: str


class AudioStreamStart(TypedDict):
    """Sound follows: mono, in this format."""

    type: Literal["audio_stream_start"]
    format: str
    sample_rate: int


class AudioChunk(TypedDict):
    """The next bytes of the stream of sound.

    ``sequence`` counts from 0; it has a gap only where an interruption dropped what the client had
    not taken yet. ``utterance`` and ``offset`` say which sound went into
    the encoder last: the position, in samples at 24 kHz, of its first one in that utterance.
    """

    type: Literal["audio_chunk"]
    audio: str
    sequence: int
    utterance: str
    offset: int


class CaptionWord(TypedDict):
    """A word: when it is heard, and where it stands in the text."""

    text: str
    start_s: float
    end_s: float
    start: int
    end: int


class Captions(TypedDict):
    """The sound of this sentence follows; ``words`` may be empty when their times are not known.

    ``start_s`` is that of its first word, or where the back end expects the sentence to begin.
    """

    type: Literal["captions"]
    utterance: str
    text: str
    start_s: float
    start: int
    end: int
    words: list[CaptionWord]


class UtteranceComplete(TypedDict):
    """All sound of an utterance has been sent."""

    type: Literal["utterance_complete"]
    utterance: str
    duration_s: float


class Interrupted(TypedDict):
    """The listener has interrupted: no more sound of this turn follows.

    ``text_spoken`` is what was heard, to the word; it is what the conversation remembers.
    """

    type: Literal["interrupted"]
    played_s: float
    text_spoken: str
    text_remaining: str


class AudioStreamEnd(TypedDict):
    """The stream of sound is complete, or has been cut off by an interruption."""

    type: Literal["audio_stream_end"]
    chunks: int
    duration_s: float


class Timings(TypedDict):
    """Seconds since the request came in; None: it did not come to that.

    ``first_sentence_s`` is when the model had completed its first sentence, ``model_done_s`` when
    it had written everything. ``audio_s`` is not a time but the length of the sound.
    """

    first_text_s: float | None
    first_sentence_s: float | None
    first_audio_s: float | None
    model_done_s: float | None
    total_s: float
    audio_s: float


class AgentEnd(TypedDict):
    """The last event of a turn."""

    type: Literal["agent_end"]
    stop_reason: StopReason
    timings: Timings


class ErrorEvent(TypedDict):
    """Something failed; the turn goes on with what is left of it, to its ``agent_end``.

    Where the speech has failed, that is the text.
    """

    type: Literal["error"]
    code: str
    message: str
    retryable: bool


AgentEvent = (
    AgentStart
    | TextDelta
    | ToolEvent
    | AudioStreamStart
    | AudioChunk
    | Captions
    | UtteranceComplete
    | Interrupted
    | AudioStreamEnd
    | AgentEnd
    | ErrorEvent
)


def captions_event(heard: Heard, event: SentenceStarted) -> Captions:
    """How a client is told of a sentence whose sound follows."""
    # From what every back end tells: one elsewhere gives words and spans, but no offset.
    time_base = heard.start_s(event.utterance)
    text_base = heard.text_start(event.utterance)
    span = event.sentence.span
    start_s = event.offset_s + (event.words[0].start_s if event.words else 0.0)
    return {
        "type": "captions",
        "utterance": event.utterance,
        "text": heard.text(event.utterance, span),
        "start_s": round(time_base + start_s, 3),
        "start": text_base + span.start,
        "end": text_base + span.end,
        "words": [
            {
                "text": word.text,
                "start_s": round(time_base + event.offset_s + word.start_s, 3),
                "end_s": round(time_base + event.offset_s + word.end_s, 3),
                "start": text_base + word.span.start,
                "end": text_base + word.span.end,
            }
            for word in event.words
        ],
    }


def interrupted_event(heard: Heard) -> Interrupted:
    """How a client is told what was heard."""
    return {
        "type": "interrupted",
        "played_s": round(heard.played_s, 3),
        "text_spoken": heard.text_spoken,
        "text_remaining": heard.text_remaining,
    }


def error_event(error: SpeakaheadError) -> ErrorEvent:
    """How a client is told of an error."""
    return {
        "type": "error",
        "code": error.code,
        "message": error.message,
        "retryable": error.retryable,
    }
