"""Faults, told apart without a server."""

import pytest

from speakahead.emulator import Fault, FaultKind
from speakahead.emulator.faults import FaultFired, FaultPlan
from speakahead.errors import InvalidRequest


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hang", Fault(FaultKind.HANG)),
        ("reset:3", Fault(FaultKind.RESET, after=3)),
        ("http-503:1:2", Fault(FaultKind.HTTP_503, after=1, times=2)),
    ],
)
def test_faults_as_they_are_written(text: str, fault: Fault) -> None:
    assert Fault.parse(text) == fault


@pytest.mark.parametrize("text", ["", "nonsense", "reset:", "reset:x", "reset:-1", "reset:1:2:3"])
def test_what_is_no_fault_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        Fault.parse(text)


def test_an_unknown_name_is_answered_with_all_names() -> None:
    with pytest.raises(InvalidRequest) as caught:
        Fault.parse("nonsense")
    assert all(kind in caught.value.message for kind in FaultKind)


def test_a_fault_instead_of_an_answer_comes_after_and_only_so_often() -> None:
    plan = FaultPlan((Fault(FaultKind.HTTP_500, after=1, times=2),))
    replaced = [plan.next_request().replacement is not None for _ in range(5)]
    assert replaced == [False, True, True, False, False]


def test_a_fault_within_a_stream_comes_after_so_many_parts() -> None:
    plan = FaultPlan((Fault(FaultKind.RESET, after=2, times=1),))
    faults = plan.next_request()
    faults.answered(0)
    faults.answered(1)
    with pytest.raises(FaultFired) as caught:
        faults.answered(2)
    assert caught.value.fault.kind is FaultKind.RESET
    assert plan.next_request().within == ()


def test_new_faults_count_anew() -> None:
    plan = FaultPlan((Fault(FaultKind.HANG, times=1),))
    plan.next_request()
    plan.set((Fault(FaultKind.HANG, times=1),))
    assert plan.next_request().replacement is not None


def test_slow_reads_begin_after_so_many_parts() -> None:
    plan = FaultPlan((Fault(FaultKind.SLOW_READS, after=2, delay_s=0.5),))
    faults = plan.next_request()
    assert [faults.pause_s(parts) for parts in range(4)] == [0, 0, 0.5, 0.5]
    faults.answered(100)
