"""A real server process, shared by the tests that need one."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings
from websockets.sync.client import ClientConnection, connect

# A background job is started with interrupts ignored, and so would be every process of a test.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A property holds on a busy machine too; what is to be fast is measured by the benchmarks.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROUTE = "/invocations-bidirectional-stream"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Reply:
    """What came back for one utterance."""

    start: dict[str, Any]
    end: dict[str, Any]
    sound: bytes
    first_byte_at: float | None

    @property
    def seconds(self) -> float:
        return len(self.sound) / 2 / 24000


class Client:
    """A plain client of protocol 1 over a real WebSocket."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send(self, message: object) -> None:
        self.connection.send(json.dumps(message))

    def receive(self, timeout: float = 60.0) -> dict[str, Any] | bytes:
        frame = self.connection.recv(timeout=timeout)
        return frame if isinstance(frame, bytes) else json.loads(frame)

    def reply(self) -> Reply:
        """Read one utterance from its start to its end."""
        start = self.receive()
        assert isinstance(start, dict), "sound before synthesis_start"
        if start["type"] == "error":
            return Reply(start, start, b"", None)
        assert start["type"] == "synthesis_start", start
        sound, first = bytearray(), None
        while isinstance(message := self.receive(), bytes):
            first = first or time.monotonic()
            sound += message
        return Reply(start, message, bytes(sound), first)

    def speak(self, text: str, **fields: object) -> Reply:
        self.send({"text": text, **fields})
        return self.reply()


@dataclass
class Server:
    """A `speakahead serve` process."""

    process: subprocess.Popen[str]
    port: int
    log: Path
    url: str = field(init=False)

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def session(self) -> Iterator[Client]:
        with connect(f"ws://127.0.0.1:{self.port}{ROUTE}", max_size=None) as connection:
            yield Client(connection)

    def log_text(self) -> str:
        return self.log.read_text()


@contextlib.contextmanager
def run_server(log: Path, *options: str, wait: bool = True) -> Iterator[Server]:
    port = free_port()
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "speakahead", "serve", "--port", str(port), *options],
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
        server = Server(process, port, log)
        try:
            if wait:
                wait_until_ready(server)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until_ready(server: Server, timeout: float = 120.0) -> None:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise AssertionError(f"the server ended: {server.log_text()}")
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(server.url + "/ping", timeout=5).status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError(f"the server is not ready: {server.log_text()}")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("server") / "server.log"
    with run_server(log, "--pace", "fast") as running:
        yield running
