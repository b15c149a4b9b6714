"""Speech in this process: joins a sans-I/O session to the scheduler, on an asyncio loop.

Every door of the server is a thin translation to and from ``LocalStream``, and applications can
use it without any server::

    async with await LocalBackend.load() as speech:
        async with speech.open() as stream:
            await stream.push_text("Hello there. How are")
            await stream.push_text(" you?")
            await stream.end_input()
            async for event in stream:
                ...
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from speakahead.assets import Voices, locate
from speakahead.errors import SpeakaheadError
from speakahead.kokoro.engine import Plan, WordTiming
from speakahead.kokoro.loading import load_engine
from speakahead.kokoro.mixing import parse_mix
from speakahead.scheduling.jobs import Job
from speakahead.scheduling.scheduler import Policy, Scheduler, Stream
from speakahead.session import Limits, Session, SessionState
from speakahead.session.events import (
    Append,
    Audio,
    AudioReady,
    Close,
    Event,
    Flush,
    Pauses,
    Request,
    Result,
    SentenceBegan,
    SentenceDone,
    SentenceFailed,
    Speak,
    SpokenWord,
    VoiceSettings,
    Work,
)
from speakahead.text.frontend import FrontEnd
from speakahead.text.g2p.languages import canonical_language, language_of_voice, warm


class LocalBackend:
    """The loaded model and its scheduler; opens streams. Use as an async context manager."""

    def __init__(
        self,
        scheduler: Scheduler[Plan],
        voices: Voices,
        *,
        limits: Limits | None = None,
        pauses: Pauses | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.voices = voices
        self.limits = limits or Limits()
        self.pauses = pauses or Pauses()
        self._streams: WeakSet[LocalStream] = WeakSet()

    @staticmethod
    async def load(
        model: Path | None = None,
        *,
        threads: int = 2,
        workers: int = 1,
        policy: Policy = Policy.DEADLINE,
        whole: bool = False,
        patience_s: float | None = 5.0,
        limits: Limits | None = None,
        pauses: Pauses | None = None,
    ) -> LocalBackend:
        """Load and warm the model, off the event loop.

        Args:
            model: a model directory; by default the one that ``assets.locate`` finds.
            threads: threads of one inference.
            workers: inferences at a time.
            policy: order of the work.
            whole: decode whole sentences (the yardstick).
            patience_s: see ``Scheduler``.
            limits: limits of every session.
            pauses: silence after sentences.

        Raises:
            ModelError: there is no model, or a file of it is damaged.
        """

        def work() -> LocalBackend:
            found = locate(model)
            voices = Voices(found.path)
            warm("en-us")
            engine = load_engine(found, voices, threads=threads, whole=whole)
            engine.warm()
            scheduler: Scheduler[Plan] = Scheduler(
                engine, FrontEnd(), policy=policy, workers=workers, patience_s=patience_s
            )
            return LocalBackend(scheduler, voices, limits=limits, pauses=pauses)

        return await asyncio.to_thread(work)

    def language_of(self, voice: str) -> str:
        """The language tag of a voice that is at hand, or of the first one of a mix.

        Raises:
            InvalidRequest: the mix is malformed.
            UnknownVoice: there is no such voice.
            UnsupportedLanguage: its language cannot be turned into phonemes here.
        """
        names = [name for name, _ in parse_mix(voice)]
        for name in names:
            self.voices.require(name)
        return canonical_language(language_of_voice(names[0]))

    @property
    def speakable_voices(self) -> tuple[str, ...]:
        """Names of the voices whose language can be turned into phonemes here."""
        speakable = []
        for name in self.voices.names:
            with contextlib.suppress(SpeakaheadError):
                self.language_of(name)
                speakable.append(name)
        return tuple(speakable)

    def open(
        self,
        settings: VoiceSettings | None = None,
        *,
        ahead_s: float | None = None,
        name: str = "utterance",
    ) -> LocalStream:
        """A new session.

        Args:
            settings: defaults for requests that bring none.
            ahead_s: get no further ahead of real-time playback than this; None: no limit.
            name: prefix of the ids of utterances that are not named.
        """
        session = Session(
            self.language_of,
            defaults=settings,
            limits=self.limits,
            pauses=self.pauses,
            name=name,
        )
        stream = LocalStream(session, self.scheduler.open(ahead_s=ahead_s))
        self._streams.add(stream)
        return stream

    async def aclose(self) -> None:
        """Close all streams and end the worker threads."""
        for stream in list(self._streams):
            await stream.aclose()
        await asyncio.to_thread(self.scheduler.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


_MAX_EVENTS = 4096
"""Events that may wait for the reader before requests do."""


class LocalStream:
    """One session. Belongs to the event loop that opened it.

    Requests go in by ``send`` (or the verbs ``push_text``, ``flush``, ``end_input``); events are
    taken by iterating. Iteration ends after ``SessionClosed`` or ``aclose``.
    """

    def __init__(self, session: Session, stream: Stream) -> None:
        self._session = session
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        # Sound is bounded by the stream's limit on what is unsent, the rest by ``_room``.
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()
        self._active_at = time.monotonic()

    async def send(self, request: Request) -> None:
        """Take a request; text waits while the session is congested, so that the producer feels it.

        The session has room again when its sound is taken, so one task should push text while
        another iterates. Requests without text never wait.

        Raises:
            IllegalTransition: the session is closing or closed.
        """
        if isinstance(request, Speak | Append):
            await self._room.wait()
        self._active_at = time.monotonic()
        self._session.receive(request, self._active_at)
        self._pump()

    async def push_text(self, delta: str) -> None:
        """More text of the utterance that is being written."""
        await self.send(Append(delta))

    async def flush(self) -> None:
        """The utterance that is being written is complete."""
        await self.send(Flush())

    async def end_input(self) -> None:
        """No more requests will come: the stream ends when all has been spoken."""
        await self.send(Close())

    async def refuse(self, error: SpeakaheadError, utterance: str | None = None) -> None:
        """Report a message that could not be turned into a request, in order with the events.

        Waits like text, so that errors which nobody reads do not pile up.
        """
        await self._room.wait()
        self._active_at = time.monotonic()
        self._session.refuse(error, utterance)
        self._pump()

    async def aclose(self) -> None:
        """Drop everything that has not been taken yet; idempotent."""
        self._session.abandon()
        self._stream.close()
        self._room.set()
        self._events.put_nowait(None)

    @property
    def closed(self) -> bool:
        """Whether the session takes no more requests."""
        return self._session.state is not SessionState.OPEN

    @property
    def busy(self) -> bool:
        """Whether something is still to be spoken; text that is only being written is not."""
        return self._session.busy

    @property
    def quiet_s(self) -> float:
        """Seconds since the last request came in or the last event was taken."""
        return time.monotonic() - self._active_at

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = await self._events.get()
        if event is None:
            self._events.put_nowait(None)  # for any other iterator
            raise StopAsyncIteration
        self._active_at = time.monotonic()
        self._give_room()
        if isinstance(event, Audio):
            self._stream.sent(len(event.samples))
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _deliver(self, result: Result) -> None:
        self._session.deliver(result, time.monotonic())
        events = self._pump()
        if isinstance(result, AudioReady) and not any(isinstance(e, Audio) for e in events):
            # Its utterance has failed: nobody will take this sound, so it is not unsent.
            self._stream.sent(len(result.samples))

    def _pump(self) -> list[Event]:
        """Move work to the scheduler and events to the reader; returns those events."""
        while (work := self._session.next_work()) is not None:
            self._stream.submit(
                Job(
                    text=work.sentence.text,
                    start=work.sentence.span.start,
                    language=work.language,
                    voice=work.settings.voice,
                    speed=work.settings.speed,
                    pause_s=work.pause_s,
                    listener=_ToLoop(self, work),
                )
            )
        events = self._session.events()
        for event in events:
            self._events.put_nowait(event)
        self._give_room()
        if self._session.state is SessionState.CLOSED:
            self._stream.close()
            self._events.put_nowait(None)
        return events

    def _give_room(self) -> None:
        if self._session.congested or self._events.qsize() >= _MAX_EVENTS:
            self._room.clear()
        else:
            self._room.set()


@dataclass(frozen=True, slots=True)
class _ToLoop:
    """Carries a job's results from the worker thread to the stream's event loop."""

    stream: LocalStream
    work: Work

    def began(self, words: tuple[WordTiming, ...]) -> None:
        spoken = tuple(SpokenWord(w.text, w.start_s, w.end_s, w.span) for w in words)
        self._post(SentenceBegan(self.work, spoken))

    def audio(self, samples: NDArray[np.float32]) -> None:
        self._post(AudioReady(self.work, samples))

    def done(self) -> None:
        self._post(SentenceDone(self.work))

    def failed(self, error: SpeakaheadError) -> None:
        self._post(SentenceFailed(self.work, error))

    def _post(self, result: Result) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: its streams are gone
            self.stream._loop.call_soon_threadsafe(self.stream._deliver, result)
