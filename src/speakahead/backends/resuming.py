"""Sessions that outlive their connections: renewed in time, and resumed when one is lost.

What happens to text and sound is decided in ``backends.continuity``; this opens and closes the
connections, and waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from speakahead.backends.continuity import Continuity
from speakahead.backends.remote import RemoteStream
from speakahead.errors import ConnectionFailed, IllegalTransition, SpeakaheadError
from speakahead.session.events import Event, Failed, Flush, Request, SessionClosed, VoiceSettings

_log = logging.getLogger(__name__)

_EVENTS_AHEAD = 64
_TEXT_WITHOUT_LEG = 1_000_000
"""Characters that may wait for a connection; a server takes as many."""
_EARLY = 0.9
"""A connection is renewed at this share of what the server allows it."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """When connections are renewed, and how hard lost ones are tried again.

    Attributes:
        renew_after_s: age at which a connection is renewed; None: shortly before the server would
            end it. It is renewed earlier where the server says that it allows less.
        attempts: connections that are tried one after the other before the session fails.
        first_wait_s, longest_wait_s: waits between them: about the first one, then twice as long
            each time; each is drawn at random between half and all of it, so that the clients of
            a server that fails do not come back all at once.
    """

    renew_after_s: float | None = None
    attempts: int = 5
    first_wait_s: float = 0.2
    longest_wait_s: float = 5.0

    def wait_s(self, attempt: int, advised_s: float | None = None) -> float:
        """Seconds to wait before an attempt, counted from 0; at least what the server advised."""
        if attempt == 0:
            return advised_s or 0.0
        full = min(self.longest_wait_s, self.first_wait_s * 2.0 ** (attempt - 1))
        return max(advised_s or 0.0, full * random.uniform(0.5, 1.0))  # noqa: S311 - no secret


class ResumingStream:
    """One session over as many connections as it takes; see ``SpeechStream``.

    Args:
        leg: makes a session of one connection with these settings.
        settings: how to speak, where requests do not say.
        resumption: see there.
    """

    def __init__(
        self,
        leg: Callable[[VoiceSettings], RemoteStream],
        settings: VoiceSettings | None,
        resumption: Resumption,
    ) -> None:
        self._make_leg = leg
        self._resumption = resumption
        self._continuity = Continuity(settings)
        self._legs: set[_Leg] = set()  # all that are open
        self._leg: _Leg | None = None  # the one that is listened to
        self._next: _Leg | None = None  # the one that takes over, and text already
        self._losses = 0  # since something came
        self._order = asyncio.Lock()  # requests reach a leg in the order of their calls
        self._changed = asyncio.Event()  # for the pump: look again
        self._arrived = asyncio.Event()  # for the client: an event, or the end
        self._attached = asyncio.Event()  # for who sends: there is a leg, or no need of one
        self._taken = asyncio.Event()  # for the pump: the client has taken an event
        self._running: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: SpeakaheadError | None = None
        self._ended = False

    async def __aenter__(self) -> Self:
        self._leg = await self._open_leg()
        self._running = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def send(self, request: Request) -> None:
        """Send a request; waits while the server takes no more text.

        A connection that is lost meanwhile is no error: what was sent over it is sent again.

        Raises:
            IllegalTransition: the session is closed, or closing.
        """
        while self._leg is None and self._running is not None and not self._ended:
            if self._continuity.characters < _TEXT_WITHOUT_LEG:
                break
            self._attached.clear()
            await self._attached.wait()
        async with self._order:
            if self._running is None or self._ended or self._continuity.closing:
                raise IllegalTransition("The session takes no more requests.")
            requests = self._continuity.request(request, time.monotonic())
            self._changed.set()
            self._arrived.set()  # it may have been answered here
            leg = self._next or self._leg
            if leg is not None:
                await leg.send(requests)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while (event := self._continuity.next_event()) is None:
            if self._failure is not None:
                raise self._failure
            if self._ended or self._running is None:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        self._taken.set()
        return event

    async def aclose(self) -> None:
        """Leave at once; idempotent."""
        self._ended = True
        self._arrived.set()
        self._attached.set()
        tasks = [*self._tasks, *([self._running] if self._running else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(leg.aclose() for leg in self._legs), return_exceptions=True)
        self._legs.clear()
        self._leg = self._next = None

    # -- the pump ------------------------------------------------------------------------------

    async def _run(self) -> None:
        """Keep a leg, and take its events, until the session ends."""
        try:
            while not self._ended:
                await self._room()
                if self._continuity.handed_over:
                    self._take_over()
                if self._leg is None:
                    await self._reopen()
                else:
                    await self._listen(self._leg)
                self._arrived.set()
        except SpeakaheadError as failure:
            self._failure = failure
        except Exception as error:
            _log.error("a session failed: %s", type(error).__name__)
            self._failure = SpeakaheadError("The session failed in an unexpected way.")
        finally:
            self._ended = True
            self._arrived.set()
            self._attached.set()

    async def _room(self) -> None:
        """Wait until the client has taken what there is; then the server waits, too."""
        while self._continuity.waiting > _EVENTS_AHEAD:
            self._taken.clear()
            await self._taken.wait()

    async def _listen(self, leg: _Leg) -> None:
        """Take one event of a leg, or renew the leg, or see what has changed."""
        renew_in_s = None
        if self._next is None and not leg.renewing and self._continuity.settled:
            renew_in_s = max(0.0, leg.renew_at - time.monotonic())
        reading = leg.read()
        changed = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait(
                {reading, changed}, timeout=renew_in_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            changed.cancel()
        self._changed.clear()
        if reading.done():
            leg.reading = None
            if self._continuity.handed_over:
                return  # what it says now, the next one says again
            try:
                event = reading.result()
            except StopAsyncIteration:
                await self._lose(ConnectionFailed("The speech server has closed the connection."))
            except SpeakaheadError as lost:
                await self._lose(lost)
            else:
                before = self._continuity.waiting
                self._continuity.observe(event, time.monotonic())
                if self._continuity.waiting > before and not isinstance(event, Failed):
                    self._losses = 0
                self._ended = isinstance(event, SessionClosed)
        elif renew_in_s is not None and time.monotonic() >= leg.renew_at:
            leg.renewing = True
            self._spawn(self._renew(leg))

    async def _lose(self, error: SpeakaheadError) -> None:
        """A leg has ended too early.

        Raises:
            SpeakaheadError: another one would not fare better.
        """
        _log.info("a connection was lost: %s", error.code)
        self._losses += self._continuity.pending  # an idle one is lost for nobody
        if not error.retryable or self._losses >= self._resumption.attempts:
            raise error
        legs = [leg for leg in (self._leg, self._next) if leg is not None]
        self._leg = self._next = None
        for leg in legs:
            await self._close(leg)
        if self._losses:
            await asyncio.sleep(self._resumption.wait_s(self._losses - 1, error.retry_after_s))

    async def _reopen(self) -> None:
        """Go on with another leg, as soon as one is needed."""
        while not self._continuity.pending:
            self._changed.clear()
            await self._changed.wait()
        if self._continuity.close_here():
            self._ended = True
            return
        try:
            leg = await self._open_leg()
        except SpeakaheadError as error:
            await self._lose(error)
            return
        await self._order.acquire()  # whoever holds it sends to a leg that is closed
        self._leg = leg
        self._attached.set()
        sending = self._spawn(leg.send(self._continuity.resume(time.monotonic())))
        sending.add_done_callback(lambda task: self._order.release())

    async def _renew(self, old: _Leg) -> None:
        """Open the next leg, and let it make ready what comes after the current sentence."""
        try:
            leg = await self._open_leg()
        except Exception as error:
            _log.warning("a connection could not be renewed: %s", type(error).__name__)
            old.renew_at = time.monotonic() + self._resumption.longest_wait_s
            old.renewing = False
            return
        async with self._order:
            if self._leg is not old or not self._continuity.settled:
                old.renewing = False
                await self._close(leg)
                return
            requests = self._continuity.hand_over()
            self._next = leg
            if requests is None:  # nothing is being spoken
                requests = self._continuity.resume(time.monotonic())
                self._continuity.handed_over = True
                self._changed.set()
            else:
                self._spawn(old.send([Flush()]))
            await leg.send(requests)

    def _take_over(self) -> None:
        """The next leg is the one that is listened to."""
        self._continuity.handed_over = False
        old, self._leg, self._next = self._leg, self._next, None
        if old is not None:
            self._spawn(self._close(old))

    async def _open_leg(self) -> _Leg:
        stream = await self._make_leg(self._continuity.settings).__aenter__()
        ages = [self._resumption.renew_after_s]
        if stream.max_session_s is not None:
            ages.append(stream.max_session_s * _EARLY)
        age = min((age for age in ages if age is not None), default=float("inf"))
        leg = _Leg(stream, time.monotonic() + age)
        self._legs.add(leg)
        return leg

    async def _close(self, leg: _Leg) -> None:
        await leg.aclose()
        self._legs.discard(leg)  # not before, so that a closing that is cancelled is done again

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class _Leg:
    """A connection's session, and when it is to be renewed."""

    def __init__(self, stream: RemoteStream, renew_at: float) -> None:
        self.stream = stream
        self.renew_at = renew_at
        self.renewing = False
        self.reading: asyncio.Task[Event] | None = None

    def read(self) -> asyncio.Task[Event]:
        """The task that waits for the next event; the same one until it is done."""
        if self.reading is None:
            self.reading = asyncio.ensure_future(anext(self.stream))
        return self.reading

    async def send(self, requests: list[Request]) -> None:
        """Send requests. Whether they arrive shows in what comes back."""
        with contextlib.suppress(ConnectionFailed, IllegalTransition):
            for request in requests:
                await self.stream.send(request)

    async def aclose(self) -> None:
        if self.reading is not None:
            self.reading.cancel()
            await asyncio.gather(self.reading, return_exceptions=True)
        await self.stream.aclose()
