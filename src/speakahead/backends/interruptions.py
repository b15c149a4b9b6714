"""Answers to interruptions in a session of several legs: the leg's, or ours where it has none."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from speakahead.backends.followed import Followed
from speakahead.session.events import Cancel, Discard, UtteranceCancelled

_MEMORY = 16  # utterances that have been sent, and may still be being heard


@dataclass(slots=True)
class _Due:
    """A request that the leg has not answered, and the utterances that the answer will name."""

    request: Cancel | Discard
    targets: Sequence[Followed]
    played_s: float | None

    @classmethod
    def of(cls, request: Cancel | Discard, targets: Sequence[Followed]) -> _Due:
        return cls(request, targets, request.played_s if isinstance(request, Cancel) else 0.0)

    def take_played_s(self) -> float | None:
        """What was played of the next utterance; of those behind the first, nothing."""
        played_s, self.played_s = self.played_s, 0.0
        return played_s


class Interruptions:
    """What is owed, and what is remembered to answer it. Not thread-safe."""

    def __init__(self) -> None:
        self._due: deque[_Due] = deque()
        self._heard: deque[tuple[int, Followed]] = deque(maxlen=_MEMORY)
        self._leg = 0
        self._unwanted = 0
        self._given: set[str] = set()  # whom the leg need not name any more

    @property
    def due(self) -> bool:
        """Whether the leg owes an answer."""
        return bool(self._due)

    def next_leg(self) -> None:
        """From now on another leg answers, which knows nothing of what has ended."""
        self._leg += 1

    def completed(self, utterance: Followed) -> None:
        """All of its sound has come; it may still be being heard."""
        self._heard.append((self._leg, utterance))

    def ask(self, request: Cancel | Discard, targets: Sequence[Followed]) -> None:
        """The leg is asked, and will name these utterances."""
        self._due.append(_Due.of(request, targets))

    def refused(self, name: str | None) -> None:
        """The leg has refused to answer a request that named this utterance."""
        found = next((due for due in self._due if due.request.utterance == name), None)
        if found is not None:
            self._due.remove(found)

    def answered_by_leg(
        self, event: UtteranceCancelled, targets: Sequence[Followed], now: float
    ) -> UtteranceCancelled | None:
        """The answer for the client; None: it has been given here before."""
        if self._unwanted:
            self._unwanted -= event.final
            return None
        due = self._due[0] if self._due else None
        played_s = due.take_played_s() if due else None
        if event.final and due:
            self._due.popleft()
        if event.utterance in self._given:
            self._given.discard(event.utterance or "")
            return UtteranceCancelled(None, 0.0, "", "", True) if event.final else None
        if targets and targets[0].legs > 1:  # the leg has not seen all of it
            return targets[0].cancelled(played_s, now, final=event.final)
        return event

    def answer_for_earlier_legs(self, request: Cancel, now: float) -> list[UtteranceCancelled]:
        """What was heard of utterances that came on earlier legs and are still being heard.

        Also of those that came on several: the present leg knows their ends only.
        """
        playing = [
            utterance
            for leg, utterance in self._heard
            if (leg < self._leg or utterance.legs > 1)
            and utterance.plays_until > now
            and request.utterance in (None, utterance.name)
        ]
        self._heard = deque((pair for pair in self._heard if pair[1] not in playing), _MEMORY)
        self._given |= {utterance.name for utterance in playing}
        due = _Due.of(request, playing)
        final = request.utterance is not None
        return [u.cancelled(due.take_played_s(), now, final=final) for u in playing]

    def answer_instead(
        self, request: Cancel, targets: Sequence[Followed], now: float
    ) -> list[UtteranceCancelled]:
        """Answer at once, and pass over the leg's answer, which does not know all of it."""
        self._unwanted += 1
        return _answers(_Due.of(request, targets), now)

    def leg_lost(self, alive: Sequence[Followed], now: float) -> list[UtteranceCancelled]:
        """The answers that the leg still owed, of utterances that are ``alive``."""
        answers: list[UtteranceCancelled] = []
        gone: list[Followed] = []
        for due in self._due:
            due.targets = [u for u in due.targets if u in alive and u not in gone]
            gone += due.targets
            answers += _answers(due, now)
        self._due.clear()
        self._given.clear()
        self._unwanted = 0
        return answers


def _answers(due: _Due, now: float) -> list[UtteranceCancelled]:
    answers = [
        utterance.cancelled(due.take_played_s(), now, final=utterance is due.targets[-1])
        for utterance in due.targets
    ]
    return answers or [UtteranceCancelled(due.request.utterance, 0.0, "", "", True)]
