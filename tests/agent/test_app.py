"""The AgentCore application as a process of its own, over HTTP and WebSocket."""

import base64
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient
from strands import Agent
from websockets.sync.client import ClientConnection, connect

from speakahead.agent.app import create_app, make_agent
from speakahead.agent.models.scripted import Say, ScriptedModel
from speakahead.protocol.sse import SseReader
from tests.agent.rig import speech_backend
from tests.conftest import free_port

FIRST = "This is the first sentence."
REPLY = f"{FIRST} Here is a second one. And that was all."
LONG = "Here comes one more sentence of a long reply. " * 100

HEADER = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"


@contextlib.contextmanager
def serving(folder: Path, *steps: Any) -> Iterator[str]:
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": steps}))
    port = free_port()
    log = (folder / "log").open("w")
    command = [sys.executable, "-m", "tests.agent.process", str(port), str(script)]
    process = subprocess.Popen(command, stdout=log, stderr=log)
    address = f"127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "log").read_text()
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"http://{address}/ping", timeout=5).status_code == 200:
                    break
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(20)
        log.close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("agent"), [{"say": REPLY}]) as address:
        yield address


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    steps = [{"say": f"{FIRST} And"}, {"pause_s": 60.0}, {"say": " more."}]
    with serving(tmp_path_factory.mktemp("slow"), steps) as address:
        yield address


def invoke(app: str, headers: dict[str, str] | None = None, **fields: Any) -> list[dict[str, Any]]:
    reader = SseReader()
    url = f"http://{app}/invocations"
    body = {"prompt": "Hello?", **fields}
    with httpx.stream("POST", url, json=body, headers=headers, timeout=20) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        return [e.json() for piece in response.iter_bytes(97) for e in reader.feed(piece)]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def status(app: str) -> str:
    return str(httpx.get(f"http://{app}/ping").json()["status"])


def wait_until(app: str, wanted: str, seconds: float) -> float:
    began = time.monotonic()
    while status(app) != wanted:
        assert time.monotonic() - began < seconds, f"not {wanted}"
        time.sleep(0.01)
    return time.monotonic() - began


@pytest.mark.parametrize("mode", ["bidi", "batch"])
def test_an_invocation_streams_the_events_of_a_turn(app: str, mode: str) -> None:
    events = invoke(app, mode=mode)
    assert kinds(events)[0] == "agent_start"
    assert kinds(events)[-1] == "agent_end"
    written = "".join(e["text"] for e in events if e["type"] == "text_delta")
    assert written == REPLY
    pcm = b"".join(base64.b64decode(e["audio"]) for e in events if e["type"] == "audio_chunk")
    [end] = [e for e in events if e["type"] == "audio_stream_end"]
    assert len(pcm) == round(end["duration_s"] * 48_000)


def test_sessions_are_named_by_the_runtime_or_the_request(app: str) -> None:
    name = "s" * 40
    assert invoke(app, {HEADER: name})[0]["session_id"] == name
    assert invoke(app, session_id="mine")[0]["session_id"] == "mine"
    assert invoke(app)[0]["session_id"] != invoke(app)[0]["session_id"]


def test_requests_that_are_wrong_get_a_typed_error(app: str) -> None:
    bodies: list[Any] = [{}, {"prompt": "x", "mode": "both"}, {"prompt": "x", "format": "midi"}, []]
    for body in bodies:
        response = httpx.post(f"http://{app}/invocations", json=body)
        assert response.status_code == 400
        assert response.json()["type"] == "error"
        assert response.json()["message"]
    response = httpx.post(f"http://{app}/invocations", content=b"{")
    assert response.status_code == 400


# -- leaving ----------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["sse", "ws"])
@pytest.mark.parametrize("mode", ["bidi", "batch"])
def test_a_client_that_leaves_stops_the_turn_within_half_a_second(
    slow: str, mode: str, transport: str
) -> None:
    """Though neither model nor speech has anything to send, from which one could notice."""
    last = "captions" if mode == "bidi" else "text_delta"
    if transport == "sse":
        body = {"prompt": "Hello?", "mode": mode}
        with httpx.stream("POST", f"http://{slow}/invocations", json=body) as response:
            pieces = response.iter_bytes()
            assert any(last.encode() in piece for piece in pieces)
            assert status(slow) == "HealthyBusy"
    else:
        with connect(f"ws://{slow}/ws") as connection:
            say(connection, prompt="Hello?", mode=mode)
            read_to(connection, last)
            assert status(slow) == "HealthyBusy"
    assert wait_until(slow, "Healthy", 1.0) < 0.5


# -- WebSocket --------------------------------------------------------------------------------


def say(connection: ClientConnection, **message: Any) -> None:
    connection.send(json.dumps(message))


def read_to(connection: ClientConnection, kind: str) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Frames up to the first event of this type."""
    events: list[dict[str, Any]] = []
    frames: list[bytes] = []
    while not events or events[-1]["type"] != kind:
        frame = connection.recv(timeout=10)
        if isinstance(frame, bytes):
            frames.append(frame)
        else:
            events.append(json.loads(frame))
    return events, frames


def read_sound(connection: ClientConnection, seconds: float) -> None:
    """Frames up to where so much sound has come."""
    length = 0
    while length < seconds * 48_000:
        frame = connection.recv(timeout=10)
        length += len(frame) if isinstance(frame, bytes) else 0


def test_the_web_socket_carries_sound_without_base64(app: str) -> None:
    with connect(f"ws://{app}/ws") as connection:
        say(connection, prompt="Hello?")
        events, frames = read_to(connection, "agent_end")
    assert "audio_chunk" not in kinds(events)
    assert frames
    assert max(map(len, frames)) <= 32 * 1024
    over_http = invoke(app)
    pcm = b"".join(base64.b64decode(e["audio"]) for e in over_http if e["type"] == "audio_chunk")
    assert b"".join(frames) == pcm


def test_a_connection_without_a_question_is_no_conversation() -> None:
    """Pages open them ahead; they must not push out conversations that are remembered."""
    made: list[Agent] = []

    def make() -> Agent:
        made.append(make_agent(ScriptedModel([[Say("Good.")]]), tools=False))
        return made[-1]

    with TestClient(create_app(make, speech_backend())) as client:
        with client.websocket_connect("/ws") as connection:
            connection.send_json({"type": "interrupt", "played_s": 1.0})
            connection.send_json({"prompt": ""})
            assert connection.receive_json()["type"] == "error"
            assert made == []
            connection.send_json({"prompt": "Hello?"})
            assert connection.receive_json()["type"] == "agent_start"
        assert len(made) == 1


@pytest.mark.parametrize(
    ("header", "asked", "named"),
    [
        ({HEADER: "t" * 40}, (None, "another"), ["t" * 40, "t" * 40]),
        ({}, ("mine", None), ["mine", "mine"]),
    ],
)
def test_the_conversation_of_a_connection(
    app: str, header: dict[str, str], asked: tuple[str | None, ...], named: list[str]
) -> None:
    """The runtime's word goes first, then the request's; then it stays the same."""
    with connect(f"ws://{app}/ws", additional_headers=header) as connection:
        names = []
        for session in asked:
            say(connection, prompt="Hello?", **({"session_id": session} if session else {}))
            events, _ = read_to(connection, "agent_end")
            names += [e["session_id"] for e in events if e["type"] == "agent_start"]
    assert names == named


def test_large_chunks_are_cut_into_frames(app: str) -> None:
    with connect(f"ws://{app}/ws") as connection:
        say(connection, prompt="Hello?", sample_rate=48_000, format="pcm_f32le")
        _, frames = read_to(connection, "agent_end")
    assert max(map(len, frames)) <= 32 * 1024


def test_the_listener_interrupts_over_the_web_socket(slow: str) -> None:
    with connect(f"ws://{slow}/ws") as connection:
        say(connection, prompt="Hello?")
        read_sound(connection, 0.5)
        asked = time.monotonic()
        say(connection, type="interrupt", played_s=0.25)
        events, _ = read_to(connection, "agent_end")
        assert time.monotonic() - asked < 0.5
        [interrupted] = [e for e in events if e["type"] == "interrupted"]
        assert interrupted["text_spoken"] == "This"
        assert events[-1]["stop_reason"] == "interrupted"


def test_a_new_prompt_interrupts(slow: str) -> None:
    with connect(f"ws://{slow}/ws") as connection:
        say(connection, prompt="Hello?")
        read_to(connection, "captions")
        say(connection, prompt="And?")
        events, _ = read_to(connection, "agent_end")
        assert events[-1]["stop_reason"] == "interrupted"
        events, _ = read_to(connection, "captions")
        assert events[0]["type"] == "agent_start"
        say(connection, type="interrupt")
        read_to(connection, "agent_end")
    wait_until(slow, "Healthy", 1.0)


def test_messages_that_are_wrong_leave_the_connection_open(app: str) -> None:
    with connect(f"ws://{app}/ws") as connection:
        for wrong in ("{", "[]", "{}", '{"type": "interrupt", "played_s": -1}', b"sound"):
            connection.send(wrong)
            events, _ = read_to(connection, "error")
            assert events[-1]["code"]
        say(connection, type="interrupt")  # nothing is being said
        say(connection, prompt="Hello?")
        events, _ = read_to(connection, "agent_end")
        assert kinds(events)[0] == "agent_start"
