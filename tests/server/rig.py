"""The application on a real socket, with an engine that costs nothing."""

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import numpy as np
import uvicorn
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.local import LocalBackend
from speakahead.cli.serve import configuration
from speakahead.errors import UnknownVoice
from speakahead.kokoro.engine import Window, WordTiming
from speakahead.scheduling.scheduler import Scheduler
from speakahead.server.app import create_app
from speakahead.server.settings import ServerSettings
from speakahead.text.phonemes import Phonemes, Word
from speakahead.text.spans import Span
from tests.conftest import ROUTE, free_port

__all__ = ["Rig", "backend", "serving"]

WINDOW = SAMPLE_RATE // 2


@dataclass(frozen=True)
class Plan:
    windows: tuple[Window, ...]
    words: tuple[WordTiming, ...] = ()

    @property
    def samples(self) -> int:
        return self.windows[-1].end if self.windows else 0


class Engine:
    """Half a second of sound for every letter; a text that holds "explode" fails."""

    voices = ("af_heart",)

    def __init__(self) -> None:
        self.decoded = 0

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> Plan:
        if "explode" in phonemes.text:
            raise RuntimeError("secret words")
        windows = (Window(i * WINDOW, (i + 1) * WINDOW) for i in range(len(phonemes.text)))
        words = (WordTiming(w.text, w.start / 2, w.end / 2, w.span) for w in phonemes.words)
        return Plan(tuple(windows), tuple(words))

    def decode(self, plan: Plan, window: Window) -> NDArray[np.float32]:
        self.decoded += 1
        return np.full(window.end - window.start, 0.5, np.float32)

    def warm(self) -> None:
        pass


class Text:
    def phonemes(
        self, text: str, start: int, language: str, pronunciations: object = ()
    ) -> list[Phonemes]:
        words = tuple(
            Word(w[0], w.start(), w.end(), Span(start + w.start(), start + w.end()))
            for w in re.finditer(r"\w+", text)
        )
        return [Phonemes(text, words, language)]


class Voices:
    names = ("af_heart",)

    def __len__(self) -> int:
        return 1

    def require(self, name: str) -> None:
        if name not in self.names:
            raise UnknownVoice("There is no such voice.")


def backend() -> LocalBackend:
    return LocalBackend(Scheduler(Engine(), Text()), Voices())  # type: ignore[arg-type]


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something that only other threads and tasks can bring about is so."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


@dataclass
class Rig:
    port: int
    speech: LocalBackend
    server: uvicorn.Server

    @property
    def engine(self) -> Engine:
        engine = self.speech.scheduler._engine
        assert isinstance(engine, Engine)
        return engine

    @property
    def socket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}{ROUTE}"

    async def post(self, body: dict[str, object], *, length: int | None = None) -> "Exchange":
        """Send a request by hand, so that the test can leave at any moment."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1024)
        data = json.dumps(body).encode()
        size = len(data) if length is None else length
        head = f"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n"
        writer.write(head.encode() + data)
        await writer.drain()
        return Exchange(reader, writer)

    async def until_idle(self, seconds: float = 3.0) -> None:
        """Wait until no request is under way and no stream is left."""
        await until(
            lambda: not self.speech.scheduler.streams and not self.server.server_state.tasks,
            seconds,
        )

    async def until_speaking(self) -> None:
        """Wait until a window has been decoded."""
        await until(lambda: self.engine.decoded > 0)


@dataclass
class Exchange:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def leave(self) -> None:
        self.writer.transport.abort()


@contextlib.asynccontextmanager
async def serving(
    settings: ServerSettings | None = None, *, ping_s: float = 20.0
) -> AsyncIterator[Rig]:
    """The application as `speakahead serve` runs it; pings come every ``ping_s`` seconds."""
    settings = settings or ServerSettings()
    speech = backend()

    async def load() -> LocalBackend:
        return speech

    port = free_port()
    config = configuration(create_app(load, settings), settings, "127.0.0.1", port)
    config.timeout_graceful_shutdown = 1
    config.ws_ping_interval = ping_s
    if config.ws_ping_timeout is not None:
        config.ws_ping_timeout = ping_s
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).propagate = True  # so that a test can look at the log
    server = uvicorn.Server(config)
    running = asyncio.create_task(server._serve())
    await until(lambda: server.started)
    try:
        yield Rig(port, speech, server)
    finally:
        server.should_exit = True
        await running
