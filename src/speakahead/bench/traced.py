"""A question and its answer, through every stage, each of them measured for itself.

Model, client, door and engine run in one process. See :mod:`speakahead.bench.attribution`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from websockets.asyncio.client import ClientConnection, connect

from speakahead.assets import Voices
from speakahead.backends.local import LocalBackend
from speakahead.bench.figures import MeasurementFailed
from speakahead.bench.player import Ear, Player
from speakahead.bench.stamps import (
    Passage,
    Records,
    StampedBackend,
    StampedEngine,
    StampedText,
    Stopwatch,
    Tap,
    call_about,
    clock,
)
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
    """One answer: what was read where, in seconds.

    Names with ``_s`` are of stopwatches, but for ``lead_s``, which is of samples that were counted;
    names with ``_at`` are stamps. Each is used once, so that no stage can make up for what is wrong
    with another one; ``whole_s`` is by an ear that knows of no stage.
    """

    whole_s: float
    model_wait_s: float
    sentence_s: float
    word_sent_at: float
    word_came_at: float
    word_given_at: float
    text_began_at: float
    text_s: float
    prosody_s: float
    prosody_ended_at: float
    window_began_at: float
    window_s: float
    window_ended_at: float
    sound_offered_at: float
    sound_taken_at: float
    frame_ended_at: float
    frame_sent_at: float
    frame_came_at: float
    decode_s: float
    pushed_at: float
    played_at: float
    lead_s: float

    @property
    def stages(self) -> dict[str, float]:
        """Seconds of each of ``STAGES``; nothing of it is a remainder."""
        to_engine = self.text_began_at - self.word_given_at
        to_window = self.window_began_at - self.prosody_ended_at
        to_door = self.sound_offered_at - self.window_ended_at
        there, back = self.word_came_at - self.word_sent_at, self.frame_came_at - self.frame_sent_at
        return {
            "model_wait": self.model_wait_s,
            "sentence": self.sentence_s,
            "network": there + back,
            "queue": to_engine + to_window + to_door,
            "phonemes": self.text_s + self.prosody_s,
            "first_window": self.window_s,
            "encoding": self.frame_ended_at - self.sound_taken_at,
            "decode": self.decode_s,
            "playback": self.played_at - self.pushed_at + self.lead_s,
        }


@contextlib.asynccontextmanager
async def open_rig(
    engine: Engine[Any], text: PhonemeSource, voices: Voices, door: Door
) -> AsyncIterator[Rig]:
    """The door in front of the stamped engine, served in this process."""
    stamped_engine, stamped_text = StampedEngine(engine), StampedText(text)
    # Nobody is refused: waiting for admission is a part of the queue.
    scheduler: Scheduler[Any] = Scheduler(stamped_engine, stamped_text, patience_s=None)
    backend = StampedBackend(scheduler, voices)
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
    """What the model wrote: two stopwatches, and the frame that completes the first sentence."""

    model_wait: Stopwatch = field(default_factory=Stopwatch)
    sentence: Stopwatch = field(default_factory=Stopwatch)
    frame: str = ""
    sent_at: float = 0.0


@dataclass(slots=True)
class _Received:
    """The first frame of sound at the client: when it came, and what its decoding took."""

    frame: str | bytes = b""
    came_at: float = 0.0
    decode_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Rig:
    backend: StampedBackend
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
        self.backend.taken.clear()
        for calls in (self.text.calls, self.engine.plans, self.engine.windows):
            calls.clear()
        protocol = V2Client()
        for frame in protocol.greeting():
            await socket_.send(frame)
        while not protocol.ready:
            protocol.receive(await socket_.recv())
        greetings = len(self.tap.arrivals)

        requests, completing, sentence = _written(reply, name)
        written, received = _Written(), _Received()
        ear = Ear()
        player = Player(ear)
        try:
            async with asyncio.TaskGroup() as group:
                playing = group.create_task(asyncio.to_thread(player.run))
                listening = group.create_task(_listen(socket_, protocol, player, received))
                group.create_task(
                    _write(ear.ask, socket_, protocol, requests, completing, script, written)
                )
                await playing
                listening.cancel()
        finally:
            player.stop()

        for frame in (*protocol.encode(Cancel(name, 0.0)), *protocol.encode(Close())):
            await socket_.send(frame)
        offered_at = (await self.records.of(name)).first_sent_at
        # The window that was under way is of no use any more, but is decoded to its end; the next
        # trial is not to wait for it.
        await asyncio.to_thread(self.engine.wait)
        text = next((c for c in self.text.calls if c.about == sentence), None)
        if text is None:
            raise MeasurementFailed("A stage was not seen: phonemes.")
        plan = call_about(self.engine.plans, text.result[0], "prosody")
        window = call_about(self.engine.windows, plan.result, "first window")
        word = _passage(self.tap.arrivals[greetings + completing :], written.frame)
        sound = _passage(self.tap.departures, received.frame)
        taken_at = self.backend.taken.get(name)
        if ear.whole_s is None or player.pushed_at is None or player.played_at is None:
            raise MeasurementFailed("A stage was not seen: playback.")
        if offered_at is None or taken_at is None:
            raise MeasurementFailed("A stage was not seen: encoding.")
        return Traced(
            whole_s=ear.whole_s,
            model_wait_s=written.model_wait.seconds,
            sentence_s=written.sentence.seconds,
            word_sent_at=written.sent_at,
            word_came_at=word.came_at,
            word_given_at=word.went_at,
            text_began_at=text.began,
            text_s=text.took_s,
            prosody_s=plan.took_s,
            prosody_ended_at=plan.ended,
            window_began_at=window.began,
            window_s=window.took_s,
            window_ended_at=window.ended,
            sound_offered_at=offered_at,
            sound_taken_at=taken_at,
            frame_ended_at=sound.came_at,
            frame_sent_at=sound.went_at,
            frame_came_at=received.came_at,
            decode_s=received.decode_s,
            pushed_at=player.pushed_at,
            played_at=player.played_at,
            lead_s=player.lead_s,
        )


def _passage(passages: Sequence[Passage], message: str | bytes) -> Passage:
    """The passage of this very frame.

    Raises:
        MeasurementFailed: it has not passed.
    """
    for passage in passages:
        if passage.message == message:
            return passage
    raise MeasurementFailed("A stage was not seen: network.")


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
    ask: Callable[[], None],
    socket_: ClientConnection,
    protocol: V2Client,
    requests: Sequence[Request],
    completing: int,
    script: Script,
    written: _Written,
) -> None:
    """Put the question, and be the model that answers."""

    async def wait(number: int) -> None:
        due = asked_at + script.wait_s + number / script.words_per_second
        await asyncio.sleep(max(0.0, due - clock()))

    async def send(number: int) -> None:
        (frame,) = protocol.encode(requests[number])
        if number == completing:
            written.frame, written.sent_at = frame, clock()
        await socket_.send(frame)

    ask()
    with written.model_wait:
        asked_at = clock()
        await wait(0)
    with written.sentence:
        for number in range(completing):
            await send(number)
            await wait(number + 1)
    await send(completing)
    for number in range(completing + 1, len(requests)):
        await wait(number)
        await send(number)


async def _listen(
    socket_: ClientConnection, protocol: V2Client, player: Player, received: _Received
) -> None:
    """Give the player what comes, until cancelled."""
    while True:
        frame = await socket_.recv()
        came_at = clock()
        with Stopwatch() as decoding:
            protocol.receive(frame)
            events = list(iter(protocol.next_event, None))
        for event in events:
            if isinstance(event, Failed):
                raise MeasurementFailed(f"A reply could not be spoken: {event.error.code}.")
            if isinstance(event, Audio):
                player.push(event.samples)
                if not received.frame:
                    received.frame = frame
                    received.came_at, received.decode_s = came_at, decoding.seconds
