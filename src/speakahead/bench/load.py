"""Conversations against real server processes: time to first sound, late frames, refusals.

Each session takes turns of two to four sentences and pauses for one to three seconds when a turn
has been played to its end. The deadline scheduler and the yardstick (whole sentences, first in,
first out) run as two processes, of which one is under load at a time, in alternating rounds.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.bench.process import server_process
from speakahead.errors import SynthesisFailed

_AUDIBLE = 32768 * 10 ** (-50 / 20)
_FRAME_TIMEOUT_S = 120.0

SENTENCES = (
    "Sure, I can help with that.",
    "Your order left our warehouse on Tuesday morning.",
    "It should be with you before noon on Friday.",
    "Would you like me to change the delivery address?",
    "The total comes to $1,249.99, and half of it is due today.",
    "Please keep the receipt, because the shop will ask for it.",
    "If you would rather pick it up yourself, the shop on Main Street is open until nine.",
    "One moment, please.",
    "I have found two trains that fit, and the earlier one is cheaper.",
    "Let me know if there is anything else that I can do for you.",
)


@dataclass(slots=True)
class Tally:
    """What the clients of one kind of server saw."""

    first_sound_s: list[float] = field(default_factory=list)
    frames: int = 0
    late_frames: int = 0
    worst_gap_s: float = 0.0
    refused: int = 0
    turns: int = 0
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LoadRun:
    """One number of sessions with one scheduler; shares are of all frames after a turn's first."""

    sessions: int
    scheduler: str
    first_sound_ms: dict[str, float]
    late_share: float
    worst_gap_ms: float
    turns: int
    refused: int
    errors: dict[str, int]


@dataclass(frozen=True, slots=True)
class Report:
    runs: list[LoadRun]
    seconds_each: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def table(self) -> str:
        """The report for people."""
        lines = ["sessions  scheduler  first sound p50  p95 ms  late  worst gap ms  turns  refused"]
        lines += [
            f"{r.sessions:8}  {r.scheduler:9}{r.first_sound_ms['p50']:17.0f}"
            f"{r.first_sound_ms['p95']:8.0f}{r.late_share:6.1%}{r.worst_gap_ms:14.0f}"
            f"{r.turns:7}{r.refused:9}"
            for r in self.runs
        ]
        return "\n".join(lines)


def run(
    sessions: Sequence[int],
    *,
    seconds: float = 60.0,
    rounds: int = 2,
    model: Path | None = None,
    serve_options: Sequence[str] = (),
    schedulers: Sequence[str] = ("deadline", "fifo"),
) -> Report:
    """Measure; ``seconds`` for each number of sessions and scheduler, in ``rounds`` parts.

    Raises:
        ConnectionFailed: a server did not start.
    """
    options = [*serve_options, *(["--model", str(model)] if model else [])]
    with contextlib.ExitStack() as stack:
        urls = {
            name: stack.enter_context(server_process(["--scheduler", name, *options])).route
            for name in schedulers
        }
        runs = []
        for count in sessions:
            tallies = {name: Tally() for name in schedulers}
            for number in range(rounds):
                for name, url in urls.items():
                    asyncio.run(_load(url, count, seconds / rounds, number, tallies[name]))
            runs += [_summary(count, name, tally) for name, tally in tallies.items()]
    return Report(runs, seconds)


async def _load(url: str, sessions: int, seconds: float, seed: int, tally: Tally) -> None:
    until = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for number in range(sessions):
            rng = random.Random(f"{seed} {number}")  # noqa: S311  # reproducible, not secret
            group.create_task(_converse(url, until, rng, tally))


async def _converse(url: str, until: float, rng: random.Random, tally: Tally) -> None:
    await asyncio.sleep(rng.uniform(0, 2))
    async with connect(url, max_size=None, open_timeout=30) as connection:
        while time.monotonic() < until:
            played_at = await _turn(connection, rng, tally)
            await asyncio.sleep(max(0.0, played_at - time.monotonic()) + rng.uniform(1, 3))
        await connection.send(json.dumps({"type": "close"}))


async def _turn(connection: ClientConnection, rng: random.Random, tally: Tally) -> float:
    """One turn; returns when its sound has been played to its end."""
    text = " ".join(rng.sample(SENTENCES, rng.randint(2, 4)))
    sent_at = time.monotonic()
    await connection.send(json.dumps({"text": text}))
    plays_until: float | None = None
    heard = False
    while True:
        async with asyncio.timeout(_FRAME_TIMEOUT_S):
            frame = await connection.recv()
        now = time.monotonic()
        if isinstance(frame, str):
            message = json.loads(frame)
            if message["type"] == "synthesis_complete":
                tally.turns += 1
                return plays_until or now
            if message["type"] == "error":
                if message["code"] == "overloaded":
                    tally.refused += 1
                else:
                    tally.errors.append(message["code"])
                return plays_until or now
            continue
        samples = np.frombuffer(frame, "<i2")
        if not heard and np.any(np.abs(samples.astype(np.int32)) > _AUDIBLE):
            heard = True
            tally.first_sound_s.append(now - sent_at)
        if plays_until is not None:
            tally.frames += 1
            if now > plays_until:
                tally.late_frames += 1
                tally.worst_gap_s = max(tally.worst_gap_s, now - plays_until)
        plays_until = max(plays_until or now, now) + len(samples) / SAMPLE_RATE


def _summary(sessions: int, scheduler: str, tally: Tally) -> LoadRun:
    first = tally.first_sound_s
    if not first:
        raise SynthesisFailed("No turn was heard: measure for longer, or with fewer sessions.")
    return LoadRun(
        sessions=sessions,
        scheduler=scheduler,
        first_sound_ms={
            "p50": round(float(np.percentile(first, 50)) * 1000, 1),
            "p95": round(float(np.percentile(first, 95)) * 1000, 1),
        },
        late_share=round(tally.late_frames / max(1, tally.frames), 4),
        worst_gap_ms=round(tally.worst_gap_s * 1000, 1),
        turns=tally.turns,
        refused=tally.refused,
        errors={code: tally.errors.count(code) for code in sorted(set(tally.errors))},
    )
