"""The load benchmark: what a listener hears, and what it comes to."""

import asyncio
import json
import random

import numpy as np
import pytest

from speakahead.backends.websocket import WebSocketBackend
from speakahead.bench import load
from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.bench.load import Report, Tally, summary
from tests.bench.test_hop import Scripted
from tests.server.rig import serving


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
    report = Report([summary(2, "deadline", tally, (1.0, 2.0))], 6.0)
    result = complete(json.loads(json.dumps(report.as_dict())))
    (run,) = result["runs"]
    assert run["cost"] == 0.5
    assert run["first_sounds_ms"] == sorted(run["first_sounds_ms"])
    assert 0 <= run["on_time_share"] <= 1
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
        summary(1, "fifo", tally, (1.0, 1.0))


def test_other_errors_are_counted_by_code() -> None:
    tally = Tally()
    asyncio.run(load.converse(Scripted(fails=True), 1, 2.2, 3, tally))  # type: ignore[arg-type]
    assert "synthesis_failed" in tally.errors


def test_refused_and_unheard_turns_count_as_not_on_time() -> None:
    tally = Tally(
        first_sound_s=[0.2, 0.4, 0.9],
        unheard_s=[7.0],
        refused=1,
        frames=10,
        gaps_between_s=[0.2],
        gaps_within_s=[0.1, 0.3],
        turns=3,
        errors=["internal"],
    )
    run = summary(4, "deadline", tally, (3.0, 6.0))
    assert run.on_time_share == 0.4
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
