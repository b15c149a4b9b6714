"""A client of HTTP/2 that can do what the SDK never would: not read, not sign, send nonsense."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from smithy_aws_event_stream.events import EventMessage

from speakahead.emulator import LocalEndpoint
from speakahead.emulator.events import EventDecoder
from speakahead.emulator.signing import EVENTS_HASH

ROUTE = "/endpoints/kokoro-82m/invocations-bidirectional-stream"


def signed_headers(**changes: str | None) -> dict[str, str]:
    """Headers of a stream's request, signed in shape; None leaves one out."""
    now = datetime.now(UTC)
    headers: dict[str, str | None] = {
        "content-type": "application/vnd.amazon.eventstream",
        "x-amz-content-sha256": EVENTS_HASH,
        "x-amz-date": now.strftime("%Y%m%dT%H%M%SZ"),
        "authorization": authorization(now),
    }
    headers |= {name.replace("_", "-"): value for name, value in changes.items()}
    return {name: value for name, value in headers.items() if value is not None}


def authorization(
    now: datetime,
    service: str = "sagemaker",
    signed: str = "content-type;host;x-amz-content-sha256;x-amz-date",
    signature: str = "0" * 64,
) -> str:
    return (
        f"AWS4-HMAC-SHA256 Credential=local/{now:%Y%m%d}/us-east-1/{service}/aws4_request, "
        f"SignedHeaders={signed}, Signature={signature}"
    )


def envelope(event: bytes, **headers: object) -> bytes:
    """A signed envelope, in shape; a header that is None is left out."""
    fields: dict[str, object] = {":date": datetime.now(UTC), ":chunk-signature": bytes(32)}
    fields |= {f":{name.replace('_', '-')}": value for name, value in headers.items()}
    kept = {name: value for name, value in fields.items() if value is not None}
    return EventMessage(headers=kept, payload=event).encode()  # type: ignore[arg-type, no-any-return]


def part(data: bytes, **headers: str) -> bytes:
    fields = {":message-type": "event", ":event-type": "PayloadPart", **headers}
    return EventMessage(headers=fields, payload=data).encode()  # type: ignore[no-any-return]


class RawClient:
    """One connection. ``read`` decides what is read, and whether windows are opened again."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.writer.write(self.h2.data_to_send())

    def request(self, headers: dict[str, str], path: str = ROUTE, method: str = "POST") -> int:
        number = self.h2.get_next_available_stream_id()
        head = [(":method", method), (":scheme", "https"), (":authority", "127.0.0.1")]
        self.h2.send_headers(number, [*head, (":path", path), *headers.items()])
        self.flush()
        return number

    def send(self, number: int, data: bytes, *, end: bool = False) -> None:
        size = self.h2.max_outbound_frame_size
        for start in range(0, len(data), size):
            self.h2.send_data(number, data[start : start + size])
        if end:
            self.h2.end_stream(number)
        self.flush()

    async def events(self) -> list[Event]:
        """What the endpoint sends next; empty once the connection has ended."""
        async with asyncio.timeout(60):
            data = await self._reader.read(65536)
        return self.h2.receive_data(data) if data else []

    async def answer(self, number: int, parts: int | None = None) -> "Answer":
        """A stream's whole answer, or as much as holds so many events."""
        answer = Answer()
        while not answer.ended and (parts is None or len(answer.messages) < parts):
            events = await self.events()
            if not events and self._reader.at_eof():
                raise ConnectionResetError
            for event in events:
                match event:
                    case ResponseReceived(stream_id=n, headers=headers) if n == number:
                        answer.headers = {str(k): str(v) for k, v in headers}
                    case DataReceived(stream_id=n, data=data) if n == number:
                        answer.body += data
                        self.h2.acknowledge_received_data(event.flow_controlled_length, number)
                    case StreamEnded(stream_id=n) if n == number:
                        answer.ended = True
                    case StreamReset(stream_id=n) if n == number:
                        answer.ended = answer.reset = True
                    case ConnectionTerminated():
                        raise ConnectionResetError
            self.flush()
        return answer


class Answer:
    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = b""
        self.ended = self.reset = False

    @property
    def status(self) -> int:
        return int(self.headers[":status"])

    @property
    def messages(self) -> list[EventMessage]:
        return list(EventDecoder().feed(self.body))


@contextlib.asynccontextmanager
async def raw_client(
    endpoint: LocalEndpoint, alpn: Iterable[str] = ("h2",)
) -> AsyncIterator[RawClient]:
    context = ssl.create_default_context(cafile=str(endpoint.ca_path))
    context.set_alpn_protocols(list(alpn))
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", endpoint.port, ssl=context, server_hostname="localhost"
    )
    try:
        yield RawClient(reader, writer)
    finally:
        writer.transport.abort()
