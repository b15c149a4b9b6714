"""A question and its answer, through every stage, with a stamp wherever one ends.

Model, client, door and engine run in one process. See :mod:`speakahead.bench.attribution`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import uvicorn
from websockets.asyncio.client import ClientConnection, connect

from speakahead.assets import Voices
from speakahead.backends.local import LocalBackend
from speakahead.bench.figures import MeasurementFailed
from speakahead.bench.player import Player
from speakahead.bench.stamps import Records, StampedEngine, StampedText, Tap, call_about, clock
from speakahead.errors import SpeakaheadError
from speakahead.kokoro.engine import Engine
from speakahead.protocol.client import V2Client
from speakahead.protocol.v1 import ROUTE
from speakahead.scheduling.jobs import PhonemeSource
from speakahead.scheduling.scheduler import Scheduler
from speakahead.session.events import Append, Audio, Cancel, Close, Failed, Flush, Request
from speakahead.text.chunker import IncrementalSentenceChunker

STAGES = (
    "model_wait",
    "sentence",
    "network",
    "queue",
    "phonemes",
    "first_window",
    "encoding",
    "decode",
    "playback",
)

_TIMEOUT_S = 60.0

type Door = Callable[[LocalBackend, int], uvicorn.Config]
"""The server's application for a back end, to be served on a port of loopback."""


@dataclass(frozen=True, slots=True)
class Script:
    """How the model writes: the wait for its first word, and words a second."""

    wait_s: float = 0.25
    words_per_second: float = 20.0


@dataclass(frozen=True, slots=True)
class Traced:
    """One answer in seconds: each of ``STAGES``, and the whole by a clock of its own."""

    stages: dict[str, float]
    whole_s: float


@contextlib.asynccontextmanager
async def open_rig(
    engine: Engine[Any], text: PhonemeSource, voices: Voices, door: Door
) -> AsyncIterator[Rig]:
    """The door in front of the stamped engine, served in this process."""
    stamped_engine, stamped_text = StampedEngine(engine), StampedText(text)
    # Nobody is refused: waiting for admission is a part of the queue.
    scheduler: Scheduler[Any] = Scheduler(stamped_engine, stamped_text, patience_s=None)
    backend = LocalBackend(scheduler, voices)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = door(backend, port)
    config.load()
    tap = Tap(config.loaded_app)
    config.loaded_app = tap
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            # The server tells nobody that it has begun.
            while not (server.started and backend.observer is not None):
                if serving.done():
                    raise MeasurementFailed("The server under measurement did not start.")
                await asyncio.sleep(0.01)
        records = Records(backend.observer)
        backend.observer = records
        yield Rig(backend, stamped_text, stamped_engine, tap, records, port)
    finally:
        server.should_exit = True
        await asyncio.wait({serving}, timeout=_TIMEOUT_S)


@dataclass(slots=True)
class _Written:
    """When the model wrote what."""

    first_at: float = 0.0
    sent_at: float = 0.0


@dataclass(frozen=True, slots=True)
class _Heard:
    """The first piece of sound at the client: when it came, was decoded, and was heard."""

    received_at: float
    decoded_at: float
    heard_at: float


@dataclass(frozen=True, slots=True)
class Rig:
    backend: LocalBackend
    text: StampedText
    engine: StampedEngine[Any]
    tap: Tap
    records: Records
    port: int

    async def trial(self, name: str, reply: str, script: Script) -> Traced:
        """One question and its answer; ``name`` is that of the utterance.

        Raises:
            MeasurementFailed: a stage was not seen, or the reply was not heard.
        """
        try:
            async with (
                asyncio.timeout(_TIMEOUT_S),
                connect(f"ws://127.0.0.1:{self.port}{ROUTE}", compression=None) as socket_,
            ):
                return await self._trial(socket_, name, reply, script)
        except TimeoutError:
            raise MeasurementFailed("A reply was not heard in time.") from None
        except ExceptionGroup as failures:  # of the tasks; the first one tells
            typed, _ = failures.split(SpeakaheadError)
            if typed is None:
                raise
            raise next(_leaves(typed)) from None

    async def _trial(
        self, socket_: ClientConnection, name: str, reply: str, script: Script
    ) -> Traced:
        self.tap.forget()
        for calls in (self.text.calls, self.engine.plans, self.engine.windows):
            calls.clear()
        protocol = V2Client()
        for frame in protocol.greeting():
            await socket_.send(frame)
        while not protocol.ready:
            protocol.receive(await socket_.recv())
        greetings = len(self.tap.arrivals)

        requests, completing, sentence = _written(reply, name)
        player, written = Player(), _Written()
        second_clock = time.perf_counter()
        asked_at = clock()
        async with asyncio.TaskGroup() as group:
            playing = group.create_task(player.run())
            group.create_task(_write(socket_, protocol, requests, completing, script, written))
            listening = group.create_task(_listen(socket_, protocol, player))
            await playing
        received_at, decoded_at = listening.result()
        assert player.heard_at is not None
        heard = _Heard(received_at, decoded_at, player.heard_at)
        # The second clock's reading now, less the time since the sound was heard.
        whole_s = time.perf_counter() - second_clock - (clock() - player.heard_at)

        for frame in (*protocol.encode(Cancel(name, 0.0)), *protocol.encode(Close())):
            await socket_.send(frame)
        taken_at = (await self.records.of(name)).first_sent_at
        if taken_at is None:
            raise MeasurementFailed("A stage was not seen: the first sound was never sent.")
        # The window that was under way is of no use any more, but is decoded to its end; the next
        # trial is not to wait for it.
        await asyncio.to_thread(self.engine.wait)
        arrived_at = self.tap.arrivals[greetings + completing]
        stages = self._stages(sentence, asked_at, written, arrived_at, taken_at, heard)
        return Traced(stages, whole_s)

    def _stages(
        self,
        sentence: str,
        asked_at: float,
        written: _Written,
        arrived_at: float,
        taken_at: float,
        heard: _Heard,
    ) -> dict[str, float]:
        """Seconds of each stage."""
        text = next((c for c in self.text.calls if c.about == sentence), None)
        if text is None:
            raise MeasurementFailed("A stage was not seen: phonemes.")
        plan = call_about(self.engine.plans, text.result[0], "prosody")
        window = call_about(self.engine.windows, plan.result, "first window")
        departed_at = next((at for at in self.tap.departures if at >= taken_at), None)
        if departed_at is None:
            raise MeasurementFailed("A stage was not seen: encoding.")
        return {
            "model_wait": written.first_at - asked_at,
            "sentence": written.sent_at - written.first_at,
            "network": arrived_at - written.sent_at + heard.received_at - departed_at,
            "queue": (
                text.began - arrived_at + window.began - plan.ended + taken_at - window.ended
            ),
            "phonemes": plan.ended - text.began,
            "first_window": window.ended - window.began,
            "encoding": departed_at - taken_at,
            "decode": heard.decoded_at - heard.received_at,
            "playback": heard.heard_at - heard.decoded_at,
        }


def _leaves(group: ExceptionGroup[SpeakaheadError]) -> Iterator[SpeakaheadError]:
    for each in group.exceptions:
        if isinstance(each, ExceptionGroup):
            yield from _leaves(each)
        else:
            yield each


def _written(reply: str, name: str) -> tuple[list[Request], int, str]:
    """The requests that write a reply, which of them completes a sentence, and that sentence."""
    words = reply.split(" ")
    deltas = [word + " " for word in words[:-1]] + words[-1:]
    chunker = IncrementalSentenceChunker()
    requests: list[Request] = [*(Append(delta, utterance=name) for delta in deltas), Flush()]
    for number, delta in enumerate(deltas):
        if sentences := chunker.feed(delta):
            return requests, number, sentences[0].text
    return requests, len(deltas), chunker.flush()[0].text


async def _write(
    socket_: ClientConnection,
    protocol: V2Client,
    requests: Sequence[Request],
    completing: int,
    script: Script,
    written: _Written,
) -> None:
    asked_at = clock()
    for number, request in enumerate(requests):
        due = asked_at + script.wait_s + number / script.words_per_second
        await asyncio.sleep(max(0.0, due - clock()))
        if number == 0:
            written.first_at = clock()
        if number == completing:
            written.sent_at = clock()
        for frame in protocol.encode(request):
            await socket_.send(frame)


async def _listen(
    socket_: ClientConnection, protocol: V2Client, player: Player
) -> tuple[float, float]:
    """Give the player what comes until something was heard; when the first sound came and was
    decoded."""
    first: tuple[float, float] | None = None
    hearing = asyncio.create_task(player.heard.wait())
    receiving = asyncio.create_task(socket_.recv())
    try:
        while not player.heard.is_set():
            await asyncio.wait({receiving, hearing}, return_when=asyncio.FIRST_COMPLETED)
            if not receiving.done():
                break
            frame = receiving.result()
            received_at = clock()
            protocol.receive(frame)
            while (event := protocol.next_event()) is not None:
                if isinstance(event, Failed):
                    raise MeasurementFailed(f"A reply could not be spoken: {event.error.code}.")
                if isinstance(event, Audio):
                    first = first or (received_at, clock())
                    player.push(event.samples)
            receiving = asyncio.create_task(socket_.recv())
    finally:
        for task in (hearing, receiving):
            task.cancel()
        await asyncio.gather(hearing, receiving, return_exceptions=True)
    if first is None:
        raise MeasurementFailed("A reply was not heard.")
    return first
