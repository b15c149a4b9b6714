"""HTTP/1.1 connections, for boto3: ``h11`` over asyncio streams."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable

import h11

from speakahead.emulator.exchange import ClientGone, Exchange
from speakahead.errors import describe_fault

_log = logging.getLogger(__name__)

_READ_SIZE = 64 * 1024
_IDLE_S = 60.0
_WRITE_TIMEOUT_S = 120.0

type Handler = Callable[[Exchange], Awaitable[None]]


class Http1Connection:
    """One client's connection: requests one after the other."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.h11 = h11.Connection(our_role=h11.SERVER)
        self._handler = handler

    async def run(self) -> None:
        """Serve until the client leaves, or is silent for a minute between requests."""
        with contextlib.suppress(ClientGone, h11.ProtocolError, TimeoutError):
            while isinstance(request := await self._next_request(), h11.Request):
                exchange = _Exchange(self, request)
                await self._serve(exchange)
                while await exchange.read():
                    pass
                if self.h11.our_state is not h11.DONE:
                    return
                self.h11.start_next_cycle()

    async def _next_request(self) -> h11.Event:
        async with asyncio.timeout(_IDLE_S):
            return await self.next_event()

    async def _serve(self, exchange: Exchange) -> None:
        try:
            await self._handler(exchange)
        except (ClientGone, h11.ProtocolError):
            raise
        except Exception as fault:
            _log.error("a request failed: %s", describe_fault(fault))
            raise ClientGone from None

    async def next_event(self) -> h11.Event:
        """What the client says next.

        Raises:
            ClientGone
            h11.RemoteProtocolError: it is not HTTP.
        """
        while True:
            event = self.h11.next_event()
            if event is h11.NEED_DATA:
                try:
                    self.h11.receive_data(await self.reader.read(_READ_SIZE))
                except OSError:
                    raise ClientGone from None
            elif isinstance(event, (h11.ConnectionClosed, type)):
                raise ClientGone
            else:
                return event

    async def write(self, event: h11.Event) -> None:
        """Send.

        Raises:
            ClientGone
        """
        self.writer.write(self.h11.send(event) or b"")
        try:
            async with asyncio.timeout(_WRITE_TIMEOUT_S):
                await self.writer.drain()
        except (OSError, TimeoutError):
            raise ClientGone from None


class _Exchange:
    duplex = False

    def __init__(self, connection: Http1Connection, request: h11.Request) -> None:
        self._connection = connection
        self.method = request.method.decode("ascii")
        self.path = request.target.decode("ascii")
        self.headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers
        }
        self._ended_there = False

    async def read(self) -> bytes:
        while not self._ended_there:
            if self._connection.h11.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                await self._connection.write(go_on)
            event = await self._connection.next_event()
            if isinstance(event, h11.EndOfMessage):
                self._ended_there = True
            elif isinstance(event, h11.Data) and event.data:
                return bytes(event.data)
        return b""

    async def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        await self._connection.write(h11.Response(status_code=status, headers=list(headers)))

    async def send(self, data: bytes) -> None:
        await self._connection.write(h11.Data(data=data))

    async def end(self) -> None:
        await self._connection.write(h11.EndOfMessage())

    def reset(self) -> None:
        self.cut()

    def cut(self) -> None:
        self._connection.writer.transport.abort()

    async def gone(self) -> None:
        with contextlib.suppress(OSError):
            while await self._connection.reader.read(_READ_SIZE):
                pass
