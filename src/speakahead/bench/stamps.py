"""Readings on the way from text to sound: thin wrappers that note how long and when.

Work is timed by a stopwatch of its own. Stamps, which are of ``time.monotonic``, are for the waits
between two pieces of work. Nothing is read once and used for both: two stages that shared a reading
would add up to the same sum if it were wrong.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from speakahead.assets import Voices
from speakahead.backends.local import LocalBackend, LocalStream
from speakahead.backends.observation import Observer, UtteranceRecord
from speakahead.bench.figures import MeasurementFailed
from speakahead.kokoro.engine import Engine, Plan, Window
from speakahead.scheduling.jobs import PhonemeSource
from speakahead.scheduling.scheduler import Scheduler
from speakahead.session.events import Audio, Event, VoiceSettings
from speakahead.text.phonemes import Phonemes
from speakahead.text.pronunciations import Pronunciation

type Message = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type Application = Callable[[Message, Receive, Send], Awaitable[None]]

clock = time.monotonic


class Stopwatch:
    """Times a block of code: ``seconds``, once it has ended."""

    seconds = 0.0

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._began


@dataclass(frozen=True, slots=True)
class Call:
    """A piece of work.

    Attributes:
        about: what it was about.
        began: stamp for the wait before it.
        ended: stamp for the wait after it.
        took_s: seconds that it took, by a stopwatch.
        result: what it gave.
    """

    about: Any
    began: float
    ended: float
    took_s: float
    result: Any


def _noted[R](calls: list[Call], about: Any, work: Callable[[], R]) -> R:
    began = clock()
    with Stopwatch() as watch:
        result = work()
    calls.append(Call(about, began, clock(), watch.seconds, result))
    return result


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
        return _noted(
            self.calls,
            text,
            lambda: self._text.phonemes(text, start, language, pronunciations),
        )


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
            return _noted(
                self.plans,
                phonemes,
                lambda: self._engine.plan(phonemes, voice, speed, ahead_s),
            )

    def decode(self, plan: P, window: Window) -> NDArray[np.float32]:
        """See ``Engine``."""
        with self._working:
            return _noted(self.windows, plan, lambda: self._engine.decode(plan, window))

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


class StampedBackend(LocalBackend):
    """A back end that notes in ``taken`` when the first sound of each utterance was taken."""

    taken: dict[str, float]

    def __init__(self, scheduler: Scheduler[Any], voices: Voices) -> None:
        super().__init__(scheduler, voices)
        self.taken = {}

    def open(
        self,
        settings: VoiceSettings | None = None,
        *,
        ahead_s: float | None = None,
        name: str = "utterance",
    ) -> LocalStream:
        """See ``LocalBackend``."""
        stream = super().open(settings, ahead_s=ahead_s, name=name)
        return _StampedStream(stream, self.taken)  # type: ignore[return-value]


class _StampedStream(AbstractAsyncContextManager[Any]):
    """Stands in for a stream."""

    def __init__(self, stream: LocalStream, taken: dict[str, float]) -> None:
        self._stream = stream
        self._taken = taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        event = await anext(self._stream)
        if isinstance(event, Audio):
            self._taken.setdefault(event.utterance, clock())
        return event

    async def __aexit__(self, *_: object) -> None:
        await self._stream.aclose()


class Passage(NamedTuple):
    """A message at the tap: a stamp that ends the stage before, and one that begins the next."""

    message: str | bytes
    came_at: float
    went_at: float

    @classmethod
    def of(cls, message: Message) -> Passage:
        """The passage of a message of a WebSocket, now."""
        text = message.get("text")
        return cls(message["bytes"] if text is None else text, clock(), clock())


class Tap:
    """An ASGI application that notes what passes through a WebSocket.

    Attributes:
        arrivals: messages of the client, as the application is given them.
        departures: messages that it gives out.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self.arrivals: list[Passage] = []
        self.departures: list[Passage] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await self._application(scope, receive, send)
            return

        async def tapped_receive() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                self.arrivals.append(Passage.of(message))
            return message

        async def tapped_send(message: Message) -> None:
            if message["type"] == "websocket.send":
                self.departures.append(Passage.of(message))
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
