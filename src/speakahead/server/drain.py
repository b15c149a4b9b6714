"""Shutting down without cutting anybody off.

The platform sends SIGTERM and kills 30 s later. At SIGTERM the server begins to drain:

1. ``/ping`` answers 503 and new sessions are refused with ``shutting_down``. The port stays open
   meanwhile, so that clients get this answer rather than a refused connection.
2. What was accepted is spoken to its end. Every WebSocket session ends itself by ``finish``.
3. When no session is left, or after ``ServerSettings.drain_s`` seconds, the port is closed. A
   WebSocket that is still open is closed with code 1012, an HTTP answer is broken off.

A second signal ends the process at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn
from starlette.requests import HTTPConnection

from speakahead.backends.local import LocalStream
from speakahead.errors import IllegalTransition
from speakahead.server.sessions import SessionRegistry

SERVICE_RESTART = 1012
"""The WebSocket close code of a session that ends because the server does."""

_log = logging.getLogger(__name__)

_POLL_S = 0.05

_SETTLE_S = 1.0
"""A session that is quiet for this long has said what it had to say. A language model that is still
writing sends its next delta sooner."""

_CUT_S = 2.0
"""How long answers that were broken off may take to notice it."""


class Drain:
    """Whether the server is shutting down. One for each application."""

    def __init__(self, sessions: SessionRegistry, limit_s: float) -> None:
        """Args: limit_s: how long what was accepted may be spoken."""
        self.started = asyncio.Event()
        """Set when the shutdown begins; sessions may wait for it."""
        self.limit_s = limit_s
        self._sessions = sessions

    def begin(self) -> None:
        """Take no new sessions from now on. Call on the event loop; idempotent."""
        self._sessions.close()
        self.started.set()

    async def wait(self, unless: Callable[[], bool] = lambda: False) -> None:
        """Wait until no session is left, the time is over, or ``unless`` says so."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.limit_s):
                while self._sessions.open and not unless():  # noqa: ASYNC110
                    await asyncio.sleep(_POLL_S)
        if self._sessions.open:
            _log.warning("%d sessions are cut off by the shutdown", self._sessions.open)


def drain_of(connection: HTTPConnection) -> Drain:
    """The drain of the connection's application."""
    drain: Drain = connection.app.state.speech.drain
    return drain


async def finish(stream: LocalStream, drain: Drain) -> None:
    """Wait for a shutdown to begin and for the stream to have said what it has to say; end it.

    A door runs this beside its reading and writing. The iteration over the stream then ends as
    after a ``close`` of the client's, and the door closes with ``SERVICE_RESTART``.
    """
    await drain.started.wait()
    while not stream.closed and (stream.busy or stream.quiet_s < _SETTLE_S):  # noqa: ASYNC110
        await asyncio.sleep(_POLL_S)
    if not stream.closed:
        with contextlib.suppress(IllegalTransition):
            await stream.end_input()


class DrainingServer(uvicorn.Server):
    """uvicorn's server, with a drain ahead of its own shutdown.

    uvicorn's own shutdown closes the port and all WebSockets at once, and ends the process by the
    signal it got; then neither is the speech finished nor the exit status 0.
    """

    def __init__(self, config: uvicorn.Config, drain: Drain, *, reader_timeout_s: float) -> None:
        """
        Args:
            config: how to serve.
            drain: what to wait for at shutdown.
            reader_timeout_s: how long a peer may leave data unacknowledged, or its window closed,
                before the system drops the connection, also if we have closed it already.
        """
        super().__init__(config)
        config.timeout_graceful_shutdown = round(_CUT_S)
        self._drain = drain
        self._reader_timeout_ms = round(reader_timeout_s * 1000)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not hasattr(socket, "TCP_USER_TIMEOUT"):
            return
        # Closing a connection lets the peer have what is buffered first; one that has stopped
        # reading would keep buffer and connection for ever. Accepted sockets inherit the option
        # (tcp(7)); Linux applies it to a window that stays closed as well.
        for server in self.servers:
            for listener in server.sockets:
                if listener.family in (socket.AF_INET, socket.AF_INET6):
                    listener.setsockopt(
                        socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, self._reader_timeout_ms
                    )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._drain.begin()
        await self._drain.wait(lambda: self.force_exit)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            os._exit(128 + sig)  # as process 1 of a container we would survive the signal itself
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        originals = [(number, signal.signal(number, self.handle_exit)) for number in signals]
        try:
            yield
        finally:
            for number, original in originals:
                signal.signal(number, original)
