"""First sound, real-time factor, memory, cold start and size, beside those of other projects.

Every side runs in an environment of its own, loads the same 8-bit weights and the same voice, and
is driven through its own documented interface by a small program that gives it the same text: as a
language model writes it, and complete from the start. An interface that takes only complete text
gets it when it is complete. Sides take turns within one run, in an order that rotates; only one
works at a time. Times are those at which samples are delivered to the driver, in its own process.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from speakahead.assets import Voices, locate
from speakahead.bench.figures import MeasurementFailed, Spread, rounded
from speakahead.bench.peers.catalogue import PEERS, Peer, Takes, ourselves
from speakahead.bench.peers.drivers.driving import Setup, Trial
from speakahead.bench.peers.environments import (
    Environment,
    Unavailable,
    peers_directory,
    prepare,
)
from speakahead.bench.peers.process import Cold, DriverProcess, scratch

VOICE = "af_heart"
FIRST_WORDS = "Your order left our warehouse this morning."
"""What a side says first after its start."""
SHORT_REPLY = (
    "The first bus to the airport leaves at ten past six. It stops in front of the station, and "
    "the ride takes about forty minutes."
)
REPLY = f"{SHORT_REPLY} If you buy your ticket on the phone, it is a little cheaper."
_PACE = (6.0, 26.0)
"""Characters in a second of speech, least and most: outside, something else was said."""


@dataclass(frozen=True, slots=True)
class SideReport:
    """One side; times in milliseconds.

    Attributes:
        name: of the project.
        version: of its package; ``onnxruntime`` that of the run time in its environment.
        takes: what its interface wants: deltas, or complete text.
        interface: which one was driven.
        install_mb: size of its environment's packages, in millions of bytes.
        packages: how many there are.
        cold_start_ms: from the start of its process to the first audible sample.
        first_sound_ms: from the first token of a reply that is being written.
        after_text_ms: the same, from the last token; below zero: sound before the text's end.
        whole_text_ms: first sound of a text that is complete from the start.
        heard_ms: as ``first_sound_ms``, but when a listener who plays without a pause hears it:
            silence at the start of the sound counts.
        rtf: time to the last sample of a complete text, divided by the duration of its sound.
        audio_s: the duration of the reply's sound.
        peak_memory_mb: the most resident memory of its processes.
        values: first sounds of all trials, in their order.
        slower: its medians divided by speakahead's, whose own are 1.
    """

    name: str
    version: str
    onnxruntime: str
    takes: Takes
    interface: str
    install_mb: float
    packages: int
    cold_start_ms: Spread
    first_sound_ms: Spread
    after_text_ms: Spread
    whole_text_ms: Spread
    heard_ms: Spread
    rtf: Spread
    audio_s: float
    peak_memory_mb: float
    values: dict[str, list[float]]
    slower: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Absent:
    """A peer that was not measured, and why."""

    name: str
    requirements: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """All sides, speakahead first, and those who could not be measured."""

    sides: list[SideReport]
    absent: list[Absent]
    reply: str
    tokens_per_second: float
    voice: str
    weights: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def table(self) -> str:
        """The report for people."""
        lines = [
            f"{self.voice}, {self.weights}; text at {self.tokens_per_second:g} tokens/s",
            f"{'':12}{'takes':>7}{'first sound ms':>24}{'after text':>11}{'whole text':>11}"
            f"{'rtf':>7}{'cold ms':>9}{'RSS MB':>8}{'size MB':>9}  version",
        ]
        lines += [
            f"{s.name:12}{s.takes:>7}{_range(s.first_sound_ms):>24}"
            f"{s.after_text_ms.median:>11.0f}{s.whole_text_ms.median:>11.0f}{s.rtf.median:>7.3f}"
            f"{s.cold_start_ms.median:>9.0f}{s.peak_memory_mb:>8.0f}{s.install_mb:>9.0f}"
            f"  {s.version} (onnxruntime {s.onnxruntime})"
            for s in self.sides
        ]
        lines += [
            f"{s.name} beside speakahead: "
            + ", ".join(f"{name} x{ratio:.2f}" for name, ratio in s.slower.items())
            for s in self.sides[1:]
        ]
        lines += [f"not measured: {a.name}. {a.reason}" for a in self.absent]
        return "\n".join(lines)


def _range(spread: Spread) -> str:
    return f"{spread.median:.0f} ({spread.least:.0f}-{spread.most:.0f})"


@dataclass(slots=True)
class _Side:
    """A side while it is measured."""

    peer: Peer
    environment: Environment
    process: DriverProcess | None = None
    cold: list[Cold] = field(default_factory=list)
    written: list[Trial] = field(default_factory=list)
    whole: list[Trial] = field(default_factory=list)

    def close(self) -> None:
        if self.process is not None:
            self.process.close()
            self.process = None

    def trial(self, text: str, tokens_per_second: float | None) -> Trial:
        assert self.process is not None
        return self.process.trial(text, tokens_per_second)


def measure(
    *,
    peers: Sequence[Peer] = PEERS,
    repeats: int = 5,
    cold_starts: int = 5,
    tokens_per_second: float = 40.0,
    reply: str = REPLY,
    model: Path | None = None,
    directory: Path | None = None,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Compare; about five minutes on two cores, and as long again when environments are made.

    Args:
        peers: beside speakahead, which is always measured.
        repeats: replies of each kind and side, at least 1.
        cold_starts: starts of each side's process, at least 1.
        tokens_per_second: how fast the reply is written.
        reply: English; what is spoken.
        model: a model directory; by default the one that ``assets.locate`` finds.
        directory: where environments are kept; by default this user's cache.
        progress: told the share that is done, 0 to 1.

    Raises:
        ModelError: there is no model.
        InvalidRequest: there is no uv.
        MeasurementFailed: speakahead itself could not be measured.
    """
    found = locate(model)
    sides: list[_Side] = []
    absent: list[Absent] = []
    logs = directory or peers_directory()
    for peer in (us := ourselves(), *peers):
        with _listed(peer, us, absent):
            sides.append(_Side(peer, prepare(peer, directory)))
    steps = _Steps(len(sides) * (cold_starts + 1 + 2 * repeats), progress)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        packs = Path(folder) / "voices.npz"
        pack: Any = Voices(found.path).load(VOICE)
        np.savez(packs, allow_pickle=False, **{VOICE: pack})
        setup = Setup(found.weights, packs, VOICE, Path(folder))
        for side in sides:
            stack.callback(side.close)

        def everyone(act: Callable[[_Side], None], turn: int) -> None:
            for side in _rotated(sides, turn):
                with _listed(side.peer, us, absent):
                    act(side)
                    steps.done()
                    continue
                side.close()
                sides.remove(side)

        def start(side: _Side) -> None:
            side.close()
            log = logs / f"{side.peer.name}.log"
            side.process = DriverProcess(
                side.peer, side.environment, scratch(setup, side.peer.name), log
            )
            side.cold.append(side.process.cold(FIRST_WORDS))

        def warm(side: _Side) -> None:
            side.trial(reply, None)

        def write(side: _Side) -> None:
            side.written.append(side.trial(reply, tokens_per_second))

        def whole(side: _Side) -> None:
            side.whole.append(side.trial(reply, None))

        for turn in range(cold_starts):
            everyone(start, turn)
        everyone(warm, 0)
        for turn in range(repeats):
            everyone(write, turn)
            everyone(whole, turn)
        reports = [_report(side) for side in sides]
    return _compared(reports, absent, peers, reply, tokens_per_second, found.weights.name)


class _Steps:
    def __init__(self, count: int, progress: Callable[[float], None]) -> None:
        self._count, self._progress, self._done = count, progress, 0

    def done(self) -> None:
        self._done += 1
        self._progress(min(1.0, self._done / self._count))


def _rotated(sides: list[_Side], turn: int) -> list[_Side]:
    """A copy that begins with another side each turn, so that none is always after the same."""
    first = turn % len(sides)
    return sides[first:] + sides[:first]


@contextlib.contextmanager
def _listed(peer: Peer, us: Peer, absent: list[Absent]) -> Iterator[None]:
    """List a peer that fails as absent; our own failure is an error."""
    try:
        yield
    except Unavailable as reason:
        if peer is us:
            raise MeasurementFailed(
                "speakahead itself could not be measured; the log in the peers' folder says why."
            ) from None
        absent.append(Absent(peer.name, peer.requirements, str(reason)))


def _report(side: _Side) -> SideReport:
    assert side.process is not None
    about = side.process.about
    written, whole = side.written, side.whole
    values = {
        "first sound": [1000 * t.first_sound_s for t in written],
        "whole text": [1000 * t.first_sound_s for t in whole],
        "cold start": [1000 * c.first_sound_s for c in side.cold],
    }
    after = [1000 * (t.first_sound_s - t.text_complete_s) for t in written]
    return SideReport(
        name=side.peer.name,
        version=about["version"],
        onnxruntime=about["onnxruntime"],
        takes=side.peer.takes,
        interface=side.peer.interface,
        install_mb=side.environment.install_mb,
        packages=side.environment.packages,
        cold_start_ms=Spread.of(values["cold start"]),
        first_sound_ms=Spread.of(values["first sound"]),
        after_text_ms=Spread.of(after),
        whole_text_ms=Spread.of(values["whole text"]),
        heard_ms=Spread.of([1000 * t.first_heard_s for t in written]),
        rtf=Spread.of([t.last_s / t.audio_s for t in whole], digits=4),
        audio_s=Spread.of([t.audio_s for t in whole], digits=2).median,
        peak_memory_mb=round(max(t.peak_memory_mb for t in (*written, *whole)), 1),
        values={name: rounded(found) for name, found in values.items()},
    )


def _compared(
    reports: list[SideReport],
    absent: list[Absent],
    peers: Sequence[Peer],
    reply: str,
    tokens_per_second: float,
    weights: str,
) -> Report:
    """With ratios; whoever has not spoken the reply is listed as absent.

    Raises:
        MeasurementFailed: speakahead itself has not spoken it.
    """
    ours = reports[0]
    sides = []
    for report in reports:
        pace = len(reply) / report.audio_s
        if not _PACE[0] <= pace <= _PACE[1]:
            if report is ours:
                raise MeasurementFailed("The sound that speakahead made is not the reply.")
            requirements = next(p.requirements for p in peers if p.name == report.name)
            reason = (
                f"With these weights the sound of {len(reply)} characters lasts "
                f"{report.audio_s:.1f} s: it has not spoken them."
            )
            absent.append(Absent(report.name, requirements, reason))
            continue
        report.slower.update(_ratios(report, ours))
        sides.append(report)
    return Report(sides, absent, reply, tokens_per_second, VOICE, weights)


def _ratios(report: SideReport, ours: SideReport) -> dict[str, float]:
    pairs = {
        "first sound": (report.first_sound_ms.median, ours.first_sound_ms.median),
        "whole text": (report.whole_text_ms.median, ours.whole_text_ms.median),
        "rtf": (report.rtf.median, ours.rtf.median),
        "cold start": (report.cold_start_ms.median, ours.cold_start_ms.median),
        "memory": (report.peak_memory_mb, ours.peak_memory_mb),
        "size": (report.install_mb, ours.install_mb),
    }
    return {name: round(theirs / our, 2) for name, (theirs, our) in pairs.items()}
