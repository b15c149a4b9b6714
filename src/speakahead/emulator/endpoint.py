"""The local endpoint: listens, checks requests, and hands them to the operations of the API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import unquote

from speakahead.emulator import signing
from speakahead.emulator.bidirectional import BidirectionalStream, StreamLimits
from speakahead.emulator.certificate import Certificates
from speakahead.emulator.container import Address, ContainerSocket
from speakahead.emulator.events import CONTENT_TYPE
from speakahead.emulator.exchange import ClientGone, Exchange
from speakahead.emulator.faults import Fault, FaultKind, FaultPlan, RequestFaults
from speakahead.emulator.http1 import Http1Connection
from speakahead.emulator.http2 import Http2Connection
from speakahead.emulator.invocation import invoke, invoke_with_response_stream
from speakahead.emulator.refusals import Refused, model_error
from speakahead.emulator.response import EventResponse
from speakahead.errors import ConnectionFailed, InvalidRequest

_log = logging.getLogger(__name__)

HOST = "127.0.0.1"
VARIANT = "AllTraffic"
"""The one production variant that the endpoint has."""

_BIDIRECTIONAL = "invocations-bidirectional-stream"
_RESPONSE_STREAM = "invocations-response-stream"
_ROUTE = re.compile(rf"/endpoints/([^/]+)/(invocations|{_RESPONSE_STREAM}|{_BIDIRECTIONAL})")
_NAME = re.compile(r"[a-zA-Z0-9](?:-*[a-zA-Z0-9]){0,62}")
_PATH = re.compile(r"[A-Za-z0-9\-._]+(?:/[A-Za-z0-9\-._]+)*")
_MAX_PATH = 100
_VALUE = r"(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})"
_QUERY = re.compile(rf"{_VALUE}+={_VALUE}*(?:&{_VALUE}+={_VALUE}*)*")
_MAX_QUERY = 2048
_TLS_HANDSHAKE_S = 10.0


@dataclass(frozen=True, slots=True)
class _Errors:
    """What the two APIs of the runtime call the same errors."""

    invalid: str
    internal: str
    unavailable: str


_HTTP2_API = _Errors("InputValidationError", "InternalServerError", "ServiceUnavailableError")
_HTTP1_API = _Errors("ValidationError", "InternalFailure", "ServiceUnavailable")


class LocalEndpoint:
    """A SageMaker AI endpoint on this machine, in front of one container.

    ::

        async with LocalEndpoint("http://127.0.0.1:8080") as endpoint:
            endpoint.url       # https://127.0.0.1:<port>, for the client's endpoint_uri
            endpoint.ca_path   # for the environment variable SSL_CERT_FILE

    A client of ``aws-sdk-sagemaker-runtime-http2`` reads ``SSL_CERT_FILE`` when its transport is
    made; set it before the process's first one. Endpoints with the same certificates are all
    trusted with one file.

    Args:
        container: the container's base URL, ``http://host:port``.
        name: the endpoint's name, which clients call it by.
        port: to listen on; 0 for any that is free.
        faults: what is to go wrong; see ``Fault``.
        session_limit_s: a bidirectional stream's age at most, in seconds; 30 minutes on AWS.
        ping_interval_s: seconds between pings of the container; 60 on AWS.
        handshake_timeout_s: seconds for the container to accept; AWS allows 0.25.
        certificates: where they are kept; beside this user's models by default.

    Raises:
        InvalidRequest: a value is out of range.
    """

    def __init__(
        self,
        container: str,
        name: str = "kokoro-82m",
        *,
        port: int = 0,
        faults: Iterable[Fault] = (),
        session_limit_s: float = 1800.0,
        ping_interval_s: float = 60.0,
        handshake_timeout_s: float = 10.0,
        certificates: Certificates | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise InvalidRequest("An endpoint's name is 1 to 63 letters, digits and hyphens.")
        if min(session_limit_s, ping_interval_s, handshake_timeout_s) <= 0:
            raise InvalidRequest("A limit in seconds is more than 0.")
        self.name = name
        self._address = Address.parse(container)
        self._port = port
        self._faults = FaultPlan(tuple(faults))
        self._limits = StreamLimits(session_limit_s, ping_interval_s)
        self._handshake_timeout_s = handshake_timeout_s
        self._certificates = certificates or Certificates()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._streams = 0

    @property
    def url(self) -> str:
        """Base URL for clients."""
        return f"https://{HOST}:{self.port}"

    @property
    def port(self) -> int:
        """The port it listens on, once it does."""
        assert self._server is not None, "the endpoint is not open"
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def ca_path(self) -> Path:
        """PEM file of the authority that clients have to trust."""
        return self._certificates.ca_path

    @property
    def streams(self) -> int:
        """How many bidirectional streams are open."""
        return self._streams

    def set_faults(self, *faults: Fault) -> None:
        """Replace the faults, for requests that are still to come."""
        self._faults.set(faults)

    async def open(self) -> None:
        """Begin to listen.

        Raises:
            ConnectionFailed: the port is in use.
            InvalidRequest: the certificates cannot be kept.
        """
        context = self._certificates.server_context()
        try:
            self._server = await asyncio.start_server(
                self._accept,
                HOST,
                self._port,
                ssl=context,
                ssl_handshake_timeout=_TLS_HANDSHAKE_S,
            )
        except OSError:
            raise ConnectionFailed(f"Port {self._port} of {HOST} cannot be listened on.") from None

    async def aclose(self) -> None:
        """Stop, and drop what is open; containers are told with a Close."""
        if self._server is None:
            return
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        protocol = writer.get_extra_info("ssl_object").selected_alpn_protocol()
        connection = Http2Connection if protocol == "h2" else Http1Connection
        try:
            await connection(reader, writer, self._serve).run()
        except asyncio.CancelledError:
            # The endpoint closes: no farewell, which could last. It ends here, because some
            # releases of asyncio would report it as an error.
            writer.transport.abort()
        finally:
            writer.close()

    async def _serve(self, exchange: Exchange) -> None:
        request_id = str(uuid.uuid4())
        try:
            await self._route(exchange, request_id)
        except Refused as refused:
            _log.info("%s refused: %s %s", request_id, refused.kind, refused.message)
            headers = [*refused.headers, ("x-amzn-requestid", request_id)]
            body = refused.body
            await exchange.start(refused.status, [*headers, ("content-length", str(len(body)))])
            await exchange.send(body)
            await exchange.end()

    async def _route(self, exchange: Exchange, request_id: str) -> None:
        # The SDK appends an empty query.
        route = _ROUTE.fullmatch(exchange.path.partition("?")[0])
        if route is None or exchange.method != "POST":
            raise Refused(404, "UnknownOperationException", "The API has no such operation.")
        name, operation = unquote(route[1]), route[2]
        errors = _HTTP2_API if operation == _BIDIRECTIONAL else _HTTP1_API
        signing.check_request(exchange.headers, events=operation == _BIDIRECTIONAL)
        self._check(exchange, name, errors)
        headers = [
            ("x-amzn-requestid", request_id),
            ("x-amzn-invoked-production-variant", VARIANT),
        ]
        if operation == _BIDIRECTIONAL:
            target = _target(exchange)
        faults = self._faults.next_request()
        if faults.replacement is not None:
            await _replace(exchange, faults.replacement.kind, errors)
            return
        response = EventResponse(exchange, faults, headers)
        if operation == _BIDIRECTIONAL:
            await self._stream(exchange, response, faults, target, request_id)
        elif operation == _RESPONSE_STREAM:
            await invoke_with_response_stream(exchange, response, self._address, request_id)
        else:
            await invoke(exchange, self._address, request_id, headers)

    def _check(self, exchange: Exchange, name: str, errors: _Errors) -> None:
        if name != self.name:
            message = f"Endpoint {name} not found; this one is {self.name}."
            raise Refused(400, errors.invalid, message)
        if exchange.headers.get("x-amzn-sagemaker-target-variant", VARIANT) != VARIANT:
            message = f"The endpoint has no such variant; it has {VARIANT}."
            raise Refused(400, errors.invalid, message)

    async def _stream(
        self,
        exchange: Exchange,
        response: EventResponse,
        faults: RequestFaults,
        target: str,
        request_id: str,
    ) -> None:
        container = await ContainerSocket.connect(
            self._address, target, request_id, self._handshake_timeout_s
        )
        _log.info("%s opened %s", request_id, target.partition("?")[0])
        self._streams += 1
        outcome = "failed"
        try:
            stream = BidirectionalStream(exchange, response, container, faults, self._limits)
            outcome = await stream.run()
        finally:
            self._streams -= 1
            _log.info("%s ended: %s", request_id, outcome)


def _target(exchange: Exchange) -> str:
    """Path and query of the container's WebSocket, as the request's headers ask.

    Raises:
        Refused: the request cannot be a bidirectional stream, or a header is malformed.
    """
    invalid = _HTTP2_API.invalid
    if not exchange.duplex:
        raise Refused(400, invalid, "A bidirectional stream needs HTTP/2.")
    if exchange.headers.get("content-type") != CONTENT_TYPE:
        raise Refused(400, invalid, f"The content type of a stream is {CONTENT_TYPE}.")
    path = exchange.headers.get("x-amzn-sagemaker-model-invocation-path", _BIDIRECTIONAL)
    if len(path) > _MAX_PATH or not _PATH.fullmatch(path):
        message = (
            f"ModelInvocationPath is at most {_MAX_PATH} characters and matches {_PATH.pattern}."
        )
        raise Refused(400, invalid, message)
    query = exchange.headers.get("x-amzn-sagemaker-model-query-string")
    if query is None:
        return f"/{path}"
    if len(query) > _MAX_QUERY or not _QUERY.fullmatch(query):
        message = (
            f"ModelQueryString is at most {_MAX_QUERY} characters of name=value&…, URL-encoded."
        )
        raise Refused(400, invalid, message)
    return f"/{path}?{query}"


async def _replace(exchange: Exchange, kind: FaultKind, errors: _Errors) -> None:
    """Let a fault happen instead of an answer.

    Raises:
        Refused: that is the fault.
    """
    message = "A fault that was asked for."
    match kind:
        case FaultKind.HTTP_400:
            raise Refused(400, errors.invalid, message)
        case FaultKind.HTTP_424:
            raise model_error(message, 500)
        case FaultKind.HTTP_500:
            raise Refused(500, errors.internal, message)
        case FaultKind.HTTP_503:
            raise Refused(503, errors.unavailable, message)
        case _:
            with contextlib.suppress(ClientGone):
                await exchange.gone()
