"""The WebSocket back end against the real server on a real socket (with an engine of no cost)."""

import asyncio
from typing import Any

import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve

from speakahead.backends import websocket
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.backends.websocket import WebSocketBackend, session_url
from speakahead.errors import (
    ConnectionFailed,
    IllegalTransition,
    InvalidRequest,
    RemoteError,
    SpeakaheadError,
)
from speakahead.session.events import (
    Append,
    Audio,
    Cancel,
    Close,
    Discard,
    Event,
    Failed,
    Flush,
    Hold,
    Release,
    Request,
    SessionClosed,
    Speak,
    UtteranceCancelled,
    UtteranceCompleted,
    UtteranceStarted,
    VoiceSettings,
)
from tests.conftest import free_port
from tests.server.rig import WINDOW, serving

READY = (
    '{"type":"ready","protocol":2,"session":"s","sample_rate":24000,"format":"s16le","limits":'
    '{"max_message_bytes":4194304,"max_text":20000,"max_utterance":200000,"max_waiting":1000000,'
    '"max_utterances":5000,"send_timeout_s":30,"idle_timeout_s":300,"max_session_s":1800}}'
)


async def speak(stream: SpeechStream, *requests: Request) -> list[Event]:
    async def push() -> None:
        for request in (*requests, Close()):
            await stream.send(request)

    pushing = asyncio.create_task(push())
    events = [event async for event in stream]
    await pushing
    return events


def test_a_session_from_text_to_sound() -> None:
    async def scenario() -> list[Event]:
        async with serving() as rig:
            backend: SpeechBackend = WebSocketBackend(rig.socket_url)
            async with backend.open(VoiceSettings(speed=1.5)) as stream:
                return await speak(
                    stream, Append("Hi", utterance="a"), Append("."), Flush(), Speak("Yes.")
                )

    events = asyncio.run(scenario())
    assert isinstance(events[-1], SessionClosed)
    started = [e for e in events if isinstance(e, UtteranceStarted)]
    completed = [e for e in events if isinstance(e, UtteranceCompleted)]
    assert [e.utterance for e in started] == [e.utterance for e in completed]
    assert started[0].utterance == "a"
    sound = [e for e in events if isinstance(e, Audio) and e.utterance == "a"]
    assert [e.offset for e in sound[:4]] == [0, WINDOW, 2 * WINDOW, 3 * WINDOW]
    samples = sum(len(e.samples) for e in sound)
    assert completed[0].duration_s == pytest.approx(samples / 24000, abs=1e-3)
    assert np.abs(sound[0].samples - 0.5).max() < 1e-3


def test_interruption_and_holding_back() -> None:
    async def scenario() -> list[Event]:
        async with serving() as rig, WebSocketBackend(rig.socket_url).open() as stream:
            await stream.send(Hold("claim"))
            await stream.send(Speak("It was sent.", utterance="claim"))
            await stream.send(Speak("After.", utterance="after"))
            await stream.send(Discard("claim"))
            events = []
            async for event in stream:
                events.append(event)
                if isinstance(event, Audio) and event.offset == 0:
                    await stream.send(Cancel(played_s=0.0))
                if isinstance(event, UtteranceCancelled) and event.utterance == "after":
                    break
            await stream.send(Hold())
            await stream.send(Speak("Ok.", utterance="last"))
            await stream.send(Release())
            return events + await speak(stream)

    events = asyncio.run(scenario())
    answers = [e for e in events if isinstance(e, UtteranceCancelled)]
    assert [(e.utterance, e.text_remaining) for e in answers] == [
        ("claim", "It was sent."),
        ("after", "After."),
    ]
    assert {e.utterance for e in events if isinstance(e, Audio)} == {"after", "last"}


def test_a_refused_request_is_an_event_with_the_servers_code() -> None:
    async def scenario() -> list[Event]:
        async with serving() as rig, WebSocketBackend(rig.socket_url).open() as stream:
            return await speak(stream, Speak("Hi.", VoiceSettings("nobody"), "x"), Speak("Ok."))

    events = asyncio.run(scenario())
    (failed,) = [e for e in events if isinstance(e, Failed)]
    assert isinstance(failed.error, RemoteError)
    assert (failed.utterance, failed.error.code) == ("x", "unknown_voice")
    assert any(isinstance(e, UtteranceCompleted) for e in events)


def test_nobody_listens() -> None:
    async def scenario() -> None:
        backend = WebSocketBackend(f"http://127.0.0.1:{free_port()}", timeout_s=2.0)
        with pytest.raises(ConnectionFailed, match="cannot be reached"):
            async with backend.open():
                pass

    asyncio.run(scenario())


@pytest.mark.parametrize("behaviour", ["silent", "leaves", "nonsense"])
def test_a_server_that_misbehaves_is_found_out(behaviour: str) -> None:
    async def handler(socket: ServerConnection) -> None:
        await socket.recv()
        if behaviour == "nonsense":
            await socket.send('{"type": "ready"}')
        elif behaviour == "silent":
            await socket.wait_closed()

    async def scenario() -> None:
        async with serve(handler, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            backend = WebSocketBackend(f"ws://127.0.0.1:{port}", timeout_s=0.3)
            with pytest.raises(SpeakaheadError):
                async with backend.open():
                    pass
            server.close(close_connections=True)

    asyncio.run(scenario())


def test_a_server_that_goes_silent_within_an_utterance_is_found_out() -> None:
    async def scenario() -> None:
        async with serving() as rig:
            backend = WebSocketBackend(rig.socket_url, silence_s=0.3)
            async with backend.open() as stream:
                await stream.send(Speak("explode"))
                assert isinstance(await anext(stream), UtteranceStarted | Failed)
            async with backend.open() as stream:
                rig.engine.decode = lambda plan, window: (
                    asyncio.run(asyncio.sleep(2))
                    or (  # type: ignore[method-assign,assignment]
                        np.zeros(1, np.float32)
                    )
                )
                await stream.send(Speak("Hi."))
                with pytest.raises(ConnectionFailed, match="stopped answering"):
                    async for _ in stream:
                        pass

    asyncio.run(scenario())


def test_misuse() -> None:
    for url in ("ftp://host", "http://", "ws://[::1"):
        with pytest.raises(InvalidRequest):
            session_url(url)
    assert session_url("localhost:8080").startswith("ws://localhost:8080/")

    async def scenario() -> None:
        async with serving() as rig, WebSocketBackend(rig.socket_url).open() as stream:
            await stream.send(Close())
            with pytest.raises(IllegalTransition):
                await stream.send(Speak("Late."))

    asyncio.run(scenario())


def test_silence_is_noticed_by_a_reader_that_came_first() -> None:
    async def scenario() -> None:
        async def greet_only(connection: ServerConnection) -> None:
            await connection.recv()
            await connection.send(READY)
            async for _ in connection:
                pass

        async with serve(greet_only, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            backend = WebSocketBackend(f"ws://127.0.0.1:{port}", silence_s=0.2)
            async with backend.open() as stream:
                reading = asyncio.create_task(anext(stream))
                await asyncio.sleep(0.3)  # nothing is owed, so nothing is missing
                assert not reading.done()
                await stream.send(Speak("Hello."))
                await reading

    with pytest.raises(ConnectionFailed):
        asyncio.run(asyncio.wait_for(scenario(), 10))


def test_leaving_a_server_that_does_not_read() -> None:
    async def scenario() -> None:
        deaf = asyncio.Event()

        async def stop_reading(connection: ServerConnection) -> None:
            await connection.recv()
            await connection.send(READY)
            connection.transport.pause_reading()
            await deaf.wait()

        async with serve(stop_reading, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            stream = WebSocketBackend(f"ws://127.0.0.1:{port}").open()
            async with stream:

                async def flood() -> None:
                    while True:
                        await stream.send(Append("word " * 2000))

                flooding = asyncio.create_task(flood())
                await asyncio.sleep(0.5)
                assert not flooding.done()
            with pytest.raises(ConnectionFailed):
                await flooding
            deaf.set()
            for connection in server.connections:
                connection.transport.abort()

    asyncio.run(asyncio.wait_for(scenario(), 15))


def test_a_server_that_does_not_read_for_a_while_is_not_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def impatient(url: str, **options: Any) -> ClientConnection:
        timeout_s = options.pop("ping_timeout", 20.0)  # the library's own
        hurried = None if timeout_s is None else timeout_s / 200
        return await connect(url, ping_interval=0.1, ping_timeout=hurried, **options)

    monkeypatch.setattr(websocket, "connect", impatient)

    async def scenario() -> None:
        async def pause(connection: ServerConnection) -> None:
            await connection.recv()
            await connection.send(READY)
            connection.transport.pause_reading()
            await asyncio.sleep(1.0)
            connection.transport.resume_reading()
            await connection.recv()  # the text
            await connection.send(
                '{"type":"error","utterance":"u","code":"overloaded","message":"Busy.",'
                '"retryable":true}'
            )
            await connection.wait_closed()

        async with serve(pause, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with WebSocketBackend(f"ws://127.0.0.1:{port}").open() as stream:
                await asyncio.sleep(0.8)
                await stream.send(Append("Hello.", utterance="u"))
                assert isinstance(await anext(stream), Failed)

    asyncio.run(asyncio.wait_for(scenario(), 15))
