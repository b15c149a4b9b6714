"""How many sessions there may be at a time, in all and for each key."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from speakahead.errors import ShuttingDown, SpeakaheadError, TooManySessions
from speakahead.server.access import Key

_RETRY_AFTER_S = 5.0
"""A turn of speech is over in about this time, and with it an HTTP request for speech."""


class SessionRegistry:
    """Counts the sessions. A session is a WebSocket, or an HTTP request while it is answered."""

    def __init__(
        self,
        max_sessions: int,
        max_per_key: int | None = None,
        *,
        on_refused: Callable[[SpeakaheadError], None] = lambda error: None,
    ) -> None:
        """Args: on_refused: is told about each session that is turned away."""
        self._max_sessions = max_sessions
        self._max_per_key = max_per_key
        self._on_refused = on_refused
        self._open = 0
        self._of_key: Counter[Key] = Counter()
        self._closed = False

    @property
    def open(self) -> int:
        """Sessions at this moment."""
        return self._open

    def close(self) -> None:
        """Admit nobody any more; those that are in stay."""
        self._closed = True

    @contextlib.contextmanager
    def admit(self, key: Key | None = None) -> Iterator[None]:
        """Hold a place for a session for as long as the context lasts.

        Raises:
            TooManySessions: all places are taken, or all of this key.
            ShuttingDown: the server takes no new sessions.
        """
        try:
            self._check(key)
        except SpeakaheadError as refused:
            self._on_refused(refused)
            raise
        self._open += 1
        if key is not None:
            self._of_key[key] += 1
        try:
            yield
        finally:
            self._open -= 1
            if key is not None:
                self._of_key[key] -= 1

    def _check(self, key: Key | None) -> None:
        if self._closed:
            raise ShuttingDown("The server is shutting down; connect again.", retry_after_s=1.0)
        if self._open >= self._max_sessions:
            raise TooManySessions(
                "The server has as many sessions as it may; try again later.",
                retry_after_s=_RETRY_AFTER_S,
            )
        if key is not None and self._max_per_key is not None:
            if self._of_key[key] < self._max_per_key:
                return
            raise TooManySessions(
                "This API key has as many sessions as it may; close one, or try again later.",
                retry_after_s=_RETRY_AFTER_S,
                of_key=True,
            )


def registry(connection: HTTPConnection) -> SessionRegistry:
    """The registry of the connection's application."""
    sessions: SessionRegistry = connection.app.state.speech.sessions
    return sessions


class Admission:
    """ASGI middleware of a route, behind ``RequireKey``: its requests count as sessions."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with registry(HTTPConnection(scope)).admit(scope.get("speakahead.key")):
            await self._app(scope, receive, send)
