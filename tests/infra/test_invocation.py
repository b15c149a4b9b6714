"""`agent-infra invoke`: AWS's own client against a server that answers as AgentCore does."""

import base64
import json
import threading
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import pytest
from typer.testing import CliRunner

from speakahead.cli import agent_infra
from speakahead.errors import ConnectionFailed, RemoteError
from speakahead.infra.account import Account
from speakahead.infra.errors import AccountUnavailable
from speakahead.protocol.sse import encode_event
from tests.infra.conftest import REGION

ARN = f"arn:aws:bedrock-agentcore:{REGION}:123456789012:runtime/speakahead_agent-abc"
PCM = bytes(range(256)) * 20
TIMINGS = {"first_audio_s": 0.2, "model_done_s": None, "total_s": 1.0}

Answer = tuple[int, dict[str, str], list[bytes]]


class Runtime(BaseHTTPRequestHandler):
    """One answer for every request; remembers what was asked."""

    answer: ClassVar[Answer]
    asked: ClassVar[list[tuple[str, dict[str, str], dict[str, Any]]]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.asked.append((unquote(self.path), headers, json.loads(body)))
        status, extra, pieces = self.answer
        self.send_response(status)
        for name, value in extra.items():
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *arguments: object) -> None:
        pass


Serve = Callable[[Answer], None]


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Sets the answer of a server that stands for AgentCore in this process."""
    Runtime.asked = []
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setattr(Account, "require_output", lambda self, stack, output: ARN)
    with serving() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENTCORE", url)

        def serve(answer: Answer) -> None:
            Runtime.answer = answer

        yield serve


@contextmanager
def serving() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Runtime)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def stream(*events: dict[str, Any]) -> Answer:
    data = b"".join(encode_event(event) for event in events)
    # cut anywhere, as networks do
    pieces = [data[at : at + 777] for at in range(0, len(data), 777)]
    return 200, {"Content-Type": "text/event-stream; charset=utf-8"}, pieces


SPOKEN = stream(
    {"type": "agent_start", "mode": "batch", "session_id": "s"},
    {"type": "text_delta", "text": "Hello "},
    {"type": "audio_stream_start", "format": "pcm", "sample_rate": 24000},
    {"type": "audio_chunk", "audio": base64.b64encode(PCM[:2001]).decode(), "sequence": 0},
    {"type": "text_delta", "text": "there."},
    {"type": "audio_chunk", "audio": base64.b64encode(PCM[2001:]).decode(), "sequence": 1},
    {"type": "agent_end", "stop_reason": "end_turn", "timings": TIMINGS},
)


def invoke(*options: str) -> Any:
    return CliRunner().invoke(
        agent_infra.app, ["invoke", "--prompt", "Hello?", "--region", REGION, *options]
    )


def test_the_answer_is_printed_and_its_sound_saved(runtime: Serve, tmp_path: Path) -> None:
    runtime(SPOKEN)
    target = tmp_path / "answer.wav"
    result = invoke("--mode", "batch", "--speed", "1.5", "-v", "am_adam", "-o", str(target))
    assert result.exit_code == 0, result.output
    assert result.stdout == "Hello there.\n"
    assert "first_audio_s      0.2" in result.stderr
    assert "model_done_s       -" in result.stderr
    with wave.open(str(target)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (24000, 1, 2)
        assert file.readframes(file.getnframes()) == PCM
    [(path, headers, body)] = Runtime.asked
    assert path.partition("?")[0] == f"/runtimes/{ARN}/invocations"
    assert body == {"prompt": "Hello?", "mode": "batch", "speed": 1.5, "voice": "am_adam"}
    assert len(headers["x-amzn-bedrock-agentcore-runtime-session-id"]) >= 33
    assert headers["accept"] == "text/event-stream"
    assert "AWS4-HMAC-SHA256" in headers["authorization"]


def test_a_conversation_goes_on(runtime: Serve) -> None:
    runtime(SPOKEN)
    session = "a" * 40
    assert invoke("--silent", "--session-id", session).exit_code == 0
    assert invoke("--silent").exit_code == 0
    sessions = [asked[1]["x-amzn-bedrock-agentcore-runtime-session-id"] for asked in Runtime.asked]
    assert sessions[0] == session
    assert sessions[1] != session


def test_an_error_in_the_turn_is_said_and_fails(runtime: Serve) -> None:
    runtime(
        stream(
            {"type": "error", "code": "overloaded", "message": "Too many.", "retryable": True},
            {"type": "agent_end", "stop_reason": "error", "timings": TIMINGS},
        )
    )
    result = invoke("--silent")
    assert result.exit_code == 1
    assert "agent-infra: Too many." in result.stderr


def test_a_refusal_has_the_agents_code(runtime: Serve) -> None:
    refusal = {"type": "error", "code": "unknown_voice", "message": "No.", "retryable": False}
    runtime((200, {"Content-Type": "application/json"}, [json.dumps(refusal).encode()]))
    result = invoke("--silent")
    assert isinstance(result.exception, RemoteError)
    assert (result.exception.code, result.exception.message) == ("unknown_voice", "No.")


@pytest.mark.parametrize(
    "answer",
    [
        stream({"type": "text_delta", "text": "Hel"}),  # never ends
        (200, {"Content-Type": "text/html"}, [b"<html>"]),
        stream({"no": "type"}),
        stream({"type": "audio_chunk", "audio": "no base64!"}),
    ],
)
def test_an_answer_that_is_none_or_breaks_off_is_a_typed_error(
    answer: Answer, runtime: Serve, tmp_path: Path
) -> None:
    runtime(answer)
    result = invoke("-o", str(tmp_path / "answer.wav"))
    assert isinstance(result.exception, ConnectionFailed)


def test_what_aws_refuses_is_said_once(runtime: Serve) -> None:
    body = json.dumps({"message": "not yours"}).encode()
    headers = {"Content-Type": "application/json", "x-amzn-errortype": "AccessDeniedException"}
    runtime((403, headers, [body]))
    result = invoke("--silent")
    assert isinstance(result.exception, AccountUnavailable)
    assert "AccessDeniedException: not yours" in result.exception.message
    assert len(Runtime.asked) == 1
