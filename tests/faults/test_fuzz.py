"""Nonsense against the server: 2,000 messages, or as many as SPEAKAHEAD_FUZZ says.

`speakahead bench fuzz` does the same against the real engine.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve

from speakahead.bench.fuzz import Report, faults_in, fuzz
from tests.conftest import Server
from tests.faults.running import server_of

MESSAGES = int(os.environ.get("SPEAKAHEAD_FUZZ", "2000"))
USUAL = (
    "invalid_json invalid_encoding invalid_request unknown_type unexpected_hello text_too_long "
    "unknown_voice unsupported_language invalid_pronunciation unknown_utterance not_held"
).split()


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Server]:
    with server_of("quick", tmp_path / "server.log", "20") as server:
        yield server


def test_every_message_is_answered_and_nothing_breaks(quick: Server) -> None:
    report = asyncio.run(fuzz(quick.url, MESSAGES))
    assert not report.findings, report.table()
    assert report.messages == MESSAGES
    for code in USUAL:
        assert report.answers[f"error {code}"], f"nothing led to {code}"
    assert report.answers["(sound)"]
    assert report.closes[1000]
    assert not list(faults_in(quick.log_text()))
    with quick.session() as client:
        assert client.speak("Hello there.").seconds > 1


def error(code: str, name: str) -> str:
    message = {"type": "error", "code": code, "message": "", "retryable": False}
    return json.dumps({**message, "request_id": name, "utterance": name})


async def careful(socket: ServerConnection, frame: str | bytes) -> None:
    """Answers every message with an error that has the message's name, if it has one."""
    try:
        message = json.loads(frame)
        name = message.get("request_id", "")
    except (ValueError, AttributeError, RecursionError):
        name = ""
    await socket.send(error("invalid_request", name))


async def honest_about_a_fault(socket: ServerConnection, frame: str | bytes) -> None:
    await socket.send(error("internal", ""))
    await careful(socket, frame)


async def deaf(socket: ServerConnection, frame: str | bytes) -> None:
    if b"probe-2" not in (frame if isinstance(frame, bytes) else frame.encode()):
        await careful(socket, frame)


async def gone(socket: ServerConnection, frame: str | bytes) -> None:
    await socket.close(1011)


async def tolerant(socket: ServerConnection, frame: str | bytes) -> None:
    if b"probe-" in (frame if isinstance(frame, bytes) else frame.encode()):
        await careful(socket, frame)


async def untyped(socket: ServerConnection, frame: str | bytes) -> None:
    await socket.send('{"type": "error", "error": "oops"}')
    await careful(socket, frame)


async def noisy(socket: ServerConnection, frame: str | bytes) -> None:
    await socket.send(b"not a header")
    await careful(socket, frame)


@pytest.mark.parametrize(
    ("server_is", "finding"),
    [
        (honest_about_a_fault, "the error internal"),
        (deaf, "no answer"),
        (gone, "closed with 1011"),
        (tolerant, "no error"),
        (untyped, "an answer that is none"),
        (noisy, "sound without a header"),
    ],
)
def test_what_should_not_happen_is_found(
    server_is: Callable[[ServerConnection, str | bytes], Awaitable[None]], finding: str
) -> None:
    async def scenario() -> Report:
        async def handler(socket: ServerConnection) -> None:
            async for frame in socket:
                await server_is(socket, frame)

        async with serve(handler, "127.0.0.1", 0, max_size=2**22) as listening:
            port = next(iter(listening.sockets)).getsockname()[1]
            return await fuzz(f"http://127.0.0.1:{port}", 40, sessions=4, timeout_s=0.5)

    report = asyncio.run(scenario())
    assert any(found.startswith(finding) for found in report.findings), report.table()


def test_faults_are_found_in_a_log() -> None:
    log = "12:00 INFO x: fine\n12:01 ERROR x: session failed: KeyError at\nTraceback (most ...\n"
    assert len(list(faults_in(log))) == 2
