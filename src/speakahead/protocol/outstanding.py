"""What a client of protocol 2 has asked for and has not been answered, without I/O."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from speakahead.protocol.messages import (
    REQUEST_REFUSED,
    CancelledMessage,
    ErrorMessage,
    ServerMessage,
    UtteranceCompleteMessage,
    UtteranceStartMessage,
)
from speakahead.session.events import (
    Append,
    Cancel,
    Close,
    Discard,
    Flush,
    Hold,
    Release,
    Request,
    Speak,
)

_MEMORY = 256  # names that have ended or were dropped; a server remembers as many
_HELD_NAMES = 64  # that a server lets be held before their text comes

_OF_THE_ENGINE = frozenset({"synthesis_failed", "overloaded"})
"""Errors of utterances whose text was accepted."""


@dataclass(slots=True, eq=False)
class _Utterance:
    """One that has not ended.

    Attributes:
        name: None where the server gives it, and has not told it yet.
        announced: the holds that are meant for it.
        ended: no more text comes.
        started: the server has begun to send it.
    """

    name: str | None
    announced: tuple[str | None, ...]
    held: bool
    ended: bool = False
    started: bool = False
    cancelled: bool = False
    discarded: bool = False

    @property
    def dropped(self) -> bool:
        """The client wants no more of it, which the server has to confirm.

        What the server said was not held any more, it does not discard.
        """
        return self.cancelled or (self.discarded and self.held)

    def forget(self, hold: str | None) -> None:
        """A hold by this name is over, wherever it was; None: every hold is."""
        self.announced = tuple(h for h in self.announced if hold not in (None, h))


class Outstanding:
    """The utterances that have not ended, in order.

    It follows the server's rules of what a request does, and where answers that cross requests on
    the way leave a doubt, it takes that the server owes less: one that is well must never be
    taken for dead.
    """

    def __init__(self) -> None:
        self._utterances: deque[_Utterance] = deque()
        self._announced: list[str | None] = []  # to be held once they are there; None: the next
        self._unsaid: list[str] = []  # of those, discarded, which is answered with their name
        self._refused = False  # text is dropped until the next utterance
        self._refused_name: str | None = None
        self._interrupted = False  # while that was so
        self._stale: deque[str] = deque(maxlen=_MEMORY)
        self._gone: deque[str] = deque(maxlen=_MEMORY)

    def flush_first(self, request: Request) -> bool:
        """Whether a flush has to precede a request, for it is about an utterance of its own.

        After an interruption, unnamed text is too: else a server that had refused what was
        interrupted would drop it as well.
        """
        last = self._utterances[-1] if self._utterances else None
        unended = last is not None and not last.ended
        match request:
            case Speak() | Close():
                return self._refused or unended
            case Append(utterance=None):
                return self._interrupted or (unended and self._open is None)
        return False

    @property
    def owed(self) -> bool:
        """Whether the server has to send something: not what is held, being written, or behind."""
        for utterance in self._utterances:
            if utterance.held and not utterance.dropped:
                break
            if utterance.ended or utterance.dropped:
                return True
        return any(utterance.dropped for utterance in self._utterances)

    @property
    def _open(self) -> _Utterance | None:
        last = self._utterances[-1] if self._utterances else None
        return None if last is None or last.ended or last.dropped else last

    def asked(self, request: Request) -> None:
        """Note a request that is being sent."""
        match request:
            case Append(delta=delta, utterance=name):
                self._append(delta, name)
            case Flush():
                self._end()
            case Cancel(utterance=name):
                for utterance in self._targets(name):
                    utterance.cancelled = True
                self._interrupted |= self._refused and name in (None, self._refused_name)
            case Hold(utterance=name):
                self._hold(name)
            case Release(utterance=name):
                if not self._forget_announced(name):
                    for utterance in self._targets(name):
                        utterance.held = utterance.held and utterance.dropped
                        utterance.forget(name)
            case Discard(utterance=name):
                if not self._forget_announced(name):
                    for utterance in self._targets(name):
                        utterance.discarded = utterance.held
                        utterance.forget(name)
                elif name is not None:
                    self._unsaid.append(name)
            case Close():
                self._end()
                for utterance in self._utterances:
                    utterance.discarded = utterance.held

    def _append(self, delta: str, name: str | None) -> None:
        current = self._open
        if current is not None and name in (None, current.name):
            return
        if name is not None and (name in self._stale or any(u.dropped for u in self._named(name))):
            return  # it is on its way when its utterance is dropped
        if self._refused and name in (None, self._refused_name):
            return
        self._end()
        if delta:
            waited = [held for held in dict.fromkeys((name, None)) if held in self._announced]
            for held in waited:
                self._announced.remove(held)
            self._utterances.append(_Utterance(name, tuple(waited), bool(waited)))

    def _end(self) -> None:
        self._refused = self._interrupted = False
        for utterance in reversed(self._utterances):
            if utterance.ended:
                break
            utterance.ended = True

    def _hold(self, name: str | None) -> None:
        found = self._targets(name)[-1:] if name is not None else [self._open]
        if found and found[0] is not None:
            found[0].held = True
            found[0].announced += (name,)
        else:
            self._announce(name)

    def _announce(self, name: str | None) -> None:
        if name not in self._announced and len(self._announced) < _HELD_NAMES:
            self._announced.append(name)

    def _forget_announced(self, name: str | None) -> bool:
        """Whether that was all that the request meant."""
        if name is None:
            self._announced.clear()
            return False
        known = name in self._announced
        if known:
            self._announced.remove(name)
        return known

    def _named(self, name: str) -> list[_Utterance]:
        return [utterance for utterance in self._utterances if utterance.name == name]

    def _targets(self, name: str | None) -> list[_Utterance]:
        """Those that a request means: the last one of this name, or all."""
        return list(self._utterances) if name is None else self._named(name)[-1:]

    # -- answers -------------------------------------------------------------------------------

    def answered(self, message: ServerMessage) -> None:
        """Note a message of the server."""
        match message:
            case UtteranceStartMessage(utterance=name):
                started = self._found(name)
                if started is not None:
                    started.started = True
                    while self._utterances[0] is not started:  # those before it have ended
                        self._remove(self._utterances[0])
            case UtteranceCompleteMessage(utterance=name):
                completed = self._found(name)
                if completed is not None:
                    self._remove(completed)
                    if completed.held:  # the hold came too late, and is for the next of its name
                        self._pass_on(name, list(self._utterances))
            case CancelledMessage(utterance=name):
                self._cancelled(name)
            case ErrorMessage(utterance=name, code=code):
                if code in REQUEST_REFUSED:
                    self._refused_request(name, code)
                else:
                    self._failed(name, refused=code not in _OF_THE_ENGINE)

    def _found(self, name: str, *, dropped: bool = False) -> _Utterance | None:
        """The first one of this name, or else the first without a name, which then has it.

        ``dropped``: one that is to be dropped, if there is any.
        """
        found = self._named(name)
        if not found and name not in self._gone:
            nameless = [utterance for utterance in self._utterances if utterance.name is None]
            found = [u for u in nameless if u.dropped] if dropped else nameless
        elif dropped:
            found.sort(key=lambda utterance: not utterance.dropped)
        if not found:
            return None
        found[0].name = name
        return found[0]

    def _remove(self, utterance: _Utterance) -> None:
        self._utterances.remove(utterance)
        if utterance.name is not None:
            self._gone.append(utterance.name)

    def _cancelled(self, name: str | None) -> None:
        if name is None:  # there was nothing to drop
            for utterance in [u for u in self._utterances if u.dropped]:
                self._remove(utterance)
        elif name in self._unsaid:
            self._unsaid.remove(name)
        else:
            found = self._found(name, dropped=True)
            if found is not None:
                self._remove(found)
            self._stale.append(name)

    def _refused_request(self, name: str | None, code: str) -> None:
        """The server has not done something with an utterance, or it has none of this name."""
        if name is None:  # only what is heard, so what is first, can be held too late
            found = [u for u in self._utterances if u.started][:1]
        else:
            found = self._targets(name)
        if name in self._unsaid and code != "already_complete":
            self._unsaid.remove(name or "")
        for utterance in found:
            if code == "already_complete":
                self._drop_text_of(utterance)
                self._remove(utterance)
                for held in utterance.announced:
                    self._pass_on(held, self._named(utterance.name or "")[-1:] if held else [])
            elif code == "already_spoken":
                utterance.held = False
            elif code == "not_held":
                utterance.discarded = False
            elif utterance.dropped:
                self._remove(utterance)  # it has failed, which is said when its turn comes

    def _failed(self, name: str | None, *, refused: bool) -> None:
        if name is None:  # perhaps the first text of one that has no name
            nameless = [u for u in self._utterances if u.name is None]
            failed = min(reversed(nameless), key=lambda u: u.held, default=None)
        else:
            failed = self._found(name)
        if failed is not None:
            self._drop_text_of(failed)
            later = list(self._utterances)[self._utterances.index(failed) + 1 :]
            self._remove(failed)
            for held in failed.announced:
                if held is not None or (refused and not failed.started):
                    self._pass_on(held, later)

    def _pass_on(self, held: str | None, later: list[_Utterance]) -> None:
        """A hold that did not meet its utterance is another one's."""
        for utterance in later:
            if held in (None, utterance.name):
                utterance.held = True
                utterance.announced += (held,)
                return
        self._announce(held)

    def _drop_text_of(self, utterance: _Utterance) -> None:
        if utterance is self._utterances[-1] and not utterance.ended:
            self._refused, self._refused_name = True, utterance.name
            self._interrupted = utterance.dropped
