"""A session of protocol 2 with a server elsewhere, over any connection that carries messages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self

from speakahead.errors import ConnectionFailed, IllegalTransition, SpeakaheadError
from speakahead.protocol.client import V2Client
from speakahead.session.events import Close, Event, Request, SessionClosed, VoiceSettings


class ConnectionEnded(Exception):
    """The peer has ended the connection.

    Attributes:
        proper: whether it said that all is well; what was owed can be missing nevertheless.
    """

    def __init__(self, *, proper: bool) -> None:
        super().__init__()
        self.proper = proper


class MessageConnection(Protocol):
    """Whole messages in both directions: control as text, sound as bytes.

    ``aclose`` is idempotent, takes a second or so at most, and ends a ``send`` or ``receive`` that
    waits.
    """

    async def send(self, frame: str) -> None:
        """Send a message; waits while the peer does not read.

        Raises:
            ConnectionFailed: the connection is gone.
        """

    async def receive(self) -> str | bytes:
        """The next message. May be cancelled without loss.

        Raises:
            ConnectionEnded: there will be none.
            SpeakaheadError: the peer has refused or failed, and said how.
        """

    async def aclose(self) -> None: ...


class RemoteStream:
    """One session with a server; see ``SpeechStream``.

    Args:
        connect: opens the connection; raises ``SpeakaheadError``.
        settings: how to speak, where requests do not say.
        timeout_s: for the connection and the server's greeting.
        silence_s: a session in which the server owes an answer, and sends nothing for this long,
            has failed.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[MessageConnection]],
        settings: VoiceSettings | None,
        *,
        timeout_s: float,
        silence_s: float,
    ) -> None:
        self._connect = connect
        self._timeout_s = timeout_s
        self._silence_s = silence_s
        self._protocol = V2Client(settings)
        self._connection: MessageConnection | None = None
        self._closing = False
        self._ended = False
        self._silence: asyncio.Timeout | None = None  # of the read that is under way

    @property
    def max_session_s(self) -> float | None:
        """How long the server lets a session last; None before it has said so."""
        ready = self._protocol.ready
        return None if ready is None else ready.limits.max_session_s

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.timeout(self._timeout_s):
                self._connection = await self._connect()
                with contextlib.suppress(ConnectionFailed):  # a server that refuses says why
                    for frame in self._protocol.greeting():
                        await self._connection.send(frame)
                while not self._protocol.ready:
                    self._protocol.receive(await self._connection.receive())
        except TimeoutError:
            await self.aclose()
            raise ConnectionFailed("The speech server does not answer.") from None
        except ConnectionEnded:
            await self.aclose()
            raise ConnectionFailed("The speech server has closed the connection.") from None
        except BaseException:
            await self.aclose()
            raise
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

        There is no time-out: a server that has enough text does not read on purpose. Whoever
        iterates finds out whether it is alive.

        Raises:
            ConnectionFailed: the server has gone.
            IllegalTransition: the session is closed, or closing.
        """
        if self._closing or self._connection is None:
            raise IllegalTransition("The session takes no more requests.")
        self._closing = isinstance(request, Close)
        frames = self._protocol.encode(request)
        self._watch()
        for frame in frames:
            await self._connection.send(frame)

    def _watch(self) -> None:
        """From when an answer is owed, the read that is under way may not last for ever."""
        silence = self._silence
        if silence is None or silence.expired():
            return
        if not self._protocol.owed:
            silence.reschedule(None)
        elif silence.when() is None:
            silence.reschedule(asyncio.get_running_loop().time() + self._silence_s)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._ended or self._connection is None:
            raise StopAsyncIteration
        while (event := self._protocol.next_event()) is None:
            try:
                async with asyncio.timeout(None) as self._silence:
                    self._watch()
                    try:
                        frame = await self._connection.receive()
                    finally:
                        self._silence = None
            except TimeoutError:
                await self.aclose()
                raise ConnectionFailed("The speech server has stopped answering.") from None
            except ConnectionEnded as ended:
                self._ended = True
                # The end of a connection proves nothing: all that was owed must have come.
                if ended.proper and self._closing and not self._protocol.owed:
                    return SessionClosed()
                if self._protocol.last_error is not None:
                    raise self._protocol.last_error from None
                raise ConnectionFailed("The speech server has closed the connection.") from None
            except SpeakaheadError:
                self._ended = True
                raise
            self._protocol.receive(frame)
        return event

    async def aclose(self) -> None:
        """Leave at once; idempotent."""
        self._ended = True
        if self._connection is not None:
            with contextlib.suppress(Exception):
                await self._connection.aclose()
