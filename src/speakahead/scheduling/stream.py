"""One listener's queue of work, and the model of what it has to play."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speakahead.kokoro.engine import Plan, WordTiming
from speakahead.scheduling.admission import Demand
from speakahead.scheduling.jobs import Job

if TYPE_CHECKING:
    from speakahead.scheduling.scheduler import Scheduler

SECONDS_A_CHARACTER = 0.07
"""How long a character of text sounds, about; used until a sentence's prosody is known."""

ADMISSION_LEAD_S = 0.35
"""A new utterance is admitted if its sound can begin this late and then be on time. Until then
the windows of others that are needed sooner go first."""

_DRY_S = 1.0
"""So long a place is kept for a stream that has run dry."""

PROSODY_LEAD_S = 0.2
"""A sentence that has not begun is due this much earlier: its prosody comes before its sound."""


@dataclass(slots=True)
class Began:
    """A sentence's prosody is known."""

    words: tuple[WordTiming, ...]
    samples: int


@dataclass(frozen=True, slots=True)
class Rest:
    """The silence after a sentence, which costs nothing."""

    samples: NDArray[np.float32]


type Step = Began | Rest | NDArray[np.float32] | None
"""What one turn of a worker gives: prosody, or a window of sound."""


@dataclass(slots=True, eq=False)
class Queued:
    """A job in a stream's queue."""

    job: Job
    submitted_at: float
    remaining_s: float
    """Seconds of sound that are still to be decoded, estimated from the text at first."""
    steps: Iterator[Step] | None = None
    context: Context = field(default_factory=copy_context)
    """What its submitter had in its context variables: the worker's logs name its request."""


@dataclass(slots=True, eq=False)
class Stream:
    """One listener's queue. Made by ``Scheduler.open``; every method may be called anywhere."""

    _scheduler: Scheduler[Plan]
    _ahead_s: float | None
    _max_unsent: int
    _queue: deque[Queued] = field(default_factory=deque)
    _busy: bool = False
    _generation: int = 0
    _plays_until: float = float("-inf")
    _unsent: int = 0
    _admitted: bool = False
    _coming_s: float = 0.0

    def submit(self, job: Job) -> None:
        """Queue a sentence behind the stream's earlier ones."""
        self._scheduler._submit(self, job)

    def sent(self, samples: int) -> None:
        """The listener's door has passed on so many samples: room for as many more."""
        self._scheduler._sent(self, samples)

    def expect(self, characters: int) -> None:
        """So much more text will be submitted; admission of others takes account of it."""
        self._coming_s = characters * SECONDS_A_CHARACTER

    def withdraw(self, jobs: Collection[Job], unheard_s: float) -> None:
        """Drop some jobs. After this returns, their listeners are not called again.

        ``unheard_s`` is how many seconds of delivered sound the listener still has to play.
        """
        self._scheduler._withdraw(self, jobs, unheard_s)

    def rebase(self, unheard_s: float) -> None:
        """The listener has this many seconds of delivered sound to play from now on."""
        self._scheduler._withdraw(self, (), unheard_s)

    def close(self) -> None:
        """Drop all jobs, and forget the stream."""
        self._scheduler._close(self)

    def _deadline(self) -> float:
        head = self._queue[0]
        due = max(self._plays_until, head.submitted_at + ADMISSION_LEAD_S)
        return due if head.steps is not None else due - PROSODY_LEAD_S

    def _counts(self, now: float) -> bool:
        """Whether others have to leave it its share.

        Who has nothing to decode or to play, and waits for text, counts for a moment only: the
        text may be long in coming, or never come.
        """
        return self._admitted and (bool(self._queue) or self._plays_until + _DRY_S > now)

    def _demand(self, now: float) -> Demand:
        if self._unsent >= self._max_unsent:
            return Demand(0.0, 0.0)  # its reader has stalled, and so does its speech
        queued_s = sum(queued.remaining_s for queued in self._queue)
        return Demand(self._plays_until - now, queued_s + self._coming_s)

    def _ready_at(self, now: float) -> float:
        """From when on the stream's next step may run; infinity while it may not."""
        if self._busy or not self._queue or self._unsent >= self._max_unsent:
            return float("inf")
        return now if self._ahead_s is None else self._plays_until - self._ahead_s
