"""A speech session as a state machine: requests in, work out, results in, events out.

There is no socket, no clock, no thread and no model in here. The caller brings each request and
each result with the current time, hands out the work that ``next_work`` names, and sends what
``events`` returns::

    session.receive(Append("Hello there. How"), now)
    work = session.next_work()          # Sentence "Hello there."
    session.deliver(AudioReady(work, samples), now)
    session.events()                    # [SentenceReady, UtteranceStarted, Audio]

Guarantees: utterances are spoken in the order of their requests and sentences in the order of
their text; every utterance that was accepted ends with exactly one ``UtteranceCompleted`` or
``Failed``; ``SessionClosed`` is the last event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import IllegalTransition, InvalidRequest, SpeakaheadError, TextTooLong
from speakahead.session.events import (
    Append,
    Audio,
    AudioReady,
    Close,
    Event,
    Failed,
    Flush,
    Pauses,
    Request,
    Result,
    SentenceBegan,
    SentenceDone,
    SentenceFailed,
    SentenceReady,
    SentenceStarted,
    SessionClosed,
    Speak,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
    Work,
)
from speakahead.text.chunker import IncrementalSentenceChunker, Sentence


class SessionState(StrEnum):
    """OPEN takes requests; CLOSING finishes what was accepted; CLOSED does nothing more."""

    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a session accepts.

    Attributes:
        max_text: characters in one request; more is refused with ``text_too_long``.
        max_waiting: characters of complete sentences that may wait for the engine before the
            session is ``congested`` and its caller should stop reading requests.
        max_utterances: utterances that may wait; more also make the session congested.
        work_ahead: sentences handed out at a time. Two keep the engine busy without a gap, and
            leave little to undo when the session is interrupted.
        soft_limit: characters after which an endless sentence is cut at a clause.
    """

    max_text: int = 20_000
    max_waiting: int = 8_000
    max_utterances: int = 64
    work_ahead: int = 2
    soft_limit: int = 200


@dataclass(slots=True, eq=False)
class _Utterance:
    id: str
    settings: VoiceSettings
    language: str
    chunker: IncrementalSentenceChunker
    requested_at: float
    waiting: deque[Sentence] = field(default_factory=deque)
    outstanding: int = 0
    ended: bool = False  # no more text will come
    started: bool = False  # UtteranceStarted has been emitted
    failed: bool = False
    samples: int = 0


class Session:
    """One client's speech, from requests to events. Not thread-safe."""

    def __init__(
        self,
        language_of: Callable[[str], str],
        *,
        defaults: VoiceSettings | None = None,
        limits: Limits | None = None,
        pauses: Pauses | None = None,
        name: str = "utterance",
    ) -> None:
        """Open a session.

        Args:
            language_of: gives the language tag of a voice; raises ``UnknownVoice`` or
                ``UnsupportedLanguage``.
            defaults: settings of requests that bring none.
            limits: see ``Limits``.
            pauses: silence after each sentence.
            name: prefix of the ids of utterances whose request names none.
        """
        self.state = SessionState.OPEN
        self.limits = limits or Limits()
        self._language_of = language_of
        self._defaults = defaults or VoiceSettings()
        self._pauses = pauses or Pauses()
        self._name = name
        self._counter = 0
        self._utterances: deque[_Utterance] = deque()
        self._writing: _Utterance | None = None  # takes the next delta
        self._discarding = False  # the utterance being written was refused at its first delta
        self._handed_out: deque[tuple[Work, _Utterance]] = deque()
        self._events: list[Event] = []

    # -- requests ------------------------------------------------------------------------------

    def receive(self, request: Request, now: float) -> None:
        """Take a request from the client at time ``now`` (seconds, any origin).

        A request that cannot be served leads to a ``Failed`` event; the session goes on.

        Raises:
            IllegalTransition: the session is closing or closed.
        """
        if self.state is not SessionState.OPEN:
            raise IllegalTransition(f"A session that is {self.state} takes no more requests.")
        try:
            match request:
                case Speak():
                    self._speak(request, now)
                case Append():
                    self._append(request, now)
                case Flush():
                    self._end_writing()
                case Close():
                    self._end_writing()
                    self.state = SessionState.CLOSING
        except SpeakaheadError as refused:
            utterance = request.utterance if isinstance(request, Speak | Append) else None
            self._events.append(Failed(utterance, refused))
        self._advance(now)

    def refuse(self, error: SpeakaheadError, utterance: str | None = None) -> None:
        """Report a message that could not even be turned into a request.

        If it named the utterance that is being written, that utterance ends here.
        """
        if self.state is SessionState.CLOSED:
            return
        if self._writing is not None and self._writing.id == utterance:
            self._fail(self._writing, error)
        else:
            self._events.append(Failed(utterance, error))

    def abandon(self) -> None:
        """The client is gone: drop everything. No event follows."""
        self.state = SessionState.CLOSED
        self._utterances.clear()
        self._handed_out.clear()
        self._writing = None
        self._events.clear()

    @property
    def busy(self) -> bool:
        """Whether something is still to be spoken; text that is only being written is not."""
        return any(u.ended or u.waiting or u.outstanding for u in self._utterances)

    @property
    def congested(self) -> bool:
        """Whether the caller should stop reading requests until results have come in."""
        waiting = sum(len(s.text) for u in self._utterances for s in u.waiting)
        return (
            waiting > self.limits.max_waiting or len(self._utterances) > self.limits.max_utterances
        )

    # -- work ----------------------------------------------------------------------------------

    def next_work(self) -> Work | None:
        """The next sentence to synthesise, or None while there is none or enough is under way."""
        if len(self._handed_out) >= self.limits.work_ahead:
            return None
        for utterance in self._utterances:
            if utterance.waiting:
                sentence = utterance.waiting.popleft()
                work = Work(
                    utterance.id,
                    sentence,
                    utterance.settings,
                    utterance.language,
                    self._pauses.after(sentence.boundary),
                )
                utterance.outstanding += 1
                self._handed_out.append((work, utterance))
                return work
            if not utterance.ended:
                return None  # its next sentence comes before any later utterance's
        return None

    def deliver(self, result: Result, now: float) -> None:
        """Take a result of the work that was handed out first.

        Results for a session that was abandoned are dropped.

        Raises:
            IllegalTransition: the result is not of the oldest work that is under way.
        """
        if self.state is SessionState.CLOSED:
            return
        if not self._handed_out or self._handed_out[0][0] is not result.work:
            raise IllegalTransition("A result must belong to the oldest work that is under way.")
        utterance = self._handed_out[0][1]
        match result:
            case SentenceBegan(words=words) if not utterance.failed:
                self._start(utterance)
                offset = utterance.samples / SAMPLE_RATE
                self._events.append(
                    SentenceStarted(utterance.id, result.work.sentence, offset, words)
                )
            case AudioReady(samples=samples) if not utterance.failed:
                self._start(utterance)
                utterance.samples += len(samples)
                self._events.append(Audio(utterance.id, samples))
            case SentenceDone():
                self._handed_out.popleft()
                utterance.outstanding -= 1
            case SentenceFailed(error=error):
                self._handed_out.popleft()
                utterance.outstanding -= 1
                self._fail(utterance, error)
        self._advance(now)

    def events(self) -> list[Event]:
        """The events since the last call, oldest first."""
        events, self._events = self._events, []
        return events

    # -- inside --------------------------------------------------------------------------------

    def _open(self, request: Speak | Append, now: float) -> _Utterance:
        settings = request.settings or self._defaults
        language = self._language_of(settings.voice)
        self._counter += 1
        utterance = _Utterance(
            id=request.utterance or f"{self._name}-{self._counter}",
            settings=settings,
            language=language,
            chunker=IncrementalSentenceChunker(language, soft_limit=self.limits.soft_limit),
            requested_at=now,
        )
        self._utterances.append(utterance)
        return utterance

    def _speak(self, request: Speak, now: float) -> None:
        self._check_length(request.text)
        if not request.text.strip():
            raise InvalidRequest("The text is empty.", code="empty_text")
        self._language_of((request.settings or self._defaults).voice)  # before anything is ended
        self._end_writing()
        utterance = self._open(request, now)
        self._take(utterance, utterance.chunker.feed(request.text))
        self._end(utterance)

    def _append(self, request: Append, now: float) -> None:
        if self._discarding:
            return
        if self._writing is None and not request.delta:
            return  # some models begin with an empty delta
        try:
            self._check_length(request.delta)
            if self._writing is None:
                self._writing = self._open(request, now)
        except SpeakaheadError as refused:
            # An utterance with a hole in it is not spoken on: what follows is dropped as well.
            if self._writing is None:
                self._discarding = True
                raise
            self._fail(self._writing, refused)
        if not self._writing.failed:
            self._take(self._writing, self._writing.chunker.feed(request.delta))

    def _check_length(self, text: str) -> None:
        if len(text) > self.limits.max_text:
            raise TextTooLong(
                f"A request may hold {self.limits.max_text:,} characters; send the text in parts."
            )

    def _end_writing(self) -> None:
        self._discarding = False
        if self._writing is not None:
            self._end(self._writing)
            self._writing = None

    def _end(self, utterance: _Utterance) -> None:
        if not utterance.failed:
            self._take(utterance, utterance.chunker.flush())
        utterance.ended = True

    def _take(self, utterance: _Utterance, sentences: list[Sentence]) -> None:
        # A block of code is shown, not read aloud.
        utterance.waiting.extend(sentence for sentence in sentences if not sentence.fenced)
        self._events += [SentenceReady(utterance.id, sentence) for sentence in sentences]

    def _start(self, utterance: _Utterance) -> None:
        if not utterance.started:
            utterance.started = True
            self._events.append(UtteranceStarted(utterance.id))

    def _fail(self, utterance: _Utterance, error: SpeakaheadError) -> None:
        if not utterance.failed:
            utterance.failed = True
            utterance.waiting.clear()
            self._events.append(Failed(utterance.id, error))

    def _advance(self, now: float) -> None:
        """Complete what is done, in order."""
        while self._utterances:
            utterance = self._utterances[0]
            if not utterance.ended or utterance.waiting or utterance.outstanding:
                break
            self._utterances.popleft()
            if not utterance.failed:
                self._start(utterance)
                self._events.append(
                    UtteranceCompleted(
                        utterance.id,
                        duration_s=utterance.samples / SAMPLE_RATE,
                        elapsed_s=now - utterance.requested_at,
                    )
                )
        if self.state is SessionState.CLOSING and not self._utterances:
            self.state = SessionState.CLOSED
            self._events.append(SessionClosed())
