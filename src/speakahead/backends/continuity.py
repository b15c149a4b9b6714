"""A session that goes on over several connections, without I/O.

A *leg* is one connection's session with the server. ``Continuity`` remembers what the client has
asked for and what has come, so that another leg can go on where this one stops: exactly there,
because the same sentence has the same sound. Two ways lead from one leg to the next:

* ``resume``, after a leg was lost: the sentence that was being spoken is spoken again, and what
  had come of it is passed over.
* ``hand_over``, before a leg ends: the next one begins with the sentence after the one that is
  being spoken, and makes its sound while the old one finishes. ``handed_over`` says when it has.

Names, positions and times in events are those of the whole session.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.followed import Followed, Opening
from speakahead.backends.interruptions import Interruptions
from speakahead.protocol.messages import REQUEST_REFUSED
from speakahead.session.events import (
    Append,
    Audio,
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
    SentenceReady,
    SentenceStarted,
    SessionClosed,
    Speak,
    SpokenWord,
    UtteranceCancelled,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)
from speakahead.session.utterance import Stretch
from speakahead.text.chunker import Boundary

_HELD_NAMES = 64
_STALE = 256  # names of cancelled utterances, whose late text is dropped
_OF_THE_CONNECTION = frozenset({"session_expired", "idle_timeout", "shutting_down"})


class Continuity:
    """See the module. Not thread-safe; times are in seconds, of any origin.

    Attributes:
        settings: of utterances whose requests bring none.
        closing: no request follows.
        handed_over: the old leg has done its part; all that follows is the next one's.
    """

    def __init__(self, settings: VoiceSettings | None = None) -> None:
        self.settings = settings or VoiceSettings()
        self.closing = False
        self.handed_over = False
        self._utterances: deque[Followed] = deque()
        self._writing: Followed | None = None
        self._opening = Opening()
        self._refused: str | None = None  # what is being written has ended already
        self._stale: deque[str] = deque(maxlen=_STALE)
        self._hold_next = False
        self._hold_names: deque[str] = deque()  # of utterances to come
        self._counter = 0
        self._plays_until = float("-inf")
        self._interruptions = Interruptions()
        self._leaving: Followed | None = None
        self._cut = 0  # where the next leg's text of it begins
        self._events: deque[Event] = deque()

    @property
    def pending(self) -> bool:
        """Whether a leg is needed to bring what is still to come."""
        return bool(self._utterances or self._interruptions.due or self.closing)

    @property
    def characters(self) -> int:
        """Characters of utterances that have not ended."""
        return sum(len(utterance.text) for utterance in self._utterances)

    @property
    def waiting(self) -> int:
        """How many events wait to be taken."""
        return len(self._events)

    @property
    def settled(self) -> bool:
        """Whether the session can be handed over.

        Not while an answer is due, something is held, a sentence is spoken that will go on, or
        the leg has not reached what it has to add.
        """
        held = self._hold_next or self._hold_names or any(u.held for u in self._utterances)
        first = self._utterances[0] if self._utterances else None
        held = held or self._interruptions.due
        return not (held or (first and (first.goes_on or first.untouched)))

    def next_event(self) -> Event | None:
        """The next event for the client, oldest first."""
        return self._events.popleft() if self._events else None

    # -- requests ------------------------------------------------------------------------------

    def request(self, request: Request, now: float) -> list[Request]:
        """Take a request of the client; returns what to send in its place, to the newest leg."""
        match request:
            case Speak(text=text, settings=settings, utterance=name):
                requests = self._end_writing()
                requests += self._append(Append(text, settings, name))
                return requests + self._end_writing()
            case Append():
                return self._append(request)
            case Flush():
                return self._end_writing() or [request]
            case Configure(settings=settings):
                self.settings = settings
            case Cancel():
                return self._cancel(request, now)
            case Hold(utterance=name):
                self._hold(name)
            case Release(utterance=name):
                self._announced(name)
                for utterance in self._named(name):
                    utterance.held = False
            case Discard(utterance=name):
                self._announced(name, unsaid=True)
                targets = [u for u in self._named(name) if u.held]
                self._doom(targets)
                self._interruptions.ask(request, targets)
            case Close():
                self._end_writing()
                self.closing = True
        return [request]

    def _hold(self, name: str | None) -> None:
        held = self._named(name) if name else [self._writing] if self._writing else []
        for utterance in held:
            utterance.held = True
        if not held and name and len(self._hold_names) < _HELD_NAMES:
            self._hold_names.append(name)
        elif not held:
            self._hold_next = True

    def _announced(self, name: str | None, *, unsaid: bool = False) -> None:
        """What is held before it is there waits no more (None: nothing does), or is not said."""
        self._stale.extend(n for n in self._hold_names if unsaid and name in (None, n))
        self._hold_next = self._hold_next and name is not None
        self._hold_names = deque(n for n in self._hold_names if name not in (None, n))

    def _append(self, request: Append) -> list[Request]:
        name = request.utterance
        if name in self._stale or (self._refused is not None and name in (None, self._refused)):
            return []
        self._refused = None
        requests: list[Request] = []
        if self._writing is not None and name not in (None, self._writing.name):
            requests = self._end_writing()
        settings = None
        if self._writing is None:
            request = self._opening.joined(request)
            name = request.utterance
            if not request.delta:
                return requests
            if name is not None and self._named(name):
                return [*requests, request]  # it is complete, which the leg will say
            self._counter += 1
            settings = request.settings or self.settings
            self._writing = Followed(name or f"utterance-{self._counter}", settings)
            self._writing.held = self._hold_next or name in self._hold_names
            self._hold_next = False
            self._hold_names = deque(n for n in self._hold_names if n != name)
            self._utterances.append(self._writing)
        self._writing.text += request.delta
        return [*requests, Append(request.delta, settings, self._writing.name)]

    def _end_writing(self) -> list[Request]:
        self._refused = None
        self._opening.forget()
        if self._writing is None:
            return []
        self._writing.ended = True
        self._writing = None
        return [Flush()]

    def _cancel(self, request: Cancel, now: float) -> list[Request]:
        self._stale.extend(self._opening.forget(request.utterance))
        self._announced(request.utterance, unsaid=True)
        if self._refused and request.utterance in (None, self._refused):
            self._stale.append(self._refused)
            self._refused = None
        earlier = self._interruptions.answer_for_earlier_legs(request, now)
        self._events.extend(earlier)
        if earlier and request.utterance is not None:
            return []
        if earlier:  # so nothing of what the leg knows has been heard
            request = replace(request, played_s=0.0)
        targets = self._named(request.utterance)
        self._doom(targets)
        if self._leaving is not None:
            self._events.extend(self._interruptions.answer_instead(request, targets, now))
            if self._leaving in targets:
                self._leave()
            for utterance in targets:
                self._forget(utterance)
            return [request]
        self._interruptions.ask(request, targets)
        if request.played_s is not None and targets and targets[0].base[1]:
            request = replace(request, played_s=max(0.0, request.played_s - targets[0].base_s))
        return [request]

    def _named(self, name: str | None) -> list[Followed]:
        return [u for u in self._utterances if name is None or u.name == name]

    def _doom(self, targets: list[Followed]) -> None:
        """Utterances that an interruption drops take no more text."""
        self._stale.extend(utterance.name for utterance in targets)
        if self._writing in targets:
            self._writing = None

    # -- events --------------------------------------------------------------------------------

    def observe(self, event: Event, now: float) -> None:
        """Take an event of the leg that is listened to; see ``next_event``."""
        match event:
            case SessionClosed():
                self._events.append(event)
                return
            case UtteranceCancelled():
                self._cancelled(event, now)
                return
            case Failed(utterance=None, error=error):
                if error.code not in _OF_THE_CONNECTION:
                    self._events.append(event)
                return
            case Failed(utterance=name, error=error) if error.code in REQUEST_REFUSED:
                self._refused_request(name, error.code)
                self._events.append(event)
                return
        found = self._named(event.utterance or "")
        if not found:
            if isinstance(event, Failed):
                self._events.append(event)
            return
        utterance = found[0]
        if self._leaving is not None and self._done_its_part(utterance, event):
            self._leave()
            return
        match event:
            case UtteranceStarted():
                if not utterance.started:
                    utterance.started = True
                    self._events.append(replace(event, settings=utterance.settings))
            case SentenceStarted():
                self._sentence(utterance, event)
            case Audio():
                self._audio(utterance, event, now)
            case UtteranceCompleted():
                self._forget(utterance)
                self._interruptions.completed(utterance)
                duration_s = utterance.samples / SAMPLE_RATE
                self._events.append(replace(event, duration_s=duration_s))
            case Failed():
                if utterance is self._writing:
                    self._refused = utterance.name
                self._forget(utterance)
                self._events.append(event)
                if utterance is self._leaving:
                    self._leave()
            case SentenceReady(sentence=sentence):
                moved = replace(sentence, span=utterance.moved(sentence.span))
                self._events.append(replace(event, sentence=moved))

    def _refused_request(self, name: str | None, code: str) -> None:
        self._interruptions.refused(name)
        if code == "already_spoken":  # a hold that came too late
            for utterance in self._named(name):
                utterance.held = False

    def _forget(self, utterance: Followed) -> None:
        self._utterances.remove(utterance)
        if self._writing is utterance:
            self._writing = None

    def _sentence(self, utterance: Followed, event: SentenceStarted) -> None:
        if utterance.parts_known:
            utterance.parts_known -= 1
            utterance.untouched = utterance.parts_known > 0
            return
        utterance.untouched = False
        span = utterance.moved(event.sentence.span)
        if span.end > utterance.ends:
            # What follows a cut within a sentence would be read another way without what precedes.
            if not utterance.goes_on:
                utterance.begins, utterance.parts = (span.start, utterance.samples), 0
            utterance.ends = span.end
            utterance.goes_on = event.sentence.boundary is Boundary.CLAUSE
        utterance.parts += 1
        base_s = utterance.base_s
        words = tuple(
            SpokenWord(w.text, w.start_s + base_s, w.end_s + base_s, utterance.moved(w.span))
            for w in event.words
        )
        utterance.heard += [Stretch(w.start_s, w.end_s, w.span.end) for w in words]
        sentence = replace(event.sentence, span=span)
        self._events.append(replace(event, sentence=sentence, words=words))

    def _audio(self, utterance: Followed, event: Audio, now: float) -> None:
        known = utterance.samples - (event.offset + utterance.base[1])
        if known >= len(event.samples):
            return  # it had come on another leg
        samples = event.samples[known:] if known > 0 else event.samples
        self._events.append(Audio(utterance.name, samples, utterance.samples))
        utterance.samples += len(samples)
        self._plays_until = max(self._plays_until, now) + len(samples) / SAMPLE_RATE
        utterance.plays_until = self._plays_until

    def _cancelled(self, event: UtteranceCancelled, now: float) -> None:
        targets = self._named(event.utterance or "")
        answer = self._interruptions.answered_by_leg(event, targets, now)
        if answer is not None:
            self._events.append(answer)
            for utterance in targets:
                self._forget(utterance)

    def close_here(self) -> bool:
        """Close the session without a leg, if nothing else is left to do; whether it is closed."""
        closed = self.closing and not self._utterances and not self._interruptions.due
        if closed:
            self._events.append(SessionClosed())
        return closed

    # -- from leg to leg -----------------------------------------------------------------------

    def resume(self, now: float) -> list[Request]:
        """The leg is lost: what to send to the next one. What the leg still owed is answered."""
        for answer in self._interruptions.leg_lost(self._utterances, now):
            self._events.append(answer)
            for utterance in self._named(answer.utterance or ""):
                self._forget(utterance)
        self._interruptions.next_leg()
        self._leaving, self.handed_over = None, False
        requests: list[Request] = []
        for utterance in self._utterances:
            utterance.legs += 1
            utterance.untouched = utterance.parts > 0
            utterance.base = utterance.begins
            utterance.parts_known = utterance.parts
            start, sample = utterance.begins
            requests += utterance.again(start, utterance.samples - sample)
        return requests + self._rest()

    def hand_over(self) -> list[Request] | None:
        """Let another leg go on after the sentence that is being spoken.

        Returns:
            What to send to the next leg now. The old one is to be sent a ``Flush``, and then
            nothing. None: nothing is being spoken; leave the old one at once, and ``resume``.
        """
        if not self._utterances or not self._utterances[0].ends:
            return None
        self._leaving = first = self._utterances[0]
        # One character of it stands in for the next leg's blank where there is no text yet.
        self._cut = first.ends - (first.ends == len(first.text))
        requests: list[Request] = []
        for utterance in self._utterances:
            requests += utterance.again(utterance.ends)
        return requests + self._rest()

    def _rest(self) -> list[Request]:
        requests: list[Request] = [Hold(name) for name in self._hold_names]
        requests += [Hold()] if self._hold_next else []
        return [*requests, Close()] if self.closing else requests

    def _done_its_part(self, utterance: Followed, event: Event) -> bool:
        if utterance is not self._leaving:
            return True
        if isinstance(event, SentenceStarted):
            return utterance.moved(event.sentence.span).start >= utterance.ends
        return isinstance(event, UtteranceCompleted)

    def _leave(self) -> None:
        """What comes from now on is the next leg's."""
        assert self._leaving is not None
        leaving, self._leaving = self._leaving, None
        leaving.legs += 1
        leaving.untouched = True
        leaving.base = (self._cut, leaving.samples)
        self._interruptions.next_leg()
        self.handed_over = True
