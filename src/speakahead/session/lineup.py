"""The utterances of a session, in order: which are alive, held, being heard, or dropped."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import InvalidRequest
from speakahead.session.events import Cancel
from speakahead.session.utterance import Utterance
from speakahead.text.chunker import Sentence

_MEMORY = 16  # utterances that have been sent, and may still be being heard
_STALE = 256  # names of dropped utterances, whose late text is ignored
_HELD_NAMES = 64  # names that may be held before their text comes
_SLICE = 1024  # characters that are cut at a time


class Lineup:
    """Utterances from their first text until they have been heard.

    Attributes:
        pending: utterances for which something is still to be done, in order.
        waiting: characters that are not handed out, but for those of a sentence that is not
            complete yet.
    """

    def __init__(self, cut_ahead: int) -> None:
        """Args: cut_ahead: see ``Limits``."""
        self.pending: deque[Utterance] = deque()
        self.waiting = 0
        self._cut_ahead = cut_ahead
        self._sentences = 0  # characters of the sentences among what is waiting
        self._uncut: dict[Utterance, None] = {}  # those whose text is to be cut, in order
        self._made: deque[Utterance] = deque()  # all of their sound is made; perhaps not all sent
        self._held_names: deque[str | None] = deque()
        self._stale: deque[str] = deque(maxlen=_STALE)

    def __iter__(self) -> Iterator[Utterance]:
        """All that may still be heard, in order."""
        yield from self._made
        yield from self.pending

    def add(self, utterance: Utterance) -> None:
        """Put a new utterance behind the others; it is held where that was asked for."""
        for name in (utterance.id, None):  # None: the next one, whatever its name
            if name in self._held_names:
                self._held_names.remove(name)
                utterance.held = True
        if utterance.id in self._stale:
            self._stale.remove(utterance.id)
        self.pending.append(utterance)

    def add_text(self, utterance: Utterance, text: str) -> None:
        """Take more text of the utterance that came last."""
        utterance.add_text(text)
        self.waiting += len(text)
        self._uncut[utterance] = None

    def end(self, utterance: Utterance) -> None:
        """No more text of the utterance that came last will come."""
        utterance.ended = True
        if utterance.uncut:
            self._uncut[utterance] = None

    def cut(self) -> Iterator[tuple[Utterance, Sequence[Sentence]]]:
        """Cut text into sentences until enough of them wait, and give them piece by piece.

        What waits for long waits as it came: it takes least memory so, and if it is dropped in the
        end, no work was done for it.
        """
        while self._uncut and self._sentences < self._cut_ahead:
            utterance = next(iter(self._uncut))
            taken, sentences = utterance.cut(_SLICE)
            # A block of code is shown, not read aloud.
            spoken = [sentence for sentence in sentences if not sentence.fenced]
            utterance.waiting.extend(spoken)
            found = sum(len(sentence.text) for sentence in spoken)
            self._sentences += found
            self.waiting += found - taken
            if not utterance.uncut:
                del self._uncut[utterance]
            if sentences:
                yield utterance, sentences

    def next_sentence(self) -> tuple[Utterance, Sentence] | None:
        """Take the sentence that is to be handed out next."""
        for utterance in self.pending:
            if utterance.waiting:
                sentence = utterance.waiting.popleft()
                self.waiting -= len(sentence.text)
                self._sentences -= len(sentence.text)
                return utterance, sentence
            if not utterance.ended:
                return None  # its next sentence comes before any later utterance's
        return None

    def stop(self, utterance: Utterance) -> None:
        """Forget the text of an utterance that is not handed out."""
        self._sentences -= sum(len(sentence.text) for sentence in utterance.waiting)
        self.waiting -= utterance.stop()
        self._uncut.pop(utterance, None)

    @property
    def blocked(self) -> bool:
        """Whether all that is to be heard next waits for a release."""
        return next((u.held for u in self if not u.taken and not u.failed), False)

    def made(self) -> Utterance:
        """Move the first pending utterance to those whose sound is made, and return it."""
        utterance = self.pending.popleft()
        self._made.append(utterance)
        while len(self._made) > _MEMORY and self._made[0].taken:
            self._made.popleft()
        return utterance

    def remove(self, utterance: Utterance) -> None:
        """Drop an utterance; text that still comes for it is stale."""
        (self.pending if utterance in self.pending else self._made).remove(utterance)
        self.outdate(utterance.id)

    def outdate(self, name: str) -> None:
        """Text that still comes for this name is stale."""
        self._stale.append(name)

    def clear(self) -> None:
        self.pending.clear()
        self._made.clear()
        self._uncut.clear()
        self.waiting = self._sentences = 0

    def is_stale(self, name: str | None) -> bool:
        """Whether this is the name of an utterance that was dropped."""
        return name in self._stale

    def alive(self) -> list[Utterance]:
        """Those of which something is still to be made or sent, and that have not failed."""
        return [u for u in self if not u.taken and not u.failed]

    def find(self, name: str) -> Utterance | None:
        """The latest utterance of this name that has not been sent to its end."""
        latest_first = chain(reversed(self.pending), reversed(self._made))
        return next(
            (u for u in latest_first if u.id == name and not u.taken and not u.failed), None
        )

    def being_heard(self) -> float:
        """Until when what has been sent is heard; minus infinity where nothing is."""
        return max((u.plays_until for u in self), default=float("-inf"))

    # -- interruption --------------------------------------------------------------------------

    def interrupted(self, request: Cancel, now: float) -> list[tuple[Utterance, float]]:
        """The utterances that an interruption drops, each with the seconds of it that were heard.

        Raises:
            InvalidRequest: ``unknown_utterance``.
        """
        sent = [u for u in self._made if u.taken]
        if request.utterance is not None:
            known = [u for u in (*sent, *self.alive()) if u.id == request.utterance]
            if not known:
                raise _unknown()
            targets = known[-1:]
        else:
            targets = [u for u in sent if u.plays_until > now] + self.alive()
            if not targets and request.played_s is not None:
                targets = sent[-1:]  # its client plays later than was reckoned
        heard = [u.played_s(now) for u in targets]
        if targets and request.played_s is not None:
            current = next((i for i, u in enumerate(targets) if u.plays_until > now), 0)
            heard[current] = min(max(0.0, request.played_s), targets[current].sent / SAMPLE_RATE)
        return list(zip(targets, heard, strict=True))

    # -- holding back --------------------------------------------------------------------------

    def hold(self, name: str | None, writing: Utterance | None, now: float) -> None:
        """Hold an utterance, also one that is only announced; None: the one that is being written.

        Raises:
            InvalidRequest: ``already_spoken``, or too many are announced.
        """
        if name is not None:
            utterance = self.find(name) or self._playing(name, now)
        else:
            utterance = None if writing is None or writing.failed else writing
        if utterance is not None:
            if utterance.sent:
                raise InvalidRequest("This utterance is being heard.", code="already_spoken")
            utterance.held = True
        elif name not in self._held_names:
            if len(self._held_names) >= _HELD_NAMES:
                raise InvalidRequest(f"At most {_HELD_NAMES} names may be held in advance.")
            self._held_names.append(name)

    def _playing(self, name: str, now: float) -> Utterance | None:
        """The utterance of this name that has been sent to its end, and is still being heard."""
        sent = (u for u in self._made if u.taken and u.plays_until > now)
        return next((u for u in sent if u.id == name), None)

    def confirm(self, name: str | None) -> bool:
        """An announced utterance need not be held, or None: no one; whether it was announced."""
        known = name in self._held_names
        if name is None:
            self._held_names.clear()
        elif known:
            self._held_names.remove(name)
        return known

    def call_off(self, name: str | None) -> bool:
        """Like ``confirm``, for what is not to be said at all: its text is stale when it comes."""
        for announced in self._held_names:
            if announced is not None and name in (None, announced):
                self.outdate(announced)
        return self.confirm(name)

    def held(self, name: str | None) -> list[Utterance]:
        """The held utterance of this name, or all that are held.

        Raises:
            InvalidRequest: ``unknown_utterance`` or ``not_held``.
        """
        if name is None:
            return [u for u in self.alive() if u.held]
        utterance = self.find(name)
        if utterance is None:
            raise _unknown()
        if not utterance.held:
            raise InvalidRequest("This utterance is not held.", code="not_held")
        return [utterance]


def _unknown() -> InvalidRequest:
    return InvalidRequest("There is no such utterance.", code="unknown_utterance")
