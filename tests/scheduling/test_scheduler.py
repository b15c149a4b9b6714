"""The scheduler with an engine of known cost and a clock that the test moves."""

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from speakahead.audio.pcm import SAMPLE_RATE
from speakahead.errors import InvalidRequest, SpeakaheadError, SynthesisFailed
from speakahead.kokoro.engine import Window, WordTiming
from speakahead.scheduling.jobs import Job
from speakahead.scheduling.scheduler import Policy, Scheduler
from speakahead.scheduling.stream import Stream
from speakahead.text.phonemes import Phonemes

WINDOW = SAMPLE_RATE // 2


@dataclass(frozen=True)
class FakePlan:
    name: str
    windows: tuple[Window, ...]
    words: tuple[WordTiming, ...] = ()

    @property
    def samples(self) -> int:
        return self.windows[-1].end if self.windows else 0


class FakeEngine:
    """Half a second of sound a window; as many windows as the text has letters."""

    voices = ("v",)

    def __init__(self) -> None:
        self.decoded: list[str] = []
        self.gate = threading.Semaphore(0)
        self.entered = threading.Semaphore(0)

    def plan(self, phonemes: Phonemes, voice: str, speed: float, ahead_s: float = 0.0) -> FakePlan:
        if phonemes.text == "explode":
            raise RuntimeError("secret words")
        if phonemes.text == "refuse":
            raise InvalidRequest("Not this.")
        windows = [Window(i * WINDOW, (i + 1) * WINDOW) for i in range(len(phonemes.text))]
        return FakePlan(phonemes.text[0], tuple(windows))

    def decode(self, plan: FakePlan, window: Window) -> NDArray[np.float32]:
        self.entered.release()
        assert self.gate.acquire(timeout=10)
        self.decoded.append(f"{plan.name}{window.start // WINDOW}")
        return np.ones(window.end - window.start, np.float32)

    def warm(self) -> None:
        pass

    def let(self, windows: int) -> None:
        """Allow so many more windows, and wait until they are decoded."""
        want = len(self.decoded) + windows
        self.gate.release(windows)
        wait_for(lambda: len(self.decoded) >= want)


class FakeText:
    def phonemes(
        self, text: str, start: int, language: str, pronunciations: object = ()
    ) -> list[Phonemes]:
        return [Phonemes(text, (), language)] if text else []


@dataclass
class Recorder:
    """A listener that writes down what it hears."""

    heard: list[str] = field(default_factory=list)
    samples: int = 0
    errors: list[SpeakaheadError] = field(default_factory=list)
    job: Job | None = None

    def began(self, words: tuple[WordTiming, ...]) -> None:
        self.heard.append("began")

    def audio(self, samples: NDArray[np.float32]) -> None:
        self.heard.append("audio")
        self.samples += len(samples)

    def done(self) -> None:
        self.heard.append("done")

    def failed(self, error: SpeakaheadError) -> None:
        self.heard.append("failed")
        self.errors.append(error)


def jobs(*recorders: Recorder) -> list[Job]:
    return [recorder.job for recorder in recorders if recorder.job is not None]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.001)


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Rig:
    engine: FakeEngine
    clock: Clock
    scheduler: Scheduler[FakePlan]

    def submit(
        self, stream: Stream, text: str, pause_s: float = 0.0, *, begun: bool = False
    ) -> Recorder:
        recorder = Recorder()
        recorder.job = Job(text, 0, "en-us", "v", 1.0, pause_s, recorder, begun=begun)
        stream.submit(recorder.job)
        return recorder


def make_rig(policy: Policy = Policy.DEADLINE, cost: float = 0.01) -> Iterator[Rig]:
    engine, clock = FakeEngine(), Clock()
    scheduler: Scheduler[FakePlan] = Scheduler(
        engine, FakeText(), policy=policy, patience_s=2.0, expected_cost=cost, clock=clock
    )
    yield Rig(engine, clock, scheduler)
    engine.gate.release(1000)
    scheduler.close()


@pytest.fixture
def rig() -> Iterator[Rig]:
    yield from make_rig()


@pytest.fixture
def fifo() -> Iterator[Rig]:
    yield from make_rig(Policy.FIFO)


@pytest.fixture
def busy_rig() -> Iterator[Rig]:
    """A machine that can keep one stream on time, and no more."""
    yield from make_rig(cost=3.0)


def test_a_job_is_spoken_with_its_pause(rig: Rig) -> None:
    heard = rig.submit(rig.scheduler.open(), "ab", pause_s=0.25)
    rig.engine.let(2)
    wait_for(lambda: heard.heard[-1:] == ["done"])
    assert heard.heard == ["began", "audio", "audio", "audio", "done"]
    assert heard.samples == 2 * WINDOW + SAMPLE_RATE // 4


def test_nothing_to_say_is_done_without_sound_or_pause(rig: Rig) -> None:
    heard = rig.submit(rig.scheduler.open(), "", pause_s=0.25)
    wait_for(lambda: heard.heard == ["done"])


def test_a_new_utterance_goes_ahead_of_windows_that_are_needed_later(rig: Rig) -> None:
    long, new = rig.scheduler.open(), rig.scheduler.open()
    rig.submit(long, "aaaaaa")
    rig.engine.let(3)  # a is 1.5 s ahead of its listener, and its 4th window is under way
    for _ in range(4):
        assert rig.engine.entered.acquire(timeout=5)
    rig.submit(new, "bb")
    rig.engine.let(5)
    assert rig.engine.decoded == ["a0", "a1", "a2", "a3", "b0", "b1", "a4", "a5"]


def test_fifo_finishes_the_earlier_sentence_first(fifo: Rig) -> None:
    long, new = fifo.scheduler.open(), fifo.scheduler.open()
    fifo.submit(long, "aaaa")
    fifo.engine.let(1)
    fifo.clock.now += 0.1
    fifo.submit(new, "b")
    fifo.engine.let(4)
    assert fifo.engine.decoded == ["a0", "a1", "a2", "a3", "b0"]


def test_a_stream_gets_no_further_ahead_than_allowed(rig: Rig) -> None:
    stream = rig.scheduler.open(ahead_s=1.2)
    rig.submit(stream, "aaaaaa")
    rig.engine.gate.release(100)
    wait_for(lambda: len(rig.engine.decoded) == 3)  # 0, 0.5 and 1.0 s ahead are below 1.2
    time.sleep(0.05)
    assert len(rig.engine.decoded) == 3
    rig.clock.now += 0.5
    stream.sent(0)  # wakes the worker, as any change does
    wait_for(lambda: len(rig.engine.decoded) == 4)


def test_sound_that_nobody_takes_holds_the_stream_back(rig: Rig) -> None:
    stream = rig.scheduler.open(max_unsent_s=1.0)
    rig.submit(stream, "aaaaaa")
    rig.engine.gate.release(100)
    wait_for(lambda: len(rig.engine.decoded) == 2)
    time.sleep(0.05)
    assert len(rig.engine.decoded) == 2
    stream.sent(WINDOW)
    wait_for(lambda: len(rig.engine.decoded) == 3)


def test_withdrawing_drops_the_window_that_is_being_decoded(rig: Rig) -> None:
    stream = rig.scheduler.open()
    heard = rig.submit(stream, "aaaa")
    queued = rig.submit(stream, "bbbb")
    assert rig.engine.entered.acquire(timeout=5)
    stream.withdraw(jobs(heard, queued), 0.0)
    rig.engine.gate.release(1)
    later = rig.submit(stream, "c")
    rig.engine.gate.release(1)
    wait_for(lambda: later.heard[-1:] == ["done"])
    assert heard.heard == ["began"]
    assert queued.heard == []
    assert rig.engine.decoded == ["a0", "c0"]


@pytest.mark.parametrize(("text", "code"), [("explode", "synthesis_failed"), ("refuse", None)])
def test_a_failing_job_is_reported_and_the_next_one_works(
    rig: Rig, text: str, code: str | None
) -> None:
    stream = rig.scheduler.open()
    bad, good = rig.submit(stream, text), rig.submit(stream, "g")
    rig.engine.let(1)
    wait_for(lambda: good.heard[-1:] == ["done"])
    (error,) = bad.errors
    assert "secret" not in error.message
    assert error.code == (code or "invalid_request")


def test_late_windows_are_counted(rig: Rig) -> None:
    stream = rig.scheduler.open()
    heard = rig.submit(stream, "aaa")
    rig.engine.let(1)
    wait_for(lambda: "audio" in heard.heard)
    rig.clock.now += 0.2
    rig.engine.let(1)
    wait_for(lambda: rig.scheduler.counters.windows == 2)
    assert rig.scheduler.counters.late_windows == 0
    assert rig.scheduler.counters.min_slack_s == pytest.approx(0.3)
    rig.clock.now += 2.0
    rig.engine.let(1)
    wait_for(lambda: rig.scheduler.counters.windows == 3)
    assert rig.scheduler.counters.late_windows == 1


def test_a_closed_stream_takes_no_job(rig: Rig) -> None:
    stream = rig.scheduler.open()
    stream.close()
    assert rig.scheduler.streams == 0
    with pytest.raises(SynthesisFailed):
        rig.submit(stream, "a")


def test_closing_ends_the_threads() -> None:
    engine = FakeEngine()
    before = threading.active_count()
    scheduler: Scheduler[FakePlan] = Scheduler(engine, FakeText(), workers=3)
    assert threading.active_count() == before + 3
    assert scheduler.alive
    scheduler.close()
    assert not scheduler.alive
    assert threading.active_count() == before
    with pytest.raises(SynthesisFailed):
        scheduler.open()


def test_an_utterance_waits_rather_than_make_another_late(busy_rig: Rig) -> None:
    first, second = busy_rig.scheduler.open(), busy_rig.scheduler.open()
    speaking = busy_rig.submit(first, "a" * 30)
    busy_rig.engine.let(1)
    waiting = busy_rig.submit(second, "b" * 30)
    busy_rig.engine.let(3)
    assert busy_rig.engine.decoded == ["a0", "a1", "a2", "a3"]
    assert waiting.heard == []
    first.withdraw(jobs(speaking), 0.0)
    busy_rig.engine.gate.release(2)
    wait_for(lambda: "b0" in busy_rig.engine.decoded)


def test_text_that_is_still_to_come_counts(busy_rig: Rig) -> None:
    first, second = busy_rig.scheduler.open(), busy_rig.scheduler.open()
    busy_rig.submit(first, "aaaaaaaa")
    first.expect(1000)
    busy_rig.engine.let(7)  # 3.5 s ahead, and half a second left
    waiting = busy_rig.submit(second, "b")
    busy_rig.engine.let(1)
    assert waiting.heard == []
    first.expect(0)
    busy_rig.engine.gate.release(1)
    wait_for(lambda: waiting.heard[-1:] == ["done"])


def test_a_listener_for_whom_all_is_decoded_keeps_nobody_out(busy_rig: Rig) -> None:
    first, second = busy_rig.scheduler.open(), busy_rig.scheduler.open()
    busy_rig.submit(first, "aaaa")
    busy_rig.engine.let(4)  # its listener still hears it
    busy_rig.submit(second, "b" * 30)
    busy_rig.engine.let(1)
    assert busy_rig.engine.decoded[-1] == "b0"


def test_an_utterance_that_waited_too_long_is_refused(busy_rig: Rig) -> None:
    first, second = busy_rig.scheduler.open(), busy_rig.scheduler.open()
    speaking = busy_rig.submit(first, "a" * 30)
    busy_rig.engine.let(1)
    waiting = busy_rig.submit(second, "b" * 30)
    busy_rig.clock.now += 2.5
    busy_rig.engine.let(1)
    wait_for(lambda: waiting.heard == ["failed"])
    (error,) = waiting.errors
    assert error.code == "overloaded"
    assert error.retryable
    assert error.retry_after_s is not None
    assert error.retry_after_s >= 1.0
    assert busy_rig.scheduler.counters.refused == 1
    assert speaking.errors == []


def test_a_stream_that_is_heard_is_never_refused(busy_rig: Rig) -> None:
    first, second = busy_rig.scheduler.open(), busy_rig.scheduler.open()
    busy_rig.submit(first, "aaa")
    busy_rig.engine.let(3)
    more = busy_rig.submit(first, "c" * 30)  # while its listener still hears the first
    waiting = busy_rig.submit(second, "b" * 30)
    busy_rig.clock.now += 1.0
    busy_rig.engine.let(2)
    assert busy_rig.engine.decoded[3:] == ["c0", "c1"]
    assert more.errors == []
    assert waiting.heard == []


def test_a_stalled_reader_does_not_keep_others_out(busy_rig: Rig) -> None:
    stalled, other = busy_rig.scheduler.open(max_unsent_s=1.0), busy_rig.scheduler.open()
    busy_rig.submit(stalled, "a" * 30)
    busy_rig.engine.let(2)
    busy_rig.clock.now += 60.0
    heard = busy_rig.submit(other, "bb")
    busy_rig.engine.let(2)
    wait_for(lambda: heard.heard[-1:] == ["done"])


def test_one_who_stopped_writing_does_not_keep_others_out(busy_rig: Rig) -> None:
    silent, other = busy_rig.scheduler.open(), busy_rig.scheduler.open()
    busy_rig.submit(silent, "aa")
    silent.expect(1000)
    busy_rig.engine.let(2)
    heard = busy_rig.submit(other, "bb")
    busy_rig.clock.now += 1.5  # half a second after its sound, more may come
    time.sleep(0.1)
    assert heard.heard == []
    busy_rig.clock.now += 1.0
    busy_rig.engine.let(2)
    wait_for(lambda: heard.heard[-1:] == ["done"])


def test_an_utterance_goes_on_after_a_pause_of_its_writer(busy_rig: Rig) -> None:
    first, second = busy_rig.scheduler.open(), busy_rig.scheduler.open()
    busy_rig.submit(first, "aa")
    busy_rig.engine.let(2)
    busy_rig.clock.now += 60.0
    other = busy_rig.submit(second, "b" * 30)
    busy_rig.engine.let(1)
    more = busy_rig.submit(first, "cc", begun=True)
    fresh = busy_rig.submit(busy_rig.scheduler.open(), "dd")
    busy_rig.clock.now += 2.5  # longer than patience
    busy_rig.engine.let(6)
    wait_for(lambda: more.heard[-1:] == ["done"])
    wait_for(lambda: fresh.heard == ["failed"])
    assert other.errors == []


def test_other_jobs_of_the_stream_survive_a_withdrawal(rig: Rig) -> None:
    stream = rig.scheduler.open()
    speaking, dropped, kept = (rig.submit(stream, text) for text in ("aa", "bb", "cc"))
    assert rig.engine.entered.acquire(timeout=5)
    stream.withdraw(jobs(dropped), 0.5)
    rig.engine.let(4)
    wait_for(lambda: kept.heard[-1:] == ["done"])
    assert speaking.heard == ["began", "audio", "audio", "done"]
    assert dropped.heard == []
    assert rig.engine.decoded == ["a0", "a1", "c0", "c1"]


def test_after_an_interruption_the_next_utterance_is_due_at_once(rig: Rig) -> None:
    interrupted, other = rig.scheduler.open(), rig.scheduler.open()
    dropped = rig.submit(interrupted, "aaaaaa")
    rig.engine.let(4)  # 2 s ahead, and the fifth window is under way
    rig.submit(other, "bbb")
    interrupted.withdraw(jobs(dropped), 0.0)
    rig.clock.now -= 0.001
    rig.submit(interrupted, "cc")
    rig.engine.let(3)
    assert rig.engine.decoded[4:7] == ["a4", "c0", "b0"]


def test_released_sound_is_played_from_then_on(rig: Rig) -> None:
    stream = rig.scheduler.open(ahead_s=1.2)
    rig.submit(stream, "aaaaaa")
    rig.engine.gate.release(100)
    wait_for(lambda: len(rig.engine.decoded) == 3)
    rig.clock.now += 1.5  # held: none of it was played in that time
    stream.rebase(1.5)
    time.sleep(0.05)
    assert len(rig.engine.decoded) == 3
    rig.clock.now += 0.5
    stream.sent(0)
    wait_for(lambda: len(rig.engine.decoded) == 4)


def test_a_worker_that_is_killed_fails_its_sentence_and_lives_on(rig: Rig) -> None:
    stream = rig.scheduler.open()
    bad = rig.submit(stream, "a")
    assert rig.engine.entered.acquire(timeout=5)
    (worker,) = rig.scheduler._threads
    assert worker.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(worker.ident), ctypes.py_object(SystemExit)
    )
    rig.engine.gate.release(1)
    wait_for(lambda: bad.heard[-1:] == ["failed"])
    assert bad.errors[0].code == "synthesis_failed"
    good = rig.submit(stream, "g")
    rig.engine.gate.release(1)
    wait_for(lambda: good.heard[-1:] == ["done"])
    assert rig.scheduler.alive
