"""What the SDK never does, and what it cannot be made to show: over raw connections."""

import asyncio
import json
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import boto3
import pytest
import uvicorn
from awscrt.exceptions import AwsCrtError
from botocore.config import Config
from botocore.exceptions import ClientError
from cryptography import x509
from h2.events import DataReceived, ResponseReceived
from smithy_core.exceptions import SmithyError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from websockets.asyncio.server import ServerConnection
from websockets.server import ServerProtocol

from speakahead.emulator import Certificates, Fault, FaultKind, LocalEndpoint
from speakahead.emulator.http2 import STREAM_WINDOW
from speakahead.errors import ConnectionFailed, InvalidRequest
from tests.conftest import free_port
from tests.emulator.raw import ROUTE, authorization, envelope, part, raw_client, signed_headers
from tests.emulator.rig import client, container, endpoint, scenario, stream, stream_of, until
from tests.emulator.trust import certificates

CUT = (EOFError, OSError, SmithyError, AwsCrtError)
"""How the SDK shows that a connection is gone: that depends on what it was doing."""


def end() -> bytes:
    return envelope(b"")


def hello() -> bytes:
    """A part as it is signed now; an older one would be refused after some minutes."""
    return envelope(part(b"hello", DataType="UTF8"))


@pytest.mark.parametrize(
    ("changes", "status", "kind"),
    [
        ({"authorization": None}, 403, "MissingAuthenticationTokenException"),
        (
            {"authorization": authorization(datetime.now(UTC), service="s3")},
            403,
            "InvalidSignatureException",
        ),
        ({"content_type": "application/json"}, 400, "InputValidationError"),
    ],
)
def test_requests_that_aws_would_refuse(
    changes: dict[str, str | None], status: int, kind: str
) -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local, raw_client(local) as raw:
            answer = await raw.answer(raw.request(signed_headers(**changes)))
            assert answer.status == status
            assert answer.headers["x-amzn-errortype"] == kind
            assert json.loads(answer.body)["Message"]
            assert echoing.requests == []

    scenario(run())


@pytest.mark.parametrize("path", ["/", "/ping", "/endpoints/kokoro-82m", "/endpoints/kokoro-82m/x"])
def test_an_unknown_operation_is_404(path: str) -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local, raw_client(local) as raw:
            answer = await raw.answer(raw.request(signed_headers(), path))
            assert answer.status == 404
            assert answer.headers["x-amzn-errortype"] == "UnknownOperationException"

    scenario(run())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (hello, "InvalidSignatureException"),  # no last envelope
        (lambda: hello() + end() + hello(), "InvalidSignatureException"),
        (lambda: envelope(part(b"x"), chunk_signature=bytes(31)), "InvalidSignatureException"),
        (lambda: part(b"unsigned"), "InvalidSignatureException"),
        (lambda: envelope(b"not an event"), "ValidationException"),
        (lambda: envelope(part(b"x", DataType="JSON")), "ValidationException"),
        (lambda: hello()[:-3], "ValidationException"),
        (lambda: b"x" * 64, "ValidationException"),
    ],
)
def test_a_malformed_stream_ends_with_an_error(body: Callable[[], bytes], code: str) -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local, raw_client(local) as raw:
            number = raw.request(signed_headers())
            raw.send(number, body(), end=True)
            answer = await raw.answer(number)
            assert answer.status == 200
            last = answer.messages[-1]
            assert last.headers[":message-type"] == "error"
            assert last.headers[":error-code"] == code
            await echoing.ended.wait()

    scenario(run())


def test_an_answer_on_the_wire() -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local, raw_client(local) as raw:
            number = raw.request(signed_headers(), f"{ROUTE}?")  # the SDK's empty query
            raw.send(number, hello())
            answer = await raw.answer(number, parts=1)
            assert answer.headers["content-type"] == "application/vnd.amazon.eventstream"
            assert answer.headers["x-amzn-invoked-production-variant"] == "AllTraffic"
            assert answer.headers["x-amzn-requestid"]
            [message] = answer.messages
            assert message.payload == b"hello"
            padding = message.headers.pop("P")
            assert isinstance(padding, str)
            assert message.headers == {
                ":message-type": "event",
                ":event-type": "PayloadPart",
                ":content-type": "application/octet-stream",
                "DataType": "UTF8",
                "CompletionState": "COMPLETE",
            }
            raw.send(number, end(), end=True)
            rest = await raw.answer(number)
            assert rest.ended
            assert not rest.reset
            assert rest.messages == []

    scenario(run())


def test_a_client_that_does_not_read_stops_the_container() -> None:
    sent = 0

    async def behave(socket: ServerConnection) -> None:
        nonlocal sent
        for _ in range(2000):
            await socket.send(bytes(100_000))
            sent += 100_000

    async def run() -> None:
        async with container(behave) as flooding, endpoint(flooding) as local:
            async with raw_client(local) as raw:
                number = raw.request(signed_headers())
                received = 0
                while received < 65_535:  # the window; it is not opened again
                    for event in await raw.events():
                        if isinstance(event, DataReceived):
                            received += len(event.data)
                        elif isinstance(event, ResponseReceived):
                            assert dict(event.headers)[":status"] == "200"
                    raw.flush()
                before = -1
                while before < sent:  # until what lies in between is full
                    before = sent
                    await asyncio.sleep(0.3)
                assert sent < 32_000_000
                raw.h2.increment_flow_control_window(2**30)
                raw.h2.increment_flow_control_window(2**30, number)
                raw.flush()
                while received < before + 10_000_000:
                    received += sum(
                        len(event.data)
                        for event in await raw.events()
                        if isinstance(event, DataReceived)
                    )
            await flooding.ended.wait()

    scenario(run())


def test_a_container_that_does_not_read_stops_the_client() -> None:
    reading = asyncio.Event()
    sizes: list[int] = []

    async def behave(socket: ServerConnection) -> None:
        await reading.wait()
        sizes.extend([len(message) async for message in socket])

    async def run() -> None:
        async with (
            container(behave, max_queue=1) as lazy,
            endpoint(lazy) as local,
            raw_client(local) as raw,
        ):
            number = raw.request(signed_headers())
            piece = envelope(part(bytes(60_000)))
            sent, stalled = 0, 0
            while stalled < 3 and sent < 500:
                if raw.h2.local_flow_control_window(number) >= len(piece):
                    raw.send(number, piece)
                    sent, stalled = sent + 1, 0
                    continue
                try:
                    async with asyncio.timeout(0.3):
                        await raw.events()
                except TimeoutError:
                    stalled += 1
            assert STREAM_WINDOW // 60_000 <= sent < 500
            # Another stream of the same connection is not stopped by this one.
            other = raw.request(signed_headers(authorization=None))
            assert (await raw.answer(other)).status == 403
            reading.set()
            while raw.h2.local_flow_control_window(number) < len(end()):
                await raw.events()
            raw.send(number, end(), end=True)
            await raw.answer(number)
            await lazy.ended.wait()
            assert sizes == [60_000] * sent

    scenario(run())


def test_a_container_that_misses_five_pongs_is_given_up() -> None:
    async def run() -> None:
        release = asyncio.Event()

        async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            """Accepts the WebSocket, and is never heard of again."""
            protocol = ServerProtocol()
            while not (events := protocol.events_received()):
                protocol.receive_data(await reader.read(4096))
            protocol.send_response(protocol.accept(events[0]))  # type: ignore[arg-type]
            writer.write(b"".join(protocol.data_to_send()))
            await release.wait()
            writer.close()

        server = await asyncio.start_server(deaf, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with (
            server,
            endpoint(url, ping_interval_s=0.1) as local,
            raw_client(local) as raw,
        ):
            answer = await raw.answer(raw.request(signed_headers()))
            last = answer.messages[-1]
            assert last.headers[":exception-type"] == "ModelStreamError"
            assert json.loads(last.payload)["ErrorCode"] == "StreamBroken"
            release.set()

    scenario(run())


def test_a_container_that_answers_pings_is_kept() -> None:
    async def run() -> None:
        async with (
            container() as echoing,
            endpoint(echoing, ping_interval_s=0.02) as local,
            stream(local) as s,
        ):
            with pytest.raises(TimeoutError):
                await s.receive(0.5)  # 25 pings
            await s.send("still there")
            assert (await s.receive()).bytes_ == b"still there"

    scenario(run())


def test_a_cut_breaks_all_streams_of_the_connection() -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local, client(local) as sdk:
            async with stream_of(sdk) as first:
                await first.send("x")
                await first.receive()
                local.set_faults(Fault(FaultKind.CUT))
                async with stream_of(sdk) as second:
                    for s in (first, second):
                        with pytest.raises(CUT):
                            await s.receive()
            await until(lambda: local.streams == 0)

    scenario(run())


def test_closing_ends_streams_and_tells_the_container() -> None:
    async def run() -> None:
        async with container() as echoing:
            async with endpoint(echoing) as local, raw_client(local) as raw:
                raw.request(signed_headers())
                await until(lambda: local.streams == 1)
                await local.aclose()
            await echoing.ended.wait()
            assert echoing.close_code == 1001

    scenario(run())


def test_a_port_in_use_and_values_out_of_range_are_typed() -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local:
            with pytest.raises(ConnectionFailed):
                await endpoint(echoing, port=local.port).open()

    scenario(run())
    for wrong in (
        {"name": "-"},
        {"session_limit_s": 0},
        {"ping_interval_s": -1},
        {"container": "https://127.0.0.1"},
        {"container": "127.0.0.1:8080"},
        {"container": "http://127.0.0.1:x"},
    ):
        with pytest.raises(InvalidRequest):
            LocalEndpoint(**{"container": "http://127.0.0.1", **wrong})  # type: ignore[arg-type]


def test_certificates_are_made_once_and_renewed_when_broken(tmp_path: Path) -> None:
    first = Certificates(tmp_path).ca_path.read_bytes()
    assert Certificates(tmp_path).ca_path.read_bytes() == first
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.glob("*.key"))
    (tmp_path / "server.pem").write_text("broken")
    Certificates(tmp_path).server_context()
    assert Certificates(tmp_path).ca_path.read_bytes() != first


def test_the_authority_can_vouch_for_this_machine_only() -> None:
    authority = x509.load_pem_x509_certificate(certificates().ca_path.read_bytes())
    constraints = authority.extensions.get_extension_for_class(x509.NameConstraints)
    assert constraints.critical
    permitted = {str(name.value) for name in constraints.value.permitted_subtrees or ()}
    assert permitted == {"localhost", "127.0.0.0/8", "::1/128"}


def test_a_directory_that_cannot_be_written_is_typed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidRequest):
        Certificates(tmp_path / "file").server_context()


async def invocations(request: Request) -> Response:
    body = await request.body()
    if body == b"fail":
        return Response("the model is out of order", 500)
    if body == b"stream":

        async def pieces():  # type: ignore[no-untyped-def]
            for number in range(3):
                yield f"piece {number}".encode()

        return StreamingResponse(pieces(), media_type="audio/pcm")
    headers = {"x-seen": request.headers["x-amzn-sagemaker-request-id"][:4]}
    return Response(body[::-1], media_type=request.headers["content-type"], headers=headers)


APP = Starlette(routes=[Route("/invocations", invocations, methods=["POST"])])


def boto(local: LocalEndpoint):  # type: ignore[no-untyped-def]
    return boto3.client(
        "sagemaker-runtime",
        region_name="us-east-1",
        endpoint_url=local.url,
        aws_access_key_id="local",
        aws_secret_access_key="local",
        verify=str(local.ca_path),
        config=Config(retries={"total_max_attempts": 1}, read_timeout=10),
    )


def test_boto3_invokes_over_http_1() -> None:
    def talk(local: LocalEndpoint) -> None:
        runtime = boto(local)
        answer = runtime.invoke_endpoint(
            EndpointName="kokoro-82m", ContentType="text/plain", Body=b"abc"
        )
        assert answer["Body"].read() == b"cba"
        assert answer["ContentType"].startswith("text/plain")
        assert answer["InvokedProductionVariant"] == "AllTraffic"
        streamed = runtime.invoke_endpoint_with_response_stream(
            EndpointName="kokoro-82m", Body=b"stream"
        )
        pieces = b"".join(event["PayloadPart"]["Bytes"] for event in streamed["Body"])
        assert pieces == b"piece 0piece 1piece 2"
        assert streamed["ContentType"] == "audio/pcm"
        for call in (runtime.invoke_endpoint, runtime.invoke_endpoint_with_response_stream):
            with pytest.raises(runtime.exceptions.ModelError) as caught:
                call(EndpointName="kokoro-82m", Body=b"fail")
            assert caught.value.response["OriginalStatusCode"] == 500
            assert caught.value.response["OriginalMessage"] == "the model is out of order"
            with pytest.raises(ClientError) as refused:
                call(EndpointName="other", Body=b"")
            assert refused.value.response["Error"]["Code"] == "ValidationError"

    async def run() -> None:
        port = free_port()
        server = uvicorn.Server(uvicorn.Config(APP, port=port, log_level="warning"))
        serving = asyncio.create_task(server._serve())
        await until(lambda: server.started)
        async with endpoint(f"http://127.0.0.1:{port}") as local:
            await asyncio.to_thread(talk, local)
        server.should_exit = True
        await serving

    scenario(run())


def test_http_1_cannot_carry_a_bidirectional_stream() -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local:
            context = ssl.create_default_context(cafile=str(local.ca_path))
            reader, writer = await asyncio.open_connection("127.0.0.1", local.port, ssl=context)
            headers = signed_headers() | {"host": "localhost", "content-length": "0"}
            lines = [f"POST {ROUTE} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            assert (await reader.readline()).startswith(b"HTTP/1.1 400")
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"x-amzn-errortype: InputValidationError" in head
            writer.transport.abort()

    scenario(run())
