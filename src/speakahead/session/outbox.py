"""Events on their way to the client: in order, unless they are held back or dropped."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.session.events import Audio, Event, Failed, SentenceReady, UtteranceCompleted
from speakahead.session.record import UtteranceRecord
from speakahead.session.utterance import Utterance


class Outbox:
    """The events of a session that have not been taken.

    Events leave in order, but what is or follows the sound of a held utterance waits; news of
    incoming text do not. Urgent events (answers to an interruption, refusals) go ahead of all
    others.

    Attributes:
        unsent: samples in it.
        plays_until: when a client that plays what has been taken without a pause will run dry.
        records: utterances that have ended and are not reported yet.
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[Utterance | None, Event]] = deque()
        self._urgent: deque[Event] = deque()
        self.unsent = 0
        self.plays_until = float("-inf")
        self.records: list[UtteranceRecord] = []

    def __len__(self) -> int:
        return len(self._queue) + len(self._urgent)

    def put(self, utterance: Utterance | None, event: Event) -> None:
        """Add an event behind all others."""
        self._queue.append((utterance, event))
        if isinstance(event, Audio):
            self.unsent += len(event.samples)

    def put_urgent(self, event: Event) -> None:
        """Add an event that waits for no other, except earlier urgent ones."""
        self._urgent.append(event)

    def take(self, now: float) -> Event | None:
        """The next event that may leave, which then counts as sent; None while there is none."""
        if self._urgent:
            return self._urgent.popleft()
        blocked = False
        for position, (utterance, event) in enumerate(self._queue):
            blocked = blocked or (utterance is not None and utterance.held)
            if not blocked or isinstance(event, SentenceReady):
                del self._queue[position]
                break
        else:
            return None
        if utterance is None:
            return event
        if isinstance(event, Audio):
            self._sent(utterance, event, now)
        elif isinstance(event, UtteranceCompleted):
            utterance.record.ended_at = now
            utterance.record.outcome = "completed"
            self.records.append(utterance.record)
        return event

    def _sent(self, utterance: Utterance, event: Audio, now: float) -> None:
        samples = len(event.samples)
        self.unsent -= samples
        self.plays_until = max(self.plays_until, now) + samples / SAMPLE_RATE
        utterance.sent += samples
        utterance.plays_until = self.plays_until
        utterance.record.audio_s += samples / SAMPLE_RATE
        if utterance.record.first_sent_at is None:
            utterance.record.first_sent_at = now

    def drop(self, utterance: Utterance) -> None:
        """Forget all events of an utterance."""
        self._keep(lambda owner, event: owner is not utterance)

    def silence(self, name: str | None) -> None:
        """Forget what leads up to the error of failed utterances of this name; None: of any."""

        def remains(owner: Utterance | None, event: Event) -> bool:
            concerned = owner is not None and owner.failed and name in (None, owner.id)
            return not concerned or isinstance(event, Failed)

        self._keep(remains)

    def _keep(self, remains: Callable[[Utterance | None, Event], bool]) -> None:
        self._queue = deque(pair for pair in self._queue if remains(*pair))
        self.unsent = sum(
            len(event.samples) for _, event in self._queue if isinstance(event, Audio)
        )

    def clear(self) -> None:
        """Forget everything."""
        self._queue.clear()
        self._urgent.clear()
        self.unsent = 0
