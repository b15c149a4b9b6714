"""Stand-ins for the services that models are reached at: Bedrock, OpenAI and Ollama on one port."""

import contextlib
import json
import struct
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Services:
    """What they were asked, and how they are to behave.

    ``fails`` is a status with which they refuse. After ``silent_after`` pieces they write nothing
    more, 0: not even headers; after ``cut_after`` they close the connection.
    """

    url: str
    words: list[str]
    gap: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    fails: int | None = None
    silent_after: int | None = None
    cut_after: int | None = None


def event_stream_message(kind: str, payload: dict[str, Any]) -> bytes:
    """One message in AWS's event stream encoding."""
    headers = b"".join(
        bytes([len(name)])
        + name.encode()
        + b"\x07"
        + struct.pack(">H", len(value))
        + value.encode()
        for name, value in (
            (":event-type", kind),
            (":content-type", "application/json"),
            (":message-type", "event"),
        )
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


def _bedrock(words: list[str]) -> Iterator[bytes]:
    yield event_stream_message("messageStart", {"role": "assistant"})
    for word in words:
        delta = {"contentBlockIndex": 0, "delta": {"text": word}}
        yield event_stream_message("contentBlockDelta", delta)
    yield event_stream_message("contentBlockStop", {"contentBlockIndex": 0})
    yield event_stream_message("messageStop", {"stopReason": "end_turn"})
    usage = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
    yield event_stream_message("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})


def _openai(words: list[str]) -> Iterator[bytes]:
    for delta, reason in [*(({"content": word}, None) for word in words), ({}, "stop")]:
        chunk = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }
        yield f"data: {json.dumps(chunk)}\n\n".encode()
    yield b"data: [DONE]\n\n"


def _ollama(words: list[str]) -> Iterator[bytes]:
    for word in words:
        yield _line({"message": {"role": "assistant", "content": word}, "done": False})
    end = {
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        "total_duration": 1,
        "prompt_eval_count": 1,
        "eval_count": 1,
    }
    yield _line(end)


def _line(value: dict[str, Any]) -> bytes:
    return (
        json.dumps({"model": "m", "created_at": "2026-01-01T00:00:00Z", **value}).encode() + b"\n"
    )


_ROUTES = (
    ("/converse-stream", _bedrock, "application/vnd.amazon.eventstream"),
    ("/chat/completions", _openai, "text/event-stream"),
    ("/api/chat", _ollama, "application/x-ndjson"),
)


@contextlib.contextmanager
def services(*words: str, endless: bool = False) -> Iterator[Services]:
    """Answers every request with these words; ``endless``: the last word again and again."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            stub.requests.append((self.path, json.loads(body)))
            encode, media = next((e, m) for end, e, m in _ROUTES if self.path.endswith(end))
            if stub.silent_after == 0:
                stub.gap.wait()
                return
            if stub.fails is not None:
                self.send_response(stub.fails)
                if stub.fails == 429:
                    self.send_header("x-amzn-ErrorType", "ThrottlingException")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
                return
            self.send_response(200)
            self.send_header("Content-Type", media)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                pieces = encode([*words, words[-1]] * 2_000 if endless else list(words))
                for number, piece in enumerate(pieces):
                    if number == stub.silent_after:
                        stub.gap.wait()
                    if number in (stub.silent_after, stub.cut_after):
                        self.close_connection = True
                        return
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                    if endless and stub.gap.wait(0.02):
                        return
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                stub.left.set()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub = Services(f"http://127.0.0.1:{server.server_port}", list(words))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.gap.set()
        server.shutdown()
        server.server_close()
