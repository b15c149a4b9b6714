"""The load benchmark: what a listener hears, and what it comes to."""

import asyncio
import contextlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from speakahead.backends.websocket import WebSocketBackend
from speakahead.bench import load
from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.bench.load import LoadRun, Report, ServerOptions, Tally, summary
from speakahead.errors import Overloaded
from speakahead.session.events import Audio, Event, Failed, SentenceStarted, UtteranceCompleted
from speakahead.text.chunker import Boundary, Sentence
from speakahead.text.spans import Span
from tests.bench.test_hop import Scripted
from tests.server.rig import serving


def run_of(tally: Tally, spent: Sequence[float] = (1.0, 2.0)) -> LoadRun:
    return summary(2, "deadline", tally, spent, seconds=6.0, server=ServerOptions())


def sound(level: float = 0.5, samples: int = 2400) -> Audio:
    return Audio("u", np.full(samples, level, np.float32))


@dataclass
class Scene(Scripted):
    """A back end that answers each utterance with these events, each after so many seconds."""

    events: Sequence[tuple[float, Event]] = field(default_factory=tuple)

    async def _speak(self) -> None:
        for wait_s, event in self.events:
            await asyncio.sleep(wait_s)
            self._events.put_nowait(event)


def heard_of(*events: tuple[float, Event]) -> Tally:
    """One conversation with such a back end, of one turn: the next would begin too late."""
    tally = Tally()
    asyncio.run(load.converse(Scene(events=events), 1, 1.6, 2, tally))  # type: ignore[arg-type]
    assert tally.asked == 1
    return tally


def test_conversations_over_a_real_socket() -> None:
    async def work() -> Tally:
        tally = Tally()
        async with serving() as rig:
            backend = WebSocketBackend(f"http://127.0.0.1:{rig.port}")
            await load.converse(backend, 2, 4.0, 1, tally)
        return tally

    tally = asyncio.run(work())
    assert not tally.errors
    assert tally.first_sound_s
    assert tally.frames > 0
    report = Report([run_of(tally)], 6.0)
    result = complete(json.loads(json.dumps(report.as_dict())))
    (run,) = result["runs"]
    assert run["cost"] == 0.5
    assert run["first_sounds_ms"] == sorted(run["first_sounds_ms"])
    assert 0 <= run["on_time_share"] <= 1
    assert 0 < run["served"] <= run["asked"]
    assert run["first_sound_ms"]["n"] == len(run["first_sounds_ms"])
    assert run["seconds"] == 6.0
    assert run["server"] == {"patience_s": 5.0, "workers": 1, "threads": 2}
    assert "deadline" in report.table()


def test_a_listener_who_runs_dry_has_gaps() -> None:
    """Pieces of a tenth of a second that come more slowly than they play."""
    tally = Tally()
    backend = Scripted(piece_s=0.15, pieces=5)
    asyncio.run(load.converse(backend, 1, 3.2, 3, tally))  # type: ignore[arg-type]
    assert tally.turns >= 1
    assert len(tally.gaps_within_s) >= 3
    assert not tally.gaps_between_s
    assert max(tally.gaps_within_s) >= 0.03


def test_a_server_that_answers_nobody_does_not_look_good() -> None:
    tally = Tally()
    backend = Scripted(piece_s=60.0)
    asyncio.run(load.converse(backend, 1, 2.5, 3, tally))  # type: ignore[arg-type]
    assert len(tally.unheard_s) == 1
    with pytest.raises(MeasurementFailed, match="No turn was heard"):
        run_of(tally)


def test_other_errors_are_counted_by_code() -> None:
    tally = Tally()
    asyncio.run(load.converse(Scripted(fails=True), 1, 2.2, 3, tally))  # type: ignore[arg-type]
    assert "synthesis_failed" in tally.errors


def test_a_load_under_which_everything_failed_says_how() -> None:
    with pytest.raises(MeasurementFailed, match=r"failed with: internal, synthesis_failed\."):
        run_of(Tally(asked=2, errors=["synthesis_failed", "internal", "internal"]))


def test_a_turn_that_is_heard_and_then_refused_is_broken_off() -> None:
    tally = heard_of((0.0, sound()), (0.0, Failed("u", Overloaded("Full."))))
    assert (tally.broken_off, tally.refused, tally.turns) == (1, 0, 0)
    assert len(tally.first_sound_s) == 1
    assert tally.errors == []
    run = run_of(tally)
    assert run.broken_off == 1
    head, row = Report([run], 6.0).table().splitlines()
    assert head.endswith("refused  broken off  errors")
    assert row.split()[-3:] == ["0", "1", "0"]


def test_a_turn_that_is_refused_before_it_is_heard_is_refused() -> None:
    tally = heard_of((0.0, Failed("u", Overloaded("Full."))))
    assert (tally.broken_off, tally.refused) == (0, 1)
    assert tally.first_sound_s == []


SECOND = SentenceStarted("u", Sentence("Two.", 1, Span(5, 9), Boundary.SENTENCE), 0.3, ())


def test_the_pause_between_sentences_is_no_frame() -> None:
    """It costs nothing and is never late: as a frame it would halve the share of late ones."""
    tally = heard_of(
        (0.0, sound()),
        (0.0, sound()),
        (0.0, sound(0.0, 1200)),
        (0.0, SECOND),
        (0.3, sound()),
        (0.0, sound(0.0, 1200)),
        (0.0, UtteranceCompleted("u", 0.4, 0.4)),
    )
    assert tally.turns == 1
    assert tally.frames == 2
    (gap,) = tally.gaps_between_s
    assert 0.0 < gap < 0.2
    assert not tally.gaps_within_s


def test_the_pauses_of_a_real_server_are_no_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these sentences is three windows and a pause."""
    monkeypatch.setattr(load, "SENTENCES", ("Go.",) * len(load.SENTENCES))
    rng = random.Random("2 0")
    assert rng.uniform(0, 2) < 1.5, "the turn begins in time"
    sentences = len(load.turn_of(rng))

    async def work() -> Tally:
        tally = Tally()
        async with serving() as rig:
            backend = WebSocketBackend(f"http://127.0.0.1:{rig.port}")
            await load.converse(backend, 1, 4.0, 2, tally)
        return tally

    tally = asyncio.run(work())
    assert (tally.asked, tally.turns) == (1, 1)
    assert tally.frames == 3 * sentences - 1


def test_a_pause_that_comes_late_makes_the_silence_longer() -> None:
    tally = heard_of(
        (0.0, sound()),
        (0.25, sound(0.0, 12_000)),
        (0.0, SECOND),
        (0.0, sound()),
        (0.0, UtteranceCompleted("u", 0.7, 0.3)),
    )
    assert tally.frames == 1
    (gap,) = tally.gaps_between_s
    assert gap >= 0.1


class Stand:
    """Stands in for a server process, which would need a model: it says who is under load."""

    def __init__(self, name: str) -> None:
        self.url = f"http://{name}.invalid"

    def metric(self, name: str) -> float:
        return len(URLS) * (1.0 if "decoding" in name else 2.0)


URLS: list[str] = []


@pytest.mark.parametrize(("sessions", "rounds"), [((1, 2), 1), ((4,), 2)])
def test_either_scheduler_is_under_load_first_in_turn(
    sessions: Sequence[int], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Sequence[str]] = []

    @contextlib.contextmanager
    def server_process(options: Sequence[str]) -> Iterator[Stand]:
        started.append(options)
        yield Stand(options[1])

    async def converse(
        backend: WebSocketBackend, sessions: int, seconds: float, seed: int, tally: Tally
    ) -> None:
        URLS.append(backend._url)
        tally.asked += 1
        tally.first_sound_s.append(0.1)

    monkeypatch.setattr(load, "server_process", server_process)
    monkeypatch.setattr(load, "converse", converse)
    URLS.clear()
    options = ServerOptions(patience_s=1.5, workers=3, threads=1)
    report = load.run(sessions, seconds=9.0, rounds=rounds, options=options)
    names = ["deadline" if "deadline" in url else "fifo" for url in URLS]
    assert names == ["deadline", "fifo", "fifo", "deadline"]
    assert [run.cost for run in report.runs] == [0.5] * len(report.runs)
    for arguments in started:
        text = " ".join(arguments)
        assert "--patience 1.5 --workers 3 --threads 1" in text
    for run in report.as_dict()["runs"]:
        assert run["seconds"] == 9.0
        assert run["server"] == {"patience_s": 1.5, "workers": 3, "threads": 1}


def test_refused_and_unheard_turns_count_as_not_on_time() -> None:
    tally = Tally(
        asked=6,
        first_sound_s=[0.2, 0.4, 0.9],
        unheard_s=[7.0],
        refused=1,
        frames=10,
        gaps_between_s=[0.2],
        gaps_within_s=[0.1, 0.3],
        turns=3,
        errors=["internal"],
    )
    run = run_of(tally)
    assert run.on_time_share == round(2 / 6, 4)
    assert (run.served, run.asked, run.first_sound_ms["n"]) == (3, 6, 4)
    table = Report([run], 6.0).table()
    assert "3/6" in table
    assert "1  (internal)" in table
    assert run.first_sound_ms["p95"] == pytest.approx(
        np.percentile([200, 400, 900, 7000], 95), abs=0.1
    )
    assert run.gaps_ms["within"] == {"count": 2, "median": 200.0, "worst": 300.0}
    assert run.gaps_ms["between"] == {"count": 1, "median": 200.0, "worst": 200.0}
    assert run.worst_gap_ms == 300.0
    assert run.late_share == 0.3
    assert run.errors == 1
    assert run.error_codes == ["internal"]


def test_turns_are_of_two_to_four_different_sentences() -> None:
    rng = random.Random(5)
    turns = [load.turn_of(rng) for _ in range(200)]
    assert {len(turn) for turn in turns} == {2, 3, 4}
    assert all(len(set(turn)) == len(turn) for turn in turns)
    assert all(1 <= load.pause_of(rng) <= 3 for _ in range(50))
