"""How many instances do many conversations need? A simulation that takes measured costs.

One instance is simulated as the scheduler works: steps of the engine (a sentence's prosody, one
window) in the order of playback deadlines, admission by the same test, sessions that converse as in
:mod:`speakahead.bench.load`. What each step costs is drawn from what it cost when it was measured,
times the ratio of what sound costs a server under load to what it costs alone. An utterance waits
as long as it did on the measured servers, which have to have had one worker, as the simulated.

The simulation is compared with measured loads of this machine before it says anything about more
of them. ``on_time`` is the share of all turns, refused ones included, that are heard within 500 ms;
the wanted p95 is met where it is at least 0.95.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from speakahead.assets import Voices, locate
from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.bench.conversations import (
    Costs,
    Outcome,
    Rules,
    SentenceCost,
    WindowCost,
    simulate,
)
from speakahead.bench.figures import MeasurementFailed
from speakahead.bench.load import ON_TIME_S, SENTENCES
from speakahead.kokoro.engine import Engine
from speakahead.kokoro.loading import load_engine
from speakahead.scheduling.jobs import PhonemeSource
from speakahead.text.frontend import FrontEnd

CONVERSATIONS = (10_000, 1_000_000)
WANTED_ON_TIME = 0.95
MOST_LATE = 0.01
"""An instance also has to be on time with the rest: at most this share of late windows."""

SPEEDS = (1.0, 2.0, 4.0)
"""Instances that many times as fast as this machine are simulated too."""

_VOICE = "af_heart"
_HOPELESS = 0.5
"""More sessions than leave this share on time are not looked at: they count as never on time."""
_MOST_SESSIONS = 32
_SEED = 7
_LEAST_S = 60.0
"""Each instance is simulated for so long at least."""


@dataclass(frozen=True, slots=True)
class Check:
    """A measured load beside the same one simulated; an error is simulated less measured.

    ``turns``: how many were heard, of those asked for, by ``measured`` and ``simulated``.
    """

    sessions: int
    turns: dict[str, dict[str, int]]
    measured: dict[str, float]
    simulated: dict[str, float]
    error: dict[str, float]


@dataclass(frozen=True, slots=True)
class Point:
    """An instance with so many sessions, simulated: percentiles are of the turns ``served``."""

    sessions: int
    served: int
    asked: int
    p50_ms: float
    p95_ms: float
    on_time: float
    late_share: float
    refused_share: float

    @property
    def met(self) -> bool:
        """Whether the wanted p95 is met, and sound is on time."""
        return self.on_time >= WANTED_ON_TIME and self.late_share <= MOST_LATE


@dataclass(frozen=True, slots=True)
class Need:
    """Instances for so many conversations.

    ``even``: a router that knows how many sessions each instance has. ``random``: one that knows
    nothing, so that some instances get more than others.
    """

    conversations: int
    even: int
    random: int


@dataclass(frozen=True, slots=True)
class Instance:
    """A machine so many times as fast as this one.

    Attributes:
        speed: 1 is this machine; others are assumed, not measured.
        points: by number of sessions.
        sessions: the most that it holds as wanted; 0: not even one.
        at_least: it may hold more, which was not looked at: ``needs`` are upper bounds.
        needs: what that comes to; none where it holds none.
    """

    speed: float
    points: list[Point]
    sessions: int
    at_least: bool
    needs: list[Need]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; has needs only where there is an answer."""
        row = asdict(self)
        return row if self.needs else {k: v for k, v in row.items() if k != "needs"}


@dataclass(frozen=True, slots=True)
class Report:
    """See the module.

    Attributes:
        cost_ratio: what sound costs a server under load, by what it costs alone.
        patience_s: how long an utterance waits before it is refused, measured and simulated.
        checks: the simulation beside the measured loads.
        instances: by their speed; the first is like this machine.
    """

    cost_ratio: float
    patience_s: float
    checks: list[Check]
    instances: list[Instance]

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "wanted_on_time": WANTED_ON_TIME,
            "instances": [each.as_dict() for each in self.instances],
        }

    def table(self) -> str:
        """The report for people."""
        lines = [
            "simulated beside measured (this machine, deadline scheduler, refused after "
            f"{self.patience_s:g} s); ms, shares"
        ]
        lines += [
            f"{c.sessions:4} sessions: "
            + "; ".join(
                f"{name} {c.simulated[name]:g} beside {c.measured[name]:g} ({c.error[name]:+g})"
                for name in c.measured
            )
            + "; turns heard "
            + " beside ".join(
                f"{c.turns[side]['served']}/{c.turns[side]['asked']}"
                for side in ("simulated", "measured")
            )
            for c in self.checks
        ]
        lines.append("sessions  p50 ms  p95 ms  heard/asked  in 500 ms   late  refused")
        lines += [
            f"{p.sessions:8}{p.p50_ms:8.0f}{p.p95_ms:8.0f}{f'{p.served}/{p.asked}':>13}"
            f"{p.on_time:11.1%}{p.late_share:7.1%}{p.refused_share:9.1%}"
            for p in self.instances[0].points
        ]
        for each in self.instances:
            like = "like this machine" if each.speed == 1 else f"{each.speed:g} times as fast"
            least, most = ("at least ", "at most ") if each.at_least else ("", "")
            lines.append(
                f"An instance {like} holds {least}{each.sessions} conversations with 95 % of first "
                "sounds within 500 ms." + ("" if each.needs else " No number of them is enough.")
            )
            lines += [
                f"  {n.conversations:,} conversations: {most}{n.even:,} of them where the router "
                f"spreads evenly, {most}{n.random:,} where it does so at random."
                for n in each.needs
            ]
        return "\n".join(lines)


def run(
    measured: Sequence[Mapping[str, Any]],
    *,
    model: Path | None = None,
    threads: int = 2,
    repeats: int = 2,
    seconds: float = 4000.0,
    conversations: Sequence[int] = CONVERSATIONS,
    progress: Callable[[float], None] = lambda share: None,
) -> Report:
    """Measure the costs with the model, and simulate.

    Args:
        measured: ``runs`` of a report of :mod:`speakahead.bench.load`, as in its JSON; those of
            the deadline scheduler count.
        model: model directory; found by itself by default.
        threads: threads of one inference.
        repeats: how often each sentence is decoded to know its costs.
        seconds: simulated time for each number of sessions, as seconds of all of them together.
        conversations: numbers of conversations to say the need for.
        progress: told the share that is done, 0 to 1.

    Raises:
        ModelError: there is no model.
        MeasurementFailed: see ``extrapolate``.
    """
    found = locate(model)
    engine = load_engine(found, Voices(found.path), threads=threads)
    engine.warm()
    costs = measure_costs(
        engine, FrontEnd(), repeats=repeats, progress=lambda share: progress(share * 0.8)
    )
    report = extrapolate(costs, measured, seconds=seconds, conversations=conversations)
    progress(1.0)
    return report


def measure_costs(
    engine: Engine[Any],
    text: PhonemeSource,
    *,
    repeats: int,
    sentences: Sequence[str] = SENTENCES,
    progress: Callable[[float], None] = lambda share: None,
) -> Costs:
    """What the steps of each sentence cost on this machine, while it does nothing else.

    Each sentence is decoded as the first of a turn, in small windows at first, and as a later one.
    """
    found = []
    for number, sentence in enumerate(sentences):
        (phonemes,) = text.phonemes(sentence, 0, "en-us")
        starts: list[float] = []
        layouts: list[tuple[WindowCost, ...]] = []
        for ahead_s in (0.0, 10.0):
            windows: list[list[float]] = []
            for _ in range(repeats):
                began = time.perf_counter()
                text.phonemes(sentence, 0, "en-us")
                plan = engine.plan(phonemes, _VOICE, 1.0, ahead_s)
                starts.append(time.perf_counter() - began)
                windows = windows or [[] for _ in plan.windows]
                for place, window in enumerate(plan.windows):
                    began = time.perf_counter()
                    engine.decode(plan, window)
                    windows[place].append(time.perf_counter() - began)
            layouts.append(
                tuple(
                    WindowCost((w.end - w.start) / SAMPLE_RATE, tuple(seconds))
                    for w, seconds in zip(plan.windows, windows, strict=True)
                )
            )
        found.append(SentenceCost(len(sentence), tuple(starts), layouts[0], layouts[1]))
        progress((number + 1) / len(sentences))
    return Costs(tuple(found))


def extrapolate(
    costs: Costs,
    measured: Sequence[Mapping[str, Any]],
    *,
    seconds: float = 4000.0,
    conversations: Sequence[int] = CONVERSATIONS,
) -> Report:
    """Compare the simulation with measured loads, and say what many conversations need.

    Raises:
        MeasurementFailed: there is no measured load of the deadline scheduler, or those that there
            are cannot be simulated: more than one worker, or unlike patience.
    """
    loads = [load for load in measured if load["scheduler"] == "deadline"]
    if not loads:
        raise MeasurementFailed("The simulation needs measured loads of the deadline scheduler.")
    rules = _rules(loads)
    ratio = float(np.median([load["cost"] for load in loads])) / costs.cost
    busy = costs.scaled(ratio)
    checks = [_check(load, _outcome(busy, int(load["sessions"]), seconds, rules)) for load in loads]
    instances = [_instance(busy, speed, seconds, conversations, rules) for speed in SPEEDS]
    return Report(round(ratio, 3), rules.patience_s, checks, instances)


def _rules(loads: Sequence[Mapping[str, Any]]) -> Rules:
    """Those of the servers that were measured."""
    if not all("server" in load for load in loads):
        raise MeasurementFailed("The measured loads do not say how the server was set: measure.")
    if any(load["server"]["workers"] != 1 for load in loads):
        raise MeasurementFailed("Loads of a server with several workers cannot be simulated.")
    patience, *others = {float(load["server"]["patience_s"]) for load in loads}
    if others:
        raise MeasurementFailed("The measured loads are of servers with unlike patience.")
    return Rules(patience_s=patience)


def _instance(
    costs: Costs, speed: float, seconds: float, conversations: Sequence[int], rules: Rules
) -> Instance:
    mine = costs.scaled(1 / speed)
    points: list[Point] = []
    while len(points) < _MOST_SESSIONS and (not points or points[-1].on_time > _HOPELESS):
        sessions = len(points) + 1
        outcome = _outcome(mine, sessions, seconds, rules)
        served = len(outcome.first_sound_s)
        points.append(Point(sessions, served, outcome.asked, **_figures(outcome)))
    held = next((n for n, point in enumerate(points) if not point.met), len(points))
    needs = [Need(n, math.ceil(n / held), _random_need(n, points)) for n in conversations if held]
    return Instance(speed, points, held, held == len(points), needs)


def _outcome(costs: Costs, sessions: int, seconds: float, rules: Rules) -> Outcome:
    rng = random.Random(f"{_SEED} {sessions}")  # noqa: S311  # reproducible, not secret
    return simulate(costs, sessions, max(_LEAST_S, seconds / sessions), rng, rules)


def _figures(outcome: Outcome) -> dict[str, float]:
    if not outcome.first_sound_s:
        raise MeasurementFailed("Nothing was heard in the simulation: simulate for longer.")
    return {
        "p50_ms": round(float(np.percentile(outcome.first_sound_s, 50)) * 1000, 1),
        "p95_ms": round(float(np.percentile(outcome.first_sound_s, 95)) * 1000, 1),
        "on_time": round(
            sum(s <= ON_TIME_S for s in outcome.first_sound_s) / max(1, outcome.asked), 4
        ),
        "late_share": round(outcome.late / max(1, outcome.frames), 4),
        "refused_share": round(outcome.refused / max(1, outcome.asked), 4),
    }


def _check(load: Mapping[str, Any], outcome: Outcome) -> Check:
    simulated = _figures(outcome)
    turns = {
        "measured": {"served": int(load["served"]), "asked": int(load["asked"])},
        "simulated": {"served": len(outcome.first_sound_s), "asked": outcome.asked},
    }
    measured = {
        "p50_ms": float(load["first_sound_ms"]["p50"]),
        "p95_ms": float(load["first_sound_ms"]["p95"]),
        "on_time": float(load["on_time_share"]),
        "late_share": float(load["late_share"]),
        "refused_share": round(load["refused"] / max(1, load["asked"]), 4),
    }
    error = {name: round(simulated[name] - value, 4) for name, value in measured.items()}
    return Check(int(load["sessions"]), turns, measured, simulated, error)


def _random_need(conversations: int, points: Sequence[Point]) -> int:
    """The fewest instances with which enough turns are on time if each conversation picks one.

    An instance then has a number of sessions that is binomial, Poisson in the limit. A session sees
    it with one more than the others have: the instance is weighted by its sessions.
    """
    on_time = [p.on_time if p.late_share <= MOST_LATE else 0.0 for p in points]

    def share(mean: float) -> float:
        others = math.exp(-mean)  # of an instance that nobody else uses
        total = 0.0
        for number, value in enumerate(on_time):
            total += others * value
            others *= mean / (number + 1)
        return total

    low, high = 1e-6, float(len(points))  # where hardly any instance has two, one that holds one
    for _ in range(60):  # the share falls as the mean number of sessions rises
        middle = (low + high) / 2
        if share(middle) >= WANTED_ON_TIME:
            low = middle
        else:
            high = middle
    return math.ceil(conversations / low)
