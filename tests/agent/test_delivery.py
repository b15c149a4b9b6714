"""Clients that do not take what they are sent, or leave before they have heard it."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect

from speakahead.agent.app import EventStream, create_app
from speakahead.agent.door import WebSocketDoor
from speakahead.agent.interruption import Interruption
from speakahead.agent.models.scripted import Pause, Say
from speakahead.agent.request import AgentRequest
from speakahead.errors import Overloaded
from speakahead.protocol.sse import SseReader
from tests.agent.rig import Rig, serving, skip_to
from tests.agent.test_failures import SECRET
from tests.agent.test_history import REPLY, texts
from tests.server.rig import until

LONG = (Say(REPLY * 250),)  # more sound than sockets hold
OTHER = (Say("Good."),)
SOUND = {"format": "pcm_f32le", "sample_rate": 48_000}


@contextlib.asynccontextmanager
async def stuck_client(port: int, transport: str) -> AsyncGenerator[None]:
    """Asks, and reads nothing."""
    body = json.dumps({"prompt": "One.", "session_id": "s", **SOUND})
    if transport == "ws":
        options: dict[str, Any] = {"max_queue": 1, "close_timeout": 0.1, "compression": None}
        async with connect(f"ws://127.0.0.1:{port}/ws", **options) as socket:
            await socket.send(body)
            yield
            socket.transport.abort()
        return
    _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    head = f"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write((head + body).encode())
    await writer.drain()
    try:
        yield
    finally:
        writer.transport.abort()


async def until_stuck(rig: Rig) -> None:
    """Wait until the model and the speech wait for the client."""
    await until(lambda: len(rig.spoken) > 10)
    before = 0
    while before != (before := len(rig.spoken)):  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(0.5)


@pytest.mark.parametrize("transport", ["sse", "ws"])
def test_a_client_that_stops_reading_has_left(transport: str) -> None:
    async def scenario() -> None:
        async with Rig(LONG) as rig:
            app = create_app(rig.make, rig.speech, send_timeout_s=1.0)
            async with serving(app) as port, stuck_client(port, transport):
                await until(lambda: len(rig.spoken) > 10)
                await until(lambda: not app._active_tasks, 10)
                await until(lambda: rig.speech.scheduler.streams == 0, 1)
                assert len(rig.spoken) < 400, "it was never stuck"
                assert "cancel" not in str(rig.history).lower()

    asyncio.run(scenario())


@pytest.mark.parametrize("transport", ["sse", "ws"])
def test_the_next_request_need_not_wait_for_a_client_that_does_not_read(transport: str) -> None:
    async def scenario() -> None:
        async with Rig(LONG, OTHER) as rig:
            app = create_app(rig.make, rig.speech, send_timeout_s=60.0)
            async with serving(app) as port, stuck_client(port, transport):
                await until_stuck(rig)
                asked = time.monotonic()
                async with httpx.AsyncClient(timeout=20) as client:
                    url = f"http://127.0.0.1:{port}/invocations"
                    answer = await client.post(url, json={"prompt": "Two.", "session_id": "s"})
                assert time.monotonic() - asked < 6
                events = [event.json() for event in SseReader().feed(answer.content)]
                assert events[-1]["type"] == "agent_end"
                assert events[-1]["stop_reason"] == "end_turn"

    asyncio.run(scenario())


def test_a_turn_that_does_not_end_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("speakahead.agent.conversation._TAKE_OVER_S", 0.2)

    async def scenario() -> None:
        async with Rig(LONG, OTHER) as rig, rig.turn() as events:
            await skip_to(events, "audio_chunk")  # and never again
            with pytest.raises(Overloaded):
                await asyncio.wait_for(rig.answer(), 20)
            end = await skip_to(events, "agent_end")
            assert end["stop_reason"] == "interrupted"
            assert rig.conversations.named("s").interrupt() is None
            await events.aclose()
            await rig.answer("Three.", played_s=0.25)  # of the one that was heard last
            assert texts(rig.history)[1] == ("assistant", "This")

    asyncio.run(scenario())


# -- leaving while it still sounds ------------------------------------------------------------


def test_a_web_socket_that_closes_while_it_sounds_has_not_heard_the_rest() -> None:
    rig = Rig((Say(REPLY),))
    client = TestClient(create_app(rig.make, rig.speech))
    with client, client.websocket_connect("/ws") as connection:
        connection.send_json({"prompt": "Hello?"})
        while "agent_end" not in (connection.receive().get("text") or ""):
            pass
        assert texts(rig.history)[-1] == ("assistant", REPLY)
    assert ("assistant", REPLY) not in texts(rig.history)


def test_an_answer_whose_end_was_not_delivered_has_not_been_heard() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),)) as rig:
            conversation = rig.conversations.named("s")
            response = EventStream(lambda: conversation, AgentRequest(prompt="Hello?"))
            leaving = asyncio.Event()

            async def send(message: Any) -> None:
                if b"agent_end" in message.get("body", b""):
                    leaving.set()
                    await asyncio.sleep(60)

            async def receive() -> dict[str, Any]:
                await leaving.wait()
                return {"type": "http.disconnect"}

            await asyncio.wait_for(response({"type": "http"}, receive, send), 20)
            assert ("assistant", REPLY) not in texts(rig.history)

    asyncio.run(scenario())


def test_a_fault_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),)) as rig:
            conversation = rig.conversations.named("s")
            response = EventStream(lambda: conversation, AgentRequest(prompt="Hello?"))

            async def send(message: Any) -> None:
                raise RuntimeError(SECRET)

            async def receive() -> dict[str, Any]:
                await asyncio.sleep(60)
                return {}

            await asyncio.wait_for(response({"type": "http"}, receive, send), 20)

    asyncio.run(scenario())
    assert "RuntimeError at" in caplog.text
    assert SECRET not in caplog.text


# -- an interruption belongs to a turn --------------------------------------------------------


class Wire:
    """A connection on which all that was put is there at once."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.events: list[dict[str, Any]] = []
        self.put("websocket.connect")

    def put(self, kind: str, **message: Any) -> None:
        fields = {"text": json.dumps(message)} if message else {}
        self.incoming.put_nowait({"type": kind, **fields})

    async def send(self, message: Any) -> None:
        if message.get("text"):
            self.events.append(json.loads(message["text"]))

    async def until_ended(self, turns: int) -> None:
        await until(lambda: sum(e["type"] == "agent_end" for e in self.events) == turns)


@contextlib.asynccontextmanager
async def connected(rig: Rig) -> AsyncIterator[Wire]:
    wire = Wire()
    socket = WebSocket({"type": "websocket"}, wire.incoming.get, wire.send)
    running = asyncio.create_task(WebSocketDoor(socket, rig.conversations, "s").run())
    yield wire
    wire.put("websocket.disconnect")
    await running


def test_an_interruption_that_comes_with_a_prompt_is_about_its_answer() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),), (Say(REPLY),)) as rig, connected(rig) as wire:
            wire.put("websocket.receive", prompt="One.")
            await wire.until_ended(1)
            wire.put("websocket.receive", prompt="Two.", played_s=1000.0)  # all was heard
            wire.put("websocket.receive", type="interrupt", played_s=0.0)
            await wire.until_ended(2)
            assert wire.events[-1]["stop_reason"] == "interrupted"
            kept = [("user", "One."), ("assistant", REPLY)]
            await until(lambda: texts(rig.history) == kept)

    asyncio.run(scenario())


def test_an_interruption_of_a_turn_that_is_past_does_not_touch_the_next() -> None:
    async def scenario() -> None:
        async with Rig((Say(REPLY),), (Say(REPLY), Pause(0.3), Say(" So."))) as rig:
            conversation = rig.conversations.named("s")
            first = Interruption()
            async for _ in conversation.turn(AgentRequest(prompt="One."), first):
                pass
            async with rig.turn("Two.", played_s=1000.0) as events:
                await skip_to(events, "audio_chunk")
                assert conversation.interrupt(0.0, first) is None
                end = await skip_to(events, "agent_end")
            assert end["stop_reason"] == "end_turn"
            assert len(rig.history) == 4

    asyncio.run(scenario())
