"""SIGTERM: what was accepted is spoken, nothing new is, and the process ends in time."""

import asyncio
import json
import signal
import threading
import time
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect as connect_in_thread

from speakahead.backends.local import LocalBackend
from speakahead.cli.serve import configuration
from speakahead.server.app import create_app
from speakahead.server.drain import DrainingServer
from speakahead.server.settings import ServerSettings
from tests.conftest import ROUTE, Client, Server, free_port, run_server
from tests.server.rig import Rig, backend, until

REPLY = "It is a fine day. Shall we go for a walk?"


class Running:
    """`DrainingServer` in this process, with an engine that costs nothing."""

    def __init__(self, settings: ServerSettings) -> None:
        speech = backend()

        async def load() -> LocalBackend:
            return speech

        app = create_app(load, settings)
        config = configuration(app, settings, "127.0.0.1", free_port())
        self.server = DrainingServer(config, app.state.speech.drain, reader_timeout_s=30)
        self.rig = Rig(config.port, speech, self.server)

    async def __aenter__(self) -> "Running":
        self._task = asyncio.create_task(self.server._serve())
        await until(lambda: self.server.started)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.should_exit = True
        await self._task

    async def drained(self, seconds: float) -> None:
        async with asyncio.timeout(seconds):
            await self._task


def test_under_load_all_that_was_accepted_is_spoken(tmp_path: Path) -> None:
    """A stream over HTTP and a session, while others try to come in."""
    with run_server(tmp_path / "log", "--patience", "60") as server:
        whole = read_all(server, threading.Event())
        heard: list[int] = []
        began = threading.Event()
        reading = threading.Thread(target=lambda: heard.append(read_all(server, began)))
        with server.session() as client:
            reading.start()
            assert began.wait(30)
            client.send({"text": REPLY})
            assert isinstance(client.receive(), dict)
            server.process.send_signal(signal.SIGTERM)
            asked_at = time.monotonic()
            assert_nothing_new(server)
            assert_all_is_spoken(client)
            with pytest.raises(ConnectionClosed) as closed:
                client.receive(10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
        reading.join(30)
        assert heard == [whole]
        assert server.process.wait(25 - (time.monotonic() - asked_at)) == 0
        assert "Traceback" not in server.log_text()
        assert "cut off" not in server.log_text()


def body() -> dict[str, object]:
    return {"text": REPLY, "format": "pcm"}


def read_all(server: Server, began: threading.Event) -> int:
    with httpx.stream("POST", server.url + "/invocations", json=body(), timeout=60) as answer:
        assert answer.status_code == 200
        began.set()
        return sum(len(piece) for piece in answer.iter_bytes())


def assert_nothing_new(server: Server) -> None:
    deadline = time.monotonic() + 2
    while (ping := httpx.get(server.url + "/ping")).status_code == 200:
        assert time.monotonic() < deadline, "the server does not drain"
        time.sleep(0.02)
    assert (ping.status_code, ping.json()["error"]["code"]) == (503, "shutting_down")
    refused = httpx.post(server.url + "/invocations", json=body())
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
    assert refused.json()["error"]["retryable"] is True
    with connect_in_thread(f"ws://127.0.0.1:{server.port}{ROUTE}") as connection:
        assert json.loads(connection.recv(5))["code"] == "shutting_down"
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(5)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012


def assert_all_is_spoken(client: Client) -> None:
    while isinstance(message := client.receive(30), bytes):
        pass
    assert message["type"] == "synthesis_complete"


def test_a_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    with run_server(tmp_path / "log") as server, server.session() as client:
        client.send({"text": REPLY * 5})
        client.receive()
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert server.process.poll() is None, "it did not wait for the session"
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(1) == 128 + signal.SIGTERM


def test_a_server_that_is_still_loading_ends_at_once(tmp_path: Path) -> None:
    with run_server(tmp_path / "log", wait=False) as server:
        deadline = time.monotonic() + 60
        while "running on" not in server.log_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(2) == 0
        assert "ready" not in server.log_text()
        assert "Traceback" not in server.log_text()


def test_a_silent_session_does_not_hold_up_the_shutdown() -> None:
    async def scenario() -> None:
        async with Running(ServerSettings()) as running, connect(running.rig.socket_url) as client:
            await until(lambda: running.rig.speech.scheduler.streams == 1)
            running.server.should_exit = True
            await running.drained(3)
            with pytest.raises(ConnectionClosed) as closed:
                await client.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1012

    asyncio.run(scenario())


def test_a_reply_that_is_still_being_written_is_not_cut() -> None:
    async def scenario() -> int:
        async with Running(ServerSettings()) as running, connect(running.rig.socket_url) as client:
            await client.send(json.dumps({"type": "delta", "text": "One "}))
            await asyncio.sleep(0.1)
            running.server.should_exit = True
            for word in ("two ", "three ", "four."):
                await asyncio.sleep(0.5)
                await client.send(json.dumps({"type": "delta", "text": word}))
            await client.send(json.dumps({"type": "flush"}))
            sound = 0
            async with asyncio.timeout(20):
                while True:
                    frame = await client.recv()
                    if isinstance(frame, bytes):
                        sound += len(frame)
                    elif json.loads(frame)["type"] == "synthesis_complete":
                        return sound

    # Half a second of sound a character, and the pause.
    assert asyncio.run(scenario()) > len("One two three four.") * 0.5 * 48_000


def test_a_session_that_does_not_end_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        settings = ServerSettings(drain_s=0.5)
        async with Running(settings) as running, connect(running.rig.socket_url) as client:
            await client.send(json.dumps({"text": "So many words. " * 50}))
            running.server.should_exit = True
            await running.drained(4)
            await client.wait_closed()
            assert client.close_code == 1012

    asyncio.run(scenario())
    assert "1 sessions are cut off" in caplog.text
    assert "Traceback" not in caplog.text
