"""Which window is decoded next: the only place that owns threads.

Every listener of speech has a ``Stream``. A stream is a queue of jobs (sentences) and a model of
its listener: when all the sound delivered so far will have been played. That moment is the
deadline of the stream's next step (phonemes and prosody of a sentence, or one window of sound),
and the worker always takes the step with the earliest deadline. So a new utterance, whose listener
hears nothing yet, goes ahead of windows that are needed only in a second; and nobody is decoded
so far ahead that others run dry.

When the machine cannot keep one more utterance on time, that utterance waits for admission rather
than making the others late (see ``admission``), and is refused when it has waited too long.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE, silence
from speakahead.errors import Overloaded, SpeakaheadError, SynthesisFailed, describe_fault
from speakahead.kokoro.engine import Engine, Plan
from speakahead.scheduling.admission import CAUTION, START_S, Demand, feasible
from speakahead.scheduling.jobs import Job, PhonemeSource
from speakahead.scheduling.stream import (
    ADMISSION_LEAD_S,
    SECONDS_A_CHARACTER,
    Began,
    Queued,
    Rest,
    Step,
    Stream,
)

_log = logging.getLogger(__name__)

_COST_MEMORY_S = 20.0
"""Seconds of sound over which the measured cost is averaged."""

_RECHECK_S = 0.05
"""How often a waiting utterance is looked at again while no window is finished."""


class Policy(StrEnum):
    """DEADLINE: earliest playback deadline first. FIFO: whole sentences in order, the yardstick."""

    DEADLINE = "deadline"
    FIFO = "fifo"


@dataclass(slots=True)
class Counters:
    """What the scheduler has done so far.

    A window is late when its listener had nothing left to play before it came, although the
    utterance had begun; ``min_slack_s`` is the smallest time that was left.
    """

    windows: int = 0
    late_windows: int = 0
    min_slack_s: float = float("inf")
    failures: int = 0
    refused: int = 0
    busy_s: float = 0.0
    audio_s: float = 0.0


class Scheduler[P: Plan]:
    """Decodes windows for all streams on a few worker threads."""

    def __init__(
        self,
        engine: Engine[P],
        text: PhonemeSource,
        *,
        policy: Policy = Policy.DEADLINE,
        workers: int = 1,
        patience_s: float | None = 5.0,
        expected_cost: float = 0.45,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the worker threads.

        Args:
            engine: decodes.
            text: makes phonemes.
            policy: the order of the work.
            workers: windows decoded at a time, each on a thread of its own.
            patience_s: how long an utterance waits for admission before it is refused with
                ``Overloaded``; 0 refuses at once, None waits for ever.
            expected_cost: worker seconds for a second of sound, until it has been measured.
            clock: seconds, monotonic.
        """
        self.counters = Counters()
        self._workers = workers
        self._patience_s = patience_s
        self._cost = expected_cost
        self._unaccounted_s = 0.0  # worker time since sound came last
        self._engine = engine
        self._text = text
        self._policy = policy
        self._clock = clock
        self._streams: set[Stream] = set()
        self._changed = threading.Condition()
        self._closing = False
        self._threads = [
            threading.Thread(target=self._work, name=f"speakahead-worker-{i}", daemon=True)
            for i in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def open(self, *, ahead_s: float | None = None, max_unsent_s: float = 10.0) -> Stream:
        """A new stream.

        Args:
            ahead_s: decode no further than this ahead of real-time playback; None: no limit.
            max_unsent_s: sound that may wait to be passed on; bounds memory for a slow reader.
        """
        stream = Stream(self, ahead_s, round(max_unsent_s * SAMPLE_RATE))  # type: ignore[arg-type]
        with self._changed:
            if self._closing:
                raise SynthesisFailed("The server is shutting down.")
            self._streams.add(stream)
        return stream

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    @property
    def waiting(self) -> int:
        """Streams whose utterance waits for admission."""
        with self._changed:
            return sum(bool(s._queue) and not s._admitted for s in self._streams)

    @property
    def queued(self) -> int:
        """Sentences that are not decoded to their end."""
        with self._changed:
            return sum(len(s._queue) for s in self._streams)

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be decoded or is being decoded."""
        with self._changed:
            return not any(s._queue or s._busy for s in self._streams)

    @property
    def alive(self) -> bool:
        """Whether the worker threads run; they end only when closed, unless there is a fault."""
        return not self._closing and all(thread.is_alive() for thread in self._threads)

    def close(self, timeout_s: float = 5.0) -> None:
        """Drop all work and end the worker threads."""
        with self._changed:
            self._closing = True
            for stream in self._streams:
                self._drop(stream)
            self._streams.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(timeout_s)

    # -- called through Stream -----------------------------------------------------------------

    def _submit(self, stream: Stream, job: Job) -> None:
        with self._changed:
            if stream not in self._streams:
                raise SynthesisFailed("The stream is closed.")
            guess_s = len(job.text) * SECONDS_A_CHARACTER / job.speed
            now = self._clock()
            if not stream._queue and stream._plays_until <= now:
                stream._admitted = False  # it has been played to its end
            stream._admitted = stream._admitted or job.begun
            stream._queue.append(Queued(job, now, guess_s))
            self._changed.notify()

    def _sent(self, stream: Stream, samples: int) -> None:
        with self._changed:
            stream._unsent = max(0, stream._unsent - samples)
            self._changed.notify()

    def _withdraw(self, stream: Stream, jobs: Collection[Job], unheard_s: float) -> None:
        with self._changed:
            if stream._queue and stream._queue[0].job in jobs:
                stream._generation += 1  # its step under way comes to nothing
            stream._queue = deque(queued for queued in stream._queue if queued.job not in jobs)
            stream._plays_until = self._clock() + unheard_s if unheard_s else float("-inf")
            if not stream._queue and not unheard_s:
                stream._admitted = False
            self._changed.notify()

    def _close(self, stream: Stream) -> None:
        with self._changed:
            self._drop(stream)
            self._streams.discard(stream)

    def _drop(self, stream: Stream) -> None:
        stream._queue.clear()
        stream._generation += 1
        stream._unsent = 0
        stream._plays_until = float("-inf")
        stream._admitted = False

    # -- worker threads ------------------------------------------------------------------------

    def _work(self) -> None:
        """A worker's life. It outlives any fault: that of a step ends its sentence, no more."""
        picked: tuple[Stream, Queued, int] | None = None
        while True:
            try:
                if picked is not None:
                    self._settle(*picked, None, SynthesisFailed("The engine was interrupted."))
                    picked = None
                picked = self._pick()
                if picked is None:
                    return
                picked[1].context.run(self._take_turn, *picked)
                picked = None
            except BaseException as fault:
                _log.error("a worker was interrupted: %s", describe_fault(fault))

    def _take_turn(self, stream: Stream, queued: Queued, generation: int) -> None:
        """Run one step of a stream, and pass its outcome on."""
        began_at = self._clock()
        outcome: Step = None
        failure: SpeakaheadError | None = None
        try:
            if queued.steps is None:
                queued.steps = self._steps(stream, queued.job)
            outcome = next(queued.steps, None)
        except SpeakaheadError as error:
            failure = error
        except Exception as fault:
            _log.error("synthesis failed: %s", describe_fault(fault))
            failure = SynthesisFailed("This sentence could not be synthesised.")
        spent_s = self._clock() - began_at
        with self._changed:
            self.counters.busy_s += spent_s
            self._unaccounted_s += spent_s
        self._settle(stream, queued, generation, outcome, failure)

    def _pick(self) -> tuple[Stream, Queued, int] | None:
        """Wait for the step that is to run next; None when closing."""
        with self._changed:
            while not self._closing:
                now = self._clock()
                ready_at = {stream: stream._ready_at(now) for stream in self._streams}
                ready = sorted((s for s, at in ready_at.items() if at <= now), key=self._urgency)
                for stream in ready:
                    if self._admit(stream, now):
                        stream._busy = True
                        return stream, stream._queue[0], stream._generation
                soonest = min((at for at in ready_at.values() if at > now), default=float("inf"))
                if ready:
                    soonest = min(soonest, now + _RECHECK_S)
                self._changed.wait(None if soonest == float("inf") else soonest - now)
            return None

    def _admit(self, stream: Stream, now: float) -> bool:
        """Whether the stream may be worked on; refuses what has waited for too long.

        A stream is admitted for as long as it has sound to play or work to do, and as it goes on
        with an utterance, so that what has begun is never held up by what came later.
        """
        if stream._admitted or self._policy is Policy.FIFO:
            return True
        speaking = (s for s in self._streams if s is not stream and s._counts(now))
        others = [demand for s in speaking if (demand := s._demand(now)).remaining_s > 0]
        remaining_s = stream._demand(now).remaining_s + START_S
        demands = [*(each.by_window() for each in others), Demand(ADMISSION_LEAD_S, remaining_s)]
        if not others or feasible(demands, cost=CAUTION * self._cost, workers=self._workers):
            stream._admitted = True
            return True
        waited = now - stream._queue[0].submitted_at
        if self._patience_s is not None and waited >= self._patience_s:
            self.counters.refused += 1
            queued = stream._queue.popleft()
            longest = max(d.ahead_s + d.remaining_s for d in others)
            queued.context.run(
                queued.job.listener.failed,
                Overloaded(
                    "The server speaks for as many as it can keep on time; try again later.",
                    retry_after_s=max(1.0, longest),
                ),
            )
        return False

    def _urgency(self, stream: Stream) -> float:
        if self._policy is Policy.FIFO:
            return stream._queue[0].submitted_at
        return stream._deadline()

    def _steps(self, stream: Stream, job: Job) -> Iterator[Step]:
        """Speak a sentence; each step is short, and the worker may switch streams after it."""
        sound = False
        pieces = self._text.phonemes(job.text, job.start, job.language, job.pronunciations)
        for phonemes in pieces:
            ahead_s = stream._plays_until - self._clock()
            plan = self._engine.plan(phonemes, job.voice, job.speed, ahead_s)
            if plan.samples == 0:
                continue
            yield Began(plan.words, plan.samples)
            for window in plan.windows:
                sound = True
                yield self._engine.decode(plan, window)
        if sound and job.pause_s > 0:
            yield Rest(silence(job.pause_s))

    def _settle(
        self,
        stream: Stream,
        queued: Queued,
        generation: int,
        outcome: Step,
        failure: SpeakaheadError | None,
    ) -> None:
        """Pass a step's outcome on; None is the sentence's end.

        The listener is called with the lock held, so nothing comes after ``withdraw`` returns.
        """
        with self._changed:
            stream._busy = False
            self._changed.notify()
            stale = stream._generation != generation
            if stale or not stream._queue or stream._queue[0] is not queued:
                return
            listener = queued.job.listener
            if failure is not None:
                self.counters.failures += 1
                stream._queue.popleft()
                listener.failed(failure)
            elif outcome is None:
                stream._queue.popleft()
                listener.done()
            elif isinstance(outcome, Began):
                queued.remaining_s = outcome.samples / SAMPLE_RATE
                listener.began(outcome.words)
            elif isinstance(outcome, Rest):
                self._deliver(stream, queued, outcome.samples)
            else:
                self._account(queued, len(outcome))
                self._deliver(stream, queued, outcome)

    def _account(self, queued: Queued, samples: int) -> None:
        """Learn from a window what sound costs."""
        seconds = samples / SAMPLE_RATE
        self.counters.audio_s += seconds
        queued.remaining_s = max(0.0, queued.remaining_s - seconds)
        weight = min(1.0, seconds / _COST_MEMORY_S)
        self._cost += weight * (self._unaccounted_s / seconds - self._cost)
        self._unaccounted_s = 0.0

    def _deliver(self, stream: Stream, queued: Queued, samples: NDArray[np.float32]) -> None:
        now = self._clock()
        self.counters.windows += 1
        if stream._plays_until > queued.submitted_at:  # the listener had been promised more
            slack = stream._plays_until - now
            self.counters.min_slack_s = min(self.counters.min_slack_s, slack)
            self.counters.late_windows += slack < 0
        stream._plays_until = max(stream._plays_until, now) + len(samples) / SAMPLE_RATE
        stream._unsent += len(samples)
        queued.job.listener.audio(samples)
