"""What a client of protocol 2 has asked for and has not been answered, without I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

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
)

_STALE = 256  # names whose text a server ignores, because they were dropped


@dataclass(slots=True, eq=False)
class _Utterance:
    """One that has not ended; ``name`` is None until the server has told the one it gave."""

    name: str | None
    held: bool = False
    by_no_name: bool = False  # so it was held
    ended: bool = False  # no more text comes


class Outstanding:
    """The utterances that have not ended, in order.

    Where answers cross requests on the way and leave a doubt, the server owes less: one that is
    well must never be taken for dead.
    """

    def __init__(self) -> None:
        self._utterances: deque[_Utterance] = deque()
        self._announced: set[str | None] = set()  # to be held when they come; None: the next
        self._dropping: deque[tuple[str | None, list[_Utterance]]] = deque()  # not confirmed yet
        self._stale: deque[str] = deque(maxlen=_STALE)
        self._blank = False  # the next one has begun, by a delta without text
        self._refused = False  # the server passes over text up to the next one
        self._refused_name: str | None = None  # or of the one that began blank

    @property
    def owed(self) -> bool:
        """Whether the server has to send something: not what is held, nor what is behind it."""
        for utterance in self._utterances:
            if utterance.held or utterance.ended:
                return not utterance.held
        return False

    @property
    def writing(self) -> bool:
        """Whether text without a name would belong to what was written last."""
        return self._blank or self._refused or self._open is not None

    # -- requests ------------------------------------------------------------------------------

    def asked(self, request: Request) -> None:
        """Note a request that is being sent."""
        match request:
            case Append(delta=delta, utterance=name):
                self._append(delta, name)
            case Flush():
                self._end()
            case Hold(utterance=name):
                self._hold(name)
            case Release(utterance=name):
                for utterance in self._targets(name):
                    utterance.by_no_name = False
                self._let_go(name)
            case Discard(utterance=name):
                self._drop(name, [u for u in self._targets(name) if u.held])
            case Cancel(utterance=name):
                self._drop(name, self._targets(name))
                if (self._blank or self._refused) and name in (None, self._refused_name):
                    self._stale.extend(filter(None, [self._refused_name]))
                    self._blank = self._refused = False
            case Close():
                self._end()
                if held := [u for u in self._utterances if u.held]:
                    self._drop(None, held)

    def _append(self, delta: str, name: str | None) -> None:
        current = self._open
        if self._blank and name is None:
            name = self._refused_name
        if name in self._stale or (current is not None and name in (None, current.name)):
            return
        if self._refused and name in (None, self._refused_name):
            return
        self._end()
        if not delta:
            self._blank, self._refused_name = True, name
        else:
            by_no_name = None in self._announced
            self._utterances.append(
                _Utterance(name, name in self._announced or by_no_name, by_no_name)
            )
            self._announced -= {name, None}

    def _end(self) -> None:
        self._blank = self._refused = False
        if self._open is not None:
            self._open.ended = True

    def _hold(self, name: str | None) -> None:
        found = [self._open] if name is None else self._targets(name)[-1:]
        for utterance in found:
            if utterance is not None:
                utterance.held, utterance.by_no_name = True, name is None
                return
        self._announced.add(name)

    def _let_go(self, name: str | None) -> None:
        for utterance in self._targets(name):
            utterance.held = False
            utterance.by_no_name &= name is not None
        self._announced -= set(self._announced) if name is None else {name}

    def _drop(self, name: str | None, targets: list[_Utterance]) -> None:
        """The server confirms that; until then it owes the answer, of what has no end as well."""
        self._dropping.append((name, targets))
        names = {u.name for u in targets} | {n for n in self._announced if name in (None, n)}
        self._let_go(name)
        for utterance in targets:
            utterance.ended = True
        self._stale.extend(stale for stale in names if stale is not None)

    # -- answers -------------------------------------------------------------------------------

    def answered(self, message: ServerMessage) -> None:
        """Note a message of the server."""
        match message:
            case UtteranceStartMessage(utterance=name):
                started = self._found(name)
                while started is not None and self._utterances[0] is not started:
                    self._utterances.popleft()  # utterances are spoken in order: it has ended
            case UtteranceCompleteMessage(utterance=name):
                completed = self._targets(name)[:1]
                self._remove(completed)
                if any(utterance.held for utterance in completed):
                    self._announced.add(name)  # it came too late, and is for the next of the name
            case CancelledMessage(utterance=name, final=final):
                if name is not None:
                    self._found(name, self._being_dropped())
                    self._remove(self._targets(name))  # text that was on its way is not spoken
                    self._stale.append(name)
                if final and self._dropping:
                    self._remove(self._dropping.popleft()[1])
            case ErrorMessage(utterance=name, code=code):
                if code in REQUEST_REFUSED:
                    self._request_refused(name, code)
                else:
                    self._failed(name)

    def _request_refused(self, name: str | None, code: str) -> None:
        match code:
            case "already_complete":
                self._pass_over(self._targets(name)[-1:])
            case "already_spoken":
                self._announced.discard(name)
                for utterance in self._targets(name)[:1]:  # only the first can be heard
                    utterance.held = False
            case "unknown_utterance" | "not_held":
                refused = next((drop for drop in self._dropping if drop[0] == name), None)
                if refused is not None:
                    self._dropping.remove(refused)
                    self._remove(refused[1] if code == "unknown_utterance" else [])

    def _failed(self, name: str | None) -> None:
        if name is None:  # perhaps the first text of one that has no name
            nameless = [u for u in self._utterances if u.name is None]
            failed = [u for u in nameless if not u.held] or nameless[-1:]
        else:
            found = self._found(name)
            failed = [] if found is None else [found]
        self._refused |= self._blank and name in (None, self._refused_name)
        self._pass_over(failed)

    def _pass_over(self, utterances: list[_Utterance]) -> None:
        """The server drops them, and what still comes for them."""
        later = list(takewhile(lambda u: u not in utterances, reversed(self._utterances)))
        if self._open in utterances:
            self._refused, self._refused_name = True, self._utterances[-1].name
        self._remove(utterances)
        # A hold without a name that did not meet its utterance is the next one's.
        if any(utterance.by_no_name for utterance in utterances):
            self._announced |= set() if later else {None}
            for utterance in later[-1:]:
                utterance.held = utterance.by_no_name = True

    # -- inside --------------------------------------------------------------------------------

    @property
    def _open(self) -> _Utterance | None:
        last = self._utterances[-1] if self._utterances else None
        return None if last is None or last.ended else last

    def _targets(self, name: str | None) -> list[_Utterance]:
        return [u for u in self._utterances if name in (None, u.name)]

    def _being_dropped(self) -> list[_Utterance]:
        return [u for _, targets in self._dropping for u in targets if u in self._utterances]

    def _found(self, name: str, among: Iterable[_Utterance] | None = None) -> _Utterance | None:
        """The first of this name, or else the first without one, which then has it."""
        among = list(self._utterances if among is None else among)
        named = [u for u in among if u.name == name] or [u for u in among if u.name is None]
        if not named:
            return None
        named[0].name = name
        return named[0]

    def _remove(self, utterances: Iterable[_Utterance]) -> None:
        for utterance in utterances:
            if utterance in self._utterances:
                self._utterances.remove(utterance)
