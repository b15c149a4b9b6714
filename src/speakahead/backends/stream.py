"""One session in this process: joins the sans-I/O session to the scheduler, on an asyncio loop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from speakahead.errors import SpeakaheadError
from speakahead.kokoro.engine import WordTiming
from speakahead.scheduling.jobs import Job
from speakahead.scheduling.stream import Stream
from speakahead.session import Limits, Session, SessionState
from speakahead.session.events import (
    Append,
    Audio,
    AudioReady,
    Cancel,
    Close,
    Discard,
    Event,
    Flush,
    Release,
    Request,
    Result,
    SentenceBegan,
    SentenceDone,
    SentenceFailed,
    SessionClosed,
    Speak,
    SpokenWord,
    UtteranceCompleted,
    Work,
)
from speakahead.session.record import UtteranceRecord

_MAX_EVENTS = 4096
"""Events that may wait for the reader before requests do."""


class LocalStream:
    """One session. Belongs to the event loop that opened it.

    Requests go in by ``send`` (or the verbs ``push_text``, ``flush``, ``cancel``, ``end_input``);
    events are taken by iterating, in one task. Iteration ends after ``SessionClosed`` or
    ``aclose``.
    """

    def __init__(
        self, session: Session, stream: Stream, report: Callable[[UtteranceRecord], None]
    ) -> None:
        self._session = session
        self._stream = stream
        self._report_record = report
        self._loop = asyncio.get_running_loop()
        self._jobs: dict[int, Job] = {}  # handed out, by the identity of their work
        # Sound is bounded by the stream's limit on what is unsent, the rest by these two.
        self._room_for_text = asyncio.Event()
        self._room = asyncio.Event()
        self._ready = asyncio.Event()  # there may be an event to take
        self._ended = False
        self._active_at = time.monotonic()
        self._give_room()

    async def send(self, request: Request) -> None:
        """Take a request; text waits while the session is congested, so that the producer feels it.

        The session has room again when its sound is taken, so one task should push text while
        another iterates. Requests without text wait only for a reader that takes no events at
        all, and ``Close`` never waits.

        Raises:
            IllegalTransition: the session is closing or closed.
        """
        if isinstance(request, Speak | Append):
            await self._room_for_text.wait()
        elif not isinstance(request, Close):
            await self._room.wait()
        self._active_at = time.monotonic()
        with self._accounting():
            self._session.receive(request, self._active_at)
        # What the listener has to play may change although no work is withdrawn: all may be made.
        self._pump(rebase=isinstance(request, Cancel | Discard | Release))

    async def push_text(self, delta: str) -> None:
        """More text of the utterance that is being written."""
        await self.send(Append(delta))

    async def flush(self) -> None:
        """The utterance that is being written is complete."""
        await self.send(Flush())

    async def cancel(self, played_s: float | None = None) -> None:
        """The listener interrupts: drop all; ``UtteranceCancelled`` tells what was heard."""
        await self.send(Cancel(played_s=played_s))

    async def end_input(self) -> None:
        """No more requests will come: the stream ends when all has been spoken."""
        await self.send(Close())

    async def refuse(
        self, error: SpeakaheadError, utterance: str | None = None, *, text: bool = False
    ) -> None:
        """Report a message that could not be turned into a request; see ``Session.refuse``.

        Waits for a reader that takes no events, so that errors do not pile up.
        """
        await self._room.wait()
        self._active_at = time.monotonic()
        with self._accounting():
            self._session.refuse(error, self._active_at, utterance, text=text)
        self._pump()

    async def aclose(self) -> None:
        """Drop everything that has not been taken yet; idempotent."""
        self._session.abandon(time.monotonic())
        self._jobs.clear()
        self._stream.close()
        self._ended = True
        self._report()
        for event in (self._room_for_text, self._room, self._ready):
            event.set()

    def keep_alive(self) -> None:
        """Count as activity although nothing was asked for."""
        self._active_at = time.monotonic()

    @property
    def limits(self) -> Limits:
        """What the session accepts."""
        return self._session.limits

    @property
    def closed(self) -> bool:
        """Whether the session takes no more requests."""
        return self._session.state is not SessionState.OPEN

    @property
    def busy(self) -> bool:
        """Whether something is still to be spoken.

        Text that is only being written does not count, nor what waits for a release.
        """
        return self._session.busy

    @property
    def quiet_s(self) -> float:
        """Seconds since the last request came in or the last event was taken."""
        return time.monotonic() - self._active_at

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while True:
            now = time.monotonic()
            event = self._session.next_event(now)
            if event is not None:
                break
            if self._ended:
                raise StopAsyncIteration
            self._ready.clear()
            await self._ready.wait()
        self._active_at = now
        self._give_room()
        match event:
            case Audio(samples=samples):
                self._stream.sent(len(samples))
            case SessionClosed():
                self._ended = True
            case UtteranceCompleted():
                self._report()
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
        coming = len(result.samples) if isinstance(result, AudioReady) else 0
        before = self._session.unsent_samples
        with self._accounting(coming):
            self._session.deliver(result, time.monotonic())
        if self._session.unsent_samples < before + coming:  # nobody will listen to the rest
            self._stream.rebase(self._session.unheard_s(time.monotonic()))
        if isinstance(result, SentenceDone | SentenceFailed):
            self._jobs.pop(id(result.work), None)
        self._pump()

    @contextlib.contextmanager
    def _accounting(self, coming: int = 0) -> Iterator[None]:
        """Tell the scheduler about samples that are not kept, so that they do not count as unsent.

        ``coming`` samples were made and are now given to the session.
        """
        before = self._session.unsent_samples
        yield
        dropped = before + coming - self._session.unsent_samples
        if dropped > 0:
            self._stream.sent(dropped)

    def _pump(self, *, rebase: bool = False) -> None:
        """Move work to the scheduler, and wake the reader.

        ``rebase``: tell the scheduler what the listener has to play from now on.
        """
        withdrawn = [self._jobs.pop(id(work), None) for work in self._session.withdrawn()]
        if withdrawn or rebase:
            unheard_s = self._session.unheard_s(time.monotonic())
            self._stream.withdraw([job for job in withdrawn if job is not None], unheard_s)
        while (work := self._session.next_work()) is not None:
            job = Job(
                text=work.sentence.text,
                start=work.sentence.span.start,
                language=work.language,
                voice=work.settings.voice,
                speed=work.settings.speed,
                pause_s=work.pause_s,
                pronunciations=work.settings.pronunciations,
                begun=work.begun,
                listener=_ToLoop(self, work),
            )
            self._jobs[id(work)] = job
            self._stream.submit(job)
        self._stream.expect(self._session.coming)
        self._give_room()
        if self._session.state is SessionState.CLOSED:
            self._stream.close()
        self._report()
        self._ready.set()

    def _give_room(self) -> None:
        room = self._session.pending_events < _MAX_EVENTS
        for event, free in (
            (self._room, room),
            (self._room_for_text, room and not self._session.congested),
        ):
            if free:
                event.set()
            else:
                event.clear()

    def _report(self) -> None:
        for record in self._session.records():
            self._report_record(record)


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
