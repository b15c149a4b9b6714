"""What goes into a session, and what comes out of it.

Requests come from a client, results from the engine's side, events go to the client. All are plain
values; a door translates them to and from its own wire format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from speakahead.errors import InvalidRequest, SpeakaheadError
from speakahead.text.chunker import Boundary, Sentence
from speakahead.text.pronunciations import Pronunciation
from speakahead.text.spans import Span

MIN_SPEED, MAX_SPEED = 0.5, 2.0


@dataclass(frozen=True, slots=True)
class Pauses:
    """Seconds of silence after a sentence, by how it ended.

    Kokoro itself rests about 0.8 s between two sentences (0.46 s at the end of the one, 0.35 s at
    the head of the next). The engine trims both; these take their place.
    """

    sentence: float = 0.7
    clause: float = 0.15
    line: float = 0.75

    def after(self, boundary: Boundary) -> float:
        """The pause that follows a sentence with this end."""
        match boundary:
            case Boundary.CLAUSE:
                return self.clause
            case Boundary.LINE:
                return self.line
            case _:
                return self.sentence


class AudioFormat(StrEnum):
    """How a session's sound is written: little-endian samples, mono, 24 kHz."""

    S16LE = "s16le"
    F32LE = "f32le"


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """How an utterance is to be spoken.

    Attributes:
        voice: a voice, or a mix as in ``"af_heart:0.6+af_bella:0.4"``.
        speed: 0.5 to 2.
        language: language tag of the text; None: the voice's own.
        pronunciations: words that are not to be said as usual.
        pauses: silence after sentences; None: the server's.
        format: how the door writes the sound.

    Raises:
        InvalidRequest: speed is not a finite number in [0.5, 2.0].
    """

    voice: str = "af_heart"
    speed: float = 1.0
    language: str | None = None
    pronunciations: tuple[Pronunciation, ...] = ()
    pauses: Pauses | None = None
    format: AudioFormat = AudioFormat.S16LE

    def __post_init__(self) -> None:
        if not MIN_SPEED <= self.speed <= MAX_SPEED:  # also refuses not-a-number
            raise InvalidRequest(f"speed must be a number from {MIN_SPEED} to {MAX_SPEED}.")


# -- requests ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Speak:
    """Speak this text, which is complete, as one utterance."""

    text: str
    settings: VoiceSettings | None = None
    utterance: str | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """More text of an utterance that is still being written.

    The first delta opens the utterance; ``settings`` and ``skip`` of later ones are ignored. A
    delta that names another utterance than the one being written completes that one and opens its
    own.

    Attributes:
        skip: the utterance goes on from another session, and so many samples at its beginning the
            client has already; they count as sent. None: it is a new one.
    """

    delta: str
    settings: VoiceSettings | None = None
    utterance: str | None = None
    skip: int | None = None


@dataclass(frozen=True, slots=True)
class Flush:
    """The utterance that is being written is complete."""


@dataclass(frozen=True, slots=True)
class Close:
    """Finish what has been accepted, then end the session."""


@dataclass(frozen=True, slots=True)
class Configure:
    """Settings of utterances that begin from now on."""

    settings: VoiceSettings


@dataclass(frozen=True, slots=True)
class Cancel:
    """The listener has interrupted: drop what has not been heard.

    Attributes:
        utterance: the one to drop; None: everything.
        played_s: how much of that utterance (of the one being heard, where none is named) the
            client has played, in seconds from its first sample; None: what a client that plays
            without a pause would have played by now.
    """

    utterance: str | None = None
    played_s: float | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """Prepare an utterance, but do not let its sound out before it is released.

    None means the utterance that is being written, or the next one. An id that is not known yet
    means the utterance that will have it. Later utterances wait behind it.
    """

    utterance: str | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """Let the sound of a held utterance out; None: of all that are held."""

    utterance: str | None = None


@dataclass(frozen=True, slots=True)
class Discard:
    """Drop a held utterance, none of which was heard; None: all that are held."""

    utterance: str | None = None


Request = Speak | Append | Flush | Close | Configure | Cancel | Hold | Release | Discard


# -- work and its results ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Work:
    """One sentence to be synthesised, with the pause that follows it if it has any sound.

    ``begun``: some of its utterance has been spoken, in this session or another.
    """

    utterance: str
    sentence: Sentence
    settings: VoiceSettings
    language: str
    pause_s: float
    begun: bool = False


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word of a sentence: seconds from the sentence's first sample, span in the source text."""

    text: str
    start_s: float
    end_s: float
    span: Span


@dataclass(frozen=True, slots=True)
class SentenceBegan:
    """The sound of a sentence is about to come; ``words`` may be empty when not known."""

    work: Work
    words: tuple[SpokenWord, ...] = ()


@dataclass(frozen=True, slots=True)
class AudioReady:
    """The next piece of a sentence's sound: float32 [n] at 24 kHz."""

    work: Work
    samples: NDArray[np.float32] = field(repr=False)


@dataclass(frozen=True, slots=True)
class SentenceDone:
    """All sound of a sentence has been delivered (none, if nothing in it can be spoken)."""

    work: Work


@dataclass(frozen=True, slots=True)
class SentenceFailed:
    """A sentence could not be synthesised."""

    work: Work
    error: SpeakaheadError


Result = SentenceBegan | AudioReady | SentenceDone | SentenceFailed


# -- events -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SentenceReady:
    """A sentence of the incoming text is complete and waits to be spoken."""

    utterance: str
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class UtteranceStarted:
    """The utterance's sound follows, in the format of its settings."""

    utterance: str
    settings: VoiceSettings


@dataclass(frozen=True, slots=True)
class SentenceStarted:
    """The sound of this sentence follows.

    ``offset_s`` is where it begins, in seconds from the utterance's first sample. A sentence whose
    phonemes are too many for the model starts more than once, each time with its next words.
    """

    utterance: str
    sentence: Sentence
    offset_s: float
    words: tuple[SpokenWord, ...]


@dataclass(frozen=True, slots=True)
class Audio:
    """The next piece of an utterance's sound: float32 [n] at 24 kHz.

    ``offset`` is the position of its first sample in the utterance.
    """

    utterance: str
    samples: NDArray[np.float32] = field(repr=False)
    offset: int = 0


@dataclass(frozen=True, slots=True)
class UtteranceCompleted:
    """The utterance has been spoken to its end.

    ``duration_s`` is the length of its sound; ``elapsed_s`` the time since it was requested.
    """

    utterance: str
    duration_s: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class UtteranceCancelled:
    """The answer to ``Cancel`` and ``Discard``; no event of this utterance follows.

    Attributes:
        utterance: None where there was nothing to drop.
        played_s: seconds of its sound that were heard.
        text_spoken: the source text up to the last word that was heard, to the word.
        text_remaining: the rest of the text that had come in.
        final: whether this is the last answer to that request, which may drop several utterances.
    """

    utterance: str | None
    played_s: float
    text_spoken: str
    text_remaining: str
    final: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """A request was refused, or an utterance ends here with an error; the session goes on.

    ``utterance`` is None when the error belongs to no utterance.
    """

    utterance: str | None
    error: SpeakaheadError


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """The last event of a session."""


Event = (
    SentenceReady
    | UtteranceStarted
    | SentenceStarted
    | Audio
    | UtteranceCompleted
    | UtteranceCancelled
    | Failed
    | SessionClosed
)
