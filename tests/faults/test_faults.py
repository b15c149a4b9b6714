"""What goes wrong on the client's side or inside, against the real process with the real model.

After each fault: no session, stream, thread or socket is left, memory is what it was, and a
bystander who spoke all the while heard what he would have heard alone, to the last bit but one.
"""

import contextlib
import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from websockets.sync.client import ClientConnection, connect

from speakahead.protocol.framing import unpack
from tests.conftest import ROUTE, Server
from tests.faults.running import server_of

TEXT = "The kettle is on. The bread will be ready in ten minutes, and then we can eat."
BYSTANDER = "The kettle is on."
HANDSHAKE = (
    f"GET {ROUTE}?protocol=2 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
).encode()
NO_MASK = b"\x00\x00\x00\x00"


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("faults") / "server.log"
    with server_of("process", log) as server:
        with server.session() as client:  # what grows once only has grown now
            for _ in range(3):
                client.speak(TEXT)
        yield server


@pytest.fixture(scope="module")
def alone(faulty: Server) -> bytes:
    """What the bystander hears when nobody else is there."""
    with faulty.session() as client:
        return client.speak(BYSTANDER).sound


@pytest.fixture(autouse=True)
def nothing_is_left(faulty: Server, alone: bytes) -> Iterator[None]:
    before = usage(faulty)
    heard: list[bytes] = []
    stop = threading.Event()

    def listen() -> None:
        with faulty.session() as client:
            while not stop.is_set():
                heard.append(client.speak(BYSTANDER).sound)

    bystander = threading.Thread(target=listen)
    bystander.start()
    try:
        yield
    finally:
        stop.set()
        bystander.join(60)
    assert heard
    assert all(same(sound, alone) for sound in heard)
    wait_for(lambda: metric(faulty, "speakahead_sessions") == 0, 10)
    assert metric(faulty, "speakahead_streams") == 0
    wait_for(lambda: usage(faulty)["Threads"] <= before["Threads"], 15)
    wait_for(lambda: usage(faulty)["files"] <= before["files"], 15)
    wait_for(lambda: usage(faulty)["VmRSS"] <= before["VmRSS"] * 1.05, 5)
    log = faulty.log_text()
    assert "the words to be spoken" not in log
    assert "kettle" not in log


def same(sound: bytes, expected: bytes) -> bool:
    """Whether two sounds are the same but for rounding.

    How a sentence is cut into windows depends on how far ahead its listener is, and windows agree
    to 115 dB: now and then a sample is rounded the other way.
    """
    if len(sound) != len(expected):
        return False
    difference = np.frombuffer(sound, "<i2").astype(int) - np.frombuffer(expected, "<i2")
    return bool(np.abs(difference).max() <= 1)


def usage(server: Server) -> dict[str, int]:
    process = Path(f"/proc/{server.process.pid}")
    status = (process / "status").read_text()
    held = {key: int(value) for key, value in re.findall(r"(VmRSS|Threads):\s+(\d+)", status)}
    return {**held, "files": len(list((process / "fd").iterdir()))}


def metric(server: Server, name: str) -> float:
    lines = httpx.get(f"{server.url}/metrics", timeout=10).text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.split(" ")[0] == name)


def wait_for(condition: object, seconds: float) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


@contextlib.contextmanager
def session(server: Server) -> Iterator[ClientConnection]:
    url = f"ws://127.0.0.1:{server.port}{ROUTE}?protocol=2"
    with connect(url, max_size=None, compression=None) as connection:
        assert json.loads(connection.recv())["type"] == "ready"
        yield connection


def send(connection: ClientConnection, kind: str, **fields: object) -> None:
    connection.send(json.dumps({"type": kind, **fields}))


def until(connection: ClientConnection, *kinds: str) -> tuple[dict[str, object], int]:
    """The next message of one of these kinds, and how many audio frames came before it."""
    frames = 0
    while True:
        frame = connection.recv(timeout=60)
        if isinstance(frame, bytes):
            assert unpack(frame).samples.size
            frames += 1
        elif (message := json.loads(frame))["type"] in kinds:
            return message, frames


def vanish(connection: ClientConnection) -> None:
    """Leave without a word: no close frame, no FIN that waits for what is unread."""
    linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    connection.socket.close()


STATES = ("open", "writing", "flushed", "speaking", "held", "cancelled", "closing")


@pytest.mark.parametrize("state", STATES)
def test_the_client_vanishes(faulty: Server, state: str) -> None:
    url = f"ws://127.0.0.1:{faulty.port}{ROUTE}?protocol=2"
    connection = connect(url, max_size=None, compression=None, legacy=True)
    connection.recv()
    if state == "held":
        send(connection, "hold")
    if state != "open":
        send(connection, "text", text=TEXT)
    if state not in ("open", "writing"):
        send(connection, "flush")
    if state in ("speaking", "cancelled"):
        while not isinstance(connection.recv(timeout=60), bytes):
            pass
    if state == "cancelled":
        send(connection, "cancel")
    if state == "closing":
        send(connection, "close")
    vanish(connection)
    wait_for(lambda: metric(faulty, "speakahead_sessions") == 1, 10)  # the bystander


@pytest.mark.parametrize("at", ["body", "sound"])
def test_an_http_client_vanishes(faulty: Server, at: str) -> None:
    body = json.dumps({"text": TEXT}).encode()
    with socket.create_connection(("127.0.0.1", faulty.port)) as raw:
        head = f"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        raw.sendall(head.encode() + (body[:10] if at == "body" else body))
        if at == "sound":
            assert raw.recv(1000).startswith(b"HTTP/1.1 200")
    wait_for(lambda: metric(faulty, "speakahead_sessions") == 1, 10)


def test_a_client_that_stops_reading_is_dropped(faulty: Server) -> None:
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # before the window is agreed
        raw.connect(("127.0.0.1", faulty.port))
        raw.sendall(HANDSHAKE.replace(b"?protocol=2", b""))
        assert raw.recv(1000).startswith(b"HTTP/1.1 101")
        message = json.dumps({"text": TEXT * 12}).encode()
        raw.sendall(b"\x81\xfe" + len(message).to_bytes(2) + NO_MASK + message)
        wait_for(lambda: metric(faulty, "speakahead_sessions") == 2, 10)
        wait_for(lambda: metric(faulty, "speakahead_sessions") == 1, 90)


@pytest.mark.parametrize("sent", [b"", HANDSHAKE[:40], HANDSHAKE[:-2]])
def test_a_connection_that_never_becomes_one(faulty: Server, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", faulty.port)) as raw:
        raw.sendall(sent)
        with session(faulty) as connection:
            send(connection, "text", text="Good.")
            send(connection, "flush")
            assert until(connection, "utterance_complete")[1]


@pytest.mark.parametrize(
    "sent",
    [
        b"\x81",
        b"\x81\xfe\x10\x00" + NO_MASK + b'{"type": ',
        b"\x01\x89" + NO_MASK + b'{"type": ' + b"\x00\x80" + NO_MASK,
    ],
    ids=["header", "payload", "fragment"],
)
def test_a_message_that_never_ends(faulty: Server, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", faulty.port)) as raw:
        raw.sendall(HANDSHAKE)
        assert raw.recv(1000).startswith(b"HTTP/1.1 101")
        raw.sendall(sent)
        wait_for(lambda: metric(faulty, "speakahead_sessions") == 2, 10)
    wait_for(lambda: metric(faulty, "speakahead_sessions") == 1, 10)


@pytest.mark.parametrize(
    "frame",
    [b"\x83\x80" + NO_MASK, b"\xc1\x80" + NO_MASK, b"\x81\x00", b"\x00\x80" + NO_MASK],
    ids=["unknown opcode", "reserved bit", "not masked", "continues nothing"],
)
def test_a_frame_that_breaks_the_protocol_ends_its_connection(faulty: Server, frame: bytes) -> None:
    with socket.create_connection(("127.0.0.1", faulty.port), 10) as raw:
        raw.sendall(HANDSHAKE)
        assert raw.recv(1000).startswith(b"HTTP/1.1 101")
        raw.sendall(frame)
        received = b""
        while piece := raw.recv(1000):
            received += piece
    assert b"\x03\xea" in received[-125:]  # 1002
    wait_for(lambda: metric(faulty, "speakahead_sessions") == 1, 10)


def test_a_client_that_is_half_closed_is_gone(faulty: Server) -> None:
    """It sends no more and, in this protocol, cannot even answer a close."""
    with socket.create_connection(("127.0.0.1", faulty.port), 10) as raw:
        raw.sendall(HANDSHAKE)
        message = json.dumps({"type": "text", "text": TEXT}).encode()
        raw.sendall(b"\x81" + bytes([0x80 | len(message)]) + NO_MASK + message)
        wait_for(lambda: metric(faulty, "speakahead_sessions") == 2, 10)
        raw.shutdown(socket.SHUT_WR)
        wait_for(lambda: metric(faulty, "speakahead_sessions") == 1, 10)


@pytest.mark.parametrize(
    ("utterances", "text"), [(40, "word. " * 3000), (3000, "A word. ")], ids=["long", "many"]
)
def test_an_interruption_gets_through_a_day_of_text(
    faulty: Server, utterances: int, text: str
) -> None:
    with session(faulty) as connection:
        for number in range(utterances):
            send(connection, "text", text=text, utterance=f"u{number}")
        send(connection, "cancel")
        final = False
        while not final:
            answer, _ = until(connection, "cancelled", "error")
            assert answer["type"] == "cancelled"
            assert str(answer["text_spoken"]) + str(answer["text_remaining"]) == text
            final = bool(answer["final"])
        assert answer["utterance"] == f"u{utterances - 1}"
        send(connection, "text", text="Good.", utterance="next")
        send(connection, "flush")
        completed, frames = until(connection, "utterance_complete")
        assert completed["utterance"] == "next"
        assert frames


def test_ten_thousand_deltas_at_once_and_then_an_interruption(faulty: Server) -> None:
    with session(faulty) as connection:
        for _ in range(10_000):
            send(connection, "text", text="word. ", utterance="flood")
        began = time.monotonic()
        send(connection, "cancel")
        answer, _ = until(connection, "cancelled")
        assert time.monotonic() - began < 20  # it stands behind all of the text
        text = str(answer["text_spoken"]) + str(answer["text_remaining"])
        assert text == "word. " * 10_000
        send(connection, "text", text="Good.", utterance="next")
        send(connection, "flush")
        completed, frames = until(connection, "utterance_complete")
        assert completed["utterance"] == "next"
        assert frames


def test_a_storm_of_interruptions(faulty: Server) -> None:
    with session(faulty) as connection:
        for number in range(1000):
            send(connection, "text", text=TEXT, utterance=f"u{number}")
            send(connection, "cancel")
        for number in range(1000):
            answer, _ = until(connection, "cancelled", "error")
            assert (answer["type"], answer["utterance"]) == ("cancelled", f"u{number}")
        send(connection, "text", text="Good.")
        send(connection, "flush")
        _, frames = until(connection, "utterance_complete")
        assert frames


@pytest.mark.parametrize("fault", [signal.SIGUSR1, signal.SIGUSR2])
def test_the_engine_fails_within_a_window(faulty: Server, fault: signal.Signals) -> None:
    with session(faulty) as connection:
        faulty.process.send_signal(fault)
        send(connection, "text", text=TEXT, utterance="bad")
        send(connection, "flush")
        message, _ = until(connection, "utterance_complete", "error")
        assert (message["type"], message["utterance"]) == ("error", "bad")
        assert message["code"] == "synthesis_failed"
        began = time.monotonic()
        send(connection, "text", text="Good.", utterance="good")
        send(connection, "flush")
        until(connection, "utterance_start")
        assert time.monotonic() - began < 5
        message, frames = until(connection, "utterance_complete", "error")
        assert message["type"] == "utterance_complete"
        assert frames


def test_five_hundred_sessions_come_and_go(faulty: Server) -> None:
    url = f"ws://127.0.0.1:{faulty.port}{ROUTE}?protocol=2"
    for _ in range(10):
        crowd = [connect(url, max_size=None, compression=None, legacy=True) for _ in range(50)]
        for number, connection in enumerate(crowd):
            if number % 2:
                send(connection, "text", text=TEXT)
                send(connection, "flush")
        for connection in crowd:
            vanish(connection)
    wait_for(lambda: metric(faulty, "speakahead_sessions") == 1, 20)
