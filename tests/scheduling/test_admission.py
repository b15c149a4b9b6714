import pytest
from hypothesis import given
from hypothesis import strategies as st

from speakahead.scheduling.admission import WINDOW_S, Demand, feasible

demands = st.builds(Demand, st.floats(0, 10), st.floats(0, 20))


def test_nobody_is_feasible() -> None:
    assert feasible([], cost=0.5)


def test_two_fit_at_half_cost_and_three_do_not() -> None:
    new = Demand(0, 10)
    assert feasible([new] * 2, cost=0.5)
    assert not feasible([new] * 3, cost=0.5)
    assert feasible([new] * 3, cost=0.5, workers=2)


def test_a_lead_makes_room_for_another() -> None:
    assert not feasible([Demand(0, 4), Demand(0, 4), Demand(0, 4)], cost=0.5)
    assert feasible([Demand(4, 4), Demand(4, 4), Demand(0, 4)], cost=0.5)


def test_what_is_almost_done_makes_room() -> None:
    assert feasible([Demand(1, 0.2), Demand(1, 0.2), Demand(0, 8)], cost=0.6)


@given(st.lists(demands, max_size=6), st.floats(0.05, 2))
def test_agrees_with_a_fine_simulation(streams: list[Demand], cost: float) -> None:
    """Earliest deadline first in small steps meets all deadlines exactly when feasible says so."""
    step = 0.05
    pieces = sorted(
        d.ahead_s + i * step for d in streams for i in range(round(d.remaining_s / step))
    )
    lateness = max(
        ((i + 1) * step * cost - deadline for i, deadline in enumerate(pieces)), default=0.0
    )
    margin = 2 * step * max(1.0, cost) * max(1, len(streams))
    if lateness > margin:
        assert not feasible(streams, cost=cost)
    if lateness < -margin:
        assert feasible(streams, cost=cost)


@given(demands)
def test_a_window_is_due_as_a_whole(demand: Demand) -> None:
    due = demand.by_window()
    assert due.remaining_s == demand.remaining_s
    if demand.ahead_s >= WINDOW_S:
        assert demand.ahead_s - due.ahead_s == pytest.approx(min(WINDOW_S, demand.remaining_s))
    assert due.ahead_s >= 0


@given(st.lists(demands, max_size=6), demands, st.floats(0.05, 2))
def test_one_more_stream_never_helps(streams: list[Demand], another: Demand, cost: float) -> None:
    if feasible([*streams, another], cost=cost):
        assert feasible(streams, cost=cost)
