"""The simulation of instances: its rules, what it says, and that costs are measured."""

import inspect
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speakahead.bench import claims, fleet
from speakahead.bench.conversations import Costs, Rules, SentenceCost, WindowCost, simulate
from speakahead.bench.figures import MeasurementFailed, complete
from speakahead.bench.fleet import Point, extrapolate, measure_costs
from speakahead.bench.load import SENTENCES
from speakahead.scheduling import scheduler
from speakahead.server.settings import ServerSettings
from tests.server.rig import Engine, Text


def costs(rtf: float = 0.3, start_s: float = 0.05) -> Costs:
    """Sentences of three seconds in windows of half a second."""
    window = WindowCost(0.5, (0.5 * rtf,))
    small = WindowCost(0.2, (0.2 * rtf + 0.05,))
    opening = (small, *[window] * 5, WindowCost(0.3, (0.3 * rtf,)))
    each = SentenceCost(43, (start_s,), opening, (window,) * 6)
    return Costs((each,) * len(SENTENCES))


def test_the_rules_are_those_of_the_scheduler_and_the_server() -> None:
    rules = Rules()
    assert rules.recheck_s == scheduler._RECHECK_S
    assert rules.ahead_s == ServerSettings().ahead_s
    patience = inspect.signature(scheduler.Scheduler).parameters["patience_s"]
    assert rules.patience_s == patience.default


def test_one_conversation_hears_its_first_sound_after_prosody_and_a_window() -> None:
    outcome = simulate(costs(), 1, 300, random.Random(1))
    assert outcome.asked > 15
    assert {round(s, 6) for s in outcome.first_sound_s} == {round(0.05 + 0.11 + 0.005, 6)}
    assert outcome.late == 0
    assert outcome.refused == 0


def test_a_machine_that_is_too_slow_is_late() -> None:
    outcome = simulate(costs(rtf=1.5), 1, 300, random.Random(1))
    assert outcome.late > 0.5 * outcome.frames


def test_more_sessions_wait_longer_and_are_refused_rather_than_made_late() -> None:
    outcomes = [simulate(costs(), n, 300, random.Random(n)) for n in (1, 3, 12)]
    waits = [sum(o.first_sound_s) / len(o.first_sound_s) for o in outcomes]
    assert waits == sorted(waits)
    assert outcomes[2].refused > 0
    assert outcomes[2].late < 0.05 * outcomes[2].frames
    patient = simulate(costs(), 12, 300, random.Random(12), Rules(patience_s=1e9))
    assert patient.refused == 0


@settings(max_examples=20)
@given(st.integers(1, 8), st.integers(0, 1000), st.floats(0.1, 1.2))
def test_the_simulation_depends_on_its_seed_only(sessions: int, seed: int, rtf: float) -> None:
    first = simulate(costs(rtf), sessions, 40, random.Random(seed))
    assert first == simulate(costs(rtf), sessions, 40, random.Random(seed))
    assert all(seconds > 0 for seconds in first.first_sound_s)
    assert first.late <= first.frames


def load_of(sessions: int, **figures: object) -> dict[str, object]:
    return {
        "sessions": sessions,
        "scheduler": "deadline",
        "first_sound_ms": {"p50": 170.0, "p95": 200.0},
        "first_sounds_ms": [170.0, 200.0],
        "served": 2,
        "asked": 2,
        "on_time_share": 1.0,
        "late_share": 0.0,
        "refused": 0,
        "cost": costs().cost,
        "server": {"patience_s": 5.0, "workers": 1, "threads": 2},
        **figures,
    }


def test_what_many_conversations_need() -> None:
    report = extrapolate(costs(), [load_of(1)], seconds=400)
    result = complete(json.loads(json.dumps(report.as_dict())))
    assert result["cost_ratio"] == 1.0
    instance, faster, fastest = report.instances
    held = instance.sessions
    assert held >= 2
    assert all(p.met for p in instance.points[:held])
    assert not instance.points[held].met
    assert held < faster.sessions < fastest.sessions
    small, large = instance.needs
    assert small.even == -(-10_000 // held)
    assert large.even == -(-1_000_000 // held)
    assert large.random > large.even
    assert not instance.at_least
    for point in instance.points:
        assert 0 < point.served <= point.asked
    (check,) = result["checks"]
    assert check["turns"]["measured"] == {"served": 2, "asked": 2}
    assert 0 < check["turns"]["simulated"]["served"] <= check["turns"]["simulated"]["asked"]
    assert "2/2" in report.table()
    assert check["error"]["p50_ms"] == pytest.approx(check["simulated"]["p50_ms"] - 170, abs=0.01)
    assert "10,000 conversations" in report.table()


def test_a_server_that_costs_more_under_load_holds_fewer() -> None:
    usual = extrapolate(costs(), [load_of(1)], seconds=400)
    slow = extrapolate(costs(), [load_of(1, cost=1.6 * costs().cost)], seconds=400)
    assert slow.cost_ratio == pytest.approx(1.6)
    assert slow.instances[0].sessions < usual.instances[0].sessions


def test_without_a_load_it_fails() -> None:
    with pytest.raises(MeasurementFailed, match="measured loads"):
        extrapolate(costs(), [{"scheduler": "fifo"}])


@pytest.mark.parametrize(
    ("loads", "message"),
    [
        ([{"server": {"patience_s": 5.0, "workers": 2, "threads": 1}}], "several workers"),
        ([{}, {"server": {"patience_s": 1.0, "workers": 1, "threads": 2}}], "unlike patience"),
    ],
)
def test_loads_that_cannot_be_simulated(loads: list[dict[str, object]], message: str) -> None:
    with pytest.raises(MeasurementFailed, match=message):
        extrapolate(costs(), [load_of(1, **each) for each in loads], seconds=100)


def test_loads_of_which_the_server_is_not_known() -> None:
    load = load_of(1)
    del load["server"]
    with pytest.raises(MeasurementFailed, match="how the server was set"):
        extrapolate(costs(), [load], seconds=100)


def test_the_patience_that_was_measured_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "SPEEDS", (1.0,))
    loads = [
        load_of(12, server={"patience_s": patience, "workers": 1, "threads": 2})
        for patience in (0.0, 5.0)
    ]
    hasty, patient = (extrapolate(costs(), [load], seconds=300) for load in loads)
    shares = [r.checks[0].simulated["refused_share"] for r in (hasty, patient)]
    assert shares[0] > 1.2 * shares[1] > 0
    assert (hasty.patience_s, patient.patience_s) == (0.0, 5.0)
    assert [p.p95_ms for p in hasty.instances[0].points] != [
        p.p95_ms for p in patient.instances[0].points
    ]


def test_an_instance_that_holds_more_than_are_looked_at_holds_at_least_so_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fleet, "_MOST_SESSIONS", 4)
    fast = costs(rtf=0.001, start_s=0.001)
    report = extrapolate(fast, [load_of(1, cost=fast.cost)], seconds=100)
    assert report.instances[0].at_least
    assert "holds at least 4 conversations" in report.table()
    assert "10,000 conversations: at most " in report.table()
    claim = claims.fleet(report.as_dict())[0]
    assert claim.measured.startswith("at least 4: at most 2,500 instances for 10,000")


def test_the_pause_after_a_sentence_is_no_frame() -> None:
    """Sentences of one window: a turn of two to four has one to three frames after its first."""
    window = (WindowCost(3.0, (0.3,)),)
    each = SentenceCost(43, (0.05,), window, window)
    outcome = simulate(Costs((each,) * len(SENTENCES)), 1, 300, random.Random(1))
    assert len(outcome.first_sound_s) <= outcome.frames <= 3 * len(outcome.first_sound_s)


def test_a_machine_that_holds_none_says_what_faster_ones_need() -> None:
    slow = costs(rtf=0.9, start_s=0.5)
    report = extrapolate(slow, [load_of(1, cost=slow.cost)], seconds=400)
    assert report.instances[0].sessions == 0
    result = complete(json.loads(json.dumps(report.as_dict())))
    assert "needs" not in result["instances"][0]
    assert result["instances"][2]["needs"][0]["even"] > 0
    assert "holds 0 conversations" in report.table()
    assert "No number of them is enough" in report.table()


def test_a_router_at_random_needs_more_and_exactly_so() -> None:
    """Instances that hold one session well and none besides: alone with probability e^-m."""
    points = [Point(1, 9, 9, 100, 100, 1.0, 0.0, 0.0), Point(2, 9, 18, 900, 900, 0.0, 0.0, 0.5)]
    assert points[0].met
    assert fleet._random_need(1000, points) == pytest.approx(1000 / 0.051293, abs=1)


def test_costs_are_measured() -> None:
    told: list[float] = []
    measured = measure_costs(
        Engine(),  # type: ignore[arg-type]
        Text(),  # type: ignore[arg-type]
        repeats=2,
        sentences=["Hi.", "Ho!"],
        progress=told.append,
    )
    assert [len(each.opening) for each in measured.sentences] == [3, 3]
    assert all(w.audio_s == 0.5 for s in measured.sentences for w in s.following)
    assert all(len(w.costs_s) == 2 for s in measured.sentences for w in s.opening)
    assert all(len(s.starts_s) == 4 for s in measured.sentences)
    assert 0 < measured.cost < 1
    assert told == [0.5, 1.0]
    assert measured.scaled(3).cost == pytest.approx(3 * measured.cost)
