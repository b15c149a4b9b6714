"""The real SDK client, through the endpoint, to a container that is a real WebSocket server."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest
from aws_sdk_sagemaker_runtime_http2.models import (
    InputValidationError,
    InternalServerError,
    InternalStreamFailure,
    ModelError,
    ModelStreamError,
    ServiceUnavailableError,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from smithy_core.exceptions import SmithyError
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from speakahead.emulator import Fault, FaultKind
from speakahead.emulator.http2 import Http2Connection
from tests.conftest import free_port
from tests.emulator.rig import (
    Stream,
    client,
    container,
    endpoint,
    scenario,
    stream,
    stream_of,
    until,
)


def test_types_survive_both_ways() -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local, stream(local) as s:
            await s.send("Grüße")
            back = await s.receive()
            assert (back.bytes_, back.data_type) == ("Grüße".encode(), "UTF8")
            assert back.completion_state == "COMPLETE"
            for kind in ("BINARY", None):
                await s.send(b"\x00\xff", kind)
                back = await s.receive()
                assert (back.bytes_, back.data_type) == (b"\x00\xff", "BINARY")
            await s.send(b"", "BINARY")
            assert not (await s.receive()).bytes_

    scenario(run())


def test_json_in_binary_frames_stays_binary() -> None:
    """Amazon's sample sets no data type, so its containers get JSON in binary frames."""
    kinds: list[type] = []

    async def behave(socket: ServerConnection) -> None:
        async for message in socket:
            kinds.append(type(message))
            await socket.send(json.dumps({"heard": json.loads(message)["text"]}))

    async def run() -> None:
        async with container(behave) as speaking, endpoint(speaking) as local, stream(local) as s:
            await s.send(b'{"text": "Hello."}')
            back = await s.receive()
            assert back.data_type == "UTF8"
            assert json.loads(back.bytes_ or b"") == {"heard": "Hello."}

    scenario(run())
    assert kinds == [bytes]


def test_sound_that_begins_like_json_is_still_sound() -> None:
    """PCM may begin with 0x7B, an opening brace: the type must tell, not the bytes."""
    sound = b"\x7b" + bytes(range(256)) * 40

    async def behave(socket: ServerConnection) -> None:
        await socket.send('{"type": "synthesis_start"}')
        await socket.send(sound)
        with contextlib.suppress(ConnectionClosed):
            await socket.recv()

    async def run() -> None:
        async with container(behave) as speaking, endpoint(speaking) as local, stream(local) as s:
            assert (await s.receive()).data_type == "UTF8"
            back = await s.receive()
            assert (back.data_type, back.bytes_) == ("BINARY", sound)

    scenario(run())


def test_an_error_text_that_looks_like_a_header_or_an_event_is_a_part() -> None:
    traps = ['{"error": "ErrorCode", "DataType": "BINARY"}', ":exception-type", "ModelStreamError"]

    async def behave(socket: ServerConnection) -> None:
        for text in traps:
            await socket.send(text)
        with contextlib.suppress(ConnectionClosed):
            await socket.recv()

    async def run() -> None:
        async with container(behave) as speaking, endpoint(speaking) as local, stream(local) as s:
            for text in traps:
                back = await s.receive()
                assert (back.data_type, back.bytes_) == ("UTF8", text.encode())

    scenario(run())


@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["UTF8", "BINARY", None]),
            st.lists(st.text(max_size=20), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_partial_parts_are_fragments_of_one_message(
    messages: list[tuple[str | None, list[str]]],
) -> None:
    received: list[tuple[type, list[str | bytes]]] = []

    async def behave(socket: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                pieces = [piece async for piece in socket.recv_streaming()]
                received.append((type(pieces[0]), pieces))
                await socket.send(pieces)

    async def run() -> None:
        async with container(behave) as taking, endpoint(taking) as local, stream(local) as s:
            for kind, pieces in messages:
                for number, piece in enumerate(pieces):
                    last = number == len(pieces) - 1
                    await s.send(piece.encode(), kind, "COMPLETE" if last else "PARTIAL")
                back = []
                while not back or back[-1].completion_state == "PARTIAL":
                    back.append(await s.receive())
                assert {part.data_type for part in back} == {kind or "BINARY"}
                # websockets ends a fragmented message with an empty frame
                assert [part.bytes_ or b"" for part in back] == [p.encode() for p in pieces] + [b""]

    scenario(run())
    expected = [
        (str, pieces) if kind == "UTF8" else (bytes, [piece.encode() for piece in pieces])
        for kind, pieces in messages
    ]
    assert received == expected


def test_path_query_and_request_id_reach_the_container() -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local:
            asked = {"model_invocation_path": "v1/speak", "model_query_string": "voice=a%20b&x="}
            async with stream(local, **asked) as s:
                await s.send("x")
                await s.receive()
            async with stream(local) as s:
                await s.send("x")
                await s.receive()
            first, second = echoing.requests
            assert first.path == "/v1/speak?voice=a%20b&x="
            assert second.path == "/invocations-bidirectional-stream"
            ids = {r.headers["X-Amzn-SageMaker-Request-Id"] for r in echoing.requests}
            assert len(ids) == 2

    scenario(run())


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "another"},
        {"target_variant": "Other"},
        {"model_invocation_path": "/v1"},
        {"model_invocation_path": "v1/"},
        {"model_invocation_path": "a" * 101},
        {"model_query_string": "voice"},
        {"model_query_string": "a=b c"},
        {"model_query_string": "a=" + "b" * 2047},
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_what_the_api_does_not_take_is_an_input_validation_error(asked: dict[str, str]) -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local:
            with pytest.raises(InputValidationError):
                async with stream(local, **asked) as s:
                    await s.receive()
            assert echoing.requests == []

    scenario(run())


def test_no_container_is_a_model_error() -> None:
    async def run() -> None:
        async with endpoint(f"http://127.0.0.1:{free_port()}") as local:
            with pytest.raises(ModelError):
                async with stream(local) as s:
                    await s.receive()

    scenario(run())


def test_a_path_that_the_container_refuses_is_a_model_error_with_its_words() -> None:
    def refuse(connection: ServerConnection, request: object) -> object:
        return connection.respond(404, "no such route")

    async def run() -> None:
        async with (
            container(process_request=refuse) as refusing,
            endpoint(refusing) as local,
        ):
            with pytest.raises(ModelError) as caught:
                async with stream(local) as s:
                    await s.receive()
            assert caught.value.original_status_code == 404
            assert caught.value.original_message == "no such route"

    scenario(run())


def test_half_close_closes_the_container_normally_and_loses_nothing() -> None:
    async def behave(socket: ServerConnection) -> None:
        async for message in socket:
            for number in range(50):
                await socket.send(f"{message} {number}")

    async def run() -> None:
        async with container(behave) as speaking, endpoint(speaking) as local, stream(local) as s:
            await s.send("word")
            for number in range(50):
                assert (await s.receive()).bytes_ == f"word {number}".encode()
            await s.end_input()
            with pytest.raises(EOFError):
                await s.receive(3)
            await speaking.ended.wait()
            assert speaking.close_code == 1000

    scenario(run())


def test_one_session_serves_many_utterances() -> None:
    """``synthesis_complete`` ends an utterance, not the session."""

    async def behave(socket: ServerConnection) -> None:
        async for _ in socket:
            await socket.send(b"sound")
            await socket.send('{"type": "synthesis_complete"}')

    async def run() -> None:
        async with container(behave) as speaking, endpoint(speaking) as local, stream(local) as s:
            for _ in range(3):
                await s.send('{"text": "Hello."}')
                assert (await s.receive()).bytes_ == b"sound"
                assert b"synthesis_complete" in ((await s.receive()).bytes_ or b"")
            assert local.streams == 1
            assert len(speaking.requests) == 1

    scenario(run())


@pytest.mark.parametrize(("code", "reason"), [(1000, ""), (1011, "out of memory"), (4001, "bye")])
def test_a_close_by_the_container_is_a_model_stream_error(code: int, reason: str) -> None:
    async def behave(socket: ServerConnection) -> None:
        await socket.recv()
        await socket.send("last words")
        await socket.close(code, reason)

    async def run() -> None:
        async with container(behave) as leaving, endpoint(leaving) as local, stream(local) as s:
            await s.send('{"type": "close"}')
            assert (await s.receive()).bytes_ == b"last words"
            with pytest.raises(ModelStreamError) as caught:
                await s.receive()
            assert caught.value.error_code == str(code)
            assert caught.value.message == reason

    scenario(run())


def test_a_container_that_dies_is_a_broken_stream() -> None:
    async def behave(socket: ServerConnection) -> None:
        await socket.recv()
        socket.transport.abort()

    async def run() -> None:
        async with container(behave) as dying, endpoint(dying) as local, stream(local) as s:
            await s.send("x")
            with pytest.raises(ModelStreamError) as caught:
                await s.receive()
            assert caught.value.error_code == "StreamBroken"

    scenario(run())


def test_the_session_limit_ends_a_stream_and_tells_both_sides() -> None:
    async def run() -> None:
        async with (
            container() as echoing,
            endpoint(echoing, session_limit_s=0.5) as local,
            stream(local) as s,
        ):
            await s.send("x")
            await s.receive()
            with pytest.raises(ModelStreamError) as caught:
                await s.receive()
            assert caught.value.error_code == "ModelInvocationTimeExceeded"
            await echoing.ended.wait()
            assert echoing.close_code == 1001

    scenario(run())


def test_streams_share_a_connection() -> None:
    async def talk(s: Stream, number: int) -> None:
        for turn in range(5):
            await s.send(f"{number} {turn}")
            assert (await s.receive()).bytes_ == f"{number} {turn}".encode()

    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local, client(local) as sdk:
            async with contextlib.AsyncExitStack() as stack:
                streams = [await stack.enter_async_context(stream_of(sdk)) for _ in range(8)]
                await asyncio.gather(*(talk(s, n) for n, s in enumerate(streams)))
                assert local.streams == 8
            await until(lambda: local.streams == 0)

    scenario(run())


def test_megabytes_go_both_ways() -> None:
    sound = bytes(range(256)) * 4096 * 5

    async def run() -> None:
        async with (
            container(max_size=None) as echoing,
            endpoint(echoing) as local,
            stream(local) as s,
        ):
            await s.send(sound, "BINARY")
            assert (await s.receive()).bytes_ == sound

    scenario(run())


def test_a_client_whose_first_window_is_used_up_at_once_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound = bytes(300_000)
    serve = Http2Connection.run

    async def late(connection: Http2Connection) -> None:
        await asyncio.sleep(0.3)
        await serve(connection)

    monkeypatch.setattr(Http2Connection, "run", late)

    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local, stream(local) as s:
            await s.send(sound, "BINARY")
            assert (await s.receive(20)).bytes_ == sound

    scenario(run())


def test_a_client_that_vanishes_is_felt_by_the_container() -> None:
    async def run() -> None:
        async with container() as echoing, endpoint(echoing) as local:
            async with client(local) as sdk:
                opened = stream_of(sdk)
                s = await opened.__aenter__()
                await s.send("x")
                await s.receive()
                s._reading.cancel()
                await sdk._config.transport.close()
            await echoing.ended.wait()
            assert echoing.close_code == 1001
            await until(lambda: local.streams == 0)

    scenario(run())


HTTP_FAULTS = {
    FaultKind.HTTP_400: InputValidationError,
    FaultKind.HTTP_424: ModelError,
    FaultKind.HTTP_500: InternalServerError,
    FaultKind.HTTP_503: ServiceUnavailableError,
}


@contextlib.asynccontextmanager
async def faulty(*faults: Fault) -> AsyncIterator[Stream]:
    async with (
        container() as echoing,
        endpoint(echoing, faults=faults) as local,
        stream(local) as s,
    ):
        yield s


@pytest.mark.parametrize("kind", HTTP_FAULTS, ids=str)
def test_http_faults(kind: FaultKind) -> None:
    async def run() -> None:
        with pytest.raises(HTTP_FAULTS[kind]):
            async with faulty(Fault(kind)) as s:
                await s.receive()

    scenario(run())


@pytest.mark.parametrize("kind", [FaultKind.HANG, FaultKind.STALL], ids=str)
def test_silence(kind: FaultKind) -> None:
    async def run() -> None:
        async with faulty(Fault(kind)) as s:
            await s.send("x")
            with pytest.raises(TimeoutError):
                await s.receive(0.5)

    scenario(run())


@pytest.mark.parametrize(
    ("kind", "error", "code"),
    [
        (FaultKind.RESET, EOFError, None),  # the SDK tells RST_STREAM and an end alike
        (FaultKind.EARLY_END, EOFError, None),
        (FaultKind.CUT, (EOFError, OSError, SmithyError), None),
        (FaultKind.MODEL_STREAM_ERROR, ModelStreamError, "1011"),
        (FaultKind.EARLY_CLOSE, ModelStreamError, "1000"),
        (FaultKind.INTERNAL_STREAM_FAILURE, InternalStreamFailure, None),
    ],
    ids=str,
)
def test_faults_after_two_parts(kind: FaultKind, error: type, code: str | None) -> None:
    async def run() -> None:
        async with faulty(Fault(kind, after=2)) as s:
            for text in ("one", "two"):
                await s.send(text)
                assert (await s.receive()).bytes_ == text.encode()
            with pytest.raises(error) as caught:
                await s.receive()
            assert getattr(caught.value, "error_code", None) == code

    scenario(run())


async def flood(s: Stream) -> None:
    for _ in range(1000):
        await s.send(bytes(100_000), "BINARY")


def test_slow_reads_reach_the_sender() -> None:
    """Parts wait in the endpoint's window, and then in the client, which stops to take more."""

    async def run() -> None:
        async with faulty(Fault(FaultKind.SLOW_READS, after=1, delay_s=3600)) as s:
            await s.send("at once")
            assert (await s.receive()).bytes_ == b"at once"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(flood(s), 2)

    scenario(run())


def test_a_fault_that_happens_once_and_faults_set_later() -> None:
    async def run() -> None:
        once = Fault(FaultKind.HTTP_503, times=1)
        async with container() as echoing, endpoint(echoing, faults=[once]) as local:
            with pytest.raises(ServiceUnavailableError):
                async with stream(local) as s:
                    await s.receive()
            async with stream(local) as s:
                await s.send("x")
                assert (await s.receive()).bytes_ == b"x"
            local.set_faults(Fault(FaultKind.EARLY_CLOSE))
            with pytest.raises(ModelStreamError):
                async with stream(local) as s:
                    await s.receive()

    scenario(run())
