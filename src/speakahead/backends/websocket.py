"""Speech from a `speakahead serve` elsewhere, over protocol 2."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from speakahead.backends.remote import ConnectionEnded, RemoteStream
from speakahead.backends.resuming import ResumingStream, Resumption
from speakahead.errors import ConnectionFailed, InvalidRequest
from speakahead.protocol.v1 import ROUTE
from speakahead.session.events import VoiceSettings

_NORMAL = 1000
_CLOSE_S = 1.0
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


def _asking_for_protocol_2(url: str) -> str:
    parts = urlsplit(url)
    query = f"{parts.query}&protocol=2" if parts.query else "protocol=2"
    return urlunsplit((*parts[:3], query, ""))


class WebSocketBackend:
    """Opens sessions with a server.

    Args:
        url: the server, as in ``"http://localhost:8080"``.
        api_key: sent as a bearer token.
        timeout_s: for the connection and the server's greeting.
        silence_s: a session in which the server owes an answer, and sends nothing for this long,
            has failed.
        resumption: how sessions outlive their connections; None: they do not.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 10.0,
        silence_s: float = 60.0,
        resumption: Resumption | None = None,
    ) -> None:
        # Said in the address as well, so that a server that refuses says why in this protocol.
        self._url = _asking_for_protocol_2(session_url(url))
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout_s = timeout_s
        self._silence_s = silence_s
        self._resumption = resumption

    def open(self, settings: VoiceSettings | None = None) -> RemoteStream | ResumingStream:
        """A new session, which connects when it is entered."""
        if self._resumption is None:
            return self._leg(settings)
        return ResumingStream(self._leg, settings, self._resumption)

    def _leg(self, settings: VoiceSettings | None) -> RemoteStream:
        return RemoteStream(
            self._connect, settings, timeout_s=self._timeout_s, silence_s=self._silence_s
        )

    async def aclose(self) -> None:
        """Nothing is shared between sessions."""

    async def _connect(self) -> _WebSocketConnection:
        try:
            return _WebSocketConnection(
                await connect(
                    self._url,
                    additional_headers=self._headers,
                    open_timeout=self._timeout_s,
                    close_timeout=_CLOSE_S,
                    compression=None,  # sound does not get smaller by it
                    max_size=4 * 1024 * 1024,
                    # A pong is not read while the reader pauses, nor sent while the server reads
                    # no more; ``silence_s`` finds a server that is dead.
                    ping_timeout=None,
                )
            )
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI):
            raise ConnectionFailed("The speech server cannot be reached.") from None


class _WebSocketConnection:
    """See ``MessageConnection``."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, frame: str) -> None:
        try:
            await self._socket.send(frame)
        except ConnectionClosed:
            raise ConnectionFailed("The speech server has closed the connection.") from None

    async def receive(self) -> str | bytes:
        try:
            return await self._socket.recv()
        except ConnectionClosed as closed:
            proper = closed.rcvd is not None and closed.rcvd.code == _NORMAL
            raise ConnectionEnded(proper=proper) from None

    async def aclose(self) -> None:
        try:
            # A server that does not read would keep the closing frame waiting.
            async with asyncio.timeout(_CLOSE_S):
                await self._socket.close()
        except TimeoutError:
            self._socket.transport.abort()
