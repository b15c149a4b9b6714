"""A session in this process, and what it tells the scheduler."""

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from speakahead.backends.local import LocalBackend
from speakahead.kokoro.engine import Window
from speakahead.scheduling.scheduler import Scheduler
from speakahead.session.events import (
    Append,
    Cancel,
    Discard,
    Event,
    Flush,
    Hold,
    Request,
    UtteranceCompleted,
)
from speakahead.text.phonemes import Phonemes
from tests.server.rig import Plan, Text, Voices, until

SECOND = 24_000


class Engine:
    """Three seconds of sound for every sentence, at once; knows how far ahead its listener was."""

    voices = ("af_heart",)

    def __init__(self) -> None:
        self.ahead_s: list[float] = []
        self.decoded = 0

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> Plan:
        self.ahead_s.append(ahead_s)
        return Plan(tuple(Window(i * SECOND, (i + 1) * SECOND) for i in range(3)))

    def decode(self, plan: Plan, window: Window) -> NDArray[np.float32]:
        self.decoded += 1
        return np.zeros(window.end - window.start, np.float32)

    def warm(self) -> None:
        pass


@pytest.mark.parametrize(
    ("before", "drop"),
    [((), Cancel("a")), ((), Cancel()), ((), Cancel(played_s=0.5)), ((Hold("a"),), Discard("a"))],
)
def test_the_turn_after_an_interruption_is_due_at_once_though_all_was_made(
    before: tuple[Request, ...], drop: Request
) -> None:
    engine = Engine()

    async def scenario() -> None:
        speech = LocalBackend(Scheduler(engine, Text()), Voices())  # type: ignore[arg-type]
        async with speech, speech.open() as stream:
            seen: list[Event] = []

            async def read() -> None:
                async for event in stream:
                    seen.append(event)  # noqa: PERF401 - as they come

            reading = asyncio.create_task(read())
            for request in (*before, Append("A short answer.", utterance="a"), Flush()):
                await stream.send(request)
            await until(lambda: engine.decoded == 3)
            if not before:
                await until(lambda: any(isinstance(e, UtteranceCompleted) for e in seen))
            await stream.send(drop)
            await stream.send(Append("Sorry, go on.", utterance="b"))
            await stream.send(Flush())
            await until(lambda: len(engine.ahead_s) == 2)
            reading.cancel()

    asyncio.run(scenario())
    assert engine.ahead_s[1] <= 0.0
