"""The isolated hop: one reply, complete from the start, sent whole or sentence by sentence.

Time runs from the client's first byte to the first sound that it has, over a connection that is
open already. What the sides are:

* ``whole``: the reply in one message, to a server that decodes whole sentences. Its sound counts
  when all of it is there, as with a service that answers with a finished recording.
* ``sentences``: the reply sentence by sentence, to the same server. First sound is there when the
  first sentence is decoded to its end.
* ``windows``: the reply sentence by sentence, to a server as it runs by default: the first sound of
  the first sentence is decoded first.

All servers are processes of their own that speak as fast as they can; one is busy at a time, and
the sides take turns. A side that has been heard is interrupted, and its server is left to finish
what it was at before the next one begins. First sound is the first piece that has a sample above
-50 dBFS.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.backends.websocket import WebSocketBackend
from speakahead.bench.endpoint import sagemaker_backends
from speakahead.bench.figures import MeasurementFailed, Spread, interleaved, rounded
from speakahead.bench.latency import audible
from speakahead.bench.process import server_process
from speakahead.errors import InvalidRequest
from speakahead.session.events import (
    Append,
    Audio,
    Cancel,
    Event,
    Failed,
    Flush,
    Speak,
    UtteranceCancelled,
    UtteranceCompleted,
)

REPLY = (
    "Your order left this morning.",
    "It travels by train.",
    "It should be there by Friday noon.",
    "The driver rings twice.",
    "A neighbour can take it.",
    "I have sent you the number.",
    "You can change the address today.",
    "Is there anything else?",
)
SIZES = (1, 3, 5, 8)
SIDES = ("whole", "sentences", "windows")
TRANSPORTS = ("websocket", "sagemaker")
WANTED_RATIO = 4.0
WANTED_FROM = 5
"""The ratio is wanted for replies of so many sentences and more."""

_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Side:
    """One way to speak a reply; ``whole``: only all of its sound counts."""

    name: str
    backend: SpeechBackend
    whole: bool


@dataclass(frozen=True, slots=True)
class Hop:
    """One transport and length of the reply; times in milliseconds, by side.

    Attributes:
        audio_s: seconds of the reply's sound.
        first_byte: the first piece of sound, audible or not; for ``whole`` the same as first sound.
        values: first sounds of all trials, in their order.
        ratio: median of ``whole`` by median of ``windows``.
        ratios: the same trial by trial.
        sentence_ratio: median of ``whole`` by median of ``sentences``.
    """

    transport: str
    sentences: int
    audio_s: float
    first_sound: dict[str, Spread]
    first_byte: dict[str, Spread]
    values: dict[str, list[float]]
    ratio: float
    ratios: Spread
    sentence_ratio: float


@dataclass(frozen=True, slots=True)
class Report:
    hops: list[Hop]
    trials: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> str:
        """The report for people."""
        lines = [
            "first sound in ms, median (least-most)",
            f"{'transport':<11}{'sentences':>9}{'audio s':>9}"
            + "".join(f"{side:>22}" for side in SIDES)
            + f"{'whole/windows':>15}{'least':>7}{'whole/sentences':>17}",
        ]
        for hop in self.hops:
            cells = (
                f"{s.median:,.0f} ({s.least:,.0f}-{s.most:,.0f})"
                for s in (hop.first_sound[side] for side in SIDES)
            )
            lines.append(
                f"{hop.transport:<11}{hop.sentences:>9}{hop.audio_s:>9.1f}"
                + "".join(f"{cell:>22}" for cell in cells)
                + f"{hop.ratio:>14.1f}x{hop.ratios.least:>6.1f}x{hop.sentence_ratio:>16.1f}x"
            )
        return "\n".join(lines)


def run(
    *,
    transports: Sequence[str] = TRANSPORTS,
    sizes: Sequence[int] = SIZES,
    trials: int = 10,
    model: Path | None = None,
    serve_options: Sequence[str] = (),
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Measure with servers of its own.

    Args:
        transports: of ``TRANSPORTS``; ``sagemaker`` needs the extra ``aws``.
        sizes: numbers of sentences, 1 to 8.
        trials: of each side and size.
        model: model directory; found by itself by default.
        serve_options: more options of the servers.
        progress: told the share that is done, 0 to 1.

    Raises:
        InvalidRequest: a transport or a size is not one of these.
        ConnectionFailed: a server did not start.
        MeasurementFailed: a reply was not heard.
    """
    if not transports or not set(transports) <= set(TRANSPORTS):
        raise InvalidRequest(f"A transport is one of: {', '.join(TRANSPORTS)}.")
    if not sizes or not all(1 <= size <= len(REPLY) for size in sizes):
        raise InvalidRequest(f"A reply has 1 to {len(REPLY)} sentences.")
    options = ["--pace", "fast", *serve_options, *(["--model", str(model)] if model else [])]
    with (
        server_process(["--scheduler", "fifo", *options]) as plain,
        server_process(options) as ours,
    ):

        async def work() -> list[Hop]:
            hops = []
            for number, transport in enumerate(transports):

                def tell(share: float, number: int = number) -> None:
                    progress((number + share) / len(transports))

                async with _backends(transport, [plain.url, ours.url]) as (yardstick, default):
                    sides = [
                        Side("whole", yardstick, whole=True),
                        Side("sentences", yardstick, whole=False),
                        Side("windows", default, whole=False),
                    ]
                    hops += await measure(transport, sides, sizes, trials, tell)
            return hops

        return Report(asyncio.run(work()), trials)


@contextlib.asynccontextmanager
async def _backends(transport: str, urls: Sequence[str]) -> AsyncIterator[list[SpeechBackend]]:
    """A back end for each server."""
    if transport == "sagemaker":
        async with sagemaker_backends(urls) as backends:
            yield backends
    else:
        yield [WebSocketBackend(url) for url in urls]


async def measure(
    transport: str,
    sides: Sequence[Side],
    sizes: Sequence[int],
    trials: int,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Hop]:
    """Measure the three sides over one transport.

    Raises:
        MeasurementFailed: a reply was not heard.
        SpeakaheadError: a server has failed.
    """
    for side in sides:
        await _trial(side, REPLY[:1])  # connections, code and caches are cold
    hops = []
    total = sum(sizes) * trials * len(sides)
    done = 0
    for size in sizes:
        taken: dict[str, list[_Trial]] = {side.name: [] for side in sides}
        for side in interleaved(sides, trials):
            taken[side.name].append(await _trial(side, REPLY[:size]))
            done += size
            progress(done / total)
        hops.append(_summary(transport, size, taken))
    return hops


@dataclass(frozen=True, slots=True)
class _Trial:
    first_byte_ms: float
    first_sound_ms: float
    audio_s: float


async def _trial(side: Side, reply: Sequence[str]) -> _Trial:
    try:
        async with asyncio.timeout(_TIMEOUT_S), side.backend.open() as stream:
            return await _speak(side, stream, reply)
    except TimeoutError:
        raise MeasurementFailed(f"A reply of the side {side.name} was not heard in time.") from None


async def _speak(side: Side, stream: SpeechStream, reply: Sequence[str]) -> _Trial:
    began = time.perf_counter()
    if side.whole:
        await stream.send(Speak(" ".join(reply)))
    else:
        for sentence in reply:
            await stream.send(Append(sentence + " "))
        await stream.send(Flush())
    first_byte = first_sound = None
    samples = 0
    async for event in stream:
        now_ms = (time.perf_counter() - began) * 1000
        _refuse_failure(event)
        if isinstance(event, UtteranceCompleted):
            if side.whole:
                first_byte = first_sound = now_ms
            break
        if not isinstance(event, Audio):
            continue
        samples += len(event.samples)
        if side.whole:
            continue
        first_byte = first_byte or now_ms
        if audible(event.samples):
            first_sound = now_ms
            await stream.send(Cancel(played_s=0.0))
            await _until(stream, lambda e: isinstance(e, UtteranceCancelled) and e.final)
            await _let_finish(stream)
            break
    if first_byte is None or first_sound is None or samples == 0:
        raise MeasurementFailed(f"A reply of the side {side.name} was not heard.")
    return _Trial(first_byte, first_sound, samples / SAMPLE_RATE)


async def _let_finish(stream: SpeechStream) -> None:
    """Speak a word: the server does so when what it was at has ended."""
    await stream.send(Speak("Yes."))
    await _until(stream, lambda event: isinstance(event, UtteranceCompleted))


async def _until(stream: SpeechStream, wanted: Callable[[Event], bool]) -> None:
    async for event in stream:
        _refuse_failure(event)
        if wanted(event):
            return
    raise MeasurementFailed("The session ended before its answer.")


def _refuse_failure(event: Event) -> None:
    if isinstance(event, Failed):
        raise MeasurementFailed(f"The server could not speak a reply: {event.error.code}.")


def _summary(transport: str, size: int, taken: dict[str, list[_Trial]]) -> Hop:
    sounds = {name: [t.first_sound_ms for t in trials] for name, trials in taken.items()}
    spreads = {name: Spread.of(values) for name, values in sounds.items()}
    paired = zip(sounds["whole"], sounds["windows"], strict=True)
    return Hop(
        transport=transport,
        sentences=size,
        audio_s=round(taken["whole"][0].audio_s, 2),
        first_sound=spreads,
        first_byte={n: Spread.of([t.first_byte_ms for t in ts]) for n, ts in taken.items()},
        values={name: rounded(values) for name, values in sounds.items()},
        ratio=round(spreads["whole"].median / spreads["windows"].median, 2),
        ratios=Spread.of([whole / windows for whole, windows in paired], digits=2),
        sentence_ratio=round(spreads["whole"].median / spreads["sentences"].median, 2),
    )
