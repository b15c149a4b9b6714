"""SIGTERM while everything is going on, and half of it goes wrong."""

import contextlib
import json
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from speakahead.bench.fuzz import faults_in
from tests.conftest import ROUTE, Server
from tests.faults.running import server_of
from tests.faults.test_faults import HANDSHAKE, TEXT, metric, send, until, wait_for

DRAIN_S = 6.0


def open_session(server: Server) -> ClientConnection:
    url = f"ws://127.0.0.1:{server.port}{ROUTE}?protocol=2"
    connection = connect(url, max_size=None, compression=None, legacy=True)
    until(connection, "ready")
    return connection


def to_the_end(connection: ClientConnection) -> tuple[list[str], int]:
    """The types of all messages that still come, and the close code."""
    kinds = []
    try:
        while True:
            frame = connection.recv(timeout=30)
            if isinstance(frame, str):
                kinds.append(str(json.loads(frame)["type"]))
    except ConnectionClosed as closed:
        return kinds, closed.rcvd.code if closed.rcvd is not None else 1006


def post_text(server: Server) -> None:
    with contextlib.suppress(httpx.HTTPError):  # it may be broken off
        httpx.post(server.url + "/invocations", json={"text": TEXT}, timeout=60)


def test_under_load(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with server_of("quick", log, str(DRAIN_S)) as server, contextlib.ExitStack() as stack:
        silent, flooding, held, speaking = (
            stack.enter_context(open_session(server)) for _ in range(4)
        )
        deaf = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        deaf.sendall(HANDSHAKE)  # and reads nothing
        half = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        half.sendall(HANDSHAKE[:40])
        send(speaking, "text", text="One two three.")  # at its pace, seven seconds
        send(speaking, "flush")
        send(held, "hold")
        send(held, "text", text=TEXT)
        for _ in range(5000):
            send(flooding, "text", text="word. ")
        post = threading.Thread(target=post_text, args=(server,))
        post.start()
        until(speaking, "utterance_start")  # the rest of it must still come
        wait_for(lambda: metric(server, "speakahead_sessions") >= 5, 10)
        server.process.send_signal(signal.SIGTERM)
        asked_at = time.monotonic()

        kinds, code = to_the_end(speaking)
        assert "warning" in kinds
        assert "utterance_complete" in kinds
        assert code == 1012
        for connection in (silent, held, flooding):
            kinds, code = to_the_end(connection)
            assert "warning" in kinds
            assert code == 1012
        post.join(60)
        assert not post.is_alive()
        assert server.process.wait(25 - (time.monotonic() - asked_at)) == 0
        assert not list(faults_in(server.log_text()))
