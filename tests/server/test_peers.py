"""Peers that leave, stop reading, say nothing or send too much; the engine costs nothing here."""

import asyncio
import json
import logging

import pytest
from starlette.types import Message
from websockets.asyncio.client import ClientConnection, connect

from speakahead.backends.local import LocalBackend
from speakahead.errors import InvalidRequest
from speakahead.server.app import create_app
from speakahead.server.settings import ServerSettings
from speakahead.session.events import UtteranceCompleted
from tests.conftest import ROUTE
from tests.server.rig import backend, serving

LONG = "So many words. " * 200


def text(words: str, **fields: object) -> str:
    return json.dumps({"text": words, **fields})


async def receive(connection: ClientConnection) -> dict[str, object] | bytes:
    async with asyncio.timeout(5):
        frame = await connection.recv()
    return frame if isinstance(frame, bytes) else json.loads(frame)


def test_a_failed_sentence_does_not_hold_up_what_follows() -> None:
    """The sound of the sentence after it is dropped, and must not count as unread."""

    async def scenario() -> None:
        async with backend() as speech, speech.open() as stream:
            await stream.push_text(f"This will explode. {'A long sentence, ' * 10}that is. ")
            await stream.flush()
            await stream.push_text("Hi. ")
            await stream.end_input()
            async with asyncio.timeout(5):
                events = [event async for event in stream]
        assert sum(isinstance(event, UtteranceCompleted) for event in events) == 1

    asyncio.run(scenario())


def test_a_client_that_is_read_slowly_is_not_taken_for_dead() -> None:
    """Reading stops while text waits, and with it the reading of the answers to our pings."""

    async def scenario() -> None:
        settings = ServerSettings(ahead_s=1.0)
        async with (
            serving(settings, ping_s=0.2) as rig,
            connect(rig.socket_url, max_size=None, close_timeout=0.1) as connection,
        ):
            for _ in range(4):
                await connection.send(text(LONG * 3))
            async with asyncio.timeout(10):
                sound = 0
                while sound < 2.5 * 48_000:
                    frame = await connection.recv()
                    sound += len(frame) if isinstance(frame, bytes) else 0

    asyncio.run(scenario())


@pytest.mark.parametrize("first", [None, {"type": "delta", "text": "Hello"}])
def test_a_silent_session_is_closed_even_if_an_utterance_is_open(
    first: dict[str, str] | None,
) -> None:
    async def scenario() -> None:
        async with (
            serving(ServerSettings(idle_timeout_s=0.3)) as rig,
            connect(rig.socket_url) as connection,
        ):
            if first is not None:
                await connection.send(json.dumps(first))
            error = await receive(connection)
            assert isinstance(error, dict)
            assert error["code"] == "idle_timeout"
            await asyncio.wait_for(connection.wait_closed(), 5)

    asyncio.run(scenario())


def test_a_session_that_has_just_spoken_is_not_idle() -> None:
    async def scenario() -> None:
        async with (
            serving(ServerSettings(idle_timeout_s=1.0, ahead_s=0.5)) as rig,
            connect(rig.socket_url) as connection,
        ):
            await connection.send(text("Hi."))  # about 2 s, the last of it sent after 1.6 s
            while isinstance(frame := await receive(connection), bytes) or (
                frame["type"] != "synthesis_complete"
            ):
                pass
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.6):
                    await connection.recv()

    asyncio.run(scenario())


def test_errors_that_nobody_reads_do_not_pile_up() -> None:
    async def scenario() -> int:
        async with backend() as speech, speech.open() as stream:

            async def refuse_for_ever() -> None:
                while True:
                    await stream.refuse(InvalidRequest("No."))
                    await asyncio.sleep(0)

            refusing = asyncio.create_task(refuse_for_ever())
            await asyncio.sleep(0.5)
            refusing.cancel()
            return stream._session.pending_events

    assert asyncio.run(scenario()) < 5_000


def test_the_log_says_where_it_failed_and_not_on_what(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with backend() as speech, speech.open() as stream:
            await stream.push_text("This will explode. ")
            await stream.end_input()
            assert [event async for event in stream]

    asyncio.run(scenario())
    assert "RuntimeError" in caplog.text
    assert "rig.py" in caplog.text
    assert "secret" not in caplog.text.replace('raise RuntimeError("secret words")', "")


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_stops_its_speech(
    stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with serving() as rig:
            exchange = await rig.post({"text": LONG, "stream": stream})
            await rig.until_speaking()
            exchange.leave()
            await rig.until_idle()
            assert rig.engine.decoded < len(LONG) / 2

    asyncio.run(scenario())
    assert "Traceback" not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


@pytest.mark.parametrize("polite", [True, False])
def test_a_websocket_client_that_leaves_stops_its_speech(polite: bool) -> None:
    async def scenario() -> None:
        async with serving(ServerSettings(ahead_s=1.0)) as rig:
            connection = await connect(rig.socket_url, max_size=None)
            await connection.send(text(LONG))
            await rig.until_speaking()
            if polite:
                await connection.close()
            else:
                connection.transport.abort()
            await rig.until_idle()
            assert rig.engine.decoded < len(LONG) / 2

    asyncio.run(scenario())


def test_ping_tells_when_the_engine_has_stopped() -> None:
    async def status(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await reader.readline()
        writer.close()
        return answer

    async def scenario() -> None:
        async with serving() as rig:
            assert b" 200 " in await status(rig.port)
            rig.speech.scheduler.close()
            assert b" 503 " in await status(rig.port)

    asyncio.run(scenario())


def test_a_client_that_leaves_within_its_request_is_no_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with serving() as rig:
            exchange = await rig.post({"text": "Hi."}, length=100)
            await asyncio.sleep(0.1)
            exchange.leave()
            await rig.until_idle()

    asyncio.run(scenario())
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def scenario() -> bytes:
        async with serving(ServerSettings(body_timeout_s=0.2)) as rig:
            exchange = await rig.post({"text": "Hi."}, length=100)
            async with asyncio.timeout(3):
                answer = await exchange.reader.readuntil(b"}}")
            exchange.leave()
            return answer

    answer = asyncio.run(scenario())
    assert b" 408 " in answer
    assert b"request_timeout" in answer


def test_an_http_client_that_stops_reading_is_dropped() -> None:
    async def scenario() -> None:
        async with serving(ServerSettings(send_timeout_s=0.3)) as rig:
            exchange = await rig.post({"text": LONG * 3})
            await rig.until_speaking()
            await rig.until_idle(8)
            exchange.leave()

    asyncio.run(scenario())


def test_a_websocket_client_that_stops_reading_is_dropped() -> None:
    async def scenario() -> None:
        async with serving(ServerSettings(ahead_s=None, send_timeout_s=0.3)) as rig:
            connection = await connect(rig.socket_url, compression=None)
            connection.transport.pause_reading()
            for _ in range(6):
                await connection.send(text(LONG))
            await rig.until_speaking()
            await rig.until_idle(8)
            connection.transport.abort()

    asyncio.run(scenario())


def test_speech_that_fails_half_way_is_a_broken_transfer() -> None:
    async def scenario() -> bytes:
        async with serving() as rig:
            exchange = await rig.post({"text": "Hi. This will explode. Hi."})
            async with asyncio.timeout(3):
                return await exchange.reader.read(10_000_000)

    answer = asyncio.run(scenario())
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"secret" not in answer
    assert not answer.endswith(b"0\r\n\r\n"), "the transfer looks complete"


def test_a_client_that_leaves_before_the_server_is_ready_is_no_fault() -> None:
    sent: list[str] = []

    async def send(message: Message) -> None:
        sent.append(message["type"])
        if message["type"] != "websocket.accept":
            raise OSError  # how a server tells that the client is gone

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def load() -> LocalBackend:
        raise AssertionError("there is no lifespan here")

    scope = {
        "type": "websocket",
        "path": ROUTE,
        "headers": [],
        "query_string": b"",
        "subprotocols": [],
    }
    asyncio.run(create_app(load)(scope, receive, send))
    assert sent == ["websocket.accept", "websocket.send"]


def test_a_closed_loop_does_not_end_the_worker() -> None:
    """A back end may outlive the loop of one of its streams."""

    async def speech_of(speech: LocalBackend) -> int:
        async with speech.open() as stream:
            await stream.push_text("Hi. ")
            await stream.end_input()
            async with asyncio.timeout(5):
                return len([event async for event in stream])

    speech = backend()

    async def forgotten() -> None:
        await speech.open().push_text(LONG)

    asyncio.run(forgotten())
    assert asyncio.run(speech_of(speech)) > 3
    asyncio.run(speech.aclose())


def test_routing_errors_of_the_openai_door_have_its_shape() -> None:
    async def scenario() -> bytes:
        async with serving() as rig:
            reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
            writer.write(b"GET /v1/audio/speech HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return await reader.read()

    head, _, body = asyncio.run(scenario()).partition(b"\r\n\r\n")
    assert b" 405 " in head
    assert b"allow: POST" in head
    error = json.loads(body)["error"]
    assert (error["code"], error["type"]) == ("method_not_allowed", "invalid_request_error")
