"""Minutes of everything at once against a real server: does anything pile up or break?

Clients arrive at random. Each holds a conversation and, at random, interrupts, holds a claim back
and releases or discards it, reads slowly, vanishes, or sends what is no message.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from speakahead.backends.interface import SpeechStream
from speakahead.backends.websocket import WebSocketBackend
from speakahead.bench.load import SENTENCES
from speakahead.bench.process import ServerProcess, Usage, server_process
from speakahead.errors import SpeakaheadError
from speakahead.session.events import (
    Append,
    Audio,
    Cancel,
    Close,
    Discard,
    Failed,
    Flush,
    Hold,
    Release,
    UtteranceCancelled,
    UtteranceCompleted,
)

_SETTLE_S = 5.0
_WARM_S = 20.0
_TURN_TIMEOUT_S = 90.0


@dataclass(frozen=True, slots=True)
class Report:
    """What happened, and what was left of it.

    Attributes:
        seconds: how long clients came.
        counts: sessions by kind, utterances by end, and errors by code.
        before: what the server held when it was warm.
        after: what it held when all clients had left.
        sessions_left: sessions that it still counted then.
        tracebacks: in its log.
    """

    seconds: float
    counts: dict[str, int]
    before: Usage | None
    after: Usage | None
    sessions_left: int
    tracebacks: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> str:
        """The report for people."""
        lines = [f"{self.seconds:.0f} s of random clients"]
        lines += [f"  {name:32}{count:8}" for name, count in sorted(self.counts.items())]
        if self.before is not None and self.after is not None:
            lines += [
                f"  {name:32}{before:8} before {after:8} after"
                for (name, before), after in zip(
                    asdict(self.before).items(), asdict(self.after).values(), strict=True
                )
            ]
        lines.append(f"  {'sessions left':32}{self.sessions_left:8}")
        lines.append(f"  {'tracebacks in the log':32}{self.tracebacks:8}")
        return "\n".join(lines)


def run(
    minutes: float = 10.0,
    *,
    seed: int = 1,
    arrivals_s: float = 3.0,
    model: Path | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Soak a server of its own; a client arrives every ``arrivals_s`` seconds on average.

    Raises:
        ConnectionFailed: the server did not start, or does not answer any more.
    """
    options = ["--patience", "2", *(["--model", str(model)] if model else [])]
    with tempfile.TemporaryFile() as log, server_process(options, log) as server:
        counts: Counter[str] = Counter()
        asyncio.run(_clients(server, min(_WARM_S, minutes * 6), 0, 1.0, Counter(), lambda _: None))
        before = server.usage()
        asyncio.run(_clients(server, minutes * 60, seed, arrivals_s, counts, progress))
        time.sleep(_SETTLE_S)
        after = server.usage()
        left = int(server.metric("speakahead_sessions"))
        log.seek(0)
        tracebacks = log.read().count(b"Traceback")
    return Report(minutes * 60, dict(counts), before, after, left, tracebacks)


async def _clients(
    server: ServerProcess,
    seconds: float,
    seed: int,
    arrivals_s: float,
    counts: Counter[str],
    progress: Callable[[float], None],
) -> None:
    rng = random.Random(seed)  # noqa: S311  # reproducible, not secret
    began = time.monotonic()
    kinds = (_conversation, _interrupter, _claimant, _slow_reader, _vanisher, _babbler)
    async with asyncio.TaskGroup() as group:
        while (elapsed := time.monotonic() - began) < seconds:
            kind = rng.choice(kinds)
            group.create_task(_client(kind, server, random.Random(rng.random()), counts))  # noqa: S311
            progress(elapsed / seconds)
            await asyncio.sleep(rng.expovariate(1 / arrivals_s))


async def _client(
    kind: Callable[[ServerProcess, random.Random, Counter[str]], Any],
    server: ServerProcess,
    rng: random.Random,
    counts: Counter[str],
) -> None:
    counts[f"sessions: {kind.__name__.strip('_').replace('_', ' ')}"] += 1
    try:
        async with asyncio.timeout(4 * _TURN_TIMEOUT_S):
            await kind(server, rng, counts)
    except SpeakaheadError as error:
        counts[f"errors: {error.code}"] += 1
    except ConnectionClosed:
        counts["connections closed by the server"] += 1
    except TimeoutError:
        counts["clients that waited in vain"] += 1


def _text(rng: random.Random) -> str:
    return " ".join(rng.sample(SENTENCES, rng.randint(1, 4)))


async def _write(stream: SpeechStream, text: str, rng: random.Random) -> None:
    """As a language model writes: in small pieces."""
    for word in text.split(" "):
        await stream.send(Append(word + " "))
        await asyncio.sleep(rng.uniform(0, 0.05))
    await stream.send(Flush())


async def _until_end(stream: SpeechStream, counts: Counter[str]) -> None:
    """Take events up to the end of an utterance."""
    async with asyncio.timeout(_TURN_TIMEOUT_S):
        async for event in stream:
            match event:
                case UtteranceCompleted():
                    counts["utterances: completed"] += 1
                    return
                case UtteranceCancelled(final=True):
                    counts["utterances: cancelled"] += 1
                    return
                case Failed(error=error):
                    counts[f"errors: {error.code}"] += 1
                    return


async def _conversation(server: ServerProcess, rng: random.Random, counts: Counter[str]) -> None:
    async with WebSocketBackend(server.url).open() as stream:
        for _ in range(rng.randint(1, 3)):
            writing = asyncio.create_task(_write(stream, _text(rng), rng))
            await _until_end(stream, counts)
            await writing
            await asyncio.sleep(rng.uniform(0, 2))
        await stream.send(Close())


async def _interrupter(server: ServerProcess, rng: random.Random, counts: Counter[str]) -> None:
    async with WebSocketBackend(server.url).open() as stream:
        for _ in range(rng.randint(1, 5)):
            writing = asyncio.create_task(_write(stream, _text(rng), rng))
            pieces = rng.randint(0, 8)
            async with asyncio.timeout(_TURN_TIMEOUT_S):
                while pieces > 0:
                    event = await anext(stream)
                    pieces -= isinstance(event, Audio)
                    if isinstance(event, UtteranceCompleted | Failed):
                        break
            await writing
            await stream.send(Cancel())
            async with asyncio.timeout(_TURN_TIMEOUT_S):
                async for event in stream:
                    if isinstance(event, UtteranceCancelled) and event.final:
                        counts["utterances: cancelled"] += 1
                        break


async def _claimant(server: ServerProcess, rng: random.Random, counts: Counter[str]) -> None:
    async with WebSocketBackend(server.url).open() as stream:
        await stream.send(Hold())
        await _write(stream, _text(rng), rng)
        await asyncio.sleep(rng.uniform(0, 5))
        await stream.send(rng.choice((Release(), Discard())))
        await _until_end(stream, counts)


async def _slow_reader(server: ServerProcess, rng: random.Random, counts: Counter[str]) -> None:
    async with WebSocketBackend(server.url).open() as stream:
        await _write(stream, _text(rng), rng)
        async with asyncio.timeout(_TURN_TIMEOUT_S):
            async for event in stream:
                await asyncio.sleep(rng.uniform(0, 1))
                if isinstance(event, UtteranceCompleted | Failed):
                    counts["utterances: completed"] += isinstance(event, UtteranceCompleted)
                    return


async def _vanisher(server: ServerProcess, rng: random.Random, counts: Counter[str]) -> None:
    socket = await connect(f"{server.route}?protocol=2", compression=None)
    await socket.send(f'{{"type": "text", "text": "{SENTENCES[0]} {SENTENCES[1]}"}}')
    await asyncio.sleep(rng.uniform(0, 3))
    socket.transport.abort()


async def _babbler(server: ServerProcess, rng: random.Random, counts: Counter[str]) -> None:
    async with connect(server.route, compression=None) as socket:
        for _ in range(20):
            await socket.send(rng.choice(_BABBLE))
        await _answered(socket, counts)


_BABBLE = ("{", "[]", '{"type": "nothing"}', '{"text": 5}', b"\xff\xfe", '{"text": ""}', "null")


async def _answered(socket: ClientConnection, counts: Counter[str]) -> None:
    for _ in range(20):
        async with asyncio.timeout(_TURN_TIMEOUT_S):
            await socket.recv()
        counts["nonsense answered"] += 1
    with contextlib.suppress(ConnectionClosed):
        await socket.send('{"type": "close"}')
