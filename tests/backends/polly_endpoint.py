"""Amazon Polly's bidirectional stream on this machine, as its model and its guide describe it.

It hums instead of speaking, and every character takes the same time. The real SDK talks to it, over
HTTP/2 and TLS.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np
from smithy_aws_event_stream.events import EventMessage

from speakahead.emulator.certificate import Certificates
from speakahead.emulator.events import EventDecoder, decode_message, encode_exception
from speakahead.emulator.exchange import ClientGone, Exchange
from speakahead.emulator.http2 import Http2Connection
from speakahead.emulator.signing import SignedEvents

RATE = 16_000
CHARACTER_S = 0.05
PITCH = 440.0
SECRET = "the words of the service"  # must not be repeated by the back end


class Fault(Enum):
    """What goes wrong with a call, after the first sound unless it says otherwise."""

    NONE = auto()
    SILENT = auto()  # nothing is ever answered
    RESET = auto()  # the stream is reset
    ENDED = auto()  # the stream ends, properly as far as HTTP/2 is concerned
    CUT = auto()  # the connection is dropped
    OPEN = auto()  # all is said, but the stream does not end
    STALLED = auto()  # nothing more comes


@dataclass(frozen=True)
class Refusal:
    """The call is answered with an HTTP error."""

    status: int
    kind: str


@dataclass(frozen=True)
class Thrown:
    """An exception event follows the first sound."""

    kind: str
    members: dict[str, str] = field(default_factory=dict)


@dataclass
class Call:
    """One call of StartSpeechSynthesisStream."""

    connection: int
    headers: dict[str, str]
    texts: list[dict[str, object]] = field(default_factory=list)
    closed: bool = False  # CloseStreamEvent has come
    gone: bool = False  # the client has left before the end

    @property
    def spoken(self) -> str:
        return "".join(str(text["Text"]) for text in self.texts)

    @property
    def blanks(self) -> int:
        return sum(not str(text["Text"]).strip() for text in self.texts)


class PollyEndpoint:
    """Serves on a loopback port.

    Attributes:
        calls: all so far.
        faults: what goes wrong with the calls to come; nothing with those after them.
        character_s: seconds of sound for each character.
        idle_s: a call that gets no event for so long is ended with an exception.
        pace: sound is sent as fast as it is taken, unless this waits.
        most_at_once: calls that were open at the same time.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.faults: list[Fault | Refusal | Thrown] = []
        self.idle_s = 5.0
        self.character_s = CHARACTER_S
        self.pace = asyncio.Event()
        self.pace.set()
        self.most_at_once = 0
        self.url = ""
        self._open = 0
        self._connections: list[Http2Connection] = []
        self._changed = asyncio.Condition()

    async def until(self, condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
        """Wait for what calls have got."""
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(condition)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(
            self._connected, "127.0.0.1", 0, ssl=Certificates().server_context()
        )
        self.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            server.close()
            self.drop()
            await server.wait_closed()

    def drop(self) -> None:
        """Drop all connections."""
        for connection in self._connections:
            connection.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self._connections)
        connection = Http2Connection(reader, writer, lambda exchange: self._serve(exchange, number))
        self._connections.append(connection)
        with contextlib.suppress(asyncio.CancelledError):
            await connection.run()

    async def _serve(self, exchange: Exchange, connection: int) -> None:
        call = Call(connection, dict(exchange.headers))
        self.calls.append(call)
        fault = self.faults.pop(0) if self.faults else Fault.NONE
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        await self._news()
        try:
            await self._answer(exchange, call, fault)
        except ClientGone:
            call.gone = True
        except asyncio.CancelledError:
            call.gone = True
            raise
        finally:
            self._open -= 1
            await self._news()

    async def _news(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _answer(
        self, exchange: Exchange, call: Call, fault: Fault | Refusal | Thrown
    ) -> None:
        assert exchange.method == "POST"
        assert exchange.path.partition("?")[0] == "/v1/synthesisStream"
        assert "/polly/aws4_request" in exchange.headers["authorization"]
        if isinstance(fault, Refusal):
            await exchange.start(
                fault.status,
                [("content-type", "application/json"), ("x-amzn-errortype", fault.kind)],
            )
            await exchange.send(json.dumps({"message": SECRET}).encode())
            await exchange.end()
            return
        if fault is Fault.SILENT:
            await exchange.gone()
            raise ClientGone
        await exchange.start(200, [("content-type", "application/vnd.amazon.eventstream")])
        waiting, characters = "", 0
        async for event in self._events(exchange):
            if event is None:
                await exchange.send(_quota("input-stream-inbound-event-timeout"))
                await exchange.end()
                return
            if event.headers[":event-type"] == "CloseStreamEvent":
                call.closed = True
                await self._news()
                break
            assert event.headers[":event-type"] == "TextEvent"
            text = json.loads(event.payload)
            call.texts.append(text)
            await self._news()
            waiting += _plain(text)
            characters += len(_plain(text))
            if text.get("FlushStreamConfiguration", {}).get("Force") and waiting.strip():
                await self._hum(exchange, waiting)
                waiting = ""
                if await self._fail(exchange, fault):
                    return
        if waiting.strip():
            await self._hum(exchange, waiting)
            if await self._fail(exchange, fault):
                return
        await exchange.send(
            _event("StreamClosedEvent", json.dumps({"RequestCharacters": characters}).encode())
        )
        if fault is Fault.OPEN:
            await exchange.gone()
            raise ClientGone
        await exchange.end()
        await exchange.read()

    async def _events(self, exchange: Exchange) -> AsyncIterator[EventMessage | None]:
        """What the client sends; None where it has been silent for too long."""
        decoder, envelopes = EventDecoder(), SignedEvents()
        while True:
            try:
                async with asyncio.timeout(self.idle_s):
                    data = await exchange.read()
            except TimeoutError:
                yield None
                return
            if not data:
                raise ClientGone  # it has left without a CloseStreamEvent
            for envelope in decoder.feed(data):
                inner = envelopes.unwrap(envelope)
                if inner is not None:
                    yield decode_message(inner)

    async def _hum(self, exchange: Exchange, text: str) -> None:
        await self.pace.wait()
        count = round(len(text.strip()) * self.character_s * RATE)
        wave = 0.5 * np.sin(2 * np.pi * PITCH * np.arange(count) / RATE)
        sound = np.rint(wave * 32767).astype("<i2").tobytes()
        for start in range(0, len(sound), 1001):  # cuts samples in two
            await exchange.send(
                _event("AudioEvent", sound[start : start + 1001], "application/octet-stream")
            )

    async def _fail(self, exchange: Exchange, fault: Fault | Refusal | Thrown) -> bool:
        match fault:
            case Thrown(kind=kind, members=members):
                await exchange.send(encode_exception(kind, {"message": SECRET, **members}))
                await exchange.end()
            case Fault.RESET:
                exchange.reset()
            case Fault.ENDED:
                await exchange.end()
            case Fault.CUT:
                exchange.cut()
            case Fault.STALLED:
                await exchange.gone()
                raise ClientGone
            case _:
                return False
        return True


def _plain(text: dict[str, object]) -> str:
    said = str(text["Text"])
    if text.get("TextType") == "ssml":
        return said.partition('%">')[2].removesuffix("</prosody></speak>")
    return said


def _event(kind: str, payload: bytes, content_type: str = "application/json") -> bytes:
    headers = {":message-type": "event", ":event-type": kind, ":content-type": content_type}
    return bytes(EventMessage(headers=headers, payload=payload).encode())


def _quota(code: str) -> bytes:
    return encode_exception(
        "ServiceQuotaExceededException",
        {"message": SECRET, "quotaCode": code, "serviceCode": "polly"},
    )
