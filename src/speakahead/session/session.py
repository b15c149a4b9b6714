"""A speech session as a state machine: requests in, work out, results in, events out.

There is no socket, no clock, no thread and no model in here. The caller brings each request and
each result with the current time, hands out the work that ``next_work`` names, and sends what
``next_event`` returns::

    session.receive(Append("Hello there. How"), now)
    work = session.next_work()          # Sentence "Hello there."
    session.deliver(AudioReady(work, samples), now)
    session.next_event(now)             # SentenceReady, then UtteranceStarted, then Audio

Guarantees: utterances are spoken in the order of their requests and sentences in the order of
their text; every utterance that was accepted ends with exactly one ``UtteranceCompleted``,
``UtteranceCancelled`` or ``Failed`` (one whose sound has all been sent may still be cancelled
while it is being heard); no event of an utterance follows its end; ``SessionClosed`` is the last
event of all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import IllegalTransition, SpeakaheadError
from speakahead.session.events import (
    Append,
    Audio,
    AudioReady,
    Cancel,
    Close,
    Configure,
    Discard,
    Event,
    Failed,
    Flush,
    Hold,
    Pauses,
    Release,
    Request,
    Result,
    SentenceBegan,
    SentenceDone,
    SentenceFailed,
    SentenceStarted,
    SessionClosed,
    Speak,
    UtteranceCancelled,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
    Work,
)
from speakahead.session.limits import Limits
from speakahead.session.lineup import Lineup
from speakahead.session.outbox import Outbox
from speakahead.session.record import UtteranceRecord
from speakahead.session.utterance import Utterance
from speakahead.session.writing import Writing


class SessionState(StrEnum):
    """OPEN takes requests; CLOSING finishes what was accepted; CLOSED does nothing more."""

    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


class Session:
    """One client's speech, from requests to events. Not thread-safe."""

    def __init__(
        self,
        language_of: Callable[[VoiceSettings], str],
        *,
        defaults: VoiceSettings | None = None,
        limits: Limits | None = None,
        pauses: Pauses | None = None,
        name: str = "utterance",
    ) -> None:
        """Open a session.

        Args:
            language_of: gives the language tag of what is spoken with these settings; raises
                ``UnknownVoice`` or ``UnsupportedLanguage``.
            defaults: settings of requests that bring none.
            limits: see ``Limits``.
            pauses: silence after each sentence, where the settings do not say.
            name: prefix of the ids of utterances whose request names none.
        """
        self.state = SessionState.OPEN
        self.limits = limits or Limits()
        self._pauses = pauses or Pauses()
        self._lineup = Lineup(self.limits.cut_ahead)
        self._outbox = Outbox()
        self._writing = Writing(
            self._lineup,
            self._outbox,
            language_of,
            defaults or VoiceSettings(),
            self.limits,
            name,
        )
        self._handed_out: deque[tuple[Work, Utterance]] = deque()
        self._withdrawn: list[Work] = []

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
                    self._writing.speak(request, now)
                case Append():
                    self._writing.append(request, now)
                case Flush():
                    self._writing.end()
                case Configure(settings=settings):
                    self._writing.configure(settings)
                case Cancel():
                    self._cancel(request, now)
                case Hold(utterance=name):
                    self._lineup.hold(name, self._writing.current, now)
                case Release(utterance=name):
                    self._release(name)
                case Discard(utterance=name):
                    self._discard(name, now)
                case Close():
                    self._writing.end()
                    if self._lineup.held(None):
                        self._discard(None, now)  # what was never confirmed is not said
                    self.state = SessionState.CLOSING
        except SpeakaheadError as refused:
            if isinstance(request, Append) and self._writing.current is not None:
                self._fail(self._writing.current, refused, now)  # it would be spoken with a hole
            else:
                named = getattr(request, "utterance", None)
                self._outbox.put_urgent(Failed(named, refused))
        self._advance(now)

    def refuse(
        self,
        error: SpeakaheadError,
        now: float,
        utterance: str | None = None,
        *,
        text: bool = False,
    ) -> None:
        """Report a message that could not even be turned into a request.

        If it named the utterance that is being written, that utterance ends here. ``text``: it
        was a delta, without which nothing of its utterance is spoken.
        """
        if self.state is SessionState.CLOSED:
            return
        if text:
            self._writing.refuse(utterance)
        writing = self._writing.current
        if writing is not None and (writing.id == utterance or (text and utterance is None)):
            self._fail(writing, error, now)
        else:
            self._outbox.put_urgent(Failed(utterance, error))

    def abandon(self, now: float) -> None:
        """The client is gone: drop everything. No event follows."""
        self.state = SessionState.CLOSED
        for utterance in self._lineup.alive():
            self._record(utterance, "abandoned", now)
        self._lineup.clear()
        self._handed_out.clear()
        self._writing.current = None
        self._outbox.clear()

    @property
    def busy(self) -> bool:
        """Whether something is still to be spoken.

        Text that is only being written does not count, nor what waits for a release.
        """
        for utterance in self._lineup.pending:
            if utterance.held:
                return False
            if utterance.ended or utterance.waiting or utterance.outstanding:
                return True
        return False

    @property
    def congested(self) -> bool:
        """Whether the caller should stop reading text until results have come in.

        While all waits for a release, it should not, or it would never read that: text that is too
        much then is refused.
        """
        return self._writing.full and not self._lineup.blocked

    @property
    def unsent_samples(self) -> int:
        """Samples that wait to be taken with ``next_event``."""
        return self._outbox.unsent

    @property
    def pending_events(self) -> int:
        """How many events wait to be taken."""
        return len(self._outbox)

    # -- work ----------------------------------------------------------------------------------

    def next_work(self) -> Work | None:
        """The next sentence to synthesise, or None while there is none or enough is under way."""
        if len(self._handed_out) >= self.limits.work_ahead:
            return None
        found = self._lineup.next_sentence()
        if found is None:
            return None
        utterance, sentence = found
        pauses = utterance.settings.pauses or self._pauses
        pause_s = pauses.after(sentence.boundary)
        spoken = (utterance.id, sentence, utterance.settings, utterance.language, pause_s)
        work = Work(*spoken, begun=utterance.continued or utterance.started)
        utterance.outstanding += 1
        self._handed_out.append((work, utterance))
        return work

    @property
    def coming(self) -> int:
        """Characters that will be handed out later; for text that is being written, a guess."""
        return self._lineup.waiting + self._writing.coming

    def withdrawn(self) -> list[Work]:
        """Work that was handed out and is not wanted any more, since the last call."""
        works, self._withdrawn = self._withdrawn, []
        return works

    def deliver(self, result: Result, now: float) -> None:
        """Take a result of the work that was handed out first.

        Results of work that has been withdrawn are dropped.

        Raises:
            IllegalTransition: the result is not of the oldest work that is under way.
        """
        position = next((i for i, (w, _) in enumerate(self._handed_out) if w is result.work), None)
        if position is None:
            return
        if position > 0:
            raise IllegalTransition("A result must belong to the oldest work that is under way.")
        utterance = self._handed_out[0][1]
        match result:
            case SentenceBegan(words=words):
                self._start(utterance)
                if utterance.record.phonemes_at is None:
                    utterance.record.phonemes_at = now
                offset = utterance.began(result)
                started = SentenceStarted(utterance.id, result.work.sentence, offset, words)
                self._outbox.put(utterance, started)
            case AudioReady(samples=samples):
                self._start(utterance)
                if utterance.record.first_window_at is None:
                    utterance.record.first_window_at = now
                samples = samples[utterance.skipped(len(samples)) :]
                if len(samples):
                    self._outbox.put(utterance, Audio(utterance.id, samples, utterance.samples))
                utterance.samples += len(samples)
            case SentenceDone():
                self._handed_out.popleft()
                utterance.outstanding -= 1
                utterance.sentence_done()
            case SentenceFailed(error=error):
                self._handed_out.popleft()
                utterance.outstanding -= 1
                self._fail(utterance, error, now)
        self._advance(now)

    # -- events --------------------------------------------------------------------------------

    def next_event(self, now: float) -> Event | None:
        """Take the next event that may leave, oldest first; None while there is none.

        Sound that is taken counts as sent at ``now``: what a client has heard is reckoned from
        that, where it does not say.
        """
        return self._outbox.take(now)

    def unheard_s(self, now: float) -> float:
        """Seconds of sound that have been made and, as far as is known here, not been played."""
        pending = self._outbox.unsent / SAMPLE_RATE
        return pending + max(0.0, self._outbox.plays_until - now)

    def records(self) -> list[UtteranceRecord]:
        """The utterances that have ended since the last call."""
        records, self._outbox.records = self._outbox.records, []
        return records

    # -- interruption and holding back ---------------------------------------------------------

    def _cancel(self, request: Cancel, now: float) -> None:
        name = request.utterance
        self._outbox.silence(name)
        self._lineup.call_off(name)
        self._writing.interrupt(name)
        if self._lineup.is_stale(name):  # cancelled before, or before its text came
            self._outbox.put_urgent(UtteranceCancelled(name, 0.0, "", "", True))
        else:
            self._drop(self._lineup.interrupted(request, now), now)

    def _release(self, name: str | None) -> None:
        if not self._lineup.confirm(name) or name is None:
            for utterance in self._lineup.held(name):
                utterance.held = False

    def _discard(self, name: str | None, now: float) -> None:
        if self._lineup.call_off(name) and name is not None:
            self._outbox.put_urgent(UtteranceCancelled(name, 0.0, "", "", True))
        else:
            self._drop([(utterance, 0.0) for utterance in self._lineup.held(name)], now)

    def _drop(self, targets: list[tuple[Utterance, float]], now: float) -> None:
        """Forget utterances, and answer with what was heard of each."""
        for utterance, played_s in targets:
            self._withdraw(utterance)
            self._outbox.drop(utterance)
            self._lineup.remove(utterance)
            if self._writing.current is utterance:
                self._writing.current = None
            if not utterance.record.outcome:
                self._record(utterance, "cancelled", now)
            spoken, remaining = utterance.split_text(played_s)
            final = utterance is targets[-1][0]
            self._outbox.put_urgent(
                UtteranceCancelled(utterance.id, played_s, spoken, remaining, final)
            )
        if not targets:
            self._outbox.put_urgent(UtteranceCancelled(None, 0.0, "", "", True))
        self._outbox.plays_until = self._lineup.being_heard()

    # -- inside --------------------------------------------------------------------------------

    def _start(self, utterance: Utterance) -> None:
        if not utterance.started:
            utterance.started = True
            self._outbox.put(utterance, UtteranceStarted(utterance.id, utterance.settings))

    def _withdraw(self, utterance: Utterance) -> None:
        """Drop everything that is still to be done for an utterance."""
        self._lineup.stop(utterance)
        utterance.outstanding = 0
        self._withdrawn += [work for work, owner in self._handed_out if owner is utterance]
        self._handed_out = deque(pair for pair in self._handed_out if pair[1] is not utterance)

    def _fail(self, utterance: Utterance, error: SpeakaheadError, now: float) -> None:
        """End an utterance with an error, after the sound that has been made of it."""
        if not utterance.failed:
            utterance.failed = True
            utterance.held = False
            self._withdraw(utterance)
            self._outbox.put(utterance, Failed(utterance.id, error))
            self._record(utterance, error.code, now)

    def _record(self, utterance: Utterance, outcome: str, now: float) -> None:
        utterance.record.outcome = outcome
        utterance.record.ended_at = now
        self._outbox.records.append(utterance.record)

    def _advance(self, now: float) -> None:
        """Find the sentences that are needed next, and complete what is done, in order."""
        self._writing.cut(now)
        pending = self._lineup.pending
        while pending and pending[0].done:
            if pending[0].failed:
                pending.popleft()
                continue
            utterance = self._lineup.made()
            self._start(utterance)
            self._outbox.put(
                utterance,
                UtteranceCompleted(
                    utterance.id,
                    duration_s=utterance.samples / SAMPLE_RATE,
                    elapsed_s=now - utterance.record.requested_at,
                ),
            )
        if self.state is SessionState.CLOSING and not pending:
            self.state = SessionState.CLOSED
            self._outbox.put(None, SessionClosed())
