"""Stamps on the way from text to sound: thin wrappers that note when something began and ended.

All stamps are of ``time.monotonic``, which threads of one process share.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speakahead.backends.observation import Observer, UtteranceRecord
from speakahead.bench.figures import MeasurementFailed
from speakahead.kokoro.engine import Engine, Plan, Window
from speakahead.scheduling.jobs import PhonemeSource
from speakahead.text.phonemes import Phonemes
from speakahead.text.pronunciations import Pronunciation

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type Application = Callable[[Message, Receive, Send], Awaitable[None]]

clock = time.monotonic


@dataclass(frozen=True, slots=True)
class Call:
    """A piece of work: what it was about, when it began and ended, and what it gave."""

    about: Any
    began: float
    ended: float
    result: Any


class StampedText:
    """A text side that notes its calls; ``about`` is the text."""

    def __init__(self, text: PhonemeSource) -> None:
        self._text = text
        self.calls: list[Call] = []

    def phonemes(
        self,
        text: str,
        start: int,
        language: str,
        pronunciations: Sequence[Pronunciation] = (),
    ) -> list[Phonemes]:
        """See ``PhonemeSource``."""
        began = clock()
        result = self._text.phonemes(text, start, language, pronunciations)
        self.calls.append(Call(text, began, clock(), result))
        return result


class StampedEngine[P: Plan]:
    """An engine that notes its calls: of plans, about the phonemes; of windows, about the plan.

    It is for one worker: its calls exclude each other.
    """

    def __init__(self, engine: Engine[P]) -> None:
        self._engine = engine
        self._working = threading.Lock()
        self.plans: list[Call] = []
        self.windows: list[Call] = []

    @property
    def voices(self) -> tuple[str, ...]:
        """See ``Engine``."""
        return self._engine.voices

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> P:
        """See ``Engine``."""
        with self._working:
            began = clock()
            plan = self._engine.plan(phonemes, voice, speed, ahead_s)
            self.plans.append(Call(phonemes, began, clock(), plan))
        return plan

    def decode(self, plan: P, window: Window) -> NDArray[np.float32]:
        """See ``Engine``."""
        with self._working:
            began = clock()
            samples = self._engine.decode(plan, window)
            self.windows.append(Call(plan, began, clock(), samples))
        return samples

    def wait(self) -> None:
        """Block until the call that is under way, if any, has ended."""
        with self._working:
            pass

    def warm(self) -> None:
        """See ``Engine``."""
        self._engine.warm()


def call_about(calls: Sequence[Call], about: Any, what: str) -> Call:
    """The first call about this very object.

    Raises:
        MeasurementFailed: there was none.
    """
    for call in calls:
        if call.about is about:
            return call
    raise MeasurementFailed(f"A stage was not seen: {what}.")


class Tap:
    """An ASGI application that notes what passes through a WebSocket.

    Attributes:
        arrivals: when the application was given each message of the client.
        departures: when it gave out each binary message.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self.arrivals: list[float] = []
        self.departures: list[float] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._application(scope, receive, send)
            return

        async def tapped_receive() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                self.arrivals.append(clock())
            return message

        async def tapped_send(message: Message) -> None:
            if message["type"] == "websocket.send" and message.get("bytes") is not None:
                self.departures.append(clock())
            await send(message)

        await self._application(scope, tapped_receive, tapped_send)

    def forget(self) -> None:
        """Begin anew."""
        self.arrivals.clear()
        self.departures.clear()


class Records:
    """An observer that keeps the records of utterances, and tells another one too."""

    def __init__(self, then: Observer | None) -> None:
        self._then = then
        self._ended: dict[str, UtteranceRecord] = {}
        self._more = asyncio.Event()

    def utterance_ended(self, record: UtteranceRecord) -> None:
        """See ``Observer``."""
        self._ended[record.utterance] = record
        self._more.set()
        if self._then is not None:
            self._then.utterance_ended(record)

    async def of(self, utterance: str) -> UtteranceRecord:
        """The record of an utterance, once that has ended; it is forgotten here."""
        while utterance not in self._ended:
            self._more.clear()
            await self._more.wait()
        return self._ended.pop(utterance)
