"""Conversations against real server processes: first sound, gaps, refusals.

Each session takes turns of two to four sentences and pauses for one to three seconds when a turn
has been played to its end. The deadline scheduler and the yardstick (whole sentences, first in,
first out) run as two processes, of which one is under load at a time. Their rounds alternate, and
who is first does too.

A turn that nothing was heard of when its round ends counts with the time that it has waited: the
true first sound is later. So a server that answers nobody does not look good for want of figures.
Refused turns have none: beside each p95 is how many turns were heard, of those asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import batched
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.backends.interface import SpeechBackend, SpeechStream
from speakahead.backends.websocket import WebSocketBackend
from speakahead.bench.figures import MeasurementFailed, interleaved, rounded
from speakahead.bench.latency import audible
from speakahead.bench.process import ServerProcess, server_process
from speakahead.errors import SpeakaheadError
from speakahead.session.events import (
    Audio,
    Close,
    Failed,
    SentenceStarted,
    Speak,
    UtteranceCompleted,
)

ON_TIME_S = 0.5
"""A turn is on time if it is heard this soon."""

_PAUSE_S = (1.0, 3.0)
_TURN = (2, 4)

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


def turn_of(rng: random.Random) -> list[int]:
    """The next turn, as places in ``SENTENCES``."""
    return rng.sample(range(len(SENTENCES)), rng.randint(*_TURN))


def pause_of(rng: random.Random) -> float:
    """Seconds between the end of a turn and the next one."""
    return rng.uniform(*_PAUSE_S)


def is_pause(samples: NDArray[np.float32]) -> bool:
    """Whether a piece of sound is the pause after a sentence, which the server does not decode.

    It alone is zero throughout: in a window that was decoded there is always some noise.
    """
    return not samples.any()


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Those of a server that its figures depend on; the defaults are those of `speakahead serve`.

    Attributes:
        patience_s: how long an utterance waits before it is refused.
        workers: windows decoded at a time.
        threads: of one inference.
    """

    patience_s: float = 5.0
    workers: int = 1
    threads: int = 2

    @property
    def arguments(self) -> list[str]:
        """For the command line."""
        return [
            *("--patience", str(self.patience_s)),
            *("--workers", str(self.workers)),
            *("--threads", str(self.threads)),
        ]


@dataclass(slots=True)
class Tally:
    """What the listeners of one kind of server heard."""

    asked: int = 0
    """Turns that were begun."""
    first_sound_s: list[float] = field(default_factory=list)
    unheard_s: list[float] = field(default_factory=list)
    """How long turns had waited that nothing was heard of when their round ended."""
    frames: int = 0
    """Pieces of decoded sound after a turn's first; pauses cost nothing and are not counted."""
    gaps_between_s: list[float] = field(default_factory=list)
    """Silences between two sentences, beyond the pause that belongs there."""
    gaps_within_s: list[float] = field(default_factory=list)
    refused: int = 0
    broken_off: int = 0
    """Turns that were heard, and then ended as overload."""
    turns: int = 0
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LoadRun:
    """One number of sessions with one scheduler.

    Attributes:
        first_sound_ms: p50 and p95, of ``n`` turns: those that were served or unheard.
        first_sounds_ms: all of them, sorted.
        served: turns of which something was heard, of those that were ``asked`` for.
        on_time_share: of all turns that were asked for.
        late_share: of ``frames`` (see ``Tally``), those for which a listener had run dry.
        gaps_ms: silences of the listener by place, each with its number, median and worst; 0 where
            there were none.
        worst_gap_ms: of all gaps.
        turns: spoken to their end.
        unheard: turns of which nothing was heard by the end.
        refused: turns that the server refused as overload.
        broken_off: turns that it refused so after they had been heard.
        errors: turns and sessions that failed otherwise.
        error_codes: of those.
        cost: seconds of the engine for a second of sound, by the server's own counters.
        seconds: under this load.
        server: how it was set.
    """

    sessions: int
    scheduler: str
    first_sound_ms: dict[str, float]
    first_sounds_ms: list[float]
    served: int
    asked: int
    on_time_share: float
    frames: int
    late_share: float
    gaps_ms: dict[str, dict[str, float]]
    worst_gap_ms: float
    turns: int
    unheard: int
    refused: int
    broken_off: int
    errors: int
    error_codes: list[str]
    cost: float
    seconds: float
    server: ServerOptions


@dataclass(frozen=True, slots=True)
class Report:
    runs: list[LoadRun]
    seconds_each: float

    def as_dict(self) -> dict[str, Any]:
        runs = [asdict(each) for each in self.runs]
        for each in runs:
            if not each["error_codes"]:
                del each["error_codes"]
        return {"seconds_each": self.seconds_each, "runs": runs}

    def table(self) -> str:
        """The report for people."""
        lines = [
            "sessions  scheduler  first sound p50  p95 ms     n  heard/asked  in 500 ms   late"
            "  gaps within/between  worst ms  turns  unheard  refused  broken off  errors"
        ]
        lines += [
            f"{r.sessions:8}  {r.scheduler:9}{r.first_sound_ms['p50']:17.0f}"
            f"{r.first_sound_ms['p95']:8.0f}{r.first_sound_ms['n']:6}"
            f"{f'{r.served}/{r.asked}':>13}{r.on_time_share:11.0%}{r.late_share:7.1%}"
            f"{f'{r.gaps_ms["within"]["count"]:.0f}/{r.gaps_ms["between"]["count"]:.0f}':>21}"
            f"{r.worst_gap_ms:10.0f}{r.turns:7}{r.unheard:9}{r.refused:9}{r.broken_off:12}"
            f"{r.errors:8}" + (f"  ({', '.join(r.error_codes)})" if r.errors else "")
            for r in self.runs
        ]
        return "\n".join(lines)


def run(
    sessions: Sequence[int],
    *,
    seconds: float = 60.0,
    rounds: int = 2,
    model: Path | None = None,
    options: ServerOptions | None = None,
    schedulers: Sequence[str] = ("deadline", "fifo"),
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Measure; ``seconds`` for each number of sessions and scheduler, in ``rounds`` parts.

    Raises:
        ConnectionFailed: a server did not start.
        MeasurementFailed: no turn was heard.
    """
    options = options or ServerOptions()
    arguments = [*options.arguments, *(["--model", str(model)] if model else [])]
    with contextlib.ExitStack() as stack:
        servers = {
            name: stack.enter_context(server_process(["--scheduler", name, *arguments]))
            for name in schedulers
        }
        runs = []
        total, done = len(sessions) * rounds * len(servers), 0
        orders = batched(interleaved(schedulers, len(sessions) * rounds), len(schedulers))
        for count in sessions:
            tallies = {name: Tally() for name in schedulers}
            spent = {name: np.zeros(2) for name in schedulers}
            for number in range(rounds):
                for name in next(orders):
                    before = _work(servers[name])
                    backend = WebSocketBackend(servers[name].url)
                    asyncio.run(converse(backend, count, seconds / rounds, number, tallies[name]))
                    spent[name] += _work(servers[name]) - before
                    done += 1
                    progress(done / total)
            runs += [
                summary(count, name, tally, spent[name], seconds=seconds, server=options)
                for name, tally in tallies.items()
            ]
    return Report(runs, seconds)


def _work(server: ServerProcess) -> NDArray[np.float64]:
    """Seconds that the server has decoded for, and seconds of sound from that."""
    names = ("speakahead_decoding_seconds_total", "speakahead_audio_seconds_total")
    return np.array([server.metric(name) for name in names])


async def converse(
    backend: SpeechBackend, sessions: int, seconds: float, seed: int, tally: Tally
) -> None:
    """Hold so many conversations for so long, and note what is heard."""
    until = time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        for number in range(sessions):
            rng = random.Random(f"{seed} {number}")  # noqa: S311  # reproducible, not secret
            group.create_task(_session(backend, until, rng, tally))


async def _session(backend: SpeechBackend, until: float, rng: random.Random, tally: Tally) -> None:
    await asyncio.sleep(rng.uniform(0, 2))
    try:
        async with backend.open() as stream:
            while time.monotonic() < until:
                turn = _Turn(tally)
                try:
                    async with asyncio.timeout(max(0.0, until - time.monotonic())):
                        played_at = await turn.take(stream, rng)
                except TimeoutError:
                    turn.cut_off()
                    return
                wait = max(0.0, played_at - time.monotonic()) + pause_of(rng)
                await asyncio.sleep(min(wait, max(0.0, until - time.monotonic())))
            await stream.send(Close())
    except SpeakaheadError as error:
        tally.errors.append(error.code)


class _Turn:
    """One turn, as its listener hears it."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._sent_at = time.monotonic()
        self._plays_until: float | None = None
        self._heard = False
        self._between = False  # the next sound is the first of a sentence
        self._pause_late_s = 0.0  # a pause that came late is a longer one, if more sound follows

    async def take(self, stream: SpeechStream, rng: random.Random) -> float:
        """Speak; returns when the sound has been played to its end."""
        self._tally.asked += 1
        text = " ".join(SENTENCES[place] for place in turn_of(rng))
        self._sent_at = time.monotonic()
        await stream.send(Speak(text))
        async for event in stream:
            now = time.monotonic()
            match event:
                case SentenceStarted():
                    self._between = True
                case Audio():
                    self._take_sound(event, now)
                case UtteranceCompleted():
                    self._tally.turns += 1
                    break
                case Failed(error=error):
                    if error.code != "overloaded":
                        self._tally.errors.append(error.code)
                    elif self._heard:
                        self._tally.broken_off += 1
                    else:
                        self._tally.refused += 1
                    break
        return self._plays_until or time.monotonic()

    def cut_off(self) -> None:
        """The round has ended."""
        if not self._heard:
            self._tally.unheard_s.append(time.monotonic() - self._sent_at)

    def _take_sound(self, event: Audio, now: float) -> None:
        tally = self._tally
        if not self._heard and audible(event.samples):
            self._heard = True
            tally.first_sound_s.append(now - self._sent_at)
        if self._plays_until is not None:
            gap_s = self._pause_late_s + max(0.0, now - self._plays_until)
            pause = is_pause(event.samples)
            self._pause_late_s = gap_s if pause else 0.0
            tally.frames += not pause
            if gap_s > 0 and not pause:
                gaps = tally.gaps_between_s if self._between else tally.gaps_within_s
                gaps.append(gap_s)
        self._plays_until = max(self._plays_until or now, now) + len(event.samples) / SAMPLE_RATE
        self._between = False


def summary(
    sessions: int,
    scheduler: str,
    tally: Tally,
    spent: Sequence[float] | NDArray[np.float64],
    *,
    seconds: float,
    server: ServerOptions,
) -> LoadRun:
    """What a tally comes to; ``spent`` are seconds of decoding, and of sound.

    Raises:
        MeasurementFailed: no turn was heard, or no sound was made.
    """
    if not tally.first_sound_s or spent[1] <= 0:
        codes = ", ".join(sorted(set(tally.errors)))
        raise MeasurementFailed(
            "No turn was heard: measure for longer, or with fewer sessions."
            + (f" What failed, failed with: {codes}." if codes else "")
        )
    first = sorted(tally.first_sound_s + tally.unheard_s)
    on_time = sum(each <= ON_TIME_S for each in tally.first_sound_s)
    late = len(tally.gaps_between_s) + len(tally.gaps_within_s)
    gaps = {"within": _gaps(tally.gaps_within_s), "between": _gaps(tally.gaps_between_s)}
    return LoadRun(
        sessions=sessions,
        scheduler=scheduler,
        first_sound_ms={
            **{f"p{q}": round(float(np.percentile(first, q)) * 1000, 1) for q in (50, 95)},
            "n": len(first),
        },
        first_sounds_ms=rounded([each * 1000 for each in first]),
        served=len(tally.first_sound_s),
        asked=tally.asked,
        on_time_share=round(on_time / tally.asked, 4),
        frames=tally.frames,
        late_share=round(late / max(1, tally.frames), 4),
        gaps_ms=gaps,
        worst_gap_ms=max(each["worst"] for each in gaps.values()),
        turns=tally.turns,
        unheard=len(tally.unheard_s),
        refused=tally.refused,
        broken_off=tally.broken_off,
        errors=len(tally.errors),
        error_codes=sorted(set(tally.errors)),
        cost=round(float(spent[0] / spent[1]), 4),
        seconds=seconds,
        server=server,
    )


def _gaps(gaps_s: Sequence[float]) -> dict[str, float]:
    return {
        "count": len(gaps_s),
        "median": round(float(np.median(gaps_s)) * 1000, 1) if gaps_s else 0.0,
        "worst": round(max(gaps_s, default=0.0) * 1000, 1),
    }
