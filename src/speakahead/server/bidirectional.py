"""The WebSocket door: one session of protocol 1 or 2 for each connection.

Four tasks work for a connection: one turns frames into requests, one events into frames, one
watches the time, and one waits for the server to shut down. While the session has as much text as
it takes, the socket is not read on purpose, so that the producer feels it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from speakahead.backends.local import LocalBackend, LocalStream
from speakahead.errors import (
    ConnectionFailed,
    IdleTimeout,
    IllegalTransition,
    InvalidRequest,
    SessionExpired,
    SpeakaheadError,
    describe_fault,
)
from speakahead.protocol.codec import Greeted, KeptAlive, Opened, Outgoing, Warned
from speakahead.protocol.json import RefusedMessage
from speakahead.protocol.messages import SessionLimits
from speakahead.protocol.negotiation import Negotiation
from speakahead.server.access import accepted_subprotocol, authorize
from speakahead.server.drain import SERVICE_RESTART, Drain, drain_of, finish
from speakahead.server.logs import log_event, request_id
from speakahead.server.sessions import registry
from speakahead.server.settings import ServerSettings
from speakahead.server.speech import ready_backend, server_settings
from speakahead.server.status import close_code
from speakahead.session import Limits
from speakahead.session.events import Failed

_log = logging.getLogger(__name__)

_NORMAL = 1000
_POLICY_VIOLATION = 1008
_INTERNAL_ERROR = 1011
_CLIENT_LEFT = (WebSocketDisconnect, WebSocketDisconnected)

_LONGEST_SLEEP_S = 3600.0


async def bidirectional_stream(socket: WebSocket) -> None:
    """One session; stays open until ``close``, a time-out, or until the client leaves."""
    # First of all, because the platform allows 250 ms. A client that is refused learns why from a
    # typed error, which a browser could not read from a rejected handshake.
    await socket.accept(accepted_subprotocol(socket))
    try:
        key = authorize(socket)
        with registry(socket).admit(key):
            await _Connection(socket, ready_backend(socket), drain_of(socket)).run()
    except SpeakaheadError as refused:
        socket.app.state.speech.metrics.request_refused(refused)
        await _turn_away(socket, refused)


async def _turn_away(socket: WebSocket, refused: SpeakaheadError) -> None:
    settings = server_settings(socket)
    codec = Negotiation(settings.voice)
    with contextlib.suppress(InvalidRequest):
        codec.choose_by_query(socket.query_params.get("protocol", ""))
    wire = _Wire(socket, codec, settings.send_timeout_s)
    with contextlib.suppress(ConnectionFailed, *_CLIENT_LEFT):
        await wire.send(Failed(None, refused))
        await wire.close(close_code(refused))


class _Wire:
    """Sends events in the client's protocol. Several tasks may send; their frames do not mix."""

    def __init__(self, socket: WebSocket, codec: Negotiation, timeout_s: float) -> None:
        self._socket = socket
        self._codec = codec
        self._timeout_s = timeout_s
        self._sending = asyncio.Lock()

    async def send(self, event: Outgoing) -> None:
        """Send the frames of an event.

        Raises:
            ConnectionFailed: the client has not read for too long.
        """
        async with self._sending:
            for frame in self._codec.encode(event):
                try:
                    async with asyncio.timeout(self._timeout_s):
                        if isinstance(frame, str):
                            await self._socket.send_text(frame)
                        else:
                            await self._socket.send_bytes(frame)
                except TimeoutError:
                    raise ConnectionFailed("The client stopped reading.") from None

    async def close(self, code: int, timeout_s: float | None = None) -> None:
        """Close the connection if it is still open."""
        with contextlib.suppress(TimeoutError, RuntimeError, WebSocketDisconnect):
            async with asyncio.timeout(self._timeout_s if timeout_s is None else timeout_s):
                await self._socket.close(code)


class _Connection:
    """One client's connection, from the handshake to its end."""

    def __init__(self, socket: WebSocket, backend: LocalBackend, drain: Drain) -> None:
        self._socket = socket
        self._drain = drain
        self._settings = server_settings(socket)
        self._name = request_id.get()
        voice = self._settings.voice
        voice = replace(voice, pauses=voice.pauses or backend.pauses)
        self._codec = Negotiation(voice, backend.check)
        self._wire = _Wire(socket, self._codec, self._settings.send_timeout_s)
        self._stream: LocalStream = backend.open(
            voice, ahead_s=self._settings.ahead_s, name=self._name
        )

    async def run(self) -> None:
        """Serve the client until the session ends."""
        _log.info("session opened")
        reading = _start(self._read())
        writing = _start(self._write())
        watching = _start(self._watch())
        draining = _start(self._announce_shutdown())
        finishing = _start(finish(self._stream, self._drain))
        tasks = (reading, writing, watching, draining, finishing)
        try:
            await asyncio.wait({reading, writing, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            await self._stream.aclose()
        await self._end([outcome for outcome in outcomes if isinstance(outcome, Exception)])

    async def _end(self, faults: list[Exception]) -> None:
        """Close the connection with the code that says why."""
        outcome = "closed"
        if any(isinstance(fault, _CLIENT_LEFT) for fault in faults):
            outcome = "left"  # what else went wrong, went wrong because of that
        elif any(isinstance(fault, ConnectionFailed) for fault in faults):
            outcome = "stopped_reading"
            await self._wire.close(_POLICY_VIOLATION, timeout_s=1.0)
        elif expired := next((f for f in faults if isinstance(f, SessionExpired)), None):
            outcome = expired.code
            with contextlib.suppress(ConnectionFailed, *_CLIENT_LEFT):
                await self._wire.send(Failed(None, expired))
            await self._wire.close(_NORMAL)
        elif faults:
            outcome = "internal"
            for fault in faults:
                _log.error("session failed: %s", describe_fault(fault))
            await self._wire.close(_INTERNAL_ERROR)
        else:
            await self._wire.close(SERVICE_RESTART if self._drain.started.is_set() else _NORMAL)
        log_event(_log, "session", outcome=outcome, protocol=self._codec.protocol)

    async def _read(self) -> None:
        """Frames to requests, until the client leaves.

        What comes after a ``close`` is passed over; the rest of the speech needs a listener, and
        only reading shows that he has left.
        """
        if (asked := self._socket.query_params.get("protocol")) is not None:
            try:
                self._codec.choose_by_query(asked)
                await self._wire.send(self._opened())
            except InvalidRequest as refused:
                await self._stream.refuse(refused)
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1006))
            if self._stream.closed:
                continue
            text = message.get("text")
            try:
                request = self._codec.decode(message["bytes"] if text is None else text)
            except RefusedMessage as refused:
                if self._codec.choosing:  # not behind the answer to the next greeting
                    await self._wire.send(Failed(None, refused))
                else:
                    await self._stream.refuse(refused, refused.utterance, text=refused.text)
                continue
            match request:
                case Greeted():
                    await self._wire.send(self._opened())
                case KeptAlive():
                    self._stream.keep_alive()
                case _:
                    with contextlib.suppress(IllegalTransition):  # raced with a close
                        await self._stream.send(request)

    async def _write(self) -> None:
        """Events to frames, until the session is closed."""
        async for event in self._stream:
            await self._wire.send(event)

    async def _watch(self) -> None:
        """Warn of the end of a session that is idle or old, and bring it about.

        Raises:
            SessionExpired: the session is too old.
        """
        idle_s = self._settings.idle_timeout_s
        notice_s = self._settings.session_warning_s
        idle_notice_s = min(notice_s, idle_s / 2)
        expires_at = time.monotonic() + self._settings.max_session_s
        told_idle = told_age = False
        while True:
            left_s = expires_at - time.monotonic()
            quiet_s = 0.0 if self._stream.busy else self._stream.quiet_s
            waits = [left_s, _LONGEST_SLEEP_S]
            if left_s <= 0:
                raise SessionExpired("The session is as old as one may get; open a new one.")
            if left_s > notice_s:
                waits.append(left_s - notice_s)
            elif not told_age:
                told_age = True
                await self._warn("session_ending", left_s, "open a new one for what is to come")
            if not self._stream.closed:
                if quiet_s >= idle_s:
                    await self._end_idle()
                    continue
                waits.append(idle_s - quiet_s)
                if quiet_s < idle_s - idle_notice_s:
                    told_idle = False
                    waits.append(idle_s - idle_notice_s - quiet_s)
                elif not told_idle:
                    told_idle = True
                    await self._warn("idle_soon", idle_s - quiet_s, "send a keepalive to stay")
            await asyncio.sleep(max(min(waits), 0.001))

    async def _end_idle(self) -> None:
        with contextlib.suppress(IllegalTransition):
            await self._stream.refuse(
                IdleTimeout("The session was idle for too long and is closed now.")
            )
            await self._stream.end_input()

    async def _warn(self, code: str, left_s: float, advice: str) -> None:
        seconds = max(1, round(left_s))
        await self._wire.send(Warned(code, f"The session ends in {seconds} s; {advice}."))

    async def _announce_shutdown(self) -> None:
        await self._drain.started.wait()
        await self._wire.send(
            Warned(
                "shutting_down",
                "The server is shutting down: it still speaks what it was sent, then closes.",
            )
        )

    def _opened(self) -> Opened:
        return Opened(self._name, _limits(self._stream.limits, self._settings))


def _start(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(work)


def _limits(session: Limits, server: ServerSettings) -> SessionLimits:
    return SessionLimits(
        max_message_bytes=server.max_message,
        max_text=session.max_text,
        max_utterance=session.max_utterance,
        max_waiting=session.max_waiting,
        max_utterances=session.max_utterances,
        ahead_s=server.ahead_s,
        send_timeout_s=server.send_timeout_s,
        idle_timeout_s=server.idle_timeout_s,
        max_session_s=server.max_session_s,
    )
