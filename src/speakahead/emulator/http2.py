"""HTTP/2 connections: ``h2`` over asyncio streams, with flow control that reaches both ends.

What a client has sent and nobody has consumed yet stays within its window; what it does not take
waits in the task that sends it. So a slow container stops the client, and a slow client stops the
container. Small frames do not wait for acknowledgements: asyncio sets TCP_NODELAY.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

from speakahead.emulator.exchange import ClientGone, Exchange
from speakahead.errors import describe_fault

_log = logging.getLogger(__name__)

MAX_STREAMS = 128
STREAM_WINDOW = 256 * 1024
"""Bytes that a client may send ahead on each stream; until it knows that, 65,535."""

_READ_SIZE = 64 * 1024
_IDLE_S = 600.0
_WRITE_TIMEOUT_S = 120.0
_LINGER_S = 10.0
_LEAVE_S = 8.0

type Handler = Callable[[Exchange], Awaitable[None]]


class Http2Connection:
    """One client's connection, and the streams on it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: Handler
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._handler = handler
        self._streams: dict[int, _Stream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.h2.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: MAX_STREAMS,
                SettingCodes.MAX_HEADER_LIST_SIZE: 64 * 1024,
            },
        )

    async def run(self) -> None:
        """Serve until the client leaves or is silent, without a stream, for ten minutes."""
        self.h2.initiate_connection()
        # One stream that is not consumed must not stop the others.
        self.h2.increment_flow_control_window(MAX_STREAMS * STREAM_WINDOW)
        try:
            await self.flush()
            await self._read()
        except (ClientGone, OSError):
            pass
        finally:
            for stream in self._streams.values():
                stream.lose()
            # They notice, and have a container to take leave of.
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_LEAVE_S)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self) -> None:
        while True:
            try:
                async with asyncio.timeout(_IDLE_S):
                    data = await self._reader.read(_READ_SIZE)
            except TimeoutError:
                if self._streams:
                    continue
                self.h2.close_connection()
                await self.flush()
                return
            if not data:
                return
            try:
                events = self.h2.receive_data(data)
            except ProtocolError:
                await self.flush()  # tells the client why
                return
            for event in events:
                self._take(event)
            await self.flush()

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived(stream_id=number, headers=headers):
                self._open(number, headers)
            case DataReceived(stream_id=number, data=data, flow_controlled_length=length):
                if stream := self._streams.get(number):
                    stream.feed(data, length)
                else:  # it is over, but its bytes count against the connection's window
                    self.h2.acknowledge_received_data(length, number)
            case StreamEnded(stream_id=number):
                if stream := self._streams.get(number):
                    stream.feed_end()
            case StreamReset(stream_id=number):
                if stream := self._streams.get(number):
                    stream.lose()
            case ConnectionTerminated():
                raise ClientGone  # h2 lets nothing be sent any more
            case WindowUpdated() | RemoteSettingsChanged():
                for stream in self._streams.values():
                    stream.window_opened.set()
            case _:
                pass

    def _open(self, number: int, headers: Iterable[tuple[object, object]]) -> None:
        # Not by the setting INITIAL_WINDOW_SIZE: the AWS SDKs' client stalls for good if it has
        # used up the first 65,535 bytes before it learns of that; a WINDOW_UPDATE wakes it.
        room = STREAM_WINDOW - self.h2.local_settings.initial_window_size
        with contextlib.suppress(ProtocolError):  # it may be over already
            self.h2.increment_flow_control_window(room, number)
        fields = {str(name): str(value) for name, value in headers}
        stream = self._streams[number] = _Stream(self, number, fields)
        task = asyncio.create_task(self._serve(stream))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, stream: _Stream) -> None:
        try:
            await self._handler(stream)
            await stream.linger(_LINGER_S)
        except ClientGone:
            pass
        except Exception as fault:
            _log.error("a request failed: %s", describe_fault(fault))
        finally:
            stream.reset()
            del self._streams[stream.number]

    async def flush(self) -> None:
        """Write what h2 has to send.

        Raises:
            ClientGone: the client has not read for too long, or has left.
        """
        self.write()
        try:
            async with asyncio.timeout(_WRITE_TIMEOUT_S):
                await self._writer.drain()
        except TimeoutError:
            self.abort()
            raise ClientGone from None
        except OSError:
            raise ClientGone from None

    def write(self) -> None:
        """Hand what h2 has to send to the transport, without waiting."""
        if data := self.h2.data_to_send():
            self._writer.write(data)

    def abort(self) -> None:
        """Drop the connection."""
        self._writer.transport.abort()


class _Stream:
    """One stream; an ``Exchange``."""

    duplex = True

    def __init__(
        self, connection: Http2Connection, number: int, headers: Mapping[str, str]
    ) -> None:
        self.number = number
        self.method = headers.get(":method", "")
        self.path = headers.get(":path", "")
        self.headers = {name: value for name, value in headers.items() if name[:1] != ":"}
        self.headers.setdefault("host", headers.get(":authority", ""))
        self.window_opened = asyncio.Event()
        self._connection = connection
        self._received = bytearray()
        self._unacknowledged = 0
        self._readable = asyncio.Event()
        self._lost = asyncio.Event()
        self._ended_there = False
        self._ended_here = False

    def feed(self, data: bytes, flow_controlled_length: int) -> None:
        """Take in what the client has sent: never more than its window."""
        self._received += data
        self._unacknowledged += flow_controlled_length
        self._readable.set()

    def feed_end(self) -> None:
        """The client has ended its side."""
        self._ended_there = True
        self._readable.set()

    def lose(self) -> None:
        """The client has reset the stream or left."""
        self._lost.set()
        self._readable.set()
        self.window_opened.set()

    async def read(self) -> bytes:
        while True:
            if self._lost.is_set():
                raise ClientGone
            if self._unacknowledged:
                data = bytes(self._received)
                self._received.clear()
                self._acknowledge()
                await self._connection.flush()
                if data:
                    return data
            if self._ended_there:
                return b""
            self._readable.clear()
            await self._readable.wait()

    async def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        self._check()
        self._connection.h2.send_headers(self.number, [(":status", str(status)), *headers])
        await self._connection.flush()

    async def send(self, data: bytes) -> None:
        h2 = self._connection.h2
        rest = memoryview(data)
        while rest:
            self._check()
            room = min(h2.local_flow_control_window(self.number), h2.max_outbound_frame_size)
            if room <= 0:
                self.window_opened.clear()
                await self.window_opened.wait()
                continue
            h2.send_data(self.number, bytes(rest[:room]))
            rest = rest[room:]
            await self._connection.flush()

    async def end(self) -> None:
        self._check()
        self._ended_here = True
        self._connection.h2.end_stream(self.number)
        await self._connection.flush()

    async def linger(self, timeout_s: float) -> None:
        """After the answer, let the client end its side too; what it still sends is dropped."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._ended_here and await self.read():
                    pass

    def reset(self) -> None:
        """Break the stream off; nothing happens if both sides have ended it."""
        if not self._lost.is_set() and not (self._ended_here and self._ended_there):
            code = ErrorCodes.NO_ERROR if self._ended_here else ErrorCodes.INTERNAL_ERROR
            with contextlib.suppress(ProtocolError):
                self._connection.h2.reset_stream(self.number, code)
        self._acknowledge()
        self._connection.write()
        self.lose()

    def cut(self) -> None:
        self._connection.abort()
        self.lose()

    async def gone(self) -> None:
        await self._lost.wait()

    def _acknowledge(self) -> None:
        """Give back the window of what was consumed, or will not be."""
        length, self._unacknowledged = self._unacknowledged, 0
        if length:
            self._connection.h2.acknowledge_received_data(length, self.number)

    def _check(self) -> None:
        if self._lost.is_set():
            raise ClientGone
