"""``InvokeEndpointWithBidirectionalStream``: one client's stream, one WebSocket of the container.

Three tasks work for a stream: parts to the container, frames to the client, and pings. Each waits
for whom it sends to before it reads on, so that nothing piles up here.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

from websockets.frames import CloseCode

from speakahead.emulator.bridge import FramesToParts, PartsToFrames
from speakahead.emulator.container import CLOSE_TIMEOUT_S, Closed, ContainerSocket
from speakahead.emulator.events import EventDecoder, decode_message, decode_part
from speakahead.emulator.exchange import ClientGone, Exchange
from speakahead.emulator.faults import FaultFired, RequestFaults
from speakahead.emulator.refusals import StreamRefused
from speakahead.emulator.response import EventResponse
from speakahead.emulator.signing import SignedEvents

MAX_MISSED_PONGS = 5


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How long things may take, in seconds.

    Attributes:
        session_s: a stream's age at most; 30 minutes on AWS.
        ping_interval_s: between two pings of the container; 60 on AWS.
    """

    session_s: float = 1800.0
    ping_interval_s: float = 60.0


@dataclass(frozen=True, slots=True)
class _End:
    """How a stream ends: the container's Close, a word for the log, the client's error if any."""

    code: CloseCode
    outcome: str
    error: tuple[str, str] | None = None


_TOO_OLD = _End(
    CloseCode.GOING_AWAY,
    "session limit",
    ("ModelInvocationTimeExceeded", "The stream is as old as one may get."),
)
_NO_PONGS = _End(
    CloseCode.INTERNAL_ERROR,
    "no pongs",
    ("StreamBroken", f"The container missed {MAX_MISSED_PONGS} pings."),
)


def _container_ended(closed: Closed) -> _End:
    if closed.code is None:
        error = ("StreamBroken", "The container's connection ended without a Close.")
    else:  # 1000 is no exception: the platform tells every Close as an error
        error = (str(closed.code), closed.reason)
    return _End(CloseCode.NORMAL_CLOSURE, f"container closed {closed.code or ''}".strip(), error)


class BidirectionalStream:
    """Relays between a client and the container until one of them ends, or something does."""

    def __init__(
        self,
        exchange: Exchange,
        response: EventResponse,
        socket: ContainerSocket,
        faults: RequestFaults,
        limits: StreamLimits,
    ) -> None:
        self._exchange = exchange
        self._response = response
        self._socket = socket
        self._faults = faults
        self._limits = limits

    async def run(self) -> str:
        """Relay, and tell both sides how it ended. Returns how, for the log."""
        code, outcome = CloseCode.GOING_AWAY, "stopped"
        try:
            await self._response.start()
            end = await self._relay()
            code, outcome = end.code, end.outcome
            if end.error is None:
                await self._response.end()
            else:
                await self._response.model_stream_error(*end.error)
        except FaultFired as fired:
            outcome = f"fault {fired.fault.kind}"
            await self._response.perform(fired.fault)
        except StreamRefused as refused:
            outcome = f"refused {refused.code}"
            await self._response.refuse(refused)
        except ClientGone:
            outcome = "client left"
        finally:
            await self._socket.finish(code)
        return outcome

    async def _relay(self) -> _End:
        reading = asyncio.create_task(self._to_container())
        writing = asyncio.create_task(self._to_client())
        pinging = asyncio.create_task(self._keep_alive())
        tasks: tuple[asyncio.Task[Any], ...] = (reading, writing, pinging)
        try:
            async with asyncio.timeout(self._limits.session_s):
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if not writing.done() and reading.done() and reading.result():
                    await self._socket.close(CloseCode.NORMAL_CLOSURE)
                    await self._last_frames(writing)
                    if writing.done():
                        writing.result()  # a fault, or the client has left after all
                    return _End(CloseCode.NORMAL_CLOSURE, "client ended")
                if not writing.done() and self._socket.pongs_missed >= MAX_MISSED_PONGS:
                    return _NO_PONGS
                await self._last_frames(writing)
                return _container_ended(writing.result() if writing.done() else Closed(None))
        except TimeoutError:
            return _TOO_OLD
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _last_frames(self, writing: asyncio.Task[Closed]) -> None:
        """Wait for the container's Close; a client that takes its time is waited for."""
        while not writing.done():
            before = self._response.parts
            await asyncio.wait({writing}, timeout=CLOSE_TIMEOUT_S)
            if self._response.parts == before and not self._response.sending:
                return

    async def _to_container(self) -> bool:
        """Parts to frames. True once the client has ended its side, False if the socket is gone.

        Raises:
            StreamRefused, ClientGone
        """
        decoder, envelopes, bridge = EventDecoder(), SignedEvents(), PartsToFrames()
        parts = 0
        while data := await self._exchange.read():
            for envelope in decoder.feed(data):
                event = envelopes.unwrap(envelope)
                if event is None:
                    continue
                frame = bridge.frame(decode_part(decode_message(event)))
                if pause := self._faults.pause_s(parts):
                    await self._pause(pause)
                parts += 1
                try:
                    await self._socket.send(frame)
                except OSError:
                    return False  # the other task learns how it ended
        if not decoder.empty:
            raise StreamRefused("ValidationException", "The body ended within an event.")
        envelopes.close()
        return True

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exchange.gone()
                raise ClientGone

    async def _to_client(self) -> Closed:
        """Frames to parts, until the container's socket is closed.

        Raises:
            FaultFired, ClientGone
        """
        bridge = FramesToParts()
        while not isinstance(frame := await self._socket.receive(), Closed):
            await self._response.part(bridge.part(frame))
        return frame

    async def _keep_alive(self) -> None:
        """Ping; returns when too many were not answered, or when the socket is gone."""
        while self._socket.pongs_missed < MAX_MISSED_PONGS:
            await asyncio.sleep(self._limits.ping_interval_s)
            try:
                await self._socket.ping(excused=self._response.sending)
            except OSError:
                return
