"""One instance of the server and its listeners, simulated: the rules of the scheduler, no sound.

The instance has one worker, as the server has by default. Time is simulated, so minutes of many
sessions take moments.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from speakahead.bench.load import pause_of, turn_of
from speakahead.kokoro.pace import COMFORTABLE_S
from speakahead.scheduling.admission import CAUTION, START_S, Demand, feasible
from speakahead.scheduling.stream import ADMISSION_LEAD_S, PROSODY_LEAD_S, SECONDS_A_CHARACTER
from speakahead.session.events import Pauses


@dataclass(frozen=True, slots=True)
class WindowCost:
    """A window: seconds of its sound, and the seconds that decoding took each time."""

    audio_s: float
    costs_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SentenceCost:
    """A sentence: its length in characters, what its prosody took, and its windows.

    ``opening`` are those for a listener who hears nothing, ``following`` those for one who has
    sound to play.
    """

    characters: int
    starts_s: tuple[float, ...]
    opening: tuple[WindowCost, ...]
    following: tuple[WindowCost, ...]


@dataclass(frozen=True, slots=True)
class Costs:
    """The sentences of the conversations."""

    sentences: tuple[SentenceCost, ...]

    @property
    def cost(self) -> float:
        """Seconds for a second of sound, prosody included, where most sentences are later ones."""
        spent = audio = 0.0
        for sentence in self.sentences:
            spent += sum(sentence.starts_s) / len(sentence.starts_s)
            for window in sentence.following:
                spent += sum(window.costs_s) / len(window.costs_s)
                audio += window.audio_s
        return spent / audio

    def scaled(self, factor: float) -> Costs:
        """The same on a machine where everything takes ``factor`` times as long."""

        def windows(each: Sequence[WindowCost]) -> tuple[WindowCost, ...]:
            return tuple(WindowCost(w.audio_s, tuple(c * factor for c in w.costs_s)) for w in each)

        return Costs(
            tuple(
                SentenceCost(
                    s.characters,
                    tuple(c * factor for c in s.starts_s),
                    windows(s.opening),
                    windows(s.following),
                )
                for s in self.sentences
            )
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """The scheduler's and the server's; the defaults are theirs.

    Attributes:
        lead_s: a new utterance is due so long after it came.
        prosody_lead_s: a sentence that has not begun is due so much earlier.
        start_s: an utterance's beginning costs as much as so much more sound.
        caution: sound is taken to cost this many times what it does.
        patience_s: how long an utterance waits for admission.
        ahead_s: how far ahead of its listener a session is spoken.
        comfortable_s: with so much sound to play, windows are large at once.
        recheck_s: how often waiting utterances are looked at again.
        way_s: what the way to the server and back takes.
    """

    lead_s: float = ADMISSION_LEAD_S
    prosody_lead_s: float = PROSODY_LEAD_S
    start_s: float = START_S
    caution: float = CAUTION
    patience_s: float = 5.0
    ahead_s: float = 5.0
    comfortable_s: float = COMFORTABLE_S
    recheck_s: float = 0.05
    way_s: float = 0.005


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the listeners heard, counted as in ``load.Tally``: pauses are no frames."""

    first_sound_s: tuple[float, ...]
    frames: int
    late: int
    refused: int

    @property
    def asked(self) -> int:
        """Turns that were answered or refused."""
        return len(self.first_sound_s) + self.refused


@dataclass(slots=True)
class _Sentence:
    cost: SentenceCost
    remaining_s: float
    windows: deque[WindowCost] | None = None  # None until its prosody is known


@dataclass(slots=True, eq=False)
class _Listener:
    rng: random.Random
    next_turn: float
    asked_at: float = 0.0
    heard: bool = False
    admitted: bool = False
    plays_until: float = float("-inf")
    queue: deque[_Sentence] = field(default_factory=deque)

    def demand(self, now: float) -> Demand:
        return Demand(self.plays_until - now, sum(s.remaining_s for s in self.queue))

    def ready_at(self, now: float, rules: Rules) -> float:
        return max(now, self.plays_until - rules.ahead_s) if self.queue else float("inf")

    def deadline(self, rules: Rules) -> float:
        due = max(self.plays_until, self.asked_at + rules.lead_s)
        return due - (rules.prosody_lead_s if self.queue[0].windows is None else 0.0)


def simulate(
    costs: Costs, sessions: int, seconds: float, rng: random.Random, rules: Rules | None = None
) -> Outcome:
    """Conversations with one instance.

    Args:
        costs: of the sentences that are said; those of ``load.SENTENCES``, or as many others.
        sessions: conversations at a time, at least 1.
        seconds: simulated time.
        rng: who says what when, and what each step costs.
        rules: how the instance works.
    """
    return _Instance(costs, sessions, rng, rules or Rules()).run(seconds)


class _Instance:
    def __init__(self, costs: Costs, sessions: int, rng: random.Random, rules: Rules) -> None:
        self._costs = costs
        self._rules = rules
        self._rng = rng
        self._cost = costs.cost
        self._pause_s = Pauses().sentence
        self._listeners = [
            _Listener(random.Random(rng.random()), rng.uniform(0, 2))  # noqa: S311
            for _ in range(sessions)
        ]
        self._first: list[float] = []
        self._frames = self._late = self._refused = 0

    def run(self, seconds: float) -> Outcome:
        now = 0.0
        while now < seconds:
            for listener in self._listeners:
                if not listener.queue and listener.next_turn <= now:
                    self._ask(listener, listener.next_turn)
            picked = self._pick(now)
            now = self._idle_until(now) if picked is None else now + self._step(picked, now)
        return Outcome(tuple(self._first), self._frames, self._late, self._refused)

    def _ask(self, listener: _Listener, at: float) -> None:
        said = (self._costs.sentences[place] for place in turn_of(listener.rng))
        listener.queue.extend(_Sentence(s, s.characters * SECONDS_A_CHARACTER) for s in said)
        listener.asked_at, listener.heard, listener.admitted = at, False, False
        listener.plays_until = float("-inf")

    def _pick(self, now: float) -> _Listener | None:
        ready = [each for each in self._listeners if each.ready_at(now, self._rules) <= now]
        if not ready:
            return None
        speaking = [e.demand(now) for e in self._listeners if e.admitted]
        others = [demand for demand in speaking if demand.remaining_s > 0]
        for listener in sorted(ready, key=lambda each: each.deadline(self._rules)):
            if listener.admitted or self._admit(listener, others, now):
                return listener
        return None

    def _idle_until(self, now: float) -> float:
        """When something may be done next."""
        rules = self._rules
        times = [each.ready_at(now, rules) for each in self._listeners if each.queue]
        waiting = any(at <= now for at in times)
        times += [each.next_turn for each in self._listeners if not each.queue]
        soonest = min((at for at in times if at > now), default=float("inf"))
        return min(soonest, now + rules.recheck_s) if waiting else soonest

    def _admit(self, listener: _Listener, others: Sequence[Demand], now: float) -> bool:
        """As ``Scheduler`` does, beside the others that are admitted."""
        rules = self._rules
        mine = Demand(rules.lead_s, listener.demand(now).remaining_s + rules.start_s)
        theirs = [demand.by_window() for demand in others]
        if not others or feasible([*theirs, mine], cost=rules.caution * self._cost):
            listener.admitted = True
            return True
        if now - listener.asked_at >= rules.patience_s:
            self._refused += 1
            listener.queue.clear()
            listener.next_turn = now + pause_of(listener.rng)
        return False

    def _step(self, listener: _Listener, now: float) -> float:
        """Do a listener's next step; the seconds that it takes."""
        sentence = listener.queue[0]
        if sentence.windows is None:
            cost = sentence.cost
            spent = self._rng.choice(cost.starts_s)
            ahead_s = listener.plays_until - now - spent
            layout = cost.opening if ahead_s < self._rules.comfortable_s else cost.following
            sentence.windows = deque(layout)
            sentence.remaining_s = sum(window.audio_s for window in layout)
            return spent
        window = sentence.windows.popleft()
        spent = self._rng.choice(window.costs_s)
        sentence.remaining_s -= window.audio_s
        self._deliver(listener, window.audio_s, now + spent)
        if not sentence.windows:
            listener.queue.popleft()
            listener.plays_until += self._pause_s  # which is no frame: it costs nothing
            if not listener.queue:
                listener.admitted = False
                listener.next_turn = listener.plays_until + pause_of(listener.rng)
        return spent

    def _deliver(self, listener: _Listener, audio_s: float, at: float) -> None:
        if not listener.heard:
            listener.heard = True
            self._first.append(at - listener.asked_at + self._rules.way_s)
            listener.plays_until = at
        else:
            self._frames += 1
            self._late += at > listener.plays_until
        listener.plays_until = max(listener.plays_until, at) + audio_s
