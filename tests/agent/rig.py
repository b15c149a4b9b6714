"""An agent with a scripted model and a speech back end that costs nothing."""

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Self

import numpy as np
import uvicorn
from numpy.typing import NDArray
from strands import Agent

from speakahead.agent.app import make_agent
from speakahead.agent.conversation import Conversations
from speakahead.agent.models.scripted import ScriptedModel, Step
from speakahead.agent.request import AgentRequest
from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.backends.local import LocalBackend
from speakahead.kokoro.engine import Window, WordTiming
from speakahead.scheduling.scheduler import Scheduler
from speakahead.session.events import Event, Request, VoiceSettings
from speakahead.text.phonemes import Phonemes
from tests.conftest import free_port
from tests.server.rig import Plan, Text, Voices, until

CHARACTER_S = 0.05
"""Sound of one character; a pause of 0.7 s follows each sentence."""
_WINDOW = round(CHARACTER_S * SAMPLE_RATE)

Events = list[dict[str, Any]]


class Engine:
    """A constant for every character; a text that holds "explode" fails."""

    voices = ("af_heart",)

    def __init__(self) -> None:
        self.texts: list[str] = []

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> Plan:
        if "explode" in phonemes.text:
            raise RuntimeError("secret words")
        self.texts.append(phonemes.text)
        count = len(phonemes.text)
        return Plan(
            tuple(Window(i * _WINDOW, (i + 1) * _WINDOW) for i in range(count)),
            tuple(
                WordTiming(w.text, w.start * CHARACTER_S, w.end * CHARACTER_S, w.span)
                for w in phonemes.words
            ),
        )

    def decode(self, plan: Plan, window: Window) -> NDArray[np.float32]:
        return np.full(window.end - window.start, 0.5, np.float32)

    def warm(self) -> None:
        pass


def speech_backend(engine: Engine | None = None) -> LocalBackend:
    return LocalBackend(Scheduler(engine or Engine(), Text()), Voices())  # type: ignore[arg-type]


class Through:
    """A back end whose streams are reached through other ones, which fail or are slow."""

    def __init__(
        self, backend: SpeechBackend, through: Callable[[SpeechStream], SpeechStream]
    ) -> None:
        self._backend = backend
        self._through = through

    def open(self, settings: VoiceSettings | None = None) -> SpeechStream:
        return self._through(self._backend.open(settings))

    async def aclose(self) -> None:
        await self._backend.aclose()


class Stream:
    """Another stream, as it is."""

    def __init__(self, inner: SpeechStream) -> None:
        self.inner = inner

    async def send(self, request: Request) -> None:
        await self.inner.send(request)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        return await anext(self.inner)

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.aclose()


@contextlib.asynccontextmanager
async def serving(app: Any) -> AsyncGenerator[int]:
    """The application on a real socket; gives the port."""
    port = free_port()
    config = uvicorn.Config(app, port=port, ws="websockets-sansio", log_level="warning")
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    running = asyncio.create_task(server._serve())
    await until(lambda: server.started)
    try:
        yield port
    finally:
        server.should_exit = True
        await running


class Rig:
    """Conversations in this process, about one scripted model."""

    def __init__(
        self,
        *steps: Step,
        rate: float = 10_000.0,
        tools: bool = False,
        through: Callable[[SpeechStream], SpeechStream] = lambda stream: stream,
    ) -> None:
        self.model = ScriptedModel(steps, tokens_per_second=rate)
        self.speech = speech_backend()
        self.agents: list[Agent] = []
        self._tools = tools
        self.conversations = Conversations(self.make, Through(self.speech, through))

    def make(self) -> Agent:
        agent = make_agent(self.model, tools=self._tools)
        self.agents.append(agent)
        return agent

    @property
    def spoken(self) -> list[str]:
        engine = self.speech.scheduler._engine
        assert isinstance(engine, Engine)
        return engine.texts

    @property
    def history(self) -> list[dict[str, Any]]:
        """The latest conversation's messages, without what Strands notes beside them."""
        return [{"role": m["role"], "content": m["content"]} for m in self.agents[-1].messages]

    @contextlib.asynccontextmanager
    async def turn(
        self, prompt: str = "Hello?", session: str = "s", **fields: Any
    ) -> AsyncGenerator[AsyncGenerator[Any]]:
        request = AgentRequest(prompt=prompt, **fields)
        async with contextlib.aclosing(self.conversations.named(session).turn(request)) as events:
            yield events

    async def answer(self, prompt: str = "Hello?", session: str = "s", **fields: Any) -> Events:
        async with self.turn(prompt, session, **fields) as events:
            return [{**event, "at": time.monotonic()} async for event in events]

    async def __aenter__(self) -> "Rig":
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.speech.aclose()


def of(events: Events, kind: str) -> Events:
    return [event for event in events if event["type"] == kind]


def sound(events: Events) -> bytes:
    return b"".join(base64.b64decode(event["audio"]) for event in of(events, "audio_chunk"))


def text(events: Events) -> str:
    return "".join(event["text"] for event in of(events, "text_delta"))


async def skip_to(
    events: AsyncGenerator[Any], kind: str, patience_s: float = 20.0
) -> dict[str, Any]:
    """Read a turn's events up to one of this type."""
    async with asyncio.timeout(patience_s):
        async for event in events:
            if event["type"] == kind:
                return dict(event)
    raise AssertionError(f"no {kind}")


async def skip_sound(events: AsyncGenerator[Any], seconds: float) -> None:
    """Read a turn's events, in 16 bits, up to where so much sound has come."""
    length = 0
    while length < seconds * SAMPLE_RATE * 2:
        chunk = await skip_to(events, "audio_chunk")
        length += len(base64.b64decode(chunk["audio"]))
