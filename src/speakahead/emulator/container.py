"""The container: its WebSocket, frame by frame, and its HTTP route.

``websockets``' protocol without I/O is used rather than its client, because the platform passes
frames on one by one, with their FIN bits, which a client hides.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from speakahead.emulator.events import MAX_PART
from speakahead.emulator.refusals import model_error
from speakahead.errors import InvalidRequest

_log = logging.getLogger(__name__)
# Its debug lines hold frames, and frames hold the client's words.
_silent = logging.getLogger(f"{__name__}.frames")
_silent.setLevel(logging.INFO)

_READ_SIZE = 64 * 1024
_ACCEPT_WITHIN_S = 0.25
CLOSE_TIMEOUT_S = 5.0
"""Seconds that a container has to answer a Close."""

_ORIGINAL_MESSAGE_LENGTH = 1024


@dataclass(frozen=True, slots=True)
class Address:
    """Where the container listens: ``http://host:port``."""

    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read a base URL.

        Raises:
            InvalidRequest: it is not ``http://host[:port]``.
        """
        try:
            parts = urlsplit(url)
            if parts.scheme == "http" and parts.hostname and parts.path in ("", "/"):
                return cls(parts.hostname, parts.port or 8080)
        except ValueError:
            pass
        raise InvalidRequest("The container's address is like http://127.0.0.1:8080.")

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    async def connect(self, timeout_s: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a TCP connection.

        Raises:
            Refused: nobody listens there.
        """
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.open_connection(self.host, self.port)
        except (OSError, TimeoutError):
            raise model_error("The container could not be reached.") from None


@dataclass(frozen=True, slots=True)
class Closed:
    """How the container's WebSocket ended: its Close frame, or None where there was none."""

    code: int | None
    reason: str = ""


class ContainerSocket:
    """A WebSocket to the container. One task sends, another receives."""

    def __init__(
        self,
        protocol: ClientProtocol,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._protocol = protocol
        self._reader = reader
        self._writer = writer
        self._frames: deque[Frame] = deque()
        self._ping: bytes | None = None
        self.pongs_missed = 0

    @classmethod
    async def connect(
        cls, address: Address, target: str, request_id: str, timeout_s: float
    ) -> ContainerSocket:
        """Open a WebSocket.

        Args:
            target: path and query, beginning with a slash.
            request_id: sent as ``X-Amzn-SageMaker-Request-Id``.
            timeout_s: seconds for the handshake. The platform waits 0.25 s; more than that is
                logged.

        Raises:
            Refused: 424, if there is no container or it does not accept.
        """
        began = time.monotonic()
        reader, writer = await address.connect(timeout_s)
        protocol = ClientProtocol(
            parse_uri(f"ws://{address.netloc}{target}"),
            max_size=(None, MAX_PART),
            logger=_silent,
        )
        request = protocol.connect()
        request.headers["X-Amzn-SageMaker-Request-Id"] = request_id
        protocol.send_request(request)
        socket = cls(protocol, reader, writer)
        try:
            async with asyncio.timeout(timeout_s):
                await socket._handshake()
        except (TimeoutError, OSError):
            socket.abort()
            raise model_error("The container did not accept the WebSocket in time.") from None
        except BaseException:
            socket.abort()
            raise
        if (took := time.monotonic() - began) > _ACCEPT_WITHIN_S:
            _log.warning("the container took %.0f ms to accept; AWS allows 250", took * 1000)
        return socket

    async def _handshake(self) -> None:
        await self._flush()
        while self._protocol.state is State.CONNECTING and self._protocol.handshake_exc is None:
            data = await self._reader.read(_READ_SIZE)
            self._feed(data)
        refused = self._protocol.handshake_exc
        if isinstance(refused, InvalidStatus):
            body = refused.response.body or b""
            raise model_error(
                "The container refused the WebSocket.",
                refused.response.status_code,
                bytes(body[:_ORIGINAL_MESSAGE_LENGTH]).decode(errors="replace"),
            )
        if refused is not None:
            raise model_error("The container did not answer as a WebSocket server does.")

    async def send(self, frame: Frame) -> None:
        """Send a data frame; waits while the container does not read.

        Raises:
            OSError: the connection is gone.
        """
        if self._protocol.state is not State.OPEN:
            raise ConnectionResetError
        match frame.opcode:
            case Opcode.TEXT:
                self._protocol.send_text(frame.data, frame.fin)
            case Opcode.BINARY:
                self._protocol.send_binary(frame.data, frame.fin)
            case _:
                self._protocol.send_continuation(frame.data, frame.fin)
        await self._flush()

    async def receive(self) -> Frame | Closed:
        """The next data frame, or how the connection ended."""
        while not self._frames:
            if (close := self._protocol.close_rcvd) is not None:
                return Closed(close.code, close.reason)
            if self._protocol.state is State.CLOSED or self._protocol.parser_exc is not None:
                return Closed(None)
            try:
                self._feed(await self._reader.read(_READ_SIZE))
                await self._flush()
            except OSError:
                return Closed(None)
        return self._frames.popleft()

    def _feed(self, data: bytes) -> None:
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        for event in self._protocol.events_received():
            if not isinstance(event, Frame):
                continue  # the handshake's answer
            if event.opcode is Opcode.PONG and bytes(event.data) == self._ping:
                self._ping = None
                self.pongs_missed = 0
            elif event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                self._frames.append(event)

    async def ping(self, *, excused: bool) -> None:
        """Send a Ping, and count the last one as missed if it was not answered.

        Args:
            excused: whether frames were not read meanwhile, so that the answer may lie there.

        Raises:
            OSError: the connection is gone.
        """
        if self._ping is not None and not excused:
            self.pongs_missed += 1
        self._ping = str(time.monotonic_ns()).encode()
        if self._protocol.state is not State.OPEN:
            raise ConnectionResetError
        self._protocol.send_ping(self._ping)
        # Not drained: who does not answer may not read either, and a Ping is small.
        self._write()

    async def close(self, code: CloseCode) -> None:
        """Send Close; what the container still sends, and its own Close, are to be received."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(code)
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self._flush()

    async def finish(self, code: CloseCode) -> None:
        """Close and wait for the container's Close, for 5 seconds at most."""
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.close(code)
                while not isinstance(await self.receive(), Closed):
                    pass
        except TimeoutError:
            pass
        finally:
            self.abort()

    def abort(self) -> None:
        """Drop the connection, and what the container has not taken."""
        if self._writer.transport.get_write_buffer_size():
            self._writer.transport.abort()
        else:
            self._writer.close()

    async def _flush(self) -> None:
        self._write()
        await self._writer.drain()

    def _write(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._writer.write(data)


@dataclass(frozen=True, slots=True)
class ContainerAnswer:
    """The head of the container's answer over HTTP, and its body as it comes."""

    status: int
    headers: dict[str, str]
    body: AsyncIterator[bytes]

    async def whole(self, limit: int) -> bytes:
        """The whole body, or its first ``limit`` bytes."""
        collected = bytearray()
        async for piece in self.body:
            collected += piece
            if len(collected) >= limit:
                break
        return bytes(collected[:limit])


@contextlib.asynccontextmanager
async def post(
    address: Address, target: str, headers: dict[str, str], body: bytes, timeout_s: float
) -> AsyncIterator[ContainerAnswer]:
    """POST to the container, on a connection of its own.

    Args:
        timeout_s: seconds until the head of the answer, and then for each piece of its body.

    Raises:
        Refused: 424, if there is no answer. The body raises the same where it breaks off.
    """
    reader, writer = await address.connect(timeout_s)
    connection = h11.Connection(our_role=h11.CLIENT)

    async def next_event() -> h11.Event:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                async with asyncio.timeout(timeout_s):
                    connection.receive_data(await reader.read(_READ_SIZE))
                continue
            assert not isinstance(event, type)  # h11.PAUSED: a client never pauses
            return event

    async def pieces() -> AsyncIterator[bytes]:
        with _broken_off():
            while isinstance(event := await next_event(), h11.Data):
                yield bytes(event.data)

    try:
        with _broken_off():
            head = {"Host": address.netloc, "Content-Length": str(len(body)), **headers}
            for out in (
                h11.Request(method="POST", target=target, headers=list(head.items())),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                writer.write(connection.send(out) or b"")
            async with asyncio.timeout(timeout_s):
                await writer.drain()
            while isinstance(answer := await next_event(), h11.InformationalResponse):
                pass
            if not isinstance(answer, h11.Response):
                raise model_error("The container ended the connection without an answer.")
        fields = {name.decode("latin-1"): value.decode("latin-1") for name, value in answer.headers}
        yield ContainerAnswer(answer.status_code, fields, pieces())
    finally:
        writer.close()


@contextlib.contextmanager
def _broken_off() -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise model_error("The container did not answer in time.") from None
    except (OSError, h11.RemoteProtocolError):
        raise model_error("The container's answer broke off.") from None
