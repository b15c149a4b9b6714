"""What is wanted of results: just reached, and just missed."""

import copy
from typing import Any

import pytest

from speakahead.bench import claims
from speakahead.bench.claims import Claim
from tests.bench.results import RESULTS


def result_of(section: str) -> dict[str, Any]:
    return copy.deepcopy(RESULTS[section])


def unmet(found: list[Claim]) -> list[Claim]:
    return [claim for claim in found if not claim.met]


@pytest.mark.parametrize(
    ("place", "ratio", "wanted"), [(0, 4.99, "5"), (1, 8.96, "9"), (2, 13.9, "14")]
)
def test_how_much_sooner_depends_on_the_length(place: int, ratio: float, wanted: str) -> None:
    result = result_of("latency")
    assert not unmet(claims.latency(result))
    result["sentences"][place]["ratio"] = ratio
    (claim,) = unmet(claims.latency(result))
    assert claim.wanted == f"at least {wanted} times as soon"
    assert f"{ratio:.2f} times" in claim.measured, "a miss is not rounded to a hit"


def test_the_real_time_factor_is_bounded_by_the_peers() -> None:
    result = result_of("latency")
    result["sentences"][1]["rtf"] = 1.4 * result["sentences"][1]["peer_rtf"]
    (claim,) = unmet(claims.latency(result))
    assert (claim.wanted, claim.measured) == ("at most 1.3", "1.40")


def test_no_window_may_be_late() -> None:
    result = {**result_of("latency"), "late_windows": 1, "min_slack_ms": -4.0}
    (claim,) = unmet(claims.latency(result))
    assert claim.measured == "199 of 200, by -4 ms or more"


def load(**figures: object) -> list[Claim]:
    """Four conversations, of which the deadline scheduler's side has these figures."""
    result = result_of("load")
    (ours,) = (r for r in result["runs"] if (r["sessions"], r["scheduler"]) == (4, "deadline"))
    ours.update(figures)
    return claims.load(result)


def test_a_p95_is_said_with_what_it_is_of_and_beside_the_turns_on_time() -> None:
    assert not unmet(load())
    (claim,) = (c for c in load(served=2, on_time_share=0.93) if "p95, 4 conv" in c.what)
    assert "400 ms (n 3; 2 of 4 turns heard)" in claim.measured
    assert "against 4,000 ms (n 3; 3 of 4 turns heard)" in claim.measured
    assert "93% against 90% of turns within 500 ms" in claim.measured


@pytest.mark.parametrize(
    ("figures", "what", "measured"),
    [
        ({"first_sound_ms": {"p95": 510.0, "n": 3}}, "p95, 4 conversations", "7.84 times"),
        ({"on_time_share": 0.5}, "p95, 4 conversations", "50% against 90%"),
        ({"late_share": 0.015}, "Late windows, 4 conversations", "1.5% of 200"),
        ({"broken_off": 2}, "broken off", "2 of 16"),
        ({"errors": 1, "error_codes": ["internal"]}, "failed", "1 beside 16 turns asked for: int"),
    ],
)
def test_loads_that_are_not_as_wanted(figures: dict[str, Any], what: str, measured: str) -> None:
    (claim,) = unmet(load(**figures))
    assert what in claim.what
    assert measured in claim.measured


def test_a_warm_server_has_its_bound() -> None:
    result = {**result_of("growth"), "warm_memory_mb": 640.0}
    (claim,) = unmet(claims.growth(result))
    assert claim.measured == "640 MB"
