"""A session that goes on over several connections, without I/O.

A *leg* is one connection's session with the server. ``Continuity`` remembers what the client has
asked for and what has come, so that another leg can go on where this one stops: exactly there,
because the same sentence has the same sound. Two ways lead from one leg to the next:

* ``resume``, after a leg was lost: the sentence that was being spoken is spoken again, and what
  had come of it is passed over.
* ``hand_over``, before a leg ends: the next one begins with the sentence after the one that is
  being spoken, and makes its sound while the old one finishes. ``handed_over`` says when it has.

Names, positions and times in events are those of the whole session, whichever leg they come from.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.followed import Followed
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

_STALE = 256  # names of cancelled utterances, whose late text is dropped
_OF_THE_CONNECTION = frozenset({"session_expired", "idle_timeout", "shutting_down"})


@dataclass(slots=True)
class _Due:
    """An answer that the leg owes, and the utterances that it will name."""

    request: Cancel | Discard
    targets: list[Followed]


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
        self._refused: str | None = None  # what is being written has ended already
        self._stale: deque[str] = deque(maxlen=_STALE)
        self._hold_next = False
        self._counter = 0
        self._due: deque[_Due] = deque()
        self._unwanted = 0  # answers of the next leg that have been given here
        self._leaving: Followed | None = None
        self._cut = 0  # where the next leg's text of it begins
        self._events: deque[Event] = deque()

    @property
    def pending(self) -> bool:
        """Whether a leg is needed to bring what is still to come."""
        return bool(self._utterances or self._due or self.closing)

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
        held = self._hold_next or any(utterance.held for utterance in self._utterances)
        first = self._utterances[0] if self._utterances else None
        return not (self._due or held or (first and (first.goes_on or first.untouched)))

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
                held = self._named(name) if name else [self._writing] if self._writing else []
                self._hold_next = self._hold_next or (name is None and not held)
                for utterance in held:
                    utterance.held = True
            case Release(utterance=name):
                self._hold_next = self._hold_next and name is not None
                for utterance in self._named(name):
                    utterance.held = False
            case Discard(utterance=name):
                targets = [u for u in self._named(name) if u.held]
                self._doom(targets)
                self._due.append(_Due(request, targets))
            case Close():
                self._end_writing()
                self.closing = True
        return [request]

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
            if not request.delta:
                return requests
            self._counter += 1
            settings = request.settings or self.settings
            self._writing = Followed(name or f"utterance-{self._counter}", settings)
            self._writing.held, self._hold_next = self._hold_next, False
            self._utterances.append(self._writing)
        self._writing.text += request.delta
        return [*requests, Append(request.delta, settings, self._writing.name)]

    def _end_writing(self) -> list[Request]:
        self._refused = None
        if self._writing is None:
            return []
        self._writing.ended = True
        self._writing = None
        return [Flush()]

    def _cancel(self, request: Cancel, now: float) -> list[Request]:
        targets = self._named(request.utterance)
        self._doom(targets)
        due = _Due(request, targets)
        if self._leaving is not None:
            # The old leg does not know all of it any more, nor does the next one.
            self._answer(due, now)
            self._unwanted += 1
            if self._leaving in targets:
                self._leave()
        else:
            self._due.append(due)
            if request.played_s is not None and targets and targets[0].base[1]:
                played_s = max(0.0, request.played_s - targets[0].base_s)
                return [replace(request, played_s=played_s)]
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
        utterance.plays_until = max(utterance.plays_until, now) + len(samples) / SAMPLE_RATE

    def _cancelled(self, event: UtteranceCancelled, now: float) -> None:
        if self._unwanted:
            self._unwanted -= event.final
            return
        request = self._due[0].request if self._due else None
        if event.final and self._due:
            self._due.popleft()
        for utterance in self._named(event.utterance or ""):
            self._forget(utterance)
            if utterance.legs > 1:  # the leg has not seen all of it
                asked = request.played_s if isinstance(request, Cancel) else None
                event = utterance.cancelled(asked, now, final=event.final)
        self._events.append(event)

    def close_here(self) -> bool:
        """Close the session without a leg, if nothing else is left to do; whether it is closed."""
        closed = self.closing and not self._utterances and not self._due
        if closed:
            self._events.append(SessionClosed())
        return closed

    # -- from leg to leg -----------------------------------------------------------------------

    def resume(self, now: float) -> list[Request]:
        """The leg is lost: what to send to the next one. What the leg still owed is answered."""
        for due in self._due:
            self._answer(due, now)
        self._due.clear()
        self._leaving, self.handed_over, self._unwanted = None, False, 0
        requests: list[Request] = []
        for utterance in self._utterances:
            utterance.legs += 1
            utterance.untouched = utterance.parts > 0
            utterance.base = utterance.begins
            utterance.parts_known = utterance.parts
            known = utterance.samples - utterance.begins[1]
            requests += self._again(utterance, utterance.begins[0], known)
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
            requests += self._again(utterance, utterance.ends)
        return requests + self._rest()

    def _again(self, utterance: Followed, start: int, known: int = 0) -> list[Request]:
        # A blank where there is nothing, for without text there is no utterance.
        rest = utterance.text[start:] or " "
        requests: list[Request] = [Hold(utterance.name)] if utterance.held else []
        continued = known if utterance.started else None
        requests.append(Append(rest, utterance.settings, utterance.name, continued))
        return [*requests, Flush()] if utterance.ended else requests

    def _rest(self) -> list[Request]:
        requests: list[Request] = [Hold()] if self._hold_next else []
        return [*requests, Close()] if self.closing else requests

    def _done_its_part(self, utterance: Followed, event: Event) -> bool:
        leaving = self._leaving
        if utterance is not leaving:
            return True
        if isinstance(event, SentenceStarted):
            return utterance.moved(event.sentence.span).start >= leaving.ends
        return isinstance(event, UtteranceCompleted)

    def _leave(self) -> None:
        """What comes from now on is the next leg's."""
        assert self._leaving is not None
        leaving, self._leaving = self._leaving, None
        leaving.legs += 1
        leaving.untouched = True
        leaving.base = (self._cut, leaving.samples)
        self.handed_over = True

    def _answer(self, due: _Due, now: float) -> None:
        played_s = due.request.played_s if isinstance(due.request, Cancel) else 0.0
        targets = [u for u in due.targets if u in self._utterances]
        for utterance in targets:
            final = utterance is targets[-1]
            self._events.append(utterance.cancelled(played_s, now, final=final))
            self._forget(utterance)
            played_s = 0.0  # of those behind it nothing was heard
        if not targets:
            name = due.request.utterance
            self._events.append(UtteranceCancelled(name, 0.0, "", "", True))
