"""Speech from a `speakahead serve` elsewhere, over protocol 2."""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from speakahead.errors import (
    ConnectionFailed,
    IllegalTransition,
    InvalidRequest,
    SpeakaheadError,
)
from speakahead.protocol.client import V2Client
from speakahead.protocol.v1 import ROUTE
from speakahead.session.events import Close, Event, Request, SessionClosed, VoiceSettings

_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


def session_url(url: str) -> str:
    """The address of a server's session route; ``url`` may name only the server.

    Raises:
        InvalidRequest: it is no address of a server.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not match, or a port that is none
        usable = False
    if not usable:
        raise InvalidRequest("The URL must begin with http, https, ws or wss and name a host.")
    path = parts.path if parts.path.strip("/") else ROUTE
    return urlunsplit((_SCHEMES[parts.scheme], parts.netloc, path, parts.query, ""))


class WebSocketBackend:
    """Opens sessions with a server.

    Args:
        url: the server, as in ``"http://localhost:8080"``.
        api_key: sent as a bearer token.
        timeout_s: for the connection, and for every message that the server does not take.
        silence_s: a session in which the server owes an answer, and sends nothing for this long,
            has failed.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 10.0,
        silence_s: float = 60.0,
    ) -> None:
        self._url = session_url(url)
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout_s = timeout_s
        self._silence_s = silence_s

    def open(self, settings: VoiceSettings | None = None) -> WebSocketStream:
        """A new session, which connects when it is entered."""
        return WebSocketStream(self._url, self._headers, settings, self._timeout_s, self._silence_s)

    async def aclose(self) -> None:
        """Nothing is shared between sessions."""


class WebSocketStream:
    """One session with a server; see ``SpeechStream``."""

    def __init__(
        self,
        url: str,
        headers: dict[str, str],
        settings: VoiceSettings | None,
        timeout_s: float,
        silence_s: float,
    ) -> None:
        self._url = url
        self._headers = headers
        self._timeout_s = timeout_s
        self._silence_s = silence_s
        self._protocol = V2Client(settings)
        self._socket: ClientConnection | None = None
        self._closing = False
        self._ended = False

    async def __aenter__(self) -> Self:
        try:
            self._socket = await connect(
                self._url,
                additional_headers=self._headers,
                open_timeout=self._timeout_s,
                close_timeout=1.0,
                compression=None,  # sound does not get smaller by it
                max_size=4 * 1024 * 1024,
            )
            for frame in self._protocol.greeting():
                await self._send(frame)
            while not self._protocol.ready:
                async with asyncio.timeout(self._timeout_s):
                    self._protocol.receive(await self._socket.recv())
        except SpeakaheadError:
            await self.aclose()
            raise
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI, ConnectionClosed):
            await self.aclose()
            raise ConnectionFailed("The speech server cannot be reached.") from None
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

        Raises:
            ConnectionFailed: the server has gone.
            IllegalTransition: the session is closed, or closing.
        """
        if self._closing or self._socket is None:
            raise IllegalTransition("The session takes no more requests.")
        self._closing = isinstance(request, Close)
        for frame in self._protocol.encode(request):
            await self._send(frame)

    async def _send(self, frame: str) -> None:
        assert self._socket is not None
        try:
            # No time-out here: a server that has enough text does not read on purpose. The
            # reading side finds out whether it is alive.
            await self._socket.send(frame)
        except ConnectionClosed:
            raise ConnectionFailed("The speech server has closed the connection.") from None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self._ended or self._socket is None:
            raise StopAsyncIteration
        while (event := self._protocol.next_event()) is None:
            try:
                async with asyncio.timeout(self._silence_s if self._protocol.owed else None):
                    frame = await self._socket.recv()
            except TimeoutError:
                await self.aclose()
                raise ConnectionFailed("The speech server has stopped answering.") from None
            except ConnectionClosed as closed:
                self._ended = True
                proper = closed.rcvd is not None and closed.rcvd.code == 1000
                if proper and self._closing and not self._protocol.owed:
                    return SessionClosed()
                if self._protocol.last_error is not None:
                    raise self._protocol.last_error from None
                raise ConnectionFailed("The speech server has closed the connection.") from None
            self._protocol.receive(frame)
        return event

    async def aclose(self) -> None:
        """Leave at once; idempotent."""
        self._ended = True
        if self._socket is not None:
            with contextlib.suppress(Exception):
                await self._socket.close()
